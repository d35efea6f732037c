/* Samples of the divergence sweep that follow a law one chooses, and a check that no number of a result is NaN or infinite. */
#ifndef GPUCHAR_TESTS_DIVERGENCE_PLANTED_H
#define GPUCHAR_TESTS_DIVERGENCE_PLANTED_H

#include <core/util.h>
#include <experiments/divergence_reduce.h>
#include <gpuchar/schema.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHES 201
#define PATH_CYCLES 32768.0

#define assert_near(value, expected, within)                                                                           \
    do {                                                                                                               \
        double is_ = (value), should_ = (expected);                                                                    \
        if (!(fabs(is_ - should_) <= (within))) fail_msg("%s is %.17g, not %.17g", #value, is_, should_);              \
    } while (0)

typedef struct planted {
    uint32_t ways[32];
    uint32_t count;
    uint32_t kind;
    double *paths;  /* [32][LAUNCHES] */
    double *points; /* [count][LAUNCHES] */
} planted;

static inline void plan_block(double *block, double cycles) {
    for (uint32_t j = 0; j < LAUNCHES; ++j) block[j] = cycles;
}
static inline void plan_path(planted *plan, uint32_t path, double cycles) {
    plan_block(plan->paths + (size_t)path * LAUNCHES, cycles);
}
static inline void plan_point(planted *plan, uint32_t point, double cycles) {
    plan_block(plan->points + (size_t)point * LAUNCHES, cycles);
}

/* T(k) = k PATH_CYCLES exactly: 1, 2, 4, ... up to six points, else 1, 2, 3, ... */
static inline planted plant_law(uint32_t count, uint32_t kind) {
    planted plan = {.count = count, .kind = kind ? kind : GPUCHAR_PATH_FP32};
    plan.paths = calloc((size_t)32 * LAUNCHES, sizeof(double));
    plan.points = calloc((size_t)count * LAUNCHES, sizeof(double));
    assert_non_null(plan.paths);
    assert_non_null(plan.points);
    for (uint32_t i = 0; i < 32; ++i) plan_path(&plan, i, PATH_CYCLES);
    for (uint32_t i = 0; i < count; ++i) {
        plan.ways[i] = count <= 6 ? 1u << i : i + 1;
        plan_point(&plan, i, PATH_CYCLES * plan.ways[i]);
    }
    return plan;
}

/* Factors 1 - relative .. 1 + relative. */
static inline void plan_noise(planted *plan, double relative, uint64_t seed) {
    gc_random random = gc_random_seed(seed);
    for (size_t i = 0; i < (size_t)32 * LAUNCHES; ++i) {
        plan->paths[i] *= 1 + relative * (2 * gc_random_unit(&random) - 1);
    }
    for (size_t i = 0; i < (size_t)plan->count * LAUNCHES; ++i) {
        plan->points[i] *= 1 + relative * (2 * gc_random_unit(&random) - 1);
    }
}

/* One block with a median deviation of exactly `relative` around the old median: thirds below, at and above by twice that. */
static inline void plan_spread(double *block, double relative) {
    for (uint32_t j = 0; j < LAUNCHES; ++j) {
        block[j] *= 1 + relative * 2 * ((double)j - LAUNCHES / 2) / (LAUNCHES / 2);
    }
}

/* ---- no NaN, no infinity ---- */

static inline void assert_all_finite(const gpuchar_schema *schema, const void *object) {
    for (uint32_t i = 0; i < schema->field_count; ++i) {
        const gpuchar_field *field = &schema->fields[i];
        const char *first = (const char *)object + field->offset;
        size_t count = field->flags & GPUCHAR_FIELD_ARRAY ? field->count : 1;
        if (field->flags & GPUCHAR_FIELD_POINTED) {
            memcpy(&count, (const char *)object + field->count_offset, sizeof count);
            memcpy(&first, (const void *)first, sizeof first);
        }
        for (size_t j = 0; j < count; ++j) {
            double value = 0;
            if (field->type == GPUCHAR_TYPE_F64) memcpy(&value, first + j * field->size, sizeof value);
            if (!isfinite(value)) fail_msg("%s.%s is not finite", schema->name, field->name);
            if (field->type == GPUCHAR_TYPE_STRUCT) assert_all_finite(field->element, first + j * field->size);
        }
    }
}

/* As the sweep does it. The result owns its points. */
static inline gpuchar_divergence_sweep_result reduce_planted(const planted *plan) {
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    double scratch[2 * LAUNCHES];
    result.point_count = plan->count;
    result.points = calloc(plan->count, sizeof *result.points);
    assert_non_null(result.points);
    for (uint32_t i = 0; i < plan->count; ++i) result.points[i].ways = plan->ways[i];
    gc_divergence_summarize(plan->paths, plan->points, LAUNCHES, plan->kind, scratch, &result);
    gc_divergence_derive(&result);
    assert_all_finite(gpuchar_schema_get("gpuchar_divergence_sweep_result"), &result);
    return result;
}

static inline void planted_free(planted *plan, gpuchar_divergence_sweep_result *result) {
    free(plan->paths);
    free(plan->points);
    gpuchar_divergence_sweep_result_free(result);
}

#endif
