/* Recorded documents of the barrier-class experiment: what no call can have filled is refused, with the name of the field. */
#include <experiments/barrier_class_code.h>
#include <experiments/barrier_class_options.h>
#include <experiments/barrier_class_recorded.h>
#include <experiments/barrier_class_reduce.h>
#include <experiments/evidence.h>
#include <experiments/untrusted.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 32
#define JOINS_OF_EXIT 25

typedef gpuchar_barrier_class_experiment_result barrier_result;

/* What a run of so many threads can be. */
typedef struct frame {
    const barrier_result *recorded;
    uint32_t probe, warps; /* of a block */
    uint32_t runs_max;
    bool unpatched;
} frame;

/* ---- one run */

static bool is_empty(const gpuchar_barrier_run *run) {
    const uint64_t words = (uint64_t)run->launches + run->differing + run->values_differing + run->met_differing +
                           run->seen_differing + (run->met_max != 0) + (run->seen_max != 0) + (run->spins_max != 0) +
                           (run->met_min != 0) + (run->seen_min != 0) + (run->spins_min != 0);
    return words == 0 && run->cycles.samples == 0;
}

static bool is_range(uint64_t min, uint64_t max, uint64_t most) {
    return min <= max && max <= most;
}

/* Each launch that differs does so in one word at least. */
static bool are_differing(const gpuchar_barrier_run *run) {
    const uint32_t words[] = {run->values_differing, run->met_differing, run->seen_differing};
    uint64_t sum = 0;
    for (size_t i = 0; i < GC_COUNT(words); ++i) {
        if (words[i] > run->differing) return false;
        sum += words[i];
    }
    return run->differing <= run->launches && run->differing <= sum;
}

/* What a patched kernel leaves need not be what its code says, but for the size of a word. */
static uint64_t most_of(const frame *f, uint64_t each) {
    const uint64_t threads = (uint64_t)f->recorded->blocks * f->warps * LANES;
    return threads * (f->unpatched ? each : UINT32_MAX);
}

static bool are_counts(const gpuchar_barrier_run *run, const frame *f) {
    const uint64_t turns = f->recorded->turns, joins = f->probe == GPUCHAR_BARRIER_PROBE_EXIT ? JOINS_OF_EXIT : 1;
    const bool waits = f->probe == GPUCHAR_BARRIER_PROBE_WAIT || !f->unpatched;
    return are_differing(run) && is_range(run->met_min, run->met_max, most_of(f, turns * joins * LANES)) &&
           is_range(run->seen_min, run->seen_max, waits ? most_of(f, turns) : 0) &&
           is_range(run->spins_min, run->spins_max, waits ? most_of(f, turns * f->recorded->spin_limit) : 0);
}

/* The first unpatched launch is its own reference; all runs make all launches. */
static bool is_run(const gpuchar_barrier_run *run, const frame *f) {
    const bool counts = (run->known & GPUCHAR_BARRIER_RUN_COUNTS) != 0;
    const bool native = (run->known & GPUCHAR_BARRIER_RUN_NATIVE) != 0;
    const uint32_t all = f->recorded->launches + 1, ended = run->launches / all;
    if (run->end > GPUCHAR_BARRIER_FAILED || run->known > 3 || run->runs > f->runs_max) return false;
    if (native != (run->end == GPUCHAR_BARRIER_FAILED) || native != (run->native_code > 0)) return false;
    if ((run->end == GPUCHAR_BARRIER_NOT_RUN) != (run->runs == 0) || counts != (run->launches > 0)) return false;
    if (!counts) return is_empty(run) && run->end != GPUCHAR_BARRIER_ENDED;
    if (run->launches % all || ended > run->runs || (ended == run->runs) != (run->end == GPUCHAR_BARRIER_ENDED))
        return false;
    if (f->unpatched && run->differing >= run->launches) return false;
    return are_counts(run, f) && gc_is_summary(&run->cycles) &&
           run->cycles.samples == (uint64_t)ended * f->recorded->launches && gc_are_cycles(run->cycles.median) &&
           (run->cycles.min > 0 || !f->unpatched);
}

/* ---- kernels, shapes, cases */

static uint32_t all_of(const uint32_t counts[4]) {
    return counts[0] + counts[1] + counts[2] + counts[3];
}

static bool is_kernel(const gpuchar_barrier_kernel *kernel, uint32_t probe, const barrier_result *recorded) {
    const frame f = {recorded, probe, GC_BARRIER_WARPS_MAX, 1, false};
    const bool known = kernel->known == GPUCHAR_BARRIER_CODE, proved = kernel->proof_status == GPUCHAR_OK;
    if (kernel->probe != probe || kernel->known > GPUCHAR_BARRIER_CODE || kernel->proof_status > 0) return false;
    for (size_t i = 0; i < GC_CLASSES; ++i) {
        const uint32_t most = kernel->instructions;
        if (kernel->bssy[i] > most || kernel->bsync[i] > most || kernel->breaks[i] > most) return false;
    }
    if (kernel->instructions > UINT32_MAX / 16 || kernel->stores_disabled > kernel->instructions) return false;
    if (kernel->bssy_in_loops > all_of(kernel->bssy) || kernel->bsync_in_loops > all_of(kernel->bsync) ||
        kernel->breaks_in_loops > all_of(kernel->breaks))
        return false;
    const bool needs = probe == GPUCHAR_BARRIER_PROBE_EXIT;
    if (proved && (!known || !kernel->bssy_in_loops || !kernel->bsync_in_loops || (needs && !kernel->breaks_in_loops)))
        return false;
    if (!known && kernel->instructions) return false;
    return is_run(&kernel->store, &f);
}

static bool is_shape(const gpuchar_barrier_shape *shape, const barrier_result *recorded, uint32_t runs_max) {
    const frame f = {recorded, shape->probe, shape->warps, runs_max, true};
    const bool noise = shape->known == GPUCHAR_BARRIER_NOISE;
    const double values[] = {shape->median_cycles, shape->median_min_cycles, shape->median_max_cycles,
                             shape->noise_cycles};
    if (shape->known > GPUCHAR_BARRIER_NOISE || shape->blocks != recorded->blocks || !is_run(&shape->run, &f))
        return false;
    for (size_t i = 0; i < GC_COUNT(values); ++i) {
        if (!gc_is_amount(values[i]) || (!noise && values[i] != 0)) return false;
    }
    if (!noise) return shape->run.cycles.samples < 2 * (uint64_t)recorded->launches;
    const double spread = shape->median_max_cycles - shape->median_min_cycles;
    return shape->median_min_cycles <= shape->median_cycles && shape->median_cycles <= shape->median_max_cycles &&
           (shape->noise_cycles > 0) == (spread > 0) && shape->noise_cycles <= spread &&
           shape->run.cycles.samples >= 2 * (uint64_t)recorded->launches &&
           shape->run.cycles.min <= shape->median_min_cycles && shape->median_max_cycles <= shape->run.cycles.max;
}

/* What follows from the cycles is worked out again. */
static const char *find_wrong_case(const gpuchar_barrier_case *one, const barrier_result *recorded) {
    const gpuchar_barrier_shape *shape = gc_barrier_shape_of(recorded, one);
    const frame f = {recorded, one->probe, one->warps, 1, false};
    gpuchar_barrier_case again = *one;
    if (!shape) return "cases[].warps";
    if (!is_run(&one->run, &f)) return "cases[].run";
    const bool made = one->run.end != GPUCHAR_BARRIER_NOT_RUN;
    if (made && shape->run.launches == 0) return "cases[].run";
    if (one->changed > one->edited || (!made && one->edited) ||
        one->edited > recorded->kernels[one->probe].instructions)
        return "cases[].edited";
    gc_barrier_compare(shape, &again);
    if (again.known != one->known) return "cases[].known";
    if (again.outside != one->outside) return "cases[].outside";
    if (!gc_is_same(one->difference_cycles, again.difference_cycles)) return "cases[].difference_cycles";
    return gc_is_same(one->difference_noise, again.difference_noise) ? NULL : "cases[].difference_noise";
}

/* ---- the whole layout: kernel by kernel, shape by shape, edit by edit */

static bool is_edit(const gpuchar_barrier_case *one, const gc_class_edit *edit) {
    return one->bssy == edit->to[GC_CLASS_BSSY] && one->bsync == edit->to[GC_CLASS_BSYNC] &&
           one->breaks == edit->to[GC_CLASS_BREAK];
}

static bool is_laid_out(const barrier_result *recorded, uint32_t shapes, size_t edit_counts[GPUCHAR_BARRIER_PROBES]) {
    size_t at = 0;
    for (uint32_t probe = 0; probe < GPUCHAR_BARRIER_PROBES; ++probe) {
        const gpuchar_barrier_kernel *kernel = &recorded->kernels[probe];
        gc_class_edit edits[GC_BARRIER_EDITS_MAX];
        const bool known = (kernel->known & GPUCHAR_BARRIER_CODE) != 0;
        const size_t count = known ? gc_barrier_list_edits(recorded->combinations, recorded->classes,
                                                           gc_barrier_has_breaks(kernel), edits)
                                   : 0;
        edit_counts[probe] = count;
        for (uint32_t w = 0; w < shapes; ++w) {
            const gpuchar_barrier_shape *shape = &recorded->shapes[probe * shapes + w];
            if (shape->probe != probe || shape->warps != recorded->shapes[w].warps) return false;
            for (size_t i = 0; i < count; ++i, ++at) {
                if (at >= recorded->case_count) return false;
                const gpuchar_barrier_case *one = &recorded->cases[at];
                if (one->probe != probe || one->warps != shape->warps || !is_edit(one, &edits[i])) return false;
            }
        }
    }
    return at == recorded->case_count;
}

static bool are_warps(const barrier_result *recorded, uint32_t shapes) {
    for (uint32_t w = 0; w < shapes; ++w) {
        const uint32_t warps = recorded->shapes[w].warps;
        if (warps < 1 || warps > GC_BARRIER_WARPS_MAX) return false;
        for (uint32_t k = 0; k < w; ++k) {
            if (recorded->shapes[k].warps == warps) return false;
        }
    }
    return true;
}

/* ---- sums and flags */

static const char *find_wrong_sums(const barrier_result *recorded) {
    barrier_result again = *recorded;
    gc_barrier_sum(&again);
    if (!(recorded->known & GPUCHAR_BARRIER_LAUNCHED)) {
        return again.cases_run || recorded->cases_run || recorded->launches_ns ? "known" : NULL;
    }
    if (again.cases_run != recorded->cases_run) return "cases_run";
    if (again.cases_not_ended != recorded->cases_not_ended) return "cases_not_ended";
    if (again.cases_differing != recorded->cases_differing) return "cases_differing";
    if (again.cases_outside != recorded->cases_outside) return "cases_outside";
    return gc_is_same(again.cases_outside_by_chance, recorded->cases_outside_by_chance) ? NULL
                                                                                        : "cases_outside_by_chance";
}

static const char *find_wrong_flags(const barrier_result *recorded) {
    const uint32_t flags = recorded->evidence.flags;
    const gc_barrier_doubts doubts = gc_barrier_find_doubts(recorded);
    bool proved = true;
    for (size_t i = 0; i < GPUCHAR_BARRIER_PROBES; ++i)
        proved = proved && recorded->kernels[i].proof_status == GPUCHAR_OK;
    if (proved != (recorded->evidence.proof_status == GPUCHAR_OK)) return "evidence.proof_status";
    const bool launched = (recorded->known & GPUCHAR_BARRIER_LAUNCHED) != 0;
    if (launched == ((flags & GPUCHAR_FLAG_COMPILE_ONLY) != 0)) return "known";
    if (launched && doubts.off_law != ((flags & GPUCHAR_FLAG_OFF_LAW) != 0)) return "evidence.flags";
    return launched && doubts.unsteady != ((flags & GPUCHAR_FLAG_UNSTABLE) != 0) ? "evidence.flags" : NULL;
}

static const char *find_wrong_options(const barrier_result *recorded) {
    const struct {
        const char *name;
        uint32_t value, highest;
    } ranges[] = {{"blocks", recorded->blocks, GC_BARRIER_BLOCKS_MAX},
                  {"classes", recorded->classes, 15},
                  {"combinations", recorded->combinations, GPUCHAR_BARRIER_COMBINATIONS_FEW},
                  {"turns", recorded->turns, GC_BARRIER_TURNS_MAX},
                  {"launches", recorded->launches, GC_BARRIER_LAUNCHES_MAX},
                  {"spin_limit", recorded->spin_limit, GC_BARRIER_SPINS_MAX},
                  {"limit_ms", recorded->limit_ms, GC_BARRIER_LIMIT_MS_MAX},
                  {"lost_limit", recorded->lost_limit, GC_BARRIER_LOST_MAX}};
    for (size_t i = 0; i < GC_COUNT(ranges); ++i) {
        if (ranges[i].value < 1 || ranges[i].value > ranges[i].highest) return ranges[i].name;
    }
    if (recorded->launches < GC_BARRIER_LAUNCHES_MIN) return "launches";
    if (recorded->limit_ms < GC_BARRIER_LIMIT_MS_MIN) return "limit_ms";
    if (recorded->evidence.arch && recorded->field_exists != (recorded->evidence.arch >= GC_CLASS_FIELD_ARCH))
        return "field_exists";
    return recorded->field_exists > 1 || recorded->known > GPUCHAR_BARRIER_LAUNCHED ? "known" : NULL;
}

static const char *find_wrong(const barrier_result *recorded) {
    size_t edit_counts[GPUCHAR_BARRIER_PROBES];
    const char *wrong = find_wrong_options(recorded);
    if (wrong) return wrong;
    const size_t shapes = recorded->shape_count / GPUCHAR_BARRIER_PROBES;
    if (shapes < 1 || shapes > GC_BARRIER_SHAPES_MAX || recorded->shape_count % GPUCHAR_BARRIER_PROBES) return "shapes";
    for (uint32_t i = 0; i < GPUCHAR_BARRIER_PROBES; ++i) {
        if (!is_kernel(&recorded->kernels[i], i, recorded)) return "kernels";
    }
    if (!are_warps(recorded, (uint32_t)shapes)) return "shapes[].warps";
    if (!is_laid_out(recorded, (uint32_t)shapes, edit_counts)) return "cases";
    for (size_t i = 0; i < recorded->shape_count; ++i) {
        const gpuchar_barrier_shape *shape = &recorded->shapes[i];
        if (!is_shape(shape, recorded, (uint32_t)edit_counts[shape->probe] + 1)) return "shapes";
    }
    for (size_t i = 0; i < recorded->case_count && !wrong; ++i) wrong = find_wrong_case(&recorded->cases[i], recorded);
    if (!wrong) wrong = find_wrong_sums(recorded);
    if (!wrong) wrong = find_wrong_flags(recorded);
    return wrong ? wrong : gc_find_wrong_evidence(&recorded->evidence);
}

/* ---- what was asked */

static const char *compare(const gpuchar_barrier_class_experiment_options *asked, const barrier_result *recorded) {
    const struct {
        const char *name;
        uint32_t asked, recorded;
    } both[] = {{"blocks", asked->blocks, recorded->blocks},
                {"classes", asked->classes, recorded->classes},
                {"combinations", asked->combinations, recorded->combinations},
                {"turns", asked->turns, recorded->turns},
                {"launches", asked->launches, recorded->launches},
                {"spin_limit", asked->spin_limit, recorded->spin_limit},
                {"limit_ms", asked->limit_ms, recorded->limit_ms},
                {"lost_limit", asked->lost_limit, recorded->lost_limit}};
    for (size_t i = 0; i < GC_COUNT(both); ++i) {
        if (gc_differs(both[i].asked, both[i].recorded)) return both[i].name;
    }
    if (asked->warps_count && asked->warps_count * GPUCHAR_BARRIER_PROBES != recorded->shape_count) return "warps";
    for (uint32_t i = 0; i < asked->warps_count; ++i) {
        if (asked->warps[i] != recorded->shapes[i].warps) return "warps";
    }
    return gc_evidence_unmet(&recorded->evidence, asked->counters, asked->require);
}

static void *copy_of(const void *from, size_t bytes) {
    void *copy = malloc(bytes + 1);
    if (copy && bytes) memcpy(copy, from, bytes);
    return copy;
}

const char *gc_barrier_answer(const void *options, const void *recorded_result, void *result) {
    const barrier_result *recorded = recorded_result;
    barrier_result *answer = result, made = *recorded;
    const char *reason = find_wrong(recorded);
    if (!reason) reason = compare(options, recorded);
    if (reason) return reason;
    made.shapes = copy_of(recorded->shapes, recorded->shape_count * sizeof made.shapes[0]);
    made.cases = copy_of(recorded->cases, recorded->case_count * sizeof made.cases[0]);
    if (!made.shapes || !made.cases) {
        free(made.shapes);
        free(made.cases);
        return gc_answer_no_memory;
    }
    made.struct_size = answer->struct_size;
    *answer = made;
    return NULL;
}
