/*
 * Small cubins made by hand, of one section of code: a kernel, local functions inside it, its attributes and its note; and
 * the few instructions of control flow that tests need. Each cubin is a block of exactly its size, so that a sanitizer sees
 * every byte read beyond it.
 */
#ifndef UNIT_CUBIN_WRITER_H
#define UNIT_CUBIN_WRITER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <gpuchar/sass.h>

#define CUBIN_CODE_MAX 4096
#define CUBIN_BYTES_MAX 8192

typedef struct cubin_word {
    uint64_t low, high;
} cubin_word;

/* What a cubin is made of. Zeroed but for the architecture it is one without anything. */
typedef struct cubin_parts {
    uint32_t arch;
    cubin_word code[CUBIN_CODE_MAX];
    uint32_t count;
    uint32_t function_count; /* beside the kernel, which begins at 0 */
    struct {
        const char *name;
        uint64_t at; /* bytes */
    } functions[8];
    uint32_t info[1024]; /* .nv.info.kernel, words */
    uint32_t info_count;
    uint32_t info_bytes; /* 0: all of them */
    const char *version; /* of the assembler's note; NULL: no note */
    const char *options;
    uint32_t cut_bytes; /* so many are missing at the end of the code */
    uint32_t info_link; /* 0: the code's section */
    uint32_t no_symbols;
} cubin_parts;

typedef struct cubin_image {
    void *bytes;
    size_t size;
} cubin_image;

/* ---- instructions: each is added at the end, and its index returned ---- */

#define CODE_PT 7u
#define CODE_NOT 8u /* of a predicate */
#define CODE_RZ 255u

static inline void code_set(cubin_word *word, uint32_t high, uint32_t low, uint64_t value) {
    for (uint32_t bit = low; bit <= high; bit++) {
        uint64_t *half = bit < 64 ? &word->low : &word->high;
        const uint64_t one = UINT64_C(1) << bit % 64;
        *half = value >> (bit - low) & 1 ? *half | one : *half & ~one;
    }
}

/* An instruction of this opcode (bit 12 is the word's bit 91) under a guard, with no second predicate and no result predicates. */
static inline uint32_t code_add(cubin_parts *parts, uint32_t opcode, uint32_t guard) {
    assert_true(parts->count < CUBIN_CODE_MAX);
    cubin_word *word = &parts->code[parts->count];
    *word = (cubin_word){0};
    code_set(word, 11, 0, opcode);
    code_set(word, 91, 91, opcode >> 12);
    code_set(word, 15, 12, guard);
    code_set(word, 90, 81, 0x1ff); /* all PT */
    code_set(word, 121, 110, 0x3f);
    return parts->count++;
}

static inline void code_field(cubin_parts *parts, uint32_t at, uint32_t high, uint32_t low, uint64_t value) {
    code_set(&parts->code[at], high, low, value);
}

static inline uint32_t code_nop(cubin_parts *parts) {
    return code_add(parts, 0x918, CODE_PT);
}
static inline uint32_t code_exit(cubin_parts *parts, uint32_t guard) {
    return code_add(parts, 0x94d, guard);
}

/* Lets a branch lead to an instruction. */
static inline void code_aim(cubin_parts *parts, uint32_t at, uint32_t target) {
    const uint64_t offset = (uint64_t)(((int64_t)target - (int64_t)at - 1) * 4);
    if (parts->arch >= 90) {
        code_field(parts, at, 23, 16, offset & 0xff);
        code_field(parts, at, 81, 34, offset >> 8);
    } else {
        code_field(parts, at, 81, 34, offset);
    }
}

static inline uint32_t code_bra(cubin_parts *parts, uint32_t guard, uint32_t target) {
    const uint32_t at = code_add(parts, 0x947, guard);
    code_field(parts, at, 86, 82, 0);
    code_aim(parts, at, target);
    return at;
}

/* With the second predicate. */
static inline uint32_t code_bra_by(cubin_parts *parts, uint32_t guard, uint32_t second, uint32_t target) {
    const uint32_t at = code_bra(parts, guard, target);
    code_field(parts, at, 90, 87, second);
    return at;
}

static inline uint32_t code_barrier(cubin_parts *parts, uint32_t opcode, uint32_t guard, uint32_t barrier) {
    const uint32_t at = code_add(parts, opcode, guard);
    code_field(parts, at, 19, 16, barrier);
    return at;
}

/* Its threads meet at the BSYNC that stands at index `bsync`. */
static inline uint32_t code_bssy(cubin_parts *parts, uint32_t barrier, uint32_t bsync) {
    const uint32_t at = code_barrier(parts, 0x945, CODE_PT, barrier);
    code_field(parts, at, 63, 34, (uint64_t)(((int64_t)bsync - (int64_t)at) * 4));
    return at;
}
static inline uint32_t code_bsync(cubin_parts *parts, uint32_t barrier) {
    return code_barrier(parts, 0x941, CODE_PT, barrier);
}
static inline uint32_t code_break(cubin_parts *parts, uint32_t guard, uint32_t barrier) {
    return code_barrier(parts, 0x942, guard, barrier);
}

static inline uint32_t code_brx(cubin_parts *parts, uint32_t guard, uint32_t address) {
    const uint32_t at = code_add(parts, 0x949, guard);
    code_field(parts, at, 31, 24, address);
    return at;
}

/* CALL.REL.NOINC */
static inline uint32_t code_call(cubin_parts *parts, uint32_t guard, uint32_t target) {
    const uint32_t at = code_add(parts, 0x944, guard);
    code_field(parts, at, 86, 82, 0x10);
    code_aim(parts, at, target);
    return at;
}

/* ---- attributes ---- */

/* The targets of the indirect branch at an index, instruction indices. */
static inline void code_table(cubin_parts *parts, uint32_t at, const uint32_t *targets, uint32_t count) {
    uint32_t *info = &parts->info[parts->info_count];
    info[0] = (12 + 4 * count) << 16 | 0x3404;
    info[1] = at * 16;
    info[2] = 0;
    info[3] = count;
    for (uint32_t i = 0; i < count; i++) info[4 + i] = targets[i] * 16;
    parts->info_count += 4 + count;
}

/* ---- the file ---- */

enum { CUBIN_NULL, CUBIN_NAMES, CUBIN_STRINGS, CUBIN_SYMBOLS, CUBIN_TEXT, CUBIN_INFO, CUBIN_NOTE, CUBIN_SECTIONS };

static inline uint32_t cubin_name(char *table, uint32_t *size, const char *name) {
    const uint32_t at = *size;
    strcpy(table + at, name);
    *size += (uint32_t)strlen(name) + 1; // NOLINT(clang-analyzer-unix.Malloc): the file is given back by its test
    return at;
}

/* Everything that is put one behind the other. */
typedef struct cubin_file {
    uint8_t *bytes;
    size_t size;
    Elf64_Shdr sections[CUBIN_SECTIONS];
    char names[256];
    uint32_t names_size;
} cubin_file;

static inline void cubin_put(cubin_file *file, uint32_t index, uint32_t type, const char *name, const void *bytes,
                             size_t size) {
    Elf64_Shdr *section = &file->sections[index];
    section->sh_type = type;
    section->sh_name = cubin_name(file->names, &file->names_size, name);
    section->sh_offset = file->size;
    section->sh_size = size;
    if (size) memcpy(file->bytes + file->size, bytes, size);
    file->size += (size + 7) / 8 * 8;
}

static inline void cubin_put_symbols(cubin_file *file, const cubin_parts *parts) {
    char strings[512] = {0};
    uint32_t size = 1;
    Elf64_Sym symbols[10] = {{0}};
    symbols[1].st_name = cubin_name(strings, &size, "kernel");
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1].st_other = 0x10;
    symbols[1].st_shndx = CUBIN_TEXT;
    symbols[1].st_size = (uint64_t)parts->count * 16;
    for (uint32_t i = 0; i < parts->function_count; i++) {
        Elf64_Sym *symbol = &symbols[2 + i];
        symbol->st_name = cubin_name(strings, &size, parts->functions[i].name);
        symbol->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
        symbol->st_shndx = CUBIN_TEXT;
        symbol->st_value = parts->functions[i].at;
    }
    cubin_put(file, CUBIN_STRINGS, SHT_STRTAB, ".strtab", strings, size);
    cubin_put(file, CUBIN_SYMBOLS, parts->no_symbols ? SHT_NOTE : SHT_SYMTAB, ".symtab", symbols,
              (2 + parts->function_count) * sizeof symbols[0]);
    file->sections[CUBIN_SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    file->sections[CUBIN_SYMBOLS].sh_link = CUBIN_STRINGS;
}

static inline void cubin_put_note(cubin_file *file, const cubin_parts *parts) {
    char texts[512] = {0};
    uint32_t size = 1;
    uint32_t words[12] = {12, 24, 2000};
    memcpy(&words[3], "NVIDIA Corp", 12);
    words[6] = 2;
    words[9] = cubin_name(texts, &size, parts->version);
    words[11] = cubin_name(texts, &size, parts->options);
    words[1] = 24 + size;
    uint8_t note[sizeof words + sizeof texts];
    memcpy(note, words, sizeof words);
    memcpy(note + sizeof words, texts, size);
    cubin_put(file, CUBIN_NOTE, SHT_NOTE, ".note.nv.tkinfo", note, sizeof words + size);
}

static inline void cubin_put_header(const cubin_file *file, uint32_t arch) {
    Elf64_Ehdr header = {0};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_OSABI] = 0x41;
    header.e_ident[EI_ABIVERSION] = 8;
    header.e_machine = 190;
    header.e_flags = arch << 8 | 0x06000002;
    header.e_shoff = file->size;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = CUBIN_SECTIONS;
    header.e_shstrndx = CUBIN_NAMES;
    memcpy(file->bytes, &header, sizeof header);
}

static inline cubin_image cubin_make(const cubin_parts *parts) {
    const size_t code = (size_t)parts->count * 16;
    cubin_file file = {.bytes = calloc(code + CUBIN_BYTES_MAX, 1), .size = sizeof(Elf64_Ehdr), .names_size = 1};
    assert_non_null(file.bytes);
    cubin_put_symbols(&file, parts);
    cubin_put(&file, CUBIN_TEXT, SHT_PROGBITS, ".text.kernel", parts->code, code - parts->cut_bytes);
    cubin_put(&file, CUBIN_INFO, 0x70000000, ".nv.info.kernel", parts->info,
              parts->info_bytes ? parts->info_bytes : parts->info_count * 4);
    file.sections[CUBIN_INFO].sh_info = parts->info_link ? parts->info_link : CUBIN_TEXT;
    if (parts->version) cubin_put_note(&file, parts);
    cubin_put(&file, CUBIN_NAMES, SHT_STRTAB, ".shstrtab", file.names, sizeof file.names);
    cubin_put_header(&file, parts->arch);
    cubin_image image = {.size = file.size + sizeof file.sections};
    image.bytes = malloc(image.size);
    assert_non_null(image.bytes);
    memcpy(image.bytes, file.bytes, file.size);
    memcpy((uint8_t *)image.bytes + file.size, file.sections, sizeof file.sections);
    free(file.bytes);
    return image;
}

/* The handle of a cubin that must open. */
static inline gpuchar_sass *cubin_open(const cubin_parts *parts, cubin_image *image) {
    gpuchar_sass *sass = NULL;
    *image = cubin_make(parts);
    assert_int_equal(gpuchar_sass_open(image->bytes, image->size, &sass), GPUCHAR_OK);
    return sass;
}

static inline cubin_parts *cubin_begin(uint32_t arch) {
    cubin_parts *parts = calloc(1, sizeof *parts);
    assert_non_null(parts);
    parts->arch = arch;
    return parts;
}

#endif
