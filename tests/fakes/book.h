/*
 * The book that the fakes keep together: which calls came, which of them shall fail, what is held and what was done
 * wrong, and how the fake machine behaves. A library of its own, so that the fake driver, CUPTI, NVML, NVRTC and the test
 * see one book.
 */
#ifndef FAKES_BOOK_H
#define FAKES_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fake_library { FAKE_CUDA, FAKE_CUPTI, FAKE_NVML, FAKE_NVRTC, FAKE_LIBRARIES } fake_library;

/* ---- calls: each function of a fake goes through a generated wrapper that enters it here */

/* What gives something back does so even when it is made to fail, as NVIDIA's functions may tell an earlier error. */
typedef enum fake_verdict { FAKE_WORKS, FAKE_FAILS, FAKE_WORKS_AND_FAILS } fake_verdict;
/* Counts the call and holds the book's lock until fake_leave. */
fake_verdict fake_enter(fake_library library, const char *name, int *error);
void fake_leave(void);
const char *fake_current(void); /* the call entered last */
bool fake_gives_back(const char *name);

typedef struct fake_call {
    fake_library library;
    const char *name;
    unsigned count;
} fake_call;
enum { FAKE_CALLS_MAX = 160 };
/* The functions called since fake_calls_clear, in the order of their first call; returns their number. */
size_t fake_calls(fake_call list[FAKE_CALLS_MAX]);
void fake_calls_clear(void);
unsigned fake_call_count(const char *name);

/* Call number `use` (from 1; 0: each) of a function from now on returns `error`. One at a time; NULL: none. */
void fake_fail(const char *name, unsigned use, int error);
/* How many calls were made to fail since then. */
unsigned fake_failed(void);

/* A function that the libraries do not have, with its prefix ("cuLaunchKernel"); several at once are allowed. */
void fake_hide(const char *name);
bool fake_hidden(const char *name);

/* ---- objects: a handle is a number that means nothing outside of the book, and is never given out again */

typedef enum fake_kind {
    FAKE_CONTEXT,
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_MODULE,
    FAKE_FUNCTION, /* goes with its module, so it is never held */
    FAKE_MEMORY,
    FAKE_HOST,     /* CUPTI's host object */
    FAKE_PROFILER, /* CUPTI's range profiler */
    FAKE_PROGRAM,
    FAKE_KINDS
} fake_kind;

/* `state` is zeroed; it lives until the object ends. A parent's end ends its children. */
uintptr_t fake_make(fake_kind kind, uintptr_t parent, size_t bytes, void **state);
/* NULL, and misuse, when it is no living object of the kind. */
void *fake_find(fake_kind kind, uintptr_t handle);
bool fake_alive(fake_kind kind, uintptr_t handle);
uintptr_t fake_parent(uintptr_t handle);
bool fake_end(fake_kind kind, uintptr_t handle);
/* Ends what a parent holds, as the end of a context does; returns how many objects there were, functions aside. */
size_t fake_end_children(uintptr_t parent);
/* The living object of a kind for which `match` holds; 0: none. */
uintptr_t fake_search(fake_kind kind, bool (*match)(const void *state, const void *user), const void *user,
                      void **state);

/* Objects that nobody gave back yet, with retained contexts and initialized libraries; of a kind; in words. */
size_t fake_held(fake_kind kind);
size_t fake_held_all(void);
const char *fake_held_text(void);

/* What the library did wrong: unknown handles, use after the end, a pop from an empty stack. "" when all was right. */
void fake_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *fake_misuses(void);

/* ---- the machine */

enum { FAKE_DEVICES = 2 };

/* What a launch says and what it does; the default lasts 40,000 cycles at 2 GHz and executes nothing. */
typedef struct fake_launch {
    const char *kernel;
    unsigned grid, block;
    int device;
    unsigned sm_count; /* of the device */
    const void *arguments;
    const void *image; /* as cuModuleLoadData got it: the caller's, and no longer there than the caller keeps it */
    /* What a kernel writes to and reads from: these bytes of device memory; NULL, and misuse, where there are none. */
    void *(*memory)(uint64_t address, size_t bytes);
} fake_launch;
typedef struct fake_effect {
    uint64_t cycles, nanoseconds;                  /* into the launch's slot */
    double warp_instructions, thread_instructions; /* counted when a range is open */
    bool fault;                                    /* it has touched what is not there: the context is lost */
} fake_effect;
typedef void (*fake_law)(const fake_launch *launch, fake_effect *effect, void *user);

typedef struct fake_context_state {
    int device;
    bool primary;
    double now_ns;
    double warp_instructions, thread_instructions;
} fake_context_state;

/* Set by tests, and read. fake_reset restores the defaults. */
typedef struct fake_world {
    /* driver */
    int version;      /* 13000 */
    int device_count; /* FAKE_DEVICES: "Fake GPU", sm_90, and a MIG slice, sm_80 */
    int init_result;
    int sticky; /* what calls on a context return; 0: it is alive */
    int init_calls;
    int swept; /* objects that went with a context that was alive, because nobody had given them back */
    int retains[FAKE_DEVICES];
    fake_law law; /* NULL: the default */
    void *law_user;
    /* CUPTI */
    uint32_t cupti_version; /* 24 */
    uint32_t passes;        /* 1; one more for more than 3 metrics */
    int profilers;          /* initialized and not ended: the real one knows only whether there is any */
    int most_profilers;     /* at once */
    /* NVML */
    unsigned nvml_knows; /* bit of each device that it has: 1 */
    int nvml_users;
    unsigned nvml_processes;                /* this one among them when it is not 0 */
    unsigned long long throttle_reasons[2]; /* {1, 1}, idle: told for nvml_turn calls, and afterwards */
    unsigned nvml_turn;
    /* NVRTC */
    const char *nvrtc_path; /* of the real one; NULL: a canned cubin that holds no code. Stays over a reset */
    bool nvrtc_canned;      /* the canned cubin although there is a real one: without code there is nothing to prove */
    int nvrtc_major;        /* 0: that of the real one, 13 without one */
} fake_world;
fake_world *fake(void);
/* Forgets all calls, failures, objects and misuse. Nothing may be open. */
void fake_reset(void);

/* The calling thread's context stack and capture mode (CUstreamCaptureMode); a caller's own context, ended by fake_reset. */
typedef struct fake_thread {
    uintptr_t stack[64];
    int depth;
    int capture_mode;
} fake_thread;
fake_thread *fake_this_thread(void);
uintptr_t fake_context(int device);
/* As cuCtxDestroy: all that is in it is gone. */
void fake_context_destroy(uintptr_t context);

#endif
