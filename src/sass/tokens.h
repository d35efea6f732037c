/*
 * Where SYNC, BRK, CONT, RET and LONGJMP go on sm_50 to sm_62. They carry no target: SSY, PBK, PCNT, PRET and PLONGJMP push one as
 * a token on a stack, and these take the first of their kind from its top, with all above it. Told twice: by following the
 * stack over every way through the function, and by attribute 0x34 of .nv.info.
 */
#ifndef GC_SASS_TOKENS_H
#define GC_SASS_TOKENS_H

#include <gpuchar/status.h>
#include <sass/decode.h>

/* A token deeper than this is E_SASS_FORMAT: compilers' nests stay far below. */
#define GC_TOKENS_DEPTH_MAX 128
#define GC_TOKEN_SSY 0xe29
#define GC_TOKEN_PRET 0xe27

/* An instruction that pushes. Its region is [pc, target). */
typedef struct gc_token_push {
    uint64_t pc;
    uint64_t target;
    uint32_t index;     /* of the instruction */
    uint16_t opcode;    /* bits [63:52]: 0xe29 SSY, 0xe2a PBK ... */
    uint16_t depth;     /* tokens on the stack with its own, on the way that has most; 0: never reached */
    uint16_t ssy_depth; /* SSY tokens among them, likewise */
    uint16_t reserved[3];
} gc_token_push;

/* An instruction that takes a token, or an indirect branch. Its targets: distinct, ascending, each an instruction. */
typedef struct gc_token_site {
    uint32_t index;
    uint32_t followed; /* the first of those that the stack tells, in gc_tokens.targets */
    uint32_t followed_count;
    uint32_t listed; /* the first of the attribute's */
    uint32_t listed_count;
    bool outside; /* on some way the stack holds no such token: RET then leaves the function */
    bool reached; /* by the walk */
    bool call;    /* BRX behind PRET: a call that comes back to PRET's target */
    bool reserved;
} gc_token_site;

typedef struct gc_tokens {
    gc_token_push *pushes; /* ascending by index */
    gc_token_site *sites;  /* ascending by index */
    uint64_t *targets;
    size_t push_count;
    size_t site_count;
    size_t target_count;
    bool complete; /* false: some indirect branch's targets are not known, so the walk may have missed code */
} gc_tokens;

/*
 * E_SASS_FORMAT: a target outside the function, or tokens pushed without end. E_SASS_UNKNOWN: too many different stacks to follow, or
 * code for sm_70 and later, which has none. gc_tokens_free takes a zeroed one too.
 */
gpuchar_status gc_tokens_read(const gc_code *code, gc_tokens *tokens);
void gc_tokens_free(gc_tokens *tokens);

/* NULL: `index` is no such instruction. */
const gc_token_site *gc_tokens_site(const gc_tokens *tokens, size_t index);
/* Targets inside the function: what the stack tells, else what the attribute lists. NULL and 0: none, or not known. */
const uint64_t *gc_tokens_targets(const gc_tokens *tokens, size_t index, size_t *count);

#endif
