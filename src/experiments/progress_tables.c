#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <experiments/progress_tables.h>
#include <experiments/untrusted.h>
#include <schema/table.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- from a probe's memory ---- */

void gc_progress_add_end(uint32_t end, gpuchar_progress_run *run) {
    if (end > run->end) run->end = end;
}

void gc_progress_add(const gc_progress_state *state, uint32_t first_asking, gpuchar_progress_run *run) {
    const bool first = run->end == GPUCHAR_PROGRESS_NOT_RUN;
    uint32_t done = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t spins = state->spins[lane];
        done += state->turn[lane] != 0;
        if (lane < first_asking) continue;
        if ((first && lane == first_asking) || spins < run->spins_min) run->spins_min = spins;
        if (spins > run->spins_max) run->spins_max = spins;
    }
    if (first || done < run->lanes_done) run->lanes_done = done;
    gc_progress_add_end(done == 32 ? GPUCHAR_PROGRESS_ENDED : GPUCHAR_PROGRESS_SPIN_LIMIT, run);
}

uint32_t gc_progress_served(const gc_progress_state *state) {
    uint32_t seen = 0, served = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t turn = state->turn[lane];
        if (turn == 0) continue;
        /* Two lanes with one turn were inside together. */
        if (turn > state->counter || turn > 32 || (seen >> (turn - 1) & 1)) return 0;
        seen |= 1u << (turn - 1);
        ++served;
    }
    return served == state->counter ? served : 0;
}

/* ---- fields ---- */

static const gpuchar_field options_fields[] = {
#define OF(member, unit, doc) GC_FIELD(gpuchar_forward_progress_options, member, U32, unit, doc)
    GC_FIELD_COUNTED_ARRAY(gpuchar_forward_progress_options, producer_turns, U64, producer_turns_count, "1",
                           "lengths of the producer's work"),
    GC_FIELD_COUNT(gpuchar_forward_progress_options, producer_turns_count, U32, "how many; 0: 10 to 10000000"),
    OF(spin_limit, "1", "how often a lane asks at most"),
    OF(launches, "1", "of each probe"),
    OF(limit_ms, "ms", "for one launch"),
    OF(counters, "", "GPUCHAR_COUNTERS_..."),
    OF(require, "", "GPUCHAR_REQUIRE_... bits"),
#undef OF
};
const gpuchar_schema gc_schema_forward_progress_options =
    GC_SCHEMA(gpuchar_forward_progress_options, options_fields, 1, GC_NONE, "what the probes of forward progress do");

static const gpuchar_field run_fields[] = {
#define NF(member, kind, unit, doc) GC_FIELD(gpuchar_progress_run, member, kind, unit, doc)
    NF(end, U32, "", "GPUCHAR_PROGRESS_..., how it ended; the others are of a run that ended"),
    NF(lanes_done, U32, "lanes", "those that got what they waited for"),
    NF(spins_min, U32, "1", "how often a lane asked, the fewest"),
    NF(spins_max, U32, "1", "the most"),
    NF(cycles, U64, "cycles", "of the whole region, last launch"),
    NF(elapsed_ns, U64, "ns", "of the kernel, last launch"),
#undef NF
};
const gpuchar_schema gc_schema_progress_run =
    GC_SCHEMA(gpuchar_progress_run, run_fields, 0, GC_NONE, "one probe, its worst launch");

static const gpuchar_field code_fields[] = {
#define CF(member, kind, unit, doc) GC_FIELD(gpuchar_progress_code, member, kind, unit, doc)
    CF(proof_status, I32, "", "GPUCHAR_OK: the spin loop was found and counted"),
    CF(instructions, U32, "instructions", "of the spin loop, padding included"),
    CF(yields, U32, "instructions", "YIELD in the spin loop"),
    CF(barriers, U32, "instructions", "BSSY and BSYNC in the spin loop"),
    CF(breaks, U32, "instructions", "BREAK in the spin loop"),
    CF(warpsyncs, U32, "instructions", "WARPSYNC in the spin loop"),
    CF(sleeps, U32, "instructions", "NANOSLEEP in the spin loop"),
    CF(spins_first, U32, "", "1: the waiting side's code lies first"),
    CF(yields_removed, U32, "instructions", "YIELD made NOP before the launch"),
    CF(reserved, U32, "", "0"),
#undef CF
};
const gpuchar_schema gc_schema_progress_code =
    GC_SCHEMA(gpuchar_progress_code, code_fields, 0, GC_NONE, "the machine code of a spin loop");

static const gpuchar_field producer_fields[] = {
    GC_FIELD(gpuchar_progress_producer, turns, U64, "1", "length of the producer's work"),
    GC_FIELD_STRUCT(gpuchar_progress_producer, run, gc_schema_progress_run, "", "its run"),
};
const gpuchar_schema gc_schema_progress_producer =
    GC_SCHEMA(gpuchar_progress_producer, producer_fields, 0, GC_NONE, "one length of the producer's work");

static const gpuchar_field peer_fields[] = {
    GC_FIELD_STRUCT(gpuchar_progress_peer, run, gc_schema_progress_run, "", "its run"),
    GC_FIELD_STRUCT(gpuchar_progress_peer, code, gc_schema_progress_code, "", "its machine code"),
};
const gpuchar_schema gc_schema_progress_peer =
    GC_SCHEMA(gpuchar_progress_peer, peer_fields, 0, GC_NONE, "one form of the peer wait");

static const gpuchar_field result_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(gpuchar_forward_progress_result, member, kind, unit, doc)
#define RS(member, schema, doc) GC_FIELD_STRUCT(gpuchar_forward_progress_result, member, schema, "", doc)
    RF(spin_limit, U32, "1", "how often a lane asks at most"),
    RF(launches, U32, "1", "of each probe"),
    RF(limit_ms, U32, "ms", "for one launch"),
    RF(lock_served, U32, "lanes", "had the lock, each alone and once"),
    GC_FIELD_ARRAY(gpuchar_forward_progress_result, lock_turns, U32, "", "when each lane had the lock; 0: never"),
    RS(lock, gc_schema_progress_run, "32 lanes want one lock"),
    RS(lock_code, gc_schema_progress_code, "machine code of the lock probe"),
    GC_FIELD_STRUCT_POINTED(gpuchar_forward_progress_result, producers, gc_schema_progress_producer, producer_count, "",
                            "one lane works, the others ask for its result"),
    GC_FIELD_COUNT(gpuchar_forward_progress_result, producer_count, U64, "number of lengths"),
    RS(producer_code, gc_schema_progress_code, "machine code of the producer probe"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_forward_progress_result, peers, gc_schema_progress_peer, "",
                          "waiting for the other side of a branch: two orders, and both without YIELD"),
    RF(compile_ns, U64, "ns", "0 when the kernels came from the cache"),
    RF(prove_ns, U64, "ns", "host time of the proofs"),
    RF(launches_ns, U64, "ns", "host time in the other process; 0: nothing ran"),
    RF(call_ns, U64, "ns", "host time of the whole call"),
    RS(evidence, gc_schema_evidence, "what stands behind it"),
#undef RF
#undef RS
};
const gpuchar_schema gc_schema_forward_progress_result =
    GC_SCHEMA(gpuchar_forward_progress_result, result_fields, 1, GC_NONE, "whether waiting lanes go on");

void gc_progress_free(void *raw) {
    gpuchar_forward_progress_result *result = raw;
    free(result->producers);
    result->producers = NULL;
    result->producer_count = 0;
}

/* ---- text ---- */

static const char *end_word(uint32_t end) {
    static const char *const words[] = {"not run", "ended", "gave up at the spin limit", "did not end", "failed"};
    return end < GC_COUNT(words) ? words[end] : "unknown";
}

static void text_run(const char *what, const gpuchar_progress_run *run, gc_text *text) {
    gc_text_add(text, "  %-42s %s", what, end_word(run->end));
    if (run->end == GPUCHAR_PROGRESS_ENDED || run->end == GPUCHAR_PROGRESS_SPIN_LIMIT) {
        gc_text_add(text, ", %u of 32 lanes, %u to %u spins, %llu cycles", run->lanes_done, run->spins_min,
                    run->spins_max, (unsigned long long)run->cycles);
    }
    gc_text_add(text, "\n");
}

static void text_peer(const gpuchar_progress_peer *peer, gc_text *text) {
    char what[64];
    snprintf(what, sizeof what, "peer wait, waiting code %s, %s", peer->code.spins_first ? "first" : "last",
             peer->code.yields_removed ? "no YIELD"
             : peer->code.yields       ? "YIELD"
                                       : "none inside");
    text_run(what, &peer->run, text);
}

void gc_progress_text(const void *raw, gc_text *text) {
    const gpuchar_forward_progress_result *result = raw;
    if (result->launches_ns) {
        char what[64];
        snprintf(what, sizeof what, "one lock, served %u lanes", result->lock_served);
        text_run(what, &result->lock, text);
        for (size_t i = 0; i < result->producer_count; ++i) {
            snprintf(what, sizeof what, "producer of %llu turns", (unsigned long long)result->producers[i].turns);
            text_run(what, &result->producers[i].run, text);
        }
        for (size_t i = 0; i < GC_COUNT(result->peers); ++i) text_peer(&result->peers[i], text);
    }
    gc_evidence_text(&result->evidence, text);
}

/* ---- recorded ---- */

static bool is_run(const gpuchar_progress_run *run) {
    return run->lanes_done <= 32 && run->spins_min <= run->spins_max;
}

static bool is_code(const gpuchar_progress_code *code) {
    const uint64_t parts = (uint64_t)code->yields + code->barriers + code->breaks + code->warpsyncs + code->sleeps;
    return parts <= code->instructions && code->spins_first <= 1;
}

/* Lanes are served one after another: as many turns, none of them twice; or the lock failed, and nobody was. */
static bool is_served(const gpuchar_forward_progress_result *recorded) {
    uint32_t turns = 0, served = 0;
    if (recorded->lock_served == 0) return true;
    for (size_t i = 0; i < GC_COUNT(recorded->lock_turns); ++i) {
        const uint32_t turn = recorded->lock_turns[i];
        if (turn == 0) continue;
        if (turn > 32 || (turns >> (turn - 1) & 1)) return false;
        turns |= 1u << (turn - 1);
        ++served;
    }
    return served == recorded->lock_served;
}

static const char *find_wrong_probe(const gpuchar_forward_progress_result *recorded) {
    if (!is_run(&recorded->lock)) return "lock";
    if (!is_code(&recorded->lock_code)) return "lock_code";
    if (!is_code(&recorded->producer_code)) return "producer_code";
    for (size_t i = 0; i < recorded->producer_count; ++i) {
        const gpuchar_progress_producer *producer = &recorded->producers[i];
        if (producer->turns < 1 || producer->turns > UINT32_MAX) return "producers[].turns";
        if (!is_run(&producer->run)) return "producers[].run";
    }
    for (size_t i = 0; i < GC_COUNT(recorded->peers); ++i) {
        if (!is_run(&recorded->peers[i].run)) return "peers[].run";
        if (!is_code(&recorded->peers[i].code)) return "peers[].code";
    }
    return gc_find_wrong_evidence(&recorded->evidence);
}

static const char *find_wrong(const gpuchar_forward_progress_result *recorded) {
    if (recorded->spin_limit < 1) return "spin_limit";
    if (recorded->launches < 1) return "launches";
    if (recorded->limit_ms < 1) return "limit_ms";
    if (!is_served(recorded)) return "lock_served";
    if (recorded->producer_count < 1 || recorded->producer_count > 8) return "producers";
    return find_wrong_probe(recorded);
}

static const char *compare(const gpuchar_forward_progress_options *asked,
                           const gpuchar_forward_progress_result *recorded) {
    if (asked->spin_limit && asked->spin_limit != recorded->spin_limit) return "spin_limit";
    if (asked->launches && asked->launches != recorded->launches) return "launches";
    if (asked->limit_ms && asked->limit_ms != recorded->limit_ms) return "limit_ms";
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
