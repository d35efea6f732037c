/* A cubin: opened, each function that its bytes name found, its code, attributes and control flow read. */
#include "fuzz_check.h"

#include <sass/cubin.h>
#include <sass/flow.h>
#include <string.h>

#define FUNCTIONS_MAX 8
#define CODE_MAX ((size_t)1 << 16)

static void read_flow(const gc_code *code) {
    gc_flow flow;
    if (code->arch < 70 || code->size > CODE_MAX || gc_flow_build(code, &flow)) return;
    FUZZ_CHECK(flow.block_count > 0 && flow.block_count <= flow.instruction_count);
    for (uint32_t i = 0; i < flow.successor_count; i++) FUZZ_CHECK(flow.successors[i] < flow.block_count);
    for (uint32_t i = 0; i < flow.block_count; i++) {
        const gc_block *block = &flow.blocks[i];
        FUZZ_CHECK(block->count > 0 && block->count <= flow.instruction_count - block->first);
        FUZZ_CHECK(block->successor_count <= flow.successor_count - block->successor);
        FUZZ_CHECK(gc_flow_block_at(&flow, flow.instructions[block->first].pc) == i);
    }
    gc_flow_free(&flow);
}

static void read_code(const gc_code *code) {
    fuzz_touch(code->bytes, code->size + code->behind);
    fuzz_touch(code->info, code->info_size);
    fuzz_touch(code->name, strlen(code->name));
    uint64_t targets[4];
    for (size_t i = 0; i < gc_code_count(code) && i < 64; i++) {
        const uint64_t pc = code->offset + gc_code_offset(code, i);
        FUZZ_CHECK(gc_code_offset(code, i) + gc_code_unit(code) <= code->size);
        FUZZ_CHECK(gc_code_index(code, pc) == i);
        gc_code_branch_targets(code, pc, targets, 4);
    }
    read_flow(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char prefix[] = ".text.";
    gc_cubin cubin;
    if (gc_cubin_open(data, size, &cubin)) return 0;
    const uint8_t *at = data;
    for (int found = 0; found < FUNCTIONS_MAX; found++) {
        at = memmem(at, size - (size_t)(at - data), prefix, sizeof prefix - 1);
        if (!at) break;
        at += sizeof prefix - 1;
        const size_t left = size - (size_t)(at - data);
        const size_t length = strnlen((const char *)at, left);
        char *name = strndup((const char *)at, length);
        gc_code code;
        if (name && gc_cubin_function(&cubin, name, &code) == GPUCHAR_OK) read_code(&code);
        free(name);
    }
    return 0;
}
