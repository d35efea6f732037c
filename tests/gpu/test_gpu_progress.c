/*
 * Forward progress inside a warp on the GPU at hand; every value is printed. What a chip of sm_90 does is known
 * (docs/results.md) and checked; of the others only what holds on all.
 */
#include "gpu_check.h"

static const char *const ends[] = {"not run", "ended", "spin limit", "timed out", "failed"};

static bool is_hopper(gpuchar_session *session) {
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    CHECK(gpuchar_device_info_get(session, &info) == GPUCHAR_OK, "device info");
    return info.architecture == 90;
}

static void print_run(const char *what, const gpuchar_progress_run *run) {
    printf("    %-24s %s, %u launches, %u lanes, %u to %u spins, %llu cycles, %.3f ms, native %lld\n", what,
           run->end < sizeof ends / sizeof ends[0] ? ends[run->end] : "?", run->launches, run->lanes_done,
           run->spins_min, run->spins_max, (unsigned long long)run->cycles, (double)run->elapsed_ns * 1e-6,
           (long long)run->native_code);
}

static void print_code(const char *what, const gpuchar_progress_code *code) {
    printf("    %-24s %s, %u instructions, yields %u, barriers %u, breaks %u, warpsyncs %u, sleeps %u, spins first %u, "
           "removed %u\n",
           what, gpuchar_status_name(code->proof_status), code->instructions, code->yields, code->barriers,
           code->breaks, code->warpsyncs, code->sleeps, code->spins_first, code->yields_removed);
}

static void print_all(const gpuchar_forward_progress_result *result, gpuchar_status status) {
    printf(
        "spin limit %u, %u launches: status %d, flags %#x, proof %s, launches %.1f ms, prove %.1f ms, call %.1f ms\n",
        result->spin_limit, result->launches, status, result->evidence.flags,
        gpuchar_status_name(result->evidence.proof_status), (double)result->launches_ns * 1e-6,
        (double)result->prove_ns * 1e-6, (double)result->call_ns * 1e-6);
    print_run("lock", &result->lock);
    printf("    served %u, broken in %u launches, turns:", result->lock_served, result->lock_broken);
    for (size_t i = 0; i < 32; ++i) printf(" %u", result->lock_turns[i]);
    printf("\n");
    print_code("lock's code", &result->lock_code);
    for (size_t i = 0; i < result->producer_count; ++i) {
        char what[32];
        snprintf(what, sizeof what, "producer %llu", (unsigned long long)result->producers[i].turns);
        print_run(what, &result->producers[i].run);
    }
    print_code("producer's code", &result->producer_code);
    for (size_t i = 0; i < 4; ++i) {
        print_run(i < 2 ? "peer wait" : "peer wait, no YIELD", &result->peers[i].run);
        print_code("its code", &result->peers[i].code);
    }
}

static bool has_ended(const gpuchar_progress_run *run) {
    return run->end == GPUCHAR_PROGRESS_ENDED && run->lanes_done == 32;
}

/* Holds on every chip: the lock keeps lanes apart, and what is told agrees with itself. */
static void check_everywhere(const gpuchar_forward_progress_result *result) {
    uint32_t turns = 0;
    CHECK(result->evidence.flags & GPUCHAR_FLAG_PROVED, "proof_status %d", result->evidence.proof_status);
    CHECK(!(result->evidence.flags & GPUCHAR_FLAG_OFF_LAW), "flags %#x", result->evidence.flags);
    CHECK(result->known & GPUCHAR_PROGRESS_LOCK, "known %#x", result->known);
    CHECK(result->lock_broken == 0, "lanes had the lock together in %u launches", result->lock_broken);
    for (size_t i = 0; i < 32; ++i)
        if (result->lock_turns[i] >= 1 && result->lock_turns[i] <= 32) turns |= 1u << (result->lock_turns[i] - 1);
    if (result->lock_served == 32) CHECK(turns == UINT32_MAX, "turns %#x", turns);
    for (size_t i = 0; i < result->producer_count; ++i) {
        const gpuchar_progress_producer *producer = &result->producers[i];
        CHECK(producer->run.end != GPUCHAR_PROGRESS_FAILED, "producer of %llu turns",
              (unsigned long long)producer->turns);
        if (producer->run.known & GPUCHAR_PROGRESS_RUN_COUNTS)
            CHECK(producer->run.cycles >= producer->turns, "%llu cycles for %llu turns",
                  (unsigned long long)producer->run.cycles, (unsigned long long)producer->turns);
    }
}

/* docs/results.md: lock, producers, and the peer waits with their YIELD and without. */
static void check_hopper(const gpuchar_forward_progress_result *result) {
    CHECK(has_ended(&result->lock) && result->lock_served == 32, "%u lanes served", result->lock_served);
    for (size_t i = 0; i < result->producer_count; ++i) {
        const gpuchar_progress_run *run = &result->producers[i].run;
        CHECK(has_ended(run) && run->spins_max <= 2, "producer %zu: end %u, %u spins", i, run->end, run->spins_max);
    }
    for (size_t i = 0; i < 2; ++i) {
        const gpuchar_progress_peer *peer = &result->peers[i], *silent = &result->peers[i + 2];
        CHECK(peer->code.yields == 2, "%u YIELD", peer->code.yields);
        CHECK(has_ended(&peer->run), "peer wait %zu: end %u, %u lanes", i, peer->run.end, peer->run.lanes_done);
        CHECK(silent->code.yields == 0 && silent->code.yields_removed == 2, "%u removed", silent->code.yields_removed);
        CHECK(silent->run.end == GPUCHAR_PROGRESS_SPIN_LIMIT, "without YIELD %zu: end %u", i, silent->run.end);
        CHECK(silent->run.lanes_done < 32 && silent->run.spins_max == result->spin_limit, "%u lanes, %u spins",
              silent->run.lanes_done, silent->run.spins_max);
    }
    CHECK(!(result->evidence.flags & GPUCHAR_FLAG_UNSTABLE), "flags %#x", result->evidence.flags);
}

static void probe(gpuchar_session *session, uint32_t spin_limit, uint32_t launches, bool hopper) {
    gpuchar_forward_progress_options options = GPUCHAR_FORWARD_PROGRESS_OPTIONS_INIT;
    gpuchar_forward_progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    options.spin_limit = spin_limit;
    options.launches = launches;
    options.limit_ms = 60000;
    if (times_count() && hopper) options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_STABLE;
    if (!times_count()) {
        options.producer_turns_count = 1;
        options.producer_turns[0] = 10;
    }
    const gpuchar_status status = gpuchar_forward_progress(session, &options, &result);
    CHECK(status >= 0, "status %d", status);
    if (status < 0) return;
    print_all(&result, status);
    check_everywhere(&result);
    if (hopper && times_count()) check_hopper(&result);
    gpuchar_forward_progress_result_free(&result);
}

/* A limit that the waits without YIELD do not keep: they did not end, which costs their process and nothing else. */
static void probe_without_end(gpuchar_session *session, bool hopper) {
    gpuchar_forward_progress_options options = GPUCHAR_FORWARD_PROGRESS_OPTIONS_INIT;
    gpuchar_forward_progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    options.spin_limit = 1u << 30;
    options.launches = 2;
    options.limit_ms = 300;
    options.producer_turns_count = 1;
    options.producer_turns[0] = 10;
    const gpuchar_status status = gpuchar_forward_progress(session, &options, &result);
    CHECK(status >= 0, "status %d", status);
    if (status < 0) return;
    print_all(&result, status);
    for (size_t i = 2; i < 4 && hopper; ++i) {
        const gpuchar_progress_run *run = &result.peers[i].run;
        CHECK(run->end == GPUCHAR_PROGRESS_TIMED_OUT && run->launches == 1, "end %u, %u launches", run->end,
              run->launches);
        CHECK(run->known == 0, "known %#x", run->known);
    }
    if (hopper) CHECK(result.evidence.flags & GPUCHAR_FLAG_UNSTABLE, "flags %#x", result.evidence.flags);
    gpuchar_forward_progress_result_free(&result);
}

static void print_text(gpuchar_session *session) {
    gpuchar_forward_progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    char *text = NULL;
    const gpuchar_status status = gpuchar_forward_progress(session, NULL, &result);
    CHECK(status >= 0, "status %d", status);
    if (status < 0) return;
    CHECK(gpuchar_experiment_text("forward_progress", &result, &text) == GPUCHAR_OK, "text");
    if (text) {
        printf("%s", text);
        CHECK(strstr(text, "another process") != NULL, "why there are no counters");
    }
    gpuchar_string_free(text);
    gpuchar_forward_progress_result_free(&result);
}

int main(void) {
    gpuchar_session *session = open_or_skip(NULL);
    const bool hopper = is_hopper(session);
    probe(session, 0, 10, hopper);
    if (times_count()) {
        probe(session, 1u << 20, 3, hopper);
        probe_without_end(session, hopper);
        print_text(session);
    }
    gpuchar_session_close(session);
    return gpu_finish();
}
