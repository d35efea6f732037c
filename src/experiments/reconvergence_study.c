/*
 * Where compilers let divergent threads meet again. Options, libraries and texts (plan), machine code of each cell (make,
 * run), its reading and its counts (read, count), and here rows, rates and pairs.
 */
#include <experiments/reconvergence_options.h>
#include <experiments/reconvergence_resample.h>
#include <experiments/reconvergence_work.h>

#include <core/structs.h>
#include <core/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows */

typedef struct span {
    size_t first, end; /* cells of one row */
} span;

static span cells_of(const gc_study *study, size_t row, size_t from) {
    span found = {from, from};
    while (found.end < study->cell_count && study->cells[found.end].row == row) found.end++;
    return found;
}

static void add_cell(const gc_study_cell *cell, gpuchar_reconvergence_row *row) {
    row->compile_ns += cell->compile_ns;
    row->analyze_ns += cell->analyze_ns;
    if (cell->status && !row->status) {
        row->status = cell->status;
        memcpy(row->message, cell->message, sizeof row->message);
    }
    if (cell->reading.assembler[0]) {
        memcpy(row->assembler, cell->reading.assembler, sizeof row->assembler);
        gc_text_clean(row->assembler);
        const uint32_t version = gc_study_release(row->assembler);
        if (version) row->assembler_version = version;
    }
    if (cell->reading.architecture) row->architecture = cell->reading.architecture;
}

/* A row is whole or empty: what is left of one with a failure would not be what its counts say. */
static void sum_cells(const gc_study *study, span cells, gpuchar_reconvergence_row *row) {
    for (size_t i = cells.first; i < cells.end; i++) add_cell(&study->cells[i], row);
    for (size_t i = cells.first; i < cells.end && !row->status; i++) {
        const gc_study_cell *cell = &study->cells[i];
        const bool deep = cell->input && cell->input->text.deep;
        const gc_study_reading *reading = &cell->reading;
        for (size_t j = 0; j < reading->kernel_count; j++)
            gc_study_add(deep ? &row->nests : &row->counts, &reading->kernels[j].counts);
        if (deep) row->deep = gc_study_deep(reading->kernels, reading->kernel_count);
    }
}

/* ---- rates */

typedef struct kernels {
    gpuchar_reconvergence_kernel *list;
    size_t count, capacity;
} kernels;

static gpuchar_status add_kernels(const gc_study_reading *reading, size_t row, kernels *into) {
    if (into->capacity - into->count < reading->kernel_count) {
        const size_t more = 2 * into->capacity + reading->kernel_count;
        gpuchar_reconvergence_kernel *longer = realloc(into->list, more * sizeof *longer);
        if (!longer) return gc_fail_memory(more * sizeof *longer);
        into->list = longer;
        into->capacity = more;
    }
    for (size_t i = 0; i < reading->kernel_count; i++) {
        into->list[into->count] = reading->kernels[i];
        into->list[into->count++].row = (uint32_t)row;
    }
    return GPUCHAR_OK;
}

/* The kernels of a row behind its counts, and rates over them; then those of its deep nests. */
static gpuchar_status rate_row(const gc_study *study, size_t row, span cells, double *scratch, kernels *kept) {
    const gpuchar_reconvergence_study_options *options = study->options;
    const size_t first = kept->count;
    gpuchar_status status = GPUCHAR_OK;
    if (study->rows[row].status) return GPUCHAR_OK;
    for (size_t i = cells.first; i < cells.end && !status; i++) {
        const gc_study_cell *cell = &study->cells[i];
        if (!cell->input || !cell->input->text.deep) status = add_kernels(&cell->reading, row, kept);
    }
    if (status) return status;
    if (kept->count > first) {
        gc_study_resample(kept->list + first, kept->count - first, options->rounds, options->seed, scratch,
                          study->rows[row].rates);
    }
    if (!options->keep_kernels) kept->count = first;
    for (size_t i = cells.first; i < cells.end && !status; i++) {
        const gc_study_cell *cell = &study->cells[i];
        if (cell->input && cell->input->text.deep) status = add_kernels(&cell->reading, row, kept);
    }
    return status;
}

static gpuchar_status reduce_rows(gc_study *study, gpuchar_reconvergence_study_result *result) {
    const size_t rounds = study->options->rounds;
    double *scratch = calloc(rounds * GPUCHAR_SASS_RULES, sizeof *scratch);
    if (!scratch) return gc_fail_memory(rounds * GPUCHAR_SASS_RULES * sizeof *scratch);
    kernels kept = {0};
    span cells = {0, 0};
    gpuchar_status status = GPUCHAR_OK;
    for (size_t row = 0; row < study->row_count && !status; row++) {
        cells = cells_of(study, row, cells.end);
        sum_cells(study, cells, &study->rows[row]);
        status = rate_row(study, row, cells, scratch, &kept);
        result->compile_ns += study->rows[row].compile_ns;
        result->analyze_ns += study->rows[row].analyze_ns;
    }
    free(scratch);
    result->kernels = kept.list;
    result->kernel_count = kept.count;
    return status;
}

/* ---- pairs */

static bool are_pair(const gpuchar_reconvergence_row *a, const gpuchar_reconvergence_row *b) {
    if (a->status || b->status || a->made == GPUCHAR_RECONVERGENCE_READY || b->made == GPUCHAR_RECONVERGENCE_READY)
        return false;
    return a->architecture == b->architecture ||
           (a->made == b->made && a->compiler_index == b->compiler_index && a->assembler_index == b->assembler_index);
}

/* Cells of one text stand at one place in both rows. */
static void match_rows(const gc_study *study, size_t a, size_t b, gpuchar_reconvergence_pair *pair) {
    for (size_t i = 0; i < study->input_count; i++) {
        if (study->inputs[i].text.deep) continue;
        const gc_study_reading *x = &study->cells[a * study->input_count + i].reading;
        const gc_study_reading *y = &study->cells[b * study->input_count + i].reading;
        gc_study_match(x->sites, x->site_count, y->sites, y->site_count, pair);
    }
}

static gpuchar_status match_all(const gc_study *study, gpuchar_reconvergence_study_result *result) {
    size_t count = 0;
    if (study->options->flags & GPUCHAR_RECONVERGENCE_NO_LINES) return GPUCHAR_OK;
    for (size_t a = 0; a < study->row_count; a++)
        for (size_t b = a + 1; b < study->row_count; b++) count += are_pair(&study->rows[a], &study->rows[b]);
    if (count == 0) return GPUCHAR_OK;
    result->pairs = calloc(count, sizeof *result->pairs);
    if (!result->pairs) return gc_fail_memory(count * sizeof *result->pairs);
    for (size_t a = 0; a < study->row_count; a++) {
        for (size_t b = a + 1; b < study->row_count; b++) {
            if (!are_pair(&study->rows[a], &study->rows[b])) continue;
            gpuchar_reconvergence_pair *pair = &result->pairs[result->pair_count++];
            *pair = (gpuchar_reconvergence_pair){.row_a = (uint32_t)a, .row_b = (uint32_t)b};
            match_rows(study, a, b, pair);
        }
    }
    return GPUCHAR_OK;
}

/* ---- the call */

static gpuchar_status fill(gc_study *study, gpuchar_reconvergence_study_result *result) {
    const uint64_t begin = gc_now_ns();
    gpuchar_status status = reduce_rows(study, result);
    if (!status) status = match_all(study, result);
    if (status) return status;
    result->rows = study->rows;
    result->row_count = study->row_count;
    study->rows = NULL;
    study->row_count = 0;
    result->threads = study->threads;
    result->rounds = study->options->rounds;
    result->seed = study->options->seed;
    result->work = study->options->work;
    result->resample_ns = gc_now_ns() - begin;
    for (size_t i = 0; i < result->row_count; i++) {
        if (result->rows[i].status || result->rows[i].counts.unread || result->rows[i].nests.unread)
            status = GPUCHAR_CAVEAT;
    }
    return status;
}

static gpuchar_status run(gpuchar_runtime *runtime, const gpuchar_reconvergence_study_options *options,
                          gpuchar_reconvergence_study_result *result) {
    const uint64_t begin = gc_now_ns();
    gc_study study = {.options = options};
    gpuchar_status status = gc_runtime_resolve(runtime, &study.runtime);
    if (!status) status = gc_study_open(&study);
    result->load_ns = gc_now_ns() - begin;
    if (!status) status = gc_study_run(&study);
    if (!status) status = fill(&study, result);
    gc_study_close(&study);
    result->call_ns = gc_now_ns() - begin;
    if (status < 0) gpuchar_reconvergence_study_result_free(result);
    return status;
}

gpuchar_status gpuchar_reconvergence_study(gpuchar_runtime *runtime, const gpuchar_reconvergence_study_options *options,
                                           gpuchar_reconvergence_study_result *result) {
    gpuchar_reconvergence_study_options asked, known;
    gpuchar_reconvergence_study_result filled = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    gpuchar_status status = gc_result_check(result, GC_SIZE_UP_TO(gpuchar_reconvergence_study_result, call_ns),
                                            "gpuchar_reconvergence_study_result");
    if (!status) {
        status =
            gc_options_read(options, &asked, sizeof asked, GC_SIZE_UP_TO(gpuchar_reconvergence_study_options, reserved),
                            "gpuchar_reconvergence_study_options");
    }
    if (!status) status = gc_study_options(&asked, &known);
    if (!status) status = run(runtime, &known, &filled);
    if (status >= 0) gc_result_write(result, &filled, sizeof filled);
    return status;
}

void gpuchar_reconvergence_study_result_free(gpuchar_reconvergence_study_result *result) {
    if (!result) return;
    free(result->rows);
    free(result->kernels);
    free(result->pairs);
    result->rows = NULL;
    result->kernels = NULL;
    result->pairs = NULL;
    result->row_count = result->kernel_count = result->pair_count = 0;
}

GC_DEFINE_INIT(gpuchar_reconvergence_study_options)
GC_DEFINE_INIT(gpuchar_reconvergence_study_result)
