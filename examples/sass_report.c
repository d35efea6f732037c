/*
 * sass_report: what the machine code in files is, where its branches diverge and where their threads meet again. It needs no
 * GPU. docs/sass.md tells its options and exit codes.
 */
#include "sass_report/sass_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command line ---- */

static void print_help(FILE *to) {
    fputs("usage: sass_report [options] FILE...\n"
          "  --json           one JSON document\n"
          "  --dot            the control-flow graph of one function, for Graphviz; with --function\n"
          "  --function NAME  this one only\n"
          "  --arch N         images for sm_N only\n"
          "  --branches       each branch, and where its threads meet again\n"
          "  --instructions   each instruction\n"
          "  --top N          lines of the instruction mix; default: 20\n"
          "  --no-mix         no instruction mix\n"
          "  --help\n"
          "exit status: 0 done, 1 something failed, 2 wrong usage\n",
          to);
}

static void end_with_usage(const char *what, const char *word) {
    fprintf(stderr, "sass_report: %s", what);
    put_name(stderr, word);
    fputs("\n  hint: sass_report --help\n", stderr);
    exit(EXIT_WRONG_USAGE);
}

static bool take_value(int count, char **words, int *at, const char *name, const char **value) {
    if (strcmp(words[*at], name) != 0) return false;
    if (*value) end_with_usage("given twice: ", name);
    if (*at + 1 >= count || !words[*at + 1][0]) end_with_usage("a value is missing after ", name);
    *value = words[++*at];
    return true;
}

static bool take_flag(const char *word, const char *name, bool *flag) {
    if (strcmp(word, name) != 0) return false;
    *flag = true;
    return true;
}

static uint32_t number(const char *text, const char *name) {
    char *end = NULL;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value == 0 || value > 1000000)
        end_with_usage("no usable number for ", name);
    return (uint32_t)value;
}

static arguments parse(int count, char **words) {
    arguments a = {.top = 20, .files = words};
    const char *arch = NULL, *top = NULL;
    bool help = false, files_only = false;
    for (int i = 1; i < count; ++i) {
        if (files_only || words[i][0] != '-') {
            words[a.file_count++] = words[i]; /* never ahead of where it was read */
        } else if (strcmp(words[i], "--") == 0) {
            files_only = true;
        } else if (!take_value(count, words, &i, "--function", &a.function) &&
                   !take_value(count, words, &i, "--arch", &arch) && !take_value(count, words, &i, "--top", &top) &&
                   !take_flag(words[i], "--json", &a.json) && !take_flag(words[i], "--dot", &a.dot) &&
                   !take_flag(words[i], "--branches", &a.branches) &&
                   !take_flag(words[i], "--instructions", &a.instructions) &&
                   !take_flag(words[i], "--no-mix", &a.no_mix) && !take_flag(words[i], "--help", &help)) {
            end_with_usage("unknown option ", words[i]);
        }
    }
    if (help) {
        print_help(stdout);
        exit(fflush(stdout) == 0 ? 0 : EXIT_FAILED);
    }
    if (arch) a.arch = number(arch, "--arch");
    if (top) a.top = number(top, "--top");
    if (a.json && a.dot) end_with_usage("--json excludes --dot", "");
    if (a.dot && !a.function) end_with_usage("--dot wants --function", "");
    if (!a.file_count) end_with_usage("no file", "");
    return a;
}

/* ---- one image ---- */

typedef struct report {
    arguments arguments;
    int worst;
    uint64_t shown; /* functions */
} report;

static void add_totals(totals *t, const analyzed *f) {
    t->functions++;
    t->instructions += f->function.instructions;
    t->blocks += f->graph.block_count;
    t->edges += f->graph.edge_count;
    t->loops += f->graph.loop_count;
    t->irreducible += f->graph.irreducible;
    t->branches += f->found.branch_count;
    t->intervals += f->found.interval_count;
    t->divergent += f->found.divergent;
    if (f->found.depth > t->depth) t->depth = f->found.depth;
    for (int i = 0; i < 25; i++) t->placed[i] += f->found.placed[i];
    for (int i = 0; i < 25; i++) t->placed_back[i] += f->found.placed_back[i];
}

static bool show_dot(const image *i, size_t function) {
    char *text = NULL;
    if (gpuchar_sass_dot(i->sass, function, &text) < 0) return false;
    fputs(text, stdout);
    gpuchar_string_free(text);
    return true;
}

static bool show_function(report *r, const image *i, analyzed *f, totals *t) {
    bool good = gpuchar_sass_graph_get(i->sass, f->index, &f->graph) >= 0 &&
                gpuchar_sass_reconvergence_get(i->sass, f->index, &f->found) >= 0;
    if (good) {
        add_totals(t, f);
        if (r->arguments.json)
            good = document_function(&r->arguments, i, f);
        else
            table_function(&r->arguments, i, f);
    }
    gpuchar_sass_graph_free(&f->graph);
    gpuchar_sass_reconvergence_free(&f->found);
    return good;
}

static void show_functions(report *r, const image *i, totals *t) {
    for (size_t index = 0; index < i->info.functions; index++) {
        analyzed f = {.index = index, .graph = GPUCHAR_SASS_GRAPH_INIT, .found = GPUCHAR_SASS_RECONVERGENCE_INIT};
        if (gpuchar_sass_function_get(i->sass, index, &f.function) < 0) return;
        if (r->arguments.function && strcmp(r->arguments.function, f.function.name) != 0) continue;
        if (r->arguments.dot && r->shown) return; /* a document holds one graph */
        r->shown++;
        if (r->arguments.dot ? show_dot(i, index) : show_function(r, i, &f, t)) continue;
        complain(i->path, f.function.name);
        r->worst = EXIT_FAILED;
    }
}

static void show_mix(report *r, const image *i, const totals *t) {
    gpuchar_sass_mix mix = GPUCHAR_SASS_MIX_INIT;
    size_t function = GPUCHAR_SASS_ALL;
    bool has = !r->arguments.no_mix;
    if (has && r->arguments.function) has = gpuchar_sass_function_find(i->sass, r->arguments.function, &function) >= 0;
    if (has && gpuchar_sass_mix_get(i->sass, function, &mix) < 0) {
        complain(i->path, "instruction mix");
        r->worst = EXIT_FAILED;
        has = false;
    }
    if (r->arguments.json && !document_image_end(t, has ? &mix : NULL)) {
        complain(i->path, "instruction mix");
        r->worst = EXIT_FAILED;
    } else if (!r->arguments.json) {
        table_totals(t);
        if (has) table_mix(&r->arguments, &mix);
        putchar('\n');
    }
    gpuchar_sass_mix_free(&mix);
}

static void show_image(report *r, image *i) {
    totals t = {0};
    if (!r->arguments.dot && r->arguments.json) document_image(i);
    if (!r->arguments.dot && !r->arguments.json) table_image(i);
    show_functions(r, i, &t);
    if (!r->arguments.dot) show_mix(r, i, &t);
}

/* Other images are skipped, 0: PTX, and what is for other architectures than was asked for. */
static int show_entry(report *r, const char *path, const gpuchar_sass_file *file, size_t index) {
    image i = {.path = path, .index = index, .info = GPUCHAR_SASS_INFO_INIT};
    gpuchar_sass_entry entry;
    if (gpuchar_sass_file_entry(file, index, &entry) >= 0) {
        if (entry.kind != GPUCHAR_SASS_ENTRY_CUBIN) return 0;
        if (r->arguments.arch && r->arguments.arch != entry.architecture) return 0;
    }
    if (gpuchar_sass_file_load(file, index, &i.sass) >= 0 && gpuchar_sass_info_get(i.sass, &i.info) >= 0) {
        show_image(r, &i);
    } else {
        char what[32];
        snprintf(what, sizeof what, "image %zu", index);
        complain(path, what);
        r->worst = EXIT_FAILED;
    }
    gpuchar_sass_close(i.sass);
    return 1;
}

static void show_file(report *r, const char *path) {
    gpuchar_sass_file *file = NULL;
    if (gpuchar_sass_file_open(path, &file) < 0) {
        complain(path, "");
        r->worst = EXIT_FAILED;
        return;
    }
    const size_t count = gpuchar_sass_file_count(file);
    if (!count) {
        put_name(stderr, path);
        fputs(" holds no machine code of GPUs\n", stderr);
    }
    size_t shown = 0;
    for (size_t index = 0; index < count; index++) shown += (size_t)show_entry(r, path, file, index);
    if (count && !shown) {
        put_name(stderr, path);
        fprintf(stderr, " holds %zu images, none of them machine code%s\n", count,
                r->arguments.arch ? " for that architecture" : "");
    }
    gpuchar_sass_file_close(file);
}

int main(int count, char **words) {
    report r = {.arguments = parse(count, words)};
    if (r.arguments.json) document_begin();
    for (int i = 0; i < r.arguments.file_count; i++) show_file(&r, r.arguments.files[i]);
    if (r.arguments.json) document_end();
    if (!r.worst && r.arguments.function && !r.shown) {
        fputs("sass_report: no function ", stderr);
        put_name(stderr, r.arguments.function);
        fputs(" in these files\n", stderr);
        r.worst = EXIT_FAILED;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "sass_report: standard output cannot be written: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    return r.worst;
}
