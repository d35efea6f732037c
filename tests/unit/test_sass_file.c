/* Cubins loaded from files, by path and from memory, and what of them outlives the file. */
#include "unit/container_files.h"
#include "unit/temp_folder.h"

#include <errno.h>
#include <gpuchar/sass_file.h>
#include <pthread.h>

/* A kernel that ends at once: as little of a cubin as can be opened. */
static bytes make_real_cubin(uint32_t arch) {
    const uint64_t leave[2] = {UINT64_C(0x000000000000794d), UINT64_C(0x000fea0003800000)};
    const Elf64_Sym symbols[2] = {
        {0},
        {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10, .st_shndx = 4, .st_size = 16}};
    const bytes text = {(uint8_t *)(uintptr_t)leave, sizeof leave};
    const bytes table = {(uint8_t *)(uintptr_t)symbols, sizeof symbols};
    const bytes names = {(uint8_t *)(uintptr_t) "\0k", 3};
    /* Section 0 is none and 1 the section names: these are 2, 3 and 4. */
    const made_section sections[] = {
        {".strtab", &names, SHT_STRTAB}, {".symtab", &table, SHT_SYMTAB}, {".text.k", &text, SHT_PROGBITS}};
    bytes made = make_elf(190, sections, 3);
    Elf64_Ehdr header;
    memcpy(&header, made.at, sizeof header);
    Elf64_Shdr symbol_section;
    uint8_t *at = made.at + header.e_shoff + 3 * sizeof symbol_section;
    memcpy(&symbol_section, at, sizeof symbol_section);
    symbol_section.sh_link = 2;
    symbol_section.sh_entsize = sizeof(Elf64_Sym);
    memcpy(at, &symbol_section, sizeof symbol_section);
    header.e_ident[EI_OSABI] = 0x41;
    header.e_ident[EI_ABIVERSION] = 8;
    header.e_flags = arch << 8;
    memcpy(made.at, &header, sizeof header);
    return made;
}

/* Two cubins and PTX. */
static bytes make_file(void) {
    bytes file = {0}, one = make_real_cubin(80), other = make_real_cubin(90);
    begin_fatbin(&file);
    add_entry(&file, entry_of(MADE_CUBIN, 80, one.size), one.at, one.size);
    add_entry(&file, entry_of(MADE_PTX, 90, 8), "// PTX\n", 8);
    add_entry(&file, entry_of(MADE_CUBIN, 90, other.size), other.at, other.size);
    end_fatbin(&file, 0);
    free(one.at);
    free(other.at);
    return file;
}

static void assert_cubin(gpuchar_sass *sass, uint32_t arch) {
    gpuchar_sass_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    assert_non_null(sass);
    assert_int_equal(gpuchar_sass_info_get(sass, &info), GPUCHAR_OK);
    assert_int_equal(info.architecture, arch);
    assert_int_equal(info.functions, 1);
    gpuchar_sass_function function;
    assert_int_equal(gpuchar_sass_function_get(sass, 0, &function), GPUCHAR_OK);
    assert_string_equal(function.name, "k");
    gpuchar_sass_instruction instruction;
    assert_int_equal(gpuchar_sass_instruction_get(sass, 0, 0, &instruction), GPUCHAR_OK);
    assert_int_equal(instruction.kind, GPUCHAR_SASS_EXIT);
}

static void write_file(char *path, size_t room, const bytes *content) {
    snprintf(path, room, "%s/file", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content->at, 1, content->size, file), content->size);
    assert_int_equal(fclose(file), 0);
}

static void check_entries(const gpuchar_sass_file *file) {
    gpuchar_sass_entry entry;
    gpuchar_sass *sass = NULL;
    assert_int_equal(gpuchar_sass_file_count(file), 3);
    assert_int_equal(gpuchar_sass_file_entry(file, 2, &entry), GPUCHAR_OK);
    assert_int_equal(entry.kind, GPUCHAR_SASS_ENTRY_CUBIN);
    assert_int_equal(entry.packing, GPUCHAR_SASS_PACKING_NONE);
    assert_int_equal(entry.architecture, 90);
    assert_int_equal(entry.stored_bytes, entry.unpacked_bytes);
    assert_int_equal(gpuchar_sass_file_entry(file, 3, &entry), GPUCHAR_E_LIMIT);
    assert_int_equal(entry.kind, 0);
    assert_int_equal(gpuchar_sass_file_load(file, 3, &sass), GPUCHAR_E_LIMIT);
    assert_int_equal(gpuchar_sass_file_load(file, 1, &sass), GPUCHAR_E_NOT_APPLICABLE);
    assert_null(sass);
}

/* Cubins live on behind their file, whose bytes may be gone. */
static void check_outliving(gpuchar_sass_file *file, bytes *content) {
    gpuchar_sass *one = NULL, *other = NULL;
    assert_int_equal(gpuchar_sass_file_load(file, 0, &one), GPUCHAR_OK);
    assert_int_equal(gpuchar_sass_file_load(file, 2, &other), GPUCHAR_OK);
    gpuchar_sass_file_close(file);
    memset(content->at, 0xff, content->size);
    free(content->at);
    assert_cubin(one, 80);
    gpuchar_sass_close(one);
    assert_cubin(other, 90);
    gpuchar_sass_close(other);
}

static void test_bytes(void **state) {
    (void)state;
    bytes content = make_file();
    gpuchar_sass_file *file = NULL;
    assert_int_equal(gpuchar_sass_file_open_bytes(content.at, content.size, &file), GPUCHAR_OK);
    check_entries(file);
    check_outliving(file, &content);
}

static void test_path(void **state) {
    (void)state;
    char path[256];
    bytes content = make_file();
    gpuchar_sass_file *file = NULL;
    write_file(path, sizeof path, &content);
    assert_int_equal(gpuchar_sass_file_open(path, &file), GPUCHAR_OK);
    /* A file that is gone from its folder stays mapped. */
    assert_int_equal(unlink(path), 0);
    check_entries(file);
    check_outliving(file, &content);
}

typedef struct feed {
    const char *path;
    const bytes *content;
} feed;

static void *feed_pipe(void *argument) {
    const feed *given = argument;
    FILE *file = fopen(given->path, "wb");
    if (!file) return NULL;
    const bool written = fwrite(given->content->at, 1, given->content->size, file) == given->content->size;
    return fclose(file) == 0 && written ? argument : NULL;
}

/* What cannot be mapped is read to its end. */
static void test_pipe(void **state) {
    (void)state;
    char path[256];
    bytes content = make_file();
    fill_to(&content, (size_t)300 << 10);
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_t thread;
    feed given = {path, &content};
    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &given), 0);
    gpuchar_sass_file *file = NULL;
    const gpuchar_status status = gpuchar_sass_file_open(path, &file);
    void *fed = NULL;
    pthread_join(thread, &fed);
    assert_int_equal(status, GPUCHAR_OK);
    assert_ptr_equal(fed, &given);
    check_entries(file);
    check_outliving(file, &content);
}

static void assert_not_opened(const char *path, gpuchar_status status, int reason) {
    gpuchar_sass_file *file = (gpuchar_sass_file *)(uintptr_t)1;
    assert_int_equal(gpuchar_sass_file_open(path, &file), status);
    assert_null(file);
    assert_int_equal(gpuchar_last_error()->native_code, reason);
}

static void test_refused(void **state) {
    (void)state;
    char path[256];
    const bytes none = {0}, text = {(uint8_t *)(uintptr_t) "some text", 9};
    snprintf(path, sizeof path, "%s/absent", folder);
    assert_not_opened(path, GPUCHAR_E_IO, ENOENT);
    assert_not_opened(folder, GPUCHAR_E_IO, EISDIR);
    assert_not_opened(NULL, GPUCHAR_E_INVALID_ARGUMENT, 0);
    write_file(path, sizeof path, &none);
    assert_not_opened(path, GPUCHAR_E_SASS_FORMAT, 0);
    write_file(path, sizeof path, &text);
    assert_not_opened(path, GPUCHAR_E_SASS_FORMAT, 0);
    gpuchar_sass_file *file = NULL;
    gpuchar_sass *sass = NULL;
    assert_int_equal(gpuchar_sass_file_open_bytes(NULL, 8, &file), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_sass_file_open_bytes("x", 1, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_sass_file_load(NULL, 0, &sass), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_sass_file_entry(NULL, 0, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_sass_file_count(NULL), 0);
    gpuchar_sass_file_close(NULL);
}

/* An image that says cubin and is none: the bytes that were shared for it are given back. */
static void test_no_cubin_inside(void **state) {
    (void)state;
    char path[256];
    bytes content = {0};
    begin_fatbin(&content);
    add_entry(&content, entry_of(MADE_CUBIN, 90, 24), "this is not a cubin, no", 24);
    end_fatbin(&content, 0);
    gpuchar_sass_file *file = NULL;
    gpuchar_sass *sass = NULL;
    assert_int_equal(gpuchar_sass_file_open_bytes(content.at, content.size, &file), GPUCHAR_OK);
    assert_int_equal(gpuchar_sass_file_load(file, 0, &sass), GPUCHAR_E_SASS_FORMAT);
    assert_null(sass);
    gpuchar_sass_file_close(file);
    write_file(path, sizeof path, &content);
    free(content.at);
    assert_int_equal(gpuchar_sass_file_open(path, &file), GPUCHAR_OK);
    assert_int_equal(gpuchar_sass_file_load(file, 0, &sass), GPUCHAR_E_SASS_FORMAT);
    assert_null(sass);
    gpuchar_sass_file_close(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bytes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_path, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_pipe, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_no_cubin_inside, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
