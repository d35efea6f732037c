/* A program in the place of gpuchar-worker that misbehaves in the way that the variable IMPOSTOR names. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <worker/protocol.h>

enum { CHANNEL = STDIN_FILENO };

static const char *mode;

static bool is(const char *name) {
    return strcmp(mode, name) == 0;
}

/* Until it is killed; not for ever, should the test that started it be broken. */
static void wait_for_death(void) {
    sleep(60);
    _exit(9);
}

static void say(const void *bytes, size_t count) {
    if (gc_channel_send(CHANNEL, bytes, count, NULL) != GC_TRANSFER_DONE) {
        _exit(8);
    }
}

static void hear(void *bytes, size_t count) {
    if (gc_channel_receive(CHANNEL, bytes, count, NULL) != GC_TRANSFER_DONE) {
        _exit(7);
    }
}

static void skip_message(void) {
    gc_wire_frame frame;
    char byte;
    hear(&frame, sizeof frame);
    for (uint64_t i = 0; i < frame.bytes; i++) {
        hear(&byte, 1);
    }
}

static void say_answer(gc_wire_answer answer, uint64_t announced) {
    gc_wire_frame frame = {.magic = GC_FRAME_MAGIC, .kind = GC_FRAME_ANSWER, .bytes = announced};
    frame.magic = is("frame magic") ? 1 : frame.magic;
    frame.kind = is("frame kind") ? GC_FRAME_JOB : frame.kind;
    say(&frame, sizeof frame);
    say(&answer, sizeof answer);
}

/* The state in which programs want to begin. The exit status tells what is wrong with it; 40: nothing. */
static int inspect(void) {
    sigset_t blocked;
    struct sigaction action;
    char target[64] = "";
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < 32; number++) {
        if (sigismember(&blocked, number)) {
            return 41;
        }
        /* A sanitizer catches what a program would die of. */
        bool asked = number == SIGPIPE || number == SIGCHLD || number == SIGINT || number == SIGUSR1;
        if (asked && (sigaction(number, NULL, &action) != 0 || action.sa_handler != SIG_DFL)) {
            return 42;
        }
    }
    if (getpgid(0) != getpid()) {
        return 43;
    }
    if (readlink("/proc/self/fd/1", target, sizeof target - 1) < 0 || strcmp(target, "/dev/null") != 0) {
        return 44;
    }
    const char *value = getenv("IMPOSTOR_SEES");
    return value && strcmp(value, "the environment") == 0 ? 40 : 45;
}

static void greet(void) {
    gc_wire_hello hello = gc_hello(), other;
    if (is("version")) {
        memset(hello.version, 'x', sizeof hello.version);
        memcpy(hello.version, "9.9.9-", 6);
    }
    hello.protocol = is("protocol") ? 77 : hello.protocol;
    say(&hello, sizeof hello);
    if (is("version") || is("protocol")) {
        _exit(1);
    } else if (is("greets and leaves")) {
        _exit(4);
    }
    hear(&other, sizeof other);
}

static void trickle(void) {
    const struct timespec nap = {.tv_nsec = 1000000};
    gc_wire_frame frame = {.magic = GC_FRAME_MAGIC, .kind = GC_FRAME_ANSWER, .bytes = sizeof(gc_wire_answer)};
    say(&frame, sizeof frame);
    for (;;) {
        nanosleep(&nap, NULL);
        say("", 1);
    }
}

static void answer_job(void) {
    gc_wire_answer answer = {.elapsed_ns = 1};
    uint64_t announced = sizeof answer;
    if (is("deaf")) {
        wait_for_death();
    }
    skip_message();
    if (is("ends without a launch")) {
        say_answer(answer, announced);
        wait_for_death();
    } else if (is("dies while loading")) {
        raise(SIGTERM);
    } else if (is("never launches")) {
        wait_for_death();
    }
    const gc_wire_frame launched = {.magic = GC_FRAME_MAGIC, .kind = GC_FRAME_LAUNCHED, .bytes = is("long launch")};
    say(&launched, sizeof launched);
    if (is("dies in the middle")) {
        raise(SIGKILL);
    } else if (is("trickle")) {
        trickle();
    } else if (is("half of the data")) {
        say_answer(answer, sizeof answer + 16);
        say("12345678", 8);
        _exit(5);
    } else if (is("too long")) {
        announced = UINT64_MAX;
    } else if (is("too short")) {
        announced = 8;
    } else if (is("positive status")) {
        answer.status = GPUCHAR_CAVEAT;
    } else if (is("runs and fails")) {
        answer.status = GPUCHAR_E_CUDA;
        answer.running = 1;
    } else if (is("runs twice")) {
        answer.running = 2;
    } else if (is("never answers")) {
        wait_for_death();
    } else if (is("wild domain")) {
        answer.status = GPUCHAR_E_CUDA;
        answer.domain = 1000;
    } else if (is("endless texts")) {
        memset(&answer, 'A', sizeof answer);
        answer.status = GPUCHAR_E_CUDA;
        answer.domain = GPUCHAR_DOMAIN_CUDA;
        answer.running = 0;
    }
    say_answer(answer, announced);
    wait_for_death();
}

int main(void) {
    static const char garbage[8192] = "this is no greeting";
    mode = getenv("IMPOSTOR");
    mode = mode ? mode : "";
    if (is("dies at once")) {
        return 6;
    } else if (is("inspect")) {
        return inspect();
    } else if (is("silent")) {
        wait_for_death();
    } else if (is("garbage")) {
        say(garbage, sizeof garbage);
        wait_for_death();
    }
    greet();
    if (is("dies while opening")) {
        raise(SIGTERM);
    }
    skip_message();
    say_answer((gc_wire_answer){.status = GPUCHAR_OK}, sizeof(gc_wire_answer));
    answer_job();
    return 0;
}
