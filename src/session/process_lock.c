/*
 * Measurements on one device wait for each other, in this process, and so do readers of counters. The lock of a device
 * is keyed by its UUID, so that sessions of different runtimes and contexts share it.
 */
#include <core/error.h>
#include <pthread.h>
#include <session/process_lock.h>
#include <session/fork.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct gc_process_lock {
    gc_process_lock *next;
    CUuuid key;
    unsigned references; /* under the registry's mutex */
    pid_t owner;
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    bool held;
    pthread_t holder;
};

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static gc_process_lock *registry;

/* The parent's locks stay with its sessions, which are of no use in the child; the child begins a list of its own. */
void gc_process_locks_after_fork(void) {
    registry_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    registry = NULL;
}

static gc_process_lock *make(const CUuuid *key) {
    gc_process_lock *lock = calloc(1, sizeof *lock);
    if (!lock) {
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    /* Waits must not stretch when somebody sets the clock. */
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->freed, &attributes);
    pthread_condattr_destroy(&attributes);
    lock->key = *key;
    lock->owner = getpid();
    return lock;
}

gc_process_lock *gc_process_lock_get(const CUuuid *key) {
    gc_fork_watch();
    pthread_mutex_lock(&registry_mutex);
    gc_process_lock *lock = registry;
    while (lock && memcmp(&lock->key, key, sizeof *key) != 0) {
        lock = lock->next;
    }
    if (!lock) {
        lock = make(key);
        if (lock) {
            lock->next = registry;
            registry = lock;
        }
    }
    if (lock) {
        lock->references++;
    }
    pthread_mutex_unlock(&registry_mutex);
    return lock;
}

void gc_process_lock_release(gc_process_lock *lock) {
    if (!lock) {
        return;
    }
    pthread_mutex_lock(&registry_mutex);
    bool last = --lock->references == 0;
    for (gc_process_lock **at = &registry; last && *at; at = &(*at)->next) {
        if (*at == lock) {
            *at = lock->next;
            break;
        }
    }
    pthread_mutex_unlock(&registry_mutex);
    if (!last) {
        return;
    }
    /* In a forked child a thread that does not exist there may hold them. */
    if (lock->owner == getpid()) {
        pthread_cond_destroy(&lock->freed);
        pthread_mutex_destroy(&lock->mutex);
    }
    free(lock);
}

static struct timespec soon(void) {
    enum { SLICE_NS = 20 * 1000 * 1000 };
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += SLICE_NS;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_nsec -= 1000000000L;
        at.tv_sec++;
    }
    return at;
}

/* Waits in slices: nobody signals a cancel. */
gpuchar_status gc_process_lock_enter(gc_process_lock *lock, bool (*cancelled)(void *), void *user) {
    gpuchar_status status = GPUCHAR_OK;
    pthread_mutex_lock(&lock->mutex);
    if (lock->held && pthread_equal(lock->holder, pthread_self())) {
        status = GPUCHAR_E_BUSY;
    }
    while (lock->held && !status) {
        if (cancelled(user)) {
            status = GPUCHAR_E_CANCELLED;
        } else {
            struct timespec until = soon();
            pthread_cond_timedwait(&lock->freed, &lock->mutex, &until);
        }
    }
    if (!status) {
        lock->held = true;
        lock->holder = pthread_self();
    }
    pthread_mutex_unlock(&lock->mutex);
    return status;
}

void gc_process_lock_leave(gc_process_lock *lock) {
    pthread_mutex_lock(&lock->mutex);
    lock->held = false;
    pthread_cond_signal(&lock->freed);
    pthread_mutex_unlock(&lock->mutex);
}
