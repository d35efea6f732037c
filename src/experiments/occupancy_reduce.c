#include <experiments/occupancy_tables.h>
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

uint32_t gc_occupancy_cycles(const gc_span *spans, uint32_t launches, uint32_t sm_count, uint32_t blocks,
                             double *cycles, double *scratch, uint32_t *uneven) {
    uint32_t measured = 0;
    for (uint32_t launch = 0; launch < launches; ++launch, spans += sm_count) {
        size_t ran = 0;
        for (uint32_t sm = 0; sm < sm_count; ++sm) {
            const uint64_t start = ~spans[sm].start_inverted;
            if (spans[sm].blocks != blocks) {
                ++*uneven;
            } else if (spans[sm].end > start) {
                scratch[ran++] = (double)(spans[sm].end - start);
            }
        }
        if (ran) cycles[measured++] = median(scratch, ran);
    }
    return measured;
}

static void derive_point(const gpuchar_divergence_occupancy_result *result, gpuchar_occupancy_point *point) {
    if (!(point->cycles_one.median > 0) || !(point->cycles_ways.median > 0)) return;
    point->penalty = point->cycles_ways.median / point->cycles_one.median;
    point->known |= GPUCHAR_OCCUPANCY_POINT_TIMED;
    if (!(point->known & GPUCHAR_OCCUPANCY_POINT_EXPECTED)) return;
    const double issued = (double)point->expected_count * point->warps;
    point->issue_rate_ways = issued / point->cycles_ways.median;
    point->issue_rate_one = issued / result->ways / point->cycles_one.median;
}

static void derive_body(const gpuchar_divergence_occupancy_result *result, gpuchar_occupancy_body *body) {
    bool first = true;
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_occupancy_point *point = &result->points[i];
        if (point->body != body->body || !(point->known & GPUCHAR_OCCUPANCY_POINT_TIMED)) continue;
        if (first || point->penalty < body->penalty_min) body->penalty_min = point->penalty;
        if (first || point->penalty > body->penalty_max) body->penalty_max = point->penalty;
        first = false;
    }
    if (first) return;
    body->flatness = body->penalty_max / body->penalty_min - 1;
    body->known |= GPUCHAR_OCCUPANCY_BODY_TIMED;
}

void gc_occupancy_derive(gpuchar_divergence_occupancy_result *result) {
    for (size_t i = 0; i < result->point_count; ++i) {
        gpuchar_occupancy_point *point = &result->points[i];
        derive_point(result, point);
        if ((point->cycles_one.flags | point->cycles_ways.flags) & GPUCHAR_FLAG_UNSTABLE) {
            result->evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
        }
    }
    for (size_t i = 0; i < result->body_count; ++i) derive_body(result, &result->bodies[i]);
}

void gc_occupancy_recount(gpuchar_divergence_occupancy_result *result) {
    const uint32_t both = GPUCHAR_OCCUPANCY_POINT_EXPECTED | GPUCHAR_OCCUPANCY_POINT_COUNTERS;
    const double ideal = 32.0 / result->ways;
    gpuchar_evidence *evidence = &result->evidence;
    bool agree = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0;
    evidence->flags &= ~(uint32_t)GPUCHAR_FLAG_COUNTED;
    evidence->known &= ~(uint32_t)GPUCHAR_EVIDENCE_EXECUTED;
    evidence->executed_count = 0;
    if (evidence->counters_status != GPUCHAR_OK || result->point_count == 0) return;
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_occupancy_point *point = &result->points[i];
        agree = agree && (point->known & both) == both && point->executed_count == point->expected_count &&
                fabs(point->efficiency - ideal) <= GC_OCCUPANCY_EFFICIENCY * ideal;
    }
    if (agree) evidence->flags |= GPUCHAR_FLAG_COUNTED;
    if (!(result->points[0].known & GPUCHAR_OCCUPANCY_POINT_COUNTERS)) return;
    const uint64_t executed = result->points[0].executed_count, scaffold = evidence->scaffold_count;
    evidence->executed_count = executed > scaffold ? executed - scaffold : 0;
    evidence->known |= GPUCHAR_EVIDENCE_EXECUTED;
}
