/*
 * Machine code read: cubins wherever they lie, their instructions, control flow, and where divergent threads meet again.
 *
 * Everything here takes bytes and needs no GPU, no driver and no session. Bytes are not trusted: what is malformed is
 * E_SASS_FORMAT. An opcode that is not known is told as unknown, with its bits.
 *
 * A handle may be used by several threads at a time, but closed by one, when no other uses it. Strings and arrays that a handle
 * gives live until it is closed; what a `_get` function fills is owned by the result and lives until its `_free`.
 */
#ifndef GPUCHAR_SASS_H
#define GPUCHAR_SASS_H

#include <gpuchar/status.h>

GPUCHAR_BEGIN_DECLS

/* One cubin. */
typedef struct gpuchar_sass gpuchar_sass;

typedef struct gpuchar_sass_info {
    size_t struct_size;
    uint64_t size_bytes;
    uint64_t instructions; /* of all functions, padding included */
    uint32_t architecture; /* 90: sm_90 */
    uint32_t abi;          /* 7 (CUDA 12) or 8 (CUDA 13) */
    uint32_t functions;
    uint32_t kernels;
    uint32_t instruction_bytes; /* 16; 8 before sm_70 */
    uint32_t toolkit_version;   /* of the compiler: 12090 for CUDA 12.9; 0: the cubin does not tell */
    char target[32];     /* what was compiled for: "sm_90a"; without a suffix when the cubin does not tell more */
    char assembler[128]; /* "Cuda compilation tools, release 13.0, V13.0.88"; "": not told, as before CUDA 13 */
    char options[256];   /* the assembler's, as far as they fit */
} gpuchar_sass_info;

GPUCHAR_DEFINE_MAKER(gpuchar_sass_info)
#define GPUCHAR_SASS_INFO_INIT gpuchar_sass_info_make()
GPUCHAR_API void gpuchar_sass_info_init(gpuchar_sass_info *info, size_t size);

/* One function. Local functions inside a kernel's section are functions of their own. Frozen. */
typedef struct gpuchar_sass_function {
    const char *name;
    const char *section;   /* the kernel's section that holds it: ".text.NAME" */
    uint64_t start_bytes;  /* in its section; all program counters count from the section's start */
    uint64_t size_bytes;   /* up to the next function of the section, padding included */
    uint32_t instructions; /* without the control words of sm_50 to sm_62 */
    uint32_t kernel;       /* 1: a kernel; 0: a function that kernels call */
} gpuchar_sass_function;

/*
 * Opens a cubin. The bytes stay the caller's and must not change until it is closed. Errors: E_SASS_FORMAT, E_SASS_UNKNOWN (an
 * architecture whose encoding is not known), E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_sass_open(const void *bytes, size_t size, gpuchar_sass **sass);
/* NULL is allowed. */
GPUCHAR_API void gpuchar_sass_close(gpuchar_sass *sass);
GPUCHAR_API gpuchar_status gpuchar_sass_info_get(const gpuchar_sass *sass, gpuchar_sass_info *info);
/* Functions in the order of their sections and, in these, of their code. E_LIMIT: no such function. */
GPUCHAR_API gpuchar_status gpuchar_sass_function_get(const gpuchar_sass *sass, size_t function,
                                                     gpuchar_sass_function *out);
/* The function of this name, as an index; E_SASS_FORMAT: there is none. */
GPUCHAR_API gpuchar_status gpuchar_sass_function_find(const gpuchar_sass *sass, const char *name, size_t *function);

/* ---- instructions ---- */

#define GPUCHAR_SASS_NO_PC UINT64_MAX

/* What an instruction does to control flow. */
enum {
    GPUCHAR_SASS_OTHER = 0,
    GPUCHAR_SASS_BRANCH = 1,    /* BRA; also CALL.REL.NOINC to a place in its own function, but its first instruction */
    GPUCHAR_SASS_INDIRECT = 2,  /* BRX, BRXU */
    GPUCHAR_SASS_JUMP = 3,      /* JMP, JMX, JMXU */
    GPUCHAR_SASS_CALL = 4,      /* CALL; CAL, JCAL */
    GPUCHAR_SASS_RETURN = 5,    /* RET */
    GPUCHAR_SASS_EXIT = 6,      /* EXIT, KILL; KIL */
    GPUCHAR_SASS_BSSY = 7,      /* opens a barrier register's interval */
    GPUCHAR_SASS_BSYNC = 8,     /* waits at its end */
    GPUCHAR_SASS_BREAK = 9,     /* leaves the interval */
    GPUCHAR_SASS_BMOV = 10,     /* moves a barrier register */
    GPUCHAR_SASS_WARPSYNC = 11, /* waits for threads of a mask */
    GPUCHAR_SASS_YIELD = 12,
    GPUCHAR_SASS_NANOSLEEP = 13,
    GPUCHAR_SASS_NOP = 14,
    GPUCHAR_SASS_CLOCK = 15, /* reads the SM's clock */
    /* sm_50 to sm_62: a stack of tokens */
    GPUCHAR_SASS_PUSH = 16, /* SSY, PBK, PCNT, PRET, PLONGJMP, PEXIT */
    GPUCHAR_SASS_SYNC = 17, /* SYNC */
    GPUCHAR_SASS_BRK = 18,  /* BRK */
    GPUCHAR_SASS_CONT = 19, /* CONT */
    GPUCHAR_SASS_LONGJMP = 20
};

/* Bits of gpuchar_sass_instruction.flags. */
enum {
    GPUCHAR_SASS_CONDITIONAL = 1u << 0, /* control flow: may fall through */
    GPUCHAR_SASS_NEVER = 1u << 1,       /* its guard is never true */
    GPUCHAR_SASS_UNIFORM = 1u << 2,     /* a branch that by its form cannot split a warp */
    GPUCHAR_SASS_CLEAR = 1u << 3,       /* BMOV.CLEAR */
    GPUCHAR_SASS_WHOLE_WARP = 1u << 4   /* WARPSYNC of all 32 threads */
};

/* What a branch goes by beside its predicates. */
enum {
    GPUCHAR_SASS_OPERAND_NONE = 0,
    GPUCHAR_SASS_OPERAND_UNIFORM_PREDICATE = 1, /* 7: UPT */
    GPUCHAR_SASS_OPERAND_UNIFORM_REGISTER = 2,
    GPUCHAR_SASS_OPERAND_REGISTER = 3
};

/* Barrier classes, on BSSY, BSYNC and BREAK from sm_100 on; 0 before. */
enum {
    GPUCHAR_SASS_CLASS_BARE = 0,
    GPUCHAR_SASS_CLASS_RELIABLE = 1,
    GPUCHAR_SASS_CLASS_RECONVERGENT = 2,
    GPUCHAR_SASS_CLASS_UNNAMED = 3
};

/* One instruction. Fields that its kind does not have are 0. Frozen. */
typedef struct gpuchar_sass_instruction {
    uint64_t pc_bytes;
    uint64_t target_bytes; /* of branches, BSSY, WARPSYNC.COLLECTIVE, CALL.REL, pushes; else GPUCHAR_SASS_NO_PC */
    uint64_t low;          /* the word: bits 63 to 0 */
    uint64_t high;         /* bits 127 to 64; before sm_70 the instruction's 21 scheduling bits */
    const char *mnemonic;  /* "FFMA", static; NULL: unknown opcode */
    uint32_t opcode;       /* bits 11 to 0 with bit 91 as bit 12; before sm_70 bits 63 to 48 */
    uint32_t kind;
    uint32_t flags;
    uint32_t guard;     /* predicate number; 7: PT */
    uint32_t guard_not; /* 1: the instruction works where the predicate is false */
    uint32_t second;    /* second predicate of branches, EXIT and BREAK; before sm_70 the condition code */
    uint32_t second_not;
    /*
     * BRA, JMP: 1 .U, 2 .DIV, 3 .CONV. CALL: 1 .NOINC. RET: 1 .ABS, 2 .NODEC. WARPSYNC: up to sm_89 2 .EXCLUSIVE, from sm_90
     * on 1 .EXCLUSIVE, 2 .COLLECTIVE.
     */
    uint32_t mode;
    uint32_t variant;       /* BRA, BRX, JMP: 1 .INC, 2 .DEC, 4 .ANY */
    uint32_t operand_kind;  /* what BRA, BRX, JMP go by beside their predicates: GPUCHAR_SASS_OPERAND_... */
    uint32_t operand;       /* its number */
    uint32_t operand_not;   /* 1: that uniform predicate is negated */
    uint32_t mask;          /* WARPSYNC with an immediate mask: which threads */
    uint32_t barrier;       /* BSSY, BSYNC, BREAK, BMOV: B register */
    uint32_t barrier_class; /* GPUCHAR_SASS_CLASS_... */
    /* Scheduling. */
    uint32_t stall_cycles;
    uint32_t yield;         /* the bit as it stands: 0 asks for another warp */
    uint32_t write_barrier; /* 7: none */
    uint32_t read_barrier;  /* 7: none */
    uint32_t wait_mask;
    uint32_t reuse;
    uint32_t reserved;
} gpuchar_sass_instruction;

/* Instruction `index` of a function. E_LIMIT: no such one. */
GPUCHAR_API gpuchar_status gpuchar_sass_instruction_get(const gpuchar_sass *sass, size_t function, size_t index,
                                                        gpuchar_sass_instruction *out);

/* ---- instruction mix ---- */

/* How often one base mnemonic stands in the code; of unknown opcodes how often each. Frozen. */
typedef struct gpuchar_sass_mix_entry {
    const char *mnemonic; /* static; NULL: unknown opcode */
    uint64_t count;
    uint64_t example_low; /* the first word of it */
    uint64_t example_high;
    uint32_t opcode; /* of that word */
    uint32_t reserved;
} gpuchar_sass_mix_entry;

typedef struct gpuchar_sass_mix {
    size_t struct_size;
    gpuchar_sass_mix_entry *entries; /* the most frequent first; owned by the result */
    size_t entry_count;
    uint64_t instructions;
    uint64_t unknown;      /* instructions of unknown opcodes */
    uint64_t guarded;      /* instructions under a predicate */
    uint64_t stall_cycles; /* sum of the stall counts */
} gpuchar_sass_mix;

GPUCHAR_DEFINE_MAKER(gpuchar_sass_mix)
#define GPUCHAR_SASS_MIX_INIT gpuchar_sass_mix_make()
GPUCHAR_API void gpuchar_sass_mix_init(gpuchar_sass_mix *mix, size_t size);
GPUCHAR_API void gpuchar_sass_mix_free(gpuchar_sass_mix *mix);
#define GPUCHAR_SASS_ALL SIZE_MAX
/* Of a function, or, with GPUCHAR_SASS_ALL, of the cubin. */
GPUCHAR_API gpuchar_status gpuchar_sass_mix_get(const gpuchar_sass *sass, size_t function, gpuchar_sass_mix *mix);

/* ---- control-flow graph ---- */

#define GPUCHAR_SASS_NO_BLOCK UINT32_MAX

/* Bits of gpuchar_sass_block.flags. */
enum {
    GPUCHAR_SASS_BLOCK_REACHABLE = 1u << 0, /* from the function's entry */
    GPUCHAR_SASS_BLOCK_LEAVES = 1u << 1,    /* the function can end here */
    GPUCHAR_SASS_BLOCK_ENDLESS = 1u << 2,   /* the last block of a loop without end: taken to leave */
    GPUCHAR_SASS_BLOCK_LOOP_HEAD = 1u << 3
};

/*
 * One basic block. An edge leads to a block, by index; there is one virtual exit behind all blocks that leave, which is
 * GPUCHAR_SASS_NO_BLOCK as a post-dominator. Unreachable blocks have no dominators. Frozen.
 */
typedef struct gpuchar_sass_block {
    uint64_t pc_bytes;
    uint32_t first; /* index of its first instruction in the function */
    uint32_t instructions;
    uint32_t first_edge;     /* index into the graph's edges */
    uint32_t edges;          /* the one that falls through last */
    uint32_t dominator;      /* immediate; GPUCHAR_SASS_NO_BLOCK: the entry, or unreachable */
    uint32_t post_dominator; /* immediate; GPUCHAR_SASS_NO_BLOCK: the exit, or unreachable */
    uint32_t loop;           /* innermost loop around it, an index; GPUCHAR_SASS_NO_BLOCK: none */
    uint32_t flags;
} gpuchar_sass_block;

/* A natural loop: blocks that come back to a head which dominates them. Frozen. */
typedef struct gpuchar_sass_loop {
    uint32_t head;   /* block */
    uint32_t parent; /* the loop around it; GPUCHAR_SASS_NO_BLOCK: none */
    uint32_t depth;  /* 1: outermost */
    uint32_t blocks; /* with those of inner loops */
} gpuchar_sass_loop;

typedef struct gpuchar_sass_graph {
    size_t struct_size;
    gpuchar_sass_block *blocks; /* in the order of the code; 0 is the entry; owned by the result */
    size_t block_count;
    uint32_t *edges; /* owned by the result */
    size_t edge_count;
    gpuchar_sass_loop *loops; /* owned by the result */
    size_t loop_count;
    uint64_t irreducible; /* back edges to a block that does not dominate their source: loops with several entries */
} gpuchar_sass_graph;

GPUCHAR_DEFINE_MAKER(gpuchar_sass_graph)
#define GPUCHAR_SASS_GRAPH_INIT gpuchar_sass_graph_make()
GPUCHAR_API void gpuchar_sass_graph_init(gpuchar_sass_graph *graph, size_t size);
GPUCHAR_API void gpuchar_sass_graph_free(gpuchar_sass_graph *graph);
/*
 * The control-flow graph of a function. A guarded EXIT or RET falls through too, CALL falls through, BRX goes where its table of
 * targets says, WARPSYNC.COLLECTIVE to its target as well. Errors: E_LIMIT, E_SASS_FORMAT (a branch out of its function),
 * E_SASS_UNKNOWN (an indirect branch without a table), E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_sass_graph_get(const gpuchar_sass *sass, size_t function, gpuchar_sass_graph *graph);
/* The graph as a DOT document, blocks with their instructions' mnemonics; free it with gpuchar_string_free (runtime.h). */
GPUCHAR_API gpuchar_status gpuchar_sass_dot(const gpuchar_sass *sass, size_t function, char **text);

/* ---- reconvergence ---- */

/* Rules that match a branch with the barrier interval where its threads meet again. */
enum {
    /* The innermost interval around the branch whose BSYNC post-dominates the branch. */
    GPUCHAR_SASS_RULE_PRIMARY = 0,
    /* The innermost interval around it, whatever it is. */
    GPUCHAR_SASS_RULE_INNERMOST = 1,
    /* An interval around it that ends at the immediate post-dominator, when there is one; else the innermost. */
    GPUCHAR_SASS_RULE_ANY_ACTIVE = 2,
    /* The first BSYNC, of any interval, on the way up the post-dominators. */
    GPUCHAR_SASS_RULE_FIRST_ABOVE = 3,
    /* The next BSYNC in the code behind the branch, of any interval. */
    GPUCHAR_SASS_RULE_NEXT_IN_CODE = 4,
    GPUCHAR_SASS_RULES = 5
};

/* Where the matched BSYNC stands, by its block. */
enum {
    GPUCHAR_SASS_PLACED_NONE = 0,   /* no interval matches */
    GPUCHAR_SASS_PLACED_AT = 1,     /* in the immediate post-dominator of the branch */
    GPUCHAR_SASS_PLACED_BEFORE = 2, /* the immediate post-dominator strictly post-dominates it */
    GPUCHAR_SASS_PLACED_AFTER = 3,  /* it strictly post-dominates the immediate post-dominator */
    GPUCHAR_SASS_PLACED_ASIDE = 4   /* none of these */
};

#define GPUCHAR_SASS_PLACED(rule, placement) ((rule)*5 + (placement))

/* Bits of gpuchar_sass_branch.flags. */
enum {
    GPUCHAR_SASS_BRANCH_DIVERGENT = 1u << 0,    /* not proved uniform */
    GPUCHAR_SASS_BRANCH_UNIFORM_FORM = 1u << 1, /* uniform by its form: .U, a uniform predicate, .DIV, .CONV */
    GPUCHAR_SASS_BRANCH_UNIFORM_DATA =
        1u << 2,                        /* its predicate is the same in all threads: own analysis, sm_70 and later */
    GPUCHAR_SASS_BRANCH_BACK = 1u << 3, /* closes a loop */
    GPUCHAR_SASS_BRANCH_CALL = 1u << 4, /* CALL.REL.NOINC */
    GPUCHAR_SASS_BRANCH_INDIRECT = 1u << 5,
    GPUCHAR_SASS_BRANCH_OUTSIDE = 1u << 6,        /* no interval is around it */
    GPUCHAR_SASS_BRANCH_BROKEN = 1u << 7,         /* a BREAK stands in the interval that the primary rule finds */
    GPUCHAR_SASS_BRANCH_UNIFORM_COMPARE = 1u << 8 /* by a uniform predicate that a UISETP of its block made */
};

/* A reachable branch with two or more ways; before sm_70 also SYNC, BRK and CONT under a predicate. Frozen. */
typedef struct gpuchar_sass_branch {
    uint64_t pc_bytes;
    uint64_t meet_bytes;  /* first instruction of its immediate post-dominator; GPUCHAR_SASS_NO_PC: the exit */
    uint64_t bsync_bytes; /* of the interval that the primary rule finds; else GPUCHAR_SASS_NO_PC */
    uint32_t instruction; /* index in the function */
    uint32_t block;
    uint32_t opcode;
    uint32_t flags;
    uint32_t interval;      /* index of the innermost interval around it; GPUCHAR_SASS_NO_BLOCK: none */
    uint32_t match;         /* and of the one that the primary rule finds */
    uint32_t placement[5];  /* GPUCHAR_SASS_PLACED_..., by rule */
    uint32_t partial_joins; /* inner intervals around it whose BSYNC does not post-dominate it */
    uint32_t depth;         /* intervals around it */
    uint32_t reserved;
} gpuchar_sass_branch;

/* Bits of gpuchar_sass_interval.flags. */
enum {
    GPUCHAR_SASS_INTERVAL_REACHABLE = 1u << 0,
    /* Its barrier's BSYNC (or SYNC) stands where it says; by another register when a BMOV put the barrier there. */
    GPUCHAR_SASS_INTERVAL_MATCHED = 1u << 1,
    GPUCHAR_SASS_INTERVAL_CROSSED = 1u << 2 /* it overlaps another one without being inside */
};

/*
 * What BSSY opens and BSYNC closes: [bssy, bsync). Before sm_70 from SSY, PBK or PCNT (barrier 0, 1, 2) to its target,
 * where SYNC, BRK or CONT goes. Frozen.
 */
typedef struct gpuchar_sass_interval {
    uint64_t bssy_bytes;
    uint64_t bsync_bytes;
    uint32_t barrier;
    uint32_t barrier_class;
    uint32_t parent; /* the interval around it, an index; GPUCHAR_SASS_NO_BLOCK: none */
    uint32_t depth;  /* 1: outermost */
    uint32_t breaks; /* BREAK of its barrier inside it and inside no inner interval of the same barrier */
    uint32_t flags;
    /* Divergent branches of which it is the innermost interval, by placement under that rule. */
    uint32_t innermost[5];
    uint32_t primary[5]; /* and those that the primary rule matches with it */
} gpuchar_sass_interval;

typedef struct gpuchar_sass_reconvergence {
    size_t struct_size;
    gpuchar_sass_branch *branches; /* in the order of the code; owned by the result */
    size_t branch_count;
    gpuchar_sass_interval *intervals; /* in the order of the code, outer before inner; owned by the result */
    size_t interval_count;
    uint64_t divergent; /* branches that are not proved uniform */
    /* How many of these stand where, by rule and placement: element GPUCHAR_SASS_PLACED(rule, placement). */
    uint64_t placed[25];      /* those that do not close a loop */
    uint64_t placed_back[25]; /* those that do */
    uint32_t depth;           /* most intervals around a reachable point */
    uint32_t live_barriers;   /* most distinct barrier registers among these */
    uint32_t unmatched;       /* intervals whose BSYNC does not stand where they say */
    uint32_t reserved;
} gpuchar_sass_reconvergence;

GPUCHAR_DEFINE_MAKER(gpuchar_sass_reconvergence)
#define GPUCHAR_SASS_RECONVERGENCE_INIT gpuchar_sass_reconvergence_make()
GPUCHAR_API void gpuchar_sass_reconvergence_init(gpuchar_sass_reconvergence *result, size_t size);
GPUCHAR_API void gpuchar_sass_reconvergence_free(gpuchar_sass_reconvergence *result);
/* Where the threads of each branch of a function meet again. Errors as gpuchar_sass_graph_get. */
GPUCHAR_API gpuchar_status gpuchar_sass_reconvergence_get(const gpuchar_sass *sass, size_t function,
                                                          gpuchar_sass_reconvergence *result);

GPUCHAR_END_DECLS

#endif
