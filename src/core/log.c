#include "core/log.h"
#include "core/util.h"

#include <stdarg.h>

void gc_log_write(const gc_log *log, uint32_t level, const char *format, ...) {
    if (!log || !log->function || level > log->level) {
        return;
    }
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    gc_format_fixed(line, sizeof line, format, arguments);
    va_end(arguments);
    log->function(log->user, level, line);
}
