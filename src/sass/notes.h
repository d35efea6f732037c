/* What a cubin tells about the assembler that made it. */
#ifndef GC_SASS_NOTES_H
#define GC_SASS_NOTES_H

#include <sass/cubin.h>

/* Texts in the cubin's bytes, ended by a zero; "" where it does not tell. */
typedef struct gc_notes {
    const char *tool;    /* "ptxas" */
    const char *version; /* "Cuda compilation tools, release 13.0, V13.0.88" */
    const char *options; /* "-arch sm_90 -m 64 " */
} gc_notes;

gc_notes gc_notes_read(const gc_cubin *cubin);

#endif
