/*
 * Prints what the decoder makes of a kernel, for scripts/compare_disassembly.py: sass_dump CUBIN KERNEL. One line per
 * instruction: pc, mnemonic, guard, target, barrier, barrier class, stall, destination, source a, b, c; "-": none.
 */
#include <sass/decode.h>
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

static void print_guard(const gc_instruction *in) {
    if (in->guard == GC_PREDICATE_TRUE && !in->guard_not)
        printf(" -");
    else if (in->guard == GC_PREDICATE_TRUE)
        printf(" @!PT");
    else
        printf(" @%sP%u", in->guard_not ? "!" : "", in->guard);
}

static void print_instruction(const gc_instruction *in) {
    printf("%llx %s", (unsigned long long)in->pc, in->mnemonic ? in->mnemonic : "?");
    print_guard(in);
    if (in->target == GC_NO_TARGET)
        printf(" -");
    else
        printf(" %llx", (unsigned long long)in->target);
    if (in->kind == GC_OP_BSSY || in->kind == GC_OP_BSYNC || in->kind == GC_OP_BREAK)
        printf(" B%u %u", in->barrier, in->barrier_class);
    else
        printf(" - -");
    printf(" %u", in->stall);
    print_register(in->destination);
    print_register(in->source_a);
    print_register(in->source_b);
    print_register(in->source_c);
    printf("\n");
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
    void *bytes = argc == 3 ? read_file(argv[1], &size) : NULL;
    gc_cubin cubin;
    gc_code code;
    if (!bytes || gc_cubin_open(bytes, size, &cubin) || gc_cubin_function(&cubin, argv[2], &code) || cubin.arch < 70) {
        fprintf(stderr, "usage: sass_dump CUBIN KERNEL (a kernel for sm_70 or later)\n");
        free(bytes);
        return 1;
    }
    for (size_t offset = 0; offset < code.size; offset += 16) {
        gc_instruction in;
        gc_decode(&code, offset, &in);
        print_instruction(&in);
    }
    free(bytes);
    return 0;
}
