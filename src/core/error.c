/*
 * The thread's error detail. Texts live in fixed buffers, so that a failure for lack of memory can be told; only
 * NVRTC's log, which has any length, is allocated.
 *
 * That log must go when its thread does. Threads have a key destructor for it; a process that leaves main runs no key
 * destructors, so the library's own destructor frees the log of the thread that ends the process. It leaves the
 * logs of other threads alone: they may still be running, and reading.
 */
#undef _GNU_SOURCE /* the POSIX strerror_r, not GNU's */
#undef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "core/error.h"
#include "core/util.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 96, CALL_BYTES = 64, MESSAGE_BYTES = 512, HINT_BYTES = 512 };

/* All of one failure; its strings are held here and pointed to by gpuchar_error. */
typedef struct detail {
    gpuchar_status status;
    uint32_t domain;
    int64_t native_code;
    char *log; /* NULL: none */
    char native_name[NAME_BYTES];
    char call[CALL_BYTES];
    char message[MESSAGE_BYTES];
    char hint[HINT_BYTES];
} detail;

struct gc_error_box {
    detail detail;
};

static _Thread_local detail current;
static _Thread_local gpuchar_error shown;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
/* False before the key is made, when it could not be, and after the library's end. */
static atomic_bool key_usable;

static void free_log_at_thread_exit(void *log) {
    free(log);
    /* A destructor of another key may still look at the error of this thread. */
    current.log = NULL;
}

static void make_key(void) {
    if (pthread_key_create(&key, free_log_at_thread_exit) == 0) {
        atomic_store(&key_usable, true);
    }
}

/*
 * Without deleting the key, a thread that ends after dlclose would call a destructor that is no longer there.
 */
__attribute__((destructor)) static void end_library(void) {
    if (atomic_exchange(&key_usable, false)) {
        free(current.log);
        current.log = NULL;
        pthread_key_delete(key);
    }
}

/* Takes ownership of `log` (NULL allowed). A log that could not be freed later is dropped now. */
static void set_log(char *log) {
    if (!log && !current.log) {
        return;
    }
    pthread_once(&key_once, make_key);
    bool kept = atomic_load(&key_usable) && pthread_setspecific(key, log) == 0;
    free(current.log);
    current.log = kept ? log : NULL;
    if (!kept) {
        free(log);
    }
}

static void copy_text(char *to, size_t capacity, const char *from) {
    size_t length = from ? strlen(from) : 0;
    length = length < capacity ? length : capacity - 1;
    if (length > 0) {
        memcpy(to, from, length);
    }
    to[length] = 0;
}

/* The texts are formatted aside first: arguments may point into the failure that is about to be replaced. */
static gpuchar_status fail(gpuchar_status status, gc_native native, const char *format, va_list arguments) {
    if (status >= 0) {
        return status;
    }
    char message[MESSAGE_BYTES], name[NAME_BYTES], call[CALL_BYTES];
    gc_format_fixed(message, sizeof message, format, arguments);
    gc_text_clean(message); /* documents, file names and other libraries are quoted here */
    copy_text(name, sizeof name, native.name);
    copy_text(call, sizeof call, native.call);

    set_log(NULL);
    current.status = status;
    current.domain = native.domain;
    current.native_code = native.code;
    memcpy(current.native_name, name, sizeof name);
    memcpy(current.call, call, sizeof call);
    memcpy(current.message, message, sizeof message);
    current.hint[0] = 0;
    return status;
}

gpuchar_status gc_fail(gpuchar_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(status, (gc_native){0}, format, arguments);
    va_end(arguments);
    return status;
}

gpuchar_status gc_fail_native(gpuchar_status status, gc_native native, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(status, native, format, arguments);
    va_end(arguments);
    return status;
}

gpuchar_status gc_fail_os(gpuchar_status status, int error_number, const char *call, const char *format, ...) {
    char what[MESSAGE_BYTES], reason[128];
    va_list arguments;
    va_start(arguments, format);
    gc_format_fixed(what, sizeof what, format, arguments);
    va_end(arguments);
    if (strerror_r(error_number, reason, sizeof reason) != 0) {
        snprintf(reason, sizeof reason, "error %d", error_number);
    }
    gc_native native = {
        .domain = GPUCHAR_DOMAIN_OS,
        .code = error_number,
        .name = gc_errno_name(error_number),
        .call = call,
    };
    return gc_fail_native(status, native, "%s: %s", what, reason);
}

gpuchar_status gc_fail_memory(size_t bytes) {
    return gc_fail(GPUCHAR_E_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
}

void gc_hint(const char *format, ...) {
    char hint[HINT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    gc_format_fixed(hint, sizeof hint, format, arguments);
    va_end(arguments);
    gc_text_clean(hint);
    memcpy(current.hint, hint, sizeof hint);
}

gpuchar_status gc_advise(gpuchar_status status, const char *hint) {
    if (status < 0) {
        gc_hint("%s", hint);
    }
    return status;
}

void gc_attach_log(const char *log) {
    char *copy = NULL;
    if (log && log[0]) {
        size_t bytes = strlen(log) + 1;
        copy = malloc(bytes);
        if (copy) {
            memcpy(copy, log, bytes);
        }
    }
    set_log(copy);
}

gc_error_box *gc_error_take(void) {
    if (current.status == GPUCHAR_OK) {
        return NULL;
    }
    gc_error_box *box = malloc(sizeof *box);
    if (!box) {
        return NULL;
    }
    char *log = current.log;
    current.log = NULL;
    if (log) {
        pthread_setspecific(key, NULL);
    }
    box->detail = current;
    box->detail.log = log;
    memset(&current, 0, sizeof current);
    return box;
}

gc_error_box *gc_error_save(void) {
    gc_error_box *box = current.status == GPUCHAR_OK ? NULL : malloc(sizeof *box);
    if (box) {
        box->detail = current;
        box->detail.log = current.log ? strdup(current.log) : NULL;
    }
    return box;
}

gpuchar_status gc_error_put(gc_error_box *box, gpuchar_status status) {
    if (status >= 0) {
        if (box) {
            free(box->detail.log);
        }
        free(box);
        return status;
    }
    if (!box) {
        return gc_fail(status, "%s (an internal thread failed, its detail is lost)", gpuchar_status_text(status));
    }
    set_log(NULL);
    char *log = box->detail.log;
    current = box->detail;
    current.log = NULL;
    current.status = status;
    set_log(log);
    free(box);
    return status;
}

void gc_error_restore(gc_error_box *box) {
    gc_error_put(gc_error_take(), GPUCHAR_OK);
    if (box) {
        gc_error_put(box, box->detail.status);
    }
}

const gpuchar_error *gpuchar_last_error(void) {
    /* Set at each call: the addresses of a thread's variables are no constants. */
    shown = (gpuchar_error){
        .struct_size = sizeof shown,
        .status = current.status,
        .domain = current.domain,
        .native_code = current.native_code,
        .native_name = current.native_name,
        .call = current.call,
        .message = current.message,
        .hint = current.hint,
        .log = current.log ? current.log : "",
    };
    return &shown;
}

/* Puts `text` at *cursor, moves the cursor behind it and returns where the text went. */
static const char *place(char **cursor, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *placed = memcpy(*cursor, text, bytes);
    *cursor += bytes;
    return placed;
}

gpuchar_error *gpuchar_error_copy(void) {
    const gpuchar_error *last = gpuchar_last_error();
    size_t text_bytes = strlen(last->native_name) + strlen(last->call) + strlen(last->message) + strlen(last->hint) +
                        strlen(last->log) + 5;
    gpuchar_error *copy = malloc(sizeof *copy + text_bytes);
    if (!copy) {
        return NULL;
    }
    char *cursor = (char *)(copy + 1);
    *copy = *last;
    copy->native_name = place(&cursor, last->native_name);
    copy->call = place(&cursor, last->call);
    copy->message = place(&cursor, last->message);
    copy->hint = place(&cursor, last->hint);
    copy->log = place(&cursor, last->log);
    return copy;
}

void gpuchar_error_free(gpuchar_error *error) {
    free(error);
}
