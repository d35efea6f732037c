#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <experiments/progress_tables.h>
#include <schema/table.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- fields ---- */

static const gpuchar_field options_fields[] = {
#define OF(member, unit, doc) GC_FIELD(gpuchar_forward_progress_options, member, U32, unit, doc)
    GC_FIELD_COUNTED_ARRAY(gpuchar_forward_progress_options, producer_turns, U64, producer_turns_count, "1",
                           "lengths of the producer's work"),
    GC_FIELD_COUNT(gpuchar_forward_progress_options, producer_turns_count, U32, "how many; 0: 10 to 10000000"),
    OF(spin_limit, "1", "how often a lane asks at most"),
    OF(launches, "1", "of each probe"),
    OF(limit_ms, "ms", "from a launch to the kernel's end"),
    OF(counters, "", "GPUCHAR_COUNTERS_..."),
    OF(require, "", "GPUCHAR_REQUIRE_... bits"),
#undef OF
};
const gpuchar_schema gc_schema_forward_progress_options =
    GC_SCHEMA(gpuchar_forward_progress_options, options_fields, 1, GC_NONE, "what the probes of forward progress do");

static const gpuchar_field run_fields[] = {
#define NF(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_progress_run, member, kind, unit, known, GPUCHAR_PROGRESS_RUN_##bit, doc)
    GC_FIELD(gpuchar_progress_run, end, U32, "", "GPUCHAR_PROGRESS_..., how it ended"),
    GC_FIELD(gpuchar_progress_run, known, U32, "", "GPUCHAR_PROGRESS_RUN_... bits: which values are known"),
    GC_FIELD(gpuchar_progress_run, launches, U32, "1", "made: none follows one that did not end, or failed"),
    NF(lanes_done, U32, "lanes", COUNTS, "those that got what they waited for, the fewest"),
    NF(spins_min, U32, "1", COUNTS, "how often a lane asked, the fewest"),
    NF(spins_max, U32, "1", COUNTS, "the most"),
    NF(cycles, U64, "cycles", COUNTS, "of the whole region, last launch"),
    NF(elapsed_ns, U64, "ns", COUNTS, "of the kernel, last launch"),
    NF(native_code, I64, "", NATIVE, "the driver's, of a kernel that broke its context"),
#undef NF
};
const gpuchar_schema gc_schema_progress_run =
    GC_SCHEMA(gpuchar_progress_run, run_fields, 0, GC_NONE, "one probe, the worst of its launches");

static const gpuchar_field code_fields[] = {
#define CF(member, unit, doc)                                                                                          \
    GC_FIELD_KNOWN(gpuchar_progress_code, member, U32, unit, known, GPUCHAR_PROGRESS_CODE_COUNTS, doc)
    GC_FIELD(gpuchar_progress_code, proof_status, I32, "", "GPUCHAR_OK: proved"),
    CF(instructions, "instructions", "of the spin loop, of a peer wait's two together; padding included"),
    CF(yields, "instructions", "YIELD in them"),
    CF(barriers, "instructions", "BSSY and BSYNC in them"),
    CF(breaks, "instructions", "BREAK in them"),
    CF(warpsyncs, "instructions", "WARPSYNC in them"),
    CF(sleeps, "instructions", "NANOSLEEP in them"),
    CF(spins_first, "", "1: the waiting side's code lies first"),
    GC_FIELD(gpuchar_progress_code, yields_removed, U32, "instructions", "YIELD made NOP in the whole kernel"),
    GC_FIELD(gpuchar_progress_code, known, U32, "", "GPUCHAR_PROGRESS_CODE_... bits: which values are known"),
#undef CF
};
const gpuchar_schema gc_schema_progress_code =
    GC_SCHEMA(gpuchar_progress_code, code_fields, 0, GC_NONE, "the machine code of a probe's spin loops");

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
#define RK(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_forward_progress_result, member, kind, unit, known, GPUCHAR_PROGRESS_##bit, doc)
#define RS(member, schema, doc) GC_FIELD_STRUCT(gpuchar_forward_progress_result, member, schema, "", doc)
    RF(spin_limit, U32, "1", "how often a lane asks at most"),
    RF(launches, U32, "1", "of each probe"),
    RF(limit_ms, U32, "ms", "from a launch to the kernel's end"),
    RF(known, U32, "", "GPUCHAR_PROGRESS_... bits: which values are known"),
    RK(lock_served, U32, "lanes", LOCK, "had the lock, each alone and once, in the worst launch"),
    RK(lock_broken, U32, "1", LOCK, "launches in which lanes had the lock together"),
    GC_FIELD_KNOWN_ARRAY(gpuchar_forward_progress_result, lock_turns, U32, "", known, GPUCHAR_PROGRESS_LOCK,
                         "when each lane had the lock in the worst launch; 0: never"),
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
    RK(launches_ns, U64, "ns", LAUNCHED, "host time of the launches in the other process"),
    RF(call_ns, U64, "ns", "host time of the whole call"),
    RS(evidence, gc_schema_evidence, "what stands behind it"),
#undef RF
#undef RK
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
    if (run->known & GPUCHAR_PROGRESS_RUN_COUNTS) {
        gc_text_add(text, ", %u of 32 lanes, %u to %u spins, %llu cycles", run->lanes_done, run->spins_min,
                    run->spins_max, (unsigned long long)run->cycles);
    }
    if (run->known & GPUCHAR_PROGRESS_RUN_NATIVE) {
        gc_text_add(text, ", CUDA error %lld broke its context", (long long)run->native_code);
    }
    gc_text_add(text, "\n");
}

static void text_lock(const gpuchar_forward_progress_result *result, gc_text *text) {
    char what[64] = "one lock";
    const bool known = (result->known & GPUCHAR_PROGRESS_LOCK) != 0;
    if (known) snprintf(what, sizeof what, "one lock, served %u lanes", result->lock_served);
    text_run(what, &result->lock, text);
    if (known && result->lock_broken) {
        gc_text_add(text, "    the lock did not hold: lanes had it together in %u of %u launches\n",
                    result->lock_broken, result->lock.launches);
    }
}

static void text_peer(const gpuchar_progress_peer *peer, gc_text *text) {
    char what[64];
    if (peer->code.proof_status == GPUCHAR_E_NOT_APPLICABLE) {
        gc_text_add(text, "  peer wait without YIELD                    not run: it holds none\n");
        return;
    }
    const bool known = (peer->code.known & GPUCHAR_PROGRESS_CODE_COUNTS) != 0;
    snprintf(what, sizeof what, "peer wait, waiting code %s, %s",
             !known                   ? "unproved"
             : peer->code.spins_first ? "first"
                                      : "last",
             peer->code.yields_removed ? "no YIELD"
             : !known                  ? "as it is"
             : peer->code.yields       ? "YIELD"
                                       : "none inside");
    text_run(what, &peer->run, text);
}

/* No law was fitted here, and no samples spread: what these flags mean is told in words of this experiment. */
static void text_flags(uint32_t flags, gc_text *text) {
    if (flags & GPUCHAR_FLAG_UNSTABLE) {
        gc_text_add(text, "note:         the launches of a probe did not all end alike, or not all were made\n");
    }
    if (flags & GPUCHAR_FLAG_OFF_LAW) {
        gc_text_add(text, "note:         something happened that the machine code cannot do\n");
    }
}

void gc_progress_text(const void *raw, gc_text *text) {
    const gpuchar_forward_progress_result *result = raw;
    const uint32_t own = GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW;
    gpuchar_evidence evidence = result->evidence;
    evidence.flags &= ~own;
    if (result->known & GPUCHAR_PROGRESS_LAUNCHED) {
        char what[64];
        text_lock(result, text);
        for (size_t i = 0; i < result->producer_count; ++i) {
            snprintf(what, sizeof what, "producer of %llu turns", (unsigned long long)result->producers[i].turns);
            text_run(what, &result->producers[i].run, text);
        }
        for (size_t i = 0; i < GC_COUNT(result->peers); ++i) text_peer(&result->peers[i], text);
    }
    gc_evidence_text_uncounted(&evidence, "the kernels run in another process, where nothing is counted", text);
    text_flags(result->evidence.flags, text);
}
