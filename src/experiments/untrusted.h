/* Whether numbers of a recording can be true: a file may say anything. */
#ifndef GC_EXPERIMENTS_UNTRUSTED_H
#define GC_EXPERIMENTS_UNTRUSTED_H

#include <gpuchar/stat.h>
#include <stdbool.h>

bool gc_is_amount(double value);
bool gc_are_cycles(double value);
bool gc_is_summary(const gpuchar_stat *stat);
/* Whether an option asks for something else than what was recorded; 0 asks for nothing. */
bool gc_differs(uint32_t asked, uint32_t recorded);

#endif
