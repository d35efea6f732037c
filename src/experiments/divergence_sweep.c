/* The cost of warp divergence: T(k) of one warp that splits into k paths of equal work. */
#include <core/error.h>
#include <experiments/divergence_options.h>
#include <experiments/divergence_reduce.h>
#include <experiments/divergence_tables.h>
#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <measure/timing.h>
#include <proof/proof.h>
#include <stats/stats.h>
#include <stdio.h>
#include <stdlib.h>

#define PATHS 32
#define TABLE_BYTES (PATHS * 256)

/* Kernel arguments, as in divergence_sweep.cu. */
typedef struct sweep_args {
    gc_header header;
    uint64_t table;
    uint32_t operand;
    uint32_t start;
    uint8_t lanes[32];
} sweep_args;

/* Kernel arguments, as in divergence_validation.cu. */
typedef struct validation_args {
    gc_header header;
    uint32_t ways;
    uint32_t reserved;
} validation_args;

/* The chained instruction of each kind. */
static const char *const mnemonics[] = {NULL, "FFMA", "IMAD", "LDG", "MUFU"};

/* Where its constant holds the number of its path. */
static const uint32_t mark_shifts[] = {0, GC_PATHS_MARK_SHIFT, GC_PATHS_MARK_SHIFT, GC_PATHS_LOAD_MARK_SHIFT,
                                       GC_PATHS_MARK_SHIFT};

enum { IMAGE_SWEEP, IMAGE_CONVERGENT, IMAGE_TWO_WAY, IMAGE_FULL, IMAGES };
static const uint32_t validation_ways[IMAGES] = {0, 1, 2, 32};

/* One call: what it holds until its end. */
typedef struct sweep {
    gc_call call;
    gpuchar_session *session;
    const gpuchar_divergence_sweep_options *options;
    gpuchar_divergence_sweep_result *result;
    CUfunction functions[IMAGES];
    gc_divergence_proof proof;
    gc_slots slots;
    gc_buffer table;
    sweep_args path_args[PATHS];
    sweep_args point_args[PATHS];
} sweep;

/* ---- kernel and proof ---- */

static void kernels(const void *raw, gc_kernel_list *list) {
    const gpuchar_divergence_sweep_options *options = raw;
    list->templates[IMAGE_SWEEP] = (gc_template){
        "divergence_sweep", "paths", {{"GPUCHAR_KIND", options->kind}, {"GPUCHAR_BODY", options->body}}, NULL};
    list->count = options->counters == GPUCHAR_COUNTERS_OFF ? 1 : IMAGES;
    for (size_t i = 1; i < list->count; ++i) {
        list->templates[i] = (gc_template){"divergence_validation", NULL, {{"GPUCHAR_WAYS", validation_ways[i]}}, NULL};
    }
}

/* What the machine code says one launch of each point executes in its loops: the proof followed every path's turns. */
static void expect(sweep *s) {
    gpuchar_divergence_sweep_result *result = s->result;
    uint64_t most = 0, iterations = s->options->iterations;
    for (size_t i = 0; i < result->point_count; ++i) {
        gpuchar_divergence_point *point = &result->points[i];
        if (point->ways > most) most = point->ways;
        if (!(result->evidence.flags & GPUCHAR_FLAG_PROVED)) continue;
        point->expected_count = point->ways * iterations * result->loop_instructions;
        point->known |= GPUCHAR_DIVERGENCE_POINT_EXPECTED;
    }
    result->evidence.intended_count = most * iterations * s->options->body;
    if (!(result->evidence.flags & GPUCHAR_FLAG_PROVED)) return;
    memcpy(result->evidence.mnemonic, s->proof.mnemonic, sizeof result->evidence.mnemonic);
    result->evidence.decoded_count = most * iterations * s->proof.loop_intended[0];
    result->evidence.scaffold_count = most * iterations * (result->loop_instructions - s->proof.loop_intended[0]);
    result->evidence.known |= GPUCHAR_EVIDENCE_DECODED;
}

static gpuchar_status prove(void *state) {
    sweep *s = state;
    const sweep_args arguments = {.header = {.iterations = s->options->iterations}};
    const gc_divergence_claim claim = {.kernel = "gpuchar_divergence_sweep",
                                       .mnemonics = &mnemonics[s->options->kind],
                                       .mnemonic_count = 1,
                                       .function = 5, /* the reciprocal square root */
                                       .paths = PATHS,
                                       .body = s->options->body,
                                       .arguments = &arguments,
                                       .argument_bytes = sizeof arguments,
                                       .turns_offset = offsetof(sweep_args, header.iterations),
                                       .lanes_offset = offsetof(sweep_args, lanes),
                                       .sample = gc_evidence_sample(GC_SAMPLE_THREAD, 32),
                                       .mark_shift = mark_shifts[s->options->kind],
                                       .mark_bits = GC_PATHS_MARK_BITS};
    gpuchar_divergence_sweep_result *result = s->result;
    gpuchar_status status = gc_evidence_prove(&s->call, IMAGE_SWEEP, &claim, &s->proof);
    if (status == GPUCHAR_OK && s->proof.status == GPUCHAR_OK) {
        result->loop_instructions = s->proof.loop_instructions[0];
        result->loop_stall_cycles = s->proof.loop_stall[0];
        result->code_bytes = s->proof.region_bytes;
        result->dispatch_decisions = s->proof.dispatch_decisions;
        result->known |= GPUCHAR_DIVERGENCE_DECODED;
    }
    expect(s);
    return status;
}

/* ---- measure ---- */

static gpuchar_status load(sweep *s) {
    static const char *const names[IMAGES] = {"gpuchar_divergence_sweep", "gpuchar_divergence_validation",
                                              "gpuchar_divergence_validation", "gpuchar_divergence_validation"};
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < s->call.kernels.count && status == GPUCHAR_OK; ++i) {
        status = gc_kernel_load(s->session, s->call.images[i], names[i], &s->functions[i]);
    }
    return status;
}

/* Every word of the table holds the table's address: each load yields the base of the next. */
static gpuchar_status make_table(sweep *s) {
    uint64_t words[TABLE_BYTES / 8];
    gpuchar_status status = gc_buffer_alloc(s->session, sizeof words, &s->table);
    if (status != GPUCHAR_OK) return status;
    for (size_t i = 0; i < GC_COUNT(words); ++i) words[i] = s->table.address;
    return gc_buffer_write(s->session, &s->table, words, sizeof words);
}

static uint32_t float_bits(double value) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

/* Random operands, finite whatever the length of the chain: x a + c with a < 1 settles; integers wrap. */
static sweep_args make_args(sweep *s, gc_random *random) {
    sweep_args args = {.header = gc_slots_header(&s->slots, s->options->iterations), .table = s->table.address};
    double multiplier = 0.25 + 0.5 * gc_random_unit(random), start = 0.5 + gc_random_unit(random);
    bool integer = s->options->kind == GPUCHAR_PATH_INT32;
    args.operand = integer ? (uint32_t)gc_random_u64(random) | 1u : float_bits(multiplier);
    args.start = integer ? (uint32_t)gc_random_u64(random) : float_bits(start);
    return args;
}

static gpuchar_status prepare(sweep *s) {
    const gpuchar_divergence_sweep_options *options = s->options;
    gc_random random = gc_random_seed(options->seed);
    gpuchar_status status = load(s);
    if (status != GPUCHAR_OK) return status;
    status = gc_slots_alloc(s->session, (PATHS + options->ways_count) * options->launches, &s->slots);
    if (status == GPUCHAR_OK) status = make_table(s);
    if (status != GPUCHAR_OK) return status;
    s->result->device_memory_bytes = s->slots.samples.bytes + s->slots.sink.bytes + s->table.bytes;
    sweep_args common = make_args(s, &random);
    for (uint32_t i = 0; i < PATHS; ++i) {
        s->path_args[i] = common;
        memset(s->path_args[i].lanes, (int)i, 32);
    }
    for (uint32_t i = 0; i < options->ways_count; ++i) {
        s->point_args[i] = common;
        gc_divergence_lanes(options, options->ways[i], s->point_args[i].lanes);
    }
    return GPUCHAR_OK;
}

static gc_point point_of(sweep *s, int image, void *arguments) {
    return (gc_point){.function = s->functions[image], .grid = 1, .block = 32, .arguments = arguments};
}

static void keep(gpuchar_divergence_sweep_result *result, double *cycles, uint32_t launches) {
    result->samples = cycles;
    result->sample_count = result->point_count * launches;
    for (size_t i = 0; i < result->point_count; ++i) result->points[i].sample_offset = i * launches;
}

/* The SM clock of each launch; launches too short for the timer's steps say nothing. */
static gpuchar_status reduce_clock(const gc_sample *samples, size_t count, gpuchar_divergence_sweep_result *result) {
    double *clocks = malloc(3 * count * sizeof *clocks);
    size_t known = 0;
    if (!clocks) return gc_fail_memory(3 * count * sizeof *clocks);
    for (size_t i = 0; i < count; ++i) {
        if (samples[i].nanoseconds < 4000) continue;
        clocks[known++] = (double)samples[i].cycles / (double)samples[i].nanoseconds * 1e9;
    }
    if (known) result->sm_clock_hz = gc_summarize(clocks, known, clocks + count, 0);
    free(clocks);
    return GPUCHAR_OK;
}

/* Reduces the samples: blocks of `launches`, the 32 paths first, then the points. */
static gpuchar_status reduce(sweep *s, const gc_sample *samples) {
    gpuchar_divergence_sweep_result *result = s->result;
    size_t launches = s->options->launches, paths = PATHS * launches, points = result->point_count * launches;
    double *path_cycles = malloc((paths + 2 * launches) * sizeof *path_cycles);
    double *point_cycles = malloc(points * sizeof *point_cycles);
    if (!path_cycles || !point_cycles) {
        free(path_cycles);
        free(point_cycles);
        return gc_fail_memory((paths + points) * sizeof(double));
    }
    for (size_t i = 0; i < paths; ++i) path_cycles[i] = (double)samples[i].cycles;
    for (size_t i = 0; i < points; ++i) point_cycles[i] = (double)samples[paths + i].cycles;
    gc_divergence_summarize(path_cycles, point_cycles, s->options->launches, s->options->kind, path_cycles + paths,
                            result);
    gc_divergence_derive(result);
    free(path_cycles);
    if (s->options->keep_samples) {
        keep(result, point_cycles, s->options->launches);
    } else {
        free(point_cycles);
    }
    return GPUCHAR_OK;
}

static gpuchar_status measure(void *state) {
    sweep *s = state;
    gc_point points[2 * PATHS];
    gc_timing timing = {0};
    size_t count = PATHS + s->options->ways_count;
    gpuchar_status status = prepare(s);
    if (status != GPUCHAR_OK) return status;
    for (size_t i = 0; i < PATHS; ++i) points[i] = point_of(s, IMAGE_SWEEP, &s->path_args[i]);
    for (size_t i = PATHS; i < count; ++i) points[i] = point_of(s, IMAGE_SWEEP, &s->point_args[i - PATHS]);
    timing.samples = malloc(count * s->options->launches * sizeof *timing.samples);
    if (!timing.samples) return gc_fail_memory(count * s->options->launches * sizeof *timing.samples);
    status = gc_measure(s->session, &s->slots, points, count, s->options->launches, &timing);
    if (status == GPUCHAR_OK) status = reduce_clock(timing.samples, count * s->options->launches, s->result);
    if (status == GPUCHAR_OK) status = reduce(s, timing.samples);
    free(timing.samples);
    if (status != GPUCHAR_OK) return status;
    s->result->launches_ns = timing.device_ns;
    s->result->warmup_launches = timing.warmup_launches;
    gc_evidence_time(&timing, &s->result->evidence);
    return GPUCHAR_OK;
}

/* ---- count ---- */

/* Two ranges a kernel, of one and of two lengths: the difference holds the paths alone, without prologue and dispatch. */
enum { METRIC_WARP, METRIC_THREAD, METRIC_RATIO, METRICS };
static const char *const metrics[METRICS] = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
                                             "smsp__thread_inst_executed_per_inst_executed.ratio"};

static gpuchar_status launch_range(void *user, size_t range) {
    sweep *s = user;
    size_t kernel = range / 2, points = s->options->ways_count;
    uint32_t iterations = s->options->iterations << (range % 2);
    if (kernel < points) {
        sweep_args args = s->point_args[kernel];
        args.header.iterations = iterations;
        gc_point point = point_of(s, IMAGE_SWEEP, &args);
        return gc_launch_once(s->session, &s->slots, &point);
    }
    int which = (int)(IMAGE_CONVERGENT + kernel - points);
    validation_args args = {gc_slots_header(&s->slots, iterations), validation_ways[which], 0};
    gc_point point = point_of(s, which, &args);
    return gc_launch_once(s->session, &s->slots, &point);
}

static double difference_ratio(const double *one, const double *two) {
    double warp = two[METRIC_WARP] - one[METRIC_WARP];
    return warp > 0 ? (two[METRIC_THREAD] - one[METRIC_THREAD]) / warp : 0;
}

static void fill_counters(void *user, const gpuchar_counters_result *read) {
    sweep *s = user;
    gpuchar_divergence_sweep_result *result = s->result;
    const double *values = read->values;
    for (size_t i = 0; i < result->point_count; ++i, values += 2 * METRICS) {
        gpuchar_divergence_point *point = &result->points[i];
        double executed = values[METRICS + METRIC_WARP] - values[METRIC_WARP];
        point->efficiency = difference_ratio(values, values + METRICS);
        point->efficiency_kernel = values[METRIC_RATIO];
        point->executed_count = executed > 0 ? (uint64_t)(executed + 0.5) : 0;
        point->known |= GPUCHAR_DIVERGENCE_POINT_COUNTERS;
    }
    result->validation_convergent = difference_ratio(values, values + METRICS);
    result->validation_two_way = difference_ratio(values + 2 * METRICS, values + 3 * METRICS);
    result->validation_full = difference_ratio(values + 4 * METRICS, values + 5 * METRICS);
    result->known |= GPUCHAR_DIVERGENCE_VALIDATED;
    result->evidence.counter_passes = read->passes;
}

static gpuchar_status count(void *state) {
    sweep *s = state;
    const gc_range_request request = {metrics, METRICS, s->call.ranges, launch_range, s};
    gpuchar_status status = gc_evidence_count_ranges(&s->call, &request, fill_counters);
    if (status == GPUCHAR_OK) gc_divergence_recount(s->result);
    return status;
}

/* ---- fill ---- */

static gpuchar_status begin(void *state) {
    sweep *s = state;
    const gpuchar_divergence_sweep_options *options = s->call.options;
    gpuchar_divergence_sweep_result *result = s->call.result;
    s->session = s->call.session;
    s->options = options;
    s->result = result;
    result->points = calloc(options->ways_count, sizeof result->points[0]);
    if (!result->points) return gc_fail_memory(options->ways_count * sizeof result->points[0]);
    result->point_count = options->ways_count;
    s->call.ranges = 2 * (options->ways_count + IMAGES - 1);
    for (uint32_t i = 0; i < options->ways_count; ++i) result->points[i].ways = options->ways[i];
    result->kind = options->kind;
    result->lane_map = options->lane_map;
    result->body = options->body;
    result->iterations = options->iterations;
    result->launches = options->launches;
    result->seed = options->seed;
    return GPUCHAR_OK;
}

static void release(void *state) {
    sweep *s = state;
    if (s->session->kind != GC_SESSION_LIVE) return;
    gc_buffer_free(s->session, &s->table);
    gc_slots_free(s->session, &s->slots);
}

/* ---- the descriptor ---- */

const gc_experiment gc_experiment_divergence_sweep = {
    GC_EXPERIMENT(divergence_sweep, "what k paths through one warp cost"),
    .resolve = gc_divergence_resolve,
    .preset = gc_divergence_preset,
    .state_bytes = sizeof(sweep),
    .begin = begin,
    .kernels = kernels,
    .prove = prove,
    .measure = measure,
    .count = count,
    .counters_ns = offsetof(gpuchar_divergence_sweep_result, counters_ns),
    .release = release,
    .result_free = gc_divergence_sweep_free,
    .text = gc_divergence_sweep_text,
    .answer = gc_divergence_sweep_answer,
};

GC_EXPERIMENT_FUNCTIONS(divergence_sweep)
