/* The folders in which NVIDIA's libraries may lie, each with the reason to look there. */
#ifndef GC_PLATFORM_PLACES_H
#define GC_PLATFORM_PLACES_H

#include <platform/library.h>

/* The folder of the file that holds this code: the shared library, or the program it is linked into. */
bool gc_own_folder(char *folder, size_t capacity);

/* Called with each existing folder, best first, until it returns true; that is the result. */
typedef bool (*gc_place_visitor)(const char *folder, void *user);
bool gc_places_visit(const gc_library_spec *spec, gc_place_visitor visitor, void *user);

#endif
