#include <proof/stored.h>
#include <string.h>

/*
 * The two reads of a clock, and of the timer around it: differences with and without a borrow, in all four combinations, with
 * a lower half of 0, and around the end of 64 bits.
 */
typedef struct moment {
    uint64_t clock[2], timer[2];
} moment;

static const moment MOMENTS[GC_MOMENTS] = {
    {{0x00000001fffffff0, 0x0000000300000010}, {0x17a1b2c3d4e5f607, 0x17a1b2c4000000f1}},
    {{0x0123456789abcdef, 0x0fedcba9f8765432}, {0x17a1b2c3f0000001, 0x17a1b2c500000000}},
    {{0x7fffffff00000000, 0x8000000000000000}, {0x0000010000000000, 0x0000010fffffffff}},
    {{0xffffff0ffffff005, 0x0000019000000823}, {0x2222222211111111, 0x3333333377777777}},
};

#define GC_SPAN_BYTES 24
/* Words of a span. */
enum { GC_SPAN_START = 1, GC_SPAN_END = 2, GC_SPAN_BLOCKS = 4 };
#define GC_SAMPLE_BYTES_MAX 64
#define GC_MULTIPROCESSOR 5

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

/* ---- arguments ---- */

static bool fits(uint64_t bytes, uint32_t offset, uint32_t size) {
    return (uint64_t)offset + size <= bytes;
}

bool gc_stored_is_claimable(const gc_divergence_claim *claim) {
    const gc_sample_claim *sample = &claim->sample;
    const uint64_t bytes = claim->argument_bytes;
    if (sample->form == GC_SAMPLE_NONE) return true;
    return sample->form <= GC_SAMPLE_BLOCK && fits(bytes, sample->samples_offset, 8) &&
           fits(bytes, sample->sink_offset, 8) && fits(bytes, sample->slot_offset, 4) &&
           fits(bytes, sample->spans_offset, 8) && fits(bytes, sample->sms_offset, 4) &&
           sample->bytes <= GC_SAMPLE_BYTES_MAX && fits(sample->bytes, sample->cycles_offset, 8) &&
           fits(sample->bytes, sample->nanoseconds_offset, 8) && sample->threads >= 32 && sample->threads <= 1024;
}

static void tell(uint8_t *arguments, uint8_t *told, uint32_t offset, const void *value, size_t bytes) {
    memcpy(arguments + offset, value, bytes);
    memset(told + offset, 1, bytes);
}

/* Sums of these carry from the lower into the upper halves, and slots need all their bits. */
void gc_stored_tell(gc_stored *stored, uint32_t round, uint8_t *arguments, uint8_t *told) {
    const gc_sample_claim *claim = stored->claim;
    stored->samples = round ? 0x00007f12fffffff0 : 0x0000000a12345670;
    stored->sink = round ? 0x00003c00fffffff4 : 0x00000005fffffff8;
    stored->spans = round ? 0x00002200fffffff8 : 0x0000000112345678;
    stored->slot = round ? 0xf0000003 : 201;
    stored->sms = round ? 7 : 132;
    tell(arguments, told, claim->samples_offset, &stored->samples, 8);
    tell(arguments, told, claim->sink_offset, &stored->sink, 8);
    tell(arguments, told, claim->slot_offset, &stored->slot, 4);
    if (claim->form != GC_SAMPLE_SPANS) return;
    tell(arguments, told, claim->spans_offset, &stored->spans, 8);
    tell(arguments, told, claim->sms_offset, &stored->sms, 4);
}

static uint64_t sample_address(const gc_stored *stored) {
    return stored->samples + (uint64_t)stored->slot * stored->claim->bytes;
}

static uint64_t span_address(const gc_stored *stored) {
    return stored->spans + ((uint64_t)stored->slot * stored->sms + GC_MULTIPROCESSOR) * GC_SPAN_BYTES;
}

void gc_stored_begin(gc_stored *stored, gc_thread *thread, gc_visit visit) {
    stored->thread = thread;
    stored->visit = visit;
    stored->clocks = stored->timers = stored->barriers = stored->swaps = stored->spanned = 0;
    stored->written = 0;
    thread->second_carry = visit.far;
    gc_thread_tell(thread, GC_SPECIAL_BLOCK, visit.block);
    gc_thread_tell(thread, GC_SPECIAL_MULTIPROCESSOR, GC_MULTIPROCESSOR);
    gc_thread_tell(thread, GC_SPECIAL_RANK_IN_CLUSTER, 0); /* no cluster is launched */
    if (stored->claim->form != GC_SAMPLE_BLOCK) return;
    memset(stored->shared, 0, sizeof stored->shared);
    memset(stored->zeroed, 0, sizeof stored->zeroed);
    thread->shared = stored->shared;
}

/* ---- what a block's threads share ---- */

static uint64_t read_word(const gc_stored *stored, uint32_t word) {
    return (uint64_t)stored->shared[2 * word + 1].bits << 32 | stored->shared[2 * word].bits;
}

static bool is_known(const gc_stored *stored, uint32_t word) {
    return stored->shared[2 * word].known && stored->shared[2 * word + 1].known;
}

static void put_word(gc_stored *stored, uint32_t word, uint64_t value) {
    stored->shared[2 * word] = (gc_value){(uint32_t)value, true};
    stored->shared[2 * word + 1] = (gc_value){(uint32_t)(value >> 32), true};
}

static uint64_t time_of(const gc_stored *stored, uint32_t which) {
    const moment *at = &MOMENTS[stored->visit.moment];
    switch (which) {
    case GC_WORD_START:
        return ~at->clock[0];
    case GC_WORD_END:
        return at->clock[1];
    case GC_WORD_TIMER_START:
        return ~at->timer[0];
    default:
        return at->timer[1];
    }
}

/*
 * What the others had raised a word to when this thread comes to raise it: below or above this thread's own time, by a
 * little or in the upper half, so that a compare of something else comes to another result; below all MOMENTS where it is not yet known which word it is.
 */
static uint64_t raised_by_others(const gc_stored *stored, uint32_t word) {
    const bool overtaken = stored->visit.scenario == GC_SCENARIO_OVERTAKEN;
    const uint64_t near = stored->visit.moment % 2 ? 5 : 0x80000001,
                   distance = stored->visit.far ? UINT64_C(1) << 32 : near;
    for (uint32_t which = 0; which < GC_WORDS && stored->words_found; which++)
        if (stored->words[which] == word) return time_of(stored, which) + (overtaken ? distance : 0 - distance);
    return 1 + word;
}

static uint64_t mixed(const gc_stored *stored, uint32_t word) {
    const uint64_t number = (word + 1) * UINT64_C(0x9e3779b97f4a7c15);
    const bool timer = word == stored->words[GC_WORD_TIMER_START] || word == stored->words[GC_WORD_TIMER_END];
    return stored->visit.moment >> timer & 1 ? ~number : number;
}

/*
 * What all threads have raised a word to in the end: nothing that this thread can know. Inverted, two
 * numbers' difference borrows where it did not before, which the clock's and the timer's do at different moments; in one
 * moment the lower half of both is 0, where sums made in several steps carry last.
 */
static uint64_t raised_by_all(const gc_stored *stored, uint32_t word) {
    const uint32_t *words = stored->words;
    const bool level = stored->visit.moment == 2 && stored->words_found;
    if (level && word == words[GC_WORD_END]) return ~mixed(stored, words[GC_WORD_START]) + (UINT64_C(5) << 32);
    if (level && word == words[GC_WORD_TIMER_END])
        return ~mixed(stored, words[GC_WORD_TIMER_START]) + (UINT64_C(7) << 32);
    return mixed(stored, word);
}

static bool refuse_words(const gc_stored *stored, const char *what) {
    return gc_refuse(stored->proof, "thread %u of a block %s", stored->visit.thread, what);
}

/* Finds where each of the thread's four times went; every thread that tells its times tells them at the same places. */
static bool find_words(gc_stored *stored) {
    uint32_t changed = 0;
    for (uint32_t word = 0; word < GC_THREAD_SHARED_WORDS / 2; word++) {
        if (!is_known(stored, word)) return refuse_words(stored, "writes to shared memory what is not known");
        if (read_word(stored, word) == raised_by_others(stored, word)) continue;
        uint32_t which = 0;
        while (which < GC_WORDS && read_word(stored, word) != time_of(stored, which)) which++;
        if (which == GC_WORDS) return refuse_words(stored, "tells the others what is none of its clock reads");
        if (stored->words_found && stored->words[which] != word)
            return refuse_words(stored, "tells its times at other places than another one");
        changed |= 1u << which;
        stored->words[which] = word;
    }
    if (changed != (1u << GC_WORDS) - 1) return refuse_words(stored, "does not tell the others all of its clock reads");
    stored->words_found = true;
    return true;
}

static bool tells_nothing(const gc_stored *stored) {
    for (uint32_t word = 0; word < GC_THREAD_SHARED_WORDS / 2; word++)
        if (!is_known(stored, word) || read_word(stored, word) != raised_by_others(stored, word)) return false;
    return true;
}

/* The words start from 0, by thread 0 alone and before the barrier that all threads start from. */
static bool check_start(const gc_stored *stored) {
    for (uint32_t which = 0; which < GC_WORDS && stored->visit.thread == 0; which++)
        if (!stored->zeroed[stored->words[which]])
            return refuse_words(stored, "does not clear the words that tell the block's times");
    return true;
}

static bool see_last_barrier(gc_stored *stored) {
    const bool speaks = stored->visit.thread % 32 == 0;
    if (++stored->barriers > 1) return refuse_words(stored, "meets the others more than once");
    if (speaks && stored->visit.scenario != GC_SCENARIO_OVERTAKEN) {
        if (!find_words(stored) || !check_start(stored)) return false;
    } else if (!tells_nothing(stored)) {
        return refuse_words(stored,
                            speaks ? "lowers what another one told" : "tells times that are not its own to tell");
    }
    for (uint32_t word = 0; word < GC_THREAD_SHARED_WORDS / 2; word++)
        put_word(stored, word, raised_by_all(stored, word));
    return true;
}

/* The other threads write as soon as they have met this one. */
static bool see_barrier(gc_stored *stored) {
    if (stored->claim->form != GC_SAMPLE_BLOCK) return true;
    if (stored->clocks == 2) return see_last_barrier(stored);
    for (uint32_t word = 0; word < GC_THREAD_SHARED_WORDS / 2; word++)
        stored->zeroed[word] = is_known(stored, word) && read_word(stored, word) == 0;
    memset(stored->shared, 0, sizeof stored->shared);
    return true;
}

/* Nothing may have been written since that barrier. */
static bool see_second_clock(gc_stored *stored) {
    if (stored->claim->form != GC_SAMPLE_BLOCK) return true;
    for (uint32_t i = 0; i < GC_THREAD_SHARED_WORDS; i++)
        if (stored->shared[i].known) return refuse_words(stored, "writes to shared memory before its time is over");
    for (uint32_t word = 0; word < GC_THREAD_SHARED_WORDS / 2; word++)
        put_word(stored, word, raised_by_others(stored, word));
    return true;
}

/* ---- clocks ---- */

static bool see_clock(gc_stored *stored) {
    gc_thread_tell(stored->thread, GC_SPECIAL_CLOCK, MOMENTS[stored->visit.moment].clock[stored->clocks & 1]);
    return ++stored->clocks != 2 || see_second_clock(stored);
}

/* The timer is read once on each side of the region. */
static bool see_timer(gc_stored *stored, const gc_instruction *in, bool inside) {
    const bool expected = stored->timers == 0 ? stored->clocks == 0 : stored->timers == 1 && stored->clocks == 2;
    if (inside || !expected || !in->wide)
        return gc_refuse(stored->proof, "the timer is read at an unexpected place, 0x%llx", pc_of(in));
    gc_thread_tell(stored->thread, GC_SPECIAL_TIMER, MOMENTS[stored->visit.moment].timer[stored->timers++]);
    return true;
}

/* ---- stores ---- */

static uint64_t expected_time(const gc_stored *stored, bool nanoseconds) {
    const moment *at = &MOMENTS[stored->visit.moment];
    if (stored->claim->form == GC_SAMPLE_BLOCK) {
        const uint32_t *words = &stored->words[nanoseconds ? GC_WORD_TIMER_START : GC_WORD_START];
        return raised_by_all(stored, words[1]) - ~raised_by_all(stored, words[0]);
    }
    return nanoseconds ? at->timer[1] - at->timer[0] : at->clock[1] - at->clock[0];
}

/* One byte of the sample, at `offset` in it. */
static bool take_byte(gc_stored *stored, const gc_instruction *in, uint64_t offset, gc_value word, uint32_t byte) {
    const gc_sample_claim *claim = stored->claim;
    const bool cycles = offset - claim->cycles_offset < 8, nanoseconds = offset - claim->nanoseconds_offset < 8;
    const char *name = nanoseconds ? "nanoseconds" : "cycles";
    if ((!cycles && !nanoseconds) || offset >= claim->bytes)
        return gc_refuse(stored->proof, "what is no time is stored into the sample at 0x%llx", pc_of(in));
    if (stored->written >> offset & 1)
        return gc_refuse(stored->proof, "the sample's %s are stored again at 0x%llx", name, pc_of(in));
    if (!word.known)
        return gc_refuse(stored->proof, "what is stored as the sample's %s at 0x%llx is not known", name, pc_of(in));
    const uint64_t place = offset - (nanoseconds ? claim->nanoseconds_offset : claim->cycles_offset);
    if ((word.bits >> 8 * byte & 0xff) != (expected_time(stored, nanoseconds) >> 8 * place & 0xff))
        return gc_refuse(stored->proof,
                         "what is stored as the sample's %s at 0x%llx is not the second read minus the first", name,
                         pc_of(in));
    stored->written |= UINT64_C(1) << offset;
    return true;
}

static bool take_sample(gc_stored *stored, const gc_instruction *in, const gc_access *access) {
    const gc_visit *visit = &stored->visit;
    if (access->kind != GC_ACCESS_STORE)
        return gc_refuse(stored->proof, "%s at 0x%llx changes the sample", in->mnemonic, pc_of(in));
    if (visit->thread != 0 || visit->block != 0)
        return gc_refuse(stored->proof, "thread %u of block %u stores the sample at 0x%llx", visit->thread,
                         visit->block, pc_of(in));
    if (stored->claim->form == GC_SAMPLE_BLOCK && stored->barriers == 0)
        return refuse_words(stored, "stores the sample before it has met the others");
    const uint64_t offset = access->address.bits - sample_address(stored);
    for (uint32_t i = 0; i < access->bytes; i++)
        if (!take_byte(stored, in, offset + i, access->values[i / 4], i % 4)) return false;
    return true;
}

static bool is_number(const gc_access *access, uint64_t number) {
    const gc_wide value = gc_join(access->values[0], access->values[1]);
    return access->bytes == 8 && value.known && value.bits == number;
}

/* A span takes the two clock reads of each warp, as the larger of what is there and them, and counts blocks. */
static bool take_span(gc_stored *stored, const gc_instruction *in, const gc_access *access, bool certain) {
    const uint64_t offset = access->address.bits - span_address(stored);
    const uint32_t word = offset < GC_SPAN_BYTES ? 1u << offset / 8 : 0;
    const bool first = (offset == 0 && is_number(access, time_of(stored, GC_WORD_START))),
               second = (offset == 8 && is_number(access, time_of(stored, GC_WORD_END)));
    /* Some compilers let one lane add for all that are there, which is not followed. */
    const bool block = offset == 16 && access->kind == GC_ACCESS_ADD && (is_number(access, 1) || !certain);
    const bool time = access->kind == GC_ACCESS_MAX && (first || second) && certain;
    const bool speaks = block ? stored->visit.thread == 0 : stored->visit.thread % 32 == 0;
    if ((!time && !block) || !speaks || stored->spanned & word)
        return gc_refuse(stored->proof, "what %s at 0x%llx tells of a block is not its times", in->mnemonic, pc_of(in));
    stored->spanned |= word;
    return true;
}

static bool overlaps(const gc_access *access, uint64_t begin, uint64_t bytes) {
    return access->address.bits - begin < bytes || begin - access->address.bits < access->bytes;
}

/* All that this kernel may write: the sample, a result of each thread, its span. */
static bool see_write(gc_stored *stored, const gc_instruction *in, const gc_access *access, bool certain) {
    const gc_sample_claim *claim = stored->claim;
    if (access->kind == GC_ACCESS_UNKNOWN)
        return gc_refuse(stored->proof, "%s at 0x%llx is of a form that is not followed", in->mnemonic, pc_of(in));
    if (!access->address.known)
        return gc_refuse(stored->proof, "where %s at 0x%llx writes is not known", in->mnemonic, pc_of(in));
    if (claim->form == GC_SAMPLE_SPANS && overlaps(access, span_address(stored), GC_SPAN_BYTES))
        return take_span(stored, in, access, certain);
    if (!certain)
        return gc_refuse(stored->proof, "whether thread %u comes to the %s at 0x%llx is not known",
                         stored->visit.thread, in->mnemonic, pc_of(in));
    if (overlaps(access, sample_address(stored), claim->bytes)) return take_sample(stored, in, access);
    const uint64_t at = access->address.bits - stored->sink;
    return (access->kind == GC_ACCESS_STORE && at < 4 * claim->threads && access->bytes == 4) ||
           gc_refuse(stored->proof, "%s at 0x%llx writes to another place than the sample", in->mnemonic, pc_of(in));
}

/* What may stand around the region beside stores and reductions: nothing else that writes to global memory. */
static bool is_harmless(const gc_instruction *in) {
    static const char *const NAMES[] = {"ISETP", "UISETP", "PLOP3", "UPLOP3",   "LOP3",   "ULOP3", "SHF",   "USHF",
                                        "IADD3", "UIADD3", "IADD",  "VIADD",    "UVIADD", "LEA",   "ULEA",  "PRMT",
                                        "UPRMT", "SEL",    "USEL",  "MOV",      "UMOV",   "IMAD",  "UIMAD", "HFMA2",
                                        "CS2R",  "S2R",    "S2UR",  "CS2UR",    "R2UR",   "LDC",   "ULDC",  "LDCU",
                                        "BSSY",  "BSYNC",  "BMOV",  "WARPSYNC", "NOP",    "BAR",   "VOTE",  "FLO",
                                        "POPC",  "VOTEU",  "UFLO",  "UPOPC",    "LDS",    "STS",   "ATOMS", NULL};
    for (const char *const *name = NAMES; *name; name++)
        if (strcmp(in->mnemonic, *name) == 0) return true;
    return in->kind == GC_OP_BRANCH || in->kind == GC_OP_INDIRECT || in->kind == GC_OP_EXIT;
}

bool gc_stored_see(gc_stored *stored, const gc_code *code, const gc_instruction *in, bool inside) {
    const gc_value works = gc_thread_guard(stored->thread, in);
    if (in->never || (works.known && !works.bits)) return true;
    if (!in->mnemonic)
        return gc_refuse(stored->proof, "an unknown instruction (opcode 0x%x) at 0x%llx", in->opcode, pc_of(in));
    const gc_access access = gc_thread_access(stored->thread, code, in);
    if (access.kind != GC_ACCESS_NONE) return see_write(stored, in, &access, works.known);
    if (!inside && !is_harmless(in)) /* in the region stands nothing but its scaffold */
        return gc_refuse(stored->proof, "what %s at 0x%llx writes is not known", in->mnemonic, pc_of(in));
    if (in->kind == GC_OP_CLOCK) return see_clock(stored);
    if (in->special == GC_SPECIAL_TIMER) return see_timer(stored, in, inside);
    if (in->kind == GC_OP_OTHER && (in->opcode & 0x1ff) == 0x18d) /* ATOMS: every other try of those contended fails */
        stored->thread->contended = stored->visit.scenario == GC_SCENARIO_CONTENDED && stored->swaps++ % 2 == 0;
    if ((in->opcode & 0x1ff) != 0x11d) return true;
    return (in->whole_block && works.known && see_barrier(stored)) ||
           gc_refuse(stored->proof, "BAR at 0x%llx does not wait for the whole block", pc_of(in));
}

bool gc_stored_end(const gc_stored *stored) {
    const gc_sample_claim *claim = stored->claim;
    const gc_visit *visit = &stored->visit;
    const uint64_t cycles = UINT64_C(0xff) << claim->cycles_offset, nanoseconds = UINT64_C(0xff)
                                                                                  << claim->nanoseconds_offset;
    const uint32_t times = GC_SPAN_START | GC_SPAN_END;
    if (stored->clocks != 2 || stored->timers != 2)
        return gc_refuse(stored->proof, "thread %u reads the clock %u times and the timer %u times, not twice",
                         visit->thread, stored->clocks, stored->timers);
    if (visit->thread == 0 && visit->block == 0 && (stored->written & cycles) != cycles)
        return gc_refuse(stored->proof, "thread 0 does not store its cycles into the sample");
    if (visit->thread == 0 && visit->block == 0 && (stored->written & nanoseconds) != nanoseconds)
        return gc_refuse(stored->proof, "thread 0 does not store its nanoseconds into the sample");
    if (claim->form == GC_SAMPLE_BLOCK && stored->barriers == 0)
        return refuse_words(stored, "does not wait for the others");
    if (claim->form != GC_SAMPLE_SPANS || visit->thread % 32 != 0) return true;
    return stored->spanned == (visit->thread == 0 ? times | GC_SPAN_BLOCKS : times) ||
           gc_refuse(stored->proof, "thread %u does not tell its times of the block", visit->thread);
}
