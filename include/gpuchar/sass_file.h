/* Where cubins lie: in files of their own, in fat binaries, objects, executables and libraries. */
#ifndef GPUCHAR_SASS_FILE_H
#define GPUCHAR_SASS_FILE_H

#include <gpuchar/sass.h>

GPUCHAR_BEGIN_DECLS

/* What a file holds. */
typedef struct gpuchar_sass_file gpuchar_sass_file;

enum { GPUCHAR_SASS_ENTRY_CUBIN = 1, GPUCHAR_SASS_ENTRY_PTX = 2, GPUCHAR_SASS_ENTRY_OTHER = 3 };
enum {
    GPUCHAR_SASS_PACKING_NONE = 0,
    GPUCHAR_SASS_PACKING_LZ4 = 1,
    GPUCHAR_SASS_PACKING_ZSTD = 2,
    GPUCHAR_SASS_PACKING_OTHER = 3
};

/* One image in a file. Frozen. */
typedef struct gpuchar_sass_entry {
    uint64_t offset_bytes;   /* where it lies in the file */
    uint64_t stored_bytes;   /* how many it takes there */
    uint64_t unpacked_bytes; /* and when it is unpacked */
    uint32_t kind;           /* GPUCHAR_SASS_ENTRY_... */
    uint32_t packing;        /* GPUCHAR_SASS_PACKING_... */
    uint32_t architecture;   /* 90: sm_90 */
    uint32_t reserved;
} gpuchar_sass_entry;

/*
 * Finds the images in a cubin, a fat binary, an object file, an executable, a shared library, or a static library. The bytes
 * stay the caller's and must not change until the handle is closed. Errors: E_SASS_FORMAT (none of these, or a damaged
 * one), E_LIMIT (more than 2^20 images), E_OUT_OF_MEMORY. A file that holds no image is no error: its count is 0.
 */
GPUCHAR_API gpuchar_status gpuchar_sass_file_open_bytes(const void *bytes, size_t size, gpuchar_sass_file **file);
/*
 * The same for a file on disk. A regular file is mapped: it must not be cut off while it or a cubin of it is open, which would
 * end the process by SIGBUS as with any mapped file. What is no regular file is read to its end first. Also: E_IO.
 */
GPUCHAR_API gpuchar_status gpuchar_sass_file_open(const char *path, gpuchar_sass_file **file);
/* NULL is allowed. Cubins loaded from it stay open. */
GPUCHAR_API void gpuchar_sass_file_close(gpuchar_sass_file *file);
GPUCHAR_API size_t gpuchar_sass_file_count(const gpuchar_sass_file *file);
/* E_LIMIT: no such entry. */
GPUCHAR_API gpuchar_status gpuchar_sass_file_entry(const gpuchar_sass_file *file, size_t index,
                                                   gpuchar_sass_entry *entry);
/*
 * Unpacks an entry and opens the cubin. Errors: E_LIMIT (no such entry), E_NOT_APPLICABLE (no cubin), E_SASS_FORMAT
 * (damaged), E_SASS_UNKNOWN (packed in a way that this build does not know: the hint says which), E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_sass_file_load(const gpuchar_sass_file *file, size_t index, gpuchar_sass **sass);

GPUCHAR_END_DECLS

#endif
