/* Recordings of forward_progress with numbers that no probe can give: refused, with the name of the field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <experiments/experiment.h>
#include <experiments/progress_tables.h>

typedef gpuchar_forward_progress_result progress_result;

static gpuchar_progress_producer producers[1];

/* 32 lanes had the lock, one after another; everything else ended at once. */
static progress_result good(void) {
    progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    result.spin_limit = result.launches = result.limit_ms = 1;
    result.lock_served = 32;
    for (uint32_t i = 0; i < 32; ++i) result.lock_turns[i] = i + 1;
    result.lock = (gpuchar_progress_run){.end = GPUCHAR_PROGRESS_ENDED, .lanes_done = 32, .spins_max = 31};
    result.lock_code = (gpuchar_progress_code){.instructions = 8, .yields = 1, .barriers = 2};
    producers[0] = (gpuchar_progress_producer){.turns = 10};
    result.producers = producers;
    result.producer_count = 1;
    result.evidence.flags = GPUCHAR_FLAG_PROVED;
    result.evidence.counters_status = GPUCHAR_E_NOT_APPLICABLE;
    result.evidence.arch = 90;
    return result;
}

static const char *find_wrong(const progress_result *recorded) {
    const gpuchar_forward_progress_options options = GPUCHAR_FORWARD_PROGRESS_OPTIONS_INIT;
    progress_result answer = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    const char *wrong = gc_progress_answer(&options, recorded, &answer);
    if (!wrong) gpuchar_forward_progress_result_free(&answer);
    return wrong;
}

static void test_impossible_numbers(void **state) {
    (void)state;
    progress_result sound = good();
    assert_null(find_wrong(&sound));
    sound.lock_served = 0; /* the lock failed, and turns tell how */
    sound.lock_turns[0] = sound.lock_turns[1] = 7;
    assert_null(find_wrong(&sound));
#define WRONG(member, value, field)                                                                                    \
    {                                                                                                                  \
        progress_result wrong = good();                                                                                \
        wrong.member = value;                                                                                          \
        const char *found = find_wrong(&wrong);                                                                        \
        if (!found || strcmp(found, field) != 0) fail_msg("%s instead of %s", found ? found : "nothing", field);       \
    }
    WRONG(spin_limit, 0, "spin_limit")
    WRONG(launches, 0, "launches")
    WRONG(limit_ms, 0, "limit_ms")
    WRONG(lock_served, 33, "lock_served")
    WRONG(lock_served, 31, "lock_served")
    WRONG(lock_turns[3], 33, "lock_served")
    WRONG(lock_turns[3], 3, "lock_served")
    WRONG(lock.lanes_done, 33, "lock")
    WRONG(lock.spins_min, 32, "lock")
    WRONG(lock_code.yields, 7, "lock_code")
    WRONG(lock_code.sleeps, UINT32_MAX, "lock_code")
    WRONG(producer_code.spins_first, 2, "producer_code")
    WRONG(producer_count, 0, "producers")
    WRONG(producer_count, 9, "producers")
    WRONG(producers[0].turns, 0, "producers[].turns")
    WRONG(producers[0].turns, UINT64_C(1) << 32, "producers[].turns")
    WRONG(producers[0].run.lanes_done, 33, "producers[].run")
    WRONG(peers[3].run.lanes_done, 33, "peers[].run")
    WRONG(peers[2].code.breaks, 1, "peers[].code")
    WRONG(evidence.arch, 0, "evidence.arch")
    WRONG(evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED, "evidence.counters_status")
#undef WRONG
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_impossible_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
