#include <experiments/progress_reduce.h>
#include <string.h>

/* ---- what is possible */

gc_progress_turns gc_progress_read_turns(const uint32_t turn[GC_PROGRESS_LANES]) {
    uint32_t lanes_of[GC_PROGRESS_LANES + 1] = {0};
    gc_progress_turns read = {.ordered = true};
    for (uint32_t lane = 0; lane < GC_PROGRESS_LANES; ++lane) {
        if (turn[lane] == 0) continue;
        ++read.had;
        if (turn[lane] > read.last) read.last = turn[lane];
        if (turn[lane] <= GC_PROGRESS_LANES) ++lanes_of[turn[lane]];
    }
    for (uint32_t i = 1; i <= GC_PROGRESS_LANES; ++i) {
        read.served += lanes_of[i] == 1;
        if (i <= read.last && lanes_of[i] == 0) read.ordered = false;
    }
    if (read.last > GC_PROGRESS_LANES) read.ordered = false;
    return read;
}

/* A counter that lanes read and write in any order holds what one of them wrote, and the last turn when no two met. */
static const char *impossible_lock(const gc_progress_state *state) {
    const gc_progress_turns turns = gc_progress_read_turns(state->turn);
    if (state->flag || state->answer) return "the lock's probe wrote what it never writes";
    if (state->lock) return "the lock was left locked";
    if (!turns.ordered) return "a lane read a turn from the counter that nobody wrote";
    if (state->counter > turns.last || (state->counter == 0) != (turns.had == 0))
        return "the counter tells no lane's turn";
    if (turns.served == turns.had && state->counter != turns.last) return "the counter tells no lane's turn";
    return turns.had == 0 ? "no lane had a lock that was free" : NULL;
}

static const char *impossible_wait(const gc_progress_launch *launch) {
    const gc_progress_state *state = &launch->state;
    const uint32_t answers = launch->kind == GC_PROGRESS_PEER;
    if (state->lock || state->counter) return "a probe without a lock wrote one";
    if (state->flag != 1 || state->answer != answers) return "what the lanes wait for was not written";
    for (uint32_t lane = 0; lane < GC_PROGRESS_LANES; ++lane) {
        if (state->turn[lane] > 1) return "a lane saw what nobody wrote";
    }
    return NULL;
}

/* A lane asks until it has what it waits for, or until the limit. */
static const char *impossible_spins(const gc_progress_launch *launch) {
    for (uint32_t lane = 0; lane < GC_PROGRESS_LANES; ++lane) {
        const uint32_t spins = launch->state.spins[lane];
        const bool done = launch->state.turn[lane] != 0;
        if (launch->kind == GC_PROGRESS_PRODUCER && lane == 0) {
            if (spins != 0 || !done) return "the producer asked, or did not end";
        } else if (spins < 1 || spins > launch->spin_limit) {
            return "a lane asked more often than it may, or never";
        } else if (!done && spins != launch->spin_limit) {
            return "a lane gave up before its limit";
        }
    }
    return NULL;
}

const char *gc_progress_impossible(const gc_progress_launch *launch) {
    if (launch->cycles == 0 || launch->cycles > UINT64_C(1) << 48)
        return "it took no number of cycles that a kernel takes";
    /* Each turn is a multiplication of what the turn before made: more than one cycle on every chip. */
    if (launch->kind == GC_PROGRESS_PRODUCER && launch->cycles < launch->turns) return "so many turns take more cycles";
    const char *wrong = launch->kind == GC_PROGRESS_LOCK ? impossible_lock(&launch->state) : impossible_wait(launch);
    return wrong ? wrong : impossible_spins(launch);
}

/* ---- the worst of all launches */

bool gc_progress_add_end(uint32_t end, gpuchar_progress_run *run) {
    const bool alike = run->end == GPUCHAR_PROGRESS_NOT_RUN || run->end == end;
    const uint32_t launches = run->launches + 1;
    memset(run, 0, sizeof *run);
    run->end = end;
    run->launches = launches;
    return alike;
}

bool gc_progress_add(const gc_progress_launch *launch, gpuchar_progress_run *run) {
    const bool first = run->launches == 0;
    const uint32_t first_asking = launch->kind == GC_PROGRESS_PRODUCER ? 1 : 0, fewest = run->lanes_done;
    uint32_t done = 0;
    for (uint32_t lane = 0; lane < GC_PROGRESS_LANES; ++lane) {
        const uint32_t spins = launch->state.spins[lane];
        done += launch->state.turn[lane] != 0;
        if (lane < first_asking) continue;
        if ((first && lane == first_asking) || spins < run->spins_min) run->spins_min = spins;
        if (spins > run->spins_max) run->spins_max = spins;
    }
    if (first || done < run->lanes_done) run->lanes_done = done;
    run->end = run->lanes_done == GC_PROGRESS_LANES ? GPUCHAR_PROGRESS_ENDED : GPUCHAR_PROGRESS_SPIN_LIMIT;
    run->known = GPUCHAR_PROGRESS_RUN_COUNTS;
    run->cycles = launch->cycles;
    run->elapsed_ns = launch->elapsed_ns;
    ++run->launches;
    return first || done == fewest;
}

void gc_progress_add_lock(const gc_progress_launch *launch, gpuchar_forward_progress_result *result) {
    const gc_progress_turns turns = gc_progress_read_turns(launch->state.turn);
    const bool breaks = turns.served != turns.had, first = !(result->known & GPUCHAR_PROGRESS_LOCK);
    const bool worse = breaks != (result->lock_broken > 0) ? breaks : turns.served < result->lock_served;
    if (first || worse) {
        result->lock_served = turns.served;
        memcpy(result->lock_turns, launch->state.turn, sizeof result->lock_turns);
    }
    result->lock_broken += breaks;
    result->known |= GPUCHAR_PROGRESS_LOCK;
}
