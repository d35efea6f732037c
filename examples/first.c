#include <gpuchar/gpuchar.h>
#include <stdio.h>

int main(void) {
    gpuchar_session *session;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    if (gpuchar_session_open(NULL, "0", NULL, &session) < 0 || gpuchar_divergence_sweep(session, NULL, &result) < 0) {
        fprintf(stderr, "%s\n%s\n", gpuchar_last_error()->message, gpuchar_last_error()->hint);
        return 1;
    }
    for (size_t i = 0; i < result.point_count; ++i)
        printf("%2u paths: %.0f cycles\n", result.points[i].ways, result.points[i].cycles.median);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}
