/* A program of the caller's, run on bytes. */
#include <fakes/fake_client.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <worker/tool.h>

static const uint64_t second_ns = UINT64_C(1000000000);

static gpuchar_status run_shell(const char *command, const void *input, size_t size, uint64_t limit_ns,
                                gc_tool_result *result) {
    char name[] = "sh", option[] = "-c", text[512];
    snprintf(text, sizeof text, "%s", command);
    char *const words[] = {name, option, text, NULL};
    return gc_tool_run("/bin/sh", words, input, size, limit_ns, result);
}

static void test_bytes_through(void **state) {
    (void)state;
    enum { SIZE = 3 << 20 };
    char *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)(i * 7 + i / 255);
    gc_tool_result result;
    assert_failure(run_shell("cat " GC_TOOL_INPUT " >" GC_TOOL_OUTPUT "; echo told; echo too >&2; exit 3", bytes, SIZE,
                             60 * second_ns, &result),
                   GPUCHAR_OK);
    assert_int_equal(result.code, 3);
    assert_int_equal(result.output_size, SIZE);
    assert_memory_equal(result.output, bytes, SIZE);
    assert_string_equal(result.text, "told\ntoo\n");
    gc_tool_free(&result);
    assert_null(result.output);
    assert_failure(run_shell("cat", "as standard input", 17, 60 * second_ns, &result), GPUCHAR_OK);
    assert_string_equal(result.text, "as standard input");
    assert_int_equal(result.output_size, 0);
    gc_tool_free(&result);
    free(bytes);
}

static void test_ends(void **state) {
    (void)state;
    gc_tool_result result;
    char name[] = "x";
    char *const words[] = {name, NULL};
    assert_failure(gc_tool_run(FAKE_NOWHERE, words, "", 0, second_ns, &result), GPUCHAR_E_IO);
    assert_string_equal(gpuchar_last_error()->native_name, "ENOENT");
    assert_failure(run_shell("kill -9 $$", "", 0, 60 * second_ns, &result), GPUCHAR_E_IO);
    assert_contains(gpuchar_last_error()->message, "signal 9");
    assert_failure(run_shell("exec sleep 60", "", 0, second_ns / 5, &result), GPUCHAR_E_TIMEOUT);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

/* A host that ignores SIGCHLD learns of the end instead of us, and the bytes are there all the same. */
static void test_host_ignores_children(void **state) {
    (void)state;
    gc_tool_result result;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    assert_failure(run_shell("cat " GC_TOOL_INPUT " >" GC_TOOL_OUTPUT, "bytes", 5, 60 * second_ns, &result),
                   GPUCHAR_OK);
    signal(SIGCHLD, before);
    assert_int_equal(result.output_size, 5);
    gc_tool_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_through),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_host_ignores_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
