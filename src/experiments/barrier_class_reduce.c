#include <experiments/barrier_class_reduce.h>
#include <math.h>
#include <stats/stats.h>
#include <string.h>

#define LANES 32
/* barrier_class.cu: joins of one turn of its outer loop, at most. */
#define JOINS_OF_EXIT 25
#define CYCLES_MAX (UINT64_C(1) << 48)

/* ---- what cannot be */

static const char *impossible_record(const gc_barrier_record *record, const gc_barrier_bounds *bounds) {
    const uint64_t turns = bounds->turns, joins = bounds->probe == GPUCHAR_BARRIER_PROBE_EXIT ? JOINS_OF_EXIT : 1;
    const bool waits = bounds->probe == GPUCHAR_BARRIER_PROBE_WAIT;
    if (!(record->value & 1)) return "a thread left no record";
    if (record->met < turns || record->met > turns * joins * LANES) return "more lanes met than there are, or none";
    if (!waits && (record->seen || record->spins)) return "a kernel in which nobody waits has waited";
    if (record->seen > turns) return "a thread saw the other side in more turns than there are";
    if (waits && (record->spins < turns || record->spins > turns * bounds->spin_limit))
        return "a thread asked more often than it may, or never";
    return NULL;
}

const char *gc_barrier_impossible(const gc_barrier_output *output, const gc_barrier_bounds *bounds) {
    const size_t records = (size_t)output->launches * output->warps * LANES;
    const size_t warps = (size_t)output->launches * output->warps;
    for (size_t i = 0; i < records; ++i) {
        const char *wrong = impossible_record(&output->records[i], bounds);
        if (wrong) return wrong;
    }
    for (size_t i = 0; i < warps; ++i) {
        if (output->cycles[i] == 0 || output->cycles[i] > CYCLES_MAX)
            return "it took no number of cycles that a kernel takes";
    }
    return NULL;
}

/* ---- runs */

typedef struct sums {
    uint64_t met, seen, spins;
    bool value, other_met, other_seen;
} sums;

static sums add_up(const gc_barrier_record *records, const gc_barrier_record *reference, size_t threads) {
    sums all = {0};
    for (size_t i = 0; i < threads; ++i) {
        all.met += records[i].met;
        all.seen += records[i].seen;
        all.spins += records[i].spins;
        all.value = all.value || records[i].value != reference[i].value;
        all.other_met = all.other_met || records[i].met != reference[i].met;
        all.other_seen = all.other_seen || records[i].seen != reference[i].seen;
    }
    return all;
}

static void widen(bool first, uint64_t value, uint64_t *min, uint64_t *max) {
    if (first || value < *min) *min = value;
    if (first || value > *max) *max = value;
}

void gc_barrier_add(const gc_barrier_output *output, const gc_barrier_record *reference, gpuchar_barrier_run *run) {
    const size_t threads = (size_t)output->warps * LANES;
    for (uint32_t i = 0; i < output->launches; ++i) {
        const sums made = add_up(output->records + i * threads, reference, threads);
        const bool first = run->launches == 0;
        widen(first, made.met, &run->met_min, &run->met_max);
        widen(first, made.seen, &run->seen_min, &run->seen_max);
        widen(first, made.spins, &run->spins_min, &run->spins_max);
        run->differing += made.value || made.other_met || made.other_seen;
        run->values_differing += made.value;
        run->met_differing += made.other_met;
        run->seen_differing += made.other_seen;
        ++run->launches;
    }
    ++run->runs;
    if (run->end == GPUCHAR_BARRIER_NOT_RUN) run->end = GPUCHAR_BARRIER_ENDED;
    if (output->launches) run->known |= GPUCHAR_BARRIER_RUN_COUNTS;
}

void gc_barrier_add_lost(uint32_t end, int64_t native_code, gpuchar_barrier_run *run) {
    if (end > run->end) run->end = end;
    ++run->runs;
    if (end != GPUCHAR_BARRIER_FAILED) return;
    run->native_code = native_code;
    run->known |= GPUCHAR_BARRIER_RUN_NATIVE;
}

void gc_barrier_cycles(const gc_barrier_output *output, double *cycles) {
    for (uint32_t i = 1; i < output->launches; ++i) {
        uint64_t longest = 0;
        for (uint32_t warp = 0; warp < output->warps; ++warp) {
            const uint64_t one = output->cycles[(size_t)i * output->warps + warp];
            if (one > longest) longest = one;
        }
        cycles[i - 1] = (double)longest;
    }
}

static bool is_all_or_none(uint32_t some, uint32_t launches) {
    return some == 0 || some == launches;
}

bool gc_barrier_is_steady(const gpuchar_barrier_run *run) {
    return is_all_or_none(run->values_differing, run->launches) && is_all_or_none(run->met_differing, run->launches) &&
           is_all_or_none(run->seen_differing, run->launches);
}

/* ---- cycles */

void gc_barrier_take_noise(const double *medians, size_t count, double *scratch, gpuchar_barrier_shape *shape) {
    const gpuchar_stat stat = gc_summarize(medians, count, scratch, 0);
    if (stat.samples < 2) return;
    shape->median_cycles = stat.median;
    shape->median_min_cycles = stat.min;
    shape->median_max_cycles = stat.max;
    shape->noise_cycles = stat.cv * stat.mean;
    shape->known |= GPUCHAR_BARRIER_NOISE;
}

void gc_barrier_compare(const gpuchar_barrier_shape *shape, gpuchar_barrier_case *one) {
    const double median = one->run.cycles.median;
    one->known = one->outside = 0;
    one->difference_cycles = one->difference_noise = 0;
    if (!(shape->known & GPUCHAR_BARRIER_NOISE) || one->run.cycles.samples == 0) return;
    one->known |= GPUCHAR_BARRIER_DIFFERENCE;
    one->difference_cycles = median - shape->median_cycles;
    one->outside = median < shape->median_min_cycles || median > shape->median_max_cycles;
    /* Runs that all took the same leave no unit for a difference. */
    if (!(shape->noise_cycles > 0) && one->difference_cycles != 0) return;
    one->known |= GPUCHAR_BARRIER_UNITS;
    if (shape->noise_cycles > 0) one->difference_noise = one->difference_cycles / shape->noise_cycles;
}

/* ---- all together */

const gpuchar_barrier_shape *gc_barrier_shape_of(const gpuchar_barrier_class_experiment_result *result,
                                                 const gpuchar_barrier_case *one) {
    for (size_t i = 0; i < result->shape_count; ++i) {
        const gpuchar_barrier_shape *shape = &result->shapes[i];
        if (shape->probe == one->probe && shape->warps == one->warps) return shape;
    }
    return NULL;
}

void gc_barrier_sum(gpuchar_barrier_class_experiment_result *result) {
    result->cases_run = result->cases_not_ended = result->cases_differing = result->cases_outside = 0;
    result->cases_outside_by_chance = 0;
    for (size_t i = 0; i < result->case_count; ++i) {
        const gpuchar_barrier_case *one = &result->cases[i];
        const gpuchar_barrier_shape *shape = gc_barrier_shape_of(result, one);
        if (one->run.end == GPUCHAR_BARRIER_NOT_RUN || !shape) continue;
        ++result->cases_run;
        result->cases_not_ended += one->run.end != GPUCHAR_BARRIER_ENDED;
        result->cases_differing += one->run.differing > 0;
        result->cases_outside += one->outside;
        /* Of n + 1 medians without an order each is as likely to be the lowest as the highest. */
        const double unpatched = (double)shape->run.cycles.samples / result->launches;
        if (one->known & GPUCHAR_BARRIER_DIFFERENCE) result->cases_outside_by_chance += 2.0 / (unpatched + 1);
    }
}

/* The control: every launch, of a run that ended. */
static bool is_changed(const gpuchar_barrier_run *store) {
    return store->end == GPUCHAR_BARRIER_ENDED && store->launches > 0 && store->differing == store->launches;
}

gc_barrier_doubts gc_barrier_find_doubts(const gpuchar_barrier_class_experiment_result *result) {
    gc_barrier_doubts doubts = {0};
    for (size_t i = 0; i < GPUCHAR_BARRIER_PROBES; ++i) {
        const gpuchar_barrier_run *store = &result->kernels[i].store;
        doubts.off_law = doubts.off_law || (store->end != GPUCHAR_BARRIER_NOT_RUN && !is_changed(store));
    }
    for (size_t i = 0; i < result->shape_count; ++i) {
        const gpuchar_barrier_run *run = &result->shapes[i].run;
        doubts.off_law = doubts.off_law || run->end > GPUCHAR_BARRIER_ENDED;
        doubts.unsteady = doubts.unsteady || run->differing > 0;
    }
    for (size_t i = 0; i < result->case_count; ++i) {
        const gpuchar_barrier_run *run = &result->cases[i].run;
        doubts.unsteady = doubts.unsteady || run->end == GPUCHAR_BARRIER_NOT_RUN || !gc_barrier_is_steady(run);
    }
    return doubts;
}
