#include <core/error.h>
#include <elf.h>
#include <sass/cubin.h>
#include <stdbool.h>
#include <string.h>

#define GC_EM_CUDA 190
#define GC_OSABI_CUDA12 0x33
#define GC_OSABI_CUDA13 0x41
#define GC_INFO_HEAD 4 /* bytes: format, number, then a value, or the size of what follows */
#define GC_INFO_FORMAT_SIZED 4

#define GC_NAME_MAX 1024

/* All reads go through memcpy: a caller's cubin may lie at any address. */
static bool in_range(uint64_t offset, uint64_t length, uint64_t size) {
    return offset <= size && length <= size - offset;
}

static gpuchar_status bad(const char *what) {
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed cubin: %s", what);
}

static bool read_section(const gc_cubin *cubin, uint32_t index, Elf64_Shdr *section) {
    if (index >= cubin->section_count) return false;
    const uint64_t offset = cubin->section_offset + (uint64_t)index * cubin->section_size;
    memcpy(section, cubin->bytes + offset, sizeof *section);
    return true;
}

/* The section's bytes; a section without bytes in the file (NOBITS) has none. */
static bool section_bytes(const gc_cubin *cubin, const Elf64_Shdr *section) {
    return section->sh_type != SHT_NOBITS && in_range(section->sh_offset, section->sh_size, cubin->size);
}

/* A string that ends inside its table; NULL when it does not. */
static const char *string_at(const gc_cubin *cubin, const Elf64_Shdr *table, uint32_t offset) {
    if (!section_bytes(cubin, table) || offset >= table->sh_size) return NULL;
    const uint8_t *text = cubin->bytes + table->sh_offset + offset;
    return memchr(text, 0, (size_t)(table->sh_size - offset)) ? (const char *)text : NULL;
}

static gpuchar_status read_identity(gc_cubin *cubin, const Elf64_Ehdr *header) {
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return bad("no ELF magic");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return bad("not a 64-bit little-endian ELF file");
    if (header->e_machine != GC_EM_CUDA) return bad("not made for a CUDA device");
    cubin->abi = header->e_ident[EI_ABIVERSION];
    switch (header->e_ident[EI_OSABI]) {
    case GC_OSABI_CUDA13:
        cubin->arch = (header->e_flags >> 8) & 0xffu;
        break;
    case GC_OSABI_CUDA12:
        cubin->arch = header->e_flags & 0xffu;
        break;
    default:
        return bad("unknown CUDA ABI");
    }
    return cubin->arch ? GPUCHAR_OK : bad("no architecture in its flags");
}

gpuchar_status gc_cubin_open(const void *bytes, size_t size, gc_cubin *cubin) {
    memset(cubin, 0, sizeof *cubin);
    Elf64_Ehdr header;
    if (!bytes || size < sizeof header) return bad("shorter than an ELF header");
    memcpy(&header, bytes, sizeof header);
    cubin->bytes = bytes;
    cubin->size = size;
    const gpuchar_status status = read_identity(cubin, &header);
    if (status) return status;
    if (header.e_shentsize < sizeof(Elf64_Shdr)) return bad("section headers are too small");
    if (header.e_shnum == 0) return bad("no sections");
    if (!in_range(header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize, size))
        return bad("the section table lies outside the file");
    if (header.e_shstrndx >= header.e_shnum) return bad("no table of section names");
    cubin->section_offset = header.e_shoff;
    cubin->section_count = header.e_shnum;
    cubin->section_size = header.e_shentsize;
    cubin->names_section = header.e_shstrndx;
    return GPUCHAR_OK;
}

bool gc_cubin_section(const gc_cubin *cubin, uint32_t index, gc_section *section) {
    Elf64_Shdr header, names;
    if (!read_section(cubin, index, &header) || !read_section(cubin, cubin->names_section, &names)) return false;
    const bool has_bytes = header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL;
    if (has_bytes && !in_range(header.sh_offset, header.sh_size, cubin->size)) return false;
    const char *name = string_at(cubin, &names, header.sh_name);
    *section = (gc_section){.name = name ? name : "",
                            .bytes = has_bytes ? cubin->bytes + header.sh_offset : NULL,
                            .size = has_bytes ? header.sh_size : 0,
                            .entry_size = header.sh_entsize,
                            .type = header.sh_type,
                            .link = header.sh_link,
                            .info = header.sh_info};
    return true;
}

/* Finds the section called prefix + name. */
static bool find_section(const gc_cubin *cubin, const char *prefix, const char *name, Elf64_Shdr *section,
                         uint32_t *index) {
    Elf64_Shdr names;
    if (!read_section(cubin, cubin->names_section, &names)) return false;
    const size_t prefix_length = strlen(prefix);
    for (uint32_t i = 0; i < cubin->section_count; i++) {
        if (!read_section(cubin, i, section)) return false;
        const char *found = string_at(cubin, &names, section->sh_name);
        if (found && strncmp(found, prefix, prefix_length) == 0 && strcmp(found + prefix_length, name) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

static bool find_symbols(const gc_cubin *cubin, Elf64_Shdr *symbols, Elf64_Shdr *names) {
    for (uint32_t i = 0; i < cubin->section_count; i++) {
        if (!read_section(cubin, i, symbols) || symbols->sh_type != SHT_SYMTAB) continue;
        return section_bytes(cubin, symbols) && symbols->sh_entsize >= sizeof(Elf64_Sym) &&
               read_section(cubin, symbols->sh_link, names);
    }
    return false;
}

/*
 * The kernel's first byte, and where the next function of its section begins: a kernel's symbol covers the whole
 * section, callees are local functions inside it.
 */
static gpuchar_status find_extent(const gc_cubin *cubin, const char *kernel, uint32_t text_index, uint64_t text_size,
                                  uint64_t *start, uint64_t *end, const char **name) {
    Elf64_Shdr symbols, names;
    if (!find_symbols(cubin, &symbols, &names)) return bad("no symbol table");
    const uint64_t count = symbols.sh_size / symbols.sh_entsize;
    bool found = false;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && !found)
            return gc_fail(GPUCHAR_E_SASS_FORMAT, "the cubin has no function symbol %.200s", kernel);
        for (uint64_t i = 0; i < count; i++) {
            Elf64_Sym symbol;
            memcpy(&symbol, cubin->bytes + symbols.sh_offset + i * symbols.sh_entsize, sizeof symbol);
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx != text_index) continue;
            if (pass == 0 && !found) {
                const char *text = string_at(cubin, &names, symbol.st_name);
                if (!text || strcmp(text, kernel) != 0) continue;
                found = true;
                *name = text;
                *start = symbol.st_value;
                *end = text_size;
            } else if (pass == 1 && symbol.st_value > *start && symbol.st_value < *end) {
                *end = symbol.st_value;
            }
        }
    }
    return *start < *end ? GPUCHAR_OK : bad("a function lies outside its section");
}

gpuchar_status gc_cubin_function(const gc_cubin *cubin, const char *kernel, gc_code *code) {
    memset(code, 0, sizeof *code);
    if (!kernel || !*kernel || strlen(kernel) > GC_NAME_MAX)
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "no usable kernel name");
    Elf64_Shdr text, info;
    uint32_t index = 0, info_index = 0;
    if (!find_section(cubin, ".text.", kernel, &text, &index))
        return gc_fail(GPUCHAR_E_SASS_FORMAT, "the cubin has no code section of %.200s", kernel);
    if (text.sh_type != SHT_PROGBITS || !section_bytes(cubin, &text))
        return bad("the code section lies outside the file");
    uint64_t start = 0, end = 0;
    const gpuchar_status status = find_extent(cubin, kernel, index, text.sh_size, &start, &end, &code->name);
    if (status) return status;
    const uint64_t unit = cubin->arch >= 70 ? 16 : 8;
    if (start % unit || end % unit) return bad("a function is not a whole number of instructions");
    code->bytes = cubin->bytes + text.sh_offset + start;
    code->size = (size_t)(end - start);
    code->behind = (size_t)(text.sh_size - end);
    code->offset = start;
    code->arch = cubin->arch;
    if (find_section(cubin, ".nv.info.", kernel, &info, &info_index)) {
        if (!section_bytes(cubin, &info)) return bad("the kernel's attributes lie outside the file");
        code->info = cubin->bytes + info.sh_offset;
        code->info_size = (size_t)info.sh_size;
    }
    return GPUCHAR_OK;
}

/* Where the function that begins at `pc` ends; 0: none begins there. */
static uint64_t callee_end(const gc_cubin *cubin, uint32_t text_index, uint64_t text_size, uint64_t pc,
                           const char **name) {
    Elf64_Shdr symbols, names;
    if (!find_symbols(cubin, &symbols, &names)) return 0;
    uint64_t end = text_size;
    *name = NULL;
    for (uint64_t i = 0; i < symbols.sh_size / symbols.sh_entsize; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, cubin->bytes + symbols.sh_offset + i * symbols.sh_entsize, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx != text_index) continue;
        if (symbol.st_value == pc)
            *name = string_at(cubin, &names, symbol.st_name);
        else if (symbol.st_value > pc && symbol.st_value < end)
            end = symbol.st_value;
    }
    return *name && pc < end ? end : 0;
}

bool gc_cubin_callee(const gc_cubin *cubin, const gc_code *kernel, uint64_t pc, gc_code *callee) {
    Elf64_Shdr text;
    uint32_t index = 0;
    memset(callee, 0, sizeof *callee);
    if (!find_section(cubin, ".text.", kernel->name, &text, &index) || !section_bytes(cubin, &text)) return false;
    const uint64_t end = callee_end(cubin, index, text.sh_size, pc, &callee->name), unit = gc_code_unit(kernel);
    if (end == 0 || pc % unit || end % unit) return false;
    callee->bytes = cubin->bytes + text.sh_offset + pc;
    callee->size = (size_t)(end - pc);
    callee->behind = (size_t)(text.sh_size - end);
    callee->offset = pc;
    callee->info = kernel->info;
    callee->info_size = kernel->info_size;
    callee->arch = kernel->arch;
    return true;
}

static uint32_t read_u32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* One attribute holds records {u32 pc, u32 0, u32 n, n x u32 target}. */
static size_t targets_in(const uint8_t *payload, size_t size, uint64_t pc, uint64_t *targets, size_t capacity) {
    size_t at = 0;
    while (size - at >= 12) {
        const uint32_t record_pc = read_u32(payload + at), count = read_u32(payload + at + 8);
        at += 12;
        if (count > (size - at) / 4) return 0;
        if (record_pc == pc) {
            for (size_t i = 0; i < count && i < capacity; i++) targets[i] = read_u32(payload + at + 4 * i);
            return count;
        }
        at += (size_t)count * 4;
    }
    return 0;
}

bool gc_code_attribute(const gc_code *code, size_t *at, gc_attribute *attribute) {
    if (!code->info || code->info_size - *at < GC_INFO_HEAD) return false;
    const uint8_t *record = code->info + *at;
    *at += GC_INFO_HEAD;
    *attribute = (gc_attribute){.number = record[1]};
    if (record[0] != GC_INFO_FORMAT_SIZED) return true; /* its two bytes are a value */
    const size_t size = (size_t)record[2] | (size_t)record[3] << 8;
    if (size > code->info_size - *at) {
        attribute->cut_off = true;
        *at = code->info_size;
        return true;
    }
    attribute->payload = code->info + *at;
    attribute->size = size;
    *at += size;
    return true;
}

size_t gc_code_branch_targets(const gc_code *code, uint64_t pc, uint64_t *targets, size_t capacity) {
    gc_attribute attribute;
    for (size_t at = 0; gc_code_attribute(code, &at, &attribute);) {
        if (!attribute.payload || attribute.number != GC_INFO_BRANCH_TARGETS) continue;
        const size_t count = targets_in(attribute.payload, attribute.size, pc, targets, capacity);
        if (count) return count;
    }
    return 0;
}
