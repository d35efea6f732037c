#include "faulty_libc.h"

#include "book.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const libc_names[LIBC_CALLS] = {
    "malloc", "open",     "read",    "write",          "close",      "rename",      "fsync", "mkdir", "unlink", "stat",
    "fstat",  "realpath", "opendir", "pthread_create", "socketpair", "posix_spawn", "send",  "recv",  "poll"};

static atomic_bool armed;
static atomic_uint counts[LIBC_CALLS];
static atomic_bool failed;
static atomic_uint write_most;
static libc_call failing_call;
static unsigned failing_use;
static int failing_error;
static void (*called_before)(void);

static void arm(libc_call call, unsigned use, int error, void (*meanwhile)(void)) {
    failing_call = call;
    failing_use = use;
    failing_error = error;
    called_before = meanwhile;
    for (int i = 0; i < LIBC_CALLS; i++) atomic_store(&counts[i], 0);
    atomic_store(&failed, false);
    atomic_store(&armed, true);
}
void libc_fail(libc_call call, unsigned use, int error) {
    arm(call, use, error, NULL);
}
void libc_before(libc_call call, unsigned use, void (*meanwhile)(void)) {
    arm(call, use, 0, meanwhile);
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

static bool fails(libc_call call) {
    if (!atomic_load(&armed)) return false;
    unsigned use = atomic_fetch_add(&counts[call], 1) + 1;
    if (call != failing_call || use != failing_use) return false;
    atomic_store(&failed, true);
    if (called_before) {
        called_before();
        return false;
    }
    errno = failing_error;
    return true;
}

/* ---- memory: a set of the blocks that are watched, by address */

enum { WATCHED_MAX = 1 << 16 };
static void *watched[WATCHED_MAX]; /* each at its hash or behind it, without a gap */
static unsigned watched_count;
static atomic_bool watching;
static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t home_of(const void *block) {
    return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 48) % WATCHED_MAX;
}

static void *took(void *block) {
    if (!block || !atomic_load(&watching)) return block;
    pthread_mutex_lock(&watched_lock);
    size_t at = home_of(block);
    while (watched[at] && watched[at] != block) at = (at + 1) % WATCHED_MAX;
    watched_count += watched[at] == NULL;
    watched[at] = block;
    if (watched_count > WATCHED_MAX / 2) abort();
    pthread_mutex_unlock(&watched_lock);
    return block;
}

/* What lies behind it moves up, unless it is at home. */
static void close_gap(size_t gap) {
    for (size_t at = (gap + 1) % WATCHED_MAX; watched[at]; at = (at + 1) % WATCHED_MAX) {
        size_t home = home_of(watched[at]);
        if ((at - home) % WATCHED_MAX < (at - gap) % WATCHED_MAX) continue;
        watched[gap] = watched[at];
        gap = at;
    }
    watched[gap] = NULL;
}

static void gave_back(const void *block) {
    if (!block || !atomic_load(&watching)) return;
    pthread_mutex_lock(&watched_lock);
    size_t at = home_of(block);
    while (watched[at] && watched[at] != block) at = (at + 1) % WATCHED_MAX;
    watched_count -= watched[at] != NULL;
    if (watched[at]) close_gap(at);
    pthread_mutex_unlock(&watched_lock);
}

void libc_watch(void) {
    pthread_mutex_lock(&watched_lock);
    memset(watched, 0, sizeof watched);
    watched_count = 0;
    pthread_mutex_unlock(&watched_lock);
    atomic_store(&watching, true);
}
unsigned libc_left(void) {
    atomic_store(&watching, false);
    return watched_count;
}

/* ---- memory: calls */

void *faulty_malloc(size_t bytes);
void *faulty_calloc(size_t count, size_t bytes);
void *faulty_realloc(void *old, size_t bytes);
char *faulty_strdup(const char *text);
void faulty_free(void *block);

void *faulty_malloc(size_t bytes) {
    return fails(LIBC_MEMORY) ? NULL : took(malloc(bytes));
}
void *faulty_calloc(size_t count, size_t bytes) {
    return fails(LIBC_MEMORY) ? NULL : took(calloc(count, bytes));
}
void *faulty_realloc(void *old, size_t bytes) {
    if (fails(LIBC_MEMORY)) return NULL;
    gave_back(old);
    return took(realloc(old, bytes));
}
char *faulty_strdup(const char *text) {
    return fails(LIBC_MEMORY) ? NULL : took(strdup(text));
}
void faulty_free(void *block) {
    gave_back(block);
    free(block);
}

/* jansson is a library of its own, but asks the program for its memory. */
__attribute__((constructor)) static void begin(void) {
    json_set_alloc_funcs(faulty_malloc, faulty_free);
}

/* ---- files */

int faulty_open(const char *path, int flags, ...);
ssize_t faulty_read(int file, void *buffer, size_t bytes);
ssize_t faulty_write(int file, const void *buffer, size_t bytes);
int faulty_close(int file);
int faulty_rename(const char *from, const char *to);
int faulty_fsync(int file);
int faulty_mkdir(const char *path, mode_t mode);
int faulty_unlink(const char *path);
int faulty_stat(const char *path, struct stat *about);
int faulty_fstat(int file, struct stat *about);
char *faulty_realpath(const char *path, char *resolved);
DIR *faulty_opendir(const char *path);
int faulty_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);

int faulty_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fails(LIBC_OPEN) ? -1 : open(path, flags, mode);
}
ssize_t faulty_read(int file, void *buffer, size_t bytes) {
    return fails(LIBC_READ) ? -1 : read(file, buffer, bytes);
}
ssize_t faulty_write(int file, const void *buffer, size_t bytes) {
    unsigned most = atomic_load(&write_most);
    return fails(LIBC_WRITE) ? -1 : write(file, buffer, most && most < bytes ? most : bytes);
}
/* As on Linux the descriptor is gone, whatever close returns. */
int faulty_close(int file) {
    int error = fails(LIBC_CLOSE) ? errno : 0;
    int result = close(file);
    if (error) errno = error;
    return error ? -1 : result;
}
int faulty_rename(const char *from, const char *to) {
    return fails(LIBC_RENAME) ? -1 : rename(from, to);
}
int faulty_fsync(int file) {
    return fails(LIBC_FSYNC) ? -1 : fsync(file);
}
int faulty_mkdir(const char *path, mode_t mode) {
    return fails(LIBC_MKDIR) ? -1 : mkdir(path, mode);
}
int faulty_unlink(const char *path) {
    return fails(LIBC_UNLINK) ? -1 : unlink(path);
}
int faulty_stat(const char *path, struct stat *about) {
    return fails(LIBC_STAT) ? -1 : stat(path, about);
}
int faulty_fstat(int file, struct stat *about) {
    return fails(LIBC_FSTAT) ? -1 : fstat(file, about);
}
char *faulty_realpath(const char *path, char *resolved) {
    return fails(LIBC_REALPATH) ? NULL : realpath(path, resolved);
}
DIR *faulty_opendir(const char *path) {
    return fails(LIBC_OPENDIR) ? NULL : opendir(path);
}
/* It returns its error. */
int faulty_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user) {
    return fails(LIBC_THREAD) ? failing_error : pthread_create(thread, attributes, run, user);
}

/* ---- processes and what is said to them */

int faulty_socketpair(int domain, int type, int protocol, int ends[2]);
int faulty_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const *words, char *const *variables);
ssize_t faulty_send(int channel, const void *from, size_t bytes, int flags);
ssize_t faulty_recv(int channel, void *to, size_t bytes, int flags);
int faulty_poll(struct pollfd *which, nfds_t count, int milliseconds);

int faulty_socketpair(int domain, int type, int protocol, int ends[2]) {
    return fails(LIBC_SOCKETPAIR) ? -1 : socketpair(domain, type, protocol, ends);
}
/* It returns its error. */
int faulty_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const *words, char *const *variables) {
    return fails(LIBC_SPAWN) ? failing_error : posix_spawn(pid, path, actions, attributes, words, variables);
}
ssize_t faulty_send(int channel, const void *from, size_t bytes, int flags) {
    return fails(LIBC_SEND) ? -1 : send(channel, from, bytes, flags);
}
/*
 * A fast other side has answered already, and nobody polls. Where polls shall fail, every second receive finds nothing yet, so
 * that they come however fast it is.
 */
static bool is_too_early(void) {
    static atomic_uint asked;
    return atomic_load(&armed) && failing_call == LIBC_POLL && atomic_fetch_add(&asked, 1) % 2 == 0;
}
ssize_t faulty_recv(int channel, void *to, size_t bytes, int flags) {
    if (fails(LIBC_RECV)) return -1;
    if (!is_too_early()) return recv(channel, to, bytes, flags);
    errno = EAGAIN;
    return -1;
}
int faulty_poll(struct pollfd *which, nfds_t count, int milliseconds) {
    return fails(LIBC_POLL) ? -1 : poll(which, count, milliseconds);
}

/* ---- the loader: what fake_hide names is in no library */

void *faulty_dlsym(void *handle, const char *name);

void *faulty_dlsym(void *handle, const char *name) {
    return fake_hidden(name) ? NULL : dlsym(handle, name);
}
