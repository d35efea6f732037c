/* The comparison's kernels: their machine code, and what is claimed of it. */
#ifndef GPUCHAR_TESTS_COMPARISON_SAMPLES_H
#define GPUCHAR_TESTS_COMPARISON_SAMPLES_H

#include "divergence_samples.h"

#define COMPARE "gpuchar_predication_compare"
enum { BRANCH = 1, PREDICATED = 2 };

/* The arguments of the library's kernel, as src/kernels has them. */
typedef struct compare_arguments {
    uint64_t samples, sink;
    uint32_t slot, iterations;
    uint32_t operand, start;
    uint8_t lanes[32];
} compare_arguments;
static const compare_arguments COMPARED = {.iterations = TURNS};

/* The chain of the paths stands before the comparison; kernels of short arms do not use it. */
static inline char *kernel_source(const char *defines, const char *name) {
    char *prelude = read_kernel_text("prelude.cu"), *paths = read_kernel_text("paths.cu");
    char *kernel = read_kernel_text(name);
    const bool whole = prelude && paths && kernel;
    const size_t size = whole ? strlen(defines) + strlen(prelude) + strlen(paths) + strlen(kernel) + 1 : 0;
    char *text = size ? malloc(size) : NULL;
    if (text) snprintf(text, size, "%s%s%s%s", defines, prelude, paths, kernel);
    free(prelude);
    free(paths);
    free(kernel);
    return text;
}

static inline test_cubin compile_kernel(const char *defines, const char *name, int arch) {
    char *source = kernel_source(defines, name);
    assert_non_null(source);
    test_cubin made = nvrtc_compile(&NVRTC, source, arch);
    free(source);
    assert_non_null(made.bytes);
    return made;
}

static inline test_cubin compile_form(int form, int body, int arch) {
    char defines[80];
    snprintf(defines, sizeof defines, "#define GPUCHAR_FORM %d\n#define GPUCHAR_BODY %d\n", form, body);
    return compile_kernel(defines, "predication_compare.cu", arch);
}

static inline gc_divergence_claim comparison_claim(int form, uint32_t body) {
    const bool predicated = form == PREDICATED;
    return (gc_divergence_claim){.kernel = COMPARE,
                                 .mnemonics = &CHAINED[0],
                                 .mnemonic_count = 1,
                                 .paths = predicated ? 1 : 2,
                                 .body = predicated ? 2 * body : body,
                                 .chains = predicated ? 2 : 1,
                                 .uniform = predicated,
                                 .arguments = &COMPARED,
                                 .argument_bytes = sizeof COMPARED,
                                 .turns_offset = offsetof(compare_arguments, iterations),
                                 .lanes_offset = offsetof(compare_arguments, lanes),
                                 .sample = sample_claim(GC_SAMPLE_BLOCK, 1024),
                                 .mark_shift = 20,
                                 .mark_bits = predicated ? 0 : 4};
}

#endif
