/* From machine code to counts: pure functions of what the reader of machine code tells. */
#ifndef GC_EXPERIMENTS_RECONVERGENCE_REDUCE_H
#define GC_EXPERIMENTS_RECONVERGENCE_REDUCE_H

#include <gpuchar/reconvergence_study.h>
#include <gpuchar/sass.h>
#include <stdbool.h>

/* One divergent branch that closes no loop, with a line. Ordered by its members, first to last. */
typedef struct gc_study_site {
    uint64_t kernel; /* hash of text and kernel */
    uint32_t file;
    uint32_t line;
    uint32_t place; /* under the primary rule; GC_STUDY_OUTSIDE: no interval is around it */
    uint32_t reserved;
} gc_study_site;
#define GC_STUDY_OUTSIDE 5u

/* What one cubin holds. Zeroed: empty. */
typedef struct gc_study_reading {
    gpuchar_reconvergence_kernel *kernels; /* one per code section */
    size_t kernel_count;
    gc_study_site *sites; /* ordered */
    size_t site_count;
    char assembler[128];
    uint32_t architecture;
    uint32_t reserved;
} gc_study_reading;

/* What to make of a cubin. */
typedef struct gc_study_text {
    uint32_t index; /* which text it was made from: equal kernels of two texts are two */
    bool deep;      /* of the deep nests: their kernels' names end in the number of levels */
    bool lines;     /* whether its sites are wanted */
} gc_study_text;

/* E_SASS_FORMAT, E_SASS_UNKNOWN, E_OUT_OF_MEMORY. */
gpuchar_status gc_study_read(const void *cubin, size_t size, const gc_study_text *text, gc_study_reading *reading);
void gc_study_reading_free(gc_study_reading *reading);

/* One instruction of a kernel, or of a function that kernels call. */
void gc_study_count_instruction(const gpuchar_sass_instruction *instruction, uint32_t architecture, bool in_kernel,
                                gpuchar_reconvergence_counts *counts);
/* The branches and intervals of one function. */
void gc_study_count_records(const gpuchar_sass_reconvergence *records, gpuchar_reconvergence_counts *counts);
/* Adds sums, keeps the greater of what is no sum. */
void gc_study_add(gpuchar_reconvergence_counts *sum, const gpuchar_reconvergence_counts *part);
/* What the deep nests of one row become. */
gpuchar_reconvergence_deep gc_study_deep(const gpuchar_reconvergence_kernel *kernels, size_t count);
/* "release 13.0, V13.0.88" to 13000; 0: no such thing in it. */
uint32_t gc_study_release(const char *text);

/* qsort's. */
int gc_study_site_order(const void *a, const void *b);
/* Counts of a pair from two ordered lists. */
void gc_study_match(const gc_study_site *a, size_t a_count, const gc_study_site *b, size_t b_count,
                    gpuchar_reconvergence_pair *pair);

#endif
