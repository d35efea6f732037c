/*
 * The public functions that find cubins in files.
 *
 * A regular file is mapped: who cuts it off while it is open ends the process by SIGBUS, as with every mapped file. What is no
 * regular file (a pipe, a device) is read into memory. A cubin may outlive the file it was loaded from, so the bytes are
 * counted: those of a file are shared, those of the caller copied.
 */
#include <core/error.h>
#include <errno.h>
#include <fcntl.h>
#include <gpuchar/sass_file.h>
#include <sass/container.h>
#include <sass/sass_handle.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES_MAX ((size_t)4 << 30) /* of what is no regular file */

_Static_assert((int)GC_IMAGE_CUBIN == GPUCHAR_SASS_ENTRY_CUBIN && (int)GC_IMAGE_PTX == GPUCHAR_SASS_ENTRY_PTX &&
                   (int)GC_IMAGE_OTHER == GPUCHAR_SASS_ENTRY_OTHER,
               "kinds are told as they are");
_Static_assert((int)GC_PACKING_NONE == GPUCHAR_SASS_PACKING_NONE && (int)GC_PACKING_LZ4 == GPUCHAR_SASS_PACKING_LZ4 &&
                   (int)GC_PACKING_ZSTD == GPUCHAR_SASS_PACKING_ZSTD &&
                   (int)GC_PACKING_OTHER == GPUCHAR_SASS_PACKING_OTHER,
               "packings are told as they are");

/* The bytes of a file on disk, shared by its handle and the cubins loaded from it. */
typedef struct file_bytes {
    atomic_size_t users;
    void *at;
    size_t size;
    bool mapped; /* else malloc'ed */
} file_bytes;

struct gpuchar_sass_file {
    gc_container container;
    file_bytes *shared; /* NULL: the bytes are the caller's */
};

static void release_bytes(void *user) {
    file_bytes *bytes = user;
    if (!bytes || atomic_fetch_sub(&bytes->users, 1) > 1) return;
    if (bytes->mapped)
        munmap(bytes->at, bytes->size);
    else
        free(bytes->at);
    free(bytes);
}

static gpuchar_status cannot(const char *call, const char *path) {
    return gc_fail_os(GPUCHAR_E_IO, errno, call, "cannot read %.300s", path);
}

/* Reads up to the end of what cannot be mapped. */
static gpuchar_status read_stream(int descriptor, const char *path, file_bytes *bytes) {
    size_t capacity = 0;
    for (;;) {
        if (bytes->size == capacity) {
            if (capacity >= READ_BYTES_MAX) return gc_fail(GPUCHAR_E_LIMIT, "%.300s does not end", path);
            capacity = capacity ? capacity * 2 : (size_t)1 << 16;
            void *grown = realloc(bytes->at, capacity);
            if (!grown) return gc_fail_memory(capacity);
            bytes->at = grown;
        }
        const ssize_t got = read(descriptor, (uint8_t *)bytes->at + bytes->size, capacity - bytes->size);
        if (got == 0) return GPUCHAR_OK;
        if (got < 0 && errno != EINTR) return cannot("read", path);
        if (got > 0) bytes->size += (size_t)got;
    }
}

static gpuchar_status take_bytes(int descriptor, const char *path, file_bytes *bytes) {
    struct stat about;
    if (fstat(descriptor, &about) != 0) return cannot("fstat", path);
    if (!S_ISREG(about.st_mode) || about.st_size == 0) return read_stream(descriptor, path, bytes);
    void *at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (at == MAP_FAILED) return cannot("mmap", path);
    bytes->at = at;
    bytes->size = (size_t)about.st_size;
    bytes->mapped = true;
    return GPUCHAR_OK;
}

static gpuchar_status read_file(const char *path, file_bytes *bytes) {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return cannot("open", path);
    const gpuchar_status status = take_bytes(descriptor, path, bytes);
    close(descriptor);
    return status;
}

/* Takes a use of `shared` in any case. */
static gpuchar_status open_container(const void *bytes, size_t size, file_bytes *shared, gpuchar_sass_file **file) {
    gpuchar_sass_file *made = calloc(1, sizeof *made);
    if (!made) {
        release_bytes(shared);
        return gc_fail_memory(sizeof *made);
    }
    const gpuchar_status status = gc_container_open(bytes, size, &made->container);
    if (status) {
        free(made);
        release_bytes(shared);
        return status;
    }
    made->shared = shared;
    *file = made;
    return GPUCHAR_OK;
}

gpuchar_status gpuchar_sass_file_open_bytes(const void *bytes, size_t size, gpuchar_sass_file **file) {
    if (file) *file = NULL;
    if (!file || !bytes) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "bytes or file is NULL");
    return open_container(bytes, size, NULL, file);
}

gpuchar_status gpuchar_sass_file_open(const char *path, gpuchar_sass_file **file) {
    if (file) *file = NULL;
    if (!file || !path) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "path or file is NULL");
    file_bytes *shared = calloc(1, sizeof *shared);
    if (!shared) return gc_fail_memory(sizeof *shared);
    atomic_init(&shared->users, 1);
    const gpuchar_status status = read_file(path, shared);
    if (!status) return open_container(shared->at, shared->size, shared, file);
    release_bytes(shared);
    return status;
}

void gpuchar_sass_file_close(gpuchar_sass_file *file) {
    if (!file) return;
    gc_container_close(&file->container);
    release_bytes(file->shared);
    free(file);
}

size_t gpuchar_sass_file_count(const gpuchar_sass_file *file) {
    return file ? file->container.count : 0;
}

/* NULL after E_LIMIT: there is no such entry. */
static const gc_image *find_image(const gpuchar_sass_file *file, size_t index) {
    if (index < file->container.count) return &file->container.images[index];
    gc_fail(GPUCHAR_E_LIMIT, "there is no entry %zu, the file holds %zu", index, file->container.count);
    return NULL;
}

gpuchar_status gpuchar_sass_file_entry(const gpuchar_sass_file *file, size_t index, gpuchar_sass_entry *entry) {
    if (entry) memset(entry, 0, sizeof *entry);
    if (!file || !entry) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "file or entry is NULL");
    const gc_image *image = find_image(file, index);
    if (!image) return GPUCHAR_E_LIMIT;
    entry->offset_bytes = image->offset;
    entry->stored_bytes = image->stored_bytes;
    entry->unpacked_bytes = image->unpacked_bytes;
    entry->kind = image->kind;
    entry->packing = image->packing;
    entry->architecture = image->arch;
    return GPUCHAR_OK;
}

/* An image that is not packed: its bytes in the file's, or a copy when these are the caller's. */
static gpuchar_status open_stored(const gpuchar_sass_file *file, const uint8_t *bytes, size_t size,
                                  gpuchar_sass **sass) {
    if (file->shared) {
        atomic_fetch_add(&file->shared->users, 1);
        return gc_sass_open_owned(bytes, size, release_bytes, file->shared, sass);
    }
    void *copy = malloc(size);
    if (!copy) return gc_fail_memory(size);
    memcpy(copy, bytes, size);
    return gc_sass_open_owned(copy, size, free, copy, sass);
}

gpuchar_status gpuchar_sass_file_load(const gpuchar_sass_file *file, size_t index, gpuchar_sass **sass) {
    if (sass) *sass = NULL;
    if (!file || !sass) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "file or sass is NULL");
    const uint8_t *bytes = NULL;
    size_t size = 0;
    void *owned = NULL;
    const gc_image *image = find_image(file, index);
    if (!image) return GPUCHAR_E_LIMIT;
    if (image->kind != GC_IMAGE_CUBIN)
        return gc_fail(GPUCHAR_E_NOT_APPLICABLE, "entry %zu is %s, no cubin", index,
                       image->kind == GC_IMAGE_PTX ? "PTX" : "intermediate code");
    const gpuchar_status status = gc_container_unpack(&file->container, index, &bytes, &size, &owned);
    if (status) return status;
    return owned ? gc_sass_open_owned(bytes, size, free, owned, sass) : open_stored(file, bytes, size, sass);
}
