/* Recorded documents of forward progress: what no call can have filled is refused, with the name of the field. */
#include <experiments/evidence.h>
#include <experiments/progress_recorded.h>
#include <experiments/progress_reduce.h>
#include <experiments/untrusted.h>
#include <stdlib.h>
#include <string.h>

#define PEERS 4
#define ORDERS 2

/* ---- one run ---- */

static bool is_without_counts(const gpuchar_progress_run *run) {
    return run->lanes_done == 0 && run->spins_min == 0 && run->spins_max == 0 && run->cycles == 0 &&
           run->elapsed_ns == 0;
}

/* One that did not come to its end, or was not made. */
static bool is_other_end(const gpuchar_progress_run *run, uint32_t launches) {
    const bool native = (run->known & GPUCHAR_PROGRESS_RUN_NATIVE) != 0;
    if (!is_without_counts(run) || (run->known & GPUCHAR_PROGRESS_RUN_COUNTS)) return false;
    if (native != (run->end == GPUCHAR_PROGRESS_FAILED) || native != (run->native_code > 0)) return false;
    if (run->end == GPUCHAR_PROGRESS_NOT_RUN) return run->launches == 0;
    const bool known = run->end == GPUCHAR_PROGRESS_TIMED_OUT || run->end == GPUCHAR_PROGRESS_FAILED;
    return known && run->launches >= 1 && run->launches <= launches;
}

/* Giving up takes all the spins there are. */
static bool is_ended(const gpuchar_progress_run *run, uint32_t launches, uint32_t spin_limit) {
    const bool all = run->lanes_done == GC_PROGRESS_LANES;
    if (run->known != GPUCHAR_PROGRESS_RUN_COUNTS || run->native_code != 0 || run->launches != launches) return false;
    if (run->lanes_done > GC_PROGRESS_LANES || all != (run->end == GPUCHAR_PROGRESS_ENDED)) return false;
    if (run->spins_min < 1 || run->spins_min > run->spins_max || run->spins_max > spin_limit) return false;
    return run->cycles > 0 && (all || run->spins_max == spin_limit);
}

static bool has_ended(const gpuchar_progress_run *run) {
    return run->end == GPUCHAR_PROGRESS_ENDED || run->end == GPUCHAR_PROGRESS_SPIN_LIMIT;
}

static bool is_run(const gpuchar_progress_run *run, const gpuchar_forward_progress_result *recorded,
                   uint32_t spin_limit) {
    return has_ended(run) ? is_ended(run, recorded->launches, spin_limit) : is_other_end(run, recorded->launches);
}

/* ---- machine code ---- */

static bool is_code(const gpuchar_progress_code *code) {
    const uint64_t parts = (uint64_t)code->yields + code->barriers + code->breaks + code->warpsyncs + code->sleeps;
    const bool proved = code->proof_status == GPUCHAR_OK;
    if (proved != (code->known == GPUCHAR_PROGRESS_CODE_COUNTS) || code->proof_status > 0) return false;
    if (!proved) return code->instructions == 0 && parts == 0 && code->spins_first == 0;
    return code->instructions > 0 && parts <= code->instructions && code->spins_first <= 1;
}

/* The same wait with YIELD taken out: of what there is, and not where there is none. */
static bool is_without_yield(const gpuchar_progress_peer *peer, const gpuchar_progress_peer *original) {
    if (original->code.yields == 0) {
        return peer->code.proof_status < 0 && peer->code.yields_removed == 0 &&
               peer->run.end == GPUCHAR_PROGRESS_NOT_RUN;
    }
    return peer->code.yields == 0 && peer->code.yields_removed >= original->code.yields &&
           peer->code.proof_status != GPUCHAR_E_NOT_APPLICABLE;
}

/* ---- the lock ---- */

/* Lanes that all had the lock, alone or not, had the turns that they tell; a recording may leave that out. */
static bool is_lock(const gpuchar_forward_progress_result *recorded) {
    const gpuchar_progress_run *run = &recorded->lock;
    const gc_progress_turns turns = gc_progress_read_turns(recorded->lock_turns);
    if (!(recorded->known & GPUCHAR_PROGRESS_LOCK)) {
        return recorded->lock_served == 0 && recorded->lock_broken == 0 && turns.had == 0;
    }
    if (!has_ended(run) || recorded->lock_broken > recorded->launches) return false;
    if (!turns.ordered || turns.had < run->lanes_done || turns.had == 0) return false;
    if (recorded->lock_broken == 0 && turns.had != run->lanes_done) return false; /* the worst served the fewest */
    return turns.served == recorded->lock_served && (recorded->lock_broken > 0) == (turns.served != turns.had);
}

/* ---- all together ---- */

/* All probes run, one after the other, or none does; but for those whose code has no YIELD. */
static const char *find_wrong_run(const gpuchar_forward_progress_result *recorded) {
    const bool launched = (recorded->known & GPUCHAR_PROGRESS_LAUNCHED) != 0;
    if (launched == ((recorded->evidence.flags & GPUCHAR_FLAG_COMPILE_ONLY) != 0)) return "launches_ns";
    if (launched != (recorded->launches_ns > 0)) return "launches_ns";
    if (!is_run(&recorded->lock, recorded, recorded->spin_limit)) return "lock";
    if (launched != (recorded->lock.end != GPUCHAR_PROGRESS_NOT_RUN)) return "lock";
    for (size_t i = 0; i < recorded->producer_count; ++i) {
        const gpuchar_progress_producer *producer = &recorded->producers[i];
        if (producer->turns < 1 || producer->turns > UINT32_MAX) return "producers[].turns";
        const uint32_t turns = (uint32_t)producer->turns;
        const uint32_t limit = turns > recorded->spin_limit ? turns : recorded->spin_limit;
        if (!is_run(&producer->run, recorded, limit)) return "producers[].run";
        if (launched != (producer->run.end != GPUCHAR_PROGRESS_NOT_RUN)) return "producers[].run";
        if (has_ended(&producer->run) && (producer->run.lanes_done == 0 || producer->run.cycles < turns))
            return "producers[].run";
    }
    for (size_t i = 0; i < PEERS; ++i) {
        const gpuchar_progress_run *run = &recorded->peers[i].run;
        const bool made = launched && (i < ORDERS || recorded->peers[i].code.yields_removed > 0);
        if (!is_run(run, recorded, recorded->spin_limit)) return "peers[].run";
        if (made != (run->end != GPUCHAR_PROGRESS_NOT_RUN)) return "peers[].run";
    }
    return NULL;
}

static const char *find_wrong_code(const gpuchar_forward_progress_result *recorded) {
    const gpuchar_status proof_status = recorded->evidence.proof_status;
    bool proved = recorded->lock_code.proof_status == GPUCHAR_OK && recorded->producer_code.proof_status == GPUCHAR_OK;
    if (!is_code(&recorded->lock_code) || recorded->lock_code.yields_removed) return "lock_code";
    if (!is_code(&recorded->producer_code) || recorded->producer_code.yields_removed) return "producer_code";
    for (size_t i = 0; i < PEERS; ++i) {
        const gpuchar_progress_peer *peer = &recorded->peers[i];
        if (!is_code(&peer->code)) return "peers[].code";
        if (i < ORDERS && peer->code.yields_removed) return "peers[].code";
        if (i >= ORDERS && !is_without_yield(peer, &recorded->peers[i - ORDERS])) return "peers[].code";
        const bool none = i >= ORDERS && peer->code.proof_status == GPUCHAR_E_NOT_APPLICABLE;
        proved = proved && (none || peer->code.proof_status == GPUCHAR_OK);
    }
    return proved == (proof_status == GPUCHAR_OK) ? NULL : "evidence.proof_status";
}

typedef struct findings {
    bool failed, cut_short;
} findings;

static findings find_in(findings found, const gpuchar_progress_run *run, uint32_t launches) {
    const bool made = run->end != GPUCHAR_PROGRESS_NOT_RUN;
    return (findings){.failed = found.failed || run->end == GPUCHAR_PROGRESS_FAILED,
                      .cut_short = found.cut_short || (made && run->launches < launches)};
}

/* Findings that the flags must tell: these are what a demand of stability hangs on. */
static const char *find_wrong_flags(const gpuchar_forward_progress_result *recorded) {
    const bool off = (recorded->evidence.flags & GPUCHAR_FLAG_OFF_LAW) != 0;
    findings found = find_in((findings){0}, &recorded->lock, recorded->launches);
    for (size_t i = 0; i < recorded->producer_count; ++i)
        found = find_in(found, &recorded->producers[i].run, recorded->launches);
    for (size_t i = 0; i < PEERS; ++i) found = find_in(found, &recorded->peers[i].run, recorded->launches);
    const bool known = (recorded->known & GPUCHAR_PROGRESS_LOCK) != 0;
    if ((found.failed || recorded->lock_broken > 0) && !off) return "evidence.flags";
    if (off && known && !found.failed && recorded->lock_broken == 0) return "evidence.flags";
    return found.cut_short && !(recorded->evidence.flags & GPUCHAR_FLAG_UNSTABLE) ? "evidence.flags" : NULL;
}

static const char *find_wrong(const gpuchar_forward_progress_result *recorded) {
    if (recorded->spin_limit < 1 || recorded->spin_limit > GC_PROGRESS_SPINS_MAX) return "spin_limit";
    if (recorded->launches < 1 || recorded->launches > GC_PROGRESS_LAUNCHES_MAX) return "launches";
    if (recorded->limit_ms < GC_PROGRESS_LIMIT_MS_MIN || recorded->limit_ms > GC_PROGRESS_LIMIT_MS_MAX)
        return "limit_ms";
    if (recorded->producer_count < 1 || recorded->producer_count > GC_PROGRESS_PRODUCERS_MAX) return "producers";
    const char *wrong = find_wrong_run(recorded);
    if (!wrong && !is_lock(recorded)) wrong = "lock_served";
    if (!wrong) wrong = find_wrong_code(recorded);
    if (!wrong) wrong = find_wrong_flags(recorded);
    return wrong ? wrong : gc_find_wrong_evidence(&recorded->evidence);
}

static const char *compare(const gpuchar_forward_progress_options *asked,
                           const gpuchar_forward_progress_result *recorded) {
    if (gc_differs(asked->spin_limit, recorded->spin_limit)) return "spin_limit";
    if (gc_differs(asked->launches, recorded->launches)) return "launches";
    if (gc_differs(asked->limit_ms, recorded->limit_ms)) return "limit_ms";
    if (asked->producer_turns_count && asked->producer_turns_count != recorded->producer_count) return "producer_turns";
    for (uint32_t i = 0; i < asked->producer_turns_count; ++i) {
        if (asked->producer_turns[i] != recorded->producers[i].turns) return "producer_turns";
    }
    return gc_evidence_unmet(&recorded->evidence, asked->counters, asked->require);
}

const char *gc_progress_answer(const void *options, const void *recorded_result, void *result) {
    const gpuchar_forward_progress_result *recorded = recorded_result;
    gpuchar_forward_progress_result *answer = result, made = *recorded;
    const char *reason = find_wrong(recorded);
    if (!reason) reason = compare(options, recorded);
    if (reason) return reason;
    made.producers = calloc(recorded->producer_count, sizeof made.producers[0]);
    if (!made.producers) return gc_answer_no_memory;
    memcpy(made.producers, recorded->producers, recorded->producer_count * sizeof made.producers[0]);
    made.struct_size = answer->struct_size;
    *answer = made;
    return NULL;
}
