/* Libraries, texts, rows and cells of a study. */
#include <experiments/reconvergence_work.h>

#include <codegen/embedded.h>
#include <core/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts */

static gpuchar_status join(const char *const *names, size_t count, char **text) {
    gc_text joined = {0};
    for (size_t i = 0; i < count; i++) {
        const gc_kernel_source *part = gc_kernel_source_find(names[i]);
        if (part) gc_text_append(&joined, part->text, part->length);
    }
    *text = joined.data;
    return joined.failed || !joined.data ? gc_fail_memory(joined.length) : GPUCHAR_OK;
}

/* The caller's flags, and the one that keeps the lines. */
static gpuchar_status set_flags(gc_study_input *input, const char *const *flags, size_t count) {
    input->flags = calloc(count + 1, sizeof *input->flags);
    if (!input->flags) return gc_fail_memory((count + 1) * sizeof *input->flags);
    for (size_t i = 0; i < count; i++) input->flags[i] = flags[i];
    input->flag_count = count;
    if (input->text.lines) input->flags[input->flag_count++] = "-lineinfo";
    return GPUCHAR_OK;
}

static gc_study_input *new_input(gc_study *study, const char *name, const char *source) {
    gc_study_input *input = &study->inputs[study->input_count];
    input->name = name;
    input->source = source;
    input->text.index = (uint32_t)study->input_count++;
    pthread_mutex_init(&input->lock, NULL);
    return input;
}

static gpuchar_status add_built_in(gc_study *study, const char *name, const char *source, bool deep) {
    const gpuchar_reconvergence_study_options *options = study->options;
    gc_study_input *input = new_input(study, name, source);
    input->work = (gc_define){"WORK_STEPS", options->work};
    input->text.deep = deep;
    input->text.lines = !(options->flags & GPUCHAR_RECONVERGENCE_NO_LINES);
    return set_flags(input, NULL, 0);
}

static gpuchar_status write_texts(gc_study *study) {
    static const char *const corpus[] = {"corpus_prelude", "corpus_branches", "corpus_loops", "corpus_warps"};
    static const char *const nests[] = {"corpus_prelude", "corpus_deep"};
    const gpuchar_reconvergence_study_options *options = study->options;
    study->inputs = calloc(options->source_count + 2, sizeof *study->inputs);
    if (!study->inputs) return gc_fail_memory((options->source_count + 2) * sizeof *study->inputs);
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < options->source_count && !status; i++) {
        const gpuchar_reconvergence_source *source = &options->sources[i];
        gc_study_input *input = new_input(study, source->name ? source->name : "kernel.cu", source->text);
        input->text.lines = !(options->flags & GPUCHAR_RECONVERGENCE_NO_LINES);
        status = set_flags(input, source->flags, source->flag_count);
    }
    if (!status && options->source_count == 0 && options->cubin_count == 0) {
        status = join(corpus, GC_COUNT(corpus), &study->corpus);
        if (!status) status = add_built_in(study, "corpus.cu", study->corpus, false);
    }
    if (!status && options->deep) {
        status = join(nests, GC_COUNT(nests), &study->nests);
        if (!status) status = add_built_in(study, "deep.cu", study->nests, true);
    }
    return status;
}

/* ---- libraries */

static bool compiles(const gc_study *study) {
    const bool alone = !(study->options->flags & GPUCHAR_RECONVERGENCE_NO_COMPILERS);
    return study->input_count > 0 && (alone || study->options->assembler_count > 0);
}

static gpuchar_status load_compilers(gc_study *study) {
    const gpuchar_reconvergence_study_options *options = study->options;
    const size_t count = options->compiler_count ? options->compiler_count : 1;
    if (!compiles(study)) return GPUCHAR_OK;
    study->compilers = calloc(count, sizeof *study->compilers);
    study->loaded = calloc(count, sizeof *study->loaded);
    if (!study->compilers || !study->loaded) return gc_fail_memory(count * sizeof *study->loaded);
    study->compiler_count = count;
    if (options->compiler_count == 0) return gc_runtime_nvrtc(study->runtime, &study->compilers[0]);
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < count && !status; i++) {
        /* Nothing is run: a driver that would not accept the code does not matter. */
        status = gc_nvrtc_load(options->compilers[i], 0, &study->loaded[i]);
        study->compilers[i] = &study->loaded[i];
    }
    return status;
}

static gpuchar_status open_assemblers(gc_study *study) {
    const gpuchar_reconvergence_study_options *options = study->options;
    if (options->assembler_count == 0 || study->input_count == 0) return GPUCHAR_OK;
    study->assemblers = calloc(options->assembler_count, sizeof *study->assemblers);
    if (!study->assemblers) return gc_fail_memory(options->assembler_count * sizeof *study->assemblers);
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < options->assembler_count && !status; i++) {
        status = gc_study_assembler_open(options->assemblers[i], &study->assemblers[i]);
        study->assembler_count += !status;
    }
    return status;
}

/* ---- architectures */

typedef struct targets {
    uint32_t *list;
    size_t count;
} targets;

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Adds those of one compiler that are not there yet. */
static gpuchar_status add_known(const gc_nvrtc *nvrtc, targets *into) {
    int count = 0;
    nvrtcResult result = nvrtc->GetNumSupportedArchs(&count);
    if (result != NVRTC_SUCCESS || count <= 0 || count > 4096)
        return gc_nvrtc_fail(nvrtc, result, "nvrtcGetNumSupportedArchs");
    int *known = calloc((size_t)count, sizeof *known);
    uint32_t *longer = realloc(into->list, (into->count + (size_t)count) * sizeof *longer);
    if (longer) into->list = longer;
    if (!known || !longer) {
        free(known);
        return gc_fail_memory((into->count + (size_t)count) * sizeof *longer);
    }
    result = nvrtc->GetSupportedArchs(known);
    for (int i = 0; result == NVRTC_SUCCESS && i < count; i++) {
        bool there = known[i] <= 0;
        for (size_t j = 0; j < into->count && !there; j++) there = into->list[j] == (uint32_t)known[i];
        if (!there) into->list[into->count++] = (uint32_t)known[i];
    }
    free(known);
    if (result != NVRTC_SUCCESS) return gc_nvrtc_fail(nvrtc, result, "nvrtcGetSupportedArchs");
    qsort(into->list, into->count, sizeof *into->list, ascending);
    return GPUCHAR_OK;
}

/* Those asked for; else those that these compilers know. */
static gpuchar_status find_targets(const gc_study *study, size_t first, size_t end, targets *found) {
    const gpuchar_reconvergence_study_options *options = study->options;
    *found = (targets){0};
    gpuchar_status status = GPUCHAR_OK;
    if (options->architecture_count) {
        found->list = calloc(options->architecture_count, sizeof *found->list);
        if (!found->list) return gc_fail_memory(options->architecture_count * sizeof *found->list);
        memcpy(found->list, options->architectures, options->architecture_count * sizeof *found->list);
        found->count = options->architecture_count;
    } else {
        for (size_t i = first; i < end && !status; i++) status = add_known(study->compilers[i], found);
    }
    return status;
}

/* ---- rows and cells */

static gpuchar_status grow_rows(gc_study *study, size_t more) {
    const size_t count = study->row_count + more;
    gpuchar_reconvergence_row *longer = realloc(study->rows, (count ? count : 1) * sizeof *longer);
    if (!longer) return gc_fail_memory(count * sizeof *longer);
    study->rows = longer;
    memset(longer + study->row_count, 0, more * sizeof *longer);
    return GPUCHAR_OK;
}

static void tell_compiler(const gc_study *study, size_t index, gpuchar_reconvergence_row *row) {
    const uint32_t version = study->compilers[index]->version;
    row->compiler_index = (uint32_t)index;
    row->compiler_version = version;
    snprintf(row->compiler, sizeof row->compiler, "NVRTC %u.%u", version / 1000, version % 1000 / 10);
}

static gpuchar_status add_compiler_rows(gc_study *study, size_t index) {
    targets found;
    gpuchar_status status = find_targets(study, index, index + 1, &found);
    if (!status) status = grow_rows(study, found.count);
    for (size_t i = 0; i < found.count && !status; i++) {
        gpuchar_reconvergence_row *row = &study->rows[study->row_count++];
        row->made = GPUCHAR_RECONVERGENCE_BY_COMPILER;
        row->architecture = found.list[i];
        tell_compiler(study, index, row);
        row->assembler_version = row->compiler_version;
        memcpy(row->assembler, row->compiler, sizeof row->compiler);
    }
    free(found.list);
    return status;
}

static gpuchar_status add_assembler_rows(gc_study *study, size_t index) {
    const gpuchar_reconvergence_study_options *options = study->options;
    targets found;
    gpuchar_status status = find_targets(study, 0, study->compiler_count, &found);
    if (!status) status = grow_rows(study, found.count);
    for (size_t i = 0; i < found.count && !status; i++) {
        /* Where the caller did not ask for it, what cannot be is no row. */
        if (!options->architecture_count && found.list[i] < options->ptx_architecture) continue;
        gpuchar_reconvergence_row *row = &study->rows[study->row_count++];
        row->made = GPUCHAR_RECONVERGENCE_BY_ASSEMBLER;
        row->architecture = found.list[i];
        row->ptx_architecture = options->ptx_architecture;
        row->assembler_index = (uint32_t)index;
        row->assembler_version = study->assemblers[index].version;
        memcpy(row->assembler, study->assemblers[index].release, sizeof row->assembler);
        tell_compiler(study, options->ptx_compiler, row);
    }
    free(found.list);
    return status;
}

static gpuchar_status add_cubin_rows(gc_study *study) {
    const gpuchar_reconvergence_study_options *options = study->options;
    const gpuchar_status status = grow_rows(study, options->cubin_count);
    for (size_t i = 0; i < options->cubin_count && !status; i++) {
        gpuchar_reconvergence_row *row = &study->rows[study->row_count++];
        const char *name = options->cubins[i].name;
        row->made = GPUCHAR_RECONVERGENCE_READY;
        row->compiler_index = (uint32_t)i;
        snprintf(row->compiler, sizeof row->compiler, "%s", name ? name : "cubin");
        gc_text_clean(row->compiler);
    }
    return status;
}

static gpuchar_status add_rows(gc_study *study) {
    const bool alone = !(study->options->flags & GPUCHAR_RECONVERGENCE_NO_COMPILERS);
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; alone && i < study->compiler_count && !status; i++) status = add_compiler_rows(study, i);
    for (size_t i = 0; i < study->assembler_count && !status; i++) status = add_assembler_rows(study, i);
    return status ? status : add_cubin_rows(study);
}

/* The longest first, those of newer architectures; and by turns of the compilers, which may take their turns inside. */
static int by_cost(const void *a, const void *b) {
    const gc_study_turn *x = a, *y = b;
    if (x->architecture != y->architecture) return x->architecture > y->architecture ? -1 : 1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

static gpuchar_status add_cells(gc_study *study) {
    size_t count = 0;
    for (size_t i = 0; i < study->row_count; i++)
        count += study->rows[i].made == GPUCHAR_RECONVERGENCE_READY ? 1 : study->input_count;
    study->cells = calloc(count ? count : 1, sizeof *study->cells);
    study->turns = calloc(count ? count : 1, sizeof *study->turns);
    if (!study->cells || !study->turns) return gc_fail_memory(count * sizeof *study->cells);
    for (size_t i = 0; i < study->row_count; i++) {
        const bool ready = study->rows[i].made == GPUCHAR_RECONVERGENCE_READY;
        for (size_t j = 0; j < (ready ? 1 : study->input_count); j++) {
            gc_study_cell *cell = &study->cells[study->cell_count];
            cell->row = i;
            if (ready)
                cell->ready = &study->options->cubins[study->rows[i].compiler_index];
            else
                cell->input = &study->inputs[j];
            study->turns[study->cell_count] = (gc_study_turn){study->cell_count, study->rows[i].architecture};
            study->cell_count++;
        }
    }
    qsort(study->turns, study->cell_count, sizeof *study->turns, by_cost);
    return GPUCHAR_OK;
}

gpuchar_status gc_study_open(gc_study *study) {
    gpuchar_status status = write_texts(study);
    if (!status) status = load_compilers(study);
    if (!status) status = open_assemblers(study);
    if (!status) status = add_rows(study);
    return status ? status : add_cells(study);
}

static void close_input(gc_study_input *input) {
    free(input->flags);
    free(input->ptx);
    gpuchar_error_free(input->ptx_error);
    pthread_mutex_destroy(&input->lock);
}

void gc_study_close(gc_study *study) {
    for (size_t i = 0; i < study->input_count; i++) close_input(&study->inputs[i]);
    for (size_t i = 0; i < study->cell_count; i++) gc_study_reading_free(&study->cells[i].reading);
    free(study->inputs);
    free(study->cells);
    free(study->turns);
    free(study->rows);
    free(study->compilers);
    free(study->loaded);
    free(study->assemblers);
    free(study->corpus);
    free(study->nests);
    *study = (gc_study){0};
}
