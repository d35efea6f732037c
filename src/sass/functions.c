#include <core/error.h>
#include <elf.h>
#include <sass/functions.h>
#include <stdlib.h>
#include <string.h>

#define GC_TEXT_PREFIX ".text."
#define GC_INFO_PREFIX ".nv.info."
#define GC_STO_ENTRY 0x10 /* st_other: a kernel */

static gpuchar_status bad(const char *what) {
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed cubin: %s", what);
}

static bool begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* What is known of a section that holds code. */
typedef struct text {
    gc_section section;
    const uint8_t *info;
    size_t info_size;
    bool is_code;
    bool has_start; /* a symbol stands at its first byte */
} text;

/* Where a function begins. */
typedef struct start {
    const char *name;
    uint64_t value;
    uint32_t section;
    bool kernel;
    bool own; /* named like its section */
} start;

typedef struct reader {
    const gc_cubin *cubin;
    text *texts; /* by section index */
    start *starts;
    size_t count;
} reader;

static gpuchar_status read_texts(reader *r) {
    for (uint32_t i = 0; i < r->cubin->section_count; i++) {
        text *t = &r->texts[i];
        if (!gc_cubin_section(r->cubin, i, &t->section)) return bad("a section lies outside the file");
        t->is_code = t->section.type == SHT_PROGBITS && t->section.size && begins(t->section.name, GC_TEXT_PREFIX);
    }
    /* A kernel's attributes name its code section by number. */
    for (uint32_t i = 0; i < r->cubin->section_count; i++) {
        const gc_section *info = &r->texts[i].section;
        if (!info->bytes || !begins(info->name, GC_INFO_PREFIX) || info->info >= r->cubin->section_count) continue;
        text *t = &r->texts[info->info];
        if (!t->is_code || strcmp(info->name + strlen(GC_INFO_PREFIX), t->section.name + strlen(GC_TEXT_PREFIX)) != 0)
            return bad("attributes of a section that is no kernel's");
        t->info = info->bytes;
        t->info_size = (size_t)info->size;
    }
    return GPUCHAR_OK;
}

static bool find_symbols(const reader *r, gc_section *symbols, gc_section *names) {
    for (uint32_t i = 0; i < r->cubin->section_count; i++) {
        *symbols = r->texts[i].section;
        if (symbols->type != SHT_SYMTAB || !symbols->bytes) continue;
        if (symbols->entry_size < sizeof(Elf64_Sym) || symbols->link >= r->cubin->section_count) return false;
        *names = r->texts[symbols->link].section;
        return names->bytes != NULL;
    }
    return false;
}

static const char *name_at(const gc_section *names, uint32_t offset) {
    if (offset >= names->size) return NULL;
    const char *name = (const char *)names->bytes + offset;
    return memchr(name, 0, (size_t)(names->size - offset)) ? name : NULL;
}

static gpuchar_status read_symbols(reader *r, const gc_section *symbols, const gc_section *names) {
    const uint64_t count = symbols->size / symbols->entry_size;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols->bytes + i * symbols->entry_size, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx >= r->cubin->section_count) continue;
        text *t = &r->texts[symbol.st_shndx];
        if (!t->is_code) continue;
        const char *name = name_at(names, symbol.st_name);
        if (!name) return bad("a function without a name");
        if (symbol.st_value >= t->section.size) return bad("a function lies outside its section");
        if (symbol.st_value == 0) t->has_start = true;
        r->starts[r->count++] = (start){.name = name,
                                        .value = symbol.st_value,
                                        .section = symbol.st_shndx,
                                        .kernel = (symbol.st_other & GC_STO_ENTRY) != 0,
                                        .own = strcmp(name, t->section.name + strlen(GC_TEXT_PREFIX)) == 0};
    }
    /* Code that no symbol names is the section's own. */
    for (uint32_t i = 0; i < r->cubin->section_count; i++) {
        const text *t = &r->texts[i];
        if (t->is_code && !t->has_start)
            r->starts[r->count++] =
                (start){.name = t->section.name + strlen(GC_TEXT_PREFIX), .section = i, .kernel = t->info, .own = true};
    }
    return GPUCHAR_OK;
}

/* Of two names for one place, the section's own comes first. */
static int compare(const void *left, const void *right) {
    const start *a = left, *b = right;
    if (a->section != b->section) return a->section < b->section ? -1 : 1;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    if (a->own != b->own) return a->own ? -1 : 1;
    return strcmp(a->name, b->name);
}

static gpuchar_status make(const reader *r, size_t at, gc_function *function) {
    const start *s = &r->starts[at];
    const text *t = &r->texts[s->section];
    uint64_t end = t->section.size;
    for (size_t next = at + 1; next < r->count && r->starts[next].section == s->section; next++) {
        if (r->starts[next].value == s->value) continue;
        end = r->starts[next].value;
        break;
    }
    const uint64_t unit = r->cubin->arch >= 70 ? 16 : 8;
    if (s->value % unit || end % unit) return bad("a function is not a whole number of instructions");
    if ((end - s->value) / 8 > UINT32_MAX / 2) return bad("a function is too long");
    function->section = t->section.name;
    function->kernel = s->kernel;
    function->code = (gc_code){.name = s->name,
                               .bytes = t->section.bytes + s->value,
                               .size = (size_t)(end - s->value),
                               .behind = (size_t)(t->section.size - end),
                               .offset = s->value,
                               .info = t->info,
                               .info_size = t->info_size,
                               .arch = r->cubin->arch};
    return GPUCHAR_OK;
}

static gpuchar_status fill(reader *r, gc_functions *functions) {
    qsort(r->starts, r->count, sizeof *r->starts, compare);
    for (size_t i = 0; i < r->count; i++) {
        if (i && r->starts[i].section == r->starts[i - 1].section && r->starts[i].value == r->starts[i - 1].value)
            continue;
        const gpuchar_status status = make(r, i, &functions->list[functions->count]);
        if (status) return status;
        functions->count++;
    }
    return GPUCHAR_OK;
}

static gpuchar_status read_all(reader *r, gc_functions *functions) {
    gc_section symbols = {0}, names = {0};
    gpuchar_status status = read_texts(r);
    if (status) return status;
    if (!find_symbols(r, &symbols, &names)) return bad("no symbol table");
    const size_t most = (size_t)(symbols.size / symbols.entry_size) + r->cubin->section_count;
    r->starts = malloc(most * sizeof *r->starts);
    functions->list = malloc(most * sizeof *functions->list);
    if (!r->starts || !functions->list) return gc_fail_memory(most * sizeof *functions->list);
    status = read_symbols(r, &symbols, &names);
    return status ? status : fill(r, functions);
}

gpuchar_status gc_functions_read(const gc_cubin *cubin, gc_functions *functions) {
    memset(functions, 0, sizeof *functions);
    reader r = {.cubin = cubin, .texts = calloc(cubin->section_count, sizeof *r.texts)};
    if (!r.texts) return gc_fail_memory(cubin->section_count * sizeof *r.texts);
    const gpuchar_status status = read_all(&r, functions);
    free(r.texts);
    free(r.starts);
    if (status) gc_functions_free(functions);
    return status;
}

void gc_functions_free(gc_functions *functions) {
    free(functions->list);
    *functions = (gc_functions){0};
}
