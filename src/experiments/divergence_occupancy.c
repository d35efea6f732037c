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
    gpuchar_session *session;
    gpuchar_divergence_occupancy_options options; /* resolved, for this device */
    gpuchar_divergence_occupancy_result *result;
    gc_image *images[BODIES_MAX];
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
        if (warps >= 1 && warps <= 256 && (warps < BLOCK_WARPS || warps % BLOCK_WARPS == 0)) continue;
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

static uint32_t turns_of(const occupancy *o, uint32_t body) {
    return o->options.turns * 64 / body;
}

/* ---- kernel and proof ---- */

static gpuchar_status compile(occupancy *o) {
    gc_define defines[BODIES_MAX][3];
    gc_template templates[BODIES_MAX] = {{0}};
    const size_t count = o->options.bodies_count;
    for (size_t i = 0; i < count; ++i) {
        defines[i][0] = (gc_define){"GPUCHAR_KIND", 1};
        defines[i][1] = (gc_define){"GPUCHAR_BODY", o->options.bodies[i]};
        defines[i][2] = (gc_define){"GPUCHAR_BLOCK_WARPS", BLOCK_WARPS};
        templates[i] = (gc_template){"divergence_occupancy", "paths", defines[i], 3, ""};
    }
    gpuchar_status status = gc_templates_compile(o->session, templates, count, o->images);
    for (size_t i = 0; i < count && status == GPUCHAR_OK; ++i) o->result->compile_ns += o->images[i]->compile_ns;
    return status;
}

static gpuchar_status prove(occupancy *o) {
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
        status = gc_evidence_prove(o->session, o->images[i], &claim, o->options.require, &o->proofs[i],
                                   &result->evidence, &result->prove_ns);
        if (o->proofs[i].status != GPUCHAR_OK) continue;
        result->bodies[i].code_bytes = o->proofs[i].region_bytes;
        result->bodies[i].known |= GPUCHAR_OCCUPANCY_BODY_DECODED;
    }
    return status;
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
        status = gc_kernel_load(o->session, o->images[i], KERNEL, &o->functions[i]);
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

/* One form of one point: `index` is its place among all. */
static gpuchar_status reduce_form(occupancy *o, size_t index, const gc_span *spans, double *scratch) {
    gpuchar_occupancy_point *point = &o->result->points[index / FORMS];
    const uint32_t launches = o->options.launches, sms = o->session->sm_count;
    const uint32_t blocks = point->warps / block_warps(point->warps);
    double *cycles = scratch, *rest = scratch + launches;
    if (!gc_occupancy_cycles(spans + index * launches * sms, launches, sms, blocks, cycles, rest, &point->uneven)) {
        return gc_fail(GPUCHAR_E_MEASUREMENT, "a launch told of no SM that it ran on");
    }
    gpuchar_stat *stat = index % FORMS == FORM_ONE ? &point->cycles_one : &point->cycles_ways;
    *stat = gc_summarize(cycles, launches, rest, GC_OCCUPANCY_SPREAD);
    return GPUCHAR_OK;
}

static gpuchar_status reduce(occupancy *o) {
    const size_t forms = (size_t)point_count(o) * FORMS, sms = o->session->sm_count;
    const size_t bytes = forms * o->options.launches * sms * sizeof(gc_span);
    gc_span *spans = malloc(bytes);
    double *scratch = malloc((3 * (size_t)o->options.launches + sms) * sizeof *scratch);
    gpuchar_status status = GPUCHAR_OK;
    if (!spans || !scratch) status = gc_fail_memory(bytes);
    if (status == GPUCHAR_OK) status = gc_buffer_read(o->session, &o->spans, 0, spans, bytes);
    for (size_t i = 0; i < forms && status == GPUCHAR_OK; ++i) status = reduce_form(o, i, spans, scratch);
    free(spans);
    free(scratch);
    return status;
}

static gpuchar_status measure(occupancy *o) {
    const size_t forms = (size_t)point_count(o) * FORMS, samples = forms * o->options.launches;
    gc_point points[POINTS_MAX * FORMS];
    gc_timing timing = {0};
    for (size_t i = 0; i < forms; ++i) points[i] = point_of(o, i / FORMS, (int)(i % FORMS), NULL);
    timing.samples = malloc(samples * sizeof *timing.samples);
    if (!timing.samples) return gc_fail_memory(samples * sizeof *timing.samples);
    gpuchar_status status = gc_measure(o->session, &o->slots, points, forms, o->options.launches, &timing);
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

static gpuchar_status count(occupancy *o) {
    const gc_range_request request = {metrics, METRICS, 2 * (size_t)point_count(o), launch_range, o};
    return gc_evidence_count_ranges(o->session, o->options.counters, o->options.require, &request, fill_counters,
                                    &o->result->evidence, &o->result->counters_ns);
}

/* ---- fill ---- */

static gpuchar_status begin_result(occupancy *o) {
    gpuchar_divergence_occupancy_result *result = o->result;
    const size_t points = point_count(o), bodies = o->options.bodies_count;
    result->points = calloc(points, sizeof result->points[0]);
    result->bodies = calloc(bodies, sizeof result->bodies[0]);
    if (!result->points || !result->bodies) return gc_fail_memory(points * sizeof result->points[0]);
    result->point_count = points;
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

static void release(occupancy *o) {
    for (size_t i = 0; i < BODIES_MAX; ++i) gc_image_release(o->images[i]);
    if (o->session->kind != GC_SESSION_LIVE) return;
    gc_buffer_free(o->session, &o->spans);
    gc_slots_free(o->session, &o->slots);
}

static gpuchar_status work(occupancy *o) {
    gpuchar_divergence_occupancy_result *result = o->result;
    gpuchar_status status = begin_result(o);
    if (status == GPUCHAR_OK) status = gc_evidence_possible(o->session, o->options.counters, o->options.require);
    if (status == GPUCHAR_OK) status = compile(o);
    if (status == GPUCHAR_OK) gc_session_progress(o->session, "compile", 1);
    if (status == GPUCHAR_OK) status = prove(o);
    if (status == GPUCHAR_OK) gc_session_progress(o->session, "proof", 1);
    if (status == GPUCHAR_OK) status = gc_session_check_cancel(o->session);
    if (status == GPUCHAR_OK) expect(o);
    if (o->session->kind == GC_SESSION_LIVE) {
        if (status == GPUCHAR_OK) status = prepare(o);
        if (status == GPUCHAR_OK) status = measure(o);
    } else {
        result->evidence.flags |= GPUCHAR_FLAG_COMPILE_ONLY;
    }
    if (status == GPUCHAR_OK) status = count(o);
    if (status == GPUCHAR_OK) gc_occupancy_recount(result);
    return status;
}

static const char *reason_of(const occupancy *o) {
    for (size_t i = 0; i < BODIES_MAX; ++i) {
        if (o->proofs[i].status != GPUCHAR_OK) return o->proofs[i].reason;
    }
    return "";
}

static gpuchar_status run(gpuchar_session *session, const void *options, void *result) {
    occupancy *o = calloc(1, sizeof *o);
    if (!o) return gc_fail_memory(sizeof *o);
    const uint64_t begin = gc_now_ns();
    o->session = session;
    o->result = result;
    memcpy(&o->options, options, sizeof o->options);
    resolve_for_device(o);
    gpuchar_status status = work(o);
    release(o);
    o->result->call_ns = gc_now_ns() - begin;
    if (status == GPUCHAR_OK) status = gc_evidence_settle(&o->result->evidence, o->options.require, reason_of(o));
    free(o);
    return status;
}

/* ---- the descriptor ---- */

const gc_experiment gc_experiment_divergence_occupancy = {
    .about = {"divergence_occupancy", "whether many warps hide the cost of divergence",
              "gpuchar_divergence_occupancy_options", "gpuchar_divergence_occupancy_result",
              sizeof(gpuchar_divergence_occupancy_options), sizeof(gpuchar_divergence_occupancy_result)},
    .options_min_size = sizeof(gpuchar_divergence_occupancy_options),
    .result_min_size = sizeof(gpuchar_divergence_occupancy_result),
    .resolve = resolve,
    .preset = preset,
    .run = run,
    .result_free = gc_occupancy_free,
    .text = gc_occupancy_text,
    .answer = gc_occupancy_answer,
};

GC_DEFINE_INIT(gpuchar_divergence_occupancy_options)
GC_DEFINE_INIT(gpuchar_divergence_occupancy_result)

void gpuchar_divergence_occupancy_result_free(gpuchar_divergence_occupancy_result *result) {
    if (result) gc_occupancy_free(result);
}

gpuchar_status gpuchar_divergence_occupancy(gpuchar_session *session,
                                            const gpuchar_divergence_occupancy_options *options,
                                            gpuchar_divergence_occupancy_result *result) {
    return gc_experiment_run(&gc_experiment_divergence_occupancy, session, options, result);
}
