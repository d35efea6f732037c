/* Machine code of one cell: by a compiler, by a compiler and another assembler, or ready. */
#include <experiments/reconvergence_work.h>

#include <codegen/ptx.h>
#include <core/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <worker/tool.h>

static const uint64_t assembler_limit_ns = UINT64_C(300000000000);

static gc_compile_request request_of(const gc_study_input *input, const char *architecture) {
    return (gc_compile_request){
        .name = input->name,
        .source = input->source,
        .defines = &input->work,
        .define_count = input->work.name ? 1 : 0,
        .architecture = architecture,
        .flags = input->flags,
        .flag_count = input->flag_count,
    };
}

typedef struct target {
    char name[16];
} target;

static target target_of(uint32_t architecture) {
    target made;
    snprintf(made.name, sizeof made.name, "sm_%u", architecture % 1000);
    return made;
}

/* ---- by a compiler */

static gpuchar_status compile(const gc_study *study, gc_study_cell *cell, gc_image **image) {
    const gpuchar_reconvergence_row *row = &study->rows[cell->row];
    const gc_nvrtc *nvrtc = study->compilers[row->compiler_index];
    gpuchar_status status = gc_compile_check_arch(nvrtc, row->architecture);
    if (status) return status;
    const target name = target_of(row->architecture);
    const gc_compile_request request = request_of(cell->input, name.name);
    status = gc_compile_many(nvrtc, gc_runtime_cache(study->runtime), &request, 1, NULL, NULL, image);
    if (!status) cell->compile_ns = (*image)->compile_ns;
    return status;
}

/* ---- by an assembler */

static gpuchar_status raise_again(const gpuchar_error *error, gpuchar_status status) {
    return error ? gc_fail(status, "%s", error->message) : gc_fail(status, "%s", gpuchar_status_text(status));
}

/* Once per text, whoever comes first; the others wait. Where memory was short the next one tries again. */
static gpuchar_status need_ptx(const gc_study *study, gc_study_input *input) {
    pthread_mutex_lock(&input->lock);
    if (!input->tried) {
        const target name = target_of(study->options->ptx_architecture);
        const gc_compile_request request = request_of(input, name.name);
        input->ptx_status =
            gc_ptx_make(study->compilers[study->options->ptx_compiler], &request, &input->ptx, &input->ptx_length);
        input->tried = input->ptx_status != GPUCHAR_E_OUT_OF_MEMORY;
        if (input->ptx_status && input->tried) input->ptx_error = gpuchar_error_copy();
    }
    const gpuchar_status status = input->ptx_status;
    pthread_mutex_unlock(&input->lock);
    return status ? raise_again(input->ptx_error, status) : GPUCHAR_OK;
}

static bool has_line_info(const gc_study_input *input) {
    for (size_t i = 0; i < input->flag_count; i++) {
        if (strcmp(input->flags[i], "-lineinfo") == 0) return true;
    }
    return false;
}

static gpuchar_status judge(const gc_study_assembler *assembler, const char *architecture, gc_tool_result *made) {
    if (made->code == 0 && made->output_size > 0) return GPUCHAR_OK;
    const bool unknown = strstr(made->text, "is not defined for option 'gpu-name'") != NULL;
    const gpuchar_status status = unknown ? GPUCHAR_E_ARCH_UNSUPPORTED : GPUCHAR_E_COMPILE;
    const int line = (int)strcspn(made->text, "\n");
    gc_fail(status, "%s (%s) for %s: %.*s", assembler->path, assembler->release, architecture, line < 150 ? line : 150,
            made->text);
    gc_attach_log(made->text);
    return status;
}

static gpuchar_status assemble(const gc_study *study, gc_study_cell *cell, void **bytes, size_t *size) {
    const gpuchar_reconvergence_row *row = &study->rows[cell->row];
    const gc_study_assembler *assembler = &study->assemblers[row->assembler_index];
    if (row->architecture < row->ptx_architecture) {
        return gc_fail(GPUCHAR_E_NOT_APPLICABLE, "PTX for compute_%u does not run on sm_%u", row->ptx_architecture,
                       row->architecture);
    }
    const uint64_t begin = gc_now_ns();
    gpuchar_status status = need_ptx(study, cell->input);
    if (status) return status;
    const target name = target_of(row->architecture);
    char program[] = "ptxas", arch[32], input[] = GC_TOOL_INPUT, option[] = "-o", output[] = GC_TOOL_OUTPUT;
    char lines[] = "-lineinfo";
    snprintf(arch, sizeof arch, "-arch=%s", name.name);
    char *const words[] = {program, arch, input, option, output, has_line_info(cell->input) ? lines : NULL, NULL};
    gc_tool_result made;
    status = gc_tool_run(assembler->path, words, cell->input->ptx, cell->input->ptx_length, assembler_limit_ns, &made);
    if (status) return status;
    status = judge(assembler, name.name, &made);
    if (!status) {
        *bytes = made.output;
        *size = made.output_size;
        made.output = NULL;
    }
    gc_tool_free(&made);
    cell->compile_ns = gc_now_ns() - begin;
    return status;
}

gpuchar_status gc_study_make(const gc_study *study, gc_study_cell *cell, gc_image **image, void **bytes, size_t *size) {
    if (study->rows[cell->row].made == GPUCHAR_RECONVERGENCE_BY_ASSEMBLER) return assemble(study, cell, bytes, size);
    return compile(study, cell, image);
}

/* "Cuda compilation tools, release 13.0, V13.0.88" is a line of what it prints. */
gpuchar_status gc_study_assembler_open(const char *path, gc_study_assembler *assembler) {
    char program[] = "ptxas", option[] = "--version";
    char *const words[] = {program, option, NULL};
    gc_tool_result told;
    *assembler = (gc_study_assembler){.path = path};
    const gpuchar_status status = gc_tool_run(path, words, "", 0, UINT64_C(10000000000), &told);
    if (status) return status;
    const char *release = strstr(told.text, "Cuda compilation tools");
    assembler->version = release ? gc_study_release(release) : 0;
    if (release) {
        snprintf(assembler->release, sizeof assembler->release, "%.*s", (int)strcspn(release, "\n"), release);
        gc_text_clean(assembler->release);
    }
    gc_tool_free(&told);
    if (assembler->version) return GPUCHAR_OK;
    return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s is no ptxas: it does not tell its release", path),
                     "assemblers are programs called ptxas, of a CUDA toolkit or of the wheel nvidia-cuda-nvcc");
}
