/*
 * Linked into tests with --wrap=dlsym: what fake_hide names is in no library. A sanitizer's runtime is in the program too,
 * and asks for symbols before anything else runs: until the constructor has, nothing here may be instrumented.
 */
#include <fakes/book.h>

#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

static bool (*is_hidden)(const char *name);

__attribute__((constructor)) static void begin(void) {
    is_hidden = fake_hidden;
}

EARLY void *__wrap_dlsym(void *handle, const char *name) {
    return is_hidden && is_hidden(name) ? NULL : __real_dlsym(handle, name);
}
