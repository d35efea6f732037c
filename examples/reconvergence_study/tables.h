/* The study as text. */
#ifndef RECONVERGENCE_STUDY_TABLES_H
#define RECONVERGENCE_STUDY_TABLES_H

#include <gpuchar/gpuchar.h>

void print_tables(const gpuchar_reconvergence_study_result *result);
void print_pairs(const gpuchar_reconvergence_study_result *result);
void print_times(const gpuchar_reconvergence_study_result *result);

#endif
