/*
 * For tests: a law planted in the fake GPU, the same for all experiments. A link of a chain takes so many cycles, a warp
 * walks its paths one after the other, and counters show what the machine code says; see planted_kernels.h. Its kernels come
 * from the fake NVRTC.
 */
#ifndef FAKES_PLANTED_H
#define FAKES_PLANTED_H

#include <fakes/fake_client.h>
#include <fakes/planted_kernels.h>
#include <platform/nvrtc.h>

/* Instructions by which loops turn on sm_90: as every compiler does it so far, until plant_nvrtc finds otherwise. */
static uint64_t planted_control = 3;

static inline planted planted_default(void) {
    return (planted){.link = 8, .intercept = 40, .control = planted_control, .clock_hz = 1.98e9, .reasons = 1};
}

static inline void planted_law(const fake_launch *launch, fake_effect *effect, void *user) {
    planted *p = user;
    const planted_kernel *kernel = planted_find(launch->kernel);
    if (!kernel) {
        fake_misuse("nobody planted %s", launch->kernel);
        return;
    }
    const double clock = p->clock_hz * (1 + p->clock_drift * p->launches);
    const double factor = 1 + p->jitter * (p->launches % 3 - 1.0),
                 prologue = 30.0 * launch->grid * (launch->block / 32);
    const planted_work work = kernel->work(p, launch);
    const double cycles = (p->intercept + work.cycles) * factor;
    p->launches++;
    effect->cycles = (uint64_t)cycles;
    effect->nanoseconds = (uint64_t)(cycles / clock * 1e9 + 0.5);
    /* Before the loops all lanes go together. */
    effect->warp_instructions = prologue + work.warp_instructions + (double)p->surplus * work.turns;
    effect->thread_instructions = 32 * prologue + work.thread_instructions;
    effect->fault = work.fault || (kernel->tell && !kernel->tell(p, launch, factor));
    if (p->at_launch) p->at_launch(p->user);
}

static inline void plant(planted *p) {
    fake()->law = planted_law;
    fake()->law_user = p;
    fake()->throttle_reasons[1] = p->reasons;
    fake()->nvml_turn = p->reasons_from;
}

/* What the machine code of a sweep says, without a GPU. */
static inline void planted_find_control(void) {
    gpuchar_runtime *runtime = fake_runtime_with(FAKE_WITH_NVRTC);
    gpuchar_session *session = NULL;
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    options.body = 64;
    options.counters = GPUCHAR_COUNTERS_OFF;
    assert_failure(gpuchar_session_open(runtime, "sm_90", NULL, &session), GPUCHAR_OK);
    assert_failure(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_CAVEAT);
    assert_in_range(result.loop_instructions, 65, 80);
    planted_control = result.loop_instructions - 64;
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
}

/*
 * True when there is a real NVRTC; the fake one then hands on to it. FAKE_NVRTC_CANNED leaves it aside, for tools under
 * which the compiler would take minutes.
 */
static inline bool plant_nvrtc(void) {
    static gc_nvrtc real; /* found as the library finds it, with its builtins; stays open */
    if (getenv("FAKE_NVRTC_CANNED")) return false;
    if (!real.library.handle && gc_nvrtc_load(NULL, 0, &real) != GPUCHAR_OK) return false;
    fake()->nvrtc_path = real.library.path;
    planted_find_control();
    return true;
}

#endif
