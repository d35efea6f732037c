/*
 * For tests: what the library's kernels do on the planted GPU, each by all that its launch gives it: grid and block, its
 * arguments, and the `#define`s it was compiled with. A wrong one among them is a wrong time or count, or a fault.
 */
#ifndef FAKES_PLANTED_KERNELS_H
#define FAKES_PLANTED_KERNELS_H

#include <elf.h>
#include <fakes/book.h>
#include <math.h>
#include <measure/timing.h>
#include <stdlib.h>
#include <string.h>

/* What is planted; whatever a test spoils is a field. */
typedef struct planted {
    double link;                /* cycles of one multiply-add of a chain, with few warps */
    double intercept;           /* cycles of a launch beside its loops */
    double longer_path;         /* relative: how much longer the loop of path 7 takes */
    double node;                /* cycles for coming to a node of the shapes' tree */
    double fetch;               /* cycles of a turn that a path of a split warp takes more with a body above 64 */
    double clock_hz;            /* of the SMs */
    double clock_drift;         /* relative, per launch */
    double jitter;              /* relative: of three launches in turn one is faster by it and one slower */
    uint64_t control;           /* instructions of a loop's turn beside its links */
    uint64_t surplus;           /* warp instructions counted once per turn that nobody wrote */
    bool moves;                 /* the last SM but five runs a block of the sixth one's */
    uint32_t starves;           /* warps of which every second SM runs a block more, and the others one less */
    unsigned long long reasons; /* what NVML gives for the clock, from its call `reasons_from` on; idle before */
    unsigned reasons_from;
    unsigned launches;
    void (*at_launch)(void *user); /* NULL: nothing */
    void *user;
} planted;

/* What one launch comes to. */
typedef struct planted_work {
    double cycles, turns;                          /* turns of all loops, one warp after the other */
    double warp_instructions, thread_instructions; /* of the loops */
    bool fault;
} planted_work;

/* ---- what a kernel was compiled with */

/* The fake NVRTC writes the `#define`s behind the end of the ELF file; -1: there is none of this name. */
static inline long planted_define(const fake_launch *launch, const char *name) {
    Elf64_Ehdr header;
    memcpy(&header, launch->image, sizeof header);
    const size_t sections = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    const size_t segments = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
    size_t end = sections > segments ? sections : segments;
    if (end < sizeof header) end = sizeof header;
    const char *found = strstr((const char *)launch->image + end, name);
    return found ? strtol(found + strlen(name), NULL, 10) : -1;
}

static inline double planted_body(const fake_launch *launch) {
    return (double)planted_define(launch, "GPUCHAR_BODY");
}

/* A loop asks for its end behind its work, so that none at all are the most there can be. */
static inline double planted_turns(uint32_t turns) {
    return turns ? turns : 4294967296.0;
}

static inline unsigned planted_paths(const uint8_t lanes[32], unsigned block, bool *has_seven) {
    uint32_t seen = 0;
    for (unsigned i = 0; i < 32 && i < block; i++) seen |= lanes[i] < 32 ? 1u << lanes[i] : 0;
    *has_seven = (seen & (1u << 7)) != 0;
    return (unsigned)__builtin_popcount(seen);
}

/* ---- divergence_sweep.cu */

typedef struct planted_sweep_args {
    gc_header header;
    uint64_t table;
    uint32_t operand, start;
    uint8_t lanes[32];
} planted_sweep_args;

/* Kind 3 goes from word to word: each must hold the table's address. */
static inline bool planted_table_is_bad(const fake_launch *launch, uint64_t table) {
    enum { WORDS = 1024 };
    const uint64_t *words = planted_define(launch, "GPUCHAR_KIND") == 3 ? launch->memory(table, WORDS * 8) : NULL;
    bool bad = !words && planted_define(launch, "GPUCHAR_KIND") == 3;
    for (int i = 0; words && i < WORDS; i++) bad = bad || words[i] != table;
    return bad;
}

static inline planted_work planted_sweep(const planted *p, const fake_launch *launch) {
    const planted_sweep_args *args = launch->arguments;
    const double turns = planted_turns(args->header.iterations), body = planted_body(launch);
    bool has_seven;
    const unsigned ways = planted_paths(args->lanes, launch->block, &has_seven);
    const double looped = turns * (body + (double)p->control);
    /* Each of the k paths runs its loop with a k-th of the lanes. */
    return (planted_work){.cycles = p->link * body * turns * (ways + (has_seven ? p->longer_path : 0)),
                          .turns = turns,
                          .warp_instructions = looped * ways,
                          .thread_instructions = looped * launch->block,
                          .fault = launch->block > 32 || planted_table_is_bad(launch, args->table)};
}

/* ---- divergence_validation.cu */

typedef struct planted_validation_args {
    gc_header header;
    uint32_t ways, reserved;
} planted_validation_args;

static inline planted_work planted_validation(const planted *p, const fake_launch *launch) {
    const planted_validation_args *args = launch->arguments;
    const long ways = planted_define(launch, "GPUCHAR_WAYS");
    const double looped = args->header.iterations * (64 + (double)p->control);
    planted_work work = {.turns = args->header.iterations};
    for (long turn = 0; turn < (long)args->ways; turn++) {
        double lanes = 0;
        for (long lane = 0; lane < (long)launch->block; lane++) lanes += lane % ways == turn;
        work.warp_instructions += lanes > 0 ? looped : 0;
        work.thread_instructions += lanes * looped;
    }
    return work;
}

/* ---- divergence_shapes.cu */

typedef struct planted_shapes_args {
    gc_header header;
    uint32_t operand, start, turns[63];
    uint8_t lanes[32], zeros[32];
    uint32_t reserved;
} planted_shapes_args;

static inline planted_work planted_shapes(const planted *p, const fake_launch *launch) {
    const planted_shapes_args *args = launch->arguments;
    const double body = planted_body(launch), looped = body + (double)p->control;
    double lanes_of[32] = {0}, lanes_at[63] = {0}, turns_at[63] = {0};
    uint32_t zeros = 0;
    planted_work work = {.fault = launch->block > 32};
    for (unsigned lane = 0; lane < 32 && lane < launch->block; lane++) {
        lanes_of[args->lanes[lane] % 32] += args->lanes[lane] < 32;
        zeros |= args->zeros[lane];
    }
    for (int path = 0; path < 32; path++) {
        for (int depth = 0; depth < 6 && lanes_of[path] > 0; depth++) {
            const int node = (1 << depth) - 1 + (path >> (5 - depth));
            lanes_at[node] += lanes_of[path];
            turns_at[node] = planted_turns(args->turns[node] ^ zeros);
        }
    }
    for (int node = 0; node < 63; node++) {
        if (lanes_at[node] == 0) continue;
        const double longer = node == 31 + 7 ? 1 + p->longer_path : 1;
        work.cycles += turns_at[node] * p->link * body * longer + p->node;
        work.turns += turns_at[node];
        work.warp_instructions += turns_at[node] * looped;
        work.thread_instructions += turns_at[node] * looped * lanes_at[node];
    }
    return work;
}

/* ---- divergence_occupancy.cu */

typedef struct planted_occupancy_args {
    gc_header header;
    uint64_t spans;
    uint32_t sm_count, operand, start, reserved;
    uint8_t lanes[32];
} planted_occupancy_args;
typedef struct planted_span {
    uint64_t start_inverted, end, blocks;
} planted_span;

/* Blocks go around the SMs. */
static inline unsigned planted_blocks(const planted *p, const fake_launch *launch, unsigned sm) {
    unsigned blocks = launch->grid / launch->sm_count + (sm < launch->grid % launch->sm_count);
    if (p->starves && blocks * (launch->block / 32) == p->starves) return sm % 2 ? blocks + 1 : blocks - 1;
    if (p->moves && sm == 5 && blocks > 0) return blocks - 1;
    return p->moves && sm == launch->sm_count - 6 ? blocks + 1 : blocks;
}

/* The busiest of an SM's four schedulers issues an instruction a cycle; few warps wait for their own chains. */
static inline double planted_cycles_of_sm(const planted *p, const fake_launch *launch, unsigned blocks, double loops) {
    const planted_occupancy_args *args = launch->arguments;
    const double body = planted_body(launch), busiest = ceil(blocks * (launch->block / 32) / 4.0);
    const double turn = fmax(p->link * body, busiest * (body + (double)p->control));
    return p->intercept +
           planted_turns(args->header.iterations) * loops * (turn + (loops > 1 && body > 64 ? p->fetch : 0));
}

static inline planted_work planted_occupancy(const planted *p, const fake_launch *launch) {
    const planted_occupancy_args *args = launch->arguments;
    bool has_seven;
    const double loops = planted_paths(args->lanes, launch->block, &has_seven);
    const double warps = launch->grid * (launch->block / 32), turns = warps * planted_turns(args->header.iterations);
    const double looped = turns * (planted_body(launch) + (double)p->control);
    const double longest = planted_cycles_of_sm(p, launch, planted_blocks(p, launch, 0), loops);
    return (planted_work){.cycles = longest - p->intercept,
                          .turns = turns,
                          .warp_instructions = looped * loops,
                          .thread_instructions = looped * 32,
                          .fault = launch->block > 32 * planted_define(launch, "GPUCHAR_BLOCK_WARPS")};
}

/* Each SM tells by a clock of its own, and takes some cycles more or less than the median one. */
static inline bool planted_tell(const planted *p, const fake_launch *launch, double factor) {
    const planted_occupancy_args *args = launch->arguments;
    bool has_seven;
    const double loops = planted_paths(args->lanes, launch->block, &has_seven);
    for (unsigned sm = 0; sm < launch->sm_count && sm < args->sm_count; sm++) {
        const unsigned blocks = planted_blocks(p, launch, sm);
        const uint64_t place = (uint64_t)args->header.slot * args->sm_count + sm;
        planted_span *span = launch->memory(args->spans + place * sizeof *span, sizeof *span);
        if (!span) return false;
        if (blocks == 0) continue;
        const uint64_t start = (uint64_t)(sm + 1) << 32;
        const double cycles = planted_cycles_of_sm(p, launch, blocks, loops) * factor;
        const uint64_t end = start + (uint64_t)cycles + 2 * sm + 1 - launch->sm_count;
        if (~start > span->start_inverted) span->start_inverted = ~start;
        if (end > span->end) span->end = end;
        span->blocks += blocks;
    }
    return true;
}

/* ---- predication_compare.cu */

typedef struct planted_predication_args {
    gc_header header;
    uint32_t operand, start;
    uint8_t lanes[32];
} planted_predication_args;

/* Form 1 walks the arms one after the other, form 2 has two chains side by side in one loop. */
static inline planted_work planted_predication(const planted *p, const fake_launch *launch) {
    const planted_predication_args *args = launch->arguments;
    const bool predicated = planted_define(launch, "GPUCHAR_FORM") == 2;
    bool has_seven;
    const double arms = predicated ? 1 : planted_paths(args->lanes, launch->block, &has_seven);
    const double warps = launch->block / 32, turns = warps * planted_turns(args->header.iterations);
    const double body = planted_body(launch), links = predicated ? 2 * body : body;
    const double link = fmax(p->link, (predicated ? 2 : 1) * ceil(warps / 4));
    const double looped = turns * (links + (double)p->control);
    /* Where warps contend, the loops' own instructions want issue slots as well. */
    const double control = warps > 4 ? (double)p->control * ceil(warps / 4) : 0;
    return (planted_work){.cycles = turns / warps * arms * (body * link + control),
                          .turns = turns,
                          .warp_instructions = looped * arms,
                          .thread_instructions = looped * 32};
}

/* ---- all of them */

typedef struct planted_kernel {
    const char *name;
    planted_work (*work)(const planted *p, const fake_launch *launch);
    /* What it writes beside its sample, times being so many times as long; NULL: nothing. False: a fault. */
    bool (*tell)(const planted *p, const fake_launch *launch, double factor);
} planted_kernel;

static inline const planted_kernel *planted_find(const char *name) {
    static const planted_kernel all[] = {
        {"gpuchar_divergence_sweep", planted_sweep, NULL},
        {"gpuchar_divergence_validation", planted_validation, NULL},
        {"gpuchar_divergence_shapes", planted_shapes, NULL},
        {"gpuchar_divergence_occupancy", planted_occupancy, planted_tell},
        {"gpuchar_predication_compare", planted_predication, NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, name) == 0) return &all[i];
    }
    return NULL;
}

#endif
