/* Whether numbers of a recording can be true: a file may say anything. */
#ifndef GC_EXPERIMENTS_UNTRUSTED_H
#define GC_EXPERIMENTS_UNTRUSTED_H

#include <gpuchar/stat.h>
#include <stdbool.h>

bool gc_is_amount(double value);
bool gc_are_cycles(double value);
bool gc_are_threads(double value); /* active ones of an instruction */
bool gc_is_of_line(double value);  /* slope, intercept or a value between: may be negative */
/* Whether a recorded number is what was worked out again: files round, and compilers contract sums of products. */
bool gc_is_same(double recorded, double derived);
bool gc_is_fit(const gpuchar_fit *fit);
bool gc_is_summary(const gpuchar_stat *stat);
/* Whether an option asks for something else than what was recorded; 0 asks for nothing. */
bool gc_differs(uint32_t asked, uint32_t recorded);
/* The field that contradicts the others, NULL: none. */
const char *gc_find_wrong_evidence(const gpuchar_evidence *evidence);

#endif
