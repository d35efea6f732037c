#include <elf.h>
#include <sass/notes.h>
#include <string.h>

#define GC_TOOL_NOTE ".note.nv.tkinfo"
#define GC_TOOL_WORDS 6 /* version, then where the texts begin: object, tool, version, build, options */

static uint32_t word_at(const uint8_t *bytes, size_t index) {
    uint32_t value;
    memcpy(&value, bytes + index * sizeof value, sizeof value);
    return value;
}

static const char *text_at(const uint8_t *texts, size_t size, uint32_t offset) {
    if (offset >= size) return "";
    const char *text = (const char *)texts + offset;
    return memchr(text, 0, size - offset) ? text : "";
}

/* The description of the section's first note. */
static const uint8_t *description(const gc_section *section, size_t *size) {
    if (!section->bytes || section->size < sizeof(Elf64_Nhdr)) return NULL;
    const uint64_t name = (word_at(section->bytes, 0) + UINT64_C(3)) & ~UINT64_C(3);
    const uint64_t length = word_at(section->bytes, 1), begin = sizeof(Elf64_Nhdr) + name;
    if (begin > section->size || length > section->size - begin) return NULL;
    *size = (size_t)length;
    return section->bytes + begin;
}

gc_notes gc_notes_read(const gc_cubin *cubin) {
    gc_notes notes = {"", "", ""};
    gc_section section;
    for (uint32_t i = 0; i < cubin->section_count; i++) {
        if (!gc_cubin_section(cubin, i, &section) || strcmp(section.name, GC_TOOL_NOTE) != 0) continue;
        size_t size = 0;
        const uint8_t *words = description(&section, &size);
        if (!words || size < GC_TOOL_WORDS * 4) return notes;
        const uint8_t *texts = words + (size_t)GC_TOOL_WORDS * 4;
        size -= (size_t)GC_TOOL_WORDS * 4;
        notes.tool = text_at(texts, size, word_at(words, 2));
        notes.version = text_at(texts, size, word_at(words, 3));
        notes.options = text_at(texts, size, word_at(words, 5));
        return notes;
    }
    return notes;
}
