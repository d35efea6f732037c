/* A two-way decision as a branch and in its predicated form: two independent chains in one warp, over warps per SM. */
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

enum { IMAGE_BRANCH, IMAGE_PREDICATED, IMAGE_LENGTHS, IMAGES };
static const int image_of[GPUCHAR_FORMS] = {IMAGE_BRANCH, IMAGE_BRANCH, IMAGE_PREDICATED};

/* One call: what it holds until its end. */
typedef struct comparison {
    gpuchar_session *session;
    const gpuchar_predication_compare_options *options;
    gpuchar_predication_compare_result *result;
    gc_image *images[IMAGES];
    CUfunction functions[IMAGE_LENGTHS];
    gc_divergence_proof proofs[IMAGE_LENGTHS];
    gc_slots slots;
    compare_args args[GPUCHAR_FORMS];
} comparison;

/* ---- kernels and proofs ---- */

static gpuchar_status compile(comparison *c) {
    const gc_define branch[] = {{"GPUCHAR_FORM", 1}, {"GPUCHAR_BODY", c->options->body}};
    const gc_define predicated[] = {{"GPUCHAR_FORM", 2}, {"GPUCHAR_BODY", c->options->body}};
    const gc_template templates[IMAGES] = {{"predication_compare", NULL, branch, GC_COUNT(branch), ""},
                                           {"predication_compare", NULL, predicated, GC_COUNT(predicated), ""},
                                           {"predication_lengths", NULL, NULL, 0, ""}};
    gpuchar_status status = gc_templates_compile(c->session, templates, IMAGES, c->images);
    for (size_t i = 0; i < IMAGES && status == GPUCHAR_OK; ++i) c->result->compile_ns += c->images[i]->compile_ns;
    return status;
}

/* The branch has a loop for each arm; the predicated form one loop with the chains of both. */
static gc_divergence_claim claim_of(const comparison *c, int image, const compare_args *arguments) {
    static const char *const mnemonic = "FFMA";
    const bool predicated = image == IMAGE_PREDICATED;
    return (gc_divergence_claim){.kernel = KERNEL,
                                 .mnemonics = &mnemonic,
                                 .mnemonic_count = 1,
                                 .paths = predicated ? 1 : 2,
                                 .body = c->options->body * (predicated ? 2 : 1),
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

static void fill_form(comparison *c, uint32_t which) {
    const gc_divergence_proof *proof = &c->proofs[image_of[which]];
    gpuchar_predication_form *form = &c->result->forms[which];
    const uint64_t loops = which == GPUCHAR_FORM_BRANCH ? 2 : 1;
    if (proof->status != GPUCHAR_OK) return;
    form->loop_instructions = proof->loop_instructions[0];
    form->loop_stall_cycles = proof->loop_stall[0];
    form->code_bytes = proof->region_bytes;
    form->decisions = proof->dispatch_decisions;
    form->expected_count = loops * c->options->iterations * form->loop_instructions;
    form->known |= GPUCHAR_PREDICATION_FORM_DECODED;
}

static gpuchar_status prove(comparison *c) {
    const compare_args arguments = {.header = {.iterations = c->options->iterations}};
    gpuchar_status status = GPUCHAR_OK;
    for (int image = 0; image < IMAGE_LENGTHS && status == GPUCHAR_OK; ++image) {
        const gc_divergence_claim claim = claim_of(c, image, &arguments);
        status = gc_evidence_prove(c->session, c->images[image], &claim, c->options->require, &c->proofs[image],
                                   &c->result->evidence, &c->result->prove_ns);
    }
    for (uint32_t form = 0; form < GPUCHAR_FORMS && status == GPUCHAR_OK; ++form) fill_form(c, form);
    return status;
}

/* ---- what the compiler itself does ---- */

static gpuchar_status read_length(comparison *c, uint32_t length, gc_choice *found) {
    const gc_image *image = c->images[IMAGE_LENGTHS];
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
        status = gc_kernel_load(c->session, c->images[i], KERNEL, &c->functions[i]);
    }
    if (status != GPUCHAR_OK) return status;
    status = gc_slots_alloc(c->session, GPUCHAR_FORMS * c->options->warps_count * c->options->launches, &c->slots);
    if (status != GPUCHAR_OK) return status;
    c->result->device_memory_bytes = c->slots.samples.bytes + c->slots.sink.bytes;
    make_args(c);
    return GPUCHAR_OK;
}

static gc_point point_of(const comparison *c, size_t form, uint32_t warps, void *arguments) {
    return (gc_point){.function = c->functions[image_of[form]], .grid = 1, .block = 32 * warps, .arguments = arguments};
}

/* Reduces the samples: blocks of `launches`, point after point and form after form. */
static gpuchar_status reduce(comparison *c, const gc_sample *samples) {
    gpuchar_predication_compare_result *result = c->result;
    const uint32_t launches = c->options->launches;
    const size_t count = GPUCHAR_FORMS * result->point_count * launches;
    double *cycles = malloc(count * sizeof *cycles), *scratch = malloc(2 * launches * sizeof *scratch);
    if (!cycles || !scratch) {
        free(cycles);
        free(scratch);
        return gc_fail_memory((count + 2 * launches) * sizeof(double));
    }
    for (size_t i = 0; i < count; ++i) cycles[i] = (double)samples[i].cycles;
    gc_predication_summarize(cycles, launches, scratch, result);
    gc_predication_derive(result);
    free(scratch);
    if (!c->options->keep_samples) {
        free(cycles);
        return GPUCHAR_OK;
    }
    result->samples = cycles;
    result->sample_count = count;
    for (size_t i = 0; i < result->point_count; ++i) result->points[i].sample_offset = GPUCHAR_FORMS * i * launches;
    return GPUCHAR_OK;
}

static gpuchar_status measure(comparison *c) {
    gc_point points[GPUCHAR_FORMS * POINTS_MAX];
    gc_timing timing = {0};
    const size_t count = GPUCHAR_FORMS * c->options->warps_count, samples = count * c->options->launches;
    for (size_t i = 0; i < count; ++i) {
        const size_t form = i % GPUCHAR_FORMS;
        points[i] = point_of(c, form, c->options->warps[i / GPUCHAR_FORMS], &c->args[form]);
    }
    timing.samples = malloc(samples * sizeof *timing.samples);
    if (!timing.samples) return gc_fail_memory(samples * sizeof *timing.samples);
    gpuchar_status status = gc_measure(c->session, &c->slots, points, count, c->options->launches, &timing);
    if (status == GPUCHAR_OK) status = reduce(c, timing.samples);
    free(timing.samples);
    if (status != GPUCHAR_OK) return status;
    c->result->launches_ns = timing.device_ns;
    c->result->warmup_launches = timing.warmup_launches;
    gc_evidence_time(&timing, &c->result->evidence);
    return GPUCHAR_OK;
}

/* ---- count ---- */

/* Two ranges a form, of one and of two lengths: the difference holds the loops alone. One warp each. */
enum { METRIC_WARP, METRIC_THREAD, METRICS };
static const char *const metrics[METRICS] = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"};

static gpuchar_status launch_range(void *user, size_t range) {
    comparison *c = user;
    compare_args args = c->args[range / 2];
    args.header.iterations = c->options->iterations << (range % 2);
    gc_point point = point_of(c, range / 2, 1, &args);
    return gc_launch_once(c->session, &c->slots, &point);
}

static void fill_counters(void *user, const gpuchar_counters_result *read) {
    comparison *c = user;
    const double *one = read->values;
    for (size_t i = 0; i < GPUCHAR_FORMS; ++i, one += 2 * METRICS) {
        gpuchar_predication_form *form = &c->result->forms[i];
        const double *two = one + METRICS, executed = two[METRIC_WARP] - one[METRIC_WARP];
        form->executed_count = executed > 0 ? (uint64_t)(executed + 0.5) : 0;
        form->efficiency = executed > 0 ? (two[METRIC_THREAD] - one[METRIC_THREAD]) / executed : 0;
        form->known |= GPUCHAR_PREDICATION_FORM_COUNTERS;
    }
    c->result->evidence.counter_passes = read->passes;
}

static gpuchar_status count(comparison *c) {
    const gc_range_request request = {metrics, METRICS, 2 * GPUCHAR_FORMS, launch_range, c};
    return gc_evidence_count_ranges(c->session, c->options->counters, c->options->require, &request, fill_counters,
                                    &c->result->evidence, &c->result->counters_ns);
}

/* ---- fill ---- */

/* What one warp executes of the branch: the predicated form executes as many multiply-adds, and less loop control. */
static void fill_evidence(comparison *c) {
    const gc_divergence_proof *branch = &c->proofs[IMAGE_BRANCH];
    const uint64_t turns = 2 * (uint64_t)c->options->iterations;
    gpuchar_evidence *evidence = &c->result->evidence;
    evidence->intended_count = turns * c->options->body;
    if (!(evidence->flags & GPUCHAR_FLAG_PROVED)) return;
    memcpy(evidence->mnemonic, branch->mnemonic, sizeof evidence->mnemonic);
    evidence->decoded_count = turns * branch->loop_intended[0];
    evidence->scaffold_count = turns * (branch->loop_instructions[0] - branch->loop_intended[0]);
    evidence->known |= GPUCHAR_EVIDENCE_DECODED;
}

static gpuchar_status begin_result(comparison *c) {
    const gpuchar_predication_compare_options *options = c->options;
    gpuchar_predication_compare_result *result = c->result;
    result->points = calloc(options->warps_count, sizeof result->points[0]);
    if (!result->points) return gc_fail_memory(options->warps_count * sizeof result->points[0]);
    result->point_count = options->warps_count;
    for (uint32_t i = 0; i < options->warps_count; ++i) result->points[i].warps = options->warps[i];
    for (uint32_t form = 0; form < GPUCHAR_FORMS; ++form) result->forms[form].form = form;
    result->body = options->body;
    result->iterations = options->iterations;
    result->launches = options->launches;
    result->seed = options->seed;
    return GPUCHAR_OK;
}

static void release(comparison *c) {
    for (size_t i = 0; i < IMAGES; ++i) gc_image_release(c->images[i]);
    if (c->session->kind == GC_SESSION_LIVE) gc_slots_free(c->session, &c->slots);
}

/* The words of the first form that is not proved. */
static const char *reason_of(const comparison *c) {
    return c->proofs[IMAGE_BRANCH].status != GPUCHAR_OK ? c->proofs[IMAGE_BRANCH].reason
                                                        : c->proofs[IMAGE_PREDICATED].reason;
}

static gpuchar_status run(gpuchar_session *session, const void *options, void *result) {
    comparison c = {.session = session, .options = options, .result = result};
    gpuchar_predication_compare_result *filled = result;
    uint64_t begin = gc_now_ns();
    gpuchar_status status = begin_result(&c);
    if (status == GPUCHAR_OK) status = gc_evidence_possible(session, c.options->counters, c.options->require);
    if (status == GPUCHAR_OK) status = compile(&c);
    if (status == GPUCHAR_OK) gc_session_progress(session, "compile", 1);
    if (status == GPUCHAR_OK) status = prove(&c);
    if (status == GPUCHAR_OK) status = read_lengths(&c);
    if (status == GPUCHAR_OK) gc_session_progress(session, "proof", 1);
    if (status == GPUCHAR_OK) status = gc_session_check_cancel(session);
    if (status == GPUCHAR_OK) fill_evidence(&c);
    if (session->kind == GC_SESSION_LIVE) {
        if (status == GPUCHAR_OK) status = prepare(&c);
        if (status == GPUCHAR_OK) status = measure(&c);
    } else {
        filled->evidence.flags |= GPUCHAR_FLAG_COMPILE_ONLY;
    }
    if (status == GPUCHAR_OK) status = count(&c);
    if (status == GPUCHAR_OK) gc_predication_recount(filled);
    release(&c);
    filled->call_ns = gc_now_ns() - begin;
    return status == GPUCHAR_OK ? gc_evidence_settle(&filled->evidence, c.options->require, reason_of(&c)) : status;
}

/* ---- the descriptor ---- */

const gc_experiment gc_experiment_predication_compare = {
    .about = {"predication_compare", "what a branch costs beside its predicated form",
              "gpuchar_predication_compare_options", "gpuchar_predication_compare_result",
              sizeof(gpuchar_predication_compare_options), sizeof(gpuchar_predication_compare_result)},
    .options_min_size = sizeof(gpuchar_predication_compare_options),
    .result_min_size = sizeof(gpuchar_predication_compare_result),
    .resolve = gc_predication_resolve,
    .preset = gc_predication_preset,
    .run = run,
    .result_free = gc_predication_compare_free,
    .text = gc_predication_compare_text,
    .answer = gc_predication_compare_answer,
};

GC_DEFINE_INIT(gpuchar_predication_compare_options)
GC_DEFINE_INIT(gpuchar_predication_compare_result)

void gpuchar_predication_compare_result_free(gpuchar_predication_compare_result *result) {
    if (result) gc_predication_compare_free(result);
}

gpuchar_status gpuchar_predication_compare(gpuchar_session *session, const gpuchar_predication_compare_options *options,
                                           gpuchar_predication_compare_result *result) {
    return gc_experiment_run(&gc_experiment_predication_compare, session, options, result);
}
