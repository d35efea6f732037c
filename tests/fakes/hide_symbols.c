/* Linked into tests with --wrap=dlsym: what fake_hide names is in no library. */
#include <fakes/book.h>

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

void *__wrap_dlsym(void *handle, const char *name) {
    return fake_hidden(name) ? NULL : __real_dlsym(handle, name);
}
