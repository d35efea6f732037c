/* All experiments in one call give the numbers of single calls, with counters read from one profiler, in less time. */
#include "gpu_check.h"

#include <stdlib.h>
#include <time.h>

enum { ALL = 6 };

static gpuchar_divergence_occupancy_options on_sms;

/* One result of each experiment. */
typedef struct results {
    gpuchar_divergence_sweep_result sweep;
    gpuchar_divergence_shapes_result shapes;
    gpuchar_divergence_occupancy_result occupancy;
    gpuchar_predication_compare_result predication;
    gpuchar_forward_progress_result progress;
    gpuchar_barrier_class_experiment_result barrier;
} results;

static void make(results *r, gpuchar_experiment_job jobs[ALL]) {
    r->sweep = gpuchar_divergence_sweep_result_make();
    r->shapes = gpuchar_divergence_shapes_result_make();
    r->occupancy = gpuchar_divergence_occupancy_result_make();
    r->predication = gpuchar_predication_compare_result_make();
    r->progress = gpuchar_forward_progress_result_make();
    r->barrier = gpuchar_barrier_class_experiment_result_make();
    jobs[0] = (gpuchar_experiment_job){.name = "divergence_sweep", .result = &r->sweep};
    jobs[1] = (gpuchar_experiment_job){.name = "divergence_shapes", .result = &r->shapes};
    jobs[2] = (gpuchar_experiment_job){.name = "divergence_occupancy", .options = &on_sms, .result = &r->occupancy};
    jobs[3] = (gpuchar_experiment_job){.name = "predication_compare", .result = &r->predication};
    jobs[4] = (gpuchar_experiment_job){.name = "forward_progress", .result = &r->progress};
    jobs[5] = (gpuchar_experiment_job){.name = "barrier_class_experiment", .result = &r->barrier};
    size_t count = 0;
    while (gpuchar_experiment_at(count)) ++count;
    CHECK(count == ALL, "%zu experiments", count);
}

static void free_results(gpuchar_experiment_job jobs[ALL]) {
    for (size_t i = 0; i < ALL; ++i) gpuchar_experiment_result_free(jobs[i].name, jobs[i].result);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void near(const char *what, size_t at, double a, double b, double tolerance) {
    CHECK(fabs(a / b - 1) <= tolerance, "%s %zu: %.9g and %.9g", what, at, a, b);
}

static void compare(const results *alone, const results *together) {
    CHECK(alone->sweep.point_count == together->sweep.point_count, "points of the sweep");
    for (size_t i = 0; i < alone->sweep.point_count; ++i) {
        const gpuchar_divergence_point *a = &alone->sweep.points[i], *b = &together->sweep.points[i];
        printf("  k = %2u: %.0f alone, %.0f together\n", a->ways, a->cycles.median, b->cycles.median);
        if (times_count()) near("sweep, cycles", i, a->cycles.median, b->cycles.median, 1e-3);
        if (counters_count()) near("sweep, efficiency", i, a->efficiency, b->efficiency, 1e-9);
        if (counters_count()) CHECK(a->executed_count == b->executed_count, "sweep, executed at %zu", i);
    }
    for (size_t i = 0; i < alone->shapes.point_count; ++i) {
        const gpuchar_divergence_shapes_point *a = &alone->shapes.points[i], *b = &together->shapes.points[i];
        if (times_count()) near("shapes, cycles", i, a->cycles.median, b->cycles.median, 1e-3);
        if (counters_count()) CHECK(a->executed_count == b->executed_count, "shapes, executed at %zu", i);
    }
    for (size_t i = 0; i < alone->predication.point_count; ++i) {
        const gpuchar_predication_point *a = &alone->predication.points[i], *b = &together->predication.points[i];
        if (!times_count() || a->warps > 8) continue; /* beyond, launches differ by more */
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
            near("predication, cycles a link", i, a->costs[form].cycles_per_link, b->costs[form].cycles_per_link, 5e-3);
        }
    }
    CHECK(alone->barrier.cases_run == together->barrier.cases_run, "%u and %u edits run", alone->barrier.cases_run,
          together->barrier.cases_run);
    CHECK(alone->progress.lock_served == together->progress.lock_served, "lanes served");
}

static void check_evidence(const results *r) {
    const gpuchar_evidence *all[] = {&r->sweep.evidence, &r->shapes.evidence, &r->occupancy.evidence,
                                     &r->predication.evidence};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        CHECK(all[i]->flags & GPUCHAR_FLAG_PROVED, "proof of %zu", i);
        if (counters_count()) CHECK(all[i]->flags & GPUCHAR_FLAG_COUNTED, "counters of %zu", i);
    }
}

int main(void) {
    results alone, together;
    gpuchar_experiment_job single[ALL], several[ALL];
    gpuchar_session *session = open_or_skip(NULL);
    on_sms = gpuchar_divergence_occupancy_options_make();
    keep_to_resident(&on_sms);
    make(&alone, single);
    make(&together, several);
    double begin = seconds();
    CHECK(gpuchar_experiment_run_all(session, several, ALL, NULL, NULL) >= 0, "run_all");
    const double first = seconds() - begin;
    begin = seconds();
    for (size_t i = 0; i < ALL; ++i) {
        single[i].status = gpuchar_experiment_run(session, single[i].name, single[i].options, single[i].result);
        CHECK(single[i].status >= 0, "%s", single[i].name);
    }
    const double one_by_one = seconds() - begin;
    compare(&alone, &together);
    check_evidence(&alone);
    check_evidence(&together);
    free_results(several);
    make(&together, several);
    begin = seconds();
    CHECK(gpuchar_experiment_run_all(session, several, ALL, NULL, NULL) >= 0, "run_all, warm");
    const double warm = seconds() - begin;
    compare(&alone, &together);
    check_evidence(&together);
    printf("together %.3f s at first and %.3f s then, one by one %.3f s\n", first, warm, one_by_one);
    if (times_count() && counters_count()) CHECK(warm < one_by_one, "%.3f s and %.3f s", warm, one_by_one);
    free_results(single);
    free_results(several);
    gpuchar_session_close(session);
    return gpu_finish();
}
