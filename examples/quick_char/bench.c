/* What the run itself cost. */
#include "quick_char.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static FILE *output; /* NULL: not asked for */
static uint64_t start_ns;

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bench_begin(FILE *to) {
    output = to;
    start_ns = now_ns();
}

double bench_seconds(void) {
    return (double)(now_ns() - start_ns) * 1e-9;
}

void bench_step(const char *name, uint64_t begin_ns) {
    if (!output) return;
    uint64_t now = now_ns();
    fprintf(output, "%s.wall_ns: %" PRIu64 "\n", name, now - begin_ns);
    fprintf(output, "%s.done_at_ns: %" PRIu64 "\n", name, now - start_ns);
}

bool field_value(const char *struct_name, const void *object, const char *name, uint64_t *value) {
    const gpuchar_schema *schema = gpuchar_schema_get(struct_name);
    for (uint32_t i = 0; schema && i < schema->field_count; ++i) {
        const gpuchar_field *field = &schema->fields[i];
        uint32_t known = 0;
        if (strcmp(field->name, name) != 0 || field->type != GPUCHAR_TYPE_U64 || field->size != sizeof *value) continue;
        if (field->known_offset != UINT32_MAX) {
            memcpy(&known, (const char *)object + field->known_offset, sizeof known);
            if (!(known & field->known_bit)) return false;
        }
        memcpy(value, (const char *)object + field->offset, sizeof *value);
        return true;
    }
    return false;
}

void bench_call(const gpuchar_experiment *experiment, const char *which, const void *result) {
    static const char *const names[] = {"call_ns",     "launches_ns", "compile_ns",
                                        "counters_ns", "prove_ns",    "device_memory_bytes"};
    char key[96];
    uint64_t call = 0, launches = 0;
    if (!output) return;
    snprintf(key, sizeof key, "%s.%s", experiment->name, which);
    fprintf(output, "%s.done_at_ns: %" PRIu64 "\n", key, now_ns() - start_ns);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        uint64_t value = 0;
        if (!field_value(experiment->result_struct, result, names[i], &value)) continue;
        fprintf(output, "%s.%s: %" PRIu64 "\n", key, names[i], value);
        if (i == 0) call = value;
        if (i == 1) launches = value;
    }
    if (call && launches) fprintf(output, "%s.call_over_launches: %.4f\n", key, (double)call / (double)launches);
}

void bench_end(void) {
    struct rusage usage;
    if (!output) return;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(output, "host_peak_bytes: %lld\n", (long long)usage.ru_maxrss * 1024);
    fprintf(output, "total_ns: %" PRIu64 "\n", now_ns() - start_ns);
}
