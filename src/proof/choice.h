/* What a compiler made of a decision: a whole kernel that holds nothing else is read and counted. */
#ifndef GC_PROOF_CHOICE_H
#define GC_PROOF_CHOICE_H

#include <gpuchar/status.h>
#include <stddef.h>
#include <stdint.h>

/* Instructions of the kernel that control can reach. */
typedef struct gc_choice {
    uint32_t branches;   /* conditional ones */
    uint32_t predicated; /* under a predicate, other than branches and ends */
    uint32_t selects;    /* one of two values, by a predicate */
    uint32_t works;      /* with the mnemonic asked for */
} gc_choice;

/*
 * Reads the kernel from the decoded machine code alone. Errors: E_SASS_FORMAT (malformed bytes, no such kernel),
 * E_SASS_UNKNOWN (sm_61 and older, a branch whose targets are not known), E_OUT_OF_MEMORY.
 */
gpuchar_status gc_read_choice(const void *cubin, size_t size, const char *kernel, const char *mnemonic,
                              gc_choice *choice);

#endif
