/* A child process that the host need not know of: its start, its socket, its end. */
#ifndef GC_WORKER_PROCESS_H
#define GC_WORKER_PROCESS_H

#include <gpuchar/status.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct gc_process {
    pid_t pid;   /* 0: none */
    pid_t owner; /* the process that started it; no other one touches it */
    int watch;   /* pidfd; -1 where the system has none */
    int channel; /* -1: closed */
    bool gone;
    bool told; /* how it ended is known: a host may have asked before us */
    int how;   /* exit status, or the number of the signal */
    bool by_signal;
} gc_process;
#define GC_PROCESS_NONE ((gc_process){.watch = -1, .channel = -1, .gone = true})

/*
 * Starts `path` with its end of a socket as standard input, nothing on its standard output and error, signals as at the
 * beginning of a program, in a process group of its own. E_NO_WORKER: it is not one the system can run. E_WORKER,
 * E_OUT_OF_MEMORY: domain OS.
 */
gpuchar_status gc_process_start(const char *path, gc_process *process);

/*
 * Starts a program with signals as at the beginning of a program, in a process group of its own. `set` says what its files
 * are, from `user`, and returns an errno value. 0, or the errno value of what failed.
 */
int gc_process_spawn(const char *path, char *const *words,
                     int (*set)(posix_spawn_file_actions_t *actions, const void *user), const void *user, pid_t *pid);
/* A pidfd of a child just started, -1 where there is none: for those who start a program themselves. */
int gc_process_open_watch(pid_t pid);

/* Asks, does not wait. */
bool gc_process_gone(gc_process *process);
/* Ends the socket, which tells it to go; also where a process that this one was forked into holds a copy. */
void gc_process_hang_up(gc_process *process);
/* SIGKILL, without waiting. */
void gc_process_kill(gc_process *process);
/* Waits for its end, at most so long. True when it is gone. */
bool gc_process_wait(gc_process *process, uint64_t limit_ns);
/* Gives the descriptors back. In a forked child the child's copies, and the process is forgotten. */
void gc_process_forget(gc_process *process);

#endif
