/*
 * An experiment whose kernels run in gpuchar-worker, while the system refuses what that needs: sockets, a process, words
 * between them. Each failure is told with its code, nothing stays behind, and the next call works.
 */
#include "descriptors.h"
#include "fault_bench.h"

#include <core/util.h>
#include <nvrtc.h>
#include <sys/wait.h>

static const scene progress = {"forward_progress", FAKE_WITH_ALL, "0", .canned = true, .act = act_progress};

/* What is refused, in one call; every use of it up to so many. */
typedef struct refusal {
    libc_call call;
    int error;
    unsigned uses;
    gpuchar_status expected; /* OK: nobody notices */
} refusal;

static const refusal refusals[] = {
    {LIBC_SOCKETPAIR, EMFILE, 1, GPUCHAR_E_WORKER},
    {LIBC_SOCKETPAIR, ENFILE, 1, GPUCHAR_E_WORKER},
    {LIBC_SOCKETPAIR, ENOMEM, 1, GPUCHAR_E_OUT_OF_MEMORY},
    {LIBC_SPAWN, EAGAIN, 1, GPUCHAR_E_WORKER},
    {LIBC_SPAWN, ENOMEM, 1, GPUCHAR_E_OUT_OF_MEMORY},
    {LIBC_SPAWN, ENOENT, 1, GPUCHAR_E_NO_WORKER},
    {LIBC_SPAWN, EACCES, 1, GPUCHAR_E_NO_WORKER},
    {LIBC_SPAWN, ENOEXEC, 1, GPUCHAR_E_NO_WORKER},
    {LIBC_SEND, ENOBUFS, 12, GPUCHAR_E_WORKER},
    {LIBC_SEND, EINTR, 6, GPUCHAR_OK},
    {LIBC_SEND, EAGAIN, 6, GPUCHAR_OK},
    {LIBC_RECV, ENOMEM, 12, GPUCHAR_E_WORKER},
    {LIBC_RECV, EINTR, 6, GPUCHAR_OK},
    {LIBC_RECV, EAGAIN, 6, GPUCHAR_OK},
    {LIBC_POLL, EINTR, 5, GPUCHAR_OK},
    {LIBC_POLL, ENOMEM, 8, GPUCHAR_E_WORKER},
};

static const char *judge(const refusal *r, const outcome *o, const outcome *clean, bool *told) {
    const gpuchar_error *error = gpuchar_last_error();
    *told = o->status != clean->status || o->flags != clean->flags;
    if (r->expected == GPUCHAR_OK) return *told ? "a pause is taken for a failure" : NULL;
    /* Or it only asked whether the process has ended, which is asked again. */
    if (r->call == LIBC_POLL && !*told) return NULL;
    if (o->status != r->expected || error->status != r->expected) return "another status";
    if (error->domain != GPUCHAR_DOMAIN_OS || error->native_code != r->error) return "the detail has another code";
    if (strcmp(error->call, libc_names[r->call]) != 0) return "the detail names another call";
    return error->message[0] && error->native_name[0] && error->hint[0] ? NULL : "the detail says nothing";
}

typedef struct tally {
    unsigned came, right, told;
} tally;

/* False: it did not come to this use. */
static bool run_case(const refusal *r, unsigned use, const outcome *clean, tally *t) {
    bench b;
    const size_t descriptors = count_descriptors();
    libc_watch();
    bench_open(&b, &progress);
    libc_fail(r->call, use, r->error);
    outcome o = act_progress(&b);
    libc_stop();
    const bool came = libc_failed();
    bool told = false;
    const char *trouble = came ? judge(r, &o, clean, &told) : NULL;
    if (!trouble && act_progress(&b).status != clean->status) trouble = "the same call does not work afterwards";
    if (trouble) {
        print_message("%s %u says %s: %s (status %d: %s: %s)\n", libc_names[r->call], use, strerror(r->error), trouble,
                      o.status, gpuchar_last_error()->call, gpuchar_last_error()->message);
    }
    bench_close(&b);
    const char *left = bench_check_left();
    if (!left && count_descriptors() != descriptors) left = "a descriptor is left";
    if (left) print_message("%s %u says %s: %s\n", libc_names[r->call], use, strerror(r->error), left);
    t->came += came;
    t->right += came && !trouble && !left;
    t->told += told;
    return came;
}

static void test_refusals(void **state) {
    (void)state;
    tally all = {0};
    bench b;
    bench_open(&b, &progress);
    const outcome clean = act_progress(&b);
    bench_close(&b);
    /* The driver in the worker's process runs nothing, which is told as what no kernel can have left. */
    assert_int_equal(clean.status, GPUCHAR_E_MEASUREMENT);
    for (size_t i = 0; i < GC_COUNT(refusals); i++) {
        tally one = {0};
        /* How often it is received depends on how fast the other side is. */
        for (unsigned use = 1; use <= refusals[i].uses && run_case(&refusals[i], use, &clean, &one); use++) {
        }
        print_message("%-11s %-8s %2u of %2u end right, %2u told\n", libc_names[refusals[i].call],
                      gc_errno_name(refusals[i].error), one.right, one.came, one.told);
        assert_true(one.came > 0);
        assert_true(refusals[i].expected == GPUCHAR_OK || one.told > 0);
        all.came += one.came;
        all.right += one.right;
    }
    print_message("%u of %u cases end right\n", all.right, all.came);
    assert_int_equal(all.right, all.came);
}

/* What goes wrong beside a worker that was begun is told as without one, and the worker is not waited for. */
static void test_begun_in_vain(void **state) {
    (void)state;
    static const struct {
        const char *call;
        int error;
        gpuchar_status expected;
    } cases[] = {{"nvrtcVersion", NVRTC_ERROR_INVALID_INPUT, GPUCHAR_E_NVRTC},
                 {"nvrtcCreateProgram", NVRTC_ERROR_OUT_OF_MEMORY, GPUCHAR_E_OUT_OF_MEMORY},
                 {"nvrtcCompileProgram", NVRTC_ERROR_INTERNAL_ERROR, GPUCHAR_E_NVRTC},
                 {"nvrtcGetCUBIN", NVRTC_ERROR_INVALID_PROGRAM, GPUCHAR_E_NVRTC}};
    for (size_t i = 0; i < GC_COUNT(cases); i++) {
        bench b;
        const size_t descriptors = count_descriptors();
        libc_watch();
        bench_open(&b, &progress);
        libc_fail(LIBC_SPAWN, 0, 0); /* only counted */
        fake_fail(cases[i].call, 1, cases[i].error);
        const uint64_t begin = gc_now_ns();
        const outcome o = act_progress(&b);
        const double took_ms = (double)(gc_now_ns() - begin) * 1e-6;
        libc_stop();
        fake_fail(NULL, 0, 0);
        print_message("%s fails: %s, after %.1f ms\n", cases[i].call, gpuchar_status_name(o.status), took_ms);
        assert_int_equal(o.status, cases[i].expected);
        assert_int_equal(libc_count(LIBC_SPAWN), 1);
        assert_true(took_ms < 5000);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        bench_close(&b);
        assert_null(bench_check_left());
        assert_int_equal(count_descriptors(), descriptors);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_begun_in_vain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
