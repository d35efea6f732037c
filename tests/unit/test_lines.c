/* Line tables of cubins: one made by hand, damaged in every byte, and NVRTC's own. */
#include <elf.h>
#include <gpuchar/compile.h>
#include <sass/lines.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NAMES = 1, SYMBOLS, FIRST, SECOND, LINES, PLACES, SECTIONS };

static const char section_names[] = "\0.shstrtab\0.symtab\0.text.first\0.text.second\0.debug_line\0.rel.debug_line";

/* Line base -5, range 14, opcode base 10, as NVIDIA's; two sequences, whose addresses two relocations tell. */
static const uint8_t program[] = {
    2,
    0, /* version */
    21,
    0,
    0,
    0, /* length of the header behind this word */
    1,
    1,
    0xfb,
    14,
    10,
    0,
    1,
    1,
    1,
    1,
    0,
    0,
    0,
    1, /* operations */
    0,
    'a',
    0,
    0,
    0,
    0,
    0, /* no folder, one file; no other */
    /* first: line 7 at 0, 9 at 0x20, 7 of file 2 at 0x90; an operation of NVIDIA's own; ends at 0x100 */
    0,
    9,
    2,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0, /* set address */
    3,
    6,
    1, /* line + 6, copy */
    2,
    0x20,
    3,
    2,
    1, /* pc + 32, line + 2, copy */
    0,
    3,
    0x90,
    1,
    2, /* unknown */
    2,
    0xf0,
    0,
    4,
    2,
    3,
    0x7e,
    1, /* pc + 112, file 2, line - 2, copy */
    9,
    0x70,
    0,
    0,
    1,
    1, /* pc + 112, end */
    /* second: by special opcodes, from 0x40 on */
    0,
    9,
    2,
    0x40,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    10 + 5 + 3,      /* line + 3, pc + 0 */
    8,               /* pc by that of opcode 255: 17 */
    10 + 14 * 2 + 5, /* pc + 2, line + 0 */
    0,
    1,
    1,
};

typedef struct image {
    uint8_t bytes[4096];
    size_t size;
    size_t line_at;
} image;

static uint32_t name_offset(const char *name) {
    for (size_t i = 1; i + strlen(name) < sizeof section_names; i++)
        if (section_names[i - 1] == 0 && strcmp(section_names + i, name) == 0) return (uint32_t)i;
    return 0;
}

static void put(image *made, Elf64_Shdr *section, uint32_t type, const char *name, const void *bytes, size_t size) {
    *section = (Elf64_Shdr){.sh_name = name_offset(name), .sh_type = type, .sh_offset = made->size, .sh_size = size};
    memcpy(made->bytes + made->size, bytes, size);
    made->size += size;
}

static uint64_t address_of(size_t nth) {
    const uint8_t mark[] = {0, 9, 2};
    for (size_t i = 0; i + 3 <= sizeof program; i++)
        if (memcmp(program + i, mark, 3) == 0 && nth-- == 0) return 4 + i + 3;
    return 0;
}

static void make_image(image *made, bool with_addends, bool linked) {
    memset(made, 0, sizeof *made);
    made->size = sizeof(Elf64_Ehdr);
    Elf64_Shdr sections[SECTIONS] = {{0}};
    const Elf64_Sym symbols[3] = {{0}, {.st_shndx = FIRST}, {.st_shndx = SECOND}};
    uint8_t text[256] = {0}, lines[4 + sizeof program];
    const uint32_t length = sizeof program;
    memcpy(lines, &length, 4);
    memcpy(lines + 4, program, sizeof program);
    put(made, &sections[NAMES], SHT_STRTAB, ".shstrtab", section_names, sizeof section_names);
    put(made, &sections[SYMBOLS], SHT_SYMTAB, ".symtab", symbols, sizeof symbols);
    sections[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    put(made, &sections[FIRST], SHT_PROGBITS, ".text.first", text, sizeof text);
    put(made, &sections[SECOND], SHT_PROGBITS, ".text.second", text, sizeof text);
    made->line_at = made->size;
    put(made, &sections[LINES], SHT_PROGBITS, ".debug_line", lines, sizeof lines);
    /* The later one first, as NVIDIA's assembler has them. */
    const Elf64_Rel plain[] = {{address_of(1), ELF64_R_INFO(2, 2)}, {address_of(0), ELF64_R_INFO(1, 2)}};
    const Elf64_Rela added[] = {{address_of(1), ELF64_R_INFO(2, 2), 0x40}, {address_of(0), ELF64_R_INFO(1, 2), 0}};
    if (with_addends)
        put(made, &sections[PLACES], SHT_RELA, ".rel.debug_line", added, sizeof added);
    else
        put(made, &sections[PLACES], SHT_REL, ".rel.debug_line", plain, sizeof plain);
    sections[PLACES].sh_info = LINES;
    sections[PLACES].sh_link = linked ? SYMBOLS : LINES; /* CUDA 12.0 writes the latter */
    Elf64_Ehdr header = {.e_machine = 190,
                         .e_flags = 90 << 8,
                         .e_shoff = made->size,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTIONS,
                         .e_shstrndx = NAMES};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_OSABI] = 0x41;
    header.e_ident[EI_ABIVERSION] = 8;
    memcpy(made->bytes + made->size, sections, sizeof sections);
    made->size += sizeof sections;
    memcpy(made->bytes, &header, sizeof header);
}

static void expect(const gc_lines *lines, uint32_t section, uint64_t pc, uint32_t file, uint32_t line) {
    const gc_line_entry *found = gc_lines_find(lines, section, pc);
    assert_int_equal(found ? found->line : 0, line);
    if (found) assert_int_equal(found->file, file);
}

static void test_table(void **state) {
    (void)state;
    static image made;
    for (int round = 0; round < 3; round++) {
        gc_cubin cubin;
        gc_lines lines;
        make_image(&made, round == 1, round < 2);
        assert_int_equal(gc_cubin_open(made.bytes, made.size, &cubin), GPUCHAR_OK);
        assert_int_equal(gc_lines_read(&cubin, &lines), GPUCHAR_OK);
        assert_int_equal(gc_lines_section(&cubin, ".text.first"), FIRST);
        assert_int_equal(gc_lines_section(&cubin, ".text.third"), UINT32_MAX);
        expect(&lines, FIRST, 0, 1, 7);
        expect(&lines, FIRST, 0x1f, 1, 7);
        expect(&lines, FIRST, 0x20, 1, 9);
        expect(&lines, FIRST, 0x8f, 1, 9);
        expect(&lines, FIRST, 0x90, 2, 7);
        expect(&lines, FIRST, 0xff, 2, 7);
        expect(&lines, FIRST, 0x100, 0, 0); /* its sequence has ended */
        expect(&lines, SECOND, 0x3f, 0, 0);
        expect(&lines, SECOND, 0x40, 1, 4);
        expect(&lines, SECOND, 0x52, 1, 4);
        expect(&lines, SECOND, 0x53, 0, 0);
        expect(&lines, 77, 0, 0, 0);
        gc_lines_free(&lines);
    }
}

/* Every byte of the table to every value, and every length: an answer or an error. */
static void test_damage(void **state) {
    (void)state;
    static image made;
    make_image(&made, false, true);
    const size_t end = made.line_at + 4 + sizeof program;
    size_t errors = 0;
    for (size_t at = made.line_at; at < end; at++) {
        const uint8_t before = made.bytes[at];
        for (unsigned value = 0; value < 256; value++) {
            gc_cubin cubin;
            gc_lines lines;
            made.bytes[at] = (uint8_t)value;
            assert_int_equal(gc_cubin_open(made.bytes, made.size, &cubin), GPUCHAR_OK);
            const gpuchar_status status = gc_lines_read(&cubin, &lines);
            assert_true(status == GPUCHAR_OK || status == GPUCHAR_E_SASS_FORMAT);
            if (status) assert_null(lines.entries);
            errors += status != GPUCHAR_OK;
            gc_lines_free(&lines);
        }
        made.bytes[at] = before;
    }
    assert_true(errors > 1000);
}

/* A compiler's own table, by what its text is known to be. */
static void test_compiled(void **state) {
    (void)state;
    static const char text[] = "extern \"C\" __global__ void k(int *p, int n) {\n"
                               "  int x = p[threadIdx.x];\n"
                               "  if (x > 5) {\n"
                               "    p[n] = x * 17;\n"
                               "  }\n"
                               "  p[0] = 1;\n"
                               "}\n";
    static const char *const flags[] = {"-lineinfo"};
    uint32_t architectures[64];
    size_t count = 0;
    if (gpuchar_runtime_architectures(NULL, architectures, 64, &count)) skip();
    for (size_t i = 0; i < count && i < 64; i++) {
        gpuchar_compile_options options = GPUCHAR_COMPILE_OPTIONS_INIT;
        gpuchar_compile_result made = GPUCHAR_COMPILE_RESULT_INIT;
        char target[48];
        snprintf(target, sizeof target, "sm_%u", architectures[i]);
        options.source = text;
        options.architecture = target;
        options.flags = flags;
        options.flag_count = 1;
        assert_int_equal(gpuchar_compile(NULL, &options, &made), GPUCHAR_OK);
        gc_cubin cubin;
        gc_lines lines;
        assert_int_equal(gc_cubin_open(made.cubin, made.cubin_size_bytes, &cubin), GPUCHAR_OK);
        assert_int_equal(gc_lines_read(&cubin, &lines), GPUCHAR_OK);
        const uint32_t section = gc_lines_section(&cubin, ".text.k");
        unsigned seen[8] = {0};
        for (size_t j = 0; j < lines.count; j++) {
            assert_int_equal(lines.entries[j].section, section);
            assert_true(lines.entries[j].line < 8);
            seen[lines.entries[j].line]++;
        }
        assert_true(seen[0] && seen[2] && seen[4] && seen[6]);
        gc_lines_free(&lines);
        gpuchar_compile_result_free(&made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
