/* Where the program gpuchar-worker is. */
#ifndef GC_WORKER_LOCATE_H
#define GC_WORKER_LOCATE_H

#include <gpuchar/status.h>

/* `option`: as given to the runtime, NULL: search. E_NO_WORKER. */
gpuchar_status gc_worker_locate(const char *option, char *path, size_t capacity);

#endif
