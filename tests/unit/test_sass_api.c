/* The functions of a cubin's handle: what callers may get wrong, other versions' structs, threads, and memory that runs out. */
#include "cubin_writer.h"

#include <errno.h>
#include <fakes/faulty_libc.h>
#include <gpuchar/runtime.h>
#include <pthread.h>
#include <stdbool.h>

static cubin_parts *parts;
static cubin_image image;
static gpuchar_sass *sass;

/* A kernel with branches, a loop, a table, barriers and a callee: it needs every kind of memory. */
static int setup(void **state) {
    (void)state;
    const uint32_t targets[] = {8, 9, 10};
    parts = cubin_begin(90);
    code_add(parts, 0x981, CODE_PT); /* 0: R0 from memory */
    code_field(parts, code_add(parts, 0x20c, CODE_PT), 83, 81, 0);
    code_bssy(parts, 0, 5);
    code_bra(parts, 0, 5); /* 3 */
    code_nop(parts);
    code_bsync(parts, 0);
    code_bra(parts, 0, 2);       /* 6: back */
    code_brx(parts, CODE_PT, 4); /* 7 */
    for (uint32_t i = 0; i < 24; i++) code_bra(parts, 0, 8 + i / 2);
    code_add(parts, 0x223, CODE_PT);
    code_exit(parts, CODE_PT);
    code_table(parts, 7, targets, 3);
    for (uint32_t i = 0; i < 20; i++) code_table(parts, 500 + i, targets, 1);
    parts->functions[0].name = "callee";
    parts->functions[0].at = parts->count * 16;
    parts->function_count = 1;
    /* Many opcodes, known and unknown: more entries of the mix than it begins with. */
    for (uint32_t i = 0; i < 200; i++) code_add(parts, i, CODE_PT);
    code_add(parts, 0x950, CODE_PT);
    parts->version = "release 13.0";
    parts->options = "-O 3 -arch sm_90a -m 64";
    sass = cubin_open(parts, &image);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    gpuchar_sass_close(sass);
    free(image.bytes);
    free(parts);
    return 0;
}

#define INVALID GPUCHAR_E_INVALID_ARGUMENT

static void test_nothing_given(void **state) {
    (void)state;
    gpuchar_sass *opened = (gpuchar_sass *)1;
    gpuchar_sass_info info = GPUCHAR_SASS_INFO_INIT;
    gpuchar_sass_function function;
    gpuchar_sass_instruction instruction;
    gpuchar_sass_mix mix = GPUCHAR_SASS_MIX_INIT;
    gpuchar_sass_graph graph = GPUCHAR_SASS_GRAPH_INIT;
    gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
    char *text = (char *)1;
    size_t index = 0;
    assert_int_equal(gpuchar_sass_open(NULL, 0, &opened), INVALID);
    assert_null(opened);
    assert_int_equal(gpuchar_sass_open(image.bytes, image.size, NULL), INVALID);
    assert_int_equal(gpuchar_sass_open(image.bytes, 0, &opened), GPUCHAR_E_SASS_FORMAT);
    gpuchar_sass_close(NULL);
    assert_int_equal(gpuchar_sass_info_get(NULL, &info), INVALID);
    assert_int_equal(gpuchar_sass_info_get(sass, NULL), INVALID);
    assert_int_equal(gpuchar_sass_function_get(NULL, 0, &function), INVALID);
    assert_int_equal(gpuchar_sass_function_get(sass, 0, NULL), INVALID);
    assert_int_equal(gpuchar_sass_function_find(NULL, "kernel", &index), INVALID);
    assert_int_equal(gpuchar_sass_function_find(sass, NULL, &index), INVALID);
    assert_int_equal(gpuchar_sass_function_find(sass, "kernel", NULL), INVALID);
    assert_int_equal(gpuchar_sass_instruction_get(NULL, 0, 0, &instruction), INVALID);
    assert_int_equal(gpuchar_sass_instruction_get(sass, 0, 0, NULL), INVALID);
    assert_int_equal(gpuchar_sass_mix_get(NULL, 0, &mix), INVALID);
    assert_int_equal(gpuchar_sass_mix_get(sass, 0, NULL), INVALID);
    assert_int_equal(gpuchar_sass_graph_get(NULL, 0, &graph), INVALID);
    assert_int_equal(gpuchar_sass_graph_get(sass, 0, NULL), INVALID);
    assert_int_equal(gpuchar_sass_reconvergence_get(NULL, 0, &result), INVALID);
    assert_int_equal(gpuchar_sass_reconvergence_get(sass, 0, NULL), INVALID);
    assert_int_equal(gpuchar_sass_dot(sass, 0, NULL), INVALID);
    assert_int_equal(gpuchar_sass_dot(NULL, 0, &text), INVALID);
    assert_null(text);
    gpuchar_sass_mix_free(NULL);
    gpuchar_sass_graph_free(NULL);
    gpuchar_sass_reconvergence_free(NULL);
}

static void test_beyond_the_end(void **state) {
    (void)state;
    static const size_t BEYOND[] = {2, 1000, SIZE_MAX - 1};
    gpuchar_sass_function function;
    gpuchar_sass_instruction instruction;
    for (size_t i = 0; i < 3; i++) {
        gpuchar_sass_mix mix = GPUCHAR_SASS_MIX_INIT;
        gpuchar_sass_graph graph = GPUCHAR_SASS_GRAPH_INIT;
        gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
        char *text = NULL;
        assert_int_equal(gpuchar_sass_function_get(sass, BEYOND[i], &function), GPUCHAR_E_LIMIT);
        assert_int_equal(gpuchar_sass_instruction_get(sass, BEYOND[i], 0, &instruction), GPUCHAR_E_LIMIT);
        assert_int_equal(gpuchar_sass_instruction_get(sass, 0, BEYOND[i] + 500, &instruction), GPUCHAR_E_LIMIT);
        assert_int_equal(gpuchar_sass_mix_get(sass, BEYOND[i], &mix), GPUCHAR_E_LIMIT);
        assert_int_equal(gpuchar_sass_graph_get(sass, BEYOND[i], &graph), GPUCHAR_E_LIMIT);
        assert_int_equal(gpuchar_sass_reconvergence_get(sass, BEYOND[i], &result), GPUCHAR_E_LIMIT);
        assert_int_equal(gpuchar_sass_dot(sass, BEYOND[i], &text), GPUCHAR_E_LIMIT);
        assert_null(mix.entries);
        assert_null(graph.blocks);
        assert_null(result.branches);
    }
    size_t index = 7;
    assert_int_equal(gpuchar_sass_function_find(sass, "kerne", &index), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(gpuchar_sass_function_find(sass, "callee", &index), GPUCHAR_OK);
    assert_int_equal(index, 1);
}

static void test_what_it_tells(void **state) {
    (void)state;
    gpuchar_sass_info info = GPUCHAR_SASS_INFO_INIT;
    gpuchar_sass_function function;
    gpuchar_sass_instruction instruction;
    assert_int_equal(gpuchar_sass_info_get(sass, &info), GPUCHAR_OK);
    assert_int_equal(info.architecture, 90);
    assert_int_equal(info.functions, 2);
    assert_int_equal(info.kernels, 1);
    assert_int_equal(info.instructions, parts->count);
    assert_int_equal(info.size_bytes, image.size);
    assert_int_equal(info.instruction_bytes, 16);
    assert_string_equal(info.target, "sm_90a");
    assert_string_equal(info.assembler, "release 13.0");
    assert_string_equal(info.options, "-O 3 -arch sm_90a -m 64");
    assert_int_equal(gpuchar_sass_function_get(sass, 1, &function), GPUCHAR_OK);
    assert_string_equal(function.name, "callee");
    assert_string_equal(function.section, ".text.kernel");
    assert_int_equal(function.kernel, 0);
    assert_int_equal(function.instructions, 201);
    assert_int_equal(gpuchar_sass_instruction_get(sass, 0, 3, &instruction), GPUCHAR_OK);
    assert_int_equal(instruction.kind, GPUCHAR_SASS_BRANCH);
    assert_int_equal(instruction.target_bytes, 0x50);
    assert_int_equal(instruction.low, parts->code[3].low);
    assert_int_equal(instruction.high, parts->code[3].high);
    assert_int_equal(gpuchar_sass_instruction_get(sass, 1, 200, &instruction), GPUCHAR_OK);
    assert_int_equal(instruction.pc_bytes, (parts->count - 1) * 16);
}

static void test_mix_adds_up(void **state) {
    (void)state;
    const size_t which[] = {0, 1, GPUCHAR_SASS_ALL};
    uint64_t counts[3];
    for (size_t i = 0; i < 3; i++) {
        gpuchar_sass_mix mix = GPUCHAR_SASS_MIX_INIT;
        assert_int_equal(gpuchar_sass_mix_get(sass, which[i], &mix), GPUCHAR_OK);
        uint64_t sum = 0, unknown = 0;
        for (size_t e = 0; e < mix.entry_count; e++) {
            sum += mix.entries[e].count;
            if (!mix.entries[e].mnemonic) unknown += mix.entries[e].count;
            assert_true(e == 0 || mix.entries[e].count <= mix.entries[e - 1].count);
        }
        assert_int_equal(sum, mix.instructions);
        assert_int_equal(unknown, mix.unknown);
        counts[i] = sum;
        gpuchar_sass_mix_free(&mix);
        assert_null(mix.entries);
    }
    assert_int_equal(counts[0] + counts[1], counts[2]);
    assert_int_equal(counts[2], parts->count);
}

/* A newer caller's struct ends later; one that ends earlier is refused, and nothing is written. */
static void test_other_sizes(void **state) {
    (void)state;
    struct {
        gpuchar_sass_graph graph;
        uint64_t more[4];
    } newer;
    memset(&newer, 0x5a, sizeof newer);
    gpuchar_sass_graph_init(&newer.graph, sizeof newer);
    assert_int_equal(gpuchar_sass_graph_get(sass, 0, &newer.graph), GPUCHAR_OK);
    assert_int_equal(newer.graph.struct_size, sizeof newer);
    assert_true(newer.graph.block_count > 10);
    gpuchar_sass_graph_free(&newer.graph);
    /* No release had less than this one: what is shorter was never made by it. */
    gpuchar_sass_info older;
    memset(&older, 0x5a, sizeof older);
    older.struct_size = offsetof(gpuchar_sass_info, target);
    assert_int_equal(gpuchar_sass_info_get(sass, &older), GPUCHAR_E_STRUCT_SIZE);
    for (size_t i = sizeof older.struct_size; i < sizeof older; i++)
        assert_int_equal(((unsigned char *)&older)[i], 0x5a);
    newer.graph.struct_size = 8;
    assert_int_equal(gpuchar_sass_graph_get(sass, 0, &newer.graph), GPUCHAR_E_STRUCT_SIZE);
    newer.graph.struct_size = 0;
    assert_int_equal(gpuchar_sass_graph_get(sass, 0, &newer.graph), GPUCHAR_E_STRUCT_SIZE);
}

/* ---- threads ---- */

static void *use_handle(void *unused) {
    (void)unused;
    size_t wrong = 0;
    for (uint32_t i = 0; i < 200; i++) {
        gpuchar_sass_graph graph = GPUCHAR_SASS_GRAPH_INIT;
        gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
        char *text = NULL;
        wrong += gpuchar_sass_graph_get(sass, i % 2, &graph) != GPUCHAR_OK || graph.block_count == 0;
        wrong += gpuchar_sass_reconvergence_get(sass, 0, &result) != GPUCHAR_OK || result.interval_count != 1;
        wrong += gpuchar_sass_dot(sass, 0, &text) != GPUCHAR_OK || !strstr(text, "BSSY B0");
        gpuchar_sass_graph_free(&graph);
        gpuchar_sass_reconvergence_free(&result);
        gpuchar_string_free(text);
    }
    return (void *)wrong;
}

static void test_several_threads(void **state) {
    (void)state;
    pthread_t threads[3];
    void *wrong = NULL;
    for (size_t i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, use_handle, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* ---- memory ---- */

static gpuchar_status act_open(void) {
    gpuchar_sass *opened = NULL;
    const gpuchar_status status = gpuchar_sass_open(image.bytes, image.size, &opened);
    assert_true((opened == NULL) == (status < 0));
    gpuchar_sass_close(opened);
    return status;
}
static gpuchar_status act_mix(void) {
    gpuchar_sass_mix mix = GPUCHAR_SASS_MIX_INIT;
    const gpuchar_status status = gpuchar_sass_mix_get(sass, GPUCHAR_SASS_ALL, &mix);
    if (status) assert_true(!mix.entries && !mix.entry_count);
    gpuchar_sass_mix_free(&mix);
    return status;
}
static gpuchar_status act_graph(void) {
    gpuchar_sass_graph graph = GPUCHAR_SASS_GRAPH_INIT;
    const gpuchar_status status = gpuchar_sass_graph_get(sass, 0, &graph);
    if (status) assert_true(!graph.blocks && !graph.edges && !graph.loops);
    gpuchar_sass_graph_free(&graph);
    return status;
}
static gpuchar_status act_reconvergence(void) {
    gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
    const gpuchar_status status = gpuchar_sass_reconvergence_get(sass, 0, &result);
    if (status) assert_true(!result.branches && !result.intervals);
    gpuchar_sass_reconvergence_free(&result);
    return status;
}
static gpuchar_status act_dot(void) {
    char *text = NULL;
    const gpuchar_status status = gpuchar_sass_dot(sass, 0, &text);
    assert_true((text == NULL) == (status < 0));
    gpuchar_string_free(text);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    static const struct {
        const char *name;
        gpuchar_status (*act)(void);
        unsigned least; /* allocations that it is known to make */
    } ACTS[] = {{"open", act_open, 4},
                {"mix", act_mix, 3},
                {"graph", act_graph, 20},
                {"reconvergence", act_reconvergence, 30},
                {"dot", act_dot, 20}};
    for (size_t i = 0; i < sizeof ACTS / sizeof ACTS[0]; i++) {
        libc_fail(LIBC_MEMORY, 0, 0);
        assert_int_equal(ACTS[i].act(), GPUCHAR_OK);
        libc_stop();
        const unsigned count = libc_count(LIBC_MEMORY);
        print_message("%s: %u allocations\n", ACTS[i].name, count);
        assert_true(count >= ACTS[i].least);
        for (unsigned use = 1; use <= count; use++) {
            libc_watch();
            libc_fail(LIBC_MEMORY, use, ENOMEM);
            const gpuchar_status status = ACTS[i].act();
            libc_stop();
            assert_true(libc_failed());
            assert_int_equal(status, GPUCHAR_E_OUT_OF_MEMORY);
            assert_int_equal(gpuchar_last_error()->status, GPUCHAR_E_OUT_OF_MEMORY);
            assert_int_equal(libc_left(), 0);
        }
        assert_int_equal(ACTS[i].act(), GPUCHAR_OK);
    }
}

/* Errors of every kind free what they had, too. */
static void test_errors_leave_nothing(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 3; kind++) {
        gpuchar_sass *opened = NULL;
        gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
        cubin_parts *bad = cubin_begin(kind == 2 ? 69 : 90);
        code_nop(bad);
        if (kind == 0) code_bra(bad, 0, 100);
        if (kind == 1) code_brx(bad, 0, 4);
        code_exit(bad, CODE_PT);
        cubin_image made = cubin_make(bad);
        libc_watch();
        gpuchar_status status = gpuchar_sass_open(made.bytes, made.size, &opened);
        if (!status) status = gpuchar_sass_reconvergence_get(opened, 0, &result);
        assert_int_equal(status, kind == 0 ? GPUCHAR_E_SASS_FORMAT : GPUCHAR_E_SASS_UNKNOWN);
        gpuchar_sass_close(opened);
        assert_int_equal(libc_left(), 0);
        free(made.bytes);
        free(bad);
    }
}

/* Each byte of a cubin in turn is another one: nothing may read beyond it, hang, or be told with a status that is not for it. */
static void test_corrupted_bytes(void **state) {
    (void)state;
    static const uint8_t MASKS[] = {0x01, 0x10, 0x80, 0xff};
    uint8_t *bytes = image.bytes;
    for (size_t at = 0; at < image.size; at++) {
        for (size_t m = 0; m < sizeof MASKS; m++) {
            gpuchar_sass *opened = NULL;
            bytes[at] ^= MASKS[m];
            gpuchar_status status = gpuchar_sass_open(bytes, image.size, &opened);
            for (size_t f = 0; !status && f < 2; f++) {
                gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
                status = gpuchar_sass_reconvergence_get(opened, f, &result);
                gpuchar_sass_reconvergence_free(&result);
            }
            assert_true(status == GPUCHAR_OK || status == GPUCHAR_E_SASS_FORMAT || status == GPUCHAR_E_SASS_UNKNOWN ||
                        status == GPUCHAR_E_LIMIT);
            gpuchar_sass_close(opened);
            bytes[at] ^= MASKS[m];
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_given),   cmocka_unit_test(test_beyond_the_end),
        cmocka_unit_test(test_what_it_tells),   cmocka_unit_test(test_mix_adds_up),
        cmocka_unit_test(test_other_sizes),     cmocka_unit_test(test_several_threads),
        cmocka_unit_test(test_memory),          cmocka_unit_test(test_errors_leave_nothing),
        cmocka_unit_test(test_corrupted_bytes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
