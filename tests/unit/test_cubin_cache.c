/* The cubin cache: its bounds in memory, and everything that can be wrong on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/temp_folder.h"

#include <codegen/codegen_internal.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

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
    static const char *const bad[] = {"/proc/gpuchar/cache", "/dev/null", "/dev/null/cache"};
    for (size_t i = 0; i < GC_COUNT(bad); i++) {
        log_lines lines = {0};
        gc_cubin_cache *cache = open_cache(bad[i], &lines);
        assert_int_equal(lines.count, 1);
        assert_non_null(strstr(lines.last, bad[i]));
        put_image(cache, 1, 10);
        assert_true(holds(cache, 1));
        assert_int_equal(lines.count, 1);
        gc_cubin_cache_close(cache);
    }
}

/* Works for root too, whom no mode stops: /proc takes no files. */
static void test_folder_not_writable(void **state) {
    (void)state;
    log_lines lines = {0};
    gc_cubin_cache *cache = open_cache("/proc/self", &lines);
    put_image(cache, 1, 10);
    put_image(cache, 2, 10);
    assert_true(holds(cache, 1) && holds(cache, 2));
    assert_int_equal(lines.count, 1); /* told once */
    gc_cubin_cache_close(cache);
}

/* A limit on the size of files stands in for a full disk: writing ends half-way. */
static void test_disk_full(void **state) {
    (void)state;
    char last[512];
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    log_lines lines = {0};
    gc_cubin_cache *cache = open_cache(folder, &lines);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    put_image(cache, 1, 1000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(lines.count, 1);
    assert_true(holds(cache, 1)); /* in memory */
    gc_cubin_cache_close(cache);
    assert_int_equal(count_files(folder, last, sizeof last), 0); /* nothing half-written is left */
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
        cmocka_unit_test(test_folder_not_usable),
        cmocka_unit_test(test_folder_not_writable),
        cmocka_unit_test_setup_teardown(test_disk_full, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_threads_on_cache, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
