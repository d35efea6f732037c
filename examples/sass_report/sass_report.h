/* Parts of sass_report. */
#ifndef SASS_REPORT_H
#define SASS_REPORT_H

#include <gpuchar/gpuchar.h>
#include <gpuchar/sass_file.h>
#include <stdbool.h>
#include <stdio.h>

enum { EXIT_FAILED = 1, EXIT_WRONG_USAGE = 2 };

typedef struct arguments {
    const char *function; /* NULL: all */
    uint32_t arch;        /* 0: all */
    uint32_t top;         /* lines of the instruction mix */
    bool json, dot, branches, instructions, no_mix;
    char **files;
    int file_count;
} arguments;

/* One cubin of a file, and one function of it, analyzed. */
typedef struct image {
    const char *path;
    size_t index; /* in the file */
    gpuchar_sass *sass;
    gpuchar_sass_info info;
} image;

typedef struct analyzed {
    size_t index;
    gpuchar_sass_function function;
    gpuchar_sass_graph graph;
    gpuchar_sass_reconvergence found;
} analyzed;

typedef struct totals {
    uint64_t functions, instructions, blocks, edges, loops, irreducible, branches, intervals;
    uint64_t divergent, depth;
    uint64_t placed[25], placed_back[25];
} totals;

/* Names come from files: what a terminal would obey is shown as '?'. */
void put_name(FILE *to, const char *name);
/* The library's last error. */
void complain(const char *path, const char *what);

/* sass_tables.c: for people. */
void table_image(const image *i);
void table_function(const arguments *a, const image *i, const analyzed *f);
void table_totals(const totals *t);
void table_mix(const arguments *a, const gpuchar_sass_mix *mix);

/* sass_document.c: one JSON document. */
void document_begin(void);
void document_image(const image *i);
/* False: something could not be written. */
bool document_function(const arguments *a, const image *i, const analyzed *f);
bool document_image_end(const totals *t, const gpuchar_sass_mix *mix);
void document_end(void);

#endif
