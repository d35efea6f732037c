/* The predication comparison on a fake GPU recovers the costs that were planted in it, and no total does. */
#include <core/util.h>
#include <elf.h>
#include <fakes/planted.h>
#include <math.h>
#include <proof/proof.h>

typedef gpuchar_predication_compare_options compare_options;
typedef gpuchar_predication_compare_result compare_result;

enum { LAUNCHES = 9, TURNS = 64, BODY = 64, LONG_BODY = 112 };

/* As in predication_compare.cu. */
typedef struct compare_args {
    gc_header header;
    uint32_t operand, start;
    uint8_t lanes[32];
} compare_args;

/* What a kernel is, by its machine code: that is all that a GPU gets to know of it, too. */
typedef struct found_kernel {
    const void *image;
    bool predicated;
    uint32_t body, loop_instructions;
} found_kernel;

/* What is planted; whatever a test spoils is a field. */
typedef struct costs {
    double link[GPUCHAR_FORMS];  /* cycles of a multiply-add in each arm, with few warps */
    double turn[GPUCHAR_FORMS];  /* of an iteration, beside its links */
    double fixed[GPUCHAR_FORMS]; /* of a launch */
    double long_link;            /* what a link costs more with the longer body: the law is broken */
    double contention;           /* of an iteration of the shorter body more, where warps contend: from 12 on */
    double surplus;              /* instructions that a turn of the longer predicated form executes and nobody wrote */
    found_kernel kernels[4];
    size_t count;
} costs;

static costs default_costs(void) {
    return (costs){.link = {4, 8, 4}, .turn = {7, 14, 8}, .fixed = {130, 190, 130}};
}

static bool has_nvrtc;

static int find_nvrtc(void **state) {
    (void)state;
    has_nvrtc = plant_nvrtc();
    return 0;
}

#define NEEDS_NVRTC()                                                                                                  \
    (void)state;                                                                                                       \
    if (!has_nvrtc) skip()

/* ---- the fake GPU */

/* A module's image tells its size in its headers only. */
static size_t image_size(const void *image) {
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    const size_t sections = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    const size_t segments = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
    return sections > segments ? sections : segments;
}

static bool is_kernel(const void *image, bool predicated, uint32_t body, gc_divergence_proof *proof) {
    static const char *const mnemonic = "FFMA";
    const compare_args arguments = {.header = {.iterations = TURNS}};
    const gc_divergence_claim claim = {.kernel = "gpuchar_predication_compare",
                                       .mnemonics = &mnemonic,
                                       .mnemonic_count = 1,
                                       .paths = predicated ? 1 : 2,
                                       .body = predicated ? 2 * body : body,
                                       .chains = predicated ? 2 : 1,
                                       .uniform = predicated,
                                       .arguments = &arguments,
                                       .argument_bytes = sizeof arguments,
                                       .turns_offset = offsetof(compare_args, header.iterations),
                                       .lanes_offset = offsetof(compare_args, lanes)};
    return gc_prove_divergence(image, image_size(image), &claim, proof) == GPUCHAR_OK && proof->status == GPUCHAR_OK;
}

static const found_kernel *find_kernel(costs *c, const void *image) {
    static const uint32_t bodies[] = {BODY, LONG_BODY};
    gc_divergence_proof proof;
    for (size_t i = 0; i < c->count; i++) {
        if (c->kernels[i].image == image) return &c->kernels[i];
    }
    for (size_t i = 0; i < 4; i++) {
        if (!is_kernel(image, i / 2, bodies[i % 2], &proof)) continue;
        assert_true(c->count < GC_COUNT(c->kernels));
        c->kernels[c->count] = (found_kernel){image, i / 2, bodies[i % 2], proof.loop_instructions[0]};
        return &c->kernels[c->count++];
    }
    fail_msg("none of the comparison's kernels");
    return NULL;
}

/* Four schedulers, an instruction a cycle each. */
static double link_cost(const costs *c, size_t form, unsigned warps) {
    const double busiest = ceil(warps / 4.0), arms = form == GPUCHAR_FORM_CONVERGENT ? 1 : 2;
    return fmax(c->link[form], arms * busiest);
}

/* The loops' own instructions, four at most, want issue slots as well. */
static double turn_cost(const costs *c, size_t form, unsigned warps) {
    const double loops = form == GPUCHAR_FORM_BRANCH ? 2 : 1;
    return fmax(c->turn[form], warps > 4 ? loops * warps : 0);
}

static void planted_comparison(const fake_launch *launch, fake_effect *effect, void *user) {
    costs *c = user;
    const compare_args *args = launch->arguments;
    const found_kernel *kernel = find_kernel(c, launch->image);
    const bool split = args->lanes[0] != args->lanes[1], is_long = kernel->body == LONG_BODY;
    const size_t form = kernel->predicated ? GPUCHAR_FORM_PREDICATED
                        : split            ? GPUCHAR_FORM_BRANCH
                                           : GPUCHAR_FORM_CONVERGENT;
    const unsigned warps = launch->block / 32;
    const double turns = args->header.iterations, prologue = 30 * warps;
    const double link = link_cost(c, form, warps) + (is_long ? c->long_link : 0);
    const double turn = turn_cost(c, form, warps) + (!is_long && warps >= 12 ? c->contention : 0);
    const double cycles = c->fixed[form] + turns * (turn + kernel->body * link);
    const double loops = form == GPUCHAR_FORM_BRANCH ? 2 : 1, surplus = is_long && kernel->predicated ? c->surplus : 0;
    const double looped = warps * turns * (loops * kernel->loop_instructions + surplus);
    effect->cycles = (uint64_t)cycles;
    effect->nanoseconds = (uint64_t)(cycles / 1.98 + 0.5);
    effect->warp_instructions = prologue + looped;
    effect->thread_instructions = 32 * prologue + looped * 32 / loops;
}

static compare_options small_comparison(void) {
    compare_options options = GPUCHAR_PREDICATION_COMPARE_OPTIONS_INIT;
    options.launches = LAUNCHES;
    options.iterations = TURNS;
    return options;
}

static gpuchar_status measure(costs *c, const compare_options *options, compare_result *result) {
    gpuchar_runtime *runtime = fake_runtime_with(FAKE_WITH_ALL);
    gpuchar_session *session = NULL;
    *result = gpuchar_predication_compare_result_make();
    fake()->law = planted_comparison;
    fake()->law_user = c;
    c->count = 0;
    assert_failure(gpuchar_session_open(runtime, "0", NULL, &session), GPUCHAR_OK);
    gpuchar_status status = gpuchar_predication_compare(session, options, result);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    assert_fakes_clean();
    return status;
}

/* ---- recovered */

static void check_counts(const gpuchar_predication_form *forms, uint32_t body) {
    for (size_t i = 0; i < GPUCHAR_FORMS; i++) {
        const uint64_t loops = i == GPUCHAR_FORM_BRANCH ? 2 : 1;
        assert_int_equal(forms[i].body, body);
        assert_int_equal(forms[i].known, GPUCHAR_PREDICATION_FORM_DECODED | GPUCHAR_PREDICATION_FORM_COUNTERS);
        assert_int_equal(forms[i].executed_count, loops * TURNS * forms[i].loop_instructions);
        assert_int_equal(forms[i].executed_count, forms[i].expected_count);
        assert_true(forms[i].efficiency == 32.0 / (double)loops);
    }
}

/* By stall counts and by issue slots, of an sm_90. */
static double floor_of(size_t form, uint32_t warps) {
    const double stall = form == GPUCHAR_FORM_BRANCH ? 8 : 4, arms = form == GPUCHAR_FORM_CONVERGENT ? 1 : 2;
    return fmax(stall, arms * warps / 4);
}

#define ALWAYS (GPUCHAR_PREDICATION_COST_ISSUE | GPUCHAR_PREDICATION_COST_FLOOR | GPUCHAR_PREDICATION_COST_CEILING)

static void check_point(const gpuchar_predication_point *point, const costs *c) {
    for (size_t form = 0; form < GPUCHAR_FORMS; form++) {
        const gpuchar_predication_cost *cost = &point->costs[form];
        const double link = link_cost(c, form, point->warps),
                     beside = c->fixed[form] + TURNS * turn_cost(c, form, point->warps);
        assert_int_equal(cost->form, form);
        assert_int_equal(cost->known, GPUCHAR_PREDICATION_COST_SLOPE | ALWAYS);
        assert_true(cost->floor_cycles_per_link == floor_of(form, point->warps));
        assert_true(cost->ceiling_cycles_per_link == cost->long_cycles.median / (TURNS * LONG_BODY));
        assert_true(cost->floor_cycles_per_link <= link && link <= cost->ceiling_cycles_per_link);
        assert_true(cost->cycles_per_link == link && cost->overhead_cycles == beside);
        assert_true(cost->cycles_per_link_low == link && cost->cycles_per_link_high == link);
        assert_true(cost->short_cycles.median == beside + TURNS * BODY * link);
        assert_true(cost->long_cycles.median == beside + TURNS * LONG_BODY * link);
    }
    const double one = link_cost(c, GPUCHAR_FORM_CONVERGENT, point->warps);
    assert_true(point->branch_ratio == link_cost(c, GPUCHAR_FORM_BRANCH, point->warps) / one);
    assert_true(point->predicated_ratio == link_cost(c, GPUCHAR_FORM_PREDICATED, point->warps) / one);
    assert_true(fabs(point->gain * point->predicated_ratio - point->branch_ratio) < 1e-12);
}

static void test_law(void **state) {
    NEEDS_NVRTC();
    costs c = default_costs();
    compare_options options = small_comparison();
    compare_result result;
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
    assert_failure(measure(&c, &options, &result), GPUCHAR_OK);
    assert_int_equal(c.count, 4);
    assert_int_equal(result.point_count, 8);
    for (size_t i = 0; i < result.point_count; i++) check_point(&result.points[i], &c);
    assert_true(result.points[0].branch_ratio == 2 && result.points[0].predicated_ratio == 1);
    assert_int_equal(result.saturation_warps, 16);
    check_counts(result.short_forms, BODY);
    check_counts(result.long_forms, LONG_BODY);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    assert_int_equal(result.evidence.executed_count, 2 * TURNS * LONG_BODY);
    assert_string_equal(result.evidence.mnemonic, "FFMA");
    gpuchar_predication_compare_result_free(&result);
}

/* What a launch and an iteration cost beside their links, little or much and in each form another, is in no ratio. */
static void test_overhead_cancels(void **state) {
    NEEDS_NVRTC();
    static const double scales[] = {0, 1, 3, 50};
    for (size_t i = 0; i < GC_COUNT(scales); i++) {
        costs c = default_costs();
        compare_options options = small_comparison();
        compare_result result;
        c.turn[GPUCHAR_FORM_PREDICATED] = 11; /* its loop lies worse */
        for (size_t form = 0; form < GPUCHAR_FORMS; form++) {
            c.fixed[form] *= scales[i];
            c.turn[form] *= scales[i];
        }
        options.warps_count = 1;
        options.warps[0] = 1;
        assert_failure(measure(&c, &options, &result), GPUCHAR_OK);
        check_point(&result.points[0], &c);
        assert_true(result.points[0].branch_ratio == 2 && result.points[0].predicated_ratio == 1);
        const gpuchar_predication_cost *costs_of = result.points[0].costs;
        const double by_totals =
            costs_of[GPUCHAR_FORM_PREDICATED].long_cycles.median / costs_of[GPUCHAR_FORM_CONVERGENT].long_cycles.median;
        assert_true(scales[i] == 0 ? by_totals == 1 : by_totals > 1.005);
        gpuchar_predication_compare_result_free(&result);
    }
}

/* Whatever the forms cost, that is what is found. */
static void test_other_costs(void **state) {
    NEEDS_NVRTC();
    costs c = default_costs();
    compare_options options = small_comparison();
    compare_result result;
    c.link[GPUCHAR_FORM_CONVERGENT] = 5;
    c.link[GPUCHAR_FORM_BRANCH] = 9;
    c.link[GPUCHAR_FORM_PREDICATED] = 6;
    options.warps_count = 3;
    options.warps[0] = 24;
    options.warps[1] = 1;
    options.warps[2] = 7;
    assert_failure(measure(&c, &options, &result), GPUCHAR_OK);
    for (size_t i = 0; i < 3; i++) check_point(&result.points[i], &c);
    assert_int_equal(result.points[0].warps, 24);
    assert_true(result.points[1].branch_ratio == 9.0 / 5 && result.points[1].gain == 1.5);
    gpuchar_predication_compare_result_free(&result);
}

/* Point after point, form after form, the shorter body before the longer one. */
static void test_samples(void **state) {
    NEEDS_NVRTC();
    costs c = default_costs();
    compare_options options = small_comparison();
    compare_result result;
    options.keep_samples = 1;
    options.warps_count = 2;
    options.warps[0] = 1;
    options.warps[1] = 32;
    assert_failure(measure(&c, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.sample_count, 2 * GPUCHAR_FORMS * 2 * LAUNCHES);
    for (size_t i = 0; i < result.point_count; i++) {
        const gpuchar_predication_point *point = &result.points[i];
        assert_int_equal(point->sample_offset, i * GPUCHAR_FORMS * 2 * LAUNCHES);
        for (size_t j = 0; j < (size_t)GPUCHAR_FORMS * 2 * LAUNCHES; j++) {
            const gpuchar_predication_cost *cost = &point->costs[j / LAUNCHES / 2];
            const gpuchar_stat *cycles = j / LAUNCHES % 2 ? &cost->long_cycles : &cost->short_cycles;
            assert_true(result.samples[point->sample_offset + j] == cycles->median);
        }
    }
    gpuchar_predication_compare_result_free(&result);
}

/* ---- spoiled in one thing each */

/* The counters are compared with each body's own machine code. */
static void test_counted_too_many(void **state) {
    NEEDS_NVRTC();
    costs c = default_costs();
    compare_options options = small_comparison();
    compare_result result;
    c.surplus = 1;
    assert_failure(measure(&c, &options, &result), GPUCHAR_CAVEAT);
    const gpuchar_predication_form *form = &result.long_forms[GPUCHAR_FORM_PREDICATED];
    assert_int_equal(form->executed_count, form->expected_count + TURNS);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    gpuchar_predication_compare_result_free(&result);
    options.require = GPUCHAR_REQUIRE_COUNTED;
    assert_failure(measure(&c, &options, &result), GPUCHAR_E_MEASUREMENT);
}

/* A longer body that takes no more cycles has no cost per link, and nobody is told one. */
static void test_no_slope(void **state) {
    NEEDS_NVRTC();
    costs c = default_costs();
    compare_options options = small_comparison();
    compare_result result;
    c.long_link = -3.9;
    options.warps_count = 1;
    options.warps[0] = 1;
    assert_failure(measure(&c, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_OFF_LAW);
    assert_int_equal(result.points[0].known, 0);
    /* Nor a rate that no four schedulers reach. */
    assert_int_equal(result.points[0].costs[GPUCHAR_FORM_CONVERGENT].known, GPUCHAR_PREDICATION_COST_FLOOR);
    assert_int_equal(result.saturation_warps, 0);
    gpuchar_predication_compare_result_free(&result);
    options.require = GPUCHAR_REQUIRE_STABLE;
    assert_failure(measure(&c, &options, &result), GPUCHAR_E_MEASUREMENT);
}

/* What an iteration costs beside its links is more with the shorter body where warps contend: nobody is told such slopes. */
static void test_contention(void **state) {
    NEEDS_NVRTC();
    costs c = default_costs();
    compare_options options = small_comparison();
    compare_result result;
    char *json = NULL;
    c.contention = 6;
    assert_failure(measure(&c, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_OFF_LAW);
    for (size_t i = 0; i < 4; i++) check_point(&result.points[i], &c);
    for (size_t i = 4; i < result.point_count; i++) {
        const gpuchar_predication_point *point = &result.points[i];
        assert_int_equal(point->known, 0);
        assert_true(point->branch_ratio == 0 && point->predicated_ratio == 0 && point->gain == 0);
        for (size_t form = 0; form < GPUCHAR_FORMS; form++) {
            const gpuchar_predication_cost *cost = &point->costs[form];
            const double link = link_cost(&c, form, point->warps);
            assert_int_equal(cost->known, ALWAYS);
            assert_true(cost->cycles_per_link == 0 && cost->overhead_cycles == 0);
            assert_true(cost->floor_cycles_per_link <= link && link <= cost->ceiling_cycles_per_link);
        }
    }
    assert_int_equal(result.saturation_warps,
                     16); /* bounds decide: 8.15 cycles of the branch at most, 8 of the other */
    assert_failure(gpuchar_json_write("gpuchar_predication_point", &result.points[5], &json), GPUCHAR_OK);
    assert_contains(json, "\"cycles_per_link\": null");
    assert_contains(json, "\"floor_cycles_per_link\": 8");
    assert_contains(json, "\"gain\": null");
    gpuchar_string_free(json);
    gpuchar_predication_compare_result_free(&result);
    options.require = GPUCHAR_REQUIRE_STABLE;
    assert_failure(measure(&c, &options, &result), GPUCHAR_E_MEASUREMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),         cmocka_unit_test(test_overhead_cancels),
        cmocka_unit_test(test_other_costs), cmocka_unit_test(test_samples),
        cmocka_unit_test(test_no_slope),    cmocka_unit_test(test_counted_too_many),
        cmocka_unit_test(test_contention),
    };
    return cmocka_run_group_tests(tests, find_nvrtc, NULL);
}
