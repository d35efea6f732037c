/*
 * Prints what the decoder makes of kernels, for scripts/compare_disassembly.py: sass_dump CUBIN KERNEL... For each kernel a
 * line "= KERNEL", then one line per instruction of its section:
 *   pc opcode mnemonic guard second target barrier class condition mode mask clear uniform stall destination a b c
 * "-": none. Before sm_70 behind them, for each instruction that takes a token:
 *   & pc followed,... listed,... reached outside call
 */
#include <sass/tokens.h>
#include <stdio.h>
#include <stdlib.h>

static void print_register(uint16_t number) {
    if (number == GC_REGISTER_NONE)
        printf(" -");
    else if (number == GC_REGISTER_ZERO)
        printf(" RZ");
    else
        printf(" R%u", number);
}

static void print_predicate(const char *before, uint8_t number, uint8_t negated) {
    if (number == GC_PREDICATE_TRUE && !negated)
        printf(" -");
    else if (number == GC_PREDICATE_TRUE)
        printf(" %s!PT", before);
    else
        printf(" %s%sP%u", before, negated ? "!" : "", number);
}

static bool has_barrier(uint8_t kind) {
    return kind == GC_OP_BSSY || kind == GC_OP_BSYNC || kind == GC_OP_BREAK || kind == GC_OP_BMOV;
}

static void print_instruction(const gc_instruction *in) {
    printf("%llx %x %s", (unsigned long long)in->pc, in->opcode, in->mnemonic ? in->mnemonic : "?");
    print_predicate("@", in->guard, in->guard_not);
    print_predicate("", in->second, in->second_not);
    if (in->target == GC_NO_TARGET)
        printf(" -");
    else
        printf(" %llx", (unsigned long long)in->target);
    if (has_barrier(in->kind))
        printf(" B%u", in->barrier);
    else
        printf(" -");
    printf(" %u %u %u %x %u %u %u", in->barrier_class, in->condition, in->mode, in->mask, in->clear, in->uniform,
           in->stall);
    print_register(in->destination);
    print_register(in->source_a);
    print_register(in->source_b);
    print_register(in->source_c);
    printf("\n");
}

static void print_targets(const uint64_t *targets, uint32_t count) {
    printf(" %s", count ? "" : "-");
    for (uint32_t i = 0; i < count; i++) printf("%s%llx", i ? "," : "", (unsigned long long)targets[i]);
}

static int print_tokens(const gc_code *code) {
    gc_tokens tokens;
    if (gc_tokens_read(code, &tokens)) {
        printf("& failed: %s\n", gpuchar_last_error()->message);
        return 1;
    }
    for (size_t i = 0; i < tokens.site_count; i++) {
        const gc_token_site *site = &tokens.sites[i];
        const uint64_t pc = code->offset + gc_code_offset(code, site->index);
        printf("& %llx", (unsigned long long)pc);
        print_targets(tokens.targets + site->followed, site->followed_count);
        print_targets(tokens.targets + site->listed, site->listed_count);
        printf(" %u %u %u\n", site->reached, site->outside, site->call);
    }
    printf("& pushes %zu complete %u\n", tokens.push_count, tokens.complete);
    gc_tokens_free(&tokens);
    return 0;
}

/* The kernel's section, with the functions that stand behind the kernel. */
static int print_kernel(const gc_cubin *cubin, const char *name) {
    gc_code code;
    if (gc_cubin_function(cubin, name, &code)) return 1;
    gc_code section = code;
    section.size += code.behind;
    section.behind = 0;
    printf("= %s\n", name);
    const size_t count = gc_code_count(&section), own = gc_code_count(&code);
    for (size_t i = 0; i < count; i++) {
        gc_instruction in;
        gc_decode(i < own ? &code : &section, gc_code_offset(&section, i), &in);
        print_instruction(&in);
    }
    return code.arch < 70 ? print_tokens(&code) : 0;
}

static void *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    const long length = ftell(file);
    rewind(file);
    void *bytes = length > 0 ? malloc((size_t)length) : NULL;
    *size = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    size_t size = 0;
    void *bytes = argc > 2 ? read_file(argv[1], &size) : NULL;
    gc_cubin cubin;
    int failed = !bytes || gc_cubin_open(bytes, size, &cubin);
    for (int i = 2; !failed && i < argc; i++) failed = print_kernel(&cubin, argv[i]);
    if (failed) fprintf(stderr, "usage: sass_dump CUBIN KERNEL...\n%s\n", gpuchar_last_error()->message);
    free(bytes);
    return failed;
}
