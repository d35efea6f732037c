#include <core/error.h>
#include <proof/spin_thread.h>
#include <proof/spin_walk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES 32
/* More than any walk here needs. */
#define STEPS_MAX 20000
#define ASKS_MAX 64
#define EVENTS_MAX (ASKS_MAX + 16)
/* A script's number of answers when nobody ever answers. */
#define NEVER UINT32_MAX

/* Where one lane is followed: what the arguments say, and what the others do meanwhile. */
typedef struct script {
    uint32_t limit, turns;
    uint32_t refused; /* how often it asks in vain */
    uint32_t answer;  /* what it then sees, not 0; of the lock: the counter */
    bool other_addresses;
    bool endless; /* more turns than are followed: it must be at work still */
} script;

/* Something that must happen, in this order. */
typedef struct expected {
    gc_spin_kind kind;
    uint64_t address, value;
    uint32_t wanted;
    uint64_t answer;
} expected;

/* A store that must happen once, when so many of those things have happened at least and at most. */
typedef struct record {
    uint64_t address, value;
    uint32_t bytes;
    uint32_t from, until;
    bool done;
} record;

typedef struct walker {
    const gc_spin_claim *claim;
    gc_spin_program program;
    gc_spin_thread thread;
    gc_spin_uniforms uniforms;
    gc_spin_found *found;
    gc_spin_proof *proof;
    char reason[128];
    uint8_t arguments[128];
    uint64_t samples, sink, state;
    uint32_t slot;
    expected events[EVENTS_MAX];
    record records[4];
    uint32_t event_count, record_count, happened;
    bool met; /* the rest of the warp, since the last event */
} walker;

/* ---- what should happen ---- */

static void expect(walker *w, expected next) {
    if (w->event_count < EVENTS_MAX) w->events[w->event_count++] = next;
}

static void expect_store(walker *w, uint32_t member, uint32_t value) {
    expect(w, (expected){.kind = GC_SPIN_STORES, .address = w->state + member, .value = value});
}

static void expect_fence(walker *w) {
    expect(w, (expected){.kind = GC_SPIN_FENCES});
    expect(w, (expected){.kind = GC_SPIN_INVALIDATES});
}

/* From now until the second clock read. */
static void expect_record(walker *w, uint64_t address, uint64_t value, uint32_t bytes) {
    w->records[w->record_count++] =
        (record){.address = address, .value = value, .bytes = bytes, .from = w->event_count, .until = UINT32_MAX};
}

static void expect_word(walker *w, uint32_t member, uint32_t lane, uint32_t value) {
    expect_record(w, w->state + member + (uint64_t)4 * lane, value, 4);
}

/* Asks until it is answered, at most `limit` times; what it has seen last. */
static uint32_t expect_asking(walker *w, const script *s, uint32_t member, uint32_t *asked) {
    const bool answered = s->refused < s->limit;
    *asked = answered ? s->refused + 1 : s->limit;
    for (uint32_t i = 0; i < *asked; i++) {
        const bool last = answered && i + 1 == *asked;
        expect(w, (expected){.kind = GC_SPIN_LOADS, .address = w->state + member, .answer = last ? s->answer : 0});
    }
    return answered ? s->answer : 0;
}

static void expect_waiting(walker *w, const script *s, uint32_t member, uint32_t lane) {
    uint32_t asked = 0;
    const uint32_t seen = expect_asking(w, s, member, &asked);
    expect_word(w, w->claim->layout->turn, lane, seen);
    expect_word(w, w->claim->layout->spins, lane, asked);
}

static void expect_lock(walker *w, const script *s, uint32_t lane) {
    const gc_spin_layout *layout = w->claim->layout;
    const bool served = s->refused < s->limit;
    const uint32_t asked = served ? s->refused + 1 : s->limit;
    for (uint32_t i = 0; i < asked; i++) {
        const bool last = served && i + 1 == asked;
        expect(w, (expected){.kind = GC_SPIN_SWAPS, .address = w->state + layout->lock, .value = 1, .answer = !last});
    }
    if (served) {
        expect(w, (expected){.kind = GC_SPIN_LOADS, .address = w->state + layout->counter, .answer = s->answer});
        expect_word(w, layout->turn, lane, s->answer + 1);
        expect_store(w, layout->counter, s->answer + 1);
        expect_fence(w);
        expect_store(w, layout->lock, 0);
    }
    expect_word(w, layout->spins, lane, asked);
}

/* As often as told; what comes out is another number for every number of turns that is followed. */
static uint32_t work(uint32_t turns) {
    uint32_t x = 0;
    for (uint32_t i = 0; i < turns; i++) x = x * x + 0x3039;
    return x;
}

static void expect_producer(walker *w, const script *s) {
    if (s->endless) return;
    expect_record(w, w->sink, work(s->turns), 4);
    w->records[w->record_count - 1].until = w->event_count; /* before the fence: the work is done when it tells */
    expect_fence(w);
    expect_store(w, w->claim->layout->flag, 1);
    expect_word(w, w->claim->layout->turn, 0, 1);
    w->records[w->record_count - 1].from = 2; /* behind the clock read, but its place does not matter */
}

static void expect_peer(walker *w, const script *s, uint32_t lane) {
    const gc_spin_layout *layout = w->claim->layout;
    if (lane != 0) {
        expect_waiting(w, s, layout->flag, lane);
        if (lane == 1) expect_store(w, layout->answer, 1);
        return;
    }
    expect_store(w, layout->flag, 1);
    expect_fence(w);
    expect_waiting(w, s, layout->answer, lane);
}

/* Clocks whose differences carry from one half to the other. */
static const uint64_t CLOCKS[2][2] = {{0x1fffffff0, 0x500000010}, {0x700000005, 0x700000009}};
static const uint64_t TIMERS[2][2] = {{0x300000000, 0x2fffffffff}, {0xfffffffd, 0x100000004}};

static void expect_all(walker *w, const script *s, uint32_t lane) {
    const uint64_t *clocks = CLOCKS[s->other_addresses], *timers = TIMERS[s->other_addresses];
    w->event_count = w->record_count = w->happened = 0;
    expect(w, (expected){.kind = GC_SPIN_SEES_TIMER, .answer = timers[0]});
    expect(w, (expected){.kind = GC_SPIN_SEES_CLOCK, .answer = clocks[0]});
    if (w->claim->act == GC_SPIN_TAKES_LOCK)
        expect_lock(w, s, lane);
    else if (w->claim->act == GC_SPIN_WAITS_FOR_PEER)
        expect_peer(w, s, lane);
    else if (lane == 0)
        expect_producer(w, s);
    else
        expect_waiting(w, s, w->claim->layout->flag, lane);
    for (uint32_t i = 0; i < w->record_count; i++)
        if (w->records[i].until == UINT32_MAX) w->records[i].until = w->event_count;
    expect(w, (expected){.kind = GC_SPIN_SEES_CLOCK, .answer = clocks[1]});
    expect(w, (expected){.kind = GC_SPIN_SEES_TIMER, .answer = timers[1]});
    if (lane != 0) return;
    const uint64_t sample = w->samples + (uint64_t)16 * w->slot;
    expect_record(w, sample, clocks[1] - clocks[0], 8);
    expect_record(w, sample + 8, timers[1] - timers[0], 8);
    for (uint32_t i = 1; i <= 2; i++) w->records[w->record_count - i].until = w->event_count;
}

/* ---- what happens ---- */

static const char *word_of(gc_spin_kind kind) {
    static const char *const words[] = {"a clock read", "a timer read", "a load",          "a store",
                                        "a swap",       "a fence",      "an invalidation", "a meeting"};
    return words[kind];
}

static bool refuse(walker *w, const gc_spin_event *event, const char *instead) {
    const uint64_t pc = w->program.instructions[event->at].pc;
    snprintf(w->reason, sizeof w->reason, "%s at 0x%llx %s", word_of(event->kind), (unsigned long long)pc, instead);
    return false;
}

static bool judge_record(walker *w, const gc_spin_event *event) {
    for (uint32_t i = 0; i < w->record_count; i++) {
        record *one = &w->records[i];
        if (one->address != event->address || one->bytes != event->bytes) continue;
        if (one->done) return refuse(w, event, "comes twice");
        if (one->value != event->value) return refuse(w, event, "writes another value");
        if (w->happened < one->from || w->happened > one->until) return refuse(w, event, "comes too early or too late");
        one->done = true;
        return true;
    }
    return refuse(w, event, "goes where nothing should be written");
}

static void take_found(walker *w, const gc_spin_event *event) {
    const bool first = w->thread.lane == 0, lock = w->claim->act == GC_SPIN_TAKES_LOCK;
    if (event->kind == (lock ? GC_SPIN_SWAPS : GC_SPIN_LOADS))
        *(first ? &w->found->asks_first : &w->found->asks_others) = event->at;
    if (event->kind == GC_SPIN_STORES && first && w->found->tells == UINT32_MAX) w->found->tells = event->at;
}

static bool judge(void *user, gc_spin_event *event) {
    walker *w = user;
    if (event->kind == GC_SPIN_MEETS) {
        w->met = true;
        return true;
    }
    if (event->kind == GC_SPIN_STORES && !event->strong) return judge_record(w, event);
    if (w->happened == w->event_count) return refuse(w, event, "is one too many");
    const expected *next = &w->events[w->happened];
    if (next->kind != event->kind) return refuse(w, event, "comes out of its order");
    if (next->address != event->address) return refuse(w, event, "is of another address");
    if (next->value != event->value || next->wanted != event->expected) return refuse(w, event, "is of another value");
    if (event->kind == GC_SPIN_SEES_CLOCK && w->happened > 1 && !w->met)
        return refuse(w, event, "does not wait for the rest of the warp");
    event->answer = next->answer;
    take_found(w, event);
    w->happened++;
    w->met = false;
    return true;
}

/* ---- walks ---- */

static void put(walker *w, uint32_t offset, uint64_t value, uint32_t bytes) {
    memcpy(w->arguments + offset, &value, bytes);
}

/* Addresses whose sums carry from one half to the other, and such as do not. */
static void tell_arguments(walker *w, const script *s) {
    const gc_spin_layout *layout = w->claim->layout;
    const bool other = s->other_addresses;
    w->samples = other ? UINT64_C(0x7f00ffffffe0) : UINT64_C(0x7f0012340000);
    w->sink = other ? UINT64_C(0x7f11fffffffc) : UINT64_C(0x7f1123450010);
    w->state = other ? UINT64_C(0x7f22fffffffc) : UINT64_C(0x7f2234560020);
    w->slot = other ? 5 : 0;
    memset(w->arguments, 0, sizeof w->arguments);
    put(w, layout->samples_argument, w->samples, 8);
    put(w, layout->sink_argument, w->sink, 8);
    put(w, layout->slot_argument, w->slot, 4);
    put(w, layout->turns_argument, s->turns, 4);
    put(w, layout->state_argument, w->state, 8);
    put(w, layout->limit_argument, s->limit, 4);
}

static bool lose(walker *w, const script *s, uint32_t lane) {
    char with[64];
    if (w->claim->act == GC_SPIN_PRODUCES && lane == 0)
        snprintf(with, sizeof with, "%u turns", s->turns);
    else
        snprintf(with, sizeof with, "a limit of %u", s->limit);
    snprintf(w->proof->reason, sizeof w->proof->reason, "lane %u, with %s: %.100s", lane, with, w->reason);
    w->proof->status = GPUCHAR_E_NOT_PROVED;
    return false;
}

static bool say(walker *w, const char *what) {
    snprintf(w->reason, sizeof w->reason, "%s", what);
    return false;
}

static bool is_complete(walker *w) {
    if (w->happened < w->event_count) {
        snprintf(w->reason, sizeof w->reason, "%s is missing", word_of(w->events[w->happened].kind));
        return false;
    }
    for (uint32_t i = 0; i < w->record_count; i++)
        if (!w->records[i].done) return say(w, "it does not write all that it should");
    return true;
}

static bool follow(walker *w, const script *s) {
    for (uint32_t steps = 0; w->thread.next != UINT32_MAX; steps++) {
        if (s->endless && steps == ASKS_MAX * 8) return true;
        if (steps == STEPS_MAX) return say(w, "it does not come to its end");
        if (!gc_spin_step(&w->thread)) return false;
    }
    return s->endless ? say(w, "it ends too early") : is_complete(w);
}

static bool walk(walker *w, const script *s, uint32_t lane) {
    tell_arguments(w, s);
    expect_all(w, s, lane);
    w->met = false;
    w->thread.lane = lane;
    w->thread.converged = (lane + s->other_addresses) & 1;
    gc_spin_start(&w->thread);
    return follow(w, s) || lose(w, s, lane);
}

/* Answered at once, later and never; before the limit, at it, and with one that is far away. */
static const script ASKS[] = {
    {.limit = 5, .refused = 2, .answer = 1}, {.limit = 3, .refused = NEVER, .other_addresses = true},
    {.limit = 0, .refused = NEVER},          {.limit = 1, .refused = 0, .answer = 1, .other_addresses = true},
    {.limit = 1, .refused = NEVER},          {.limit = 4, .refused = 1, .answer = 0x80000000, .other_addresses = true},
    {.limit = 9, .refused = NEVER},          {.limit = 1u << 30, .refused = ASKS_MAX - 2, .answer = 31},
};
/* Of these each lane is followed, of the others a few. */
#define ASKS_OF_ALL 2

static bool is_example(uint32_t lane) {
    return lane < 3 || lane == 17 || lane == LANES - 1;
}

static bool walk_asking(walker *w) {
    const uint32_t first = w->claim->act == GC_SPIN_PRODUCES ? 1 : 0;
    for (uint32_t lane = first; lane < LANES; lane++)
        for (uint32_t i = 0; i < sizeof ASKS / sizeof ASKS[0]; i++) {
            script s = ASKS[i];
            s.turns = 1;
            if ((i < ASKS_OF_ALL || is_example(lane)) && !walk(w, &s, lane)) return false;
        }
    return true;
}

/* Each number that the loops of compilers, which take several turns at once, may get wrong; and some that are long. */
static bool walk_producing(walker *w) {
    static const uint32_t longer[] = {31, 32, 33, 64, 100, GC_SPIN_TURNS_FOLLOWED};
    static const uint32_t endless[] = {10000000, UINT32_C(1) << 31, UINT32_MAX};
    for (uint32_t turns = 1; turns <= 20; turns++) {
        const script s = {.limit = turns, .turns = turns, .other_addresses = turns & 1};
        if (!walk(w, &s, 0)) return false;
    }
    for (uint32_t i = 0; i < sizeof longer / sizeof longer[0]; i++) {
        const script s = {.limit = 1, .turns = longer[i]};
        if (!walk(w, &s, 0)) return false;
    }
    for (uint32_t i = 0; i < sizeof endless / sizeof endless[0]; i++) {
        const script s = {.limit = 1, .turns = endless[i], .endless = true};
        if (!walk(w, &s, 0)) return false;
    }
    return true;
}

static bool check_uniforms(walker *w) {
    for (uint32_t i = 0; i < 256; i++) {
        if (!w->uniforms.written[i] || !w->uniforms.read[i]) continue;
        snprintf(w->proof->reason, sizeof w->proof->reason, "UR%u may be overwritten by other lanes before it is read",
                 i);
        w->proof->status = GPUCHAR_E_NOT_PROVED;
        return false;
    }
    return true;
}

static bool walk_all(walker *w) {
    w->thread = (gc_spin_thread){.program = &w->program,
                                 .parameters = w->arguments,
                                 .parameter_bytes = w->claim->layout->argument_bytes,
                                 .judge = judge,
                                 .user = w,
                                 .uniform_use = &w->uniforms,
                                 .reason = w->reason,
                                 .reason_size = sizeof w->reason};
    if (w->claim->act == GC_SPIN_PRODUCES && !walk_producing(w)) return false;
    return walk_asking(w) && check_uniforms(w);
}

bool gc_check_spins(const gc_code *code, const gc_flow *flow, const gc_spin_claim *claim, gc_spin_found *found,
                    gc_spin_proof *proof, gpuchar_status *status) {
    walker *w = calloc(1, sizeof *w);
    *found = (gc_spin_found){UINT32_MAX, UINT32_MAX, UINT32_MAX};
    if (!w) {
        *status = gc_fail_memory(sizeof *w);
        return false;
    }
    w->claim = claim;
    w->found = found;
    w->proof = proof;
    *status = gc_spin_open(code, flow, &w->program);
    const bool proved = *status == GPUCHAR_OK && walk_all(w);
    if (*status == GPUCHAR_OK) gc_spin_close(&w->program);
    free(w);
    return proved;
}
