/*
 * gpuchar-worker: runs the kernels that the library sends, until the library closes the socket or its process ends. It
 * reads and writes nothing else, and what breaks here breaks nothing there.
 */
#include <worker/program.h>

#include <errno.h>
#include <gpuchar/version.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHANNEL = STDIN_FILENO, LOOK_AT_PARENT_MS = 500 };

/* What a host left open for its children holds files, ports and locks of the host's. */
static void close_inherited(void) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) == 0) {
        return;
    }
#endif
    long most = sysconf(_SC_OPEN_MAX);
    most = most > 0 && most < 65536 ? most : 65536;
    for (int descriptor = STDERR_FILENO + 1; descriptor < most; descriptor++) {
        close(descriptor);
    }
}

/* A host that made a namespace for its children's numbers (unshare) is not seen from inside: its number reads 0. */
static bool has_parent(pid_t parent) {
    const pid_t seen = getppid();
    return seen == 0 || seen == parent;
}

/*
 * A thread of its own, since the main one may wait for a kernel that never ends. The socket alone would not do: a
 * process that the library's was forked into keeps it open.
 */
static void *watch_parent(void *user) {
    const pid_t parent = *(const pid_t *)user;
    for (;;) {
        struct pollfd watched = {.fd = CHANNEL, .events = POLLRDHUP};
        poll(&watched, 1, LOOK_AT_PARENT_MS);
        if ((watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) || !has_parent(parent)) {
            _exit(0);
        }
    }
    return NULL;
}

static bool greet(pid_t *parent) {
    const gc_wire_hello own = gc_hello();
    gc_wire_hello hello;
    if (gc_channel_send(CHANNEL, &own, sizeof own, NULL) != GC_TRANSFER_DONE ||
        gc_channel_receive(CHANNEL, &hello, sizeof hello, NULL) != GC_TRANSFER_DONE) {
        return false;
    }
    *parent = (pid_t)hello.process;
    return memcmp(hello.magic, own.magic, sizeof own.magic) == 0 && hello.protocol == own.protocol &&
           memcmp(hello.version, own.version, sizeof own.version) == 0;
}

static int serve(void) {
    static pid_t parent;
    pthread_t watcher;
    /* Where the parent is not seen, its end is. It is the thread that started us, which waits in the library's call. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* With it a launch would last as long as its kernel, and a kernel that does not end would be one not launched. */
    unsetenv("CUDA_LAUNCH_BLOCKING");
    close_inherited();
    if (!greet(&parent) || pthread_create(&watcher, NULL, watch_parent, &parent) != 0) {
        return EXIT_FAILURE;
    }
    gc_program program = {.channel = CHANNEL};
    while (gc_program_answer(&program)) {
    }
    /* Without the handlers of the driver, which could wait for a kernel. */
    _exit(EXIT_SUCCESS);
}

int main(int count, char **words) {
    int type;
    socklen_t size = sizeof type;
    if (count == 2 && strcmp(words[1], GC_WORKER_ARGUMENT) == 0 &&
        getsockopt(CHANNEL, SOL_SOCKET, SO_TYPE, &type, &size) == 0) {
        return serve();
    }
    if (count == 2 && strcmp(words[1], "--version") == 0) {
        printf("gpuchar-worker %s (protocol %d)\n", gpuchar_version(), GC_PROTOCOL_VERSION);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "gpuchar-worker %s: started by libgpuchar when it needs it, not by hand\n", gpuchar_version());
    return 2;
}
