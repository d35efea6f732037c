/* Whole files. */
#include "profile/file_io.h"

#include <core/error.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *hint_of(int reason) {
    switch (reason) {
    case ENOENT:
    case ENOTDIR:
        return "check the path: no file or folder of that name is there";
    case EACCES:
    case EPERM:
    case EROFS:
        return "this user may not do that there: take another folder or other permissions";
    case EISDIR:
        return "the path names a folder: add the file's name";
    case ENOSPC:
    case EDQUOT:
        return "the disk is full: make room or take another folder";
    default:
        return "check the path and the device that it lies on";
    }
}

static gpuchar_status fail_io(const char *call, const char *what, const char *path) {
    const int reason = errno;
    gpuchar_status status = gc_fail_os(GPUCHAR_E_IO, reason, call, "cannot %s %s", what, path);
    return gc_advise(status, hint_of(reason));
}

static gpuchar_status read_all(int file, const char *path, size_t limit, gc_text *text) {
    char buffer[1 << 14];
    for (;;) {
        ssize_t got = read(file, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_io("read", "read", path);
        }
        if (got == 0) {
            return GPUCHAR_OK;
        }
        if (text->length + (size_t)got > limit) {
            return gc_advise(gc_fail(GPUCHAR_E_FORMAT, "%s is larger than the limit of %zu bytes", path, limit),
                             "it is no profile of this library");
        }
        gc_text_append(text, buffer, (size_t)got);
        if (text->failed) {
            return gc_fail_memory(text->length + (size_t)got);
        }
    }
}

static gpuchar_status check_path(const char *path) {
    if (path[0]) {
        return GPUCHAR_OK;
    }
    return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the path is empty"), "name a file");
}

gpuchar_status gc_file_read(const char *path, size_t limit, gc_text *text) {
    *text = (gc_text){0};
    if (check_path(path)) {
        return GPUCHAR_E_INVALID_ARGUMENT;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) {
        return fail_io("open", "open", path);
    }
    gpuchar_status status = read_all(file, path, limit, text);
    close(file);
    if (status) {
        gc_text_free(text);
    }
    return status;
}

static bool write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t put = write(file, bytes, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

/* Network file systems tell of a full disk here. */
static gpuchar_status close_written(int file, const char *path, gpuchar_status status) {
    return close(file) != 0 && !status ? fail_io("close", "write", path) : status;
}

/* What is no plain file (a terminal, a pipe, /dev/null) must be written to, not replaced. */
static gpuchar_status write_through(const char *path, const char *bytes, size_t size) {
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) {
        return fail_io("open", "open", path);
    }
    gpuchar_status status = write_all(file, bytes, size) ? GPUCHAR_OK : fail_io("write", "write", path);
    return close_written(file, path, status);
}

static gpuchar_status write_temporary(int file, const char *path, const char *bytes, size_t size) {
    if (!write_all(file, bytes, size)) {
        return fail_io("write", "write", path);
    }
    /* Before the new name: a crash leaves the old file or the new one, not an empty one. Not every file system can. */
    if (fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP && errno != ENOSYS) {
        return fail_io("fsync", "write", path);
    }
    return GPUCHAR_OK;
}

static gpuchar_status replace(const char *path, const char *bytes, size_t size) {
    static atomic_uint counter;
    gc_text temporary = {0};
    gc_text_add(&temporary, "%s.%ld.%u.%" PRIx64 ".tmp", path, (long)getpid(), atomic_fetch_add(&counter, 1),
                gc_now_ns());
    if (temporary.failed) {
        gc_text_free(&temporary);
        return gc_fail_memory(size);
    }
    gpuchar_status status = GPUCHAR_OK;
    int file = open(temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        status = fail_io("open", "write", path);
    } else {
        status = close_written(file, path, write_temporary(file, path, bytes, size));
        if (!status && rename(temporary.data, path) != 0) {
            status = fail_io("rename", "replace", path);
        }
        if (status) {
            unlink(temporary.data);
        }
    }
    gc_text_free(&temporary);
    return status;
}

gpuchar_status gc_file_write(const char *path, const char *bytes, size_t size) {
    struct stat about;
    if (check_path(path)) {
        return GPUCHAR_E_INVALID_ARGUMENT;
    }
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        return write_through(path, bytes, size);
    }
    /* Where the path is a symbolic link, the file behind it is the one to replace. */
    char *real = realpath(path, NULL);
    if (!real && errno != ENOENT) {
        return errno == ENOMEM ? gc_fail_memory(PATH_MAX) : fail_io("realpath", "write", path);
    }
    gpuchar_status status = replace(real ? real : path, bytes, size);
    free(real);
    return status;
}
