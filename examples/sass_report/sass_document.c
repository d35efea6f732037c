#include "sass_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *separator; /* before the next image, or function */
static const char *function_separator;

static void put_json(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text >= 0x20 && *text < 0x7f ? *text : '?');
    }
    putchar('"');
}

/* A struct by its table; null when it cannot be written, as when a name is no UTF-8. */
static bool put_struct(const char *key, const char *name, const void *object) {
    char *text = NULL;
    const bool written = gpuchar_json_write(name, object, &text) >= 0;
    printf("\"%s\": %s", key, written ? text : "null");
    gpuchar_string_free(text);
    return written;
}

void document_begin(void) {
    separator = "\n";
    printf("{\"schema\": %d, \"type\": \"sass_report\", \"library_version\": \"%s\", \"images\": [",
           GPUCHAR_SCHEMA_VERSION, gpuchar_version());
}

void document_image(const image *i) {
    printf("%s{\"file\": ", separator);
    put_json(i->path);
    printf(", \"index\": %zu, ", i->index);
    if (!put_struct("info", "gpuchar_sass_info", &i->info)) complain(i->path, "");
    printf(", \"functions\": [");
    separator = ",\n";
    function_separator = "\n";
}

static bool put_instructions(const image *i, const analyzed *f) {
    bool good = true;
    printf(", \"instructions\": [");
    for (size_t at = 0; at < f->function.instructions && good; at++) {
        gpuchar_sass_instruction in;
        char *text = NULL;
        good = gpuchar_sass_instruction_get(i->sass, f->index, at, &in) >= 0 &&
               gpuchar_json_write("gpuchar_sass_instruction", &in, &text) >= 0;
        if (good) printf("%s%s", at ? "," : "", text);
        gpuchar_string_free(text);
    }
    putchar(']');
    return good;
}

bool document_function(const arguments *a, const image *i, const analyzed *f) {
    gpuchar_sass_reconvergence found = f->found;
    if (!a->branches) { /* the numbers alone */
        found.branch_count = found.interval_count = 0;
        found.branches = NULL;
        found.intervals = NULL;
    }
    printf("%s{", function_separator);
    function_separator = ",\n";
    bool good = put_struct("function", "gpuchar_sass_function", &f->function);
    printf(", \"blocks\": %zu, \"edges\": %zu, \"loops\": %zu, \"irreducible\": %" PRIu64
           ", \"branches\": %zu, \"intervals\": %zu, ",
           f->graph.block_count, f->graph.edge_count, f->graph.loop_count, f->graph.irreducible, f->found.branch_count,
           f->found.interval_count);
    good = put_struct("reconvergence", "gpuchar_sass_reconvergence", &found) && good;
    if (a->instructions) good = put_instructions(i, f) && good;
    putchar('}');
    return good;
}

static void put_placed(const char *key, const uint64_t *placed) {
    printf(", \"%s\": [", key);
    for (int at = 0; at < 25; at++) printf("%s%" PRIu64, at ? ", " : "", placed[at]);
    putchar(']');
}

bool document_image_end(const totals *t, const gpuchar_sass_mix *mix) {
    printf("], \"totals\": {\"functions\": %" PRIu64 ", \"instructions\": %" PRIu64 ", \"blocks\": %" PRIu64
           ", \"edges\": %" PRIu64 ", \"loops\": %" PRIu64 ", \"irreducible\": %" PRIu64 ", \"branches\": %" PRIu64
           ", \"divergent\": %" PRIu64 ", \"intervals\": %" PRIu64 ", \"depth\": %" PRIu64,
           t->functions, t->instructions, t->blocks, t->edges, t->loops, t->irreducible, t->branches, t->divergent,
           t->intervals, t->depth);
    put_placed("placed", t->placed);
    put_placed("placed_back", t->placed_back);
    printf("}, ");
    const bool good = !mix || put_struct("mix", "gpuchar_sass_mix", mix);
    printf("%s}", mix ? "" : "\"mix\": null");
    return good;
}

void document_end(void) {
    printf("\n]}\n");
}
