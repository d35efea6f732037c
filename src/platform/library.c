/*
 * Order of places: the path given by an option; the environment variable; a copy that the process has loaded already;
 * the loader's own search by soname; the folders of places.c. A library given by name is the only candidate: falling
 * back to another one would measure with something the user did not choose.
 *
 * Nothing is ever closed: NVIDIA's libraries leave threads and exit handlers behind. Never a bare "libcuda.so": that is
 * what toolkits call their stub.
 */
#include <platform/library.h>

#include <core/error.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <platform/places.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_MODE = RTLD_NOW | RTLD_LOCAL };

typedef struct search {
    const gc_library_spec *spec;
    gc_library *library;
    gpuchar_status refused; /* of the first library that was there and of no use */
    gc_error_box *refusal;  /* its detail */
    char loader_error[256]; /* the first interesting complaint of the loader */
} search;

static const char *loader_error(void) {
    const char *text = dlerror();
    return text ? text : "unknown error of the loader";
}

static void copy_path(char *to, size_t capacity, const char *from) {
    size_t length = strlen(from);
    length = length < capacity ? length : capacity - 1;
    memcpy(to, from, length);
    to[length] = 0;
}

static void tell_path(gc_library *library, const char *asked) {
    struct link_map *map = NULL;
    const char *name = asked;
    if (dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0]) {
        name = map->l_name;
    }
    char real[PATH_MAX];
    copy_path(library->path, sizeof library->path, realpath(name, real) ? real : name);
}

static gpuchar_status accept(const gc_library_spec *spec, const gc_library *library) {
    return spec->accept ? spec->accept(library, spec->accept_user) : GPUCHAR_OK;
}

static gpuchar_status open_named(const gc_library_spec *spec, const char *path, const char *origin,
                                 gc_library *library) {
    struct stat found;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        gpuchar_status status = gc_fail(spec->missing, "%s, given by %s, is a folder", path, origin);
        gc_hint("name the library's file, such as %s/%s", path, spec->sonames[0]);
        return status;
    }
    library->handle = dlopen(path, OPEN_MODE);
    if (!library->handle) {
        gpuchar_status status =
            gc_fail(spec->missing, "%s, given by %s, cannot be opened: %s", path, origin, loader_error());
        gc_hint("correct %s or leave it empty to search the usual places", origin);
        return status;
    }
    tell_path(library, path);
    return accept(spec, library);
}

static void remember_refusal(search *s, gpuchar_status status) {
    gc_error_box *box = gc_error_take();
    if (!s->refused) {
        s->refused = status;
        s->refusal = box;
    } else {
        gc_error_put(box, GPUCHAR_OK);
    }
}

static bool try_candidate(search *s, const char *name, int mode) {
    s->library->handle = dlopen(name, mode);
    if (!s->library->handle) {
        const char *text = loader_error();
        /* That a soname is unknown is no news; that a file is there and does not load is. */
        if (!(mode & RTLD_NOLOAD) && !s->loader_error[0] && !strstr(text, "No such file")) {
            copy_path(s->loader_error, sizeof s->loader_error, text);
        }
        return false;
    }
    tell_path(s->library, name);
    gpuchar_status status = accept(s->spec, s->library);
    if (status) {
        remember_refusal(s, status);
        return false;
    }
    return true;
}

static bool try_folder(const char *folder, void *user) {
    search *s = user;
    char path[PATH_MAX];
    for (size_t i = 0; s->spec->sonames[i]; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", folder, s->spec->sonames[i]);
        struct stat found;
        if (length > 0 && (size_t)length < sizeof path && stat(path, &found) == 0 &&
            try_candidate(s, path, OPEN_MODE)) {
            return true;
        }
    }
    return false;
}

static bool search_everywhere(search *s) {
    for (size_t i = 0; s->spec->sonames[i]; i++) {
        if (try_candidate(s, s->spec->sonames[i], OPEN_MODE | RTLD_NOLOAD)) {
            return true;
        }
    }
    for (size_t i = 0; s->spec->sonames[i]; i++) {
        if (try_candidate(s, s->spec->sonames[i], OPEN_MODE)) {
            return true;
        }
    }
    return gc_places_visit(s->spec, try_folder, s);
}

static gpuchar_status fail_search(search *s) {
    memset(s->library, 0, sizeof *s->library);
    if (s->refused) {
        return gc_error_put(s->refusal, s->refused);
    }
    gpuchar_status status = s->loader_error[0] ? gc_fail(s->spec->missing, "what was found of %s cannot be loaded: %s",
                                                         s->spec->sonames[0], s->loader_error)
                                               : gc_fail(s->spec->missing, "%s was not found", s->spec->sonames[0]);
    gc_hint("%s", s->spec->hint);
    return status;
}

gpuchar_status gc_library_open(const gc_library_spec *spec, const char *path, gc_library *library) {
    *library = (gc_library){.domain = spec->domain};
    const char *origin = "the runtime's option";
    if (!path || !path[0]) {
        path = getenv(spec->environment);
        origin = spec->environment;
    }
    if (path && path[0]) {
        gpuchar_status status = open_named(spec, path, origin, library);
        if (status) {
            memset(library, 0, sizeof *library);
        }
        return status;
    }
    /* Refused candidates leave failures behind; when another one is found, the thread's detail is as before. */
    gc_error_box *saved = gc_error_take();
    search s = {.spec = spec, .library = library};
    if (!search_everywhere(&s)) {
        gc_error_put(saved, GPUCHAR_OK);
        return fail_search(&s);
    }
    gc_error_put(s.refusal, GPUCHAR_OK);
    gc_error_restore(saved);
    return GPUCHAR_OK;
}

gpuchar_status gc_library_load(const gc_library_spec *spec, const char *path, void *table, size_t size) {
    gc_library library;
    memset(table, 0, size);
    gpuchar_status status = gc_library_open(spec, path, &library);
    if (status) {
        memset(table, 0, size);
        return status;
    }
    memcpy(table, &library, sizeof library);
    return GPUCHAR_OK;
}

gpuchar_status gc_toolkit_load(const gc_library_spec *spec, const char *hint_12, const char *path,
                               gc_toolkit_search found, size_t size) {
    gc_library_spec fitting = *spec;
    fitting.accept_user = &found;
    /* What is newer than the driver is not even opened in a search: 100 MB that could never be given back. */
    if (found.highest_major == 12) {
        fitting.sonames++;
        fitting.hint = hint_12;
    }
    return gc_library_load(&fitting, path, found.table, size);
}

gc_hash gc_library_build(const gc_library *library) {
    char beginning[16 * 1024];
    struct stat about;
    gc_hash hash = gc_hash_start();
    FILE *file = fopen(library->path, "re");
    if (file && fstat(fileno(file), &about) == 0) {
        uint64_t size = (uint64_t)about.st_size;
        hash = gc_hash_add(hash, &size, sizeof size);
        hash = gc_hash_add(hash, beginning, fread(beginning, 1, sizeof beginning, file));
        /* From a cold disk its first use would wait page by page. A hint: nobody waits for it. */
        posix_fadvise(fileno(file), 0, 0, POSIX_FADV_WILLNEED);
    } else {
        /* Removed since it was opened: a build that nobody else has, so that nothing is taken for its work. */
        uint64_t own[2] = {(uint64_t)getpid(), gc_now_ns()};
        hash = gc_hash_add(hash, own, sizeof own);
    }
    if (file) {
        fclose(file);
    }
    return hash;
}

gpuchar_status gc_library_symbol(const gc_library *library, const char *symbol, void **address) {
    *address = dlsym(library->handle, symbol);
    if (*address) {
        return GPUCHAR_OK;
    }
    gc_native native = {.domain = library->domain};
    gpuchar_status status =
        gc_fail_native(GPUCHAR_E_SYMBOL_MISSING, native, "%s has no function %s", library->path, symbol);
    gc_hint("it is too old, or not the library it is taken for");
    return status;
}

gpuchar_status gc_library_fill(const gc_library *library, const gc_symbol *symbols, size_t count, void *table) {
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library->handle, symbols[i].name);
        if (!address && symbols[i].older_name) {
            address = dlsym(library->handle, symbols[i].older_name);
        }
        if (!address && !symbols[i].optional) {
            return gc_library_symbol(library, symbols[i].name, &address);
        }
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return GPUCHAR_OK;
}

bool gc_library_open_sibling(const gc_library *library, const char *name) {
    char path[PATH_MAX];
    const char *slash = strrchr(library->path, '/');
    if (!slash) {
        return false;
    }
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)(slash - library->path), library->path, name);
    struct stat found;
    return length > 0 && (size_t)length < sizeof path && stat(path, &found) == 0 && dlopen(path, OPEN_MODE) != NULL;
}
