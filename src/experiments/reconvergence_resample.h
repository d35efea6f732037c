/* How sure a rate over kernels is: kernels drawn again, with replacement. */
#ifndef GC_EXPERIMENTS_RECONVERGENCE_RESAMPLE_H
#define GC_EXPERIMENTS_RECONVERGENCE_RESAMPLE_H

#include <gpuchar/reconvergence_study.h>

/*
 * Rates of all rules over these kernels, with the middle 95 % of `rounds` draws (percentiles; draws in which nothing
 * matches are left out). All rules of one draw see the same kernels. Equal seeds give equal intervals. `scratch` has room
 * for `rounds` doubles per rule.
 */
void gc_study_resample(const gpuchar_reconvergence_kernel *kernels, size_t count, uint32_t rounds, uint32_t seed,
                       double *scratch, gpuchar_reconvergence_rate rates[5]);

#endif
