#include <core/threads.h>

#include <signal.h>

/* NVIDIA's compiler recurses deeply; a host's own default may be small. */
#define STACK_BYTES ((size_t)16 << 20)

size_t gc_threads_start(pthread_t *threads, size_t wanted, void *(*work)(void *), void *user) {
    pthread_attr_t attributes;
    sigset_t all, before;
    if (wanted == 0 || pthread_attr_init(&attributes) != 0) {
        return 0;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* New threads inherit the mask: the host's signals stay on the host's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    size_t started = 0;
    while (started < wanted && pthread_create(&threads[started], &attributes, work, user) == 0) {
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}
