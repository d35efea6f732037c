#include <proof/choice.h>
#include <sass/flow.h>
#include <string.h>

static bool is_select(const gc_instruction *in) {
    return strcmp(in->mnemonic, "SEL") == 0 || strcmp(in->mnemonic, "FSEL") == 0;
}

static bool is_end(const gc_instruction *in) {
    return in->kind == GC_OP_EXIT || in->kind == GC_OP_RETURN;
}

static void take(const gc_instruction *in, const char *mnemonic, gc_choice *choice) {
    if (in->never) return;
    if (in->kind == GC_OP_BRANCH) {
        choice->branches += in->conditional;
        return;
    }
    choice->predicated += in->guard != GC_PREDICATE_TRUE && !is_end(in);
    if (!in->mnemonic) return;
    choice->selects += is_select(in);
    choice->works += strcmp(in->mnemonic, mnemonic) == 0;
}

gpuchar_status gc_read_choice(const void *cubin, size_t size, const char *kernel, const char *mnemonic,
                              gc_choice *choice) {
    gc_cubin file;
    gc_code code;
    gc_flow flow;
    memset(choice, 0, sizeof *choice);
    gpuchar_status status = gc_cubin_open(cubin, size, &file);
    if (status == GPUCHAR_OK) status = gc_cubin_function(&file, kernel, &code);
    if (status == GPUCHAR_OK) status = gc_flow_build(&code, &flow);
    if (status != GPUCHAR_OK) return status;
    for (uint32_t b = 0; b < flow.block_count; b++) {
        const gc_block *block = &flow.blocks[b];
        for (uint32_t i = 0; block->reachable && i < block->count; i++)
            take(&flow.instructions[block->first + i], mnemonic, choice);
    }
    gc_flow_free(&flow);
    return GPUCHAR_OK;
}
