/*
 * Order: folders named by the spec, the folder of this library, Python's package folders (of the wheel this library
 * belongs to, the active environment, the user, the system), then toolkits (named by environment variables, the
 * default one, all others from the newest to the oldest).
 */
#include <platform/places.h>

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct visit {
    gc_place_visitor visitor;
    void *user;
} visit;

static bool join(char *to, size_t capacity, const char *folder, const char *rest) {
    int length = snprintf(to, capacity, "%s/%s", folder, rest);
    return length > 0 && (size_t)length < capacity;
}

static bool visit_folder(const visit *v, const char *folder) {
    struct stat found;
    return stat(folder, &found) == 0 && S_ISDIR(found.st_mode) && v->visitor(folder, v->user);
}

static bool visit_below(const visit *v, const char *root, const char *const *subfolders) {
    char folder[PATH_MAX];
    for (size_t i = 0; subfolders && subfolders[i]; i++) {
        if (join(folder, sizeof folder, root, subfolders[i]) && visit_folder(v, folder)) {
            return true;
        }
    }
    return false;
}

/* A user's folder may hold characters that mean something in a pattern. */
static bool escape_pattern(char *to, size_t capacity, const char *text) {
    size_t length = 0;
    for (; *text; text++) {
        if (length + 3 > capacity) {
            return false;
        }
        if (strchr("*?[\\", *text)) {
            to[length++] = '\\';
        }
        to[length++] = *text;
    }
    to[length] = 0;
    return true;
}

static int newer_first(const void *a, const void *b) {
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* `root` as it is (may be ""), then the pattern; of several matches the newest version first. */
static bool visit_matches(const visit *v, const char *root, const char *pattern, const char *const *subfolders) {
    char escaped[PATH_MAX], whole[PATH_MAX];
    if (!escape_pattern(escaped, sizeof escaped, root) || !join(whole, sizeof whole, escaped, pattern)) {
        return false;
    }
    glob_t matches;
    bool done = false;
    if (glob(whole, GLOB_NOSORT, NULL, &matches) == 0) {
        qsort(matches.gl_pathv, matches.gl_pathc, sizeof matches.gl_pathv[0], newer_first);
        for (size_t i = 0; i < matches.gl_pathc && !done; i++) {
            done = visit_below(v, matches.gl_pathv[i], subfolders);
        }
    }
    globfree(&matches);
    return done;
}

static const char *environment(const char *name) {
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* What the loader calls the main program is argv[0], which need not be a path: then the system is asked. */
bool gc_own_folder(char *folder, size_t capacity) {
    static const char anchor;
    Dl_info info;
    struct link_map *map = NULL;
    char real[PATH_MAX];
    if (dladdr1(&anchor, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || !map) {
        return false;
    }
    if (!realpath(map->l_name && map->l_name[0] ? map->l_name : "/proc/self/exe", real)) {
        return false;
    }
    char *slash = strrchr(real, '/');
    if (!slash || (size_t)(slash - real) >= capacity) {
        return false;
    }
    *slash = 0;
    memcpy(folder, real, strlen(real) + 1);
    return true;
}

/* Cuts `folder` behind its last component that holds Python packages. */
static bool cut_to_packages(char *folder) {
    static const char *const names[] = {"/site-packages", "/dist-packages"};
    for (size_t i = 0; i < 2; i++) {
        char *found = strstr(folder, names[i]);
        if (found) {
            found[strlen(names[i])] = 0;
            return true;
        }
    }
    return false;
}

static bool visit_python_path(const visit *v, const char *const *subfolders) {
    const char *entry = environment("PYTHONPATH");
    while (entry) {
        const char *end = strchr(entry, ':');
        size_t length = end ? (size_t)(end - entry) : strlen(entry);
        char folder[PATH_MAX];
        if (length > 0 && length < sizeof folder) {
            memcpy(folder, entry, length);
            folder[length] = 0;
            if (visit_below(v, folder, subfolders)) {
                return true;
            }
        }
        entry = end ? end + 1 : NULL;
    }
    return false;
}

static bool visit_wheels(const visit *v, const char *const *subfolders) {
    if (!subfolders) {
        return false;
    }
    char own[PATH_MAX];
    if (gc_own_folder(own, sizeof own) && cut_to_packages(own) && visit_below(v, own, subfolders)) {
        return true;
    }
    static const char *const roots[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    for (size_t i = 0; i < 2; i++) {
        const char *root = environment(roots[i]);
        if (root && visit_matches(v, root, "lib/python3*/site-packages", subfolders)) {
            return true;
        }
    }
    if (visit_python_path(v, subfolders)) {
        return true;
    }
    const char *home = environment("HOME");
    if (home && visit_matches(v, home, ".local/lib/python3*/site-packages", subfolders)) {
        return true;
    }
    return visit_matches(v, "", "usr/local/lib/python3*/dist-packages", subfolders) ||
           visit_matches(v, "", "usr/local/lib/python3*/site-packages", subfolders) ||
           visit_matches(v, "", "usr/lib/python3*/dist-packages", subfolders) ||
           visit_matches(v, "", "usr/lib/python3*/site-packages", subfolders);
}

static bool visit_toolkits(const visit *v, const char *const *subfolders) {
    if (!subfolders) {
        return false;
    }
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < 2; i++) {
        const char *root = environment(variables[i]);
        if (root && visit_below(v, root, subfolders)) {
            return true;
        }
    }
    static const char *const conda[] = {"lib", NULL};
    const char *prefix = environment("CONDA_PREFIX");
    return (prefix && visit_below(v, prefix, conda)) || visit_below(v, "/usr/local/cuda", subfolders) ||
           visit_matches(v, "", "usr/local/cuda-*", subfolders) || visit_below(v, "/opt/cuda", subfolders);
}

bool gc_places_visit(const gc_library_spec *spec, gc_place_visitor visitor, void *user) {
    const visit v = {visitor, user};
    for (size_t i = 0; spec->folders && spec->folders[i]; i++) {
        if (visit_folder(&v, spec->folders[i])) {
            return true;
        }
    }
    /* Only what may be shipped with a program: a driver never is. */
    bool shipped = spec->wheel_folders || spec->toolkit_folders;
    char own[PATH_MAX];
    if (shipped && gc_own_folder(own, sizeof own) && visit_folder(&v, own)) {
        return true;
    }
    return visit_wheels(&v, spec->wheel_folders) || visit_toolkits(&v, spec->toolkit_folders);
}
