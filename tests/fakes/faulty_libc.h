/*
 * Memory, file, thread and process calls of the library that fail on demand. The tests link a copy of the library in which these
 * functions have other names, so that nobody else's calls are meant, a sanitizer's least of all.
 */
#ifndef FAKES_FAULTY_LIBC_H
#define FAKES_FAULTY_LIBC_H

#include <stdbool.h>

typedef enum libc_call {
    LIBC_MEMORY, /* malloc, calloc, realloc, strdup, and jansson's */
    LIBC_OPEN,
    LIBC_READ,
    LIBC_WRITE,
    LIBC_CLOSE,
    LIBC_RENAME,
    LIBC_FSYNC,
    LIBC_MKDIR,
    LIBC_UNLINK,
    LIBC_STAT,
    LIBC_FSTAT,
    LIBC_REALPATH,
    LIBC_OPENDIR,
    LIBC_THREAD, /* pthread_create */
    LIBC_SOCKETPAIR,
    LIBC_SPAWN, /* posix_spawn */
    LIBC_SEND,
    LIBC_RECV,
    LIBC_POLL,
    LIBC_CALLS
} libc_call;

extern const char *const libc_names[LIBC_CALLS];

/* From now on calls are counted; call number `use` fails with `error`. Use 0: none, only counting. */
void libc_fail(libc_call call, unsigned use, int error);
/* The same, but that call works: `meanwhile` is called before it. */
void libc_before(libc_call call, unsigned use, void (*meanwhile)(void));
/* Calls are not counted any more, and all work. */
void libc_stop(void);
unsigned libc_count(libc_call call);
bool libc_failed(void);
/* From now on the library's blocks of memory are watched; those of before are not. */
void libc_watch(void);
/* How many blocks it has taken since and not given back. Watches no longer. */
unsigned libc_left(void);
/* Every write puts no more than so many bytes; 0: as many as asked. */
void libc_write_at_most(unsigned bytes);

#endif
