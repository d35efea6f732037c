/* What all recorded answers check: a file may say anything, and a caller may demand more than it holds. */
#ifndef GC_EXPERIMENTS_RECORDED_CHECKS_H
#define GC_EXPERIMENTS_RECORDED_CHECKS_H

#include <gpuchar/stat.h>
#include <stdbool.h>

/* Finite, not negative, and no more than a 64-bit count. */
bool gc_is_amount(double value);
/* Cycles that a 64-bit clock counted: medians of whole numbers have halves, what lies below would only make ratios overflow. */
bool gc_are_cycles(double value);
/* A summary that some samples can have. */
bool gc_is_summary(const gpuchar_stat *stat);
/* Whether an option asks for something else than what was recorded; 0 asks for nothing. */
bool gc_differs(uint32_t asked, uint32_t recorded);
/* The option whose demand this evidence does not meet; NULL when it meets all. */
const char *gc_find_demand(uint32_t counters, uint32_t require, const gpuchar_evidence *evidence);

#endif
