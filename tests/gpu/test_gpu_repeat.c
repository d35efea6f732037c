/*
 * Prints T(k) as lines "k cycles". With a file of such lines (another process, minutes ago) it compares: within 0.1 %.
 * Alone it repeats in two sessions and compares those.
 */
#include "gpu_check.h"

static void measure(double cycles[33]) {
    gpuchar_session *session = open_or_skip(NULL);
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    options.counters = GPUCHAR_COUNTERS_OFF;
    CHECK(gpuchar_divergence_sweep(session, &options, &result) >= 0, "sweep");
    for (size_t i = 0; i < result.point_count; ++i) cycles[result.points[i].ways] = result.points[i].cycles.median;
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void read_lines(const char *path, double cycles[33]) {
    unsigned ways = 0;
    double value = 0;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL, "%s", path);
    while (file && fscanf(file, "%u %lf", &ways, &value) == 2) {
        if (ways <= 32) cycles[ways] = value;
    }
    if (file) fclose(file);
}

int main(int count, char **words) {
    double now[33] = {0}, before[33] = {0};
    int compared = 0;
    measure(now);
    if (count > 1) {
        read_lines(words[1], before);
    } else {
        measure(before);
    }
    for (int k = 1; k <= 32; ++k) {
        if (now[k] <= 0) continue;
        printf("%d %.0f\n", k, now[k]);
        if (before[k] <= 0) continue;
        ++compared;
        if (times_count()) CHECK(fabs(now[k] / before[k] - 1) <= 0.001, "k = %d: %.0f and %.0f", k, now[k], before[k]);
    }
    CHECK(compared == 6, "%d points compared", compared);
    return gpu_finish();
}
