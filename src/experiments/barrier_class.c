/* Whether the class of a convergence barrier does anything: patched cubins run in the worker, unpatched ones among them. */
#include <core/error.h>
#include <core/util.h>
#include <experiments/barrier_class_code.h>
#include <experiments/barrier_class_options.h>
#include <experiments/barrier_class_recorded.h>
#include <experiments/barrier_class_reduce.h>
#include <experiments/barrier_class_tables.h>
#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <measure/kernel.h>
#include <measure/timing.h>
#include <stats/stats.h>
#include <stdlib.h>
#include <worker/worker.h>

#define PROBES GPUCHAR_BARRIER_PROBES
#define LANES 32
#define SALT 0x9e3779b9u /* any */
#define STORE_BYTES 16   /* of a record, in one instruction */

/* Kernel arguments, as in barrier_class.cu; the worker puts addresses and the number of the launch in. */
typedef struct barrier_args {
    gc_header header;
    uint64_t records, cycles;
    uint32_t spin_limit, salt;
} barrier_args;

/* What the hardware wrote that no launch can write; as in timing.c. */
static const char impossible_hint[] = "a debugger or profiler may change the kernels, or the GPU's memory fails "
                                      "(dmesg, \"NVRM: Xid\"); repeat without it";

/* One call: what it holds until its end. */
typedef struct barrier_class {
    gc_call call;
    gpuchar_session *session;
    const gpuchar_barrier_class_experiment_options *options;
    gpuchar_barrier_class_experiment_result *result;
    gc_worker *worker;
    void *patched[PROBES];
    char reasons[PROBES][GC_BARRIER_REASON_BYTES];
    gc_class_edit edits[PROBES][GC_BARRIER_EDITS_MAX];
    size_t edit_counts[PROBES];
    uint32_t lost; /* runs that did not come to their end */
    /* Room for one run's launches, for the reference of a shape, for cycles of all its runs. */
    gc_barrier_record *records, *reference;
    uint64_t *cycles;
    double *samples, *medians, *scratch;
} barrier_class;

/* ---- kernels and proof */

static void kernels(const void *options, gc_kernel_list *list) {
    (void)options;
    for (int i = 0; i < PROBES; ++i) {
        list->templates[list->count++] = (gc_template){"barrier_class", NULL, {{"GPUCHAR_PROBE", i + 1}}, NULL};
    }
}

/* Shapes and cases as they will be run: kernel by kernel, shape by shape. */
static void lay_out(barrier_class *b) {
    gpuchar_barrier_shape *shape = b->result->shapes;
    gpuchar_barrier_case *one = b->result->cases;
    for (uint32_t probe = 0; probe < PROBES; ++probe) {
        for (uint32_t w = 0; w < b->options->warps_count; ++w) {
            const uint32_t warps = b->options->warps[w];
            *shape++ = (gpuchar_barrier_shape){.probe = probe, .warps = warps, .blocks = b->options->blocks};
            for (size_t i = 0; i < b->edit_counts[probe]; ++i) {
                const uint32_t *to = b->edits[probe][i].to;
                *one++ = (gpuchar_barrier_case){.probe = probe,
                                                .warps = warps,
                                                .bssy = to[GC_CLASS_BSSY],
                                                .bsync = to[GC_CLASS_BSYNC],
                                                .breaks = to[GC_CLASS_BREAK]};
            }
        }
    }
}

static gpuchar_status make_room(barrier_class *b) {
    const gpuchar_barrier_class_experiment_options *options = b->options;
    gpuchar_barrier_class_experiment_result *result = b->result;
    size_t cases = 0, most = 0;
    for (size_t probe = 0; probe < PROBES; ++probe) {
        cases += b->edit_counts[probe];
        if (b->edit_counts[probe] > most) most = b->edit_counts[probe];
    }
    result->shape_count = (size_t)PROBES * options->warps_count;
    result->case_count = cases * options->warps_count;
    result->shapes = calloc(result->shape_count, sizeof result->shapes[0]);
    result->cases = calloc(result->case_count + 1, sizeof result->cases[0]);
    b->samples = calloc((most + 1) * options->launches, sizeof b->samples[0]);
    b->medians = calloc(most + 1, sizeof b->medians[0]);
    b->scratch = calloc(2 * (most + 1) * options->launches, sizeof b->scratch[0]);
    const bool there = result->shapes && result->cases && b->samples && b->medians && b->scratch;
    if (!there) return gc_fail_memory((result->case_count + 1) * sizeof result->cases[0]);
    lay_out(b);
    return GPUCHAR_OK;
}

/* Each edit once, so that all are known to be right before any runs. */
static gpuchar_status try_edits(barrier_class *b, uint32_t probe) {
    const gc_image *image = b->call.images[probe];
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < b->edit_counts[probe] && status == GPUCHAR_OK; ++i) {
        gc_class_count count;
        status = gc_barrier_patch(image->bytes, image->size, &b->edits[probe][i], b->patched[probe], &count);
    }
    return status;
}

static gpuchar_status prove_one(barrier_class *b, uint32_t probe) {
    const gc_image *image = b->call.images[probe];
    gpuchar_barrier_kernel *kernel = &b->result->kernels[probe];
    kernel->probe = probe;
    gpuchar_status status = gc_barrier_read_code(image->bytes, image->size, kernel, b->reasons[probe]);
    if (status == GPUCHAR_OK)
        status = gc_evidence_take_proof(&b->call, GC_BARRIER_KERNEL, kernel->proof_status, b->reasons[probe]);
    if (status != GPUCHAR_OK || !(kernel->known & GPUCHAR_BARRIER_CODE)) return status;
    b->edit_counts[probe] = gc_barrier_list_edits(b->options->combinations, b->options->classes,
                                                  gc_barrier_has_breaks(kernel), b->edits[probe]);
    b->patched[probe] = malloc(image->size);
    return b->patched[probe] ? try_edits(b, probe) : gc_fail_memory(image->size);
}

static gpuchar_status prove(void *state) {
    barrier_class *b = state;
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t probe = 0; probe < PROBES && status == GPUCHAR_OK; ++probe) status = prove_one(b, probe);
    return status == GPUCHAR_OK ? make_room(b) : status;
}

/* ---- one run */

typedef struct run {
    const char *name;
    const void *image;
    uint32_t probe, warps; /* of a block */
    gpuchar_barrier_run *to;
} run;

static uint32_t all_launches(const barrier_class *b) {
    return b->options->launches + 1;
}

static gpuchar_status launch(barrier_class *b, const run *r, gc_worker_outcome *outcome) {
    const uint32_t warps = b->options->blocks * r->warps;
    const size_t records = (size_t)all_launches(b) * warps * LANES * sizeof b->records[0];
    const size_t cycles = (size_t)all_launches(b) * warps * sizeof b->cycles[0];
    const barrier_args arguments = {
        .header = {.iterations = b->options->turns}, .spin_limit = b->options->spin_limit, .salt = SALT};
    const gc_worker_buffer buffers[] = {
        {.bytes = records,
         .read = b->records,
         .read_bytes = records,
         .argument_offset = offsetof(barrier_args, records)},
        {.bytes = cycles, .read = b->cycles, .read_bytes = cycles, .argument_offset = offsetof(barrier_args, cycles)}};
    const gc_worker_job job = {.image = r->image,
                               .image_bytes = b->call.images[r->probe]->size,
                               .kernel = GC_BARRIER_KERNEL,
                               .arguments = &arguments,
                               .argument_bytes = sizeof arguments,
                               .grid = {b->options->blocks, 1, 1},
                               .block = {r->warps * LANES, 1, 1},
                               .buffers = buffers,
                               .buffer_count = GC_COUNT(buffers),
                               .launches = all_launches(b),
                               .launch_offset = offsetof(barrier_args, header.slot),
                               .limit_ns = b->options->limit_ms * UINT64_C(1000000)};
    gpuchar_status status = gc_worker_run(b->worker, &job, outcome);
    return status == GPUCHAR_OK ? gc_session_check_cancel(b->session) : status;
}

/* It did not come to its end. */
static void take_lost(barrier_class *b, const run *r, const gc_worker_outcome *outcome) {
    const bool late = outcome->end == GC_WORKER_TIMED_OUT;
    const gc_wire_answer *failure = &outcome->failure;
    ++b->lost;
    gc_barrier_add_lost(late ? GPUCHAR_BARRIER_TIMED_OUT : GPUCHAR_BARRIER_FAILED, late ? 0 : failure->native_code,
                        r->to);
    if (late) return;
    gc_log_write(gc_runtime_log(b->session->runtime), GPUCHAR_LOG_WARNING, "%s: the kernel failed in %s: %s (%lld): %s",
                 r->name, failure->call, failure->native_name, (long long)failure->native_code, failure->message);
}

static gc_barrier_output output_of(const barrier_class *b, const run *r) {
    return (gc_barrier_output){.records = b->records,
                               .cycles = b->cycles,
                               .warps = b->options->blocks * r->warps,
                               .launches = all_launches(b)};
}

static gpuchar_status take_unpatched(const barrier_class *b, const run *r, const gc_barrier_output *output) {
    const gc_barrier_bounds bounds = {r->probe, b->options->turns, b->options->spin_limit};
    const char *impossible = gc_barrier_impossible(output, &bounds);
    if (!impossible) return GPUCHAR_OK;
    return gc_advise(gc_fail(GPUCHAR_E_MEASUREMENT, "kernel %u, run %u: %s", r->probe, r->to->runs, impossible),
                     impossible_hint);
}

/* ---- one shape */

/* What is going on in one shape. */
typedef struct shape_state {
    gpuchar_barrier_shape *shape;
    size_t sample_count, median_count;
    bool has_reference;
} shape_state;

static gpuchar_status run_unpatched(barrier_class *b, shape_state *s) {
    const run r = {"the unpatched cubin", b->call.images[s->shape->probe]->bytes, s->shape->probe, s->shape->warps,
                   &s->shape->run};
    gc_worker_outcome outcome;
    gpuchar_status status = launch(b, &r, &outcome);
    if (status != GPUCHAR_OK) return status;
    if (outcome.end != GC_WORKER_ENDED) {
        take_lost(b, &r, &outcome);
        return GPUCHAR_OK;
    }
    const gc_barrier_output output = output_of(b, &r);
    status = take_unpatched(b, &r, &output);
    if (status != GPUCHAR_OK) return status;
    if (!s->has_reference) memcpy(b->reference, b->records, (size_t)output.warps * LANES * sizeof b->reference[0]);
    s->has_reference = true;
    gc_barrier_add(&output, b->reference, r.to);
    double *samples = b->samples + s->sample_count;
    gc_barrier_cycles(&output, samples);
    s->sample_count += b->options->launches;
    b->medians[s->median_count++] = gc_summarize(samples, b->options->launches, b->scratch, 0).median;
    return GPUCHAR_OK;
}

static gpuchar_status run_patched(barrier_class *b, const run *r) {
    gc_worker_outcome outcome;
    gpuchar_status status = launch(b, r, &outcome);
    if (status != GPUCHAR_OK) return status;
    if (outcome.end != GC_WORKER_ENDED) {
        take_lost(b, r, &outcome);
        return GPUCHAR_OK;
    }
    const gc_barrier_output output = output_of(b, r);
    double cycles[GC_BARRIER_LAUNCHES_MAX];
    gc_barrier_add(&output, b->reference, r->to);
    gc_barrier_cycles(&output, cycles);
    r->to->cycles = gc_summarize(cycles, b->options->launches, b->scratch, 0);
    return GPUCHAR_OK;
}

static gpuchar_status run_case(barrier_class *b, gpuchar_barrier_case *one) {
    const gc_image *image = b->call.images[one->probe];
    const gc_class_edit edit = {{one->bssy, one->bsync, one->breaks}};
    const run r = {"a patched cubin", b->patched[one->probe], one->probe, one->warps, &one->run};
    gc_class_count count;
    gpuchar_status status = gc_barrier_patch(image->bytes, image->size, &edit, b->patched[one->probe], &count);
    one->edited = count.edited;
    one->changed = count.changed;
    return status == GPUCHAR_OK ? run_patched(b, &r) : status;
}

/* The control, once for each kernel: a cubin that must leave something else. */
static gpuchar_status run_control(barrier_class *b, uint32_t probe, uint32_t warps) {
    const gc_image *image = b->call.images[probe];
    gpuchar_barrier_kernel *kernel = &b->result->kernels[probe];
    const run r = {"the control", b->patched[probe], probe, warps, &kernel->store};
    memcpy(b->patched[probe], image->bytes, image->size);
    gpuchar_status status =
        gc_patch_stores(b->patched[probe], image->size, GC_BARRIER_KERNEL, STORE_BYTES, &kernel->stores_disabled);
    return status == GPUCHAR_OK ? run_patched(b, &r) : status;
}

/* Nothing is compared with nothing; and what costs a process each time is done only so often. */
static bool goes_on(const barrier_class *b, const shape_state *s) {
    return s->has_reference && b->lost < b->options->lost_limit;
}

/*
 * As many unpatched runs as cases, in random order: a driver that places every other module elsewhere would make all patched
 * ones differ from all others.
 */
static gpuchar_status run_cases(barrier_class *b, shape_state *s, gpuchar_barrier_case *cases, size_t count) {
    gc_random random = gc_random_seed(SALT);
    gpuchar_status status = GPUCHAR_OK;
    uint32_t patched = (uint32_t)count, unpatched = patched;
    while (patched + unpatched > 0 && status == GPUCHAR_OK && goes_on(b, s)) {
        if (gc_random_below(&random, patched + unpatched) < unpatched) {
            status = run_unpatched(b, s);
            --unpatched;
        } else {
            status = run_case(b, &cases[count - patched]);
            --patched;
        }
    }
    return status;
}

static gpuchar_status run_shape(barrier_class *b, gpuchar_barrier_shape *shape, gpuchar_barrier_case *cases) {
    const size_t count = b->edit_counts[shape->probe];
    shape_state s = {.shape = shape};
    /* Code that could not be read cannot be patched: then there is nothing to compare either. */
    if (count == 0 || b->lost >= b->options->lost_limit) return GPUCHAR_OK;
    gpuchar_status status = run_unpatched(b, &s);
    const bool first = b->result->kernels[shape->probe].store.end == GPUCHAR_BARRIER_NOT_RUN;
    if (status == GPUCHAR_OK && first && goes_on(b, &s)) status = run_control(b, shape->probe, shape->warps);
    if (status == GPUCHAR_OK) status = run_cases(b, &s, cases, count);
    if (status != GPUCHAR_OK) return status;
    shape->run.cycles = gc_summarize(b->samples, s.sample_count, b->scratch, 0);
    gc_barrier_take_noise(b->medians, s.median_count, b->scratch, shape);
    for (size_t i = 0; i < count; ++i) gc_barrier_compare(shape, &cases[i]);
    return GPUCHAR_OK;
}

/* ---- all of it */

/* What the worker's start takes longer than compiling and proving did. */
static gpuchar_status ready(void *state) {
    const barrier_class *b = state;
    return gc_worker_ready(b->worker);
}

static gpuchar_status take_buffers(barrier_class *b) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < b->options->warps_count; ++i) {
        if (b->options->warps[i] > most) most = b->options->warps[i];
    }
    const size_t warps = (size_t)b->options->blocks * most, threads = warps * LANES;
    b->records = calloc(threads * all_launches(b), sizeof b->records[0]);
    b->reference = calloc(threads, sizeof b->reference[0]);
    b->cycles = calloc(warps * all_launches(b), sizeof b->cycles[0]);
    const bool there = b->records && b->reference && b->cycles;
    return there ? GPUCHAR_OK : gc_fail_memory(threads * all_launches(b) * sizeof b->records[0]);
}

static gpuchar_status run_all(barrier_class *b) {
    static const char *const names[PROBES] = {"join", "early exit", "wait"};
    gpuchar_barrier_case *cases = b->result->cases;
    gpuchar_status status = take_buffers(b);
    for (size_t i = 0; i < b->result->shape_count && status == GPUCHAR_OK; ++i) {
        gpuchar_barrier_shape *shape = &b->result->shapes[i];
        status = run_shape(b, shape, cases);
        cases += b->edit_counts[shape->probe];
        const bool last = i % b->options->warps_count == b->options->warps_count - 1;
        if (status == GPUCHAR_OK && last) gc_session_progress(b->session, names[shape->probe], 1);
    }
    return status;
}

static gpuchar_status measure(void *state) {
    barrier_class *b = state;
    gc_timing timing = {0};
    uint32_t before = 0, after = 0;
    const uint64_t begin = gc_now_ns();
    timing.throttle_known = gc_session_throttle_reasons(b->session, &before);
    gpuchar_status status = run_all(b);
    gc_worker_dismiss(b->worker);
    timing.throttle_known = gc_session_throttle_reasons(b->session, &after) && timing.throttle_known;
    timing.throttle_reasons = before | after;
    if (status != GPUCHAR_OK) return status;
    b->result->launches_ns = gc_now_ns() - begin;
    b->result->known |= GPUCHAR_BARRIER_LAUNCHED;
    gc_barrier_sum(b->result);
    const gc_barrier_doubts doubts = gc_barrier_find_doubts(b->result);
    timing.steady = !doubts.unsteady;
    if (doubts.off_law) b->result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
    gc_evidence_time(&timing, &b->result->evidence);
    return GPUCHAR_OK;
}

/* ---- fill */

static gpuchar_status no_counters(void *user) {
    (void)user;
    return gc_advise(gc_fail(GPUCHAR_E_NOT_APPLICABLE, "the kernels run in another process, where nothing is counted"),
                     "leave `counters` at 0, and GPUCHAR_REQUIRE_COUNTED out of `require`");
}

static gpuchar_status begin(void *state) {
    barrier_class *b = state;
    const gpuchar_barrier_class_experiment_options *options = b->call.options;
    gpuchar_barrier_class_experiment_result *result = b->call.result;
    b->session = b->call.session;
    b->options = options;
    b->result = result;
    if (b->session->architecture < 70) {
        return gc_advise(
            gc_fail(GPUCHAR_E_NOT_APPLICABLE, "sm_%u has no BSSY, BSYNC and BREAK", (unsigned)b->session->architecture),
            "convergence barriers come with sm_70");
    }
    result->blocks = options->blocks;
    result->classes = options->classes;
    result->combinations = options->combinations;
    result->turns = options->turns;
    result->launches = options->launches;
    result->spin_limit = options->spin_limit;
    result->limit_ms = options->limit_ms;
    result->lost_limit = options->lost_limit;
    result->field_exists = b->session->architecture >= GC_CLASS_FIELD_ARCH;
    gpuchar_status status = gc_evidence_count(&b->call, no_counters, b);
    if (status != GPUCHAR_OK || b->session->kind != GC_SESSION_LIVE) return status;
    /* Its start goes on while this process compiles and proves. */
    return gc_worker_begin(b->session, &b->worker);
}

static void release(void *state) {
    barrier_class *b = state;
    gc_worker_stop(b->worker);
    for (size_t i = 0; i < PROBES; ++i) free(b->patched[i]);
    free(b->records);
    free(b->reference);
    free(b->cycles);
    free(b->samples);
    free(b->medians);
    free(b->scratch);
}

/* ---- the descriptor */

const gc_experiment gc_experiment_barrier_class_experiment = {
    GC_EXPERIMENT(barrier_class_experiment, "whether the class of a convergence barrier does anything"),
    .resolve = gc_barrier_resolve,
    .preset = gc_barrier_preset,
    .state_bytes = sizeof(barrier_class),
    .begin = begin,
    .kernels = kernels,
    .prove = prove,
    .ready = ready,
    .measure = measure,
    .release = release,
    .result_free = gc_barrier_free,
    .text = gc_barrier_text,
    .answer = gc_barrier_answer,
};

GC_EXPERIMENT_FUNCTIONS(barrier_class_experiment)
