/* The cubin cache: its bounds in memory, and everything that can be wrong on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/temp_folder.h"

#include <codegen/codegen_internal.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

typedef struct log_lines {
    size_t count;
    char last[512];
} log_lines;

static void keep_log(void *user, uint32_t level, const char *message) {
    log_lines *lines = user;
    if (level <= GPUCHAR_LOG_WARNING) {
        lines->count++;
        snprintf(lines->last, sizeof lines->last, "%s", message);
    }
}

static gc_cubin_cache *open_cache(const char *path, log_lines *lines) {
    gc_log log = {keep_log, lines, GPUCHAR_LOG_DEBUG};
    gc_cubin_cache *cache = NULL;
    assert_int_equal(gc_cubin_cache_open(path, &log, &cache), GPUCHAR_OK);
    return cache;
}

static gc_image *made_image(uint64_t number, size_t size) {
    void *bytes = calloc(1, size);
    assert_non_null(bytes);
    memcpy(bytes, &number, size < sizeof number ? size : sizeof number);
    gc_image *image = gc_image_new(bytes, size, NULL, (gc_hash){number, ~number}, 13000, 1);
    assert_non_null(image);
    return image;
}

static bool holds(gc_cubin_cache *cache, uint64_t number) {
    gc_image *image = gc_cubin_cache_get(cache, (gc_hash){number, ~number}, 13000);
    gc_image_release(image);
    return image != NULL;
}

static void put_image(gc_cubin_cache *cache, uint64_t number, size_t size) {
    gc_image *image = made_image(number, size);
    gc_cubin_cache_put(cache, image);
    gc_image_release(image);
}

/* The least recently used goes first, by number and by size. */
static void test_bounds(void **state) {
    (void)state;
    gc_cubin_cache *cache = NULL;
    assert_int_equal(gc_cubin_cache_open("", NULL, &cache), GPUCHAR_OK);
    for (uint64_t i = 0; i < 256; i++) {
        put_image(cache, i, 100);
    }
    assert_true(holds(cache, 0));
    put_image(cache, 1000, 100);
    assert_true(holds(cache, 0));
    assert_false(holds(cache, 1));
    put_image(cache, 2000, (size_t)63 << 20);
    assert_true(holds(cache, 2000) && holds(cache, 0));
    put_image(cache, 2001, (size_t)2 << 20); /* all older ones go before it fits, the large one too */
    assert_true(holds(cache, 2001));
    assert_true(holds(cache, 2000) + holds(cache, 0) <= 1);
    put_image(cache, 3000, (size_t)65 << 20);
    assert_false(holds(cache, 3000));
    assert_true(holds(cache, 2001));
    gc_cubin_cache_close(cache);
}

typedef enum damage {
    EMPTY,
    SHORT_HEADER,
    SHORT,
    LONG,
    MAGIC,
    FORMAT,
    KEY,
    SIZES,
    HUGE_SIZE,
    PAYLOAD,
    HASH,
    LOG,
    FOREIGN,
    DAMAGES
} damage;

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t read_file(const char *path, unsigned char *bytes, size_t capacity) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    assert_true(size < capacity);
    return size;
}

static size_t damage_file(unsigned char *bytes, size_t size, damage kind) {
    switch (kind) {
    case EMPTY:
        return 0;
    case SHORT_HEADER:
        return 63;
    case SHORT:
        return size - 1;
    case LONG:
        return size + 1;
    case MAGIC:
        bytes[0] ^= 1;
        return size;
    case FORMAT:
        bytes[8] ^= 1;
        return size;
    case KEY:
        bytes[16] ^= 1;
        return size;
    case SIZES:
        bytes[32] ^= 1;
        bytes[40] ^= 1;
        return size;
    case HUGE_SIZE:
        memset(bytes + 32, 0xff, 16);
        return size;
    case PAYLOAD:
        bytes[size / 2] ^= 0x10;
        return size;
    case HASH:
        bytes[48] ^= 1;
        return size;
    case LOG:
        memset(bytes + 32, 0, 8);
        return size;
    default:
        memset(bytes, 'x', size);
        return size;
    }
}

static void test_corrupt_files(void **state) {
    (void)state;
    static unsigned char good[4096], bytes[4096];
    char file[512];
    log_lines lines = {0};
    gc_cubin_cache *cache = open_cache(folder, &lines);
    put_image(cache, 5, 1000);
    gc_cubin_cache_close(cache);
    assert_int_equal(count_files(folder, file, sizeof file), 1);
    size_t size = read_file(file, good, sizeof good);
    for (int kind = 0; kind < DAMAGES; kind++) {
        memcpy(bytes, good, sizeof good);
        write_file(file, bytes, damage_file(bytes, size, (damage)kind));
        lines.count = 0;
        cache = open_cache(folder, &lines);
        assert_false(holds(cache, 5));
        assert_int_equal(lines.count, 1);
        put_image(cache, 5, 1000);
        gc_cubin_cache_close(cache);
        cache = open_cache(folder, &lines);
        assert_true(holds(cache, 5));
        gc_cubin_cache_close(cache);
        assert_int_equal(read_file(file, bytes, sizeof bytes), size);
        assert_memory_equal(bytes, good, size);
    }
    /* Every single byte counts. */
    for (size_t at = 0; at < size; at += 7) {
        memcpy(bytes, good, size);
        bytes[at] ^= 0x40;
        write_file(file, bytes, size);
        cache = open_cache(folder, &lines);
        assert_false(holds(cache, 5));
        gc_cubin_cache_close(cache);
    }
    assert_int_equal(count_files(folder, file, sizeof file), 1);
    remove_files(folder);
}

/* What is no file at the place of one: nothing hangs, nothing fails. */
static void test_odd_files(void **state) {
    (void)state;
    char file[512];
    log_lines lines = {0};
    gc_cubin_cache *cache = open_cache(folder, &lines);
    put_image(cache, 5, 100);
    gc_cubin_cache_close(cache);
    assert_int_equal(count_files(folder, file, sizeof file), 1);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    cache = open_cache(folder, &lines);
    assert_false(holds(cache, 5));
    put_image(cache, 5, 100); /* replaces it */
    gc_cubin_cache_close(cache);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkdir(file, 0700), 0);
    cache = open_cache(folder, &lines);
    assert_false(holds(cache, 5));
    lines.count = 0;
    put_image(cache, 5, 100);
    put_image(cache, 6, 100);
    assert_int_equal(lines.count, 1); /* a folder cannot be replaced */
    assert_true(holds(cache, 5));
    gc_cubin_cache_close(cache);
    assert_int_equal(rmdir(file), 0);
    assert_int_equal(count_files(folder, file, sizeof file), 1); /* that of 6, no temporary ones */
    remove_files(folder);
}

static void test_folder_not_usable(void **state) {
    (void)state;
    char file[96], below[128], dangling[96];
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(below, sizeof below, "%s/none/cache", folder);
    snprintf(dangling, sizeof dangling, "%s/link", folder);
    write_file(file, "x", 1);
    assert_int_equal(symlink(below, dangling), 0);
    /* What stops the superuser too: /proc takes no files. */
    const struct {
        const char *path, *native_name;
        int native_code;
    } bad[] = {{below, "ENOENT", ENOENT},           {dangling, "ENOENT", ENOENT},
               {file, "ENOTDIR", ENOTDIR},          {"/dev/null/cache", "ENOTDIR", ENOTDIR},
               {"/proc/gpuchar", "ENOENT", ENOENT}, {"/proc/self/task", "", 0}};
    for (size_t i = 0; i < GC_COUNT(bad); i++) {
        log_lines lines = {0};
        gc_log log = {keep_log, &lines, GPUCHAR_LOG_DEBUG};
        gc_cubin_cache *cache = (gc_cubin_cache *)1;
        assert_int_equal(gc_cubin_cache_open(bad[i].path, &log, &cache), GPUCHAR_E_IO);
        const gpuchar_error *error = gpuchar_last_error();
        assert_null(cache);
        assert_int_equal(lines.count, 0); /* an error is not told twice */
        assert_non_null(strstr(error->message, bad[i].path));
        assert_int_equal(error->domain, GPUCHAR_DOMAIN_OS);
        assert_true(error->native_code != 0 && error->call[0] && error->hint[0]);
        if (bad[i].native_code) {
            assert_int_equal(error->native_code, bad[i].native_code);
            assert_string_equal(error->native_name, bad[i].native_name);
        }
    }
    char last[512];
    assert_int_equal(count_files(folder, last, sizeof last), 2); /* nothing was made */
    remove_files(folder);
}

/* Only the last folder of the path is made, for its owner alone; an empty folder is what is left. */
static void test_folder_is_made(void **state) {
    (void)state;
    char path[96], last[512];
    struct stat about;
    log_lines lines = {0};
    snprintf(path, sizeof path, "%s/cache/", folder);
    for (int i = 0; i < 2; i++) {
        gc_cubin_cache_close(open_cache(path, &lines));
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0700);
        assert_int_equal(count_files(path, last, sizeof last), 0);
    }
    assert_int_equal(rmdir(path), 0);
}

/* What is lost after the opening is no error. */
static void test_folder_gets_lost(void **state) {
    (void)state;
    char path[96];
    log_lines lines = {0};
    snprintf(path, sizeof path, "%s/cache", folder);
    gc_cubin_cache *cache = open_cache(path, &lines);
    assert_int_equal(rmdir(path), 0);
    put_image(cache, 1, 10);
    put_image(cache, 2, 10);
    assert_true(holds(cache, 1) && holds(cache, 2));
    assert_int_equal(lines.count, 1); /* told once */
    gc_cubin_cache_close(cache);
}

/* ---- bounds of the folder */

/* A file as the cache names it, of a size that it has on paper only, written `age` seconds ago. */
static void put_file(const char *name, off_t size, time_t age) {
    char path[160];
    struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_file(path, "", 0);
    assert_int_equal(truncate(path, size), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool is_there(const char *name) {
    char path[160];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return lstat(path, &about) == 0;
}

#define CUBIN(digit) "0123456789abcdef0123456789abcde" digit ".cubin"
#define TEMPORARY(digit) ".0123456789abcde" digit ".77.1.abc.tmp"

static void test_trim(void **state) {
    (void)state;
    put_file(CUBIN("1"), 10, 300);
    put_file(CUBIN("2"), 10, 500);
    put_file(CUBIN("3"), 10, 400);
    put_file(CUBIN("4"), 70, 100);
    put_file("notes.cubin", 1000, 9000);
    put_file("0123456789abcdef0123456789abcdef.txt", 1000, 9000);
    put_file(TEMPORARY("1"), 1000, 3700);
    put_file(TEMPORARY("2"), 1000, 3000);
    assert_int_equal(gc_cache_trim(folder, 4, 100), 0);
    assert_false(is_there(TEMPORARY("1"))); /* whoever wrote it is gone */
    assert_true(is_there(TEMPORARY("2")));
    assert_int_equal(gc_cache_trim(folder, 3, 100), 1);
    assert_false(is_there(CUBIN("2")));
    assert_int_equal(gc_cache_trim(folder, 3, 81), 1);
    assert_false(is_there(CUBIN("3")));
    assert_true(is_there(CUBIN("1")) && is_there(CUBIN("4")));
    assert_int_equal(gc_cache_trim(folder, 0, 0), 2);
    assert_true(is_there("notes.cubin") && is_there("0123456789abcdef0123456789abcdef.txt"));
    assert_int_equal(gc_cache_trim("/nonexistent", 0, 0), 0);
    remove_files(folder);
}

/* The cache looks after its folder when it writes: at its first write, and not only then. */
static void test_folder_is_bounded(void **state) {
    (void)state;
    log_lines lines = {0};
    put_file(CUBIN("1"), (off_t)100 << 20, 300);
    put_file(CUBIN("2"), (off_t)100 << 20, 200);
    put_file(CUBIN("3"), (off_t)100 << 20, 100);
    gc_cubin_cache *cache = open_cache(folder, &lines);
    put_image(cache, 1, 100);
    assert_false(is_there(CUBIN("1")));
    assert_true(is_there(CUBIN("2")) && is_there(CUBIN("3")));
    put_file(CUBIN("1"), (off_t)100 << 20, 50);
    for (uint64_t i = 2; i < 40; i++) {
        put_image(cache, i, 100);
    }
    assert_false(is_there(CUBIN("2")));
    assert_true(is_there(CUBIN("1")) && is_there(CUBIN("3")));
    gc_cubin_cache_close(cache);
    cache = open_cache(folder, &lines);
    assert_true(holds(cache, 1) && holds(cache, 39));
    assert_int_equal(lines.count, 0);
    gc_cubin_cache_close(cache);
    remove_files(folder);
}

/* Several processes write into one folder and trim it: each file is whole or not there. */
static int write_and_trim(uint64_t seed) {
    log_lines lines = {0};
    gc_random random = gc_random_seed(seed);
    for (int i = 0; i < 200; i++) {
        uint64_t number = gc_random_below(&random, 40);
        gc_cubin_cache *cache = open_cache(folder, &lines);
        if (!holds(cache, number)) {
            put_image(cache, number, 2000);
        }
        gc_cubin_cache_close(cache);
        gc_cache_trim(folder, 20, 30000);
    }
    return lines.count == 0 ? 7 : 1;
}

static void test_processes_on_folder(void **state) {
    (void)state;
    char last[512];
    pid_t children[3];
    for (size_t i = 0; i < GC_COUNT(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            _exit(write_and_trim(i));
        }
    }
    for (size_t i = 0; i < GC_COUNT(children); i++) {
        int code = -1;
        waitpid(children[i], &code, 0);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 7);
    }
    assert_in_range(count_files(folder, last, sizeof last), 1, 14);
    remove_files(folder);
}

/*
 * A limit on the size of files stands in for a full disk: writing ends half-way. Its signal, which would end the process,
 * neither does so nor is left pending, whatever the host does with it. In a child: the limit could not be raised again.
 */
static int write_beyond_limit(void (*handler)(int)) {
    const struct rlimit small = {100, 100};
    sigset_t before, after, pending;
    log_lines lines = {0};
    gc_cubin_cache *cache = open_cache(folder, &lines);
    signal(SIGXFSZ, handler);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 1;
    put_image(cache, 1, 1000);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    sigpending(&pending);
    if (sigismember(&before, SIGXFSZ) != sigismember(&after, SIGXFSZ) || sigismember(&pending, SIGXFSZ)) return 2;
    if (lines.count != 1 || !holds(cache, 1)) return 3; /* told, and kept in memory */
    gc_cubin_cache_close(cache);
    return 7;
}

static void test_disk_full(void **state) {
    (void)state;
    char last[512];
    void (*const handlers[])(int) = {SIG_DFL, SIG_IGN};
    for (size_t i = 0; i < GC_COUNT(handlers); i++) {
        int code = -1;
        pid_t child = fork();
        if (child == 0) {
            _exit(write_beyond_limit(handlers[i]));
        }
        waitpid(child, &code, 0);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 7);
        assert_int_equal(count_files(folder, last, sizeof last), 0); /* nothing half-written is left */
    }
}

/* Several threads on one cache. */

typedef struct shared_work {
    gc_cubin_cache *cache;
    atomic_int failures;
    atomic_uint next_seed;
} shared_work;

static void *hammer(void *user) {
    shared_work *work = user;
    gc_random random = gc_random_seed(atomic_fetch_add(&work->next_seed, 1));
    for (int i = 0; i < 300; i++) {
        uint64_t number = gc_random_below(&random, 300);
        gc_image *image = gc_cubin_cache_get(work->cache, (gc_hash){number, ~number}, 13000);
        if (!image) {
            image = gc_image_new(calloc(1, 64), 64, NULL, (gc_hash){number, ~number}, 13000, 1);
            if (image) {
                gc_cubin_cache_put(work->cache, image);
            }
        }
        if (!image || image->size != 64 || image->key.high != number) {
            atomic_fetch_add(&work->failures, 1);
        }
        gc_image_release(image);
    }
    return NULL;
}

static void test_threads_on_cache(void **state) {
    (void)state;
    shared_work work = {0};
    assert_int_equal(gc_cubin_cache_open(folder, NULL, &work.cache), GPUCHAR_OK);
    pthread_t threads[4];
    for (size_t i = 0; i < GC_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, &work), 0);
    }
    for (size_t i = 0; i < GC_COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&work.failures), 0);
    gc_cubin_cache_close(work.cache);
    remove_files(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test_setup_teardown(test_corrupt_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_odd_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_folder_not_usable, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_folder_is_made, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_folder_gets_lost, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_trim, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_folder_is_bounded, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_processes_on_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_disk_full, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_threads_on_cache, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
