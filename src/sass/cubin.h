/*
 * Reader of cubins (ELF64, machine EM_CUDA). It reads bytes it does not trust: every offset is checked, nothing is
 * copied, nothing is allocated. All pointers point into the caller's bytes.
 */
#ifndef GC_SASS_CUBIN_H
#define GC_SASS_CUBIN_H

#include <gpuchar/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gc_cubin {
    const uint8_t *bytes;
    size_t size;
    uint32_t arch; /* 90 for sm_90 */
    uint32_t abi;  /* EI_ABIVERSION: 7 (CUDA 12) or 8 (CUDA 13) */
    uint64_t section_offset;
    uint32_t section_count;
    uint32_t section_size; /* of one header */
    uint32_t names_section;
} gc_cubin;

/* One function's machine code. */
typedef struct gc_code {
    const char *name;
    const uint8_t *bytes;
    size_t size;
    size_t behind;       /* bytes of its section behind it: local callees and padding */
    uint64_t offset;     /* of bytes[0] inside its section: branch targets count from the section's start */
    const uint8_t *info; /* payload of .nv.info.<kernel>, NULL when absent */
    size_t info_size;
    uint32_t arch;
    uint32_t reserved;
} gc_code;

/* One section, as far as it lies in the file. */
typedef struct gc_section {
    const char *name;
    const uint8_t *bytes; /* NULL: it has none in the file */
    uint64_t size;
    uint64_t entry_size;
    uint32_t type; /* SHT_... */
    uint32_t link;
    uint32_t info;
    uint32_t reserved;
} gc_section;

gpuchar_status gc_cubin_open(const void *bytes, size_t size, gc_cubin *cubin);
/* Section `index`; false: there is none, or it lies outside the file. */
bool gc_cubin_section(const gc_cubin *cubin, uint32_t index, gc_section *section);
/* The code of one kernel by name (a kernel's local callees are split off). E_SASS_FORMAT when absent or malformed. */
gpuchar_status gc_cubin_function(const gc_cubin *cubin, const char *kernel, gc_code *code);
/* A function that `kernel` can call: it begins at `pc` of the same section, up to the next one. false: none begins there. */
bool gc_cubin_callee(const gc_cubin *cubin, const gc_code *kernel, uint64_t pc, gc_code *callee);
#define GC_INFO_BRANCH_TARGETS 0x34 /* an attribute's number */

/* One attribute of a kernel, from .nv.info. */
typedef struct gc_attribute {
    const uint8_t *payload; /* of those with a payload, else NULL */
    size_t size;
    uint32_t number;
    bool cut_off; /* its payload ends outside the section: it is the last one and has none */
} gc_attribute;
/* The attribute at *at, which moves on to the next one and begins at 0. False: there are no more. */
bool gc_code_attribute(const gc_code *code, size_t *at, gc_attribute *attribute);

/* How many bytes an instruction takes. */
static inline uint32_t gc_code_unit(const gc_code *code) {
    return code->arch >= 70 ? 16 : 8;
}
/*
 * Instructions by number. Before sm_70 a section is groups of four 64-bit words, of which the first schedules the other
 * three: it is no instruction and has no number. A function may begin or end inside a group.
 */
static inline uint64_t gc_slots_before(uint64_t pc) {
    const uint64_t word = pc % 32 / 8;
    return pc / 32 * 3 + (word ? word - 1 : 0);
}
static inline size_t gc_code_count(const gc_code *code) {
    if (code->arch >= 70) return code->size / 16;
    return (size_t)(gc_slots_before(code->offset + code->size) - gc_slots_before(code->offset));
}
/* Where instruction `index` stands, counted from bytes[0]. */
static inline size_t gc_code_offset(const gc_code *code, size_t index) {
    if (code->arch >= 70) return index * 16;
    const uint64_t slot = gc_slots_before(code->offset) + index;
    return (size_t)(slot / 3 * 32 + 8 + slot % 3 * 8 - code->offset);
}
/* The other way round, from a program counter; SIZE_MAX: no instruction of this function begins there. */
static inline size_t gc_code_index(const gc_code *code, uint64_t pc) {
    if (pc < code->offset || pc - code->offset >= code->size) return SIZE_MAX;
    if (code->arch >= 70) return (pc - code->offset) % 16 ? SIZE_MAX : (size_t)(pc - code->offset) / 16;
    return pc % 8 || pc % 32 == 0 ? SIZE_MAX : (size_t)(gc_slots_before(pc) - gc_slots_before(code->offset));
}
/*
 * Targets of the indirect branch at `pc` (attribute 0x34): writes up to `capacity`, returns the number (which may be
 * more than `capacity`), 0 when not listed. Targets may repeat.
 */
size_t gc_code_branch_targets(const gc_code *code, uint64_t pc, uint64_t *targets, size_t capacity);

#endif
