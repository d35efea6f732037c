/* Where compilers let divergent threads meet again: tables of many compilers and architectures. Needs no GPU. */
#include <gpuchar/gpuchar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reconvergence_study/tables.h"

static const char help[] = "usage: reconvergence_study [options]\n"
                           "  --nvrtc PATH        a libnvrtc.so.N; may be repeated; none: the one that is found\n"
                           "  --assembler PATH    a ptxas program: one PTX goes through each; may be repeated\n"
                           "  --ptx-compiler N    whose PTX it is: the N-th --nvrtc, from 0\n"
                           "  --ptx-arch NN       what the PTX is made for; default 75\n"
                           "  --arch LIST         architectures, 80,90,120; default: all that each compiler knows\n"
                           "  --source FILE       a CUDA source instead of the corpus; may be repeated\n"
                           "  --deep              the deep nests as well\n"
                           "  --no-compilers      only what assemblers make\n"
                           "  --no-lines          without -lineinfo, and without matching by line\n"
                           "  --work N            steps of straight-line work in each arm of the corpus; default 3\n"
                           "  --threads N         default: as many as cores\n"
                           "  --cache FOLDER      keeps machine code\n"
                           "  --pairs             the table of lines, for all pairs of rows\n"
                           "  --json              everything as JSON\n"
                           "  --time              what took how long\n";

enum { MOST = 64 };

typedef struct request {
    gpuchar_reconvergence_study_options options;
    const char *compilers[MOST], *assemblers[MOST];
    uint32_t architectures[MOST];
    gpuchar_reconvergence_source sources[MOST];
    const char *cache;
    int json, times, pairs;
} request;

static void fail(const char *text) {
    fprintf(stderr, "reconvergence_study: %s\n", text);
    exit(2);
}

static uint32_t number(const char *text) {
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (*end || end == text || value > UINT32_MAX) fail("that is no number");
    return (uint32_t)value;
}

static void add(const char **list, size_t *count, const char *value) {
    if (*count == MOST) fail("too many of one option");
    list[(*count)++] = value;
}

static void add_architectures(request *asked, char *text) {
    for (char *one = strtok(text, ","); one; one = strtok(NULL, ",")) {
        if (asked->options.architecture_count == MOST) fail("too many architectures");
        asked->architectures[asked->options.architecture_count++] = number(one);
    }
}

static void add_source(request *asked, const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, (1 << 22) + 1);
    if (!file || !text) fail("a source cannot be read");
    if (asked->options.source_count == MOST) fail("too many sources");
    const size_t length = fread(text, 1, 1 << 22, file);
    if (ferror(file) || length == 1 << 22) fail("a source cannot be read, or is above 4 MiB");
    fclose(file);
    asked->sources[asked->options.source_count++] = (gpuchar_reconvergence_source){.name = path, .text = text};
}

/* 1: the option has a value. */
static int take_value(request *asked, const char *option, char *value) {
    gpuchar_reconvergence_study_options *options = &asked->options;
    if (!strcmp(option, "--nvrtc")) {
        add(asked->compilers, &options->compiler_count, value);
    } else if (!strcmp(option, "--assembler")) {
        add(asked->assemblers, &options->assembler_count, value);
    } else if (!strcmp(option, "--ptx-compiler")) {
        options->ptx_compiler = number(value);
    } else if (!strcmp(option, "--ptx-arch")) {
        options->ptx_architecture = number(value);
    } else if (!strcmp(option, "--arch")) {
        add_architectures(asked, value);
    } else if (!strcmp(option, "--source")) {
        add_source(asked, value);
    } else if (!strcmp(option, "--work")) {
        options->work = number(value);
    } else if (!strcmp(option, "--threads")) {
        options->threads = number(value);
    } else if (!strcmp(option, "--cache")) {
        asked->cache = value;
    } else {
        return 0;
    }
    return 1;
}

static int take_switch(request *asked, const char *option) {
    gpuchar_reconvergence_study_options *options = &asked->options;
    if (!strcmp(option, "--deep")) {
        options->deep = 1;
    } else if (!strcmp(option, "--no-compilers")) {
        options->flags |= GPUCHAR_RECONVERGENCE_NO_COMPILERS;
    } else if (!strcmp(option, "--no-lines")) {
        options->flags |= GPUCHAR_RECONVERGENCE_NO_LINES;
    } else if (!strcmp(option, "--pairs")) {
        asked->pairs = 1;
    } else if (!strcmp(option, "--json")) {
        asked->json = 1;
    } else if (!strcmp(option, "--time")) {
        asked->times = 1;
    } else {
        return 0;
    }
    return 1;
}

static void read_arguments(int count, char **arguments, request *asked) {
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--help")) {
            fputs(help, stdout);
            exit(0);
        }
        if (take_switch(asked, arguments[i])) continue;
        if (i + 1 >= count || !take_value(asked, arguments[i], arguments[i + 1])) {
            fputs(help, stderr);
            exit(2);
        }
        i++;
    }
    asked->options.compilers = asked->compilers;
    asked->options.assemblers = asked->assemblers;
    asked->options.architectures = asked->architectures;
    asked->options.sources = asked->sources;
}

static int tell_failure(void) {
    const gpuchar_error *error = gpuchar_last_error();
    fprintf(stderr, "reconvergence_study: %s\n%s\n", error->message, error->hint);
    return 1;
}

static int print(const request *asked, const gpuchar_reconvergence_study_result *result) {
    if (asked->json) {
        char *text = NULL;
        if (gpuchar_json_write("gpuchar_reconvergence_study_result", result, &text) < 0) return tell_failure();
        puts(text);
        gpuchar_string_free(text);
        return 0;
    }
    print_tables(result);
    if (asked->pairs) print_pairs(result);
    if (asked->times) print_times(result);
    return 0;
}

/* Rows that could not be made are empty in the tables; only if there is no other is that a failure. */
static int tell_rows(const gpuchar_reconvergence_study_result *result) {
    size_t unknown = 0, failed = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        unknown += result->rows[i].status == GPUCHAR_E_ARCH_UNSUPPORTED;
        failed += result->rows[i].status < 0 && result->rows[i].status != GPUCHAR_E_ARCH_UNSUPPORTED;
    }
    if (unknown) fprintf(stderr, "reconvergence_study: %zu rows of chips that their compiler does not know\n", unknown);
    if (failed) fprintf(stderr, "reconvergence_study: %zu rows could not be made\n", failed);
    return failed + unknown == result->row_count;
}

int main(int count, char **arguments) {
    static request asked;
    gpuchar_reconvergence_study_result result = GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT;
    gpuchar_runtime_options runtime_options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    gpuchar_runtime *runtime = NULL;
    asked.options = GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT;
    read_arguments(count, arguments, &asked);
    runtime_options.cache_dir = asked.cache;
    if (gpuchar_runtime_open(&runtime_options, &runtime) < 0) return tell_failure();
    int code = 1;
    if (gpuchar_reconvergence_study(runtime, &asked.options, &result) < 0)
        tell_failure();
    else
        code = print(&asked, &result) || tell_rows(&result);
    if (fflush(stdout) || ferror(stdout)) {
        fputs("reconvergence_study: the output could not be written\n", stderr);
        code = 1;
    }
    gpuchar_reconvergence_study_result_free(&result);
    gpuchar_runtime_close(runtime);
    for (size_t i = 0; i < asked.options.source_count; i++) free((void *)(uintptr_t)asked.sources[i].text);
    return code;
}
