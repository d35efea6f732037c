/* Checks of options that experiments share; each fails with the option's name. */
#ifndef GC_EXPERIMENTS_OPTIONS_H
#define GC_EXPERIMENTS_OPTIONS_H

#include <gpuchar/status.h>

/* A named constant, 0 to `highest`: E_INVALID_ARGUMENT. */
gpuchar_status gc_option_choice(const char *name, uint32_t value, uint32_t highest);
/* An amount: E_LIMIT. */
gpuchar_status gc_option_range(const char *name, uint32_t value, uint32_t lowest, uint32_t highest);
/* Chained instructions of one path's loop; `index` is the option's place in its array. E_LIMIT. */
#define GC_OPTION_ALONE UINT32_MAX
gpuchar_status gc_option_body(const char *name, uint32_t index, uint32_t value);
/* The options `counters` and `require`, and that they do not contradict each other. */
gpuchar_status gc_option_demands(uint32_t counters, uint32_t require);
/* An array option and its count: what lies behind the count, and would be ignored, is refused. */
gpuchar_status gc_option_count(const char *name, const uint32_t *values, uint32_t count, uint32_t capacity);

#endif
