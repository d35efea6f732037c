/*
 * The barrier's class on the GPU at hand; every shape, every control and every finding is printed. Whether classes do anything is
 * what is to be learned: checked is only what must hold for the answer to mean something.
 */
#include "gpu_check.h"

static const char *const probes[] = {"join", "early exit", "wait"};
static const char *const ends[] = {"not run", "ended", "timed out", "failed"};

static const char *end_word(uint32_t end) {
    return end < sizeof ends / sizeof ends[0] ? ends[end] : "?";
}

static void print_run(const char *what, const gpuchar_barrier_run *run) {
    printf(
        "    %-22s %s, %u runs, %u launches, differing %u (values %u, met %u, seen %u), met %llu to %llu, seen %llu to "
        "%llu, spins %llu to %llu, cycles %.1f (%.0f to %.0f, mad %.1f), native %lld\n",
        what, end_word(run->end), run->runs, run->launches, run->differing, run->values_differing, run->met_differing,
        run->seen_differing, (unsigned long long)run->met_min, (unsigned long long)run->met_max,
        (unsigned long long)run->seen_min, (unsigned long long)run->seen_max, (unsigned long long)run->spins_min,
        (unsigned long long)run->spins_max, run->cycles.median, run->cycles.min, run->cycles.max, run->cycles.mad,
        (long long)run->native_code);
}

static void print_case(const gpuchar_barrier_case *one) {
    char what[48];
    snprintf(what, sizeof what, "%s %u: %u %u %u", probes[one->probe % 3], one->warps, one->bssy, one->bsync,
             one->breaks);
    printf("  edited %u, changed %u, outside %u, difference %.1f cycles, %.2f noise%s\n", one->edited, one->changed,
           one->outside, one->difference_cycles, one->difference_noise,
           one->known & GPUCHAR_BARRIER_UNITS ? "" : " (no unit)");
    print_run(what, &one->run);
}

static void print_all(const gpuchar_barrier_class_experiment_result *result, gpuchar_status status) {
    printf(
        "class field %u: status %d, flags %#x, proof %s; %zu cases, run %u, not ended %u, differing %u, outside %u (by "
        "chance %.1f); launches %.1f ms, prove %.1f ms, compile %.1f ms, call %.1f ms\n",
        result->field_exists, status, result->evidence.flags, gpuchar_status_name(result->evidence.proof_status),
        result->case_count, result->cases_run, result->cases_not_ended, result->cases_differing, result->cases_outside,
        result->cases_outside_by_chance, (double)result->launches_ns * 1e-6, (double)result->prove_ns * 1e-6,
        (double)result->compile_ns * 1e-6, (double)result->call_ns * 1e-6);
    for (size_t i = 0; i < 3; ++i) {
        const gpuchar_barrier_kernel *k = &result->kernels[i];
        printf("  %s: %u instructions, BSSY %u/%u/%u/%u, BSYNC %u/%u/%u/%u, BREAK %u/%u/%u/%u, in loops %u %u %u, "
               "stores disabled %u\n",
               probes[i], k->instructions, k->bssy[0], k->bssy[1], k->bssy[2], k->bssy[3], k->bsync[0], k->bsync[1],
               k->bsync[2], k->bsync[3], k->breaks[0], k->breaks[1], k->breaks[2], k->breaks[3], k->bssy_in_loops,
               k->bsync_in_loops, k->breaks_in_loops, k->stores_disabled);
        print_run("store disabled", &k->store);
    }
    for (size_t i = 0; i < result->shape_count; ++i) {
        const gpuchar_barrier_shape *shape = &result->shapes[i];
        printf("  %s, %u x %u warps: medians %.1f (%.1f to %.1f), noise %.2f cycles\n", probes[shape->probe % 3],
               shape->blocks, shape->warps, shape->median_cycles, shape->median_min_cycles, shape->median_max_cycles,
               shape->noise_cycles);
        print_run("unpatched", &shape->run);
    }
    for (size_t i = 0; i < result->case_count; ++i) {
        const gpuchar_barrier_case *one = &result->cases[i];
        if (one->run.end != GPUCHAR_BARRIER_ENDED || one->run.differing || one->outside) print_case(one);
    }
}

/* Without these a patched cubin that does the same would say nothing. */
static void check_means_something(const gpuchar_barrier_class_experiment_result *result) {
    CHECK(result->evidence.flags & GPUCHAR_FLAG_PROVED, "proof_status %d", result->evidence.proof_status);
    CHECK(!(result->evidence.flags & GPUCHAR_FLAG_OFF_LAW), "flags %#x", result->evidence.flags);
    CHECK(result->field_exists == (result->evidence.arch >= 100), "field %u", result->field_exists);
    for (size_t i = 0; i < 3; ++i) {
        const gpuchar_barrier_kernel *k = &result->kernels[i];
        CHECK(k->stores_disabled == 1 && k->store.launches > 0 && k->store.differing == k->store.launches,
              "%s: %u of %u launches changed without the store", probes[i], k->store.differing, k->store.launches);
    }
    for (size_t i = 0; i < result->shape_count; ++i) {
        const gpuchar_barrier_shape *shape = &result->shapes[i];
        const uint64_t threads = (uint64_t)shape->blocks * shape->warps * 32, turns = result->turns;
        CHECK(shape->run.end == GPUCHAR_BARRIER_ENDED && shape->run.differing == 0, "%s x %u: %u unpatched differ",
              probes[shape->probe % 3], shape->warps, shape->run.differing);
        if (shape->probe == GPUCHAR_BARRIER_PROBE_JOIN)
            CHECK(shape->run.met_min == threads * turns * 32, "%s x %u: met %llu of %llu", probes[shape->probe % 3],
                  shape->warps, (unsigned long long)shape->run.met_min, (unsigned long long)(threads * turns * 32));
        /* A side that waits has said YIELD, and the other one's BSYNC may go on without it. */
        if (shape->probe == GPUCHAR_BARRIER_PROBE_WAIT)
            CHECK(shape->run.met_min >= threads * turns * 16, "wait x %u: met %llu, a side alone %llu", shape->warps,
                  (unsigned long long)shape->run.met_min, (unsigned long long)(threads * turns * 16));
        if (shape->probe == GPUCHAR_BARRIER_PROBE_WAIT)
            CHECK(shape->run.seen_min == threads * turns, "wait x %u: seen %llu of %llu", shape->warps,
                  (unsigned long long)shape->run.seen_min, (unsigned long long)(threads * turns));
    }
}

static void print_text(const gpuchar_barrier_class_experiment_result *result) {
    char *text = NULL;
    CHECK(gpuchar_experiment_text("barrier_class_experiment", result, &text) == GPUCHAR_OK, "text");
    if (text) printf("%s", text);
    gpuchar_string_free(text);
}

static void probe(gpuchar_session *session, const gpuchar_barrier_class_experiment_options *options) {
    gpuchar_barrier_class_experiment_result result = GPUCHAR_BARRIER_CLASS_EXPERIMENT_RESULT_INIT;
    const gpuchar_status status = gpuchar_barrier_class_experiment(session, options, &result);
    CHECK(status >= 0, "status %d", status);
    if (status < 0) return;
    print_all(&result, status);
    check_means_something(&result);
    CHECK(result.cases_run == result.case_count, "%u of %zu cases run", result.cases_run, result.case_count);
    print_text(&result);
    gpuchar_barrier_class_experiment_result_free(&result);
}

int main(void) {
    gpuchar_session *session = open_or_skip(NULL);
    gpuchar_barrier_class_experiment_options quick = GPUCHAR_BARRIER_CLASS_EXPERIMENT_OPTIONS_INIT;
    gpuchar_barrier_class_experiment_options many = GPUCHAR_BARRIER_CLASS_EXPERIMENT_OPTIONS_INIT;
    gpuchar_experiment_preset("barrier_class_experiment", GPUCHAR_PRESET_QUICK, &quick);
    probe(session, &quick);
    if (times_count()) {
        probe(session, NULL);
        many.blocks = 64; /* and more launches of few edits, for the cycles */
        many.launches = 30;
        many.combinations = GPUCHAR_BARRIER_COMBINATIONS_FEW;
        many.limit_ms = 10000;
        probe(session, &many);
    }
    gpuchar_session_close(session);
    return gpu_finish();
}
