/*
 * A two-way decision as a branch and in its predicated form: two independent chains in one warp, over warps per SM. Each is
 * measured with two bodies, so that its cost is a slope.
 */
#include <core/error.h>
#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <experiments/predication_options.h>
#include <experiments/predication_reduce.h>
#include <experiments/predication_tables.h>
#include <measure/timing.h>
#include <proof/choice.h>
#include <proof/proof.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL "gpuchar_predication_compare"
#define POINTS_MAX 32
#define WARPS_MAX 32 /* of a block */
/* Where the constants of the arms hold the number of their arm. */
#define ARM_SHIFT 20
#define ARM_BITS 4
#define LENGTHS 32 /* kernels in predication_lengths.cu */

/* Kernel arguments, as in predication_compare.cu. */
typedef struct compare_args {
    gc_header header;
    uint32_t operand;
    uint32_t start;
    uint8_t lanes[32];
} compare_args;

/* The kernels of a form, one for each body, and behind them all those of the short arms. */
enum { KERNELS_BRANCH, KERNELS_PREDICATED, KERNELS };
static const size_t kernels_of[GPUCHAR_FORMS] = {KERNELS_BRANCH, KERNELS_BRANCH, KERNELS_PREDICATED};
enum { IMAGE_LENGTHS = KERNELS * GC_BODIES, IMAGES };

static size_t image_of(size_t form, size_t body) {
    return kernels_of[form] * GC_BODIES + body;
}

/* One call: what it holds until its end. */
typedef struct comparison {
    gc_call call;
    gpuchar_session *session;
    const gpuchar_predication_compare_options *options;
    gpuchar_predication_compare_result *result;
    CUfunction functions[IMAGE_LENGTHS];
    gc_divergence_proof proofs[IMAGE_LENGTHS];
    gc_slots slots;
    compare_args args[GPUCHAR_FORMS];
} comparison;

/* ---- kernels and proofs ---- */

static uint32_t body_of(const comparison *c, size_t body) {
    return body == GC_BODY_LONG ? c->result->long_body : c->result->body;
}

static void kernels(const void *raw, gc_kernel_list *list) {
    const gpuchar_predication_compare_options *options = raw;
    for (size_t i = 0; i < IMAGE_LENGTHS; ++i) {
        const uint32_t body = options->body + (i % GC_BODIES == GC_BODY_LONG ? GC_PREDICATION_MORE : 0);
        list->templates[i] =
            (gc_template){"predication_compare",
                          "paths",
                          {{"GPUCHAR_FORM", i / GC_BODIES == KERNELS_BRANCH ? 1 : 2}, {"GPUCHAR_BODY", body}},
                          NULL};
    }
    list->templates[IMAGE_LENGTHS] = (gc_template){"predication_lengths", NULL, {{NULL, 0}}, NULL};
    list->count = IMAGES;
}

/* The branch has a loop for each arm; the predicated form one loop with the chains of both. */
static gc_divergence_claim claim_of(const comparison *c, size_t image, const compare_args *arguments) {
    static const char *const mnemonic = "FFMA";
    const bool predicated = image / GC_BODIES == KERNELS_PREDICATED;
    return (gc_divergence_claim){.kernel = KERNEL,
                                 .mnemonics = &mnemonic,
                                 .mnemonic_count = 1,
                                 .paths = predicated ? 1 : 2,
                                 .body = body_of(c, image % GC_BODIES) * (predicated ? 2 : 1),
                                 .chains = predicated ? 2 : 1,
                                 .uniform = predicated,
                                 .arguments = arguments,
                                 .argument_bytes = sizeof *arguments,
                                 .turns_offset = offsetof(compare_args, header.iterations),
                                 .lanes_offset = offsetof(compare_args, lanes),
                                 .sample = gc_evidence_sample(GC_SAMPLE_BLOCK, WARPS_MAX * 32),
                                 .mark_shift = ARM_SHIFT,
                                 .mark_bits = predicated ? 0 : ARM_BITS};
}

/*
 * What two bodies do not have in common is not taken out by their difference. So there are as many instructions beside the
 * links in each loop, and in the whole region with both arms; and the stall counts differ by as many cycles for each link.
 */
static gpuchar_status prove_pair(comparison *c, size_t kernels) {
    const gc_divergence_proof *few = &c->proofs[kernels * GC_BODIES];
    gc_divergence_proof *many = &c->proofs[kernels * GC_BODIES + GC_BODY_LONG];
    if (few->status != GPUCHAR_OK || many->status != GPUCHAR_OK) return GPUCHAR_OK;
    const uint64_t loop = many->loop_instructions[0] - few->loop_instructions[0];
    const uint64_t region = (many->region_bytes - few->region_bytes) / 16;
    const uint32_t stalled = many->loop_stall[0] - few->loop_stall[0];
    if (loop == many->loop_intended[0] - few->loop_intended[0] &&
        region == many->intended_total - few->intended_total && stalled % GC_PREDICATION_MORE == 0)
        return GPUCHAR_OK;
    many->status = GPUCHAR_E_NOT_PROVED;
    snprintf(
        many->reason, sizeof many->reason,
        "the longer body holds %llu more instructions and %u more cycles a loop, %llu in all, of which links are %u "
        "and %llu",
        (unsigned long long)loop, stalled, (unsigned long long)region, many->loop_intended[0] - few->loop_intended[0],
        (unsigned long long)(many->intended_total - few->intended_total));
    return gc_evidence_take_proof(&c->call, KERNEL, many->status, many->reason);
}

static void fill_form(comparison *c, size_t which, size_t body) {
    const gc_divergence_proof *proof = &c->proofs[image_of(which, body)];
    gpuchar_predication_form *form = gc_predication_form_of(c->result, which, body);
    if (proof->status != GPUCHAR_OK) return;
    form->loop_instructions = proof->loop_instructions[0];
    form->loop_stall_cycles = proof->loop_stall[0];
    form->code_bytes = proof->region_bytes;
    form->decisions = proof->dispatch_decisions;
    form->expected_count = gc_predication_expected(form, c->options->iterations);
    form->known |= GPUCHAR_PREDICATION_FORM_DECODED;
}

/* ---- what the compiler itself does ---- */

static gpuchar_status read_length(comparison *c, uint32_t length, gc_choice *found) {
    const gc_image *image = c->call.images[IMAGE_LENGTHS];
    char kernel[64];
    snprintf(kernel, sizeof kernel, "gpuchar_predication_length_%u", length);
    return gc_read_choice(image->bytes, image->size, kernel, "FFMA", found);
}

static uint32_t beyond(uint32_t found, uint32_t common) {
    return found > common ? found - common : 0;
}

/* What stands in the kernel without a decision, the entry code of some architectures, is none of the arms. */
static gpuchar_status read_all_lengths(comparison *c) {
    gc_choice common, found;
    gpuchar_status status = read_length(c, 0, &common);
    for (uint32_t length = 1; length <= LENGTHS && status == GPUCHAR_OK; ++length) {
        status = read_length(c, length, &found);
        c->result->lengths[length - 1] = (gpuchar_predication_length){
            length, beyond(found.branches, common.branches), beyond(found.predicated, common.predicated),
            beyond(found.selects, common.selects), beyond(found.works, common.works)};
    }
    if (status == GPUCHAR_OK) c->result->length_count = LENGTHS;
    return status;
}

/* Machine code that cannot be decoded leaves the lengths unknown: it is no failure of the measurement. */
static gpuchar_status read_lengths(comparison *c) {
    gpuchar_predication_compare_result *result = c->result;
    result->lengths = calloc(LENGTHS, sizeof result->lengths[0]);
    if (!result->lengths) return gc_fail_memory(LENGTHS * sizeof result->lengths[0]);
    gc_error_box *before = gc_error_take();
    gpuchar_status status = read_all_lengths(c);
    if (status == GPUCHAR_E_OUT_OF_MEMORY) {
        gc_error_put(before, GPUCHAR_OK); /* gives the older detail up */
        return status;
    }
    gc_error_restore(before);
    gc_predication_derive_lengths(result);
    return GPUCHAR_OK;
}

/* ---- all of what is decoded ---- */

static void fill_evidence(comparison *c) {
    const gc_divergence_proof *branch = &c->proofs[image_of(GPUCHAR_FORM_BRANCH, GC_BODY_LONG)];
    gpuchar_evidence *evidence = &c->result->evidence;
    gc_predication_expect(c->result);
    if (!(evidence->known & GPUCHAR_EVIDENCE_DECODED)) return;
    memcpy(evidence->mnemonic, branch->mnemonic, sizeof evidence->mnemonic);
}

static gpuchar_status prove(void *state) {
    comparison *c = state;
    const compare_args arguments = {.header = {.iterations = c->options->iterations}};
    gpuchar_status status = GPUCHAR_OK;
    for (size_t image = 0; image < IMAGE_LENGTHS && status == GPUCHAR_OK; ++image) {
        const gc_divergence_claim claim = claim_of(c, image, &arguments);
        status = gc_evidence_prove(&c->call, image, &claim, &c->proofs[image]);
    }
    for (size_t i = 0; i < KERNELS && status == GPUCHAR_OK; ++i) status = prove_pair(c, i);
    for (size_t i = 0; i < GC_PREDICATION_BLOCKS && status == GPUCHAR_OK; ++i) {
        fill_form(c, i / GC_BODIES, i % GC_BODIES);
    }
    if (status == GPUCHAR_OK) status = read_lengths(c);
    if (status == GPUCHAR_OK) fill_evidence(c);
    return status;
}

/* ---- measure ---- */

static uint32_t float_bits(double value) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

/* Random operands, finite whatever the length of the chain: x a + c with a < 1 settles. */
static void make_args(comparison *c) {
    gc_random random = gc_random_seed(c->options->seed);
    compare_args args = {.header = gc_slots_header(&c->slots, c->options->iterations)};
    args.operand = float_bits(0.25 + 0.5 * gc_random_unit(&random));
    args.start = float_bits(0.5 + gc_random_unit(&random));
    c->args[GPUCHAR_FORM_CONVERGENT] = args;
    for (size_t lane = 0; lane < sizeof args.lanes; ++lane) args.lanes[lane] = lane % 2;
    c->args[GPUCHAR_FORM_BRANCH] = c->args[GPUCHAR_FORM_PREDICATED] = args;
}

static gpuchar_status prepare(comparison *c) {
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < IMAGE_LENGTHS && status == GPUCHAR_OK; ++i) {
        status = gc_kernel_load(c->session, c->call.images[i], KERNEL, &c->functions[i]);
    }
    if (status != GPUCHAR_OK) return status;
    status =
        gc_slots_alloc(c->session, GC_PREDICATION_BLOCKS * c->options->warps_count * c->options->launches, &c->slots);
    if (status != GPUCHAR_OK) return status;
    c->result->device_memory_bytes = c->slots.samples.bytes + c->slots.sink.bytes;
    make_args(c);
    return GPUCHAR_OK;
}

/* `block` is the place of a form and a body in a point's samples. */
static gc_point point_of(const comparison *c, size_t block, uint32_t warps, void *arguments) {
    CUfunction function = c->functions[image_of(block / GC_BODIES, block % GC_BODIES)];
    return (gc_point){.function = function, .grid = 1, .block = 32 * warps, .arguments = arguments};
}

/* Reduces the samples: blocks of `launches`, point after point, form after form, the shorter body first. */
static gpuchar_status reduce(comparison *c, const gc_sample *samples) {
    gpuchar_predication_compare_result *result = c->result;
    const size_t launches = c->options->launches, block = GC_PREDICATION_BLOCKS * launches;
    const size_t count = result->point_count * block;
    double *cycles = malloc(count * sizeof *cycles), *scratch = malloc(2 * launches * sizeof *scratch);
    if (!cycles || !scratch) {
        free(cycles);
        free(scratch);
        return gc_fail_memory((count + 2 * launches) * sizeof(double));
    }
    for (size_t i = 0; i < count; ++i) cycles[i] = (double)samples[i].cycles;
    gc_predication_summarize(cycles, c->options->launches, scratch, result);
    gc_predication_derive(result);
    free(scratch);
    if (!c->options->keep_samples) {
        free(cycles);
        return GPUCHAR_OK;
    }
    result->samples = cycles;
    result->sample_count = count;
    for (size_t i = 0; i < result->point_count; ++i) result->points[i].sample_offset = i * block;
    return GPUCHAR_OK;
}

/* Both bodies of a form right after each other: what drifts is then much the same in both. */
static gpuchar_status measure(void *state) {
    comparison *c = state;
    gc_point points[GC_PREDICATION_BLOCKS * POINTS_MAX];
    gc_timing timing = {0};
    const size_t count = GC_PREDICATION_BLOCKS * c->options->warps_count, samples = count * c->options->launches;
    gpuchar_status status = prepare(c);
    if (status != GPUCHAR_OK) return status;
    for (size_t i = 0; i < count; ++i) {
        const size_t block = i % GC_PREDICATION_BLOCKS;
        points[i] = point_of(c, block, c->options->warps[i / GC_PREDICATION_BLOCKS], &c->args[block / GC_BODIES]);
    }
    timing.samples = malloc(samples * sizeof *timing.samples);
    if (!timing.samples) return gc_fail_memory(samples * sizeof *timing.samples);
    status = gc_measure(c->session, &c->slots, points, count, c->options->launches, &timing);
    if (status == GPUCHAR_OK) status = reduce(c, timing.samples);
    free(timing.samples);
    if (status != GPUCHAR_OK) return status;
    c->result->launches_ns = timing.device_ns;
    c->result->warmup_launches = timing.warmup_launches;
    gc_evidence_time(&timing, &c->result->evidence);
    return GPUCHAR_OK;
}

/* ---- count ---- */

/* Two ranges a form and body, of one and of two numbers of iterations: the difference holds the loops alone. One warp each. */
enum { METRIC_WARP, METRIC_THREAD, METRICS };
static const char *const metrics[METRICS] = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"};

static gpuchar_status launch_range(void *user, size_t range) {
    comparison *c = user;
    compare_args args = c->args[range / 2 / GC_BODIES];
    args.header.iterations = c->options->iterations << (range % 2);
    gc_point point = point_of(c, range / 2, 1, &args);
    return gc_launch_once(c->session, &c->slots, &point);
}

static void fill_counters(void *user, const gpuchar_counters_result *read) {
    comparison *c = user;
    const double *one = read->values;
    for (size_t i = 0; i < GC_PREDICATION_BLOCKS; ++i, one += 2 * METRICS) {
        gpuchar_predication_form *form = gc_predication_form_of(c->result, i / GC_BODIES, i % GC_BODIES);
        const double *two = one + METRICS, executed = two[METRIC_WARP] - one[METRIC_WARP];
        form->executed_count = executed > 0 ? (uint64_t)(executed + 0.5) : 0;
        form->efficiency = executed > 0 ? (two[METRIC_THREAD] - one[METRIC_THREAD]) / executed : 0;
        form->known |= GPUCHAR_PREDICATION_FORM_COUNTERS;
    }
    c->result->evidence.counter_passes = read->passes;
}

static gpuchar_status count(void *state) {
    comparison *c = state;
    const gc_range_request request = {metrics, METRICS, c->call.ranges, launch_range, c};
    gpuchar_status status = gc_evidence_count_ranges(&c->call, &request, fill_counters);
    if (status == GPUCHAR_OK) gc_predication_recount(c->result);
    return status;
}

/* ---- fill ---- */

static gpuchar_status begin(void *state) {
    comparison *c = state;
    const gpuchar_predication_compare_options *options = c->call.options;
    gpuchar_predication_compare_result *result = c->call.result;
    c->session = c->call.session;
    c->options = options;
    c->result = result;
    result->points = calloc(options->warps_count, sizeof result->points[0]);
    if (!result->points) return gc_fail_memory(options->warps_count * sizeof result->points[0]);
    result->point_count = options->warps_count;
    c->call.ranges = 2 * GC_PREDICATION_BLOCKS;
    result->body = options->body;
    result->long_body = options->body + GC_PREDICATION_MORE;
    result->iterations = options->iterations;
    result->launches = options->launches;
    result->seed = options->seed;
    for (uint32_t i = 0; i < options->warps_count; ++i) {
        result->points[i].warps = options->warps[i];
        for (uint32_t form = 0; form < GPUCHAR_FORMS; ++form) result->points[i].costs[form].form = form;
    }
    for (uint32_t form = 0; form < GPUCHAR_FORMS; ++form) {
        result->short_forms[form].form = result->long_forms[form].form = form;
        result->short_forms[form].body = result->body;
        result->long_forms[form].body = result->long_body;
    }
    return GPUCHAR_OK;
}

static void release(void *state) {
    comparison *c = state;
    if (c->session->kind == GC_SESSION_LIVE) gc_slots_free(c->session, &c->slots);
}

/* ---- the descriptor ---- */

const gc_experiment gc_experiment_predication_compare = {
    GC_EXPERIMENT(predication_compare, "what a branch costs beside its predicated form"),
    .resolve = gc_predication_resolve,
    .preset = gc_predication_preset,
    .state_bytes = sizeof(comparison),
    .begin = begin,
    .kernels = kernels,
    .prove = prove,
    .measure = measure,
    .count = count,
    .counters_ns = offsetof(gpuchar_predication_compare_result, counters_ns),
    .release = release,
    .result_free = gc_predication_compare_free,
    .text = gc_predication_compare_text,
    .answer = gc_predication_compare_answer,
};

GC_EXPERIMENT_FUNCTIONS(predication_compare)
