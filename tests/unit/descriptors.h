/* For tests: the descriptors that this process has open. */
#ifndef TEST_DESCRIPTORS_H
#define TEST_DESCRIPTORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

static inline size_t count_descriptors(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

#endif
