/* A folder of the test's own in /tmp, for cmocka's setup and teardown. */
#ifndef TEST_TEMP_FOLDER_H
#define TEST_TEMP_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static inline void remove_files(const char *path) {
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char file[1024];
        snprintf(file, sizeof file, "%.500s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(file) != 0) {
            rmdir(file);
        }
    }
    if (directory) {
        closedir(directory);
    }
}

static inline size_t count_files(const char *path, char *last, size_t last_size) {
    size_t count = 0;
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            if (snprintf(last, last_size, "%s/%s", path, entry->d_name) >= (int)last_size) last[0] = 0;
        }
    }
    if (directory) {
        closedir(directory);
    }
    return count;
}

static inline int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/gpuchar-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    chmod(folder, 0700);
    remove_files(folder);
    return rmdir(folder);
}

#endif
