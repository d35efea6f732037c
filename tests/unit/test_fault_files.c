/*
 * Each file call of the cubin cache and of profiles fails in turn, at every use, with what full, read-only and broken disks
 * answer. A profile is written whole or not at all; a cache that cannot be used costs a compilation and a line in the log.
 */
#include "temp_folder.h"

#include <core/util.h>
#include <errno.h>
#include <fakes/fake_client.h>
#include <fakes/faulty_libc.h>
#include <fcntl.h>

/* What came out, and how it is to be read. */
typedef struct outcome {
    gpuchar_status status;
    uint32_t from_cache;
    unsigned warnings;
} outcome;

typedef struct bench {
    gpuchar_runtime *runtime;
    gpuchar_profile *profile;
    unsigned warnings;
} bench;

typedef struct scene {
    const char *name;
    bool cache;    /* a runtime on the folder is open before the call */
    bool recorded; /* a profile is there before the call */
    bool compiled; /* and the kernel in the folder */
    outcome (*act)(bench *b);
} scene;

static char cache_path[128], profile_path[128], link_path[128];

static void log_line(void *user, uint32_t level, const char *message) {
    bench *b = user;
    (void)message;
    if (level <= GPUCHAR_LOG_WARNING) b->warnings++;
}

static gpuchar_status open_runtime(bench *b) {
    gpuchar_runtime_options options = fake_options(FAKE_WITH_NVRTC);
    options.cache_dir = cache_path;
    options.log = log_line;
    options.log_user = b;
    return gpuchar_runtime_open(&options, &b->runtime);
}

static outcome act_open(bench *b) {
    gpuchar_runtime_close(b->runtime);
    b->runtime = NULL;
    return (outcome){.status = open_runtime(b)};
}

static outcome act_compile(bench *b) {
    gpuchar_compile_options options = GPUCHAR_COMPILE_OPTIONS_INIT;
    gpuchar_compile_result result = GPUCHAR_COMPILE_RESULT_INIT;
    options.source = "extern \"C\" __global__ void f(int *p) { *p = 1; }";
    options.architecture = "sm_90";
    outcome o = {.status = gpuchar_compile(b->runtime, &options, &result)};
    o.from_cache = result.from_cache;
    o.warnings = b->warnings;
    gpuchar_compile_result_free(&result);
    return o;
}

static outcome act_save(bench *b) {
    return (outcome){.status = gpuchar_profile_save(b->profile, profile_path)};
}
static outcome act_save_through_link(bench *b) {
    return (outcome){.status = gpuchar_profile_save(b->profile, link_path)};
}
static outcome act_load(bench *b) {
    gpuchar_profile *profile = NULL;
    (void)b;
    outcome o = {.status = gpuchar_profile_load(profile_path, &profile)};
    gpuchar_profile_free(profile);
    return o;
}

static const scene scenes[] = {
    {"a cache folder that is made", .act = act_open},
    {"a kernel into the cache", .cache = true, .act = act_compile},
    {"a kernel from the cache", .cache = true, .compiled = true, .act = act_compile},
    {"a new profile", .act = act_save},
    {"a profile over another", .recorded = true, .act = act_save},
    {"a profile behind a link", .recorded = true, .act = act_save_through_link},
    {"a profile that is read", .recorded = true, .act = act_load},
};

/* ---- one case */

static gpuchar_profile *make_profile(void) {
    gpuchar_runtime *runtime = fake_runtime_with(0);
    gpuchar_session *session = NULL;
    gpuchar_profile *profile = NULL;
    assert_failure(gpuchar_session_open(runtime, "0", NULL, &session), GPUCHAR_OK);
    assert_failure(gpuchar_profile_create(session, &profile), GPUCHAR_OK);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    return profile;
}

static void bench_open(bench *b, const scene *s) {
    remove_files(cache_path);
    remove_files(folder);
    *b = (bench){.profile = make_profile()};
    if (s->recorded) {
        assert_failure(act_save(b).status, GPUCHAR_OK);
        assert_int_equal(symlink(profile_path, link_path), 0);
    }
    if (s->cache) assert_failure(open_runtime(b), GPUCHAR_OK);
    if (!s->compiled) return;
    assert_failure(act_compile(b).status, GPUCHAR_OK);
    assert_failure(act_open(b).status, GPUCHAR_OK);
}

static void bench_close(bench *b) {
    gpuchar_profile_free(b->profile);
    gpuchar_runtime_close(b->runtime);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Nothing half-written lies about, here or in the cache; what is left behind may be what could not be removed. */
static const char *check_leftovers(const char *path, libc_call call) {
    const char *trouble = NULL;
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (ends_with(entry->d_name, ".tmp") && call != LIBC_UNLINK) trouble = "a temporary file is left";
    }
    if (directory) closedir(directory);
    return trouble;
}

/* A profile that is there is a whole one, and a link is still a link. */
static const char *check_profile(const scene *s) {
    struct stat about;
    bench none = {0};
    if (stat(profile_path, &about) != 0) return s->recorded ? "the old profile is gone" : NULL;
    if (act_load(&none).status != GPUCHAR_OK) return "the profile is not whole";
    if (s->recorded && (lstat(link_path, &about) != 0 || !S_ISLNK(about.st_mode))) return "the link is gone";
    return NULL;
}

static const char *check_detail(libc_call call, int error) {
    const gpuchar_error *detail = gpuchar_last_error();
    if (detail->status != GPUCHAR_E_IO || detail->domain != GPUCHAR_DOMAIN_OS) return "the detail is another";
    if (detail->native_code != error) return "the detail has another code";
    if (strcmp(detail->call, libc_names[call]) != 0) return "the detail names another call";
    return detail->native_name[0] && detail->message[0] ? NULL : "the detail does not name the code";
}

/* What has failed and yet all is as it should be: nothing to be told. */
static bool is_harmless(const scene *s, libc_call call, int error) {
    if (error == EINTR && (call == LIBC_READ || call == LIBC_WRITE)) return true;
    if (s->act == act_open) return call == LIBC_CLOSE || call == LIBC_UNLINK;
    if (s->act == act_load) return call == LIBC_CLOSE;
    return s->act != act_compile && (call == LIBC_STAT || (call == LIBC_REALPATH && error == ENOENT));
}

static const char *judge(const scene *s, libc_call call, int error, const outcome *o, const outcome *clean) {
    if (s->act == act_compile) {
        bool as_new = s->compiled && o->from_cache == 0;
        if (o->status != GPUCHAR_OK || (o->from_cache != clean->from_cache && !as_new)) return "it does not compile";
        /* A kernel that is not in the folder, and a folder that cannot be looked through, are no news. */
        bool writes = call == LIBC_WRITE || call == LIBC_RENAME;
        return writes && error != EINTR && o->warnings == 0 ? "the log says nothing" : NULL;
    }
    if (is_harmless(s, call, error)) return o->status == clean->status ? NULL : "a harmless failure is told";
    if (o->status != GPUCHAR_E_IO) return "another status";
    return check_detail(call, error);
}

static const char *run_case(const scene *s, libc_call call, unsigned use, int error, const outcome *clean) {
    bench b;
    bench_open(&b, s);
    b.warnings = 0;
    libc_fail(call, use, error);
    outcome o = s->act(&b);
    libc_stop();
    const char *trouble = libc_failed() ? judge(s, call, error, &o, clean) : "the call did not come";
    if (!trouble) trouble = check_leftovers(folder, call);
    if (!trouble) trouble = check_leftovers(cache_path, call);
    if (!trouble) trouble = check_profile(s);
    if (!trouble && s->act(&b).status != GPUCHAR_OK) trouble = "it does not work afterwards";
    if (trouble) {
        print_message("%s: %s %u fails with %s: %s (status %d: %s)\n", s->name, libc_names[call], use, strerror(error),
                      trouble, o.status, gpuchar_last_error()->message);
    }
    bench_close(&b);
    return trouble;
}

/* ---- all of them */

static const struct {
    libc_call call;
    int errors[5];
} errors[] = {
    {LIBC_OPEN, {EACCES, EMFILE, ENOSPC, EROFS, EIO}},
    {LIBC_READ, {EIO, EINTR}},
    {LIBC_WRITE, {ENOSPC, EDQUOT, EIO, EINTR}},
    {LIBC_CLOSE, {ENOSPC, EIO}},
    {LIBC_RENAME, {EACCES, ENOSPC, EROFS, EIO}},
    {LIBC_FSYNC, {EIO, ENOSPC}},
    {LIBC_MKDIR, {EACCES, ENOSPC, EROFS}},
    {LIBC_UNLINK, {EACCES, EIO}},
    {LIBC_STAT, {EACCES, EIO}},
    {LIBC_FSTAT, {EIO}},
    {LIBC_REALPATH, {EACCES, EIO}},
    {LIBC_OPENDIR, {EACCES, EMFILE}},
};

static unsigned cases, right;

static void run_scene(const scene *s) {
    bench b;
    unsigned counts[LIBC_CALLS], calls = 0, before = cases, right_before = right;
    bench_open(&b, s);
    libc_fail(LIBC_OPEN, 0, 0);
    outcome clean = s->act(&b);
    libc_stop();
    for (int i = 0; i < LIBC_CALLS; i++) counts[i] = libc_count((libc_call)i);
    assert_failure(clean.status, GPUCHAR_OK);
    bench_close(&b);
    for (size_t i = 0; i < GC_COUNT(errors); i++) {
        calls += counts[errors[i].call];
        for (unsigned use = 1; use <= counts[errors[i].call]; use++) {
            for (size_t e = 0; e < 5 && errors[i].errors[e]; e++) {
                cases++;
                right += run_case(s, errors[i].call, use, errors[i].errors[e], &clean) == NULL;
            }
        }
    }
    print_message("%-28s %3u file calls: %3u right of %3u\n", s->name, calls, right - right_before, cases - before);
    assert_true(cases > before);
}

static void test_files(void **state) {
    (void)state;
    for (size_t i = 0; i < GC_COUNT(scenes); i++) run_scene(&scenes[i]);
    print_message("%u of %u cases end right\n", right, cases);
    assert_int_equal(right, cases);
}

/* A disk that takes a few bytes at a time, and a file system that has no fsync. */
static void test_slow_and_plain(void **state) {
    (void)state;
    bench b;
    bench_open(&b, &scenes[3]);
    libc_fail(LIBC_OPEN, 0, 0);
    libc_write_at_most(7);
    assert_failure(act_save(&b).status, GPUCHAR_OK);
    assert_true(libc_count(LIBC_WRITE) > 50);
    libc_stop();
    libc_fail(LIBC_FSYNC, 1, EINVAL);
    assert_failure(act_save(&b).status, GPUCHAR_OK);
    libc_stop();
    assert_failure(act_load(&b).status, GPUCHAR_OK);
    bench_close(&b);
}

/* A disk that is really full, and a folder that is gone. */
static void test_full_and_gone(void **state) {
    (void)state;
    bench b;
    bench_open(&b, &scenes[3]);
    if (access("/dev/full", W_OK) == 0) {
        assert_failure(gpuchar_profile_save(b.profile, "/dev/full"), GPUCHAR_E_IO);
        assert_string_equal(gpuchar_last_error()->native_name, "ENOSPC");
        assert_string_equal(gpuchar_last_error()->call, "write");
    }
    assert_failure(gpuchar_profile_save(b.profile, "/nonexistent/folder/profile.json"), GPUCHAR_E_IO);
    assert_string_equal(gpuchar_last_error()->native_name, "ENOENT");
    bench_close(&b);

    bench_open(&b, &scenes[1]);
    remove_files(cache_path);
    assert_int_equal(rmdir(cache_path), 0);
    outcome o = act_compile(&b);
    assert_failure(o.status, GPUCHAR_OK);
    assert_int_equal(o.from_cache, 0);
    assert_int_equal(o.warnings, 1);
    assert_int_equal(act_compile(&b).from_cache, 1); /* the memory is still there */
    bench_close(&b);
}

static int set_up(void **state) {
    if (make_folder(state) != 0) return -1;
    snprintf(cache_path, sizeof cache_path, "%s/cache", folder);
    snprintf(profile_path, sizeof profile_path, "%s/profile.json", folder);
    snprintf(link_path, sizeof link_path, "%s/link.json", folder);
    return 0;
}

static int tear_down(void **state) {
    remove_files(cache_path);
    return remove_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_slow_and_plain),
        cmocka_unit_test(test_full_and_gone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
