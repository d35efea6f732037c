/* One cubin: its kernels' counts, and the source lines of its branches. */
#include <experiments/reconvergence_reduce.h>

#include <core/error.h>
#include <core/util.h>
#include <sass/lines.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const gpuchar_sass *sass;
    const gc_study_text *text;
    gc_study_reading *into;
    size_t site_capacity;
    gc_cubin cubin;
    gc_lines lines;
    const char *section; /* of the kernel at hand; NULL: none yet */
    uint32_t section_index;
    uint32_t architecture;
} reader;

static uint64_t kernel_hash(const reader *from) {
    const gc_hash hash = gc_hash_add(gc_hash_start(), &from->text->index, sizeof from->text->index);
    return gc_hash_add(hash, from->section, strlen(from->section)).low;
}

/* "deep_if_24" to 24. */
static uint32_t levels_of(const char *name) {
    const size_t length = strlen(name);
    if (strncmp(name, "deep_", 5) != 0 || length < 2) return 0;
    return (uint32_t)strtoul(name + length - 2, NULL, 10);
}

/* Functions come by section: one that begins another section begins another kernel. */
static gpuchar_reconvergence_kernel *kernel_of(reader *from, const gpuchar_sass_function *function) {
    static const char prefix[] = ".text.";
    gc_study_reading *into = from->into;
    if (!from->section || strcmp(from->section, function->section) != 0) {
        from->section = function->section;
        from->section_index = gc_lines_section(&from->cubin, function->section);
        const bool usual = strncmp(function->section, prefix, sizeof prefix - 1) == 0;
        const char *name = function->section + (usual ? sizeof prefix - 1 : 0);
        gpuchar_reconvergence_kernel *made = &into->kernels[into->kernel_count++];
        *made = (gpuchar_reconvergence_kernel){.levels = from->text->deep ? levels_of(name) : 0};
        snprintf(made->name, sizeof made->name, "%s", name);
    }
    return &into->kernels[into->kernel_count - 1];
}

static gpuchar_status add_site(reader *from, const gpuchar_sass_branch *branch) {
    const uint32_t divergent = GPUCHAR_SASS_BRANCH_DIVERGENT, back = GPUCHAR_SASS_BRANCH_BACK;
    const uint32_t primary = branch->placement[GPUCHAR_SASS_RULE_PRIMARY];
    if ((branch->flags & (divergent | back)) != divergent || primary > GPUCHAR_SASS_PLACED_ASIDE) return GPUCHAR_OK;
    const gc_line_entry *at = gc_lines_find(&from->lines, from->section_index, branch->pc_bytes);
    if (!at) return GPUCHAR_OK;
    gc_study_reading *into = from->into;
    if (into->site_count == from->site_capacity) {
        const size_t more = from->site_capacity ? 2 * from->site_capacity : 256;
        gc_study_site *longer = realloc(into->sites, more * sizeof *longer);
        if (!longer) return gc_fail_memory(more * sizeof *longer);
        into->sites = longer;
        from->site_capacity = more;
    }
    into->sites[into->site_count++] =
        (gc_study_site){.kernel = kernel_hash(from),
                        .file = at->file,
                        .line = at->line,
                        .place = branch->flags & GPUCHAR_SASS_BRANCH_OUTSIDE ? GC_STUDY_OUTSIDE : primary};
    return GPUCHAR_OK;
}

static gpuchar_status count_flow(reader *from, size_t function, gpuchar_reconvergence_counts *counts) {
    gpuchar_sass_graph graph = GPUCHAR_SASS_GRAPH_INIT;
    gpuchar_sass_reconvergence records = GPUCHAR_SASS_RECONVERGENCE_INIT;
    gpuchar_status status = gpuchar_sass_graph_get(from->sass, function, &graph);
    if (!status) status = gpuchar_sass_reconvergence_get(from->sass, function, &records);
    if (!status) {
        counts->irreducible += graph.irreducible;
        counts->loops += graph.loop_count;
        gc_study_count_records(&records, counts);
    } else if (status == GPUCHAR_E_SASS_FORMAT || status == GPUCHAR_E_SASS_UNKNOWN) {
        counts->unread++;
        status = GPUCHAR_OK;
    }
    for (size_t i = 0; from->text->lines && !status && i < records.branch_count; i++)
        status = add_site(from, &records.branches[i]);
    gpuchar_sass_reconvergence_free(&records);
    gpuchar_sass_graph_free(&graph);
    return status;
}

static gpuchar_status read_function(reader *from, size_t index) {
    gpuchar_sass_function function;
    gpuchar_status status = gpuchar_sass_function_get(from->sass, index, &function);
    if (status) return status;
    gpuchar_reconvergence_counts *counts = &kernel_of(from, &function)->counts;
    const bool kernel = function.kernel != 0;
    counts->kernels += kernel;
    counts->functions += !kernel;
    for (size_t i = 0; i < function.instructions && !status; i++) {
        gpuchar_sass_instruction instruction;
        status = gpuchar_sass_instruction_get(from->sass, index, i, &instruction);
        if (!status) gc_study_count_instruction(&instruction, from->architecture, kernel, counts);
    }
    return status ? status : count_flow(from, index, counts);
}

static gpuchar_status read_functions(reader *from, const gpuchar_sass_info *info) {
    from->into->architecture = from->architecture = info->architecture;
    snprintf(from->into->assembler, sizeof from->into->assembler, "%s", info->assembler);
    if (info->functions == 0) return GPUCHAR_OK;
    from->into->kernels = calloc(info->functions, sizeof *from->into->kernels);
    if (!from->into->kernels) return gc_fail_memory(info->functions * sizeof *from->into->kernels);
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < info->functions && !status; i++) status = read_function(from, i);
    if (!status && from->into->site_count) {
        qsort(from->into->sites, from->into->site_count, sizeof *from->into->sites, gc_study_site_order);
    }
    return status;
}

gpuchar_status gc_study_read(const void *cubin, size_t size, const gc_study_text *text, gc_study_reading *reading) {
    *reading = (gc_study_reading){0};
    gpuchar_sass *sass = NULL;
    gpuchar_sass_info info = GPUCHAR_SASS_INFO_INIT;
    reader from = {.text = text, .into = reading};
    gpuchar_status status = gpuchar_sass_open(cubin, size, &sass);
    if (!status) status = gpuchar_sass_info_get(sass, &info);
    if (!status) status = gc_cubin_open(cubin, size, &from.cubin);
    if (!status && text->lines) {
        /* A table that cannot be read is none: the code is what it is. */
        status = gc_lines_read(&from.cubin, &from.lines);
        if (status == GPUCHAR_E_SASS_FORMAT) status = GPUCHAR_OK;
    }
    from.sass = sass;
    if (!status) status = read_functions(&from, &info);
    gc_lines_free(&from.lines);
    gpuchar_sass_close(sass);
    if (status) gc_study_reading_free(reading);
    return status;
}

void gc_study_reading_free(gc_study_reading *reading) {
    free(reading->kernels);
    free(reading->sites);
    *reading = (gc_study_reading){0};
}
