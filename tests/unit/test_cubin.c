#include <elf.h>
#include <sass/cubin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A small cubin made by hand: a kernel with one local callee and an indirect branch's targets. */
enum { NAMES = 1, STRINGS, SYMBOLS, TEXT, INFO, SECTIONS };

#define TEXT_BYTES 96
#define CALLEE_AT 64

static const char SECTION_NAMES[] = "\0.shstrtab\0.strtab\0.symtab\0.text.kernel\0.nv.info.kernel";
static const char SYMBOL_NAMES[] = "\0kernel\0callee";

typedef struct image {
    uint8_t *bytes;
    size_t size;
} image;

static uint32_t name_offset(const char *table, size_t size, const char *name) {
    for (size_t i = 1; i + strlen(name) < size; i++)
        if (table[i - 1] == 0 && strcmp(table + i, name) == 0) return (uint32_t)i;
    return 0;
}

static void put(image *made, Elf64_Shdr *section, uint32_t type, const char *name, const void *bytes, size_t size) {
    section->sh_name = name_offset(SECTION_NAMES, sizeof SECTION_NAMES, name);
    section->sh_type = type;
    section->sh_offset = made->size;
    section->sh_size = size;
    memcpy(made->bytes + made->size, bytes, size);
    made->size += size;
}

static Elf64_Sym symbol(const char *name, uint64_t value, uint64_t size) {
    Elf64_Sym made = {0};
    made.st_name = name_offset(SYMBOL_NAMES, sizeof SYMBOL_NAMES, name);
    made.st_info = (unsigned char)ELF64_ST_INFO(value ? STB_LOCAL : STB_GLOBAL, STT_FUNC);
    made.st_shndx = TEXT;
    made.st_value = value;
    made.st_size = size;
    return made;
}

static image make_image(uint8_t os_abi, uint32_t flags) {
    static uint8_t room[4096];
    image made = {room, sizeof(Elf64_Ehdr)};
    memset(room, 0, sizeof room);
    Elf64_Shdr sections[SECTIONS] = {{0}};
    const Elf64_Sym symbols[3] = {{0}, symbol("kernel", 0, TEXT_BYTES), symbol("callee", CALLEE_AT, 32)};
    uint8_t text[TEXT_BYTES];
    memset(text, 0x5a, sizeof text);
    /* An unsized attribute, then 0x34: two branches, at 0x10 with three targets and at 0x20 with one. */
    const uint32_t info[] = {0x00001703, 0x00283404, 0x10, 0, 3, 0x30, 0x40, 0x30, 0x20, 0, 1, 0};
    put(&made, &sections[NAMES], SHT_STRTAB, ".shstrtab", SECTION_NAMES, sizeof SECTION_NAMES);
    put(&made, &sections[STRINGS], SHT_STRTAB, ".strtab", SYMBOL_NAMES, sizeof SYMBOL_NAMES);
    put(&made, &sections[SYMBOLS], SHT_SYMTAB, ".symtab", symbols, sizeof symbols);
    sections[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    sections[SYMBOLS].sh_link = STRINGS;
    put(&made, &sections[TEXT], SHT_PROGBITS, ".text.kernel", text, sizeof text);
    put(&made, &sections[INFO], 0x70000000, ".nv.info.kernel", info, sizeof info);
    Elf64_Ehdr header = {0};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_OSABI] = os_abi;
    header.e_ident[EI_ABIVERSION] = os_abi == 0x41 ? 8 : 7;
    header.e_machine = 190;
    header.e_flags = flags;
    header.e_shoff = made.size;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = SECTIONS;
    header.e_shstrndx = NAMES;
    memcpy(made.bytes, &header, sizeof header);
    memcpy(made.bytes + made.size, sections, sizeof sections);
    made.size += sizeof sections;
    /* A block of exactly that size, so that a sanitizer sees every byte read beyond it. */
    made.bytes = malloc(made.size);
    assert_non_null(made.bytes);
    memcpy(made.bytes, room, made.size);
    return made;
}

/* Opens it, takes the kernel and touches everything that was found: only a sanitizer or a crash can object. */
static gpuchar_status use(const void *bytes, size_t size) {
    gc_cubin cubin;
    gc_code code;
    gpuchar_status status = gc_cubin_open(bytes, size, &cubin);
    if (!status) status = gc_cubin_function(&cubin, "kernel", &code);
    if (status) return status;
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < code.size; i++) sum = (uint8_t)(sum + code.bytes[i]);
    for (size_t i = 0; i < code.info_size; i++) sum = (uint8_t)(sum + code.info[i]);
    uint64_t targets[2];
    gc_code_branch_targets(&code, 0x10, targets, 2);
    gc_code_branch_targets(&code, 0x20, targets, 2);
    assert_string_equal(code.name, "kernel");
    return GPUCHAR_OK;
}

static void test_reads_both_abis(void **state) {
    (void)state;
    const struct {
        uint8_t os_abi;
        uint32_t flags, arch, abi;
    } cases[] = {
        {0x41, 0x06005a02, 90, 8}, {0x33, 0x005a055a, 90, 7}, {0x41, 0x06007802, 120, 8}, {0x33, 0x00500550, 80, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        image made = make_image(cases[i].os_abi, cases[i].flags);
        gc_cubin cubin;
        gc_code code;
        assert_int_equal(gc_cubin_open(made.bytes, made.size, &cubin), GPUCHAR_OK);
        assert_int_equal(cubin.arch, cases[i].arch);
        assert_int_equal(cubin.abi, cases[i].abi);
        assert_int_equal(gc_cubin_function(&cubin, "kernel", &code), GPUCHAR_OK);
        assert_int_equal(code.size, CALLEE_AT); /* the callee is split off */
        assert_int_equal(code.arch, cases[i].arch);
        assert_int_equal(code.bytes[0], 0x5a);
        free(made.bytes);
    }
}

static void test_finds_branch_targets(void **state) {
    (void)state;
    image made = make_image(0x41, 0x06005a02);
    gc_cubin cubin;
    gc_code code;
    uint64_t targets[4] = {0};
    assert_int_equal(gc_cubin_open(made.bytes, made.size, &cubin), GPUCHAR_OK);
    assert_int_equal(gc_cubin_function(&cubin, "kernel", &code), GPUCHAR_OK);
    assert_int_equal(gc_code_branch_targets(&code, 0x10, targets, 2), 3);
    assert_int_equal(targets[1], 0x40);
    assert_int_equal(targets[2], 0); /* beyond the capacity nothing is written */
    assert_int_equal(gc_code_branch_targets(&code, 0x20, targets, 4), 1);
    assert_int_equal(targets[0], 0);
    assert_int_equal(gc_code_branch_targets(&code, 0x30, targets, 4), 0);
    free(made.bytes);
}

static void test_refuses_what_is_not_there(void **state) {
    (void)state;
    image made = make_image(0x41, 0x06005a02);
    gc_cubin cubin;
    gc_code code;
    assert_int_equal(gc_cubin_open(NULL, 0, &cubin), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(gc_cubin_open("text", 4, &cubin), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(gc_cubin_open(made.bytes, made.size, &cubin), GPUCHAR_OK);
    assert_int_equal(gc_cubin_function(&cubin, "kerne", &code), GPUCHAR_E_SASS_FORMAT);
    assert_non_null(strstr(gpuchar_last_error()->message, "kerne"));
    assert_int_equal(gc_cubin_function(&cubin, "kernels", &code), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(gc_cubin_function(&cubin, "", &code), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gc_cubin_function(&cubin, NULL, &code), GPUCHAR_E_INVALID_ARGUMENT);
    free(made.bytes);
}

static void test_every_truncation_is_refused(void **state) {
    (void)state;
    image made = make_image(0x41, 0x06005a02);
    for (size_t size = 0; size < made.size; size++) {
        uint8_t *part = malloc(size + 1);
        assert_non_null(part);
        memcpy(part, made.bytes, size);
        part = realloc(part, size ? size : 1);
        assert_int_equal(use(part, size), GPUCHAR_E_SASS_FORMAT);
        assert_string_not_equal(gpuchar_last_error()->message, "");
        free(part);
    }
    assert_int_equal(use(made.bytes, made.size), GPUCHAR_OK);
    free(made.bytes);
}

/* Every byte in turn takes values that make offsets and counts wrong in all directions. */
static void test_no_corrupted_byte_is_followed(void **state) {
    (void)state;
    static const uint8_t MASKS[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff, 0x7f, 0xfe};
    image made = make_image(0x41, 0x06005a02);
    for (size_t at = 0; at < made.size; at++)
        for (size_t m = 0; m < sizeof MASKS; m++) {
            made.bytes[at] ^= MASKS[m];
            const gpuchar_status status = use(made.bytes, made.size);
            assert_true(status == GPUCHAR_OK || status == GPUCHAR_E_SASS_FORMAT);
            made.bytes[at] ^= MASKS[m];
        }
    assert_int_equal(use(made.bytes, made.size), GPUCHAR_OK);
    free(made.bytes);
}

/* Two fields wrong at a time, such as an offset and a size whose sum wraps around to a small number. */
static void test_wrapping_ranges_are_refused(void **state) {
    (void)state;
    for (uint32_t section = 0; section < SECTIONS; section++) {
        image made = make_image(0x41, 0x06005a02);
        Elf64_Ehdr header;
        Elf64_Shdr bad;
        memcpy(&header, made.bytes, sizeof header);
        uint8_t *at = made.bytes + header.e_shoff + section * sizeof bad;
        memcpy(&bad, at, sizeof bad);
        bad.sh_offset = UINT64_MAX - 15;
        bad.sh_size = 0x20;
        memcpy(at, &bad, sizeof bad);
        assert_int_equal(use(made.bytes, made.size), section ? GPUCHAR_E_SASS_FORMAT : GPUCHAR_OK);
        free(made.bytes);
    }
}

static void test_wrapping_section_table_is_refused(void **state) {
    (void)state;
    image made = make_image(0x41, 0x06005a02);
    Elf64_Ehdr header;
    memcpy(&header, made.bytes, sizeof header);
    header.e_shoff = UINT64_MAX - 63;
    memcpy(made.bytes, &header, sizeof header);
    assert_int_equal(use(made.bytes, made.size), GPUCHAR_E_SASS_FORMAT);
    free(made.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_both_abis),
        cmocka_unit_test(test_finds_branch_targets),
        cmocka_unit_test(test_refuses_what_is_not_there),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_no_corrupted_byte_is_followed),
        cmocka_unit_test(test_wrapping_ranges_are_refused),
        cmocka_unit_test(test_wrapping_section_table_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
