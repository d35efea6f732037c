/* Compilation by the real NVRTC, through the cubin cache. Without NVRTC the cases that need it are skipped. */
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gc_nvrtc nvrtc;
static bool have_nvrtc;

static const char kernel[] = "extern \"C\" __global__ void k(int *out) { out[threadIdx.x] = NUMBER; }\n";

static gc_compile_request request_for(const gc_define *number, const char *architecture) {
    return (gc_compile_request){
        .name = "tiny.cu", .source = kernel, .defines = number, .define_count = 1, .architecture = architecture};
}

static gpuchar_status compile_one(gc_cubin_cache *cache, const gc_compile_request *request, gc_image **image) {
    return gc_compile_many(&nvrtc, cache, request, 1, NULL, NULL, image);
}

/* An architecture that this NVRTC knows, in the middle of its list. */
static const char *some_architecture(void) {
    static char name[16];
    int count = 0, archs[64];
    nvrtc.GetNumSupportedArchs(&count);
    assert_in_range(count, 1, 64);
    nvrtc.GetSupportedArchs(archs);
    snprintf(name, sizeof name, "sm_%d", archs[count / 2]);
    return name;
}

#define NEEDS_NVRTC()                                                                                                  \
    do {                                                                                                               \
        (void)state;                                                                                                   \
        if (!have_nvrtc) {                                                                                             \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

static void assert_cubin(const gc_image *image) {
    assert_non_null(image);
    assert_true(image->size > 64);
    assert_memory_equal(image->bytes, "\177ELF", 4);
    assert_int_equal(image->nvrtc_version, nvrtc.version);
    assert_non_null(image->log);
}

/* Compilation. */

static void test_every_architecture(void **state) {
    NEEDS_NVRTC();
    int count = 0;
    assert_int_equal(nvrtc.GetNumSupportedArchs(&count), NVRTC_SUCCESS);
    assert_in_range(count, 1, 64);
    int archs[64];
    assert_int_equal(nvrtc.GetSupportedArchs(archs), NVRTC_SUCCESS);
    char names[64][16];
    gc_define number = {"NUMBER", 7};
    gc_compile_request requests[64];
    gc_image *images[64];
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "sm_%d", archs[i]);
        requests[i] = request_for(&number, names[i]);
        assert_int_equal(gc_compile_check_arch(&nvrtc, (uint32_t)archs[i]), GPUCHAR_OK);
    }
    assert_int_equal(gc_compile_many(&nvrtc, NULL, requests, (size_t)count, NULL, NULL, images), GPUCHAR_OK);
    for (int i = 0; i < count; i++) {
        assert_cubin(images[i]);
        assert_int_equal(images[i]->from_cache, 0);
        assert_true(images[i]->compile_ns > 0);
        gc_image_release(images[i]);
    }
}

static void test_check_arch(void **state) {
    NEEDS_NVRTC();
    assert_int_equal(gc_compile_check_arch(&nvrtc, 999), GPUCHAR_E_ARCH_UNSUPPORTED);
    assert_non_null(strstr(gpuchar_last_error()->hint, "newer NVRTC"));
    assert_non_null(strstr(gpuchar_last_error()->message, nvrtc.library.path));
    if (nvrtc.version >= 13000) {
        assert_int_equal(gc_compile_check_arch(&nvrtc, 61), GPUCHAR_E_ARCH_UNSUPPORTED);
        assert_non_null(strstr(gpuchar_last_error()->hint, "NVRTC 12.x"));
    }
    assert_int_equal(gc_compile_check_arch(&nvrtc, 20), GPUCHAR_E_ARCH_UNSUPPORTED);
    assert_non_null(strstr(gpuchar_last_error()->hint, "older"));
}

static void test_defines(void **state) {
    NEEDS_NVRTC();
    static const int64_t values[] = {0, 1, -1, INT32_MIN, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < GC_COUNT(values); i++) {
        char source[256];
        snprintf(source, sizeof source,
                 "static_assert(V == %lld%s, \"value\"); static_assert(2 * (V / 2) + V %% 2 == V, \"\");\n"
                 "extern \"C\" __global__ void k() {}",
                 (long long)(values[i] == INT64_MIN ? INT64_MIN + 1 : values[i]), values[i] == INT64_MIN ? " - 1" : "");
        gc_define define = {"V", values[i]};
        gc_compile_request request = {
            .source = source, .defines = &define, .define_count = 1, .architecture = some_architecture()};
        gc_image *image = NULL;
        if (compile_one(NULL, &request, &image) != GPUCHAR_OK) {
            fail_msg("%s", gpuchar_last_error()->log);
        }
        gc_image_release(image);
    }
}

static void test_compile_error(void **state) {
    NEEDS_NVRTC();
    gc_define number = {"NUMBER", 1};
    gc_compile_request requests[3] = {request_for(&number, some_architecture()),
                                      request_for(&number, some_architecture()),
                                      request_for(&number, some_architecture())};
    requests[1].name = "broken.cu";
    requests[1].source = "// line 1\nextern \"C\" __global__ void k() { undefined_name(); }\n";
    requests[2].source = "extern \"C\" __global__ void k() { other_name(); }\n";
    gc_image *images[3] = {(gc_image *)1, (gc_image *)1, (gc_image *)1};
    assert_int_equal(gc_compile_many(&nvrtc, NULL, requests, 3, NULL, NULL, images), GPUCHAR_E_COMPILE);
    const gpuchar_error *error = gpuchar_last_error();
    assert_int_equal(error->status, GPUCHAR_E_COMPILE);
    assert_int_equal(error->domain, GPUCHAR_DOMAIN_NVRTC);
    assert_string_equal(error->native_name, "NVRTC_ERROR_COMPILATION");
    assert_string_equal(error->call, "nvrtcCompileProgram");
    assert_non_null(strstr(error->message, nvrtc.library.path));
    /* The first of them, unless a thread had not begun it when the other failed. */
    assert_true((strstr(error->log, "undefined_name") && strstr(error->log, "broken.cu(2)")) ||
                strstr(error->log, "other_name"));
    for (int i = 0; i < 3; i++) {
        assert_null(images[i]);
    }
}

static void test_bad_requests(void **state) {
    NEEDS_NVRTC();
    gc_define number = {"NUMBER", 1};
    gc_image *image = NULL;
    static const char *const bad_archs[] = {"", "90", "sm_", "compute_90", "sm_x"};
    for (size_t i = 0; i < GC_COUNT(bad_archs); i++) {
        gc_compile_request request = request_for(&number, bad_archs[i]);
        assert_int_equal(compile_one(NULL, &request, &image), GPUCHAR_E_INVALID_ARGUMENT);
        assert_null(image);
    }
    gc_compile_request request = request_for(&number, "sm_999");
    assert_int_equal(compile_one(NULL, &request, &image), GPUCHAR_E_ARCH_UNSUPPORTED);
    request = request_for(&number, some_architecture());
    static const char *const flags[] = {"--no-such-option"};
    request.flags = flags;
    request.flag_count = 1;
    assert_int_equal(compile_one(NULL, &request, &image), GPUCHAR_E_INVALID_ARGUMENT);
    assert_non_null(strstr(gpuchar_last_error()->log, "no-such-option"));
    request.flags = NULL;
    assert_int_equal(compile_one(NULL, &request, &image), GPUCHAR_E_INVALID_ARGUMENT);
    request = (gc_compile_request){.architecture = "sm_90"};
    assert_int_equal(compile_one(NULL, &request, &image), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gc_compile_many(&nvrtc, NULL, NULL, 0, NULL, NULL, NULL), GPUCHAR_OK);
}

/* A caller's own standard replaces the library's. */
static void test_flags(void **state) {
    NEEDS_NVRTC();
    static const char *const flags[] = {"  --std=c++14", "-DEXTRA=3", "--device-debug"};
    gc_compile_request request = {
        .source = "static_assert(__cplusplus == 201402L && EXTRA == 3, \"\"); extern \"C\" __global__ void k() {}",
        .architecture = some_architecture(),
        .flags = flags,
        .flag_count = 3};
    gc_image *image = NULL;
    assert_int_equal(compile_one(NULL, &request, &image), GPUCHAR_OK);
    gc_image_release(image);
}

/* Options that would break the contract, however NVRTC lets them be spelled; and some that only look like them. */
static void test_refused_flags(void **state) {
    (void)state;
    static const struct {
        const char *flags[2], *named;
    } cases[] = {
        {{"-arch=sm_80", NULL}, "-arch"},
        {{"-arch", "sm_80"}, "-arch"},
        {{"-arch=sm_90", NULL}, "-arch"}, /* NVRTC 12.0 refuses even that */
        {{"-arch=compute_80", NULL}, "-arch"},
        {{" \t-arch=sm_80", NULL}, "-arch"},
        {{"\n-arch=sm_80 ", NULL}, "-arch"},
        {{"-DX", "-arch=sm_80"}, "-arch"},
        {{"--gpu-architecture=sm_80", NULL}, "--gpu-architecture"},
        {{"--gpu-architecture", "compute_80"}, "--gpu-architecture"},
        {{"-Xptxas", "-arch=sm_100"}, "-arch"},
        {{"-Xptxas", "-arch"}, "-arch"},
        {{"-Xptxas=-arch=sm_100", NULL}, "-arch"},
        {{"--ptxas-options=--gpu-name=sm_100", NULL}, "--gpu-name"},
        {{" --ptxas-options", " --gpu-name"}, "--gpu-name"},
        {{"-Xptxas", "--version"}, "--version"},
        {{"-Xptxas=-h", NULL}, "-h"},
        {{"-Xptxas=-optf=/x", NULL}, "-optf"},
        {{"-dlto", NULL}, "-dlto"},
        {{"--dlink-time-opt", NULL}, "--dlink-time-opt"},
        {{"-optix-ir", NULL}, "-optix-ir"},
        {{"--optix-ir", NULL}, "--optix-ir"},
        {{"--fdevice-syntax-only", NULL}, "--fdevice-syntax-only"},
        {{"-fdevice-syntax-only", NULL}, "-fdevice-syntax-only"},
        {{"-DA=-arch", "-dltoo"}, NULL},
        {{"-Xptxas", "-v"}, NULL},
        {{"-Xptxas", NULL}, NULL},
        {{"-architecture", "-I/-arch"}, NULL},
    };
    gc_define number = {"NUMBER", 1};
    for (size_t i = 0; i < GC_COUNT(cases); i++) {
        gc_compile_request request = request_for(&number, "sm_90");
        gc_compile_job job;
        gc_nvrtc fake = {.version = 13000};
        request.flags = cases[i].flags;
        request.flag_count = cases[i].flags[1] ? 2 : 1;
        gpuchar_status status = gc_compile_job_prepare(&fake, &request, &job);
        if ((status == GPUCHAR_E_INVALID_ARGUMENT) != (cases[i].named != NULL)) {
            fail_msg("%s %s: %s", cases[i].flags[0], cases[i].flags[1] ? cases[i].flags[1] : "",
                     gpuchar_status_name(status));
        }
        if (cases[i].named) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, "leave %s out", cases[i].named);
            assert_non_null(strstr(gpuchar_last_error()->hint, wanted));
        }
        gc_compile_job_clear(&job);
    }
}

static nvrtcResult no_cubin(nvrtcProgram program, size_t *size) {
    (void)program;
    *size = 0;
    return NVRTC_SUCCESS;
}

/* An option of a later NVRTC that makes something else. */
static void test_no_machine_code(void **state) {
    NEEDS_NVRTC();
    gc_nvrtc other = nvrtc;
    other.GetCUBINSize = no_cubin;
    gc_define number = {"NUMBER", 1};
    gc_compile_request request = request_for(&number, some_architecture());
    gc_image *image = NULL;
    assert_int_equal(gc_compile_many(&other, NULL, &request, 1, NULL, NULL, &image), GPUCHAR_E_COMPILE);
    assert_null(image);
    assert_non_null(strstr(gpuchar_last_error()->message, "no machine code"));
    assert_non_null(strstr(gpuchar_last_error()->hint, "flags"));
}

/* Whether the calling thread's signal mask and the process's number of threads are as before. */
static size_t thread_count(void) {
    char last[512];
    return count_files("/proc/self/task", last, sizeof last);
}

static void test_guest(void **state) {
    NEEDS_NVRTC();
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    size_t threads = thread_count();
    gc_define numbers[4] = {{"NUMBER", 1}, {"NUMBER", 2}, {"NUMBER", 3}, {"NUMBER", 4}};
    gc_compile_request requests[4];
    gc_image *images[4];
    for (int i = 0; i < 4; i++) {
        requests[i] = request_for(&numbers[i], some_architecture());
    }
    assert_int_equal(gc_compile_many(&nvrtc, NULL, requests, 4, NULL, NULL, images), GPUCHAR_OK);
    for (int i = 0; i < 4; i++) {
        gc_image_release(images[i]);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < 32; signal++) {
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
    }
    /* The system may list a thread for a moment after it was joined. */
    for (int i = 0; i < 1000 && thread_count() > threads; i++) {
        usleep(1000);
    }
    assert_true(thread_count() <= threads);
}

typedef struct cancel_after {
    atomic_int questions_left;
} cancel_after;

static bool ask_cancel(void *user) {
    return atomic_fetch_sub(&((cancel_after *)user)->questions_left, 1) <= 0;
}

static void test_cancel(void **state) {
    NEEDS_NVRTC();
    gc_cubin_cache *cache = NULL;
    assert_int_equal(gc_cubin_cache_open(NULL, NULL, &cache), GPUCHAR_OK);
    enum { COUNT = 24 };
    gc_define numbers[COUNT];
    gc_compile_request requests[COUNT];
    gc_image *images[COUNT];
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = (gc_define){"NUMBER", i};
        requests[i] = request_for(&numbers[i], some_architecture());
    }
    cancel_after cancel = {.questions_left = 3};
    assert_int_equal(gc_compile_many(&nvrtc, cache, requests, COUNT, ask_cancel, &cancel, images), GPUCHAR_E_CANCELLED);
    for (int i = 0; i < COUNT; i++) {
        assert_null(images[i]);
    }
    /* What was compiled before is kept. */
    gc_image *image = NULL;
    assert_int_equal(compile_one(cache, &requests[0], &image), GPUCHAR_OK);
    assert_int_equal(image->from_cache, 1);
    gc_image_release(image);
    gc_cubin_cache_close(cache);
}

/* Cache in memory. */

static void test_memory_cache(void **state) {
    NEEDS_NVRTC();
    gc_cubin_cache *cache = NULL;
    assert_int_equal(gc_cubin_cache_open(NULL, NULL, &cache), GPUCHAR_OK);
    gc_define one = {"NUMBER", 1}, two = {"NUMBER", 2};
    gc_compile_request requests[3] = {request_for(&one, some_architecture()), request_for(&two, some_architecture()),
                                      request_for(&one, some_architecture())};
    gc_image *images[3], *again[3];
    assert_int_equal(gc_compile_many(&nvrtc, cache, requests, 3, NULL, NULL, images), GPUCHAR_OK);
    assert_ptr_equal(images[0], images[2]); /* equal requests are one compilation */
    assert_ptr_not_equal(images[0]->bytes, images[1]->bytes);
    assert_int_equal(gc_compile_many(&nvrtc, cache, requests, 3, NULL, NULL, again), GPUCHAR_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(again[i]->from_cache, 1);
        assert_int_equal(again[i]->compile_ns, 0);
        assert_ptr_equal(again[i]->bytes, images[i]->bytes);
        assert_int_equal(images[i]->from_cache, 0); /* what was told before stays told */
        gc_image_release(images[i]);
    }
    gc_cubin_cache_close(cache);
    assert_cubin(again[0]); /* images outlive the cache */
    for (int i = 0; i < 3; i++) {
        gc_image_release(again[i]);
    }
    gc_image_release(NULL);
    gc_cubin_cache_close(NULL);
}

/* Each part of a request tells kernels apart. */
static void test_keys(void **state) {
    NEEDS_NVRTC();
    static const char *const fast[] = {"--use_fast_math"}, *const split[] = {"-DA", "-DB"},
                             *const joined[] = {"-DA-DB"};
    gc_define one = {"NUMBER", 1}, two = {"NUMBER", 2};
    gc_compile_request requests[6];
    for (size_t i = 0; i < GC_COUNT(requests); i++) {
        requests[i] = request_for(&one, "sm_90");
    }
    requests[1].defines = &two;
    requests[2].architecture = "sm_90a";
    requests[3].flags = fast;
    requests[3].flag_count = 1;
    requests[4].flags = split;
    requests[4].flag_count = 2;
    requests[5].flags = joined;
    requests[5].flag_count = 1;
    gc_compile_job jobs[8];
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(gc_compile_job_prepare(&nvrtc, &requests[i], &jobs[i]), GPUCHAR_OK);
        assert_true(jobs[i].cacheable);
    }
    gc_nvrtc other = nvrtc;
    other.version += 10;
    assert_int_equal(gc_compile_job_prepare(&other, &requests[0], &jobs[6]), GPUCHAR_OK);
    other = nvrtc;
    other.build.low ^= 1; /* an update that has kept its version */
    assert_int_equal(gc_compile_job_prepare(&other, &requests[0], &jobs[7]), GPUCHAR_OK);
    for (size_t i = 0; i < GC_COUNT(jobs); i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(jobs[i].key.high != jobs[j].key.high || jobs[i].key.low != jobs[j].key.low);
        }
    }
    for (size_t i = 0; i < GC_COUNT(jobs); i++) {
        gc_compile_job_clear(&jobs[i]);
    }
}

static void test_other_files(void **state) {
    (void)state;
    static const struct {
        const char *source, *flag;
        bool cacheable;
    } cases[] = {
        {"#if 1\n#ifdef X\n#endif\n#endif\n", NULL, true},
        {"// include nothing\nint a = 5 % inc;", NULL, true},
        {"asm(\"%include\");", NULL, true},
        {"#include \"a.h\"\n", NULL, false},
        {"  #  include <a.h>\n", NULL, false},
        {"# /* x */ include <a.h>\n", NULL, false},
        {"#\\\ninclude <a.h>\n", NULL, false},
        {"#in\\\nclude <a.h>\n", NULL, false},
        {"%:include <a.h>\n", NULL, false},
        {"#if __has_include(<a.h>)\n#endif\n", NULL, false},
        {"", "-DI=1", true},
        {"", "-I/x", false},
        {"", "--include-path=/x", false},
        {"", "-include=a.h", false},
        {"", " \t-include=a.h", false},
        {"", "-create-pch=a.pch", false},
        {"", "--time=a.csv", false},
        {"", "-Itime", false},
        {"", "-DI", true},
    };
    for (size_t i = 0; i < GC_COUNT(cases); i++) {
        gc_compile_request request = {.source = cases[i].source,
                                      .architecture = "sm_90",
                                      .flags = &cases[i].flag,
                                      .flag_count = cases[i].flag ? 1 : 0};
        gc_compile_job job;
        gc_nvrtc fake = {.version = 13000};
        assert_int_equal(gc_compile_job_prepare(&fake, &request, &job), GPUCHAR_OK);
        if (job.cacheable != cases[i].cacheable) {
            fail_msg("%s %s", cases[i].source, cases[i].flag ? cases[i].flag : "");
        }
        gc_compile_job_clear(&job);
    }
}

/* Cache on disk. */

static gc_cubin_cache *open_cache(const char *path) {
    gc_cubin_cache *cache = NULL;
    assert_int_equal(gc_cubin_cache_open(path, NULL, &cache), GPUCHAR_OK);
    return cache;
}

static void test_disk_cache(void **state) {
    NEEDS_NVRTC();
    char path[512], file[512];
    snprintf(path, sizeof path, "%s/cache", folder);
    gc_define number = {"NUMBER", 1};
    gc_compile_request request = request_for(&number, some_architecture());
    gc_image *first = NULL, *second = NULL, *third = NULL;
    gc_cubin_cache *cache = open_cache(path);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_int_equal(compile_one(cache, &request, &first), GPUCHAR_OK);
    gc_cubin_cache_close(cache);
    assert_int_equal(count_files(path, file, sizeof file), 1);
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    cache = open_cache(path);
    assert_int_equal(compile_one(cache, &request, &second), GPUCHAR_OK);
    assert_int_equal(second->from_cache, 2);
    assert_int_equal(second->compile_ns, 0);
    assert_int_equal(second->size, first->size);
    assert_memory_equal(second->bytes, first->bytes, first->size);
    assert_int_equal(compile_one(cache, &request, &third), GPUCHAR_OK);
    assert_int_equal(third->from_cache, 1);
    gc_cubin_cache_close(cache);
    gc_image_release(first);
    gc_image_release(second);
    gc_image_release(third);
    remove_files(path);
    rmdir(path);
}

/* Several threads on one cache. */

typedef struct shared_work {
    gc_cubin_cache *cache;
    atomic_int failures;
} shared_work;

static void *compile_some(void *user) {
    shared_work *work = user;
    gc_define numbers[3] = {{"NUMBER", 1}, {"NUMBER", 2}, {"NUMBER", 3}};
    gc_compile_request requests[3];
    gc_image *images[3];
    for (int i = 0; i < 3; i++) {
        requests[i] = request_for(&numbers[i], "sm_90");
    }
    if (gc_compile_many(&nvrtc, work->cache, requests, 3, NULL, NULL, images) != GPUCHAR_OK) {
        atomic_fetch_add(&work->failures, 1);
        return NULL;
    }
    for (int i = 0; i < 3; i++) {
        gc_image_release(images[i]);
    }
    return NULL;
}

static void test_threads_compile(void **state) {
    NEEDS_NVRTC();
    shared_work work = {0};
    assert_int_equal(gc_cubin_cache_open(folder, NULL, &work.cache), GPUCHAR_OK);
    pthread_t threads[2];
    for (size_t i = 0; i < GC_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, compile_some, &work), 0);
    }
    for (size_t i = 0; i < GC_COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&work.failures), 0);
    gc_cubin_cache_close(work.cache);
    remove_files(folder);
}

int main(void) {
    have_nvrtc = gc_nvrtc_load(NULL, 0, &nvrtc) == GPUCHAR_OK;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_architecture),
        cmocka_unit_test(test_check_arch),
        cmocka_unit_test(test_defines),
        cmocka_unit_test(test_compile_error),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_refused_flags),
        cmocka_unit_test(test_no_machine_code),
        cmocka_unit_test(test_guest),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_memory_cache),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test_setup_teardown(test_disk_cache, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_threads_compile, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
