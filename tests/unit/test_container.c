/* Files that hold device code: each kind made by hand and read back, then damaged, cut off and lying ones. */
#include "unit/container_files.h"

#define PTX_TEXT ".version 9.0\n.target sm_90\n"

/* Two cubins that are not packed and PTX, as nvcc makes it. */
static bytes make_fatbin(void) {
    bytes file = {0}, one = make_cubin(80, 1), other = make_cubin(120, 2);
    begin_fatbin(&file);
    add_entry(&file, entry_of(MADE_CUBIN, 80, one.size), one.at, one.size);
    made_entry entry = entry_of(MADE_CUBIN, 120, other.size);
    entry.header_bytes += 16;
    add_entry(&file, entry, other.at, other.size);
    add_entry(&file, entry_of(MADE_PTX, 90, sizeof PTX_TEXT), PTX_TEXT, sizeof PTX_TEXT);
    end_fatbin(&file, 0);
    free(one.at);
    free(other.at);
    return file;
}

static void assert_image(const gc_container *container, size_t index, uint32_t kind, uint32_t arch) {
    assert_true(index < container->count);
    assert_int_equal(container->images[index].kind, kind);
    assert_int_equal(container->images[index].arch, arch);
}

/* An image unpacks to these bytes. */
static void assert_bytes(const gc_container *container, size_t index, const bytes *expected) {
    const uint8_t *found = NULL;
    size_t size = 0;
    void *owned = NULL;
    assert_int_equal(gc_container_unpack(container, index, &found, &size, &owned), GPUCHAR_OK);
    assert_int_equal(size, container->images[index].unpacked_bytes);
    assert_true(size >= expected->size && size < expected->size + 8);
    assert_memory_equal(found, expected->at, expected->size);
    assert_true((owned == NULL) == (container->images[index].packing == GC_PACKING_NONE));
    free(owned);
}

static void assert_open(const bytes *file, gc_container *container, size_t count) {
    assert_int_equal(gc_container_open(file->at, file->size, container), GPUCHAR_OK);
    assert_int_equal(container->count, count);
}

/* The three images of make_fatbin, from image `first` on. */
static void assert_three(const gc_container *container, size_t first) {
    const bytes one = make_cubin(80, 1), other = make_cubin(120, 2);
    const bytes ptx = {(uint8_t *)(uintptr_t)PTX_TEXT, sizeof PTX_TEXT};
    assert_image(container, first, GC_IMAGE_CUBIN, 80);
    assert_image(container, first + 1, GC_IMAGE_CUBIN, 120);
    assert_image(container, first + 2, GC_IMAGE_PTX, 90);
    assert_bytes(container, first, &one);
    assert_bytes(container, first + 1, &other);
    assert_bytes(container, first + 2, &ptx);
    free(one.at);
    free(other.at);
}

static void test_cubin(void **state) {
    (void)state;
    bytes file = make_cubin(103, 7);
    gc_container container;
    assert_open(&file, &container, 1);
    assert_image(&container, 0, GC_IMAGE_CUBIN, 103);
    assert_bytes(&container, 0, &file);
    assert_int_equal(container.images[0].offset, 0);
    gc_container_close(&container);
    file.at[EI_OSABI] = 9;
    assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
}

static void test_fatbin(void **state) {
    (void)state;
    bytes file = make_fatbin();
    gc_container container;
    assert_open(&file, &container, 3);
    assert_three(&container, 0);
    gc_container_close(&container);
    /* Two behind each other, with filling between them and at the end. */
    const bytes again = make_fatbin();
    fill_to(&file, file.size + 24);
    append(&file, again.at, again.size);
    fill_to(&file, file.size + 5);
    assert_open(&file, &container, 6);
    assert_three(&container, 3);
    gc_container_close(&container);
    free(file.at);
    free(again.at);
}

/* Sections of fat binaries, and one in plain data; `machine` is x86-64 or aarch64. */
static bytes make_host(uint16_t machine, const bytes *fat) {
    bytes data = {0};
    append(&data, "0123456789abcdef", 16);
    append(&data, fat->at, fat->size);
    append(&data, "tail", 4);
    const made_section sections[] = {{".text", &data, SHT_NOBITS},
                                     {".nv_fatbin", fat, SHT_PROGBITS},
                                     {".rodata", &data, SHT_PROGBITS},
                                     {"__nv_relfatbin", fat, SHT_PROGBITS}};
    const bytes file = make_elf(machine, sections, 4);
    free(data.at);
    return file;
}

static void test_host_elf(void **state) {
    (void)state;
    const uint16_t machines[] = {EM_X86_64, EM_AARCH64};
    bytes fat = make_fatbin();
    for (size_t i = 0; i < 2; i++) {
        bytes file = make_host(machines[i], &fat);
        gc_container container;
        assert_open(&file, &container, 9);
        for (size_t first = 0; first < 9; first += 3) assert_three(&container, first);
        for (size_t n = 1; n < 9; n++) assert_true(container.images[n - 1].offset < container.images[n].offset);
        gc_container_close(&container);
        free(file.at);
    }
    free(fat.at);
}

static void test_stripped_elf(void **state) {
    (void)state;
    bytes fat = make_fatbin(), file = make_host(EM_X86_64, &fat);
    memset(file.at + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
    memset(file.at + offsetof(Elf64_Ehdr, e_shnum), 0, sizeof(Elf64_Half));
    gc_container container;
    assert_open(&file, &container, 9);
    assert_three(&container, 6);
    gc_container_close(&container);
    /* Cut off inside the last fat binary. */
    file.size = container.size = file.size - (4 * 64 + 64 + fat.size / 2);
    assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    free(fat.at);
}

static void test_elf_without_code(void **state) {
    (void)state;
    bytes text = {0};
    append(&text, "nothing to see", 14);
    /* The beginning of a fat binary as a constant of a program: it tells a size that the file does not have. */
    begin_fatbin(&text);
    fill_to(&text, 16);
    bytes constant = {0};
    begin_fatbin(&constant);
    memset(constant.at + 8, 0xc3, 8);
    const made_section sections[] = {{".text", &constant, SHT_PROGBITS}, {".data", &text, SHT_PROGBITS}};
    bytes file = make_elf(EM_X86_64, sections, 2);
    gc_container container;
    assert_open(&file, &container, 0);
    assert_null(container.images);
    gc_container_close(&container);
    free(file.at);
    free(text.at);
    free(constant.at);
}

/* Of many sections the header tells no number, and section 0 does. */
static void test_elf_with_many_sections(void **state) {
    (void)state;
    bytes fat = make_fatbin(), file = make_host(EM_AARCH64, &fat);
    Elf64_Ehdr header;
    memcpy(&header, file.at, sizeof header);
    Elf64_Shdr first = {.sh_size = header.e_shnum, .sh_link = header.e_shstrndx};
    memcpy(file.at + header.e_shoff, &first, sizeof first);
    header.e_shnum = 0;
    header.e_shstrndx = SHN_XINDEX;
    memcpy(file.at, &header, sizeof header);
    gc_container container;
    assert_open(&file, &container, 9);
    gc_container_close(&container);
    first.sh_size = UINT64_MAX / 64 + 1;
    memcpy(file.at + header.e_shoff, &first, sizeof first);
    assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    free(fat.at);
}

static void test_archive(void **state) {
    (void)state;
    bytes fat = make_fatbin(), object = make_host(EM_X86_64, &fat), cubin = make_cubin(75, 3), file = {0}, inner = {0};
    const bytes odd = {(uint8_t *)(uintptr_t) "some text", 9}, none = {0};
    begin_archive(&inner);
    add_member(&inner, "deep.o/", &object);
    begin_archive(&file);
    add_member(&file, "/", &odd);
    add_member(&file, "//", &none);
    add_member(&file, "one.o/", &object);
    add_member(&file, "k.cubin/", &cubin);
    add_member(&file, "k.fatbin/", &fat);
    add_member(&file, "inner.a/", &inner);
    add_member(&file, "note/", &odd);
    gc_container container;
    assert_open(&file, &container, 9 + 1 + 3 + 9);
    assert_three(&container, 0);
    assert_image(&container, 9, GC_IMAGE_CUBIN, 75);
    assert_bytes(&container, 9, &cubin);
    assert_three(&container, 10);
    assert_three(&container, 19);
    gc_container_close(&container);
    /* The last filling byte may be missing. */
    file.size--;
    assert_open(&file, &container, 22);
    gc_container_close(&container);
    free(file.at);
    free(inner.at);
    free(cubin.at);
    free(object.at);
    free(fat.at);
}

/* BSD's way: the name lies in front of the object. */
static void test_archive_with_long_names(void **state) {
    (void)state;
    bytes fat = make_fatbin(), member = {0}, file = {0};
    append(&member, "a_long_name.o\0\0\0", 16);
    append(&member, fat.at, fat.size);
    begin_archive(&file);
    add_member(&file, "#1/16", &member);
    gc_container container;
    assert_open(&file, &container, 3);
    assert_three(&container, 0);
    gc_container_close(&container);
    memcpy(file.at + 8, "#1/99999", 8);
    assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    free(fat.at);
    free(member.at);
}

static void test_broken_archives(void **state) {
    (void)state;
    const bytes content = {(uint8_t *)(uintptr_t) "text", 4};
    const struct {
        size_t at;
        const char *text;
    } lies[] = {{8 + 48, "999       "}, {8 + 48, "          "}, {8 + 48, "-4        "},
                {8 + 48, "4x        "}, {8 + 58, "xx"},         {0, "!<thin>\n"}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        bytes file = {0};
        begin_archive(&file);
        add_member(&file, "one", &content);
        memcpy(file.at + lies[i].at, lies[i].text, strlen(lies[i].text));
        assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    }
    bytes file = {0};
    begin_archive(&file);
    append(&file, "a header that is cut off", 24);
    assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    /* Five in each other are one too many. */
    for (int i = 0; i < 5; i++) {
        bytes around = {0};
        begin_archive(&around);
        add_member(&around, "inner.a/", &file);
        free(file.at);
        file = around;
        gc_container container;
        if (i == 4) break;
        assert_open(&file, &container, 0);
        gc_container_close(&container);
    }
    assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
}

static void test_other_files(void **state) {
    (void)state;
    const char *const texts[] = {"", "x", "\177ELF",
                                 "no such file at all, but long enough to hold the header of an ELF file, 64 bytes"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bytes file = {malloc(strlen(texts[i]) + 1), strlen(texts[i])};
        assert_non_null(file.at);
        memcpy(file.at, texts[i], file.size);
        assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    }
    gc_container container;
    assert_int_equal(gc_container_open(NULL, 8, &container), GPUCHAR_E_INVALID_ARGUMENT);
    bytes file = make_host(EM_X86_64, &(bytes){0});
    file.at[EI_CLASS] = ELFCLASS32;
    assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
}

/* A field of the second entry is overwritten. */
static void refuse_entry(size_t at, uint64_t value, size_t size, gpuchar_status status) {
    bytes file = make_fatbin(), one = make_cubin(80, 1);
    memcpy(file.at + FAT_HEADER + sizeof(made_entry) + one.size + at, &value, size);
    free(one.at);
    assert_refused(&file, status);
}

static void test_lying_entries(void **state) {
    (void)state;
    const gpuchar_status format = GPUCHAR_E_SASS_FORMAT;
    const size_t image = offsetof(made_entry, image_bytes), header = offsetof(made_entry, header_bytes);
    refuse_entry(image, 0, 8, format);
    refuse_entry(image, 1 << 20, 8, format);
    refuse_entry(image, UINT64_MAX, 8, format);
    refuse_entry(image, UINT64_MAX - 79, 8, format);
    refuse_entry(header, 0, 4, format);
    refuse_entry(header, 63, 4, format);
    refuse_entry(header, UINT32_MAX, 4, format);
    /* Packed, but to nothing, or more than its entry holds. */
    refuse_entry(offsetof(made_entry, flags), MADE_ZSTD, 8, format);
    refuse_entry(offsetof(made_entry, packed_bytes), 1 << 20, 4, format);
    /* Packed in a way that no flag names: told, and refused when it is wanted. */
    bytes file = {0};
    begin_fatbin(&file);
    add_entry(&file, packed_entry(MADE_CUBIN, 90, 8, 100, 0), "01234567", 8);
    end_fatbin(&file, 0);
    gc_container container;
    assert_open(&file, &container, 1);
    assert_int_equal(container.images[0].packing, GC_PACKING_OTHER);
    const uint8_t *found;
    size_t size;
    void *owned;
    assert_int_equal(gc_container_unpack(&container, 0, &found, &size, &owned), GPUCHAR_E_SASS_UNKNOWN);
    assert_int_equal(gc_container_unpack(&container, 1, &found, &size, &owned), GPUCHAR_E_LIMIT);
    assert_null(owned);
    gc_container_close(&container);
    free(file.at);
}

static void refuse_header(size_t at, uint64_t value, size_t size, gpuchar_status status) {
    bytes file = make_fatbin();
    memcpy(file.at + at, &value, size);
    assert_refused(&file, status);
}

static void test_lying_headers(void **state) {
    (void)state;
    refuse_header(4, 2, 2, GPUCHAR_E_SASS_UNKNOWN);
    refuse_header(6, 15, 2, GPUCHAR_E_SASS_FORMAT);
    refuse_header(6, 0xffff, 2, GPUCHAR_E_SASS_FORMAT);
    refuse_header(8, UINT64_MAX, 8, GPUCHAR_E_SASS_FORMAT);
    refuse_header(8, 1 << 20, 8, GPUCHAR_E_SASS_FORMAT);
    refuse_header(8, 100, 8, GPUCHAR_E_SASS_FORMAT);
    /* Not all of it is told: what follows is no fat binary. */
    refuse_header(8, 0, 8, GPUCHAR_E_SASS_FORMAT);
}

/* Every length that a file can be cut to is refused, or, in an archive at a member's end, understood. */
static void test_cut_off(void **state) {
    (void)state;
    const bytes whole = make_fatbin();
    for (size_t size = 0; size < whole.size; size++) {
        bytes file = {malloc(size + 1), 0};
        assert_non_null(file.at);
        memcpy(file.at, whole.at, size);
        uint8_t *exactly = realloc(file.at, size ? size : 1);
        assert_non_null(exactly);
        file = (bytes){exactly, size};
        assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    }
    free(whole.at);
}

static void test_lying_sections(void **state) {
    (void)state;
    bytes fat = make_fatbin();
    Elf64_Ehdr header;
    for (int lie = 0; lie < 6; lie++) {
        bytes file = make_host(EM_X86_64, &fat);
        memcpy(&header, file.at, sizeof header);
        Elf64_Shdr section;
        uint8_t *third = file.at + header.e_shoff + 3 * sizeof section, *last = third + 2 * sizeof section;
        memcpy(&section, third, sizeof section);
        switch (lie) {
        case 0: /* two sections in one place */
            memcpy(last + offsetof(Elf64_Shdr, sh_offset), &section.sh_offset, 8);
            break;
        case 1:
            section.sh_size = UINT64_MAX - 8;
            break;
        case 2: /* it begins where no fat binary does */
            section.sh_offset += 8;
            section.sh_size -= 8;
            break;
        case 3:
            header.e_shoff = file.size - 8;
            break;
        case 4:
            header.e_shentsize = 8;
            break;
        default:
            header.e_shstrndx = 77;
            break;
        }
        memcpy(third, &section, sizeof section);
        memcpy(file.at, &header, sizeof header);
        assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    }
    free(fat.at);
}

static void test_too_many(void **state) {
    (void)state;
    bytes file = {0};
    const size_t count = GC_IMAGES_MAX + 1, each = sizeof(made_entry) + 8;
    begin_fatbin(&file);
    uint8_t *grown = realloc(file.at, FAT_HEADER + count * each);
    assert_non_null(grown);
    const made_entry entry = entry_of(MADE_CODE, 90, 8);
    for (size_t i = 0; i < count; i++) {
        memcpy(grown + FAT_HEADER + i * each, &entry, sizeof entry);
        memset(grown + FAT_HEADER + i * each + sizeof entry, 0, 8);
    }
    file = (bytes){grown, FAT_HEADER + count * each};
    end_fatbin(&file, 0);
    bytes fewer = file;
    gc_container container;
    fewer.size -= each;
    end_fatbin(&fewer, 0);
    assert_open(&fewer, &container, GC_IMAGES_MAX);
    assert_image(&container, GC_IMAGES_MAX - 1, GC_IMAGE_OTHER, 90);
    gc_container_close(&container);
    end_fatbin(&file, 0);
    assert_refused(&file, GPUCHAR_E_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cubin),
        cmocka_unit_test(test_fatbin),
        cmocka_unit_test(test_host_elf),
        cmocka_unit_test(test_stripped_elf),
        cmocka_unit_test(test_elf_without_code),
        cmocka_unit_test(test_elf_with_many_sections),
        cmocka_unit_test(test_archive),
        cmocka_unit_test(test_archive_with_long_names),
        cmocka_unit_test(test_broken_archives),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_lying_entries),
        cmocka_unit_test(test_lying_headers),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_lying_sections),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
