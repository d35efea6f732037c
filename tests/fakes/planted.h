/*
 * For tests: the divergence sweep's law, planted in the fake GPU. A warp with k paths takes 40 + 33,000 k cycles; counters
 * show what the machine code says. Whatever a test spoils is a field.
 */
#ifndef FAKES_PLANTED_H
#define FAKES_PLANTED_H

#include <fakes/fake_client.h>
#include <measure/timing.h>
#include <platform/nvrtc.h>
#include <stdlib.h>

/* As in divergence_sweep.cu and divergence_validation.cu. */
typedef struct planted_sweep_args {
    gc_header header;
    uint64_t table;
    uint32_t operand, start;
    uint8_t lanes[32];
} planted_sweep_args;
typedef struct planted_validation_args {
    gc_header header;
    uint32_t ways, reserved;
} planted_validation_args;

typedef struct planted {
    double slope, intercept;    /* cycles */
    double clock_hz;            /* of the SMs */
    double clock_drift;         /* relative, per launch */
    uint64_t loop_instructions; /* of one turn of one path's loop */
    uint64_t surplus;           /* warp instructions counted once per turn that nobody wrote */
    double longer_path;         /* cycles that path 7 takes more */
    unsigned long long reasons; /* what NVML gives for the clock, from its call `reasons_from` on; idle before */
    unsigned reasons_from;
    unsigned launches;
    void (*at_launch)(void *user); /* NULL: nothing */
    void *user;
} planted;

static inline planted planted_default(void) {
    return (planted){.slope = 33000, .intercept = 40, .clock_hz = 1.98e9, .reasons = 1};
}

static inline unsigned planted_ways(const uint8_t lanes[32], bool *has_seven) {
    uint32_t seen = 0;
    for (int i = 0; i < 32; i++) seen |= 1u << (lanes[i] % 32);
    *has_seven = (seen & (1u << 7)) != 0;
    return (unsigned)__builtin_popcount(seen);
}

static inline void planted_law(const fake_launch *launch, fake_effect *effect, void *user) {
    planted *p = user;
    const gc_header *header = launch->arguments;
    double clock = p->clock_hz * (1 + p->clock_drift * p->launches++);
    double prologue = 30, ways, cycles;
    bool has_seven = false;
    if (strcmp(launch->kernel, "gpuchar_divergence_validation") == 0) {
        ways = ((const planted_validation_args *)launch->arguments)->ways;
        cycles = 1;
    } else {
        ways = planted_ways(((const planted_sweep_args *)launch->arguments)->lanes, &has_seven);
        cycles = p->intercept + p->slope * ways + (has_seven ? p->longer_path : 0);
    }
    /* Each of the k paths runs its loop with a k-th of the lanes; before it all lanes go together. */
    double looped = (double)(p->loop_instructions * header->iterations) * ways;
    effect->cycles = (uint64_t)cycles;
    effect->nanoseconds = (uint64_t)(cycles / clock * 1e9 + 0.5);
    effect->warp_instructions = prologue + looped + (double)(p->surplus * header->iterations);
    effect->thread_instructions = 32 * prologue + looped * 32 / ways;
    if (p->at_launch) p->at_launch(p->user);
}

static inline void plant(planted *p) {
    fake()->law = planted_law;
    fake()->law_user = p;
    fake()->throttle_reasons[1] = p->reasons;
    fake()->nvml_turn = p->reasons_from;
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
    return true;
}

#endif
