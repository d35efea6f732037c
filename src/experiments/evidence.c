#include <core/error.h>
#include <experiments/evidence.h>
#include <stdio.h>
#include <string.h>

/* A caller who does not ask for counters must still learn of these. */
static bool never_swallowed(gpuchar_status status) {
    return status == GPUCHAR_E_CANCELLED || status == GPUCHAR_E_CONTEXT_LOST || status == GPUCHAR_E_OUT_OF_MEMORY;
}

gpuchar_status gc_evidence_possible(const gc_call *call) {
    const char *option = call->counters == GPUCHAR_COUNTERS_REQUIRED      ? "counters are required"
                         : (call->require & GPUCHAR_REQUIRE_COUNTED) != 0 ? "`require` asks for counters"
                         : (call->require & GPUCHAR_REQUIRE_STABLE) != 0  ? "`require` asks for steady samples"
                                                                          : NULL;
    if (call->session->kind != GC_SESSION_COMPILE_ONLY || !option) return GPUCHAR_OK;
    gc_fail(GPUCHAR_E_NOT_APPLICABLE, "%s, but a compile-only session runs nothing", option);
    gc_hint("open the session on a GPU, or demand no more than GPUCHAR_REQUIRE_PROVED");
    return GPUCHAR_E_NOT_APPLICABLE;
}

gpuchar_status gc_evidence_take_proof(gc_call *call, const char *kernel, gpuchar_status proof_status,
                                      const char *reason) {
    gpuchar_evidence *evidence = call->evidence;
    evidence->arch = call->session->architecture;
    if (proof_status == GPUCHAR_OK) {
        if (evidence->proof_status == GPUCHAR_OK) evidence->flags |= GPUCHAR_FLAG_PROVED;
        return GPUCHAR_OK;
    }
    if (evidence->proof_status == GPUCHAR_OK) {
        evidence->proof_status = proof_status;
        call->reason = reason;
    }
    evidence->flags &= ~(uint32_t)GPUCHAR_FLAG_PROVED;
    gc_log_write(gc_runtime_log(call->session->runtime), GPUCHAR_LOG_WARNING, "%s is not proved: %s", kernel, reason);
    if (!(call->require & GPUCHAR_REQUIRE_PROVED)) return GPUCHAR_OK;
    return gc_advise(gc_fail(GPUCHAR_E_NOT_PROVED, "%s: %s", kernel, reason),
                     "without GPUCHAR_REQUIRE_PROVED the call goes on and says what is missing");
}

gc_sample_claim gc_evidence_sample(uint32_t form, uint32_t threads) {
    return (gc_sample_claim){.form = form,
                             .samples_offset = offsetof(gc_header, samples),
                             .slot_offset = offsetof(gc_header, slot),
                             .sink_offset = offsetof(gc_header, sink),
                             .bytes = sizeof(gc_sample),
                             .cycles_offset = offsetof(gc_sample, cycles),
                             .nanoseconds_offset = offsetof(gc_sample, nanoseconds),
                             .threads = threads};
}

gpuchar_status gc_evidence_prove(gc_call *call, size_t image, const gc_divergence_claim *claim,
                                 gc_divergence_proof *proof) {
    gc_error_box *before = gc_error_take();
    gpuchar_status status = gc_prove_divergence(call->images[image]->bytes, call->images[image]->size, claim, proof);
    if (status == GPUCHAR_E_OUT_OF_MEMORY) {
        gc_error_put(before, GPUCHAR_OK); /* gives the older detail up */
        return status;
    }
    /* Machine code that cannot be decoded is a proof that is missing, not a measurement that failed. */
    if (status != GPUCHAR_OK) snprintf(proof->reason, sizeof proof->reason, "%s", gpuchar_last_error()->message);
    gc_error_restore(before);
    return gc_evidence_take_proof(call, claim->kernel, proof->status, proof->reason);
}

gpuchar_status gc_evidence_count(gc_call *call, gc_count_function count, void *user) {
    gpuchar_evidence *evidence = call->evidence;
    bool required = call->counters == GPUCHAR_COUNTERS_REQUIRED || (call->require & GPUCHAR_REQUIRE_COUNTED);
    if (call->counters == GPUCHAR_COUNTERS_OFF && !required) {
        evidence->counters_status = GPUCHAR_E_NOT_REQUESTED;
        return GPUCHAR_OK;
    }
    gc_error_box *before = gc_error_take();
    gpuchar_status status = count(user);
    if (status < 0 && (required || never_swallowed(status))) {
        gc_error_put(before, GPUCHAR_OK); /* gives the older detail up */
        return status;
    }
    evidence->counters_status = status;
    if (status < 0) {
        const gpuchar_error *error = gpuchar_last_error();
        gc_log_write(gc_runtime_log(call->session->runtime), GPUCHAR_LOG_INFO, "no counters: %s (%s)", error->message,
                     error->hint);
    }
    gc_error_restore(before);
    return GPUCHAR_OK;
}

typedef struct reading {
    gpuchar_session *session;
    const gc_range_request *request;
    gc_fill_function fill;
} reading;

static gpuchar_status check_valid(const gc_range_request *request, const gpuchar_counters_result *read) {
    for (size_t i = 0; i < read->value_count; ++i) {
        if (read->valid[i]) continue;
        return gc_fail(GPUCHAR_E_CUPTI, "the hardware gave no number for %s",
                       request->metrics[i % request->metric_count]);
    }
    return GPUCHAR_OK;
}

static gpuchar_status read_ranges(void *user) {
    const reading *r = user;
    gpuchar_counters_result read = GPUCHAR_COUNTERS_RESULT_INIT;
    if (r->session->kind != GC_SESSION_LIVE) {
        return gc_advise(gc_fail(GPUCHAR_E_NOT_APPLICABLE, "counters need a session on a GPU"),
                         "open the session on a GPU");
    }
    gpuchar_status status = gc_counters_collect(r->session, r->request, &read);
    if (status == GPUCHAR_OK) status = check_valid(r->request, &read);
    if (status == GPUCHAR_OK) r->fill(r->request->user, &read);
    gpuchar_counters_result_free(&read);
    return status;
}

gpuchar_status gc_evidence_count_ranges(gc_call *call, const gc_range_request *request, gc_fill_function fill) {
    reading r = {call->session, request, fill};
    return gc_evidence_count(call, read_ranges, &r);
}

void gc_evidence_time(const gc_timing *timing, gpuchar_evidence *evidence) {
    if (timing->throttle_known) evidence->known |= GPUCHAR_EVIDENCE_THROTTLE;
    if (timing->throttle_reasons) evidence->flags |= GPUCHAR_FLAG_THROTTLED;
    if (!timing->steady) evidence->flags |= GPUCHAR_FLAG_UNSTABLE;
    if (timing->sm_clock_hz > 0) {
        evidence->sm_clock_hz = timing->sm_clock_hz;
        evidence->known |= GPUCHAR_EVIDENCE_CLOCK;
    }
}

/* Every demand is looked at before any caveat: a missing proof that nobody asked for must not hide a demand unmet. */
gpuchar_status gc_evidence_settle(const gpuchar_evidence *evidence, uint32_t require, const char *reason) {
    const uint32_t doubts = GPUCHAR_FLAG_EMULATED | GPUCHAR_FLAG_THROTTLED | GPUCHAR_FLAG_UNSTABLE |
                            GPUCHAR_FLAG_COMPILE_ONLY | GPUCHAR_FLAG_OFF_LAW;
    const uint32_t unsteady = GPUCHAR_FLAG_THROTTLED | GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW;
    bool proved = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0, counted = (evidence->flags & GPUCHAR_FLAG_COUNTED) != 0;
    if ((require & GPUCHAR_REQUIRE_PROVED) && !proved)
        return gc_advise(gc_fail(GPUCHAR_E_NOT_PROVED, "%s", reason),
                         "without GPUCHAR_REQUIRE_PROVED the result is filled and says what is missing");
    if ((require & GPUCHAR_REQUIRE_COUNTED) && !counted) {
        if (!proved)
            return gc_advise(gc_fail(GPUCHAR_E_NOT_PROVED, "nothing to compare the counters with: %s", reason),
                             "without GPUCHAR_REQUIRE_COUNTED the result is filled and says what is missing");
        return gc_advise(
            gc_fail(GPUCHAR_E_MEASUREMENT, "the hardware counted other work than the machine code holds"),
            "another program may use the GPU; without GPUCHAR_REQUIRE_COUNTED the result shows both counts");
    }
    if ((require & GPUCHAR_REQUIRE_STABLE) && (evidence->flags & unsteady)) {
        return gc_advise(gc_fail(GPUCHAR_E_MEASUREMENT, "the samples are throttled, unsteady or off the fitted law"),
                         "repeat on an idle and cool GPU; without GPUCHAR_REQUIRE_STABLE the result says which it was");
    }
    /* Counters that were read and disagree are a doubt; counters that could not be read are none. */
    bool disagree = evidence->counters_status == GPUCHAR_OK && !counted;
    return !proved || (evidence->flags & doubts) || disagree ? GPUCHAR_CAVEAT : GPUCHAR_OK;
}

const char *gc_evidence_unmet(const gpuchar_evidence *evidence, uint32_t counters, uint32_t require) {
    const uint32_t unsteady = GPUCHAR_FLAG_THROTTLED | GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW;
    bool counted = (evidence->flags & GPUCHAR_FLAG_COUNTED) != 0, proved = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0;
    if (counters == GPUCHAR_COUNTERS_REQUIRED && !counted) return "counters";
    if ((require & GPUCHAR_REQUIRE_COUNTED) && !counted) return "require";
    if ((require & GPUCHAR_REQUIRE_PROVED) && !proved) return "require";
    return (require & GPUCHAR_REQUIRE_STABLE) && (evidence->flags & unsteady) ? "require" : NULL;
}

static void text_proof(const gpuchar_evidence *evidence, gc_text *text) {
    char mnemonic[sizeof evidence->mnemonic];
    if (!(evidence->flags & GPUCHAR_FLAG_PROVED)) {
        const bool told = evidence->proof_status != GPUCHAR_OK;
        gc_text_add(text, "machine code: not proved (%s)\n",
                    told ? gpuchar_status_text(evidence->proof_status) : "why is not known");
        return;
    }
    gc_text_add(text, "machine code: proved for sm_%u", evidence->arch);
    if (evidence->known & GPUCHAR_EVIDENCE_DECODED) {
        memcpy(mnemonic, evidence->mnemonic, sizeof mnemonic);
        mnemonic[sizeof mnemonic - 1] = 0;
        gc_text_clean(mnemonic);
        gc_text_add(text, ", %llu %s as intended, %llu others in their loops",
                    (unsigned long long)evidence->decoded_count, mnemonic,
                    (unsigned long long)evidence->scaffold_count);
    }
    gc_text_add(text, "\n");
}

static void text_counters(const gpuchar_evidence *evidence, const char *why, gc_text *text) {
    bool agree = (evidence->flags & GPUCHAR_FLAG_COUNTED) != 0;
    if (!agree && evidence->counters_status != GPUCHAR_OK) {
        const bool never = why && evidence->counters_status == GPUCHAR_E_NOT_APPLICABLE;
        gc_text_add(text, "counters:     none (%s)\n", never ? why : gpuchar_status_text(evidence->counters_status));
        return;
    }
    gc_text_add(text, "counters:     %s", agree ? "agree" : "disagree");
    if (evidence->known & GPUCHAR_EVIDENCE_EXECUTED) {
        gc_text_add(text, ", %llu executed", (unsigned long long)evidence->executed_count);
        if (!agree) gc_text_add(text, " instead of %llu", (unsigned long long)evidence->intended_count);
    }
    if (agree) gc_text_add(text, ", %u passes", evidence->counter_passes);
    gc_text_add(text, "\n");
}

void gc_evidence_text(const gpuchar_evidence *evidence, gc_text *text) {
    gc_evidence_text_uncounted(evidence, NULL, text);
}

void gc_evidence_text_uncounted(const gpuchar_evidence *evidence, const char *why, gc_text *text) {
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = {{GPUCHAR_FLAG_EMULATED, "emulated"},          {GPUCHAR_FLAG_THROTTLED, "throttled"},
                 {GPUCHAR_FLAG_UNSTABLE, "unstable"},          {GPUCHAR_FLAG_OFF_LAW, "off the fitted law"},
                 {GPUCHAR_FLAG_COMPILE_ONLY, "compiled only"}, {GPUCHAR_FLAG_RECORDED, "recorded"}};
    text_proof(evidence, text);
    text_counters(evidence, why, text);
    if (evidence->known & GPUCHAR_EVIDENCE_CLOCK) {
        gc_text_add(text, "SM clock:     %s MHz while measuring\n",
                    gc_number_text(evidence->sm_clock_hz / 1e6, 0, 12).text);
    }
    bool measured = (evidence->flags & GPUCHAR_FLAG_COMPILE_ONLY) == 0;
    if (measured && !(evidence->known & GPUCHAR_EVIDENCE_THROTTLE)) {
        gc_text_add(text, "note:         whether it throttled is not known\n");
    }
    for (size_t i = 0; i < GC_COUNT(words); ++i) {
        if (evidence->flags & words[i].flag) gc_text_add(text, "note:         %s\n", words[i].word);
    }
}
