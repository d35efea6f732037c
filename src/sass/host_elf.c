/*
 * Fat binaries in ELF files for the host's processor, x86-64 or aarch64. Sections made for them hold nothing else; but libraries
 * carry fat binaries in plain data too, and a stripped file may have no sections: so all other bytes are searched.
 */
#include <core/error.h>
#include <elf.h>
#include <sass/container_parts.h>
#include <stdlib.h>
#include <string.h>

typedef struct host_elf {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t table;
    uint64_t sections;
    uint64_t section_bytes; /* of one header */
    Elf64_Shdr names;
} host_elf;

static gpuchar_status bad(const char *what) {
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed ELF file: %s", what);
}

static Elf64_Shdr section_at(const host_elf *elf, uint64_t index) {
    Elf64_Shdr section;
    memcpy(&section, elf->bytes + elf->table + index * elf->section_bytes, sizeof section);
    return section;
}

static bool in_file(const host_elf *elf, const Elf64_Shdr *section) {
    return section->sh_type != SHT_NOBITS && section->sh_offset <= elf->size &&
           section->sh_size <= elf->size - section->sh_offset;
}

/* Finds the section table; without one `sections` stays 0. Counts that do not fit the header stand in section 0. */
static gpuchar_status read_table(host_elf *elf) {
    Elf64_Ehdr header;
    if (elf->size < sizeof header) return bad("it is cut off");
    memcpy(&header, elf->bytes, sizeof header);
    if (header.e_shoff == 0) return GPUCHAR_OK;
    if (header.e_shentsize < sizeof(Elf64_Shdr)) return bad("section headers are too small");
    elf->table = header.e_shoff;
    elf->section_bytes = header.e_shentsize;
    if (elf->table > elf->size || elf->size - elf->table < elf->section_bytes)
        return bad("the section table lies outside the file");
    const Elf64_Shdr first = section_at(elf, 0);
    elf->sections = header.e_shnum ? header.e_shnum : first.sh_size;
    if (elf->sections > (elf->size - elf->table) / elf->section_bytes)
        return bad("the section table lies outside the file");
    const uint64_t names = header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
    if (elf->sections == 0) return GPUCHAR_OK;
    if (names >= elf->sections) return bad("no table of section names");
    elf->names = section_at(elf, names);
    return in_file(elf, &elf->names) ? GPUCHAR_OK : bad("the section names lie outside the file");
}

static bool is_called(const host_elf *elf, const Elf64_Shdr *section, const char *name) {
    const size_t length = strlen(name) + 1;
    if (section->sh_name >= elf->names.sh_size || elf->names.sh_size - section->sh_name < length) return false;
    return memcmp(elf->bytes + elf->names.sh_offset + section->sh_name, name, length) == 0;
}

static bool holds_fatbins(const host_elf *elf, const Elf64_Shdr *section) {
    return section->sh_type != SHT_NOBITS && section->sh_size > 0 &&
           (is_called(elf, section, ".nv_fatbin") || is_called(elf, section, "__nv_relfatbin"));
}

static int by_begin(const void *one, const void *other) {
    const gc_range *a = one, *b = other;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* The sections that hold fat binaries, by their place in the file. */
static gpuchar_status find_sections(const host_elf *elf, uint64_t origin, gc_range **ranges, size_t *count) {
    size_t found = 0;
    for (uint64_t i = 0; i < elf->sections; i++) {
        const Elf64_Shdr section = section_at(elf, i);
        found += holds_fatbins(elf, &section);
    }
    if (found == 0) return GPUCHAR_OK;
    *ranges = malloc(found * sizeof **ranges);
    if (!*ranges) return gc_fail_memory(found * sizeof **ranges);
    for (uint64_t i = 0; i < elf->sections; i++) {
        const Elf64_Shdr section = section_at(elf, i);
        if (!holds_fatbins(elf, &section)) continue;
        if (!in_file(elf, &section)) return bad("a section of fat binaries lies outside the file");
        const uint64_t begin = origin + section.sh_offset;
        (*ranges)[(*count)++] = (gc_range){begin, begin + section.sh_size};
    }
    qsort(*ranges, *count, sizeof **ranges, by_begin);
    return GPUCHAR_OK;
}

static gpuchar_status search_all(gc_container *container, gc_range whole, const gc_range *ranges, size_t count) {
    uint64_t at = whole.begin;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].begin < at) return bad("sections of fat binaries overlap");
        gpuchar_status status =
            gc_fatbin_search(container, (gc_range){at, ranges[i].begin}, whole.begin, GC_SEARCH_WHOLE);
        if (!status) status = gc_fatbin_search(container, ranges[i], whole.begin, GC_SEARCH_ONLY);
        if (status) return status;
        at = ranges[i].end;
    }
    return gc_fatbin_search(container, (gc_range){at, whole.end}, whole.begin, GC_SEARCH_WHOLE);
}

gpuchar_status gc_host_elf_walk(gc_container *container, gc_range range) {
    host_elf elf = {.bytes = container->bytes + range.begin, .size = range.end - range.begin};
    gpuchar_status status = read_table(&elf);
    if (status) return status;
    if (elf.sections == 0) return gc_fatbin_search(container, range, range.begin, GC_SEARCH_HEADER);
    gc_range *ranges = NULL;
    size_t count = 0;
    status = find_sections(&elf, range.begin, &ranges, &count);
    if (!status) status = search_all(container, range, ranges, count);
    free(ranges);
    return status;
}
