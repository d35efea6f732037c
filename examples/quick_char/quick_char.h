/* The parts of quick_char. */
#ifndef QUICK_CHAR_H
#define QUICK_CHAR_H

#include <gpuchar/gpuchar.h>

#include <stdbool.h>
#include <stdio.h>

/* Exit codes besides 0; docs/quick_char.md tells them. */
enum { EXIT_EXPERIMENT = 1, EXIT_USAGE = 2, EXIT_NO_GPU = 3, EXIT_OUTPUT = 4 };

typedef struct arguments {
    const char *device;
    const char *only;
    const char *json;
    const char *profile;
    const char *cache;
    bool full;
    bool require_gpu;
    bool list;
    bool version;
    bool quiet;
    bool verbose;
    bool bench;
    bool help;
} arguments;

/* arguments.c. Wrong usage ends the program. */
arguments parse_arguments(int count, char **words);
void print_help(FILE *to);
bool is_selected(const arguments *given, const char *experiment);

/* show.c */
/* The library's last failure, and what it befell. */
void complain(const char *what);
/* The same where the failure is that there is nothing to measure. */
void complain_of_gpu(void);
/* Text from elsewhere, its control characters as '?'. */
void put_text(FILE *to, const char *text);
/* A gpuchar_log_function: lines with the seconds since the start. */
void show_log(void *user, uint32_t level, const char *message);
/* A gpuchar_progress_function: a bar, for terminals. */
void show_progress(void *user, const char *step, double done);
void clear_progress(void);
void print_device(const gpuchar_device_info *info);

/* bench.c: what the run itself cost, as "key: value" lines. */
void bench_begin(FILE *to);
/* How long a step took, and when it ended, counted from bench_begin. */
void bench_step(const char *name, uint64_t begin_ns);
/* What the result of an experiment's call says of the call, and when it was there. */
void bench_call(const gpuchar_experiment *experiment, const char *which, const void *result);
void bench_end(void);
uint64_t now_ns(void);
/* Since bench_begin. */
double bench_seconds(void);
/* A 64-bit field by its name, found through the struct's table; false when there is none or it is unknown. */
bool field_value(const char *struct_name, const void *object, const char *name, uint64_t *value);

/* profiles.c: a recorded profile in GPUCHAR_PROFILES, beside the installed program or in the source tree. */
bool find_recorded_profile(char *path, size_t size);

#endif
