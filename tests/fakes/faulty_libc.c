#include "faulty_libc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A sanitizer's runtime may call these before it is ready; see hide_symbols.c. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

const char *const libc_names[LIBC_CALLS] = {"malloc", "open",     "read",    "write",         "close",
                                            "rename", "fsync",    "mkdir",   "unlink",        "stat",
                                            "fstat",  "realpath", "opendir", "pthread_create"};

static atomic_bool armed;
static atomic_uint counts[LIBC_CALLS];
static atomic_bool failed;
static atomic_uint write_most;
static libc_call failing_call;
static unsigned failing_use;
static int failing_error;

void libc_fail(libc_call call, unsigned use, int error) {
    failing_call = call;
    failing_use = use;
    failing_error = error;
    for (int i = 0; i < LIBC_CALLS; i++) atomic_store(&counts[i], 0);
    atomic_store(&failed, false);
    atomic_store(&armed, true);
}
void libc_stop(void) {
    atomic_store(&armed, false);
    atomic_store(&write_most, 0);
}
unsigned libc_count(libc_call call) {
    return atomic_load(&counts[call]);
}
bool libc_failed(void) {
    return atomic_load(&failed);
}
void libc_write_at_most(unsigned bytes) {
    atomic_store(&write_most, bytes);
}

EARLY static bool fails(libc_call call) {
    if (!atomic_load(&armed)) return false;
    unsigned use = atomic_fetch_add(&counts[call], 1) + 1;
    if (call != failing_call || use != failing_use) return false;
    atomic_store(&failed, true);
    errno = failing_error;
    return true;
}

/* ---- memory */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);

EARLY void *__wrap_malloc(size_t bytes) {
    return fails(LIBC_MEMORY) ? NULL : __real_malloc(bytes);
}
EARLY void *__wrap_calloc(size_t count, size_t bytes) {
    return fails(LIBC_MEMORY) ? NULL : __real_calloc(count, bytes);
}
EARLY void *__wrap_realloc(void *old, size_t bytes) {
    return fails(LIBC_MEMORY) ? NULL : __real_realloc(old, bytes);
}
EARLY char *__wrap_strdup(const char *text) {
    return fails(LIBC_MEMORY) ? NULL : __real_strdup(text);
}

/* jansson is a library of its own, but asks the program for its memory. */
__attribute__((constructor)) static void begin(void) {
    json_set_alloc_funcs(__wrap_malloc, free);
}

/* ---- files */

int __real_open(const char *path, int flags, ...);
ssize_t __real_read(int file, void *buffer, size_t bytes);
ssize_t __real_write(int file, const void *buffer, size_t bytes);
int __real_close(int file);
int __real_rename(const char *from, const char *to);
int __real_fsync(int file);
int __real_mkdir(const char *path, mode_t mode);
int __real_unlink(const char *path);
int __real_stat(const char *path, struct stat *about);
int __real_fstat(int file, struct stat *about);
char *__real_realpath(const char *path, char *resolved);
DIR *__real_opendir(const char *path);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_read(int file, void *buffer, size_t bytes);
ssize_t __wrap_write(int file, const void *buffer, size_t bytes);
int __wrap_close(int file);
int __wrap_rename(const char *from, const char *to);
int __wrap_fsync(int file);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_unlink(const char *path);
int __wrap_stat(const char *path, struct stat *about);
int __wrap_fstat(int file, struct stat *about);
char *__wrap_realpath(const char *path, char *resolved);
DIR *__wrap_opendir(const char *path);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);

EARLY int __wrap_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fails(LIBC_OPEN) ? -1 : __real_open(path, flags, mode);
}
EARLY ssize_t __wrap_read(int file, void *buffer, size_t bytes) {
    return fails(LIBC_READ) ? -1 : __real_read(file, buffer, bytes);
}
EARLY ssize_t __wrap_write(int file, const void *buffer, size_t bytes) {
    unsigned most = atomic_load(&write_most);
    return fails(LIBC_WRITE) ? -1 : __real_write(file, buffer, most && most < bytes ? most : bytes);
}
/* As on Linux the descriptor is gone, whatever close returns. */
EARLY int __wrap_close(int file) {
    int error = fails(LIBC_CLOSE) ? errno : 0;
    int result = __real_close(file);
    if (error) errno = error;
    return error ? -1 : result;
}
EARLY int __wrap_rename(const char *from, const char *to) {
    return fails(LIBC_RENAME) ? -1 : __real_rename(from, to);
}
EARLY int __wrap_fsync(int file) {
    return fails(LIBC_FSYNC) ? -1 : __real_fsync(file);
}
EARLY int __wrap_mkdir(const char *path, mode_t mode) {
    return fails(LIBC_MKDIR) ? -1 : __real_mkdir(path, mode);
}
EARLY int __wrap_unlink(const char *path) {
    return fails(LIBC_UNLINK) ? -1 : __real_unlink(path);
}
EARLY int __wrap_stat(const char *path, struct stat *about) {
    return fails(LIBC_STAT) ? -1 : __real_stat(path, about);
}
EARLY int __wrap_fstat(int file, struct stat *about) {
    return fails(LIBC_FSTAT) ? -1 : __real_fstat(file, about);
}
EARLY char *__wrap_realpath(const char *path, char *resolved) {
    return fails(LIBC_REALPATH) ? NULL : __real_realpath(path, resolved);
}
EARLY DIR *__wrap_opendir(const char *path) {
    return fails(LIBC_OPENDIR) ? NULL : __real_opendir(path);
}
/* It returns its error. */
EARLY int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user) {
    return fails(LIBC_THREAD) ? failing_error : __real_pthread_create(thread, attributes, run, user);
}
