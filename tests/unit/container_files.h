/* Little writers of the files that hold device code: fat binaries, host ELF files, archives. Everything by hand, from bytes. */
#ifndef TEST_CONTAINER_FILES_H
#define TEST_CONTAINER_FILES_H

#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gpuchar/status.h>
#include <sass/container.h>

/* Bytes that grow. After `exactly` they lie in a block of just their size, so that a sanitizer sees reads beyond. */
typedef struct bytes {
    uint8_t *at;
    size_t size;
} bytes;

static inline void append(bytes *to, const void *from, size_t size) {
    if (size == 0) return;
    uint8_t *grown = realloc(to->at, to->size + size);
    assert_non_null(grown);
    memcpy(grown + to->size, from, size);
    to->at = grown;
    to->size += size;
}

static inline void fill_to(bytes *to, size_t size) {
    static const uint8_t none[64];
    while (to->size < size) append(to, none, size - to->size < sizeof none ? size - to->size : sizeof none);
}

static inline void align_to(bytes *to, size_t unit) {
    fill_to(to, (to->size + unit - 1) / unit * unit);
}

/* The fields of one entry as they lie in the file; see src/sass/fatbin.c. */
typedef struct made_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t image_bytes;
    uint32_t packed_bytes, options_begin;
    uint16_t minor, major;
    uint32_t arch, name_begin, name_bytes;
    uint64_t flags, key, unpacked_bytes;
} made_entry;

enum { MADE_PTX = 1, MADE_CUBIN = 2, MADE_CODE = 8, MADE_LZ4 = 0x2000, MADE_ZSTD = 0x8000, FAT_HEADER = 16 };

static inline made_entry entry_of(uint16_t kind, uint32_t arch, size_t image_bytes) {
    return (made_entry){.kind = kind,
                        .version = 0x101,
                        .header_bytes = sizeof(made_entry),
                        .image_bytes = (image_bytes + 7) / 8 * 8,
                        .minor = 8,
                        .major = 1,
                        .arch = arch,
                        .flags = 0x11};
}

static inline made_entry packed_entry(uint16_t kind, uint32_t arch, size_t packed, size_t unpacked, uint64_t flag) {
    made_entry entry = entry_of(kind, arch, packed);
    entry.packed_bytes = (uint32_t)packed;
    entry.unpacked_bytes = unpacked;
    entry.flags |= flag;
    return entry;
}

static inline void begin_fatbin(bytes *file) {
    const uint32_t header[4] = {0xba55ed50u, 0x00100001u, 0, 0};
    append(file, header, sizeof header);
}

/* An entry with room for options between the fields and the image, as real ones have. */
static inline void add_entry(bytes *file, made_entry entry, const void *image, size_t size) {
    const size_t extra = entry.header_bytes - sizeof entry;
    append(file, &entry, sizeof entry);
    if (extra < 4096) fill_to(file, file->size + extra);
    append(file, image, size);
    align_to(file, 8);
}

/* Tells the size of the fat binary that begins at `begin`. */
static inline void end_fatbin(bytes *file, size_t begin) {
    const uint64_t size = file->size - begin - FAT_HEADER;
    memcpy(file->at + begin + 8, &size, sizeof size);
}

typedef struct made_section {
    const char *name;
    const bytes *content;
    uint32_t type;
} made_section;

/* A 64-bit ELF file for `machine` with these sections, each at a multiple of 8. */
static inline bytes make_elf(uint16_t machine, const made_section *sections, size_t count) {
    bytes file = {0}, names = {0};
    Elf64_Ehdr header = {0};
    Elf64_Shdr *table = calloc(count + 2, sizeof *table);
    assert_non_null(table);
    append(&file, &header, sizeof header);
    append(&names, "\0.shstrtab", 11);
    for (size_t i = 0; i < count; i++) {
        align_to(&file, 8);
        table[i + 2].sh_name = (Elf64_Word)names.size;
        table[i + 2].sh_type = sections[i].type;
        table[i + 2].sh_offset = file.size;
        table[i + 2].sh_size = sections[i].content->size;
        append(&names, sections[i].name, strlen(sections[i].name) + 1);
        if (sections[i].type != SHT_NOBITS) append(&file, sections[i].content->at, sections[i].content->size);
    }
    table[1] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = file.size, .sh_size = names.size};
    append(&file, names.at, names.size);
    align_to(&file, 8);
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_machine = machine;
    header.e_shoff = file.size;
    header.e_shentsize = sizeof *table;
    header.e_shnum = (Elf64_Half)(count + 2);
    header.e_shstrndx = 1;
    append(&file, table, (count + 2) * sizeof *table);
    memcpy(file.at, &header, sizeof header);
    free(table);
    free(names.at);
    return file;
}

/* As little of a cubin as its reader opens: a table of one section. */
static inline bytes make_cubin(uint32_t arch, uint8_t fill) {
    bytes text = {0};
    for (int i = 0; i < 200; i++) append(&text, &fill, 1);
    bytes made = make_elf(190, &(made_section){".text.k", &text, SHT_PROGBITS}, 1);
    const uint32_t flags = arch << 8;
    made.at[EI_OSABI] = 0x41;
    made.at[EI_ABIVERSION] = 8;
    memcpy(made.at + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof flags);
    free(text.at);
    return made;
}

static inline void begin_archive(bytes *file) {
    append(file, "!<arch>\n", 8);
}

static inline void add_member(bytes *file, const char *name, const bytes *content) {
    char header[61];
    snprintf(header, sizeof header, "%-16.16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644, content->size);
    append(file, header, 60);
    append(file, content->at, content->size);
    if (content->size % 2) append(file, "\n", 1);
}

/* It is refused this way, and nothing is left over. Frees the bytes. */
static inline void assert_refused(bytes *file, gpuchar_status status) {
    gc_container container;
    assert_int_equal(gc_container_open(file->at, file->size, &container), status);
    assert_null(container.images);
    assert_int_equal(container.count, 0);
    assert_true(gpuchar_last_error()->message[0] != 0);
    free(file->at);
    *file = (bytes){0};
}

#endif
