/*
 * Which source line an instruction comes from: the line table that -lineinfo leaves in a cubin (DWARF 2 as NVIDIA writes
 * it, one sequence per code section, told apart by relocations).
 */
#ifndef GC_SASS_LINES_H
#define GC_SASS_LINES_H

#include <sass/cubin.h>

/* From this program counter on, up to the next entry. */
typedef struct gc_line_entry {
    uint64_t pc;
    uint32_t section; /* index of the code section */
    uint32_t file;    /* number in the table's own list; 1 is mostly the text compiled */
    uint32_t line;    /* 0: none, here a sequence ends */
    uint32_t order;   /* among entries of one program counter the last one counts */
} gc_line_entry;

typedef struct gc_lines {
    gc_line_entry *entries; /* by section and program counter */
    size_t count;
} gc_lines;

/* E_SASS_FORMAT (damaged, or another version), E_OUT_OF_MEMORY. A cubin without a line table is no error: it has no entries. */
gpuchar_status gc_lines_read(const gc_cubin *cubin, gc_lines *lines);
void gc_lines_free(gc_lines *lines); /* takes a zeroed one too */
/* Index of the section of this name, ".text.kernel"; UINT32_MAX: there is none. */
uint32_t gc_lines_section(const gc_cubin *cubin, const char *name);
/* The entry that a program counter belongs to; NULL: it has no line. */
const gc_line_entry *gc_lines_find(const gc_lines *lines, uint32_t section, uint64_t pc);

#endif
