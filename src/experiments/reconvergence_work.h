/* The study's cells: which text goes through which compiler, for which architecture, and what came of it. */
#ifndef GC_EXPERIMENTS_RECONVERGENCE_WORK_H
#define GC_EXPERIMENTS_RECONVERGENCE_WORK_H

#include <codegen/compile.h>
#include <core/error.h>
#include <experiments/reconvergence_reduce.h>
#include <pthread.h>
#include <session/runtime_internal.h>

/* A text that is compiled. */
typedef struct gc_study_input {
    const char *name;
    const char *source;
    const char **flags; /* the caller's and -lineinfo */
    size_t flag_count;
    gc_define work; /* of the corpus; without a name: none */
    gc_study_text text;
    /* Its PTX, made by the first one who needs it. */
    pthread_mutex_t lock;
    bool tried;
    gpuchar_status ptx_status;
    gpuchar_error *ptx_error;
    char *ptx;
    size_t ptx_length;
} gc_study_input;

typedef struct gc_study_assembler {
    const char *path;
    char release[128]; /* its own words */
    uint32_t version;
    uint32_t reserved;
} gc_study_assembler;

/* One text (or a ready cubin) of one row. */
typedef struct gc_study_cell {
    size_t row;
    gc_study_input *input;                    /* NULL: the ready cubin */
    const gpuchar_reconvergence_cubin *ready; /* NULL: the input */
    gc_study_reading reading;
    uint64_t compile_ns, analyze_ns;
    gpuchar_status status;
    char message[240];
} gc_study_cell;

/* When a cell is begun. */
typedef struct gc_study_turn {
    size_t cell;
    size_t architecture;
} gc_study_turn;

typedef struct gc_study {
    const gpuchar_reconvergence_study_options *options;
    gpuchar_runtime *runtime;
    const gc_nvrtc **compilers;
    gc_nvrtc *loaded; /* those that are this study's own */
    size_t compiler_count;
    gc_study_assembler *assemblers;
    size_t assembler_count;
    gc_study_input *inputs;
    size_t input_count;
    char *corpus, *nests; /* the built-in texts */
    gpuchar_reconvergence_row *rows;
    size_t row_count;
    gc_study_cell *cells; /* by row */
    size_t cell_count;
    gc_study_turn *turns; /* the cells as they are begun */
    uint32_t threads;
    uint32_t reserved;
} gc_study;

/* Finds and loads what the options name, writes the texts, lays out rows and cells. Close it in any case. */
gpuchar_status gc_study_open(gc_study *study);
void gc_study_close(gc_study *study);
/* Runs all cells. Only E_CANCELLED and E_OUT_OF_MEMORY end it: other failures are those of their cells. */
gpuchar_status gc_study_run(gc_study *study);
/* Machine code of one cell, from malloc; `*image` instead where it is shared with the cache. */
gpuchar_status gc_study_make(const gc_study *study, gc_study_cell *cell, gc_image **image, void **bytes, size_t *size);
/* Runs an assembler to learn its version. */
gpuchar_status gc_study_assembler_open(const char *path, gc_study_assembler *assembler);

#endif
