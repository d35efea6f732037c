/* Version of the headers (macros) and of the library in use (function). */
#ifndef GPUCHAR_VERSION_H
#define GPUCHAR_VERSION_H

#include <gpuchar/export.h>

#define GPUCHAR_VERSION_MAJOR 0
#define GPUCHAR_VERSION_MINOR 1
#define GPUCHAR_VERSION_PATCH 0
#define GPUCHAR_VERSION_STRING "0.1.0"

GPUCHAR_BEGIN_DECLS

/* "0.1.0": of the library at run time. */
GPUCHAR_API const char *gpuchar_version(void);

GPUCHAR_END_DECLS

#endif
