/*
 * A host may ignore SIGCHLD or wait for any child, and so learn of our child's end before us; then its number may be
 * given to another process. A pidfd still names the right one. Where there is none (old kernels, seccomp), a child that
 * waitpid calls running is ours.
 */
#include <worker/process.h>

#include <core/error.h>
#include <core/util.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <worker/protocol.h>

extern char **environ;

/* Younger than the oldest C libraries served; the numbers are those of every architecture. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#define GC_P_PIDFD ((idtype_t)3)

static gpuchar_status fail_start(int error, const char *call) {
    gpuchar_status status = error == ENOMEM ? GPUCHAR_E_OUT_OF_MEMORY : GPUCHAR_E_WORKER;
    gc_fail_os(status, error, call, "gpuchar-worker cannot be started");
    if (error == EMFILE || error == ENFILE) {
        gc_hint("too many files are open; raise the limit (ulimit -n) or close some");
    } else if (error == EAGAIN) {
        gc_hint("this user, or this container, has as many processes as it may: raise the limit (ulimit -u, the "
                "cgroup's pids.max) or end some");
    } else if (error == ENOMEM) {
        gc_hint("memory is short; or this process called unshare(CLONE_NEWPID) and the first process of that namespace "
                "has ended, after which the system starts no other one there");
    } else {
        gc_hint("the system refused it; a rule of a container or sandbox (seccomp, AppArmor, SELinux) may forbid to "
                "start programs");
    }
    return status;
}

static gpuchar_status fail_program(int error, const char *path) {
    if (error != ENOENT && error != EACCES && error != ENOEXEC) {
        return fail_start(error, "posix_spawn");
    }
    gpuchar_status status = gc_fail_os(GPUCHAR_E_NO_WORKER, error, "posix_spawn", "%s cannot be run", path);
    gc_hint("it must be a program of this machine's architecture, in a folder that is not mounted noexec");
    return status;
}

/* A host that closed its standard streams gets low numbers, which the child's own would overwrite. */
static bool lift(int *descriptor) {
    if (*descriptor > STDERR_FILENO) {
        return true;
    }
    int lifted = fcntl(*descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (lifted < 0) {
        return false;
    }
    close(*descriptor);
    *descriptor = lifted;
    return true;
}

static gpuchar_status make_channel(int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return fail_start(errno, "socketpair");
    }
    if (!lift(&ends[0]) || !lift(&ends[1])) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return fail_start(error, "fcntl");
    }
    return GPUCHAR_OK;
}

static int set_actions(posix_spawn_file_actions_t *actions, const void *channel) {
    int error = posix_spawn_file_actions_adddup2(actions, *(const int *)channel, STDIN_FILENO);
    for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO && !error; stream++) {
        error = posix_spawn_file_actions_addopen(actions, stream, "/dev/null", O_WRONLY, 0);
    }
    return error;
}

/* A group of its own: the terminal's Ctrl-C is for the host to answer. */
static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    error = error ? error : posix_spawnattr_setsigdefault(attributes, &all);
    error = error ? error : posix_spawnattr_setpgroup(attributes, 0);
    return error ? error
                 : posix_spawnattr_setflags(attributes,
                                            POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

int gc_process_spawn(const char *path, char *const *words,
                     int (*set)(posix_spawn_file_actions_t *actions, const void *user), const void *user, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = set(&actions, user);
        error = error ? error : set_attributes(&attributes);
        error = error ? error : posix_spawn(pid, path, &actions, &attributes, words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int spawn(const char *path, int channel, pid_t *pid) {
    char name[] = "gpuchar-worker", argument[] = GC_WORKER_ARGUMENT;
    char *const words[] = {name, argument, NULL};
    return gc_process_spawn(path, words, set_actions, &channel, pid);
}

int gc_process_open_watch(pid_t pid) {
    int watch = (int)syscall(SYS_pidfd_open, pid, 0);
    siginfo_t about;
    /* Already reaped by the host, and the number given away: then it is no child of ours. Linux 5.3 cannot tell. */
    if (watch >= 0 && waitid(GC_P_PIDFD, (id_t)watch, &about, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) {
        close(watch);
        return -1;
    }
    if (watch >= 0 && !lift(&watch)) {
        close(watch);
        return -1;
    }
    return watch;
}

gpuchar_status gc_process_start(const char *path, gc_process *process) {
    *process = GC_PROCESS_NONE;
    int ends[2];
    gpuchar_status status = make_channel(ends);
    if (status) {
        return status;
    }
    pid_t pid = 0;
    int error = spawn(path, ends[1], &pid);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return fail_program(error, path);
    }
    *process = (gc_process){.pid = pid, .owner = getpid(), .watch = gc_process_open_watch(pid), .channel = ends[0]};
    return GPUCHAR_OK;
}

/* The answer of waitid: 0 and no process means that it runs, ECHILD that somebody else was told. */
static void note_end(gc_process *process, int answer, const siginfo_t *about) {
    if (answer == 0 && about->si_pid == 0) {
        return;
    }
    process->gone = answer == 0 || errno == ECHILD;
    if (answer == 0) {
        process->told = true;
        process->how = about->si_status;
        process->by_signal = about->si_code != CLD_EXITED;
    }
}

bool gc_process_gone(gc_process *process) {
    if (process->gone || process->owner != getpid()) {
        return true;
    }
    siginfo_t about = {.si_pid = 0};
    int answer = -1;
    if (process->watch >= 0) {
        struct pollfd watched = {.fd = process->watch, .events = POLLIN};
        if (poll(&watched, 1, 0) <= 0) {
            return false;
        }
        answer = waitid(GC_P_PIDFD, (id_t)process->watch, &about, WEXITED | WNOHANG);
    }
    if (answer != 0 && (process->watch < 0 || errno == EINVAL)) {
        answer = waitid(P_PID, (id_t)process->pid, &about, WEXITED | WNOHANG);
    }
    note_end(process, answer, &about);
    return process->gone;
}

void gc_process_hang_up(gc_process *process) {
    if (process->channel < 0) {
        return;
    }
    if (process->owner == getpid()) {
        shutdown(process->channel, SHUT_RDWR);
    }
    close(process->channel);
    process->channel = -1;
}

void gc_process_kill(gc_process *process) {
    if (gc_process_gone(process)) {
        return;
    }
    if (process->watch >= 0 &&
        (syscall(SYS_pidfd_send_signal, process->watch, SIGKILL, NULL, 0) == 0 || errno == ESRCH)) {
        return;
    }
    kill(process->pid, SIGKILL); /* a sandbox may know the older call only */
}

bool gc_process_wait(gc_process *process, uint64_t limit_ns) {
    const struct timespec nap = {.tv_nsec = 1000000};
    uint64_t until = gc_now_ns() + limit_ns;
    while (!gc_process_gone(process) && gc_now_ns() < until) {
        struct pollfd watched = {.fd = process->watch, .events = POLLIN};
        if (process->watch < 0) {
            nanosleep(&nap, NULL);
        } else {
            poll(&watched, 1, 10);
        }
    }
    return process->gone || process->owner != getpid();
}

void gc_process_forget(gc_process *process) {
    gc_process_hang_up(process);
    if (process->watch >= 0) {
        close(process->watch);
    }
    *process = GC_PROCESS_NONE;
}
