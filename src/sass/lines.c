#include <core/error.h>
#include <elf.h>
#include <sass/lines.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of DWARF 2, 6.2.5. */
enum {
    COPY = 1,
    ADVANCE_PC = 2,
    ADVANCE_LINE = 3,
    SET_FILE = 4,
    CONST_ADD_PC = 8,
    FIXED_ADVANCE_PC = 9,
    END_SEQUENCE = 1,
    SET_ADDRESS = 2
};
enum { ENTRIES_MAX = 1 << 24 };
#define NO_SECTION UINT32_MAX

/* A cursor over untrusted bytes: a read beyond the end gives 0 and is remembered. */
typedef struct cursor {
    const uint8_t *bytes;
    uint64_t at, end;
    bool failed;
} cursor;

static uint64_t take(cursor *from, unsigned width) {
    uint64_t value = 0;
    if (from->failed || from->end - from->at < width) {
        from->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)from->bytes[from->at + i] << (8 * i);
    from->at += width;
    return value;
}

static uint64_t take_leb(cursor *from, bool is_signed) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint64_t byte = take(from, 1);
        if (shift < 64) value |= (byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        if (is_signed && (byte & 0x40) && shift + 7 < 64) value |= ~UINT64_C(0) << (shift + 7);
        return value;
    }
}

/* ---- relocations: which section an address in the table is meant in */

typedef struct place {
    uint64_t offset; /* in the table */
    uint64_t add;
    uint32_t section;
    bool whole; /* `add` replaces what stands there */
} place;

typedef struct places {
    place *list;
    size_t count;
} places;

static bool read_symbol(const gc_section *symbols, uint64_t index, Elf64_Sym *symbol) {
    if (symbols->type != SHT_SYMTAB || !symbols->bytes || index >= symbols->size / sizeof *symbol) return false;
    memcpy(symbol, symbols->bytes + index * sizeof *symbol, sizeof *symbol);
    return true;
}

/* The table that relocations name symbols of. In cubins of CUDA 12.0 and 12.4 the link says something else. */
static bool find_symbols(const gc_cubin *cubin, uint32_t link, gc_section *symbols) {
    if (gc_cubin_section(cubin, link, symbols) && symbols->type == SHT_SYMTAB) return true;
    for (uint32_t i = 0; i < cubin->section_count; i++) {
        if (gc_cubin_section(cubin, i, symbols) && symbols->type == SHT_SYMTAB) return true;
    }
    return false;
}

static gpuchar_status read_relocations(const gc_cubin *cubin, const gc_section *section, places *into) {
    const bool whole = section->type == SHT_RELA;
    const size_t width = whole ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    const size_t count = section->bytes ? (size_t)(section->size / width) : 0;
    gc_section symbols;
    if (count == 0 || !find_symbols(cubin, section->link, &symbols)) return GPUCHAR_OK;
    place *longer = realloc(into->list, (into->count + count) * sizeof *longer);
    if (!longer) return gc_fail_memory((into->count + count) * sizeof *longer);
    into->list = longer;
    for (size_t i = 0; i < count; i++) {
        Elf64_Rela one = {0};
        Elf64_Sym symbol;
        memcpy(&one, section->bytes + i * width, width);
        if (!read_symbol(&symbols, ELF64_R_SYM(one.r_info), &symbol)) continue;
        into->list[into->count++] = (place){.offset = one.r_offset,
                                            .add = symbol.st_value + (whole ? (uint64_t)one.r_addend : 0),
                                            .section = symbol.st_shndx,
                                            .whole = whole};
    }
    return GPUCHAR_OK;
}

static int by_offset(const void *a, const void *b) {
    const place *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static const place *find_place(const places *in, uint64_t offset) {
    const place wanted = {.offset = offset};
    return in->count ? bsearch(&wanted, in->list, in->count, sizeof wanted, by_offset) : NULL;
}

/* ---- the line programs */

typedef struct machine {
    cursor from;
    const places *where;
    gc_lines *into;
    size_t capacity;
    /* the unit's header */
    uint64_t minimum;
    int64_t line_base;
    uint64_t line_range, opcode_base;
    uint8_t operands[256];
    /* registers */
    uint64_t pc, file;
    int64_t line;
    uint32_t section;
} machine;

static void reset(machine *m) {
    m->pc = 0;
    m->file = 1;
    m->line = 1;
    m->section = NO_SECTION;
}

static gpuchar_status emit(machine *m, bool end) {
    if (m->section == NO_SECTION) return GPUCHAR_OK;
    gc_lines *into = m->into;
    if (into->count == m->capacity) {
        const size_t more = m->capacity ? 2 * m->capacity : 256;
        if (more > ENTRIES_MAX) return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed cubin: a line table without end");
        gc_line_entry *longer = realloc(into->entries, more * sizeof *longer);
        if (!longer) return gc_fail_memory(more * sizeof *longer);
        into->entries = longer;
        m->capacity = more;
    }
    const bool told = !end && m->line > 0 && m->line <= UINT32_MAX;
    into->entries[into->count] = (gc_line_entry){.pc = m->pc,
                                                 .section = m->section,
                                                 .file = (uint32_t)m->file,
                                                 .line = told ? (uint32_t)m->line : 0,
                                                 .order = (uint32_t)into->count};
    into->count++;
    return GPUCHAR_OK;
}

/* What follows the 0 byte; operations of NVIDIA's own are passed over by their length. */
static gpuchar_status run_extended(machine *m) {
    const uint64_t length = take_leb(&m->from, false);
    const uint64_t begin = m->from.at;
    if (m->from.failed || length == 0 || m->from.end - begin < length) {
        m->from.failed = true;
        return GPUCHAR_OK;
    }
    gpuchar_status status = GPUCHAR_OK;
    const uint64_t operation = take(&m->from, 1);
    if (operation == END_SEQUENCE) {
        status = emit(m, true);
        reset(m);
    } else if (operation == SET_ADDRESS && length == 9) {
        const place *found = find_place(m->where, m->from.at);
        m->pc = take(&m->from, 8);
        m->section = found ? found->section : NO_SECTION;
        if (found) m->pc = found->add + (found->whole ? 0 : m->pc);
    }
    m->from.at = begin + length;
    return status;
}

static void advance(machine *m, uint64_t adjusted) {
    m->pc += adjusted / m->line_range * m->minimum;
}

/* Lines are summed as they come, whatever they are: no sum may overflow. */
static int64_t add_line(int64_t line, uint64_t delta) {
    return (int64_t)((uint64_t)line + delta);
}

static gpuchar_status run_special(machine *m, uint64_t operation) {
    const uint64_t adjusted = operation - m->opcode_base;
    advance(m, adjusted);
    m->line = add_line(m->line, (uint64_t)m->line_base + adjusted % m->line_range);
    return emit(m, false);
}

static gpuchar_status run_one(machine *m) {
    const uint64_t operation = take(&m->from, 1);
    if (operation == 0) return run_extended(m);
    if (operation >= m->opcode_base) return run_special(m, operation);
    switch (operation) {
    case COPY:
        return emit(m, false);
    case ADVANCE_PC:
        m->pc += take_leb(&m->from, false) * m->minimum;
        break;
    case ADVANCE_LINE:
        m->line = add_line(m->line, take_leb(&m->from, true));
        break;
    case SET_FILE:
        m->file = take_leb(&m->from, false);
        break;
    case CONST_ADD_PC:
        advance(m, 255 - m->opcode_base);
        break;
    case FIXED_ADVANCE_PC:
        m->pc += take(&m->from, 2);
        break;
    default:
        for (unsigned i = 0; i < m->operands[operation]; i++) take_leb(&m->from, false);
    }
    return GPUCHAR_OK;
}

static gpuchar_status bad(void) {
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed cubin: its line table is damaged");
}

/* One unit: header, directories and files (passed over by the header's length), program. */
static gpuchar_status run_unit(machine *m, uint64_t section_end) {
    m->from.end = section_end;
    const uint64_t length = take(&m->from, 4);
    if (m->from.failed || length > section_end - m->from.at) return bad();
    const uint64_t end = m->from.at + length;
    m->from.end = end;
    const uint64_t version = take(&m->from, 2);
    if (version < 2 || version > 3) {
        return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed cubin: a line table of version %u", (unsigned)version);
    }
    const uint64_t header = take(&m->from, 4), program = m->from.at + header;
    if (m->from.failed || header > end - m->from.at) return bad();
    m->minimum = take(&m->from, 1);
    take(&m->from, 1); /* whether lines begin as statements: of no use here */
    const int64_t base = (int64_t)take(&m->from, 1);
    m->line_base = base < 128 ? base : base - 256;
    m->line_range = take(&m->from, 1);
    m->opcode_base = take(&m->from, 1);
    if (m->from.failed || m->line_range == 0 || m->opcode_base == 0) return bad();
    memset(m->operands, 0, sizeof m->operands);
    for (uint64_t i = 1; i < m->opcode_base; i++) m->operands[i] = (uint8_t)take(&m->from, 1);
    if (m->from.failed || m->from.at > program) return bad();
    m->from.at = program;
    reset(m);
    gpuchar_status status = GPUCHAR_OK;
    while (!status && !m->from.failed && m->from.at < end) status = run_one(m);
    m->from.at = end;
    return status ? status : m->from.failed ? bad() : GPUCHAR_OK;
}

static int by_code(const void *a, const void *b) {
    const gc_line_entry *x = a, *y = b;
    if (x->section != y->section) return x->section < y->section ? -1 : 1;
    if (x->pc != y->pc) return x->pc < y->pc ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static gpuchar_status run_table(const gc_section *table, const places *where, gc_lines *lines) {
    machine m = {.from = {.bytes = table->bytes, .end = table->size}, .where = where, .into = lines};
    gpuchar_status status = GPUCHAR_OK;
    while (!status && m.from.at < table->size) status = run_unit(&m, table->size);
    if (!status && lines->count) qsort(lines->entries, lines->count, sizeof *lines->entries, by_code);
    return status;
}

gpuchar_status gc_lines_read(const gc_cubin *cubin, gc_lines *lines) {
    *lines = (gc_lines){0};
    places where = {0};
    gc_section table = {0}, section;
    uint32_t index = 0;
    for (uint32_t i = 0; i < cubin->section_count; i++) {
        if (!gc_cubin_section(cubin, i, &section) || strcmp(section.name, ".debug_line") != 0) continue;
        table = section;
        index = i;
    }
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t i = 0; table.bytes && !status && i < cubin->section_count; i++) {
        if (!gc_cubin_section(cubin, i, &section) || section.info != index) continue;
        if (section.type == SHT_REL || section.type == SHT_RELA) status = read_relocations(cubin, &section, &where);
    }
    if (where.count) qsort(where.list, where.count, sizeof *where.list, by_offset);
    if (!status && table.bytes) status = run_table(&table, &where, lines);
    free(where.list);
    if (status) gc_lines_free(lines);
    return status;
}

void gc_lines_free(gc_lines *lines) {
    free(lines->entries);
    *lines = (gc_lines){0};
}

uint32_t gc_lines_section(const gc_cubin *cubin, const char *name) {
    gc_section section;
    for (uint32_t i = 0; i < cubin->section_count; i++) {
        if (gc_cubin_section(cubin, i, &section) && strcmp(section.name, name) == 0) return i;
    }
    return NO_SECTION;
}

const gc_line_entry *gc_lines_find(const gc_lines *lines, uint32_t section, uint64_t pc) {
    size_t low = 0, high = lines->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const gc_line_entry *at = &lines->entries[middle];
        if (at->section < section || (at->section == section && at->pc <= pc))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return NULL;
    const gc_line_entry *found = &lines->entries[low - 1];
    return found->section == section && found->line ? found : NULL;
}
