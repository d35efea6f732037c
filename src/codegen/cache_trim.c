/*
 * Keeps the cubin cache's folder within bounds: the oldest files go first, and what crashes left behind goes with them.
 * Several processes may do so at once: a file that is gone already is no trouble, and one that is being read stays
 * readable until it is closed. Nothing that the cache did not name is touched.
 */
#include "codegen/codegen_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Writing a cubin takes milliseconds; a temporary file of this age has no writer any more. */
enum { LEFTOVER_SECONDS = 3600 };

typedef struct cache_file {
    char name[48];
    struct timespec written;
    uint64_t bytes;
} cache_file;

typedef struct cache_files {
    cache_file *list;
    size_t count, capacity;
    uint64_t bytes;
} cache_files;

static bool is_hex(const char *text, size_t digits) {
    return strspn(text, "0123456789abcdef") == digits;
}

/* Names as path_of and temporary_path in cache_disk.c make them. */
static bool is_cubin(const char *name) {
    return is_hex(name, 32) && strcmp(name + 32, ".cubin") == 0;
}

static bool is_temporary(const char *name) {
    size_t length = strlen(name);
    return name[0] == '.' && is_hex(name + 1, 16) && name[17] == '.' && strcmp(name + length - 4, ".tmp") == 0;
}

static bool add(cache_files *files, const char *name, const struct stat *about) {
    if (files->count == files->capacity) {
        size_t wanted = files->capacity ? 2 * files->capacity : 256;
        cache_file *grown = realloc(files->list, wanted * sizeof *grown);
        if (!grown) {
            return false;
        }
        files->list = grown;
        files->capacity = wanted;
    }
    cache_file *file = &files->list[files->count++];
    *file = (cache_file){.written = about->st_mtim, .bytes = (uint64_t)about->st_size};
    memcpy(file->name, name, strlen(name) + 1);
    files->bytes += file->bytes;
    return true;
}

static void look(DIR *directory, cache_files *files) {
    time_t now = time(NULL);
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat about;
        bool cubin = is_cubin(entry->d_name);
        if ((!cubin && !is_temporary(entry->d_name)) ||
            fstatat(dirfd(directory), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode)) {
            continue;
        }
        if (cubin && !add(files, entry->d_name, &about)) {
            return;
        }
        if (!cubin && about.st_mtim.tv_sec < now - LEFTOVER_SECONDS) {
            unlinkat(dirfd(directory), entry->d_name, 0);
        }
    }
}

static int older_first(const void *a, const void *b) {
    const struct timespec *x = &((const cache_file *)a)->written, *y = &((const cache_file *)b)->written;
    if (x->tv_sec != y->tv_sec) {
        return x->tv_sec < y->tv_sec ? -1 : 1;
    }
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

size_t gc_cache_trim(const char *folder, size_t files_max, uint64_t bytes_max) {
    DIR *directory = opendir(folder);
    if (!directory) {
        return 0;
    }
    cache_files files = {0};
    size_t removed = 0;
    look(directory, &files);
    if (files.count > files_max || files.bytes > bytes_max) {
        qsort(files.list, files.count, sizeof files.list[0], older_first);
        for (size_t i = 0; files.count - i > files_max || files.bytes > bytes_max; i++) {
            removed += unlinkat(dirfd(directory), files.list[i].name, 0) == 0;
            files.bytes -= files.list[i].bytes;
        }
    }
    free(files.list);
    closedir(directory);
    return removed;
}
