/* For tests of planted laws: one call of any experiment on a fake GPU of its own. */
#ifndef PLANTED_BENCH_H
#define PLANTED_BENCH_H

#include <fakes/planted.h>
#include <math.h>

enum { LAUNCHES = 9, BODY = 64 };
#define SMS 132 /* of the fake driver's first device */

static bool has_nvrtc;

static inline int find_nvrtc(void **state) {
    (void)state;
    has_nvrtc = plant_nvrtc();
    return 0;
}

#define NEEDS_NVRTC()                                                                                                  \
    (void)state;                                                                                                       \
    if (!has_nvrtc) skip()

/* The fake GPU is planted as `p` says. `result` has its size. */
static inline gpuchar_status measure(unsigned with, planted *p, const char *experiment, const void *options,
                                     void *result) {
    gpuchar_runtime *runtime = fake_runtime_with(with | FAKE_WITH_NVRTC);
    gpuchar_session *session = NULL;
    plant(p);
    assert_failure(gpuchar_session_open(runtime, "0", NULL, &session), GPUCHAR_OK);
    gpuchar_status status = gpuchar_experiment_run(session, experiment, options, result);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    assert_fakes_clean();
    return status;
}

static inline void expect_near(double value, double wanted, double relative) {
    if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.9g instead of %.9g", value, wanted);
}

#endif
