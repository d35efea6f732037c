/* What a study was asked for, checked and with its defaults filled in. */
#ifndef GC_EXPERIMENTS_RECONVERGENCE_OPTIONS_H
#define GC_EXPERIMENTS_RECONVERGENCE_OPTIONS_H

#include <gpuchar/reconvergence_study.h>

/* E_INVALID_ARGUMENT, E_LIMIT. */
gpuchar_status gc_study_options(const gpuchar_reconvergence_study_options *asked,
                                gpuchar_reconvergence_study_options *options);

#endif
