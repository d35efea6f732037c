/* The study with the machine's own NVRTC, with the fake one where failures matter, and with ready cubins. */
#include <core/error.h>
#include <errno.h>
#include <fakes/fake_client.h>
#include <fakes/faulty_libc.h>
#include <nvrtc.h>
#include <sass/cubin.h>
#include <stdio.h>
#include <stdlib.h>

#include "temp_folder.h"

typedef gpuchar_reconvergence_study_options study_options;
typedef gpuchar_reconvergence_study_result study_result;

static gpuchar_runtime *runtime; /* the machine's own NVRTC, one cache for all */
static bool has_nvrtc;

static const char small_text[] = "extern \"C\" __global__ void small(int *p, int n) {\n"
                                 "  if (p[threadIdx.x] > n) {\n"
                                 "    for (int i = 0; i < p[0]; i++) p[i] = p[i] * p[i + n] + i;\n"
                                 "  }\n"
                                 "  p[n] = 1;\n"
                                 "}\n";
static const gpuchar_reconvergence_source small = {.name = "small.cu", .text = small_text};

static void need_nvrtc(void) {
    if (!has_nvrtc) skip();
}

static const gpuchar_reconvergence_row *row_of(const study_result *result, uint32_t architecture) {
    for (size_t i = 0; i < result->row_count; i++)
        if (result->rows[i].architecture == architecture) return &result->rows[i];
    return NULL;
}

/* ---- the corpus */

/* For every architecture that the compiler knows: 38 kernels, all of it read, and a deep set of 13. */
static void test_corpus_everywhere(void **state) {
    (void)state;
    need_nvrtc();
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    options.deep = 1;
    options.keep_kernels = 1;
    assert_failure(gpuchar_reconvergence_study(runtime, &options, &result), GPUCHAR_OK);
    size_t known = 0;
    assert_int_equal(gpuchar_runtime_architectures(runtime, NULL, 0, &known), GPUCHAR_OK);
    assert_int_equal(result.row_count, known);
    size_t kernels = 0;
    for (size_t i = 0; i < result.row_count; i++) {
        const gpuchar_reconvergence_row *row = &result.rows[i];
        const gpuchar_reconvergence_counts *counts = &row->counts;
        assert_int_equal(row->status, GPUCHAR_OK);
        assert_int_equal(counts->kernels, 38);
        assert_int_equal(counts->unknown + row->nests.unknown, 0);
        assert_int_equal(counts->unread + row->nests.unread, 0);
        assert_int_equal(counts->unmatched + row->nests.unmatched, 0);
        assert_true(counts->irreducible > 0);
        assert_true(counts->branches == counts->divergent + counts->uniform_form + counts->uniform_data);
        assert_int_equal(row->nests.kernels, 13);
        assert_int_equal(row->deep.kernels, 13);
        assert_true(row->assembler_version == row->compiler_version);
        if (row->architecture >= 70) {
            assert_true(row->nests.depth >= 20);
            assert_true(counts->ssy + counts->sync == 0);
        }
        /* The barrier classes are the chip's. */
        const uint64_t classes = counts->bssy[1] + counts->bssy[2] + counts->breaks[1] + counts->breaks[2];
        assert_int_equal(classes != 0, row->architecture >= 100);
    }
    for (size_t i = 0; i < result.kernel_count; i++) kernels += result.kernels[i].counts.kernels;
    assert_int_equal(kernels, known * (38 + 13));
    gpuchar_reconvergence_study_result_free(&result);
    assert_null(result.rows);
    assert_int_equal(result.kernel_count, 0);
}

/* Each rule places all divergent branches; a row's rate is that of its counts. */
static void test_counts_agree(void **state) {
    (void)state;
    need_nvrtc();
    const uint32_t architectures[] = {80, 120};
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    options.architectures = architectures;
    options.architecture_count = 2;
    options.keep_kernels = 1;
    assert_failure(gpuchar_reconvergence_study(runtime, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.row_count, 2);
    assert_int_equal(result.rounds, 2000);
    for (size_t i = 0; i < 2; i++) {
        const gpuchar_reconvergence_row *row = &result.rows[i];
        for (size_t rule = 0; rule < 5; rule++) {
            const gpuchar_reconvergence_placing *placing = &row->counts.placings[rule];
            uint64_t all = 0, matched = 0;
            for (size_t place = 0; place < 5; place++) {
                all += placing->inside[place] + placing->outside[place] + placing->back[place];
                matched += place ? placing->inside[place] : 0;
            }
            assert_int_equal(all, row->counts.divergent);
            assert_int_equal(row->rates[rule].samples, matched);
            assert_true(row->rates[rule].rate == (double)placing->inside[1] / (double)matched);
            assert_true(row->rates[rule].low <= row->rates[rule].rate &&
                        row->rates[rule].rate <= row->rates[rule].high);
        }
        /* The rules differ in what they find, not in what they look at. */
        assert_true(row->rates[0].rate > row->rates[4].rate);
    }
    assert_int_equal(result.pair_count, 1);
    const gpuchar_reconvergence_pair *pair = &result.pairs[0];
    assert_true(pair->alike > 50 && pair->alike > 10 * pair->otherwise);
    for (size_t i = 0; i < 2; i++) {
        const gpuchar_reconvergence_counts *counts = &result.rows[i].counts;
        uint64_t back = 0;
        for (size_t place = 0; place < 5; place++) back += counts->placings[0].back[place];
        /* Each divergent branch that closes no loop has a line. */
        assert_int_equal(pair->alike + pair->otherwise + (i ? pair->only_b : pair->only_a), counts->divergent - back);
    }
    gpuchar_reconvergence_study_result_free(&result);
}

/* The switch of lines adds tables, and changes no instruction. */
static void same_code(const gpuchar_compile_result *plain, const gpuchar_compile_result *lined) {
    gc_cubin a, b;
    gc_section x, y;
    size_t compared = 0, tables = 0;
    assert_int_equal(gc_cubin_open(plain->cubin, plain->cubin_size_bytes, &a), GPUCHAR_OK);
    assert_int_equal(gc_cubin_open(lined->cubin, lined->cubin_size_bytes, &b), GPUCHAR_OK);
    for (uint32_t i = 0; i < b.section_count; i++) {
        assert_true(gc_cubin_section(&b, i, &y));
        tables += strcmp(y.name, ".debug_line") == 0;
        if (strncmp(y.name, ".text.", 6) != 0) continue;
        for (uint32_t j = 0; j < a.section_count; j++) {
            if (!gc_cubin_section(&a, j, &x) || strcmp(x.name, y.name) != 0) continue;
            assert_int_equal(x.size, y.size);
            assert_memory_equal(x.bytes, y.bytes, x.size);
            compared++;
        }
    }
    assert_int_equal(compared, 38);
    assert_int_equal(tables, 1);
}

static char *read_corpus(void) {
    static const char *const parts[] = {"prelude", "branches", "loops", "warps"};
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t length = 0;
    for (size_t i = 0; i < 4; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/src/kernels/corpus_%s.cu", GPUCHAR_SOURCE_DIR, parts[i]);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        length += fread(text + length, 1, (1 << 20) - 1 - length, file);
        fclose(file);
    }
    return text;
}

static void test_lines_change_nothing(void **state) {
    (void)state;
    need_nvrtc();
    static const char *const architectures[] = {"sm_80", "sm_90", "sm_120"};
    static const char *const flags[] = {"-lineinfo"};
    char *text = read_corpus();
    for (size_t i = 0; i < 3; i++) {
        gpuchar_compile_options options = GPUCHAR_COMPILE_OPTIONS_INIT;
        gpuchar_compile_result plain = GPUCHAR_COMPILE_RESULT_INIT, lined = GPUCHAR_COMPILE_RESULT_INIT;
        options.source = text;
        options.architecture = architectures[i];
        assert_failure(gpuchar_compile(runtime, &options, &plain), GPUCHAR_OK);
        options.flags = flags;
        options.flag_count = 1;
        assert_failure(gpuchar_compile(runtime, &options, &lined), GPUCHAR_OK);
        same_code(&plain, &lined);
        gpuchar_compile_result_free(&plain);
        gpuchar_compile_result_free(&lined);
    }
    free(text);
}

/* ---- the caller's own */

static void test_sources_and_cache(void **state) {
    (void)state;
    need_nvrtc();
    const uint32_t architectures[] = {75, 90, 999};
    const gpuchar_reconvergence_source sources[] = {small, {.name = "other.cu", .text = small_text}};
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    options.architectures = architectures;
    options.architecture_count = 3;
    options.sources = sources;
    options.source_count = 2;
    for (int round = 0; round < 2; round++) {
        assert_failure(gpuchar_reconvergence_study(runtime, &options, &result), GPUCHAR_CAVEAT);
        assert_int_equal(result.row_count, 3);
        const gpuchar_reconvergence_row *unknown = row_of(&result, 999);
        assert_int_equal(unknown->status, GPUCHAR_E_ARCH_UNSUPPORTED);
        assert_contains(unknown->message, "999");
        assert_int_equal(unknown->counts.instructions, 0);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(result.rows[i].status, GPUCHAR_OK);
            assert_int_equal(result.rows[i].counts.kernels, 2);
            assert_int_equal(result.rows[i].compile_ns != 0, round == 0);
        }
        assert_int_equal(result.kernel_count, 0);
        gpuchar_reconvergence_study_result_free(&result);
    }
}

static void test_source_that_does_not_compile(void **state) {
    (void)state;
    need_nvrtc();
    const uint32_t architecture = 90;
    const gpuchar_reconvergence_source sources[] = {small, {.name = "bad.cu", .text = "__global__ void k() { x; }"}};
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    options.architectures = &architecture;
    options.architecture_count = 1;
    options.sources = sources;
    options.source_count = 2;
    assert_failure(gpuchar_reconvergence_study(runtime, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.rows[0].status, GPUCHAR_E_COMPILE);
    assert_contains(result.rows[0].message, "bad.cu");
    assert_contains(result.rows[0].message, "\"x\" is undefined");
    assert_int_equal(result.rows[0].counts.kernels, 0);
    gpuchar_reconvergence_study_result_free(&result);
}

static gpuchar_compile_result compile_small(void) {
    gpuchar_compile_options options = GPUCHAR_COMPILE_OPTIONS_INIT;
    gpuchar_compile_result made = GPUCHAR_COMPILE_RESULT_INIT;
    options.source = small_text;
    options.architecture = "sm_90";
    assert_failure(gpuchar_compile(runtime, &options, &made), GPUCHAR_OK);
    return made;
}

static void test_ready_cubins(void **state) {
    (void)state;
    need_nvrtc();
    gpuchar_compile_result made = compile_small();
    const gpuchar_reconvergence_cubin cubins[] = {{"whole", made.cubin, made.cubin_size_bytes},
                                                  {NULL, made.cubin, made.cubin_size_bytes / 2},
                                                  {"no ELF", "text", 4}};
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    options.cubins = cubins;
    options.cubin_count = 3;
    /* No compiler is needed, nor looked for. */
    gpuchar_runtime *nothing = fake_runtime_with(0);
    gc_fail(GPUCHAR_E_LIMIT, "an earlier failure");
    assert_int_equal(gpuchar_reconvergence_study(nothing, &options, &result), GPUCHAR_CAVEAT);
    assert_string_equal(gpuchar_last_error()->message, "an earlier failure");
    assert_int_equal(result.row_count, 3);
    assert_string_equal(result.rows[0].compiler, "whole");
    assert_int_equal(result.rows[0].architecture, 90);
    assert_int_equal(result.rows[0].made, GPUCHAR_RECONVERGENCE_READY);
    assert_int_equal(result.rows[0].counts.kernels, 1);
    assert_true(result.rows[0].counts.divergent > 0);
    assert_string_equal(result.rows[1].compiler, "cubin");
    for (size_t i = 1; i < 3; i++) assert_int_equal(result.rows[i].status, GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(result.pair_count, 0);
    gpuchar_reconvergence_study_result_free(&result);
    gpuchar_runtime_close(nothing);
    gpuchar_compile_result_free(&made);
}

/* ---- assemblers: a script in the place of ptxas */

static void write_script(const char *name, const char *text, char path[256]) {
    snprintf(path, 256, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static void test_assembler(void **state) {
    (void)state;
    need_nvrtc();
    char script[1024], good[256], old[256], cubin[256];
    gpuchar_compile_result made = compile_small();
    snprintf(cubin, sizeof cubin, "%s/cubin", folder);
    FILE *file = fopen(cubin, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(made.cubin, 1, made.cubin_size_bytes, file), made.cubin_size_bytes);
    fclose(file);
    gpuchar_compile_result_free(&made);
    const char *version = "#!/bin/sh\nif [ \"$1\" = --version ]; then\n"
                          "  echo 'Cuda compilation tools, release 12.9, V12.9.86'; exit 0\nfi\n";
    /* It gives the cubin if what it gets is PTX for compute_80. */
    snprintf(script, sizeof script, "%sgrep -q '^.target sm_80' \"$2\" || exit 9\ncat %s >\"$4\"\n", version, cubin);
    write_script("good", script, good);
    snprintf(script, sizeof script, "%secho \"ptxas fatal : Value 'x' is not defined for option 'gpu-name'\"; exit 1\n",
             version);
    write_script("old", script, old);
    const char *const assemblers[] = {good, old};
    const uint32_t architectures[] = {75, 90};
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    options.assemblers = assemblers;
    options.assembler_count = 2;
    options.architectures = architectures;
    options.architecture_count = 2;
    options.sources = &small;
    options.source_count = 1;
    options.ptx_architecture = 80;
    options.flags = GPUCHAR_RECONVERGENCE_NO_COMPILERS;
    assert_failure(gpuchar_reconvergence_study(runtime, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.row_count, 4);
    assert_int_equal(result.rows[0].status, GPUCHAR_E_NOT_APPLICABLE);
    assert_int_equal(result.rows[1].status, GPUCHAR_OK);
    assert_int_equal(result.rows[1].made, GPUCHAR_RECONVERGENCE_BY_ASSEMBLER);
    assert_int_equal(result.rows[1].counts.kernels, 1);
    assert_int_equal(result.rows[1].ptx_architecture, 80);
    assert_int_equal(result.rows[3].status, GPUCHAR_E_ARCH_UNSUPPORTED);
    assert_contains(result.rows[3].message, "release 12.9");
    assert_int_equal(result.rows[3].assembler_version, 12090);
    gpuchar_reconvergence_study_result_free(&result);
    options.assembler_count = 1;
    const char *const missing[] = {FAKE_NOWHERE};
    options.assemblers = missing;
    assert_failure(gpuchar_reconvergence_study(runtime, &options, &result), GPUCHAR_E_IO);
    const char *const wrong[] = {"/bin/true"};
    options.assemblers = wrong;
    assert_failure(gpuchar_reconvergence_study(runtime, &options, &result), GPUCHAR_E_INVALID_ARGUMENT);
}

/* ---- failures */

static void test_options(void **state) {
    (void)state;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    const char *const empty[] = {""};
    const uint32_t twice[] = {80, 80}, small_number[] = {8};
    const gpuchar_reconvergence_source no_text = {.name = "x"}, no_flags = {.text = "", .flag_count = 1};
    const gpuchar_reconvergence_cubin no_bytes = {.name = "x"};
    const struct {
        study_options options;
        gpuchar_status status;
    } cases[] = {
        {{.compiler_count = 1}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.compilers = empty, .compiler_count = 1}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.compilers = empty, .compiler_count = 65}, GPUCHAR_E_LIMIT},
        {{.assemblers = empty, .assembler_count = 1}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.architectures = twice, .architecture_count = 2}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.architectures = small_number, .architecture_count = 1}, GPUCHAR_E_LIMIT},
        {{.sources = &no_text, .source_count = 1}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.sources = &no_flags, .source_count = 1}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.cubins = &no_bytes, .cubin_count = 1}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.cubin_count = 1 << 20}, GPUCHAR_E_LIMIT},
        {{.deep = 2}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.keep_kernels = 2}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.threads = 65}, GPUCHAR_E_LIMIT},
        {{.rounds = 99}, GPUCHAR_E_LIMIT},
        {{.work = 33}, GPUCHAR_E_LIMIT},
        {{.ptx_compiler = 1}, GPUCHAR_E_LIMIT},
        {{.flags = 1u << 31}, GPUCHAR_E_INVALID_ARGUMENT},
        {{.reserved = 1}, GPUCHAR_E_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        study_options options = cases[i].options;
        options.struct_size = sizeof options;
        assert_failure(gpuchar_reconvergence_study(runtime, &options, &result), cases[i].status);
        assert_true(gpuchar_last_error()->hint[0] != 0);
    }
    assert_failure(gpuchar_reconvergence_study(runtime, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
}

static void test_no_compiler(void **state) {
    (void)state;
    gpuchar_runtime *nothing = fake_runtime_with(0);
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    assert_failure(gpuchar_reconvergence_study(nothing, NULL, &result), GPUCHAR_E_NO_NVRTC);
    const char *const paths[] = {FAKE_NOWHERE};
    options.compilers = paths;
    options.compiler_count = 1;
    assert_failure(gpuchar_reconvergence_study(nothing, &options, &result), GPUCHAR_E_NO_NVRTC);
    assert_int_equal(result.row_count, 0);
    gpuchar_runtime_close(nothing);
}

/* One compilation that fails is one empty row; one that runs out of memory ends the study. */
static void test_compiler_that_fails(void **state) {
    (void)state;
    gpuchar_runtime *fakes = fake_runtime_with(FAKE_WITH_NVRTC);
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    const uint32_t architectures[] = {80, 90};
    options.architectures = architectures;
    options.architecture_count = 2;
    options.threads = 1;
    fake()->nvrtc_canned = true; /* what it makes is no cubin */
    assert_int_equal(gpuchar_reconvergence_study(fakes, &options, &result), GPUCHAR_CAVEAT);
    for (size_t i = 0; i < 2; i++) assert_int_equal(result.rows[i].status, GPUCHAR_E_SASS_FORMAT);
    gpuchar_reconvergence_study_result_free(&result);
    options.sources = &small;
    options.source_count = 1;
    fake_fail("nvrtcCreateProgram", 1, NVRTC_ERROR_INTERNAL_ERROR);
    assert_int_equal(gpuchar_reconvergence_study(fakes, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(row_of(&result, 90)->status, GPUCHAR_E_NVRTC); /* it is compiled first */
    assert_int_equal(row_of(&result, 80)->status, GPUCHAR_E_SASS_FORMAT);
    gpuchar_reconvergence_study_result_free(&result);
    options.source_count = 0;
    options.work = 5;
    fake_fail("nvrtcCreateProgram", 1, NVRTC_ERROR_OUT_OF_MEMORY);
    assert_failure(gpuchar_reconvergence_study(fakes, &options, &result), GPUCHAR_E_OUT_OF_MEMORY);
    assert_int_equal(result.row_count, 0);
    fake_fail(NULL, 0, 0);
    gpuchar_runtime_close(fakes);
}

static uint32_t count_down(void *user) {
    unsigned *left = user;
    return (*left)-- == 0;
}

static void test_cancel(void **state) {
    (void)state;
    gpuchar_runtime *fakes = fake_runtime_with(FAKE_WITH_NVRTC);
    fake()->nvrtc_canned = true;
    for (unsigned after = 0; after < 3; after++) {
        unsigned left = after;
        study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
        study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
        options.cancel = count_down;
        options.cancel_user = &left;
        options.threads = 1;
        options.work = 1 + after;
        fake_calls_clear();
        assert_failure(gpuchar_reconvergence_study(fakes, &options, &result), GPUCHAR_E_CANCELLED);
        assert_int_equal(fake_call_count("nvrtcCompileProgram"), after);
        assert_null(result.rows);
    }
    gpuchar_runtime_close(fakes);
}

/* Each allocation fails in turn: the call says so, and nothing is left behind. */
static void test_memory(void **state) {
    (void)state;
    need_nvrtc();
    gpuchar_compile_result made = compile_small();
    const gpuchar_reconvergence_cubin cubin = {"one", made.cubin, made.cubin_size_bytes};
    study_options options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    options.cubins = &cubin;
    options.cubin_count = 1;
    options.rounds = 100;
    options.keep_kernels = 1;
    unsigned failures = 0;
    for (unsigned use = 1;; use++) {
        libc_watch();
        libc_fail(LIBC_MEMORY, use, ENOMEM);
        const gpuchar_status status = gpuchar_reconvergence_study(runtime, &options, &result);
        const bool failed = libc_failed();
        libc_stop();
        if (status < 0) {
            assert_int_equal(status, GPUCHAR_E_OUT_OF_MEMORY);
            assert_null(result.rows);
            failures++;
        } else {
            assert_int_equal(result.rows[0].counts.kernels, 1);
            assert_int_equal(result.kernel_count, 1);
        }
        gpuchar_reconvergence_study_result_free(&result);
        assert_int_equal(libc_left(), 0);
        if (!failed) break;
    }
    assert_true(failures > 10);
    gpuchar_compile_result_free(&made);
}

static int open_all(void **state) {
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    size_t count = 0;
    options.cuda_path = FAKE_NOWHERE;
    if (gpuchar_runtime_open(&options, &runtime)) return 1;
    has_nvrtc = gpuchar_runtime_architectures(runtime, NULL, 0, &count) == GPUCHAR_OK;
    return make_folder(state);
}

static int close_all(void **state) {
    gpuchar_runtime_close(runtime);
    return remove_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus_everywhere),
        cmocka_unit_test(test_counts_agree),
        cmocka_unit_test(test_lines_change_nothing),
        cmocka_unit_test(test_sources_and_cache),
        cmocka_unit_test(test_source_that_does_not_compile),
        cmocka_unit_test(test_ready_cubins),
        cmocka_unit_test(test_assembler),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_no_compiler),
        cmocka_unit_test(test_compiler_that_fails),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
