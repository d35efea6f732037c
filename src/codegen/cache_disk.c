/*
 * The cubin cache's folder: one file per key, shared with other processes and machines. A file appears whole by
 * renaming; what a crash leaves behind fails its hash and is compiled anew, so nothing waits for the disk (no fsync).
 * A folder that cannot be used is an error when it is opened; what goes wrong later is only logged.
 */
#include "codegen/codegen_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_FORMAT 1u
#define FILE_BYTES_MAX ((uint64_t)256 << 20)

/* What the folder may hold, looked after at the first write and every few ones: reading a large folder takes its time. */
#define FOLDER_BYTES_MAX ((uint64_t)256 << 20)
enum { FOLDER_FILES_MAX = 4096, WRITES_PER_LOOK = 16 };

enum { NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW };

/* Written as it lies in memory: a file from a machine of the other byte order has a wrong magic and is ignored. */
typedef struct file_header {
    uint64_t magic;
    uint32_t format;
    uint32_t nvrtc_version;
    uint64_t key_high, key_low;
    uint64_t cubin_bytes;
    uint64_t log_bytes;           /* after the cubin, no NUL */
    uint64_t hash_high, hash_low; /* of the members above and of all that follows */
} file_header;
_Static_assert(sizeof(file_header) == 64, "no padding goes into the file");

static const uint64_t file_magic = 0x6e69627563637067u; /* "gpccubin" */

struct gc_disk_cache {
    gc_log log;
    atomic_uint writes;
    atomic_bool complained; /* a failure to write is told once as a warning, then only as debugging detail */
    char folder[PATH_MAX];
};

typedef struct file_path {
    char text[PATH_MAX + 96];
} file_path;

static file_path path_of(const gc_disk_cache *disk, gc_hash key) {
    file_path path;
    snprintf(path.text, sizeof path.text, "%s/%016" PRIx64 "%016" PRIx64 ".cubin", disk->folder, key.high, key.low);
    return path;
}

/* A name that no other thread, process or container uses: the folder may be shared between all of them. */
static file_path temporary_path(const gc_disk_cache *disk, gc_hash key) {
    static atomic_uint counter;
    file_path path;
    snprintf(path.text, sizeof path.text, "%s/.%016" PRIx64 ".%ld.%u.%" PRIx64 ".tmp", disk->folder, key.high,
             (long)getpid(), atomic_fetch_add(&counter, 1), gc_now_ns());
    return path;
}

/* Opening. */

static gpuchar_status fail_folder(const char *folder, const char *call, int error) {
    gc_fail_os(GPUCHAR_E_IO, error, call, "the cache folder %s cannot be used", folder);
    if (error == ENOENT) {
        gc_hint("only the last folder of the path is made: make those above it first");
    } else {
        gc_hint("name a folder in which this process may write, or none: kernels are then kept in memory only");
    }
    return GPUCHAR_E_IO;
}

/* The last component only: a path with a typing error must not grow a tree. */
static gpuchar_status make_folder(const char *folder) {
    struct stat about;
    if (mkdir(folder, 0700) == 0) {
        return GPUCHAR_OK;
    }
    /* A folder that is there may be in a place where none can be made, and not every system says EEXIST first. */
    int error = errno;
    if (stat(folder, &about) != 0) {
        return fail_folder(folder, "mkdir", error == EEXIST ? errno : error);
    }
    return S_ISDIR(about.st_mode) ? GPUCHAR_OK : fail_folder(folder, "mkdir", ENOTDIR);
}

/* By trying: what access() says is not true of the superuser and of some network file systems. */
static gpuchar_status try_to_write(const gc_disk_cache *disk, const char *folder) {
    file_path path = temporary_path(disk, (gc_hash){0});
    int file = open(path.text, NEW_FILE, 0600);
    if (file < 0) {
        return fail_folder(folder, "open", errno);
    }
    close(file);
    unlink(path.text);
    return GPUCHAR_OK;
}

static gpuchar_status open_folder(gc_disk_cache *disk, const char *folder) {
    gpuchar_status status = make_folder(folder);
    if (status) {
        return status;
    }
    /* The absolute path: the host may change its working directory. */
    if (!realpath(folder, disk->folder)) {
        return fail_folder(folder, "realpath", errno);
    }
    return try_to_write(disk, folder);
}

gpuchar_status gc_disk_cache_open(const char *folder, const gc_log *log, gc_disk_cache **disk) {
    *disk = NULL;
    gc_disk_cache *made = calloc(1, sizeof *made);
    if (!made) {
        return gc_fail_memory(sizeof *made);
    }
    if (log) {
        made->log = *log;
    }
    gpuchar_status status = open_folder(made, folder);
    if (status) {
        free(made);
        return status;
    }
    *disk = made;
    return GPUCHAR_OK;
}

void gc_disk_cache_close(gc_disk_cache *disk) {
    free(disk);
}

/* Reading. */

static bool read_all(int file, void *buffer, size_t size) {
    char *at = buffer;
    while (size > 0) {
        ssize_t got = read(file, at, size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static gc_hash hash_file(const file_header *header, const void *cubin, const void *log) {
    gc_hash hash = gc_hash_add(gc_hash_start(), header, offsetof(file_header, hash_high));
    hash = gc_hash_add(hash, cubin, (size_t)header->cubin_bytes);
    return gc_hash_add(hash, log, (size_t)header->log_bytes);
}

/* Why the file is not what it should be; NULL when it is. */
static const char *check_header(const file_header *header, uint64_t file_bytes, gc_hash key, uint32_t nvrtc_version) {
    if (header->magic != file_magic || header->format != FILE_FORMAT) {
        return "not of this format";
    }
    if (header->key_high != key.high || header->key_low != key.low || header->nvrtc_version != nvrtc_version) {
        return "of another kernel";
    }
    uint64_t rest = file_bytes - sizeof *header;
    if (header->cubin_bytes == 0 || header->cubin_bytes > rest || header->log_bytes != rest - header->cubin_bytes) {
        return "cut or lengthened";
    }
    return NULL;
}

/* Reads the rest of the file; NULL when all is well. */
static const char *read_payload(int file, const file_header *header, void *cubin, char *log) {
    if (!read_all(file, cubin, (size_t)header->cubin_bytes) || !read_all(file, log, (size_t)header->log_bytes)) {
        return "not readable";
    }
    log[header->log_bytes] = 0;
    gc_hash hash = hash_file(header, cubin, log);
    return hash.high == header->hash_high && hash.low == header->hash_low ? NULL : "corrupt";
}

static const char *read_image(int file, gc_hash key, uint32_t nvrtc_version, gc_image **image) {
    struct stat about;
    file_header header;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        return "no plain file";
    }
    uint64_t file_bytes = (uint64_t)about.st_size;
    if (file_bytes > FILE_BYTES_MAX || file_bytes < sizeof header || !read_all(file, &header, sizeof header)) {
        return "too short or too long";
    }
    const char *trouble = check_header(&header, file_bytes, key, nvrtc_version);
    if (trouble) {
        return trouble;
    }
    void *cubin = malloc((size_t)header.cubin_bytes);
    char *log = malloc((size_t)header.log_bytes + 1);
    trouble = cubin && log ? read_payload(file, &header, cubin, log) : "more than there is memory for";
    if (trouble) {
        free(cubin);
        free(log);
        return trouble;
    }
    *image = gc_image_new(cubin, (size_t)header.cubin_bytes, log, key, nvrtc_version, 0);
    return *image ? NULL : "more than there is memory for";
}

gc_image *gc_disk_cache_read(gc_disk_cache *disk, gc_hash key, uint32_t nvrtc_version) {
    file_path path = path_of(disk, key);
    int file = open(path.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        gc_log_write(&disk->log, errno == ENOENT ? GPUCHAR_LOG_DEBUG : GPUCHAR_LOG_INFO, "cubin cache: %s: %s",
                     path.text, gc_errno_name(errno));
        return NULL;
    }
    gc_image *image = NULL;
    const char *trouble = read_image(file, key, nvrtc_version, &image);
    close(file);
    if (trouble) {
        gc_log_write(&disk->log, GPUCHAR_LOG_WARNING, "cubin cache: %s is %s; the kernel is compiled anew", path.text,
                     trouble);
    }
    return image;
}

/* Writing. */

static bool write_all(int file, const void *buffer, size_t size) {
    const char *at = buffer;
    while (size > 0) {
        ssize_t put = write(file, at, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        at += put;
        size -= (size_t)put;
    }
    return true;
}

static bool write_image(int file, const gc_image *image) {
    size_t log_bytes = strlen(image->log);
    file_header header = {
        .magic = file_magic,
        .format = FILE_FORMAT,
        .nvrtc_version = image->nvrtc_version,
        .key_high = image->key.high,
        .key_low = image->key.low,
        .cubin_bytes = image->size,
        .log_bytes = log_bytes,
    };
    gc_hash hash = hash_file(&header, image->bytes, image->log);
    header.hash_high = hash.high;
    header.hash_low = hash.low;
    return write_all(file, &header, sizeof header) && write_all(file, image->bytes, image->size) &&
           write_all(file, image->log, log_bytes);
}

static bool write_file(const gc_image *image, const char *path, const char *temporary) {
    int file = open(temporary, NEW_FILE, 0600);
    if (file < 0) {
        return false;
    }
    bool written = write_image(file, image);
    int error = errno;
    /* Network file systems tell of a full disk here. */
    if (close(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written && rename(temporary, path) == 0) {
        return true;
    }
    error = written ? errno : error;
    unlink(temporary);
    errno = error;
    return false;
}

/*
 * Beyond the limit on a file's size (ulimit -f) write() fails and the thread gets SIGXFSZ, which would end the host. It
 * is held back and taken away, without a handler.
 */
static bool write_quietly(const gc_image *image, const char *path, const char *temporary) {
    static const struct timespec no_time;
    sigset_t only, before, pending;
    sigemptyset(&only);
    sigaddset(&only, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &only, &before);
    sigpending(&pending);
    bool written = write_file(image, path, temporary);
    int error = errno;
    while (!sigismember(&pending, SIGXFSZ) && sigtimedwait(&only, NULL, &no_time) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

static void keep_bounds(gc_disk_cache *disk) {
    if (atomic_fetch_add(&disk->writes, 1) % WRITES_PER_LOOK != 0) {
        return;
    }
    size_t gone = gc_cache_trim(disk->folder, FOLDER_FILES_MAX, FOLDER_BYTES_MAX);
    if (gone > 0) {
        gc_log_write(&disk->log, GPUCHAR_LOG_INFO, "cubin cache: the %zu oldest files of %s are removed", gone,
                     disk->folder);
    }
}

void gc_disk_cache_write(gc_disk_cache *disk, const gc_image *image) {
    file_path path = path_of(disk, image->key);
    file_path temporary = temporary_path(disk, image->key);
    if (write_quietly(image, path.text, temporary.text)) {
        keep_bounds(disk);
        return;
    }
    int error = errno;
    uint32_t level = atomic_exchange(&disk->complained, true) ? GPUCHAR_LOG_DEBUG : GPUCHAR_LOG_WARNING;
    gc_log_write(&disk->log, level, "cubin cache: %s is not written: %s", path.text, gc_errno_name(error));
}
