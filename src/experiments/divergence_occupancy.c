/* Whether many warps hide divergence: the same work on one path and on k, over the warps that an SM holds. */
#include <core/error.h>
#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <experiments/occupancy_tables.h>
#include <experiments/options.h>
#include <measure/timing.h>
#include <stats/stats.h>
#include <stdlib.h>

#define WARPS_MAX 16
#define BODIES_MAX 4
#define POINTS_MAX (WARPS_MAX * BODIES_MAX)
#define BLOCK_WARPS 4
#define KERNEL "gpuchar_divergence_occupancy"

enum { FORM_ONE, FORM_WAYS, FORMS };

/* Kernel arguments, as in divergence_occupancy.cu. */
typedef struct occupancy_args {
    gc_header header;
    uint64_t spans;
    uint32_t sm_count;
    uint32_t operand;
    uint32_t start;
    uint32_t reserved;
    uint8_t lanes[32];
} occupancy_args;

/* One call: what it holds until its end. */
typedef struct occupancy {
    gc_call call;
    gpuchar_session *session;
    gpuchar_divergence_occupancy_options options; /* resolved, for this device */
    gpuchar_divergence_occupancy_result *result;
    CUfunction functions[BODIES_MAX];
    gc_divergence_proof proofs[BODIES_MAX];
    gc_slots slots;
    gc_buffer spans;
    occupancy_args arguments[POINTS_MAX * FORMS];
} occupancy;

/* ---- options ---- */

static gpuchar_status check_warps(const gpuchar_divergence_occupancy_options *options) {
    gpuchar_status status = gc_option_count("warps", options->warps, options->warps_count, WARPS_MAX);
    for (uint32_t i = 0; i < options->warps_count && status == GPUCHAR_OK; ++i) {
        const uint32_t warps = options->warps[i];
        if (warps >= 1 && warps <= GC_OCCUPANCY_WARPS_MAX && (warps < BLOCK_WARPS || warps % BLOCK_WARPS == 0))
            continue;
        status = gc_advise(
            gc_fail(GPUCHAR_E_LIMIT, "warps[%u] is %u; it can be 1, 2, 3 or a multiple of 4 up to 256", i, warps),
            "blocks are of four warps; fewer than four are one block");
    }
    return status;
}

static gpuchar_status check_bodies(const gpuchar_divergence_occupancy_options *options) {
    gpuchar_status status = gc_option_count("bodies", options->bodies, options->bodies_count, BODIES_MAX);
    for (uint32_t i = 0; i < options->bodies_count && status == GPUCHAR_OK; ++i) {
        const uint32_t body = options->bodies[i];
        status = gc_option_body("bodies", i, body);
        for (uint32_t j = 0; j < i && status == GPUCHAR_OK; ++j) {
            if (options->bodies[j] != body) continue;
            return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "bodies[%u] and bodies[%u] are both %u", j, i, body),
                             "name each body once");
        }
    }
    return status;
}

/* Every body does the same work: turns x 64 multiply-adds, in whole turns. */
static gpuchar_status check_turns(const gpuchar_divergence_occupancy_options *options) {
    for (uint32_t i = 0; i < options->bodies_count; ++i) {
        const uint32_t step = options->bodies[i] / 64;
        if (options->turns % step == 0) continue;
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "turns is %u; with a body of %u it is a multiple of %u",
                                 options->turns, options->bodies[i], step),
                         "a larger body turns less often, for the same work: choose a multiple of 8");
    }
    return GPUCHAR_OK;
}

static gpuchar_status resolve(void *raw) {
    gpuchar_divergence_occupancy_options *options = raw;
    if (options->reserved)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "reserved is %u, not 0", options->reserved),
                         "make the struct with its INIT and leave `reserved` alone");
    gpuchar_status status = gc_option_demands(options->counters, options->require);
    if (status == GPUCHAR_OK) status = check_warps(options);
    if (status == GPUCHAR_OK) status = check_bodies(options);
    if (status != GPUCHAR_OK) return status;
    if (options->bodies_count == 0) options->bodies[options->bodies_count++] = 64;
    if (options->ways == 0) options->ways = 32;
    if (options->turns == 0) options->turns = 64;
    if (options->launches == 0) options->launches = 11;
    status = gc_option_range("ways", options->ways, 2, 32);
    if (status == GPUCHAR_OK) status = gc_option_range("turns", options->turns, 8, 65536);
    if (status == GPUCHAR_OK) status = check_turns(options);
    return status == GPUCHAR_OK ? gc_option_range("launches", options->launches, 5, 1000) : status;
}

static void preset(uint32_t which, void *raw) {
    static const uint32_t all[BODIES_MAX] = {64, 128, 256, 512};
    gpuchar_divergence_occupancy_options *options = raw;
    if (which != GPUCHAR_PRESET_FULL) return;
    memcpy(options->bodies, all, sizeof all);
    options->bodies_count = BODIES_MAX;
}

/* Only the device knows how many warps an SM holds; without one: 64. */
static void resolve_for_device(occupancy *o) {
    static const uint32_t few[] = {1, 2, 4, 8, 16, 32};
    gpuchar_divergence_occupancy_options *options = &o->options;
    const uint32_t threads = o->session->info.max_threads_per_sm, resident = threads ? threads / 32 : 64;
    o->result->resident_warps = resident;
    if (options->warps_count) return;
    for (size_t i = 0; i < GC_COUNT(few); ++i) options->warps[options->warps_count++] = few[i];
    options->warps[options->warps_count++] = resident;
    options->warps[options->warps_count++] = 2 * resident;
}

static uint32_t point_count(const occupancy *o) {
    return o->options.bodies_count * o->options.warps_count;
}

/* A whole number: the options were checked for it. */
static uint32_t turns_of(const occupancy *o, uint32_t body) {
    return o->options.turns * 64 / body;
}

/* ---- kernel and proof ---- */

static void kernels(const void *raw, gc_kernel_list *list) {
    const gpuchar_divergence_occupancy_options *options = raw;
    for (uint32_t i = 0; i < options->bodies_count; ++i) {
        list->templates[list->count++] = (gc_template){
            "divergence_occupancy",
            "paths",
            {{"GPUCHAR_KIND", 1}, {"GPUCHAR_BODY", options->bodies[i]}, {"GPUCHAR_BLOCK_WARPS", BLOCK_WARPS}},
            NULL};
    }
}

/* What the machine code says that one warp executes in its loops. */
static void expect(occupancy *o) {
    gpuchar_divergence_occupancy_result *result = o->result;
    gpuchar_evidence *evidence = &result->evidence;
    const uint64_t ways = o->options.ways, turns = turns_of(o, o->options.bodies[0]);
    for (size_t i = 0; i < result->point_count; ++i) {
        const gc_divergence_proof *proof = &o->proofs[i / o->options.warps_count];
        gpuchar_occupancy_point *point = &result->points[i];
        if (proof->status != GPUCHAR_OK) continue;
        point->expected_count = ways * turns_of(o, point->body) * proof->loop_instructions[0];
        point->known |= GPUCHAR_OCCUPANCY_POINT_EXPECTED;
    }
    evidence->intended_count = ways * turns * o->options.bodies[0];
    if (o->proofs[0].status != GPUCHAR_OK) return;
    memcpy(evidence->mnemonic, o->proofs[0].mnemonic, sizeof evidence->mnemonic);
    evidence->decoded_count = ways * turns * o->proofs[0].loop_intended[0];
    evidence->scaffold_count = ways * turns * (o->proofs[0].loop_instructions[0] - o->proofs[0].loop_intended[0]);
    evidence->known |= GPUCHAR_EVIDENCE_DECODED;
}

static gpuchar_status prove(void *state) {
    occupancy *o = state;
    static const char *const mnemonic = "FFMA";
    gpuchar_divergence_occupancy_result *result = o->result;
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t i = 0; i < o->options.bodies_count && status == GPUCHAR_OK; ++i) {
        const occupancy_args arguments = {.header = {.iterations = turns_of(o, o->options.bodies[i])}};
        gc_divergence_claim claim = {.kernel = KERNEL,
                                     .mnemonics = &mnemonic,
                                     .mnemonic_count = 1,
                                     .paths = 32,
                                     .body = o->options.bodies[i],
                                     .arguments = &arguments,
                                     .argument_bytes = sizeof arguments,
                                     .turns_offset = offsetof(occupancy_args, header.iterations),
                                     .lanes_offset = offsetof(occupancy_args, lanes),
                                     .sample = gc_evidence_sample(GC_SAMPLE_SPANS, BLOCK_WARPS * 32),
                                     .mark_shift = GC_PATHS_MARK_SHIFT,
                                     .mark_bits = GC_PATHS_MARK_BITS};
        claim.sample.spans_offset = offsetof(occupancy_args, spans);
        claim.sample.sms_offset = offsetof(occupancy_args, sm_count);
        status = gc_evidence_prove(&o->call, i, &claim, &o->proofs[i]);
        if (o->proofs[i].status != GPUCHAR_OK) continue;
        result->bodies[i].code_bytes = o->proofs[i].region_bytes;
        result->bodies[i].known |= GPUCHAR_OCCUPANCY_BODY_DECODED;
    }
    if (status == GPUCHAR_OK) expect(o);
    return status;
}

/* ---- measure ---- */

static uint32_t block_warps(uint32_t warps) {
    return warps < BLOCK_WARPS ? warps : BLOCK_WARPS;
}

static gc_point point_of(occupancy *o, size_t index, int form, occupancy_args *arguments) {
    const uint32_t warps = o->result->points[index].warps, block = block_warps(warps);
    return (gc_point){.function = o->functions[index / o->options.warps_count],
                      .grid = o->session->sm_count * (warps / block),
                      .block = 32 * block,
                      .arguments = arguments ? arguments : &o->arguments[index * FORMS + (size_t)form]};
}

static void fill_arguments(occupancy *o, size_t index, int form) {
    occupancy_args *arguments = &o->arguments[index * FORMS + (size_t)form];
    *arguments = (occupancy_args){.header = gc_slots_header(&o->slots, turns_of(o, o->result->points[index].body)),
                                  .spans = o->spans.address,
                                  .sm_count = o->session->sm_count,
                                  .operand = 0x3f000000, /* 0.5f: x * 0.5 + c settles */
                                  .start = 0x3f800000};
    for (uint32_t lane = 0; lane < 32 && form == FORM_WAYS; ++lane) {
        arguments->lanes[lane] = (uint8_t)(lane % o->options.ways);
    }
}

static gpuchar_status prepare(occupancy *o) {
    const uint32_t slots = point_count(o) * FORMS * o->options.launches;
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t i = 0; i < o->options.bodies_count && status == GPUCHAR_OK; ++i) {
        status = gc_kernel_load(o->session, o->call.images[i], KERNEL, &o->functions[i]);
    }
    if (status == GPUCHAR_OK) status = gc_slots_alloc(o->session, slots, &o->slots);
    if (status == GPUCHAR_OK) {
        const size_t launches = (size_t)slots + GC_WARM_SLOTS;
        status = gc_buffer_alloc(o->session, launches * o->session->sm_count * sizeof(gc_span), &o->spans);
    }
    if (status != GPUCHAR_OK) return status;
    o->result->device_memory_bytes = o->slots.samples.bytes + o->slots.sink.bytes + o->spans.bytes;
    o->result->sm_count = o->session->sm_count;
    for (size_t i = 0; i < point_count(o); ++i) {
        for (int form = 0; form < FORMS; ++form) fill_arguments(o, i, form);
    }
    return GPUCHAR_OK;
}

/* One form of one point: `index` is its place among all. False when in most launches no SM ran as many warps. */
static bool reduce_form(occupancy *o, size_t index, const gc_span *spans, double *scratch) {
    gpuchar_occupancy_point *point = &o->result->points[index / FORMS];
    const uint32_t launches = o->options.launches, sms = o->session->sm_count;
    const uint32_t blocks = point->warps / block_warps(point->warps);
    double *cycles = scratch, *rest = scratch + launches;
    const uint32_t measured =
        gc_occupancy_cycles(spans + index * launches * sms, launches, sms, blocks, cycles, rest, &point->uneven);
    if (2 * measured < launches) return false;
    gpuchar_stat *stat = index % FORMS == FORM_ONE ? &point->cycles_one : &point->cycles_ways;
    *stat = gc_summarize(cycles, measured, rest, GC_OCCUPANCY_SPREAD);
    return true;
}

/* Blocks beyond what an SM holds go where there is room: a slow or shared GPU may give no SM its share. Others have theirs. */
static gpuchar_status reduce_points(occupancy *o, const gc_span *spans, double *scratch) {
    const size_t points = point_count(o);
    size_t timed = 0;
    for (size_t i = 0; i < points; ++i) {
        const bool one = reduce_form(o, i * FORMS + FORM_ONE, spans, scratch);
        const bool ways = reduce_form(o, i * FORMS + FORM_WAYS, spans, scratch);
        timed += one && ways;
    }
    if (timed < points) o->result->evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    if (timed > 0) return GPUCHAR_OK;
    return gc_advise(gc_fail(GPUCHAR_E_MEASUREMENT, "in most launches no SM ran as many warps as it should"),
                     "another program may use the GPU; repeat when it is idle");
}

static gpuchar_status reduce(occupancy *o) {
    const size_t forms = (size_t)point_count(o) * FORMS, sms = o->session->sm_count;
    const size_t bytes = forms * o->options.launches * sms * sizeof(gc_span);
    gc_span *spans = malloc(bytes);
    double *scratch = malloc((3 * (size_t)o->options.launches + sms) * sizeof *scratch);
    gpuchar_status status = GPUCHAR_OK;
    if (!spans || !scratch) status = gc_fail_memory(bytes);
    if (status == GPUCHAR_OK) status = gc_buffer_read(o->session, &o->spans, 0, spans, bytes);
    if (status == GPUCHAR_OK) status = reduce_points(o, spans, scratch);
    free(spans);
    free(scratch);
    return status;
}

static gpuchar_status measure(void *state) {
    occupancy *o = state;
    const size_t forms = (size_t)point_count(o) * FORMS, samples = forms * o->options.launches;
    gc_point points[POINTS_MAX * FORMS];
    gc_timing timing = {0};
    gpuchar_status status = prepare(o);
    if (status != GPUCHAR_OK) return status;
    for (size_t i = 0; i < forms; ++i) points[i] = point_of(o, i / FORMS, (int)(i % FORMS), NULL);
    timing.samples = malloc(samples * sizeof *timing.samples);
    if (!timing.samples) return gc_fail_memory(samples * sizeof *timing.samples);
    status = gc_measure(o->session, &o->slots, points, forms, o->options.launches, &timing);
    free(timing.samples);
    if (status == GPUCHAR_OK) status = reduce(o);
    if (status != GPUCHAR_OK) return status;
    o->result->launches_ns = timing.device_ns;
    o->result->warmup_launches = timing.warmup_launches;
    gc_evidence_time(&timing, &o->result->evidence);
    gc_occupancy_derive(o->result);
    return GPUCHAR_OK;
}

/* ---- count ---- */

/* Of each point's divergent form two ranges, of one and of two lengths: the difference holds the paths alone. */
enum { METRIC_WARP, METRIC_THREAD, METRICS };
static const char *const metrics[METRICS] = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"};

static gpuchar_status launch_range(void *user, size_t range) {
    occupancy *o = user;
    occupancy_args arguments = o->arguments[range / 2 * FORMS + FORM_WAYS];
    arguments.header.iterations <<= range % 2;
    gc_point point = point_of(o, range / 2, FORM_WAYS, &arguments);
    return gc_launch_once(o->session, &o->slots, &point);
}

static void fill_counters(void *user, const gpuchar_counters_result *read) {
    occupancy *o = user;
    const double *values = read->values;
    for (size_t i = 0; i < point_count(o); ++i, values += 2 * METRICS) {
        gpuchar_occupancy_point *point = &o->result->points[i];
        const double executed = values[METRICS + METRIC_WARP] - values[METRIC_WARP];
        const double threads = values[METRICS + METRIC_THREAD] - values[METRIC_THREAD];
        const double warps = (double)point->warps * o->session->sm_count;
        point->efficiency = executed > 0 ? threads / executed : 0;
        point->executed_count = executed > 0 ? (uint64_t)(executed / warps + 0.5) : 0;
        point->known |= GPUCHAR_OCCUPANCY_POINT_COUNTERS;
    }
    o->result->evidence.counter_passes = read->passes;
}

static gpuchar_status count(void *state) {
    occupancy *o = state;
    const gc_range_request request = {metrics, METRICS, o->call.ranges, launch_range, o};
    gpuchar_status status = gc_evidence_count_ranges(&o->call, &request, fill_counters);
    if (status == GPUCHAR_OK) gc_occupancy_recount(o->result);
    return status;
}

/* ---- fill ---- */

static gpuchar_status begin(void *state) {
    occupancy *o = state;
    gpuchar_divergence_occupancy_result *result = o->call.result;
    o->session = o->call.session;
    o->result = result;
    memcpy(&o->options, o->call.options, sizeof o->options);
    resolve_for_device(o);
    const size_t points = point_count(o), bodies = o->options.bodies_count;
    result->points = calloc(points, sizeof result->points[0]);
    result->bodies = calloc(bodies, sizeof result->bodies[0]);
    if (!result->points || !result->bodies) return gc_fail_memory(points * sizeof result->points[0]);
    result->point_count = points;
    o->call.ranges = 2 * points;
    result->body_count = bodies;
    for (size_t i = 0; i < points; ++i) {
        result->points[i].body = o->options.bodies[i / o->options.warps_count];
        result->points[i].warps = o->options.warps[i % o->options.warps_count];
    }
    for (size_t i = 0; i < bodies; ++i) result->bodies[i].body = o->options.bodies[i];
    result->ways = o->options.ways;
    result->turns = o->options.turns;
    result->launches = o->options.launches;
    return GPUCHAR_OK;
}

static void release(void *state) {
    occupancy *o = state;
    if (o->session->kind != GC_SESSION_LIVE) return;
    gc_buffer_free(o->session, &o->spans);
    gc_slots_free(o->session, &o->slots);
}

/* ---- the descriptor ---- */

const gc_experiment gc_experiment_divergence_occupancy = {
    GC_EXPERIMENT(divergence_occupancy, "whether many warps hide the cost of divergence"),
    .resolve = resolve,
    .preset = preset,
    .state_bytes = sizeof(occupancy),
    .begin = begin,
    .kernels = kernels,
    .prove = prove,
    .measure = measure,
    .count = count,
    .counters_ns = offsetof(gpuchar_divergence_occupancy_result, counters_ns),
    .release = release,
    .result_free = gc_occupancy_free,
    .text = gc_occupancy_text,
    .answer = gc_occupancy_answer,
};

GC_EXPERIMENT_FUNCTIONS(divergence_occupancy)
