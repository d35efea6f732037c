/* Time, random numbers, text, hashes. */
#undef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "core/util.h"

#include <gpuchar/runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t gc_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Random numbers: SplitMix64 (Steele, Lea, Flood 2014). Every seed is good, 0 included. */

gc_random gc_random_seed(uint64_t seed) {
    return (gc_random){.state = seed};
}

uint64_t gc_random_u64(gc_random *random) {
    random->state += 0x9e3779b97f4a7c15u;
    uint64_t mixed = random->state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

uint32_t gc_random_below(gc_random *random, uint32_t bound) {
    if (bound == 0) {
        return 0;
    }
    /* The first 2^32 mod bound products of each residue would come once too often: they are drawn again. */
    uint32_t surplus = (0u - bound) % bound;
    for (;;) {
        uint64_t product = (gc_random_u64(random) >> 32) * bound;
        if ((uint32_t)product >= surplus) {
            return (uint32_t)(product >> 32);
        }
    }
}

double gc_random_unit(gc_random *random) {
    return (double)(gc_random_u64(random) >> 11) * 0x1p-53;
}

/* Text. */

void gc_format_fixed(char *buffer, size_t capacity, const char *format, va_list arguments) {
    static const char ellipsis[] = "...";
    int length = vsnprintf(buffer, capacity, format, arguments);
    if (length < 0) {
        buffer[0] = 0;
    } else if ((size_t)length >= capacity && capacity > sizeof ellipsis) {
        size_t cut = capacity - sizeof ellipsis;
        while (cut > 0 && ((unsigned char)buffer[cut] & 0xc0u) == 0x80u) {
            cut--; /* not inside a UTF-8 character */
        }
        memcpy(buffer + cut, ellipsis, sizeof ellipsis);
    }
}

/*
 * What a terminal obeys, or what makes text look other than it is: control characters, and Unicode's marks of direction
 * and other invisible ones. In UTF-8 they differ from their neighbours in the last byte only.
 */
static const struct {
    char before[4]; /* the bytes before the last */
    unsigned char first, last;
} commands[] = {
    {"", 0x01, 0x1f},             /* C0 */
    {"", 0x7f, 0x7f},             /* DEL */
    {"\xc2", 0x80, 0x9f},         /* C1 */
    {"\xc2", 0xad, 0xad},         /* U+00AD */
    {"\xd8", 0x9c, 0x9c},         /* U+061C */
    {"\xe1\xa0", 0x8e, 0x8e},     /* U+180E */
    {"\xe2\x80", 0x8b, 0x8f},     /* U+200B to U+200F */
    {"\xe2\x80", 0xa8, 0xae},     /* U+2028 to U+202E */
    {"\xe2\x81", 0xa0, 0xaf},     /* U+2060 to U+206F */
    {"\xef\xbb", 0xbf, 0xbf},     /* U+FEFF */
    {"\xef\xbf", 0xb9, 0xbb},     /* U+FFF9 to U+FFFB */
    {"\xf3\xa0\x80", 0x80, 0xbf}, /* U+E0000 to U+E003F */
    {"\xf3\xa0\x81", 0x80, 0xbf}, /* U+E0040 to U+E007F */
};

/* The bytes of the command that begins here; 0: none does. */
static size_t command_bytes(const char *at) {
    for (size_t i = 0; i < GC_COUNT(commands); i++) {
        size_t before = strlen(commands[i].before);
        if (strncmp(at, commands[i].before, before) != 0) {
            continue;
        }
        unsigned char last = (unsigned char)at[before];
        if (last >= commands[i].first && last <= commands[i].last) {
            return before + 1;
        }
    }
    return 0;
}

void gc_text_clean(char *text) {
    for (char *at = text; *at;) {
        size_t bytes = command_bytes(at);
        memset(at, '?', bytes);
        at += bytes ? bytes : 1;
    }
}

gc_number gc_number_text(double value, int decimals, int most) {
    gc_number number = {"-"};
    char text[512]; /* the largest double has 309 digits before its point */
    if (!isfinite(value)) {
        return number;
    }
    int length = snprintf(text, sizeof text, "%.*f", decimals, value);
    if (length > most) {
        /* A sign, a point and "e+308" take seven characters; one digit alone has no point, a double no more than 17. */
        int digits = most > 8 ? most - 7 : 1;
        length = snprintf(text, sizeof text, "%.*g", digits < 17 ? digits : 17, value);
    }
    if (length > 0 && (size_t)length < sizeof number.text) {
        memcpy(number.text, text, (size_t)length + 1);
    }
    return number;
}

static bool text_reserve(gc_text *text, size_t extra) {
    if (text->failed) {
        return false;
    }
    if (extra >= SIZE_MAX / 2 - text->length) {
        text->failed = true;
        return false;
    }
    size_t needed = text->length + extra + 1;
    if (needed <= text->capacity) {
        return true;
    }
    size_t capacity = text->capacity * 2 > needed ? text->capacity * 2 : needed;
    capacity = capacity > 64 ? capacity : 64;
    char *grown = realloc(text->data, capacity);
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->data = grown;
    text->capacity = capacity;
    return true;
}

void gc_text_add(gc_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text->failed = true;
    }
    if (length < 0 || !text_reserve(text, (size_t)length)) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void gc_text_append(gc_text *text, const char *bytes, size_t length) {
    if (!text_reserve(text, length)) {
        return;
    }
    if (length > 0) {
        memcpy(text->data + text->length, bytes, length);
    }
    text->length += length;
    text->data[text->length] = 0;
}

void gc_text_free(gc_text *text) {
    free(text->data);
    *text = (gc_text){0};
}

void gpuchar_string_free(char *text) {
    free(text);
}

/* Hash. */

gc_hash gc_hash_start(void) {
    return (gc_hash){.high = 0x6c62272e07bb0142u, .low = 0x62b821756295c58du};
}

/* The FNV prime is 2^88 + 0x13b; in 64-bit halves, because ISO C has no 128-bit integer. */
static gc_hash times_fnv_prime(gc_hash hash) {
    const uint64_t small = 0x13b;
    uint64_t low = (hash.low & 0xffffffffu) * small;
    uint64_t middle = (hash.low >> 32) * small + (low >> 32);
    return (gc_hash){
        .high = hash.high * small + (middle >> 32) + (hash.low << 24),
        .low = (middle << 32) | (low & 0xffffffffu),
    };
}

gc_hash gc_hash_add(gc_hash hash, const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++) {
        hash.low ^= byte[i];
        hash = times_fnv_prime(hash);
    }
    return hash;
}
