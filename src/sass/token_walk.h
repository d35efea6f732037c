/* The walk behind tokens.h: every way through a function with the stack of tokens it brings along. */
#ifndef GC_SASS_TOKEN_WALK_H
#define GC_SASS_TOKEN_WALK_H

#include <sass/tokens.h>

/* One target of one site, in a list by site. */
typedef struct gc_token_found {
    uint64_t target;
    uint32_t site;
    uint32_t next; /* UINT32_MAX: the last */
} gc_token_found;

typedef struct gc_token_walk {
    const gc_code *code;
    gc_tokens *tokens; /* pushes, sites and their listed targets are filled; the rest is the walk's */
    gc_instruction *instructions;
    uint32_t count;
    uint32_t found_count;
    gc_token_found *found;
    uint32_t *found_first; /* by site */
    uint32_t *role;        /* by instruction: its number among pushes or sites */
    uint8_t *leaders;      /* by instruction: the walk may come here from elsewhere */
    uint32_t found_capacity;
    uint32_t reserved;
} gc_token_walk;

gpuchar_status gc_token_walk_run(gc_token_walk *walk);

#endif
