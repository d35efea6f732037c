/* What follows from a probe's memory: what is possible, and the worst of several launches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <experiments/progress_reduce.h>

enum { SPINS = 100 };

typedef gpuchar_forward_progress_result progress_result;

static gc_progress_launch lock_launch(void) {
    gc_progress_launch made = {.kind = GC_PROGRESS_LOCK, .spin_limit = SPINS, .cycles = 1000, .elapsed_ns = 7};
    for (uint32_t lane = 0; lane < 32; ++lane) {
        made.state.turn[lane] = 32 - lane;
        made.state.spins[lane] = 32 - lane;
    }
    made.state.counter = 32;
    return made;
}

static gc_progress_launch wait_launch(gc_progress_kind kind) {
    gc_progress_launch made = {.kind = kind, .spin_limit = SPINS, .cycles = 1000, .elapsed_ns = 7};
    made.state.flag = 1;
    made.state.answer = kind == GC_PROGRESS_PEER;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        made.state.turn[lane] = 1;
        made.state.spins[lane] = 2 + lane;
    }
    if (kind == GC_PROGRESS_PRODUCER) made.state.spins[0] = 0;
    return made;
}

static void starve(gc_progress_launch *made, uint32_t lane) {
    made->state.turn[lane] = 0;
    made->state.spins[lane] = SPINS;
}

#define POSSIBLE(make, change)                                                                                         \
    {                                                                                                                  \
        gc_progress_launch m = make;                                                                                   \
        change;                                                                                                        \
        const char *said = gc_progress_impossible(&m);                                                                 \
        if (said) fail_msg("line %d: %s", __LINE__, said);                                                             \
    }
#define IMPOSSIBLE(make, change)                                                                                       \
    {                                                                                                                  \
        gc_progress_launch m = make;                                                                                   \
        change;                                                                                                        \
        if (!gc_progress_impossible(&m)) fail_msg("line %d is taken for possible", __LINE__);                          \
    }

static void test_possible(void **state) {
    (void)state;
    POSSIBLE(lock_launch(), (void)m)
    /* Lane 0 was the last; lanes 3 and 4 were in at once, or three of them. */
    POSSIBLE(lock_launch(), starve(&m, 0); m.state.counter = 31)
    POSSIBLE(lock_launch(), m.state.turn[0] = 31; m.state.counter = 31)
    POSSIBLE(lock_launch(), m.state.turn[0] = m.state.turn[1] = 30; m.state.counter = 30)
    /* One that read long before it wrote set the counter back. */
    POSSIBLE(lock_launch(), m.state.turn[0] = 5; m.state.counter = 5)
    POSSIBLE(wait_launch(GC_PROGRESS_PRODUCER), (void)m)
    POSSIBLE(wait_launch(GC_PROGRESS_PRODUCER), starve(&m, 31))
    POSSIBLE(wait_launch(GC_PROGRESS_PEER), starve(&m, 0))
    POSSIBLE(wait_launch(GC_PROGRESS_PEER), for (uint32_t lane = 0; lane < 32; ++lane) starve(&m, lane))
    POSSIBLE(wait_launch(GC_PROGRESS_PEER), m.state.spins[5] = SPINS)
}

static void test_impossible_lock(void **state) {
    (void)state;
    IMPOSSIBLE(lock_launch(), m.cycles = 0)
    IMPOSSIBLE(lock_launch(), m.cycles = UINT64_MAX)
    IMPOSSIBLE(lock_launch(), m.state.lock = 1)
    IMPOSSIBLE(lock_launch(), m.state.flag = 1)
    IMPOSSIBLE(lock_launch(), m.state.answer = 1)
    IMPOSSIBLE(lock_launch(), m.state.counter = 31)
    IMPOSSIBLE(lock_launch(), m.state.counter = 33)
    IMPOSSIBLE(lock_launch(), m.state.counter = 0)
    IMPOSSIBLE(lock_launch(), m.state.turn[0] = 33)
    IMPOSSIBLE(lock_launch(), m.state.turn[0] = UINT32_MAX)
    IMPOSSIBLE(lock_launch(), starve(&m, 5)) /* a turn that nobody had, and one after it */
    IMPOSSIBLE(lock_launch(), m.state.spins[5] = SPINS + 1)
    IMPOSSIBLE(lock_launch(), m.state.spins[5] = 0)
    IMPOSSIBLE(lock_launch(), starve(&m, 0); m.state.counter = 31; m.state.spins[0] = SPINS - 1)
    IMPOSSIBLE(lock_launch(), starve(&m, 0); m.state.counter = 31; m.state.spins[0] = 0)
    IMPOSSIBLE(lock_launch(), memset(&m.state, 0, sizeof m.state))
    IMPOSSIBLE(lock_launch(), memset(&m.state, 0xff, sizeof m.state))
    IMPOSSIBLE(lock_launch(), m.state.counter = 0; for (uint32_t lane = 0; lane < 32; ++lane) starve(&m, lane))
}

static void test_impossible_wait(void **state) {
    (void)state;
    for (int i = 0; i < 2; ++i) {
        const gc_progress_kind kind = i ? GC_PROGRESS_PEER : GC_PROGRESS_PRODUCER;
        IMPOSSIBLE(wait_launch(kind), m.cycles = 0)
        IMPOSSIBLE(wait_launch(kind), m.state.lock = 1)
        IMPOSSIBLE(wait_launch(kind), m.state.counter = 1)
        IMPOSSIBLE(wait_launch(kind), m.state.flag = 0)
        IMPOSSIBLE(wait_launch(kind), m.state.flag = 2)
        IMPOSSIBLE(wait_launch(kind), m.state.answer ^= 1)
        IMPOSSIBLE(wait_launch(kind), m.state.turn[9] = 2)
        IMPOSSIBLE(wait_launch(kind), m.state.turn[9] = 0)
        IMPOSSIBLE(wait_launch(kind), m.state.spins[9] = 0)
        IMPOSSIBLE(wait_launch(kind), m.state.spins[9] = SPINS + 1)
        IMPOSSIBLE(wait_launch(kind), memset(&m.state, 0xff, sizeof m.state))
    }
    POSSIBLE(wait_launch(GC_PROGRESS_PRODUCER), m.turns = 1000)
    IMPOSSIBLE(wait_launch(GC_PROGRESS_PRODUCER), m.turns = 1001)
    IMPOSSIBLE(wait_launch(GC_PROGRESS_PRODUCER), m.state.spins[0] = 1)
    IMPOSSIBLE(wait_launch(GC_PROGRESS_PRODUCER), m.state.turn[0] = 0)
    IMPOSSIBLE(wait_launch(GC_PROGRESS_PEER), m.state.spins[0] = 0)
}

static void test_worst_run(void **state) {
    (void)state;
    gpuchar_progress_run run = {0};
    gc_progress_launch first = wait_launch(GC_PROGRESS_PRODUCER), second = first;
    assert_true(gc_progress_add(&first, &run));
    assert_int_equal(run.end, GPUCHAR_PROGRESS_ENDED);
    assert_int_equal(run.spins_min, 3); /* the producer does not ask */
    assert_int_equal(run.spins_max, 33);
    second.state.spins[8] = 1;
    second.cycles = 5;
    second.elapsed_ns = 6;
    assert_true(gc_progress_add(&second, &run)); /* spins may differ */
    assert_true(run.spins_min == 1 && run.spins_max == 33 && run.cycles == 5 && run.elapsed_ns == 6);
    starve(&second, 31);
    assert_false(gc_progress_add(&second, &run));
    assert_false(gc_progress_add(&first, &run));
    assert_int_equal(run.end, GPUCHAR_PROGRESS_SPIN_LIMIT);
    assert_true(run.lanes_done == 31 && run.launches == 4 && run.known == GPUCHAR_PROGRESS_RUN_COUNTS);
    assert_false(gc_progress_add_end(GPUCHAR_PROGRESS_TIMED_OUT, &run));
    assert_true(run.end == GPUCHAR_PROGRESS_TIMED_OUT && run.launches == 5 && run.known == 0 && run.spins_max == 0);
    gpuchar_progress_run other = {0};
    assert_true(gc_progress_add_end(GPUCHAR_PROGRESS_FAILED, &other));
    assert_true(other.end == GPUCHAR_PROGRESS_FAILED && other.launches == 1);
}

/* A launch in which the lock broke is worse than one that served few, whichever comes first. */
static void test_worst_lock(void **state) {
    (void)state;
    gc_progress_launch whole = lock_launch(), few = whole, broken = whole;
    starve(&few, 0);
    starve(&few, 1);
    few.state.counter = 30;
    broken.state.turn[0] = broken.state.counter = 31;
    const gc_progress_launch *orders[][3] = {
        {&whole, &few, &broken}, {&broken, &few, &whole}, {&few, &broken, &whole}, {&broken, &whole, &few}};
    for (size_t i = 0; i < GC_COUNT(orders); ++i) {
        progress_result result = {0};
        for (size_t k = 0; k < 3; ++k) gc_progress_add_lock(orders[i][k], &result);
        assert_int_equal(result.lock_broken, 1);
        assert_int_equal(result.lock_served, 30);
        assert_memory_equal(result.lock_turns, broken.state.turn, sizeof result.lock_turns);
    }
    progress_result result = {0};
    gc_progress_add_lock(&few, &result);
    gc_progress_add_lock(&whole, &result);
    assert_true(result.lock_broken == 0 && result.lock_served == 30 && result.lock_turns[0] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_possible),        cmocka_unit_test(test_impossible_lock),
        cmocka_unit_test(test_impossible_wait), cmocka_unit_test(test_worst_run),
        cmocka_unit_test(test_worst_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
