/* Recordings of forward_progress that no call can have filled: refused, with the name of the field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <experiments/progress_recorded.h>
#include <schema/json.h>

typedef gpuchar_forward_progress_result progress_result;

enum { LAUNCHES = 3, SPINS = 100 };

static gpuchar_progress_producer producers[2];

static gpuchar_progress_run ended(void) {
    return (gpuchar_progress_run){.end = GPUCHAR_PROGRESS_ENDED,
                                  .known = GPUCHAR_PROGRESS_RUN_COUNTS,
                                  .launches = LAUNCHES,
                                  .lanes_done = 32,
                                  .spins_min = 1,
                                  .spins_max = 32,
                                  .cycles = 1000,
                                  .elapsed_ns = 1000};
}

static gpuchar_progress_run gave_up(void) {
    gpuchar_progress_run run = ended();
    run.end = GPUCHAR_PROGRESS_SPIN_LIMIT;
    run.lanes_done = 31;
    run.spins_max = SPINS;
    return run;
}

static gpuchar_progress_code proved(uint32_t yields, uint32_t removed) {
    return (gpuchar_progress_code){.instructions = 12,
                                   .yields = yields,
                                   .barriers = 2,
                                   .yields_removed = removed,
                                   .known = GPUCHAR_PROGRESS_CODE_COUNTS};
}

/* As on a GPU: 32 lanes had the lock, one after another; the peers without YIELD gave up; everything else ended. */
static progress_result good(void) {
    progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    result.spin_limit = SPINS;
    result.launches = LAUNCHES;
    result.limit_ms = 10;
    result.known = GPUCHAR_PROGRESS_LAUNCHED | GPUCHAR_PROGRESS_LOCK;
    result.lock_served = 32;
    for (uint32_t i = 0; i < 32; ++i) result.lock_turns[i] = i + 1;
    result.lock = ended();
    result.lock_code = result.producer_code = proved(1, 0);
    producers[0] = (gpuchar_progress_producer){.turns = 10, .run = ended()};
    producers[1] = (gpuchar_progress_producer){.turns = 1000, .run = ended()};
    producers[1].run.spins_max = 900; /* as many as turns */
    result.producers = producers;
    result.producer_count = 2;
    for (int i = 0; i < 4; ++i) {
        result.peers[i].run = i < 2 ? ended() : gave_up();
        result.peers[i].code = i < 2 ? proved(2, 0) : proved(0, 2);
    }
    result.launches_ns = 1000;
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

static void expect_sound(const progress_result *result) {
    const char *found = find_wrong(result);
    if (found) fail_msg("%s is said to be wrong", found);
}

static void expect_wrong(const progress_result *result, const char *field, int line) {
    const char *found = find_wrong(result);
    if (!found || strcmp(found, field) != 0)
        fail_msg("line %d: %s instead of %s", line, found ? found : "nothing", field);
}

/* One change of a sound result, and the field that is refused; several changes as one block. */
#define WRONG(field, ...)                                                                                              \
    {                                                                                                                  \
        progress_result r = good();                                                                                    \
        __VA_ARGS__;                                                                                                   \
        expect_wrong(&r, field, __LINE__);                                                                             \
    }
#define SOUND(...)                                                                                                     \
    {                                                                                                                  \
        progress_result r = good();                                                                                    \
        __VA_ARGS__;                                                                                                   \
        expect_sound(&r);                                                                                              \
    }

static void time_out(gpuchar_progress_run *run, uint32_t launches) {
    *run = (gpuchar_progress_run){.end = GPUCHAR_PROGRESS_TIMED_OUT, .launches = launches};
}

static void fault(gpuchar_progress_run *run, uint32_t launches) {
    *run = (gpuchar_progress_run){
        .end = GPUCHAR_PROGRESS_FAILED, .known = GPUCHAR_PROGRESS_RUN_NATIVE, .launches = launches, .native_code = 700};
}

/* A result whose lock says nothing of its lanes. */
static void forget_lock(progress_result *r) {
    r->known &= ~(uint32_t)GPUCHAR_PROGRESS_LOCK;
    r->lock_served = r->lock_broken = 0;
    memset(r->lock_turns, 0, sizeof r->lock_turns);
}

static void break_lock(progress_result *r) {
    for (uint32_t i = 4; i < 32; ++i) r->lock_turns[i] = i;
    r->lock_served = 30;
    r->lock_broken = 1;
    r->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
}

static void test_sound(void **state) {
    (void)state;
    SOUND((void)r)
    SOUND(forget_lock(&r)) /* of a time when only the last launch was told */
    SOUND(forget_lock(&r); time_out(&r.lock, 3))
    SOUND(forget_lock(&r); time_out(&r.lock, 1); r.evidence.flags |= GPUCHAR_FLAG_UNSTABLE)
    SOUND(forget_lock(&r); time_out(&r.lock, 3); r.evidence.flags |= GPUCHAR_FLAG_OFF_LAW) /* broken before */
    SOUND(fault(&r.peers[0].run, 3); r.evidence.flags |= GPUCHAR_FLAG_OFF_LAW)
    SOUND(break_lock(&r))
    SOUND(r.evidence.flags |= GPUCHAR_FLAG_UNSTABLE)
    SOUND(r.peers[0].code.yields = 0;
          r.peers[2] = (gpuchar_progress_peer){.code.proof_status = GPUCHAR_E_NOT_APPLICABLE})
}

static void test_options(void **state) {
    (void)state;
    WRONG("spin_limit", r.spin_limit = 0)
    WRONG("spin_limit", r.spin_limit = (1u << 30) + 1)
    WRONG("launches", r.launches = 0)
    WRONG("launches", r.launches = 101)
    WRONG("limit_ms", r.limit_ms = 9)
    WRONG("limit_ms", r.limit_ms = 60001)
    WRONG("producers", r.producer_count = 0)
    WRONG("producers", r.producer_count = 9)
    WRONG("producers[].turns", r.producers[0].turns = 0)
    WRONG("producers[].turns", r.producers[0].turns = UINT64_C(1) << 32)
}

#define WRONG_RUN(field, run)                                                                                          \
    WRONG(field, run.end = 77)                                                                                         \
    WRONG(field, run.end = GPUCHAR_PROGRESS_NOT_RUN)                                                                   \
    WRONG(field, run = (gpuchar_progress_run){0})                                                                      \
    WRONG(field, run.end = GPUCHAR_PROGRESS_TIMED_OUT)                                                                 \
    WRONG(field, run.end = GPUCHAR_PROGRESS_FAILED)                                                                    \
    WRONG(field, run.lanes_done = 3)                                                                                   \
    WRONG(field, run.lanes_done = 33)                                                                                  \
    WRONG(field, run.known = 0)                                                                                        \
    WRONG(field, run.known = 3)                                                                                        \
    WRONG(field, run.launches = LAUNCHES - 1)                                                                          \
    WRONG(field, run.spins_min = 0)                                                                                    \
    WRONG(field, run.spins_min = 2000)                                                                                 \
    WRONG(field, run.spins_max = 1001)                                                                                 \
    WRONG(field, run.cycles = 0)                                                                                       \
    WRONG(field, run.native_code = 700)                                                                                \
    WRONG(field, run = gave_up(); run.lanes_done = 32)                                                                 \
    WRONG(field, run = gave_up(); run.spins_max = SPINS - 1)                                                           \
    WRONG(field, time_out(&run, 0))                                                                                    \
    WRONG(field, time_out(&run, LAUNCHES + 1))                                                                         \
    WRONG(field, time_out(&run, LAUNCHES); run.cycles = 5)                                                             \
    WRONG(field, time_out(&run, LAUNCHES); run.native_code = 5)                                                        \
    WRONG(field, fault(&run, LAUNCHES); run.native_code = 0)                                                           \
    WRONG(field, fault(&run, LAUNCHES); run.known = 0)

static void test_runs(void **state) {
    (void)state;
    WRONG_RUN("lock", r.lock)
    WRONG_RUN("producers[].run", r.producers[1].run)
    WRONG_RUN("peers[].run", r.peers[1].run)
    WRONG("peers[].run", r.peers[3].run.end = 77)
    WRONG("peers[].run", r.peers[3].run = (gpuchar_progress_run){0})
    WRONG("peers[].run", r.peers[3].run.lanes_done = 32)
    WRONG("peers[].run", r.peers[3].run.spins_max = SPINS - 1)
    WRONG("producers[].run", r.producers[1].run.cycles = 999)
    WRONG("lock", r.lock.spins_max = SPINS + 1)
    WRONG("producers[].run", r.producers[0].run.spins_max = SPINS + 1)
    WRONG("launches_ns", r.launches_ns = 0)
    WRONG("launches_ns", r.known &= ~(uint32_t)GPUCHAR_PROGRESS_LAUNCHED)
    WRONG("launches_ns", r.evidence.flags |= GPUCHAR_FLAG_COMPILE_ONLY)
}

static void test_lock(void **state) {
    (void)state;
    WRONG("lock_served", r.lock_served = 33)
    WRONG("lock_served", r.lock_served = 31)
    WRONG("lock_served", r.lock_turns[3] = 33)
    WRONG("lock_served", r.lock_turns[3] = 3)
    WRONG("lock_served", r.lock_turns[3] = 0)
    WRONG("lock_served", time_out(&r.lock, LAUNCHES))
    WRONG("lock_served", fault(&r.lock, LAUNCHES))
    WRONG("lock_served", forget_lock(&r); r.lock_served = 1)
    WRONG("lock_served", forget_lock(&r); r.lock_turns[0] = 1)
    WRONG("lock_served", r.lock_broken = 1)
    WRONG("lock_served", break_lock(&r); r.lock_broken = 0)
    WRONG("lock_served", break_lock(&r); r.lock_broken = LAUNCHES + 1)
    WRONG("evidence.flags", break_lock(&r); r.evidence.flags = GPUCHAR_FLAG_PROVED)
    WRONG("evidence.flags", r.evidence.flags |= GPUCHAR_FLAG_OFF_LAW)
    WRONG("evidence.flags", fault(&r.peers[3].run, LAUNCHES))
    WRONG("evidence.flags", time_out(&r.peers[3].run, 1))
    WRONG("evidence.flags", time_out(&r.producers[0].run, 2))
}

static void test_code(void **state) {
    (void)state;
    WRONG("lock_code", r.lock_code.yields = 12)
    WRONG("lock_code", r.lock_code.sleeps = UINT32_MAX)
    WRONG("lock_code", r.lock_code.proof_status = GPUCHAR_E_NOT_PROVED)
    WRONG("lock_code", r.lock_code.known = 0)
    WRONG("lock_code", r.lock_code.yields_removed = 1)
    WRONG("lock_code", r.lock_code = (gpuchar_progress_code){0})
    WRONG("producer_code", r.producer_code.spins_first = 2)
    WRONG("producer_code", r.producer_code.proof_status = 1)
    WRONG("peers[].code", r.peers[2].code.breaks = 11)
    WRONG("peers[].code", r.peers[0].code.yields_removed = 1)
    WRONG("peers[].code", r.peers[2].code.yields_removed = 1)
    WRONG("peers[].code", r.peers[2].code.yields = 1)
    WRONG("peers[].code", r.peers[3].code = (gpuchar_progress_code){.proof_status = GPUCHAR_E_NOT_APPLICABLE};
          r.peers[3].run = (gpuchar_progress_run){0})
    WRONG("evidence.proof_status", r.peers[0].code = (gpuchar_progress_code){.proof_status = GPUCHAR_E_NOT_PROVED};
          r.peers[2] = (gpuchar_progress_peer){.code.proof_status = GPUCHAR_E_NOT_PROVED})
    WRONG("evidence.proof_status", r.evidence.proof_status = GPUCHAR_E_NOT_PROVED; r.evidence.flags = 0)
    WRONG("evidence.arch", r.evidence.arch = 0)
    WRONG("evidence.counters_status", r.evidence.flags |= GPUCHAR_FLAG_COUNTED)
}

/* A list that is too short leaves zeros, of which no call fills any. */
static void test_short_list(void **state) {
    (void)state;
    const gpuchar_schema *schema = gpuchar_schema_get("gpuchar_forward_progress_result");
    for (size_t length = 0; length <= 4; ++length) {
        progress_result result = good(), read = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
        json_t *json = gc_json_from_struct(schema, &result), *peers = json_object_get(json, "peers");
        assert_non_null(peers);
        while (json_array_size(peers) > length) json_array_remove(peers, length);
        assert_int_equal(gc_json_to_struct(json, schema, &read, "test"), GPUCHAR_OK);
        if (length == 4)
            expect_sound(&read);
        else
            expect_wrong(&read, length < 2 ? "peers[].run" : "peers[].code", __LINE__);
        gpuchar_forward_progress_result_free(&read);
        json_decref(json);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound), cmocka_unit_test(test_options), cmocka_unit_test(test_runs),
        cmocka_unit_test(test_lock),  cmocka_unit_test(test_code),    cmocka_unit_test(test_short_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
