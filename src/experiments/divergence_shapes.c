/* Nested and unbalanced divergence: what the linear model predicts beside what was measured. */
#include <core/error.h>
#include <experiments/divergence_shapes_options.h>
#include <experiments/divergence_shapes_reduce.h>
#include <experiments/divergence_shapes_tables.h>
#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <measure/timing.h>
#include <proof/proof.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL "gpuchar_divergence_shapes"

/* Kernel arguments, as in divergence_shapes.cu. */
typedef struct shapes_args {
    gc_header header;
    uint32_t operand;
    uint32_t start;
    uint32_t turns[GPUCHAR_SHAPE_NODES];
    uint8_t lanes[32];
    uint8_t zeros[32];
    uint32_t reserved;
} shapes_args;

/* One call: what it holds until its end. */
typedef struct shapes {
    gc_call call;
    gpuchar_session *session;
    const gpuchar_divergence_shapes_options *options;
    gpuchar_divergence_shapes_result *result;
    CUfunction function;
    gc_divergence_proof proof;
    gc_slots slots;
    shapes_args args[2 * GC_SHAPES_PATHS + GC_SHAPES_POINTS_MAX]; /* short paths, long paths, points */
} shapes;

static size_t launch_points(const shapes *s) {
    return 2 * GC_SHAPES_PATHS + s->result->point_count;
}

/* ---- kernel and proof ---- */

static void kernels(const void *options, gc_kernel_list *list) {
    (void)options;
    list->templates[list->count++] =
        (gc_template){"divergence_shapes", "paths", {{"GPUCHAR_KIND", 1}, {"GPUCHAR_BODY", GC_SHAPES_BODY}}, NULL};
}

static gpuchar_status prove(void *state) {
    shapes *s = state;
    static const char *const mnemonic = "FFMA";
    shapes_args arguments = {.reserved = 0};
    for (uint32_t node = 0; node < GPUCHAR_SHAPE_NODES; ++node) arguments.turns[node] = 2 + node % 5;
    const gc_divergence_claim claim = {.kernel = KERNEL,
                                       .mnemonics = &mnemonic,
                                       .mnemonic_count = 1,
                                       .paths = GC_SHAPES_PATHS,
                                       .levels = GC_SHAPES_LEVELS,
                                       .body = GC_SHAPES_BODY,
                                       .arguments = &arguments,
                                       .argument_bytes = sizeof arguments,
                                       .turns_offset = offsetof(shapes_args, turns),
                                       .turns_stride = sizeof arguments.turns[0],
                                       .lanes_offset = offsetof(shapes_args, lanes),
                                       .zeros_offset = offsetof(shapes_args, zeros),
                                       .sample = gc_evidence_sample(GC_SAMPLE_THREAD, 32),
                                       .mark_shift = GC_PATHS_MARK_SHIFT,
                                       .mark_bits = GC_PATHS_MARK_BITS};
    gpuchar_divergence_shapes_result *result = s->result;
    gpuchar_status status = gc_evidence_prove(&s->call, 0, &claim, &s->proof);
    if (status != GPUCHAR_OK || s->proof.status != GPUCHAR_OK) return status;
    memcpy(result->evidence.mnemonic, s->proof.mnemonic, sizeof result->evidence.mnemonic);
    result->loop_instructions = s->proof.loop_instructions[0];
    result->loop_stall_cycles = s->proof.loop_stall[0];
    result->code_bytes = s->proof.region_bytes;
    result->dispatch_decisions = s->proof.dispatch_decisions;
    result->known |= GPUCHAR_SHAPES_DECODED;
    gc_shapes_expect(result);
    return GPUCHAR_OK;
}

/* ---- measure ---- */

static uint32_t float_bits(double value) {
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

static void set_shape(const gpuchar_divergence_shape *what, shapes_args *args) {
    memcpy(args->turns, what->turns, sizeof args->turns);
    for (size_t lane = 0; lane < GC_COUNT(args->lanes); ++lane) args->lanes[lane] = (uint8_t)what->lanes[lane];
}

/* Random operands, finite whatever the length of the chain: x a + c with a < 1 settles. */
static void make_args(shapes *s) {
    gc_random random = gc_random_seed(s->options->seed);
    const double multiplier = 0.25 + 0.5 * gc_random_unit(&random), start = 0.5 + gc_random_unit(&random);
    const shapes_args common = {
        .header = gc_slots_header(&s->slots, 0), .operand = float_bits(multiplier), .start = float_bits(start)};
    gpuchar_divergence_shape what;
    for (size_t i = 0; i < launch_points(s); ++i) s->args[i] = common;
    for (uint32_t path = 0; path < GC_SHAPES_PATHS; ++path) {
        gc_shapes_plan_path(path, s->options->turns, &what);
        set_shape(&what, &s->args[path]);
        gc_shapes_plan_path(path, GC_SHAPES_LONG * s->options->turns, &what);
        set_shape(&what, &s->args[GC_SHAPES_PATHS + path]);
    }
    for (size_t i = 0; i < s->result->point_count; ++i) {
        set_shape(&s->result->points[i].what, &s->args[2 * GC_SHAPES_PATHS + i]);
    }
}

static gpuchar_status prepare(shapes *s) {
    gpuchar_status status = gc_kernel_load(s->session, s->call.images[0], KERNEL, &s->function);
    if (status == GPUCHAR_OK) {
        status = gc_slots_alloc(s->session, (uint32_t)launch_points(s) * s->options->launches, &s->slots);
    }
    if (status != GPUCHAR_OK) return status;
    s->result->device_memory_bytes = s->slots.samples.bytes + s->slots.sink.bytes;
    make_args(s);
    return GPUCHAR_OK;
}

static gc_point point_of(const shapes *s, void *arguments) {
    return (gc_point){.function = s->function, .grid = 1, .block = 32, .arguments = arguments};
}

/* The points' cycles move to the front, where the result keeps them. */
static void keep(double *cycles, uint32_t launches, gpuchar_divergence_shapes_result *result) {
    const size_t count = result->point_count * launches;
    memmove(cycles, cycles + 2 * (size_t)GC_SHAPES_PATHS * launches, count * sizeof *cycles);
    result->samples = cycles;
    result->sample_count = count;
    for (size_t i = 0; i < result->point_count; ++i) result->points[i].sample_offset = i * launches;
}

static gpuchar_status reduce(shapes *s, const gc_sample *samples) {
    const uint32_t launches = s->options->launches;
    const size_t count = launch_points(s) * launches, room = count + 2 * (size_t)launches;
    double *cycles = malloc(room * sizeof *cycles);
    if (!cycles) return gc_fail_memory(room * sizeof *cycles);
    for (size_t i = 0; i < count; ++i) cycles[i] = (double)samples[i].cycles;
    gc_shapes_summarize(cycles, launches, cycles + count, s->result);
    gc_shapes_derive(s->result);
    if (s->options->keep_samples) {
        keep(cycles, launches, s->result);
    } else {
        free(cycles);
    }
    return GPUCHAR_OK;
}

static gpuchar_status measure(void *state) {
    shapes *s = state;
    gc_point points[2 * GC_SHAPES_PATHS + GC_SHAPES_POINTS_MAX];
    gc_timing timing = {0};
    const size_t count = launch_points(s), bytes = count * s->options->launches * sizeof *timing.samples;
    gpuchar_status status = prepare(s);
    if (status != GPUCHAR_OK) return status;
    for (size_t i = 0; i < count; ++i) points[i] = point_of(s, &s->args[i]);
    timing.samples = malloc(bytes);
    if (!timing.samples) return gc_fail_memory(bytes);
    status = gc_measure(s->session, &s->slots, points, count, s->options->launches, &timing);
    if (status == GPUCHAR_OK) status = reduce(s, timing.samples);
    free(timing.samples);
    if (status != GPUCHAR_OK) return status;
    s->result->launches_ns = timing.device_ns;
    s->result->warmup_launches = timing.warmup_launches;
    gc_evidence_time(&timing, &s->result->evidence);
    return GPUCHAR_OK;
}

/* ---- count ---- */

/* Two ranges a shape, with its turns and with twice as many: the difference holds the loops alone. */
enum { METRIC_WARP, METRIC_THREAD, METRICS };
static const char *const metrics[METRICS] = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"};

static gpuchar_status launch_range(void *user, size_t range) {
    shapes *s = user;
    shapes_args args = s->args[2 * GC_SHAPES_PATHS + range / 2];
    for (size_t node = 0; node < GC_COUNT(args.turns); ++node) args.turns[node] <<= range % 2;
    const gc_point point = point_of(s, &args);
    return gc_launch_once(s->session, &s->slots, &point);
}

static void fill_counters(void *user, const gpuchar_counters_result *read) {
    shapes *s = user;
    const double *values = read->values;
    for (size_t i = 0; i < s->result->point_count; ++i, values += 2 * METRICS) {
        gpuchar_divergence_shapes_point *point = &s->result->points[i];
        const double warp = values[METRICS + METRIC_WARP] - values[METRIC_WARP];
        const double thread = values[METRICS + METRIC_THREAD] - values[METRIC_THREAD];
        point->efficiency = warp > 0 ? thread / warp : 0;
        point->executed_count = warp > 0 ? (uint64_t)(warp + 0.5) : 0;
        point->known |= GPUCHAR_SHAPES_POINT_COUNTERS;
    }
    s->result->evidence.counter_passes = read->passes;
}

static gpuchar_status count(void *state) {
    shapes *s = state;
    const gc_range_request request = {metrics, METRICS, s->call.ranges, launch_range, s};
    gpuchar_status status = gc_evidence_count_ranges(&s->call, &request, fill_counters);
    if (status == GPUCHAR_OK) gc_shapes_recount(s->result);
    return status;
}

/* ---- fill ---- */

static gpuchar_status begin(void *state) {
    shapes *s = state;
    const gpuchar_divergence_shapes_options *options = s->call.options;
    gpuchar_divergence_shapes_result *result = s->call.result;
    s->session = s->call.session;
    s->options = options;
    s->result = result;
    const size_t points = options->shapes_count + options->given_count;
    result->points = calloc(points, sizeof result->points[0]);
    if (!result->points) return gc_fail_memory(points * sizeof result->points[0]);
    result->point_count = points;
    s->call.ranges = 2 * points;
    for (size_t i = 0; i < points; ++i) {
        gpuchar_divergence_shapes_point *point = &result->points[i];
        if (i < options->shapes_count) {
            point->shape = options->shapes[i];
            gc_shapes_plan(point->shape, options->turns, &point->what);
        } else {
            point->shape = GPUCHAR_SHAPE_GIVEN;
            point->what = options->given[i - options->shapes_count];
        }
        gc_shapes_describe(point);
    }
    result->turns = options->turns;
    result->launches = options->launches;
    result->seed = options->seed;
    result->body = GC_SHAPES_BODY;
    gc_shapes_expect(result);
    return GPUCHAR_OK;
}

static void release(void *state) {
    shapes *s = state;
    if (s->session->kind == GC_SESSION_LIVE) gc_slots_free(s->session, &s->slots);
}

/* ---- the descriptor ---- */

const gc_experiment gc_experiment_divergence_shapes = {
    GC_EXPERIMENT(divergence_shapes, "what nested and unbalanced divergence costs"),
    .resolve = gc_shapes_resolve,
    .preset = gc_shapes_preset,
    .state_bytes = sizeof(shapes),
    .begin = begin,
    .kernels = kernels,
    .prove = prove,
    .measure = measure,
    .count = count,
    .counters_ns = offsetof(gpuchar_divergence_shapes_result, counters_ns),
    .release = release,
    .result_free = gc_divergence_shapes_free,
    .text = gc_divergence_shapes_text,
    .answer = gc_divergence_shapes_answer,
};

GC_EXPERIMENT_FUNCTIONS(divergence_shapes)
