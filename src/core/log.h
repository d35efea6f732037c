/* Log lines go to the runtime's callback, nowhere else. */
#ifndef GC_CORE_LOG_H
#define GC_CORE_LOG_H

#include <gpuchar/runtime.h>

typedef struct gc_log {
    gpuchar_log_function function;
    void *user;
    uint32_t level;
} gc_log;

void gc_log_write(const gc_log *log, uint32_t level, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
