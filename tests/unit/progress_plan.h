/*
 * The probes of forward progress on the driver of the worker's tests: what a launch leaves in State, and what goes wrong
 * in it. The environment tells, since the worker is another process, and several of them may make the launches of one call:
 * PLAN_COUNT, a file of the number of launches so far; PLAN_SHAPE "launches of each probe, producers"; PLAN "NUMBER NAME",
 * the launch, from 1, and what happens to it (0: to each).
 */
#ifndef TEST_PROGRESS_PLAN_H
#define TEST_PROGRESS_PLAN_H

#include <experiments/progress_reduce.h>
#include <fcntl.h>
#include <measure/timing.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Kernel arguments, as in forward_progress.cu. */
typedef struct plan_arguments {
    uint64_t samples, sink;
    uint32_t slot, iterations;
    uint64_t state;
    uint32_t spin_limit, reserved;
} plan_arguments;

static unsigned plan_number;

static bool plan_is(const char *name) {
    unsigned number = 0;
    int length = 0;
    const char *plan = getenv("PLAN");
    if (!plan || sscanf(plan, "%u %n", &number, &length) != 1) return false;
    return plan_number != 0 && (number == 0 || number == plan_number) && strcmp(plan + length, name) == 0;
}

static unsigned plan_launches(void) {
    unsigned launches = 3;
    const char *shape = getenv("PLAN_SHAPE");
    if (shape) sscanf(shape, "%u", &launches);
    return launches;
}

/* A probe's image was loaded: the next launch. After one that does not end there is none of its probe. */
static void plan_next(void) {
    const unsigned launches = plan_launches();
    const char *path = getenv("PLAN_COUNT");
    const int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0) return;
    if (pread(file, &plan_number, sizeof plan_number, 0) != sizeof plan_number) plan_number = 0;
    if (plan_is("endless") || plan_is("fault") || plan_is("read")) {
        plan_number = (plan_number + launches - 1) / launches * launches;
    }
    ++plan_number;
    if (pwrite(file, &plan_number, sizeof plan_number, 0) != sizeof plan_number) plan_number = 0;
    close(file);
}

static void plan_sleep(const char *name) {
    const struct timespec nap = {.tv_nsec = 200000000};
    if (plan_is(name)) nanosleep(&nap, NULL);
}

static void plan_crash(void) {
    if (plan_is("quit")) _exit(3);
    if (plan_is("crash")) raise(SIGKILL);
}

/* 0: the lock, 1: a producer, 2: a peer wait, 3: one without YIELD. */
static int plan_probe(void) {
    unsigned producers = 4;
    const char *shape = getenv("PLAN_SHAPE");
    if (shape) sscanf(shape, "%*u %u", &producers);
    const unsigned probe = (plan_number - 1) / plan_launches();
    return probe == 0 ? 0 : probe <= producers ? 1 : probe <= producers + 2 ? 2 : 3;
}

static void plan_lock(gc_progress_state *state, uint32_t limit) {
    const bool together = plan_is("together"), starved = plan_is("starved");
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const bool never = starved && lane >= 20;
        state->turn[lane] = never ? 0 : lane + 1 - (together && lane >= 4);
        state->spins[lane] = never ? limit : lane + 1;
    }
    state->counter = starved ? 20 : together ? 31 : 32;
}

static void plan_wait(gc_progress_state *state, uint32_t limit, int probe) {
    const bool gives_up = probe == 3 || plan_is("gives up");
    state->flag = 1;
    state->answer = probe != 1;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const bool never = gives_up && lane == (probe == 1 ? 31 : 0);
        state->turn[lane] = !never;
        state->spins[lane] = never ? limit : 2;
    }
    if (probe == 1) state->spins[0] = 0;
}

/* What cannot be: each is one way in which memory may lie. */
static void plan_rubbish(gc_progress_state *state, gc_sample *sample, uint32_t limit) {
    if (plan_is("all ones")) memset(state, 0xff, sizeof *state);
    if (plan_is("untouched")) memset(state, 0, sizeof *state);
    if (plan_is("no cycles")) sample->cycles = 0;
    if (plan_is("too many spins")) state->spins[7] = limit + 1;
    if (plan_is("never asked")) state->spins[7] = 0;
    if (plan_is("gave up early")) state->turn[7] = 0;
    if (plan_is("locked")) state->lock = 1;
    if (plan_is("counter")) state->counter = 77;
}

static void plan_launch(const plan_arguments *arguments) {
    gc_progress_state *state = (gc_progress_state *)(uintptr_t)arguments->state;
    gc_sample *sample = (gc_sample *)(uintptr_t)arguments->samples;
    const int probe = plan_probe();
    sample->cycles = 1000 + plan_number + (probe == 1 ? arguments->iterations : 0);
    if (probe == 0)
        plan_lock(state, arguments->spin_limit);
    else
        plan_wait(state, arguments->spin_limit, probe);
    plan_rubbish(state, sample, arguments->spin_limit);
}

#endif
