/*
 * An NVRTC that hands on to a real one, when the book names it, and compiles each text once a process: the same text with
 * the same options is answered from memory, so that a test may compile the same kernel a thousand times. Without a real
 * one each text gives an ELF file that holds no code. Behind the end of either ELF file stand the `#define`s that the text
 * begins with: by them the fake GPU knows what it runs (planted.h).
 */
#include "book.h"

#include <dlfcn.h>
#include <platform/nvrtc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(member, result, parameters) __attribute__((visibility("hidden"))) result fake_##member parameters;
GC_NVRTC_FUNCTIONS(DECLARE)
#undef DECLARE

/* ---- the real one */

typedef struct real_nvrtc {
#define MEMBER(member, result, parameters) result(*member) parameters;
    GC_NVRTC_FUNCTIONS(MEMBER)
#undef MEMBER
} real_nvrtc;

static real_nvrtc table;
static const real_nvrtc *real; /* NULL: there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_real(void) {
    void *library = fake()->nvrtc_path ? dlopen(fake()->nvrtc_path, RTLD_NOW | RTLD_LOCAL) : NULL;
    bool whole = library != NULL;
#define TAKE(member, result, parameters)                                                                               \
    {                                                                                                                  \
        void *address = library ? dlsym(library, "nvrtc" #member) : NULL;                                              \
        memcpy(&table.member, &address, sizeof address);                                                               \
        whole = whole && address;                                                                                      \
    }
    GC_NVRTC_FUNCTIONS(TAKE)
#undef TAKE
    if (whole) real = &table;
}

static const real_nvrtc *forward(void) {
    pthread_once(&once, open_real);
    return real;
}

/* ---- what was compiled; kept until the process ends */

typedef struct answer {
    struct answer *next;
    gc_hash key;
    nvrtcResult result;
    char *log, *cubin;
    size_t log_size, cubin_size;
} answer;

static answer *answers;
static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct program {
    char *text, *name;
    const answer *compiled;
} program;

static gc_hash hash_text(gc_hash hash, const char *text) {
    for (; *text; text++) {
        hash.low = (hash.low ^ (unsigned char)*text) * 0x100000001b3u;
        hash.high = (hash.high + (unsigned char)*text) * 0x9e3779b97f4a7c15u;
    }
    hash.low = (hash.low ^ 0xff) * 0x100000001b3u;
    return hash;
}

static answer *look_up(gc_hash key) {
    pthread_mutex_lock(&answers_lock);
    answer *at = answers;
    while (at && (at->key.high != key.high || at->key.low != key.low)) at = at->next;
    pthread_mutex_unlock(&answers_lock);
    return at;
}

static void keep(answer *made) {
    pthread_mutex_lock(&answers_lock);
    made->next = answers;
    answers = made;
    pthread_mutex_unlock(&answers_lock);
}

static size_t defines_length(const char *text) {
    const char *at = text;
    while (strncmp(at, "#define ", 8) == 0 && strchr(at, '\n')) at = strchr(at, '\n') + 1;
    return (size_t)(at - text);
}

/* The ELF file's bytes, the defines, a NUL. */
static void add_defines(answer *made, const char *text) {
    size_t length = defines_length(text);
    char *longer = realloc(made->cubin, made->cubin_size + length + 1);
    if (!longer) return;
    made->cubin = longer;
    memcpy(longer + made->cubin_size, text, length);
    longer[made->cubin_size + length] = 0;
    made->cubin_size += length + 1;
}

static void compile_canned(answer *made) {
    static const char code[64] = "\177ELF";
    made->result = NVRTC_SUCCESS;
    made->cubin_size = sizeof code;
    made->cubin = malloc(sizeof code);
    if (made->cubin) memcpy(made->cubin, code, sizeof code);
    made->log = strdup("a canned cubin");
    made->log_size = made->log ? strlen(made->log) + 1 : 0;
}

static void compile_real(const real_nvrtc *nvrtc, const program *from, int options, const char *const *texts,
                         answer *made) {
    nvrtcProgram one = NULL;
    made->result = nvrtc->CreateProgram(&one, from->text, from->name, 0, NULL, NULL);
    if (made->result != NVRTC_SUCCESS) return;
    made->result = nvrtc->CompileProgram(one, options, texts);
    if (nvrtc->GetProgramLogSize(one, &made->log_size) == NVRTC_SUCCESS) {
        made->log = calloc(1, made->log_size + 1);
        if (made->log) nvrtc->GetProgramLog(one, made->log);
    }
    if (made->result == NVRTC_SUCCESS && nvrtc->GetCUBINSize(one, &made->cubin_size) == NVRTC_SUCCESS) {
        made->cubin = calloc(1, made->cubin_size + 1);
        if (made->cubin) nvrtc->GetCUBIN(one, made->cubin);
    }
    nvrtc->DestroyProgram(&one);
}

/* ---- the functions; they hold no lock, so that several threads compile at once */

nvrtcResult fake_Version(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    nvrtcResult result = forward() ? real->Version(major, minor) : NVRTC_SUCCESS;
    if (fake()->nvrtc_major) *major = fake()->nvrtc_major;
    return result;
}
const char *fake_GetErrorString(nvrtcResult result) {
    switch ((int)result) {
#define NAME(code)                                                                                                     \
    case code:                                                                                                         \
        return #code
        NAME(NVRTC_ERROR_OUT_OF_MEMORY);
        NAME(NVRTC_ERROR_PROGRAM_CREATION_FAILURE);
        NAME(NVRTC_ERROR_INVALID_INPUT);
        NAME(NVRTC_ERROR_INVALID_PROGRAM);
        NAME(NVRTC_ERROR_INVALID_OPTION);
        NAME(NVRTC_ERROR_COMPILATION);
        NAME(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE);
        NAME(NVRTC_ERROR_INTERNAL_ERROR);
        NAME(NVRTC_ERROR_TIME_FILE_WRITE_FAILED);
#undef NAME
    default:
        return forward() ? real->GetErrorString(result) : "NVRTC_ERROR unknown";
    }
}

static const int canned_archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

nvrtcResult fake_GetNumSupportedArchs(int *count) {
    *count = (int)(sizeof canned_archs / sizeof canned_archs[0]);
    return forward() ? real->GetNumSupportedArchs(count) : NVRTC_SUCCESS;
}
nvrtcResult fake_GetSupportedArchs(int *archs) {
    if (forward()) return real->GetSupportedArchs(archs);
    memcpy(archs, canned_archs, sizeof canned_archs);
    return NVRTC_SUCCESS;
}

nvrtcResult fake_CreateProgram(nvrtcProgram *made, const char *source, const char *name, int headers,
                               const char *const *header_texts, const char *const *header_names) {
    void *state = NULL;
    (void)header_texts;
    (void)header_names;
    if (headers != 0) return NVRTC_ERROR_INVALID_INPUT;
    size_t text_bytes = strlen(source) + 1, name_bytes = strlen(name) + 1;
    *made = (nvrtcProgram)fake_make(FAKE_PROGRAM, 0, sizeof(program) + text_bytes + name_bytes, &state);
    program *at = state;
    at->text = (char *)(at + 1);
    at->name = at->text + text_bytes;
    memcpy(at->text, source, text_bytes);
    memcpy(at->name, name, name_bytes);
    return NVRTC_SUCCESS;
}
nvrtcResult fake_DestroyProgram(nvrtcProgram *one) {
    bool found = fake_end(FAKE_PROGRAM, (uintptr_t)*one);
    *one = NULL;
    return found ? NVRTC_SUCCESS : NVRTC_ERROR_INVALID_PROGRAM;
}
nvrtcResult fake_CompileProgram(nvrtcProgram one, int options, const char *const *option_texts) {
    program *at = fake_find(FAKE_PROGRAM, (uintptr_t)one);
    if (!at) return NVRTC_ERROR_INVALID_PROGRAM;
    bool canned = fake()->nvrtc_canned || !forward();
    gc_hash key = hash_text(hash_text((gc_hash){1, canned}, at->name), at->text);
    for (int i = 0; i < options; i++) key = hash_text(key, option_texts[i]);
    answer *made = look_up(key);
    if (!made) {
        made = calloc(1, sizeof *made);
        if (!made) return NVRTC_ERROR_OUT_OF_MEMORY;
        made->key = key;
        if (canned) {
            compile_canned(made);
        } else {
            compile_real(real, at, options, option_texts, made);
        }
        if (made->cubin) add_defines(made, at->text);
        keep(made);
    }
    at->compiled = made;
    return made->result;
}

/* What the compilation left, or NULL. */
static const answer *compiled(nvrtcProgram one) {
    const program *at = fake_find(FAKE_PROGRAM, (uintptr_t)one);
    return at ? at->compiled : NULL;
}

nvrtcResult fake_GetCUBINSize(nvrtcProgram one, size_t *size) {
    const answer *found = compiled(one);
    if (!found) return NVRTC_ERROR_INVALID_PROGRAM;
    *size = found->cubin ? found->cubin_size : 0;
    return NVRTC_SUCCESS;
}
nvrtcResult fake_GetCUBIN(nvrtcProgram one, char *cubin) {
    const answer *found = compiled(one);
    if (!found || !found->cubin) return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(cubin, found->cubin, found->cubin_size);
    return NVRTC_SUCCESS;
}
nvrtcResult fake_GetProgramLogSize(nvrtcProgram one, size_t *size) {
    const answer *found = compiled(one);
    *size = found && found->log ? found->log_size : 1;
    return found ? NVRTC_SUCCESS : NVRTC_ERROR_INVALID_PROGRAM;
}
nvrtcResult fake_GetProgramLog(nvrtcProgram one, char *log) {
    const answer *found = compiled(one);
    log[0] = 0;
    if (found && found->log) memcpy(log, found->log, found->log_size);
    return found ? NVRTC_SUCCESS : NVRTC_ERROR_INVALID_PROGRAM;
}
