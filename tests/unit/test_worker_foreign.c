/* Where the worker is looked for, programs in its place that misbehave, and the worker among hostile callers. */
#include "worker_helper.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <worker/locate.h>
#include <worker/process.h>
#include <worker/program.h>
#include "temp_folder.h"

/* ---- impostors */

static gpuchar_status start_impostor(const fixture *f, const char *mode, gc_worker **worker) {
    assert_int_equal(setenv("IMPOSTOR", mode, 1), 0);
    assert_int_equal(setenv("IMPOSTOR_SEES", "the environment", 1), 0);
    return begin_and_wait(f->session, worker);
}

static void expect_start(const char *mode, gpuchar_status expected, const char *part) {
    fixture f = open_fixture(WORKER_IMPOSTOR);
    gc_worker *worker = NULL;
    assert_failure(start_impostor(&f, mode, &worker), expected);
    assert_null(worker);
    assert_contains(gpuchar_last_error()->message, part);
    assert_contains(gpuchar_last_error()->message, "worker_impostor");
    assert_true(gpuchar_last_error()->hint[0] != 0);
    close_fixture(&f);
}

static void test_other_versions(void **state) {
    (void)state;
    expect_start("version", GPUCHAR_E_WORKER_VERSION, "9.9.9-");
    assert_contains(gpuchar_last_error()->message, gpuchar_version());
    expect_start("protocol", GPUCHAR_E_WORKER_VERSION, "protocol 77");
}

static void test_bad_beginnings(void **state) {
    (void)state;
    expect_start("garbage", GPUCHAR_E_WORKER, "does not answer as");
    expect_start("dies at once", GPUCHAR_E_WORKER, "status 6");
    expect_start("dies while opening", GPUCHAR_E_WORKER, "signal 15");
}

/* Handlers, masks, groups, streams and environment with which the program begins. */
static void test_beginning(void **state) {
    (void)state;
    sigset_t all, before;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pipe_before;
    sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    assert_int_equal(sigaction(SIGPIPE, &ignore, &pipe_before), 0);
    expect_start("inspect", GPUCHAR_E_WORKER, "status 40");
    assert_int_equal(sigaction(SIGPIPE, &pipe_before, NULL), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

static void test_silence(void **state) {
    (void)state;
    static bool done;
    if (done) skip(); /* once: it takes ten seconds */
    done = true;
    uint64_t begin = gc_now_ns();
    expect_start("silent", GPUCHAR_E_TIMEOUT, "greeting");
    assert_in_range(gc_now_ns() - begin, 10000 * NS_PER_MS, 20000 * NS_PER_MS);
}

static void test_bad_answers(void **state) {
    (void)state;
    static const struct {
        const char *mode, *part;
    } answers[] = {
        {"frame magic", "does not answer as"},
        {"frame kind", "does not answer as"},
        {"too long", "does not answer as"},
        {"too short", "does not answer as"},
        {"positive status", "does not answer as"},
        {"wild domain", "does not answer as"},
        {"half of the data", "status 5"},
        {"dies in the middle", "signal 9 while running"},
        {"long launch", "does not answer as"},
        {"ends without a launch", "does not answer as"},
        {"runs and fails", "does not answer as"},
        {"runs twice", "does not answer as"},
        {"dies while loading", "signal 15 while loading"},
    };
    for (size_t i = 0; i < GC_COUNT(answers); i++) {
        fixture f = open_fixture(WORKER_IMPOSTOR);
        gc_worker *worker = NULL;
        gc_worker_outcome outcome;
        /* Frames are wrong from the first one on. */
        gpuchar_status status = start_impostor(&f, answers[i].mode, &worker);
        if (!status) {
            add_job add;
            make_job(&add, "add", 60000);
            add.job.buffer_count = 1;
            add.buffers[0].read = add.out;
            add.buffers[0].read_bytes = 16;
            status = gc_worker_run(worker, &add.job, &outcome);
            assert_int_equal(outcome.end, GC_WORKER_NEVER);
        }
        assert_failure(status, GPUCHAR_E_WORKER);
        assert_contains(gpuchar_last_error()->message, answers[i].part);
        gc_worker_stop(worker);
        close_fixture(&f);
    }
}

/* Texts without an end are cut, not followed. */
static void test_endless_texts(void **state) {
    (void)state;
    fixture f = open_fixture(WORKER_IMPOSTOR);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    assert_failure(start_impostor(&f, "endless texts", &worker), GPUCHAR_OK);
    assert_failure(run_kernel(worker, "add", &outcome), GPUCHAR_E_CUDA);
    assert_int_equal(outcome.end, GC_WORKER_NEVER);
    assert_non_null(strstr(gpuchar_last_error()->message, "AAAA"));
    gc_worker_stop(worker);
    close_fixture(&f);
}

/* The limit holds for one that sends a byte now and then, and for one that does not read. */
static void test_slow_ones(void **state) {
    (void)state;
    static const char *const modes[] = {"trickle", "deaf", "never launches", "never answers"};
    static char large[8 << 20];
    for (size_t i = 0; i < GC_COUNT(modes); i++) {
        fixture f = open_fixture(WORKER_IMPOSTOR);
        gc_worker *worker = NULL;
        gc_worker_outcome outcome;
        add_job add;
        assert_failure(start_impostor(&f, modes[i], &worker), GPUCHAR_OK);
        make_job(&add, "add", 100);
        add.job.else_ns = 300 * NS_PER_MS;
        if (i == 1) {
            add.job.image = large;
            add.job.image_bytes = sizeof large;
        }
        uint64_t begin = gc_now_ns();
        assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_E_TIMEOUT);
        assert_int_equal(outcome.end, GC_WORKER_NEVER);
        assert_in_range(gc_now_ns() - begin, (i % 3 ? 300 : 400) * NS_PER_MS, 5000 * NS_PER_MS);
        gc_worker_stop(worker);
        close_fixture(&f);
    }
}

/* ---- the worker, and what a caller should not send */

static gc_process start_worker(void) {
    gc_process process;
    assert_failure(gc_process_start(GPUCHAR_WORKER_FILE, &process), GPUCHAR_OK);
    return process;
}

/* It leaves by itself, and was not ended by a signal. */
static void expect_leaves(gc_process *process) {
    assert_true(gc_process_wait(process, 10000 * NS_PER_MS));
    assert_true(process->told);
    assert_false(process->by_signal);
    gc_process_forget(process);
}

static void greet_worker(const gc_process *process) {
    gc_wire_hello hello = gc_hello();
    assert_int_equal(gc_channel_send(process->channel, &hello, sizeof hello, NULL), GC_TRANSFER_DONE);
    assert_int_equal(gc_channel_receive(process->channel, &hello, sizeof hello, NULL), GC_TRANSFER_DONE);
    assert_int_equal(hello.process, process->pid);
    assert_string_equal(hello.version, gpuchar_version());
}

static void send_message(const gc_process *process, uint32_t kind, const void *body, size_t bytes) {
    assert_int_equal(gc_frame_send(process->channel, kind, bytes, NULL), GC_TRANSFER_DONE);
    assert_int_equal(gc_channel_send(process->channel, body, bytes, NULL), GC_TRANSFER_DONE);
}

static gc_wire_answer expect_answer(const gc_process *process) {
    gc_wire_frame frame;
    gc_wire_answer answer;
    assert_int_equal(gc_channel_receive(process->channel, &frame, sizeof frame, NULL), GC_TRANSFER_DONE);
    assert_int_equal(frame.bytes, sizeof answer);
    assert_int_equal(gc_channel_receive(process->channel, &answer, sizeof answer, NULL), GC_TRANSFER_DONE);
    return answer;
}

static void open_worker(const gc_process *process) {
    gc_wire_open open = {.device = "0"};
    memcpy(open.driver, WORKER_DRIVER, sizeof WORKER_DRIVER);
    greet_worker(process);
    send_message(process, GC_FRAME_OPEN, &open, sizeof open);
    assert_int_equal(expect_answer(process).status, GPUCHAR_OK);
}

static void test_strange_callers(void **state) {
    (void)state;
    gc_wire_hello other = gc_hello();
    other.version[0] = '7';
    gc_process process = start_worker();
    assert_int_equal(gc_channel_send(process.channel, &other, sizeof other, NULL), GC_TRANSFER_DONE);
    expect_leaves(&process);

    process = start_worker();
    other = gc_hello();
    other.process = (uint32_t)getpid() + 1; /* not its parent */
    assert_int_equal(gc_channel_send(process.channel, &other, sizeof other, NULL), GC_TRANSFER_DONE);
    expect_leaves(&process);

    process = start_worker(); /* one that leaves without a word */
    close(process.channel);
    process.channel = -1;
    expect_leaves(&process);
}

static void test_strange_frames(void **state) {
    (void)state;
    const gc_wire_frame frames[] = {{.magic = 1, .kind = GC_FRAME_OPEN, .bytes = 8},
                                    {.magic = GC_FRAME_MAGIC, .kind = GC_FRAME_OPEN, .bytes = UINT64_MAX},
                                    {.magic = GC_FRAME_MAGIC, .kind = 99, .bytes = 0}};
    for (size_t i = 0; i < GC_COUNT(frames); i++) {
        gc_process process = start_worker();
        greet_worker(&process);
        assert_int_equal(gc_channel_send(process.channel, &frames[i], sizeof frames[i], NULL), GC_TRANSFER_DONE);
        expect_leaves(&process);
    }
    gc_process process = start_worker();
    greet_worker(&process);
    send_message(&process, GC_FRAME_JOB, "", 1); /* before a device was named */
    assert_int_equal(expect_answer(&process).status, GPUCHAR_E_INTERNAL);
    expect_leaves(&process);
}

typedef struct wire_example {
    gc_wire_job head;
    gc_wire_buffer buffer;
    char image[16], arguments[8], initial[8];
} wire_example;

static wire_example good_job(void) {
    /* No driver knows this kernel: the answer comes at once. */
    return (wire_example){
        .head = {.image_bytes = 16, .argument_bytes = 8, .buffer_count = 1, .launches = 1, .kernel = "nothing"},
        .buffer = {.bytes = 64, .initial_bytes = 8, .read_bytes = 8},
        .image = "cubin",
    };
}

/* Damaged in one place, or cut, or with something behind it. */
static size_t damage(gc_random *random, const wire_example *good, char bytes[2 * sizeof(wire_example)]) {
    memset(bytes, 0, 2 * sizeof *good);
    memcpy(bytes, good, sizeof *good);
    if (gc_random_below(random, 3) == 0) {
        return gc_random_below(random, 2 * sizeof *good);
    }
    bytes[gc_random_below(random, sizeof good->head + sizeof good->buffer)] ^= (char)(1u << gc_random_below(random, 8));
    return sizeof *good;
}

/* All parts of what is accepted lie inside the message. */
static void test_damaged_jobs(void **state) {
    (void)state;
    static gc_program_job job;
    const wire_example good = good_job();
    gc_random random = gc_random_seed(20);
    int accepted = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        char bytes[2 * sizeof good];
        size_t size = damage(&random, &good, bytes);
        char *message = malloc(size + 1); /* a sanitizer sees what is read beyond its end */
        assert_non_null(message);
        memcpy(message, bytes, size);
        if (gc_program_read_job(message, size, &job)) {
            uint64_t initial_bytes = 0;
            for (uint32_t k = 0; k < job.head.buffer_count; k++) initial_bytes += job.buffers[k].initial_bytes;
            assert_true(job.image >= message && job.initial >= job.image + job.head.image_bytes);
            assert_ptr_equal(job.initial + initial_bytes, message + size);
            assert_true(gc_job_read_bytes(&job.head, job.buffers) <= GC_JOB_MESSAGE_MAX);
            accepted++;
        } else {
            refused++;
        }
        free(message);
    }
    print_message("%d accepted, %d refused\n", accepted, refused);
    assert_true(accepted > 2000 && refused > 2000);
}

/* The same over the socket: whatever it is, an answer comes, and the worker lives or leaves by itself. */
static void test_damaged_messages(void **state) {
    (void)state;
    const wire_example good = good_job();
    gc_random random = gc_random_seed(21);
    int answered = 0, refused = 0;
    gc_process process = GC_PROCESS_NONE;
    for (int i = 0; i < 20; i++) {
        char bytes[2 * sizeof good];
        size_t size = damage(&random, &good, bytes);
        if (process.gone) {
            process = start_worker();
            open_worker(&process);
        }
        send_message(&process, GC_FRAME_JOB, bytes, size);
        gc_wire_answer answer = expect_answer(&process);
        if (answer.status == GPUCHAR_E_INTERNAL) {
            refused++;
            expect_leaves(&process);
        } else {
            assert_int_equal(answer.status, GPUCHAR_E_CUDA);
            answered++;
        }
    }
    if (!process.gone) {
        close(process.channel);
        process.channel = -1;
        expect_leaves(&process);
    }
    print_message("%d refused, %d given to the driver\n", refused, answered);
    assert_true(refused > 3 && answered > 3);
}

/* By hand it does nothing but tell what it is. */
static void test_by_hand(void **state) {
    (void)state;
    assert_int_equal(WEXITSTATUS(system(GPUCHAR_WORKER_FILE " 2>/dev/null </dev/null")), 2);
    assert_int_equal(WEXITSTATUS(system(GPUCHAR_WORKER_FILE " --serve 2>/dev/null </dev/null")), 2);
    FILE *output = popen(GPUCHAR_WORKER_FILE " --version", "r");
    char line[100] = "";
    assert_non_null(output);
    assert_non_null(fgets(line, sizeof line, output));
    assert_int_equal(pclose(output), 0);
    assert_contains(line, gpuchar_version());
}

/* ---- where it is */

static void expect_missing(const char *option, const char *part) {
    char path[PATH_MAX];
    assert_failure(gc_worker_locate(option, path, sizeof path), GPUCHAR_E_NO_WORKER);
    assert_contains(gpuchar_last_error()->message, part);
    assert_true(gpuchar_last_error()->hint[0] != 0);
}

static void test_named(void **state) {
    (void)state;
    char path[PATH_MAX], tight[8];
    unsetenv("GPUCHAR_WORKER");
    assert_failure(gc_worker_locate(GPUCHAR_WORKER_FILE, path, sizeof path), GPUCHAR_OK);
    assert_string_equal(path, GPUCHAR_WORKER_FILE);
    assert_int_equal(setenv("GPUCHAR_WORKER", "/bin/true", 1), 0);
    assert_failure(gc_worker_locate("", path, sizeof path), GPUCHAR_OK);
    assert_string_equal(path, "/bin/true");
    assert_failure(gc_worker_locate(GPUCHAR_WORKER_FILE, path, sizeof path), GPUCHAR_OK); /* the option first */
    assert_string_equal(path, GPUCHAR_WORKER_FILE);
    assert_failure(gc_worker_locate(NULL, tight, sizeof tight), GPUCHAR_E_NO_WORKER);
    assert_int_equal(setenv("GPUCHAR_WORKER", "/nonexistent/worker", 1), 0);
    expect_missing(NULL, "GPUCHAR_WORKER");
    assert_int_equal(setenv("GPUCHAR_WORKER", "", 1), 0);
    expect_missing(NULL, "was not found"); /* the folder of the tests holds none */
    unsetenv("GPUCHAR_WORKER");
    expect_missing("/etc/passwd", "the runtime's option");
    expect_missing("/tmp", "the runtime's option");
}

/* Named well, of no use: not for this machine, and gone between the two steps. Sessions without a device. */
static void test_not_to_be_run(void **state) {
    (void)state;
    char path[PATH_MAX];
    gc_process process;
    gc_worker *worker = NULL;
    size_t before = count_descriptors();
    snprintf(path, sizeof path, "%s/worker", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("neither a program nor a script", file);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    if (!under_valgrind()) {
        assert_failure(gc_process_start(path, &process), GPUCHAR_E_NO_WORKER);
        assert_int_equal(gpuchar_last_error()->native_code, ENOEXEC);
        assert_failure(gc_process_start("/nonexistent", &process), GPUCHAR_E_NO_WORKER);
        assert_int_equal(gpuchar_last_error()->native_code, ENOENT);
    }
    assert_int_equal(count_descriptors(), before);
    gpuchar_session *none = NULL;
    assert_failure(gc_session_new(NULL, GC_SESSION_RECORDED, &none), GPUCHAR_OK);
    assert_failure(begin_and_wait(none, &worker), GPUCHAR_E_NOT_APPLICABLE);
    gpuchar_session_close(none);
}

/* The library works without it. */
static void test_absent(void **state) {
    (void)state;
    fixture f = open_fixture("/nonexistent/gpuchar-worker");
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_E_NO_WORKER);
    assert_null(worker);
    close_fixture(&f);
}

static void copy_file(const char *from, const char *to) {
    char command[4 * PATH_MAX];
    snprintf(command, sizeof command, "mkdir -p $(dirname %s) && cp %s %s", to, from, to);
    assert_int_equal(system(command), 0);
}

/* What this program, copied to `folder`/bin, finds. */
static void expect_found(const char *expected) {
    char command[PATH_MAX], line[PATH_MAX] = "", wanted[PATH_MAX];
    snprintf(command, sizeof command, "cd /tmp && PATH=%s/prefix/bin:$PATH && exec host locate", folder);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    assert_non_null(fgets(line, sizeof line, output));
    assert_int_equal(pclose(output), 0);
    line[strcspn(line, "\n")] = 0;
    snprintf(wanted, sizeof wanted, "%s/prefix/bin/%s", folder, expected);
    assert_string_equal(line, wanted);
}

static void test_beside_and_installed(void **state) {
    (void)state;
    char path[PATH_MAX], own[PATH_MAX] = "";
    unsetenv("GPUCHAR_WORKER");
    assert_true(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    snprintf(path, sizeof path, "%s/prefix/bin/host", folder);
    copy_file(own, path);
    snprintf(path, sizeof path, "%s/prefix/libexec/gpuchar/gpuchar-worker", folder);
    copy_file("/bin/true", path);
    expect_found("../libexec/gpuchar/gpuchar-worker");
    snprintf(path, sizeof path, "%s/prefix/bin/gpuchar-worker", folder);
    copy_file("/bin/true", path);
    expect_found("gpuchar-worker");
    snprintf(path, sizeof path, "rm -r %s/prefix", folder);
    assert_int_equal(system(path), 0);
}

static int locate(void) {
    char path[PATH_MAX];
    gpuchar_status status = gc_worker_locate(NULL, path, sizeof path);
    puts(status ? gpuchar_last_error()->message : path);
    return status ? 1 : 0;
}

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "locate") == 0) {
        return locate();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_versions),
        cmocka_unit_test(test_bad_beginnings),
        cmocka_unit_test(test_beginning),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_bad_answers),
        cmocka_unit_test(test_endless_texts),
        cmocka_unit_test(test_slow_ones),
        cmocka_unit_test(test_strange_callers),
        cmocka_unit_test(test_strange_frames),
        cmocka_unit_test(test_damaged_jobs),
        cmocka_unit_test(test_damaged_messages),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_named),
        cmocka_unit_test_setup_teardown(test_not_to_be_run, make_folder, remove_folder),
        cmocka_unit_test(test_absent),
        cmocka_unit_test_setup_teardown(test_beside_and_installed, make_folder, remove_folder),
    };
    return RUN_BOTH_WAYS(tests);
}
