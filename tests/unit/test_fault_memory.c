/*
 * Each allocation that a public function makes fails in turn, and so does each thread that it starts. Either the call says
 * E_OUT_OF_MEMORY, or it does without and its result is as if nothing had failed; afterwards it works again. Of the
 * thousands that reading a document makes, which are alike, some are passed over in the middle.
 */
#include "fault_bench.h"

#include <core/util.h>
#include <unistd.h>

/* ---- calls that allocate and reach no foreign code */

static gpuchar_divergence_sweep_result measured; /* what the calls below work on */

static outcome act_json(bench *b) {
    char *text = NULL;
    gpuchar_divergence_sweep_result read = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    (void)b;
    outcome o = {.status = gpuchar_json_write("gpuchar_divergence_sweep_result", &measured, &text)};
    if (o.status == GPUCHAR_OK) o.status = gpuchar_json_read("gpuchar_divergence_sweep_result", text, &read);
    o.known = read.point_count;
    if (o.status < 0) assert_null(read.points);
    gpuchar_divergence_sweep_result_free(&read);
    gpuchar_string_free(text);
    return o;
}

static outcome act_text(bench *b) {
    char *text = NULL;
    (void)b;
    outcome o = {.status = gpuchar_experiment_text("divergence_sweep", &measured, &text)};
    o.known = text ? strlen(text) : 0;
    gpuchar_string_free(text);
    return o;
}

static gpuchar_status fill_profile(gpuchar_profile *profile, const char *path) {
    gpuchar_status status = gpuchar_profile_set_command(profile, "a command");
    if (status == GPUCHAR_OK) status = gpuchar_profile_add(profile, "divergence_sweep", &measured);
    return status == GPUCHAR_OK ? gpuchar_profile_save(profile, path) : status;
}

static char profile_path[128];

static outcome act_save(bench *b) {
    gpuchar_profile *profile = NULL;
    outcome o = {.status = gpuchar_profile_create(b->session, &profile)};
    if (o.status == GPUCHAR_OK) o.status = fill_profile(profile, profile_path);
    gpuchar_profile_free(profile);
    return o;
}

static outcome act_load(bench *b) {
    gpuchar_profile *profile = NULL;
    (void)b;
    outcome o = {.status = gpuchar_profile_load(profile_path, &profile)};
    assert_true((profile == NULL) == (o.status < 0));
    gpuchar_profile_free(profile);
    return o;
}

static outcome act_recorded(bench *b) {
    gpuchar_session *session = NULL;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    outcome o = {.status = gpuchar_session_open_recorded(b->runtime, profile_path, &session)};
    if (o.status == GPUCHAR_OK) o.status = gpuchar_divergence_sweep(session, NULL, &result);
    o.known = result.point_count;
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
    return o;
}

/* A copy that there is no memory for is NULL, and no failure. */
static outcome act_error_copy(bench *b) {
    (void)b;
    gpuchar_error_free(gpuchar_error_copy());
    return (outcome){0};
}

static const scene own_scenes[] = {
    {"json", FAKE_WITH_ALL, .act = act_json},
    {"experiment_text", FAKE_WITH_ALL, .act = act_text},
    {"profile_save", FAKE_WITH_ALL, "0", .act = act_save},
    {"profile_load", FAKE_WITH_ALL, .act = act_load},
    {"session_open_recorded", FAKE_WITH_ALL, .act = act_recorded},
    {"error_copy", FAKE_WITH_ALL, .act = act_error_copy},
};

/* Kernels with code, so that there is something to prove; without a compiler they would be those of the others again. */
static const scene proved_scenes[] = {
    {"shapes, proved", FAKE_WITH_NVRTC, "sm_90", .act = act_shapes_off},
    {"occupancy, proved", FAKE_WITH_NVRTC, "sm_90", .act = act_occupancy_off},
    {"predication, proved", FAKE_WITH_NVRTC, "sm_90", .act = act_predication_off},
    {"forward_progress, proved", FAKE_WITH_NVRTC, "sm_90", .act = act_progress},
    {"barrier_class, proved", FAKE_WITH_NVRTC, "sm_90", .act = act_barrier_class},
};

/* ---- the rounds */

static bool same(const outcome *a, const outcome *b) {
    return a->status == b->status && a->flags == b->flags && a->known == b->known;
}

/* What is judged: the outcome, then whatever must hold after any call. */
static const char *judge(const outcome *o, const outcome *clean) {
    if (o->status == GPUCHAR_E_OUT_OF_MEMORY) {
        const gpuchar_error *error = gpuchar_last_error();
        return error->status == o->status && error->message[0] ? NULL : "no detail";
    }
    if (o->status != clean->status) return "another status";
    if (o->flags != clean->flags) return "other flags";
    /* NVML's list of processes, a library that did not load: facts that are not known. */
    return (o->known & ~clean->known) == 0 ? NULL : "more is known than without the failure";
}

static const char *run_case(const scene *s, libc_call call, unsigned use, const outcome *clean) {
    bench b;
    libc_watch();
    bench_open(&b, s);
    libc_fail(call, use, call == LIBC_THREAD ? EAGAIN : ENOMEM);
    outcome o = s->act(&b);
    libc_stop();
    const char *trouble = libc_failed() ? judge(&o, clean) : "the call did not come";
    if (!trouble && call == LIBC_THREAD && !same(&o, clean)) trouble = "the caller's thread does not do it alone";
    outcome again = s->act(&b);
    if (!trouble && !same(&again, clean)) trouble = "the same call does not work afterwards";
    char said[400];
    snprintf(said, sizeof said, "%s", gpuchar_last_error()->message);
    bench_close(&b);
    const char *left = bench_check_left();
    if (!trouble) trouble = left;
    if (!trouble && fake_misuses()[0]) trouble = fake_misuses();
    if (!trouble && fake_held_all() != 0) trouble = fake_held_text();
    if (!trouble && fake_depth() != 0) trouble = "the context stack is not as before";
    if (trouble) {
        print_message("%s: %s %u: %s (status %d, then %d: %s)\n", s->name, libc_names[call], use, trouble, o.status,
                      again.status, said);
    }
    return trouble;
}

static unsigned cases, right;

static void run_scene(const scene *s) {
    static const libc_call kinds[] = {LIBC_MEMORY, LIBC_THREAD};
    bench b;
    unsigned counts[GC_COUNT(kinds)], before = cases, right_before = right;
    bench_open(&b, s);
    libc_fail(LIBC_MEMORY, 0, 0);
    outcome clean = s->act(&b);
    libc_stop();
    for (size_t k = 0; k < GC_COUNT(kinds); k++) counts[k] = libc_count(kinds[k]);
    bench_close(&b);
    assert_true(clean.status >= 0 || s->act == act_cancel || is_idle(s, &clean));
    for (size_t k = 0; k < GC_COUNT(kinds); k++) {
        for (unsigned use = 1; use <= counts[k]; use += use < 100 || counts[k] - use < 30 ? 1 : 37) {
            cases++;
            right += run_case(s, kinds[k], use, &clean) == NULL;
        }
    }
    print_message("%-28s %4u allocations, %u threads: %4u right of %u\n", s->name, counts[0], counts[1],
                  right - right_before, cases - before);
}

static void test_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < GC_COUNT(own_scenes); i++) run_scene(&own_scenes[i]);
    for (size_t i = 0; i < GC_COUNT(proved_scenes) && fake()->nvrtc_path; i++) run_scene(&proved_scenes[i]);
    for (size_t i = 0; i < GC_COUNT(scenes); i++) run_scene(&scenes[i]);
    print_message("%u of %u cases end right\n", right, cases);
    assert_int_equal(right, cases);
    assert_true(cases > 0);
}

static int measure(void **state) {
    static const scene first = {"first", FAKE_WITH_ALL, "0", .act = act_sweep_auto};
    (void)state;
    if (!plant_nvrtc()) print_message("no NVRTC: a cubin without code takes its place\n");
    bench b;
    bench_open(&b, &first);
    measured = gpuchar_divergence_sweep_result_make();
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    options.body = 64;
    options.iterations = 16;
    options.launches = 5;
    gpuchar_status status = gpuchar_divergence_sweep(b.session, &options, &measured);
    snprintf(profile_path, sizeof profile_path, "/tmp/gpuchar-test-%d.json", (int)getpid());
    if (act_save(&b).status < 0) status = -1;
    bench_close(&b);
    return status >= 0 ? 0 : 1;
}

static int forget(void **state) {
    (void)state;
    gpuchar_divergence_sweep_result_free(&measured);
    return unlink(profile_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, measure, forget);
}
