/* What all experiments refuse in the options that they share. */
#ifndef GC_EXPERIMENTS_OPTION_CHECKS_H
#define GC_EXPERIMENTS_OPTION_CHECKS_H

#include <gpuchar/experiment.h>

/* One of the known values 0..highest, else E_INVALID_ARGUMENT. */
gpuchar_status gc_check_choice(const char *name, uint32_t value, uint32_t highest);
/* Within the range, else E_LIMIT. */
gpuchar_status gc_check_range(const char *name, uint32_t value, uint32_t lowest, uint32_t highest);
/* `counters` and `require`, each for itself and together: counters that are off cannot agree. */
gpuchar_status gc_check_demands(uint32_t counters, uint32_t require);
/* A list of `count` numbers 1..32 in an array of 32; with a count of 0 the array is all zeros. `unit`: "a warp splits into 1 to 32 paths". */
gpuchar_status gc_check_list(const char *name, const uint32_t list[32], uint32_t count, const char *unit);

#endif
