#include <session/fork.h>

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void) {
    gc_runtime_after_fork();
    gc_process_locks_after_fork();
}

/*
 * Nothing is locked before the fork: cuInit itself forks while the runtime's lock is held. For lack of memory the
 * handler may be missing; then a child of a process that forked during a call may wait for a lock.
 */
static void watch(void) {
    pthread_atfork(NULL, NULL, in_child);
}

void gc_fork_watch(void) {
    pthread_once(&once, watch);
}
