/*
 * What it costs to read machine code, from bytes to where the threads of each branch meet again: on one core, for made code of
 * growing size and for files that are given. docs/sass.md shows its numbers.
 */
#include <fcntl.h>
#include <gpuchar/sass.h>
#include <inttypes.h>
#include <math.h>
#include <sass_shapes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What --check holds: far from what is reached, so that only a change of the law fails, not a slow machine. */
#define CHECK_SECONDS_PER_INSTRUCTION 20e-6
#define CHECK_GROWTH 6.0
#define CHECK_BYTES_PER_INSTRUCTION 600.0

typedef struct cost {
    double cpu_s, wall_s;
    double peak_bytes; /* above what was held before; NAN: the system does not tell */
    uint64_t instructions, branches;
} cost;

typedef struct options {
    const char *nvdisasm;
    uint64_t largest;
    bool check;
} options;

static void die(const char *what) {
    fprintf(stderr, "bench_sass: %s\n", what);
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A line of /proc/self/status, in bytes; NAN: there is none. */
static double memory(const char *key) {
    char line[256];
    double found = NAN;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, key, strlen(key)) == 0) found = strtod(line + strlen(key), NULL) * 1024;
    if (status) fclose(status);
    return found;
}

static bool forget_peak(void) {
    FILE *clear = fopen("/proc/self/clear_refs", "w");
    if (!clear) return false;
    const bool written = fputs("5", clear) >= 0;
    return fclose(clear) == 0 && written;
}

/* ---- one run ---- */

static void fail(const char *what) {
    fprintf(stderr, "bench_sass: %s: %s\n", what, gpuchar_last_error()->message);
    exit(1);
}

static void analyze(const uint8_t *bytes, size_t size, cost *c) {
    gpuchar_sass *sass = NULL;
    gpuchar_sass_info info = GPUCHAR_SASS_INFO_INIT;
    if (gpuchar_sass_open(bytes, size, &sass) < 0 || gpuchar_sass_info_get(sass, &info) < 0) fail("open");
    c->instructions = info.instructions;
    c->branches = 0;
    for (size_t i = 0; i < info.functions; i++) {
        gpuchar_sass_reconvergence found = GPUCHAR_SASS_RECONVERGENCE_INIT;
        if (gpuchar_sass_reconvergence_get(sass, i, &found) < 0) fail("reconvergence");
        c->branches += found.branch_count;
        gpuchar_sass_reconvergence_free(&found);
    }
    gpuchar_sass_close(sass);
}

/* The fastest of several runs: what disturbs a run only makes it longer. */
static cost measure(const uint8_t *bytes, size_t size) {
    cost best = {.cpu_s = INFINITY, .wall_s = INFINITY, .peak_bytes = NAN};
    const double begin = seconds(CLOCK_MONOTONIC);
    const bool told = forget_peak();
    const double before = memory("VmRSS:");
    for (int run = 0; run < 200 && (run < 3 || seconds(CLOCK_MONOTONIC) - begin < 0.3); run++) {
        const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
        analyze(bytes, size, &best);
        best.cpu_s = fmin(best.cpu_s, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        best.wall_s = fmin(best.wall_s, seconds(CLOCK_MONOTONIC) - wall);
        if (seconds(CLOCK_MONOTONIC) - begin > 20) break;
    }
    if (told) best.peak_bytes = memory("VmHWM:") - before;
    return best;
}

static void print_cost(const char *name, const cost *c) {
    const double n = (double)c->instructions;
    printf("%-14s %9" PRIu64 " %8" PRIu64 " %9.2f %9.2f %8.1f %8.1f %7.1f\n", name, c->instructions, c->branches,
           c->cpu_s * 1e3, c->wall_s * 1e3, c->cpu_s / n * 1e9, n / c->cpu_s * 1e-6, c->peak_bytes / n);
    fflush(stdout);
}

/* ---- made code ---- */

/* In a process of its own: memory that one run leaves behind is not what the next one needs. */
static bool measure_made(size_t index, uint64_t instructions, cost *c) {
    int ends[2], status = 0;
    fflush(stdout);
    if (pipe(ends) != 0) die("no pipe");
    const pid_t child = fork();
    if (child < 0) die("no process");
    if (child == 0) {
        size_t size = 0;
        uint8_t *bytes = shape_make(index, instructions, &size);
        if (!bytes) die("out of memory");
        cost own = measure(bytes, size);
        free(bytes);
        _exit(write(ends[1], &own, sizeof own) == (ssize_t)sizeof own ? 0 : 1);
    }
    close(ends[1]);
    const bool got = read(ends[0], c, sizeof *c) == (ssize_t)sizeof *c;
    close(ends[0]);
    return waitpid(child, &status, 0) == child && got && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The exponent of time over instructions, by least squares of the logarithms. */
static double exponent(const cost *costs, size_t count) {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        const double a = log((double)costs[i].instructions), b = log(costs[i].cpu_s);
        x += a;
        y += b;
        xx += a * a;
        xy += a * b;
    }
    const double n = (double)count;
    return (n * xy - x * y) / (n * xx - x * x);
}

static bool within(const options *o, const cost *costs, size_t count) {
    const cost *small = &costs[0], *large = &costs[count - 1];
    const double n = (double)large->instructions, per = large->cpu_s / n;
    const bool grows = per / (small->cpu_s / (double)small->instructions) > CHECK_GROWTH;
    const bool slow = per > CHECK_SECONDS_PER_INSTRUCTION, fat = large->peak_bytes / n > CHECK_BYTES_PER_INSTRUCTION;
    if (!o->check) return true;
    if (grows || slow || fat)
        printf("FAILED:%s%s%s\n", grows ? " time grows faster than the code" : "", slow ? " slow" : "",
               fat ? " much memory" : "");
    return !grows && !slow && !fat;
}

static bool bench_shape(const options *o, size_t index) {
    cost costs[8] = {{0}};
    size_t count = 0;
    const shape *s = shape_at(index);
    const uint64_t largest = index <= SHAPE_HUGE || o->largest < 1000000 ? o->largest : 1000000;
    printf("\n%s: %s\n", s->name, s->what);
    for (uint64_t n = 10000; n <= largest && count < 8; n *= 10) {
        if (!measure_made(index, n, &costs[count])) {
            printf("FAILED: %s with %" PRIu64 " instructions\n", s->name, n);
            return false;
        }
        print_cost(s->name, &costs[count++]);
    }
    if (count < 2) return true;
    const cost *small = &costs[0], *large = &costs[count - 1];
    printf("largest to smallest, per instruction: %.2f; time grows as instructions^%.3f\n",
           large->cpu_s / (double)large->instructions * (double)small->instructions / small->cpu_s,
           exponent(costs, count));
    return within(o, costs, count);
}

/* ---- files ---- */

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) die(path);
    const long length = ftell(file);
    uint8_t *bytes = length > 0 ? malloc((size_t)length) : NULL;
    rewind(file);
    if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length) die(path);
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

/* CPU time of `nvdisasm -cfg`, its output thrown away. */
static bool run_nvdisasm(const char *program, const char *path, double *cpu_s, double *wall_s) {
    struct rusage usage;
    int status = 0;
    const double begin = seconds(CLOCK_MONOTONIC);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, 1);
        execl(program, program, "-cfg", path, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child) return false;
    *wall_s = seconds(CLOCK_MONOTONIC) - begin;
    *cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void bench_file(const options *o, const char *path) {
    size_t size = 0;
    uint8_t *bytes = read_file(path, &size);
    const cost own = measure(bytes, size);
    double cpu = 0, wall = 0;
    printf("\n%s\n", path);
    print_cost("", &own);
    free(bytes);
    if (!o->nvdisasm) return;
    if (run_nvdisasm(o->nvdisasm, path, &cpu, &wall))
        printf("nvdisasm -cfg: %.0f ms CPU, %.0f ms wall: %.0f times the CPU time, %.0f times the wall time\n",
               cpu * 1e3, wall * 1e3, cpu / own.cpu_s, wall / own.wall_s);
    else
        printf("nvdisasm -cfg does not read it\n");
}

static int write_shape(const char *name, const char *instructions, const char *path) {
    size_t index = 0, size = 0;
    while (shape_at(index) && strcmp(shape_at(index)->name, name) != 0) index++;
    uint8_t *bytes = shape_at(index) ? shape_make(index, strtoull(instructions, NULL, 10), &size) : NULL;
    FILE *file = bytes ? fopen(path, "wb") : NULL;
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) die(path);
    free(bytes);
    return 0;
}

static void end_with_usage(void) {
    fputs("usage: bench_sass [--largest N] [--check] [--nvdisasm PROGRAM] [CUBIN...]\n"
          "       bench_sass --write SHAPE N FILE\n"
          "  --largest N  made code of 10000 instructions, ten times as many and so on, up to N (10000000; 0: none)\n"
          "  --check      exit with 1 when time or memory grow as they must not\n",
          stderr);
    exit(2);
}

int main(int count, char **words) {
    options o = {.largest = 10000000};
    bool good = true;
    int at = 1;
    if (count == 5 && strcmp(words[1], "--write") == 0) return write_shape(words[2], words[3], words[4]);
    for (; at < count && strncmp(words[at], "--", 2) == 0; at++) {
        if (strcmp(words[at], "--check") == 0)
            o.check = true;
        else if (strcmp(words[at], "--largest") == 0 && at + 1 < count)
            o.largest = strtoull(words[++at], NULL, 10);
        else if (strcmp(words[at], "--nvdisasm") == 0 && at + 1 < count)
            o.nvdisasm = words[++at];
        else
            end_with_usage();
    }
    printf("%-14s %9s %8s %9s %9s %8s %8s %7s\n", "", "instr.", "branches", "CPU ms", "wall ms", "ns/ins.", "M ins./s",
           "B/ins.");
    for (size_t i = 0; o.largest && shape_at(i); i++) good = bench_shape(&o, i) && good;
    for (; at < count; at++) bench_file(&o, words[at]);
    return good ? 0 : 1;
}
