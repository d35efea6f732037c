/* Threads of the library's own: they end within the call that began them. */
#ifndef GC_CORE_THREADS_H
#define GC_CORE_THREADS_H

#include <pthread.h>
#include <stddef.h>

/* Starts up to `wanted` threads and returns how many began: the caller does the work itself where none does. */
size_t gc_threads_start(pthread_t *threads, size_t wanted, void *(*work)(void *), void *user);

#endif
