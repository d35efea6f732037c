/* Recorded sweeps for tests: a result as measured on a GPU, saved as a profile, opened as a session. */
#ifndef TEST_RECORDED_SWEEP_H
#define TEST_RECORDED_SWEEP_H

#include "unit/document.h"
#include "unit/sweep_helper.h"
#include "unit/temp_folder.h"

#include <core/util.h>
#include <experiments/divergence_reduce.h>
#include <session/session_internal.h>

#define NAME "divergence_sweep"
#define LAUNCHES 9
#define POINTS 6

typedef gpuchar_divergence_sweep_options sweep_options;
typedef gpuchar_divergence_sweep_result sweep_result;

static const uint32_t WAYS[POINTS] = {1, 2, 4, 8, 16, 32};

/* A summary of equal samples. */
static inline gpuchar_stat flat(double value, uint64_t samples) {
    return (gpuchar_stat){.median = value,
                          .mean = value,
                          .min = value,
                          .max = value,
                          .ci95_low = value,
                          .ci95_high = value,
                          .samples = samples};
}

/* The same samples, each longer. */
static inline void stretch(gpuchar_stat *stat, double factor) {
    double *const values[] = {&stat->median, &stat->mean,     &stat->min,      &stat->max,
                              &stat->mad,    &stat->ci95_low, &stat->ci95_high};
    for (size_t i = 0; i < GC_COUNT(values); ++i) *values[i] *= factor;
}

/* Not quite a line: a fit through a part of it differs from the fit through all. */
static inline double law(uint32_t ways) {
    return 32768.0 * ways + 40 + (ways > 8 ? 16.0 * ways : 0);
}

/* As measured on a GPU, with every launch kept. */
static inline sweep_result new_result(void) {
    sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    double paths[32 * LAUNCHES], scratch[2 * LAUNCHES];
    result.kind = GPUCHAR_PATH_FP32;
    result.lane_map = GPUCHAR_LANES_STRIDED;
    result.body = 128;
    result.iterations = 64;
    result.launches = LAUNCHES;
    result.seed = 1;
    result.points = calloc(POINTS, sizeof result.points[0]);
    result.samples = calloc(POINTS * LAUNCHES, sizeof result.samples[0]);
    assert_true(result.points && result.samples);
    result.point_count = POINTS;
    result.sample_count = POINTS * LAUNCHES;
    for (size_t i = 0; i < 32 * LAUNCHES; ++i) paths[i] = law(1) + (double)(i % 3);
    for (size_t i = 0; i < POINTS * LAUNCHES; ++i) result.samples[i] = law(WAYS[i / LAUNCHES]) + (double)(i % 5);
    for (size_t i = 0; i < POINTS; ++i) {
        result.points[i].ways = WAYS[i];
        result.points[i].sample_offset = i * LAUNCHES;
    }
    gc_divergence_summarize(paths, result.samples, LAUNCHES, result.kind, scratch, &result);
    gc_divergence_derive(&result);
    assert_int_equal(result.evidence.flags, 0);
    result.evidence.flags = GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED;
    result.evidence.arch = 90;
    return result;
}

/* As new_result, with the counts of machine code and counters, and with what the whole call was. */
static inline sweep_result new_counted(void) {
    sweep_result result = new_result();
    gpuchar_evidence *evidence = &result.evidence;
    for (size_t i = 0; i < POINTS; ++i) {
        result.points[i].executed_count = result.points[i].expected_count = (uint64_t)WAYS[i] * 64 * 131;
        result.points[i].known |= GPUCHAR_DIVERGENCE_POINT_COUNTERS | GPUCHAR_DIVERGENCE_POINT_EXPECTED;
        result.points[i].efficiency = 32.0 / WAYS[i];
    }
    result.validation_convergent = 32;
    result.validation_two_way = 16;
    result.validation_full = 1;
    result.loop_instructions = 131;
    result.known |= GPUCHAR_DIVERGENCE_VALIDATED | GPUCHAR_DIVERGENCE_DECODED;
    evidence->intended_count = evidence->decoded_count = evidence->executed_count = 32 * 64 * 128;
    evidence->scaffold_count = 32 * 64 * 3;
    strcpy(evidence->mnemonic, "FFMA");
    evidence->sm_clock_hz = 1.98e9;
    evidence->known = GPUCHAR_EVIDENCE_DECODED | GPUCHAR_EVIDENCE_EXECUTED | GPUCHAR_EVIDENCE_CLOCK;
    result.sm_clock_hz = flat(1.98e9, 9);
    result.launches_ns = result.counters_ns = result.call_ns = result.device_memory_bytes = 1000;
    return result;
}

static char path[128];

/* Saves the result as a profile's only one and frees it. */
static inline void save(sweep_result *result) {
    snprintf(path, sizeof path, "%s/profile.json", folder);
    write_document(path, NAME, result);
    gpuchar_divergence_sweep_result_free(result);
}

/* The same, and opens the profile. */
static inline gpuchar_session *record(sweep_result *result) {
    gpuchar_session *session = NULL;
    save(result);
    assert_int_equal(gpuchar_session_open_recorded(NULL, path, &session), GPUCHAR_OK);
    return session;
}

static inline gpuchar_session *record_new(void) {
    sweep_result result = new_counted();
    return record(&result);
}

#endif
