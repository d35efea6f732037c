/* Small things everybody needs: time, random numbers, text buffers, hashes. */
#ifndef GC_CORE_UTIL_H
#define GC_CORE_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

uint64_t gc_now_ns(void); /* monotonic */

/* SplitMix64; equal seeds give equal sequences on every platform. */
typedef struct gc_random {
    uint64_t state;
} gc_random;
gc_random gc_random_seed(uint64_t seed);
uint64_t gc_random_u64(gc_random *random);
uint32_t gc_random_below(gc_random *random, uint32_t bound); /* 0..bound-1, unbiased; 0 for bound 0 */
double gc_random_unit(gc_random *random);                    /* [0, 1) */

/* Formats into a fixed buffer; a text that is too long ends in "...". */
void gc_format_fixed(char *buffer, size_t capacity, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Replaces control characters by '?', those of UTF-8 (U+0080 to U+009F) too: a terminal obeys them. */
void gc_text_clean(char *text);

/* A number for people, of at most `most` (7 to 31) characters: `decimals` places, fewer digits where these are too many;
 * "-" for what is not finite. */
typedef struct gc_number {
    char text[32];
} gc_number;
gc_number gc_number_text(double value, int decimals, int most);

/* A growing text. After a failed allocation `failed` is set and the rest is ignored. */
typedef struct gc_text {
    char *data; /* NUL-terminated once something was added */
    size_t length;
    size_t capacity;
    bool failed;
} gc_text;
void gc_text_add(gc_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gc_text_append(gc_text *text, const char *bytes, size_t length);
void gc_text_free(gc_text *text);

/* 128-bit non-cryptographic hash (FNV-1a), for cache keys; continue with the value of the step before. */
typedef struct gc_hash {
    uint64_t high, low;
} gc_hash;
gc_hash gc_hash_start(void);
gc_hash gc_hash_add(gc_hash hash, const void *bytes, size_t length);

#endif
