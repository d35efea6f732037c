/* What must hold whatever the bytes are: the process ends when it does not, and the fuzzer keeps the input. */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_CHECK(holds)                                                                                              \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds);                                 \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all of it, so that a sanitizer sees each byte that is promised and not there. */
static inline void fuzz_touch(const void *bytes, size_t size) {
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < size; i++) sum = (uint8_t)(sum + ((const uint8_t *)bytes)[i]);
}

#endif
