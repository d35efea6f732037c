/* Where recorded profiles lie. */
#include "quick_char.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last *.json by name: names begin with the GPU and end with the date. */
static bool last_profile_in(const char *folder, char *path, size_t size) {
    DIR *open = opendir(folder);
    char best[256] = "";
    struct dirent *entry;
    if (!open) return false;
    while ((entry = readdir(open)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length < 6 || length >= sizeof best || strcmp(entry->d_name + length - 5, ".json") != 0) continue;
        if (strcmp(entry->d_name, best) > 0) memcpy(best, entry->d_name, length + 1);
    }
    closedir(open);
    return best[0] && snprintf(path, size, "%s/%s", folder, best) < (int)size;
}

/* A folder relative to the program itself. */
static bool last_profile_beside(const char *relative, char *path, size_t size) {
    char folder[4096];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 256);
    if (length <= 0) return false;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash) return false;
    snprintf(slash + 1, sizeof folder - (size_t)(slash + 1 - folder), "%s", relative);
    return last_profile_in(folder, path, size);
}

bool find_recorded_profile(char *path, size_t size) {
    /* Installed; beside the program; in a build folder up to three levels below the source tree. */
    static const char *const beside[] = {"../share/gpuchar/profiles", "profiles", "../profiles", "../../profiles",
                                         "../../../profiles"};
    const char *named = getenv("GPUCHAR_PROFILES");
    if (named && named[0]) return last_profile_in(named, path, size);
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; ++i) {
        if (last_profile_beside(beside[i], path, size)) return true;
    }
    return false;
}
