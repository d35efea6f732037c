#include <worker/tool.h>

#include <core/error.h>
#include <core/util.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <worker/process.h>

enum { INPUT, OUTPUT, PRINTED, FILES };
/* More is no machine code of one text. */
#define OUTPUT_MAX ((off_t)1 << 30)
#define PRINTED_MAX ((off_t)1 << 20)

static gpuchar_status fail(const char *path, int error, const char *call) {
    const gpuchar_status status =
        error == ENOMEM || error == EMFILE || error == ENFILE ? GPUCHAR_E_OUT_OF_MEMORY : GPUCHAR_E_IO;
    gc_fail_os(status, error, call, "%s cannot be run", path);
    if (error == EMFILE || error == ENFILE) gc_hint("too many files are open; raise the limit (ulimit -n)");
    return status;
}

/* In memory, and above the numbers that the program gets: these must not be overwritten while they are handed on. */
static int open_file(const char *name) {
    const int first = memfd_create(name, MFD_CLOEXEC);
    if (first < 0) return -1;
    const int file = fcntl(first, F_DUPFD_CLOEXEC, 16);
    const int error = errno;
    close(first);
    errno = error;
    return file;
}

static bool write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t done = write(file, bytes, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

static int set_actions(posix_spawn_file_actions_t *actions, const void *user) {
    const int *files = user;
    int error = posix_spawn_file_actions_adddup2(actions, files[INPUT], 0);
    error = error ? error : posix_spawn_file_actions_adddup2(actions, files[PRINTED], 1);
    error = error ? error : posix_spawn_file_actions_adddup2(actions, files[PRINTED], 2);
    return error ? error : posix_spawn_file_actions_adddup2(actions, files[OUTPUT], 3);
}

static gpuchar_status wait_for(const char *path, pid_t pid, uint64_t limit_ns, int *code) {
    gc_process process = {.pid = pid, .owner = getpid(), .watch = gc_process_open_watch(pid), .channel = -1};
    const bool ended = gc_process_wait(&process, limit_ns);
    if (!ended) {
        gc_process_kill(&process);
        gc_process_wait(&process, UINT64_C(10000000000));
    }
    gpuchar_status status = GPUCHAR_OK;
    if (!ended) {
        status = gc_fail(GPUCHAR_E_TIMEOUT, "%s did not end within %.0f s", path, (double)limit_ns / 1e9);
    } else if (process.told && process.by_signal) {
        status = gc_fail(GPUCHAR_E_IO, "%s died by signal %d", path, process.how);
    }
    /* A host that waits for any child may have been told instead: then what it wrote decides. */
    *code = process.told ? process.how : 0;
    gc_process_forget(&process);
    return status;
}

/* NUL-terminated. NULL: no memory, or an error of the system in errno. */
static char *read_file(int file, off_t most, size_t *size) {
    struct stat about;
    if (fstat(file, &about) != 0) return NULL;
    const size_t length = (size_t)(about.st_size < most ? about.st_size : most);
    char *bytes = malloc(length + 1);
    size_t done = 0;
    while (bytes && done < length) {
        const ssize_t got = pread(file, bytes + done, length - done, (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    if (bytes) bytes[done] = 0;
    *size = done;
    return bytes;
}

static gpuchar_status run(const char *path, char *const *words, const int files[FILES], uint64_t limit_ns,
                          gc_tool_result *result) {
    pid_t pid = 0;
    const int error = gc_process_spawn(path, words, set_actions, files, &pid);
    if (error) return fail(path, error, "posix_spawn");
    gpuchar_status status = wait_for(path, pid, limit_ns, &result->code);
    if (status) return status;
    size_t printed = 0;
    result->output = read_file(files[OUTPUT], OUTPUT_MAX, &result->output_size);
    result->text = read_file(files[PRINTED], PRINTED_MAX, &printed);
    if (!result->output || !result->text) return gc_fail_memory(result->output_size + printed + 2);
    return GPUCHAR_OK;
}

gpuchar_status gc_tool_run(const char *path, char *const *words, const void *input, size_t input_size,
                           uint64_t limit_ns, gc_tool_result *result) {
    static const char *const names[FILES] = {"gpuchar-input", "gpuchar-output", "gpuchar-printed"};
    *result = (gc_tool_result){0};
    int files[FILES] = {-1, -1, -1};
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < FILES && !status; i++) {
        files[i] = open_file(names[i]);
        if (files[i] < 0) status = fail(path, errno, "memfd_create");
    }
    if (!status && !write_all(files[INPUT], input, input_size)) status = fail(path, errno, "write");
    if (!status && lseek(files[INPUT], 0, SEEK_SET) != 0) status = fail(path, errno, "lseek");
    if (!status) status = run(path, words, files, limit_ns, result);
    for (size_t i = 0; i < FILES; i++) {
        if (files[i] >= 0) close(files[i]);
    }
    if (status) gc_tool_free(result);
    return status;
}

void gc_tool_free(gc_tool_result *result) {
    free(result->output);
    free(result->text);
    *result = (gc_tool_result){0};
}
