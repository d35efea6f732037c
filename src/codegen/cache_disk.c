/*
 * The cubin cache's folder: one file per key, shared with other processes and machines. A file appears whole by
 * renaming; what a crash leaves behind fails its hash and is compiled anew, so nothing waits for the disk (no fsync).
 * Nothing here is an error to the caller: it is logged.
 */
#include "codegen/codegen_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_FORMAT 1u
#define FILE_BYTES_MAX ((uint64_t)256 << 20)

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

/* Opening. */

static bool make_folder(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int made = mkdir(path, 0700);
        int error = errno;
        *slash = '/';
        /* A parent that cannot be made may be there all the same (read-only mounts say EROFS first). */
        if (made != 0 && error != EEXIST && error != EROFS && error != EACCES) {
            errno = error;
            return false;
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST || access(path, X_OK) == 0;
}

static bool is_folder(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0) {
        return false;
    }
    if (!S_ISDIR(about.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return true;
}

gc_disk_cache *gc_disk_cache_open(const char *folder, const gc_log *log) {
    gc_disk_cache *disk = calloc(1, sizeof *disk);
    char *wanted = strdup(folder);
    if (!disk || !wanted) {
        free(disk);
        free(wanted);
        return NULL;
    }
    if (log) {
        disk->log = *log;
    }
    /* The absolute path: the host may change its working directory. */
    if (!make_folder(wanted) || !is_folder(wanted) || !realpath(wanted, disk->folder)) {
        gc_log_write(&disk->log, GPUCHAR_LOG_WARNING, "cubin cache: the folder %s is not used: %s", folder,
                     gc_errno_name(errno));
        free(disk);
        disk = NULL;
    }
    free(wanted);
    return disk;
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

/* A name that no other thread, process or container uses: the folder may be shared between all of them. */
static file_path temporary_path(const gc_disk_cache *disk, gc_hash key) {
    static atomic_uint counter;
    file_path path;
    snprintf(path.text, sizeof path.text, "%s/.%016" PRIx64 ".%ld.%u.%" PRIx64 ".tmp", disk->folder, key.high,
             (long)getpid(), atomic_fetch_add(&counter, 1), gc_now_ns());
    return path;
}

static bool write_file(const gc_image *image, const char *path, const char *temporary) {
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
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

void gc_disk_cache_write(gc_disk_cache *disk, const gc_image *image) {
    file_path path = path_of(disk, image->key);
    file_path temporary = temporary_path(disk, image->key);
    if (write_file(image, path.text, temporary.text)) {
        return;
    }
    int error = errno;
    uint32_t level = atomic_exchange(&disk->complained, true) ? GPUCHAR_LOG_DEBUG : GPUCHAR_LOG_WARNING;
    gc_log_write(&disk->log, level, "cubin cache: %s is not written: %s", path.text, gc_errno_name(error));
}
