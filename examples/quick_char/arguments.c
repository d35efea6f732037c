/* The command line. */
#include "quick_char.h"

#include <stdlib.h>
#include <string.h>

void print_help(FILE *to) {
    fputs("usage: quick_char [options]\n"
          "  --device D      \"0\", \"GPU-...\", \"MIG-...\", a PCI id; \"sm_90\": compile and prove only;\n"
          "                  default: the first GPU\n"
          "  --full          more points than the quick set\n"
          "  --only LIST     experiments by name, separated by commas\n"
          "  --json FILE     write all results as one JSON document (\"-\": standard output)\n"
          "  --profile FILE  answer from a recorded profile instead of a GPU\n"
          "  --require-gpu   exit with 3 when there is no usable GPU; excludes an architecture as --device\n"
          "  --list          list the experiments\n"
          "  --cache DIR     keep compiled kernels in this folder\n"
          "  --bench         print what the run itself cost, as \"key: value\" lines\n"
          "  --quiet         errors only\n"
          "  --verbose       the library's log on standard error, with seconds since the start\n"
          "  --version       the library's version\n"
          "  --help\n"
          "exit status: 0 done, 1 an experiment failed, 2 wrong usage, 3 no GPU (with --require-gpu),\n"
          "             4 a file could not be written\n",
          to);
}

static void end_with_usage(const char *what, const char *word) {
    fprintf(stderr, "quick_char: %s%s\n  hint: quick_char --help\n", what, word);
    exit(EXIT_USAGE);
}

static bool take_value(int count, char **words, int *at, const char *name, const char **value) {
    size_t length = strlen(name);
    char after = strncmp(words[*at], name, length) == 0 ? words[*at][length] : ' ';
    if (after != '=' && after != '\0') return false;
    if (*value) end_with_usage("given twice: ", name);
    if (after == '=') {
        *value = words[*at] + length + 1;
    } else if (*at + 1 < count) {
        *value = words[++*at];
    } else {
        end_with_usage("a value is missing after ", name);
    }
    if (!(*value)[0]) end_with_usage("an empty value for ", name);
    return true;
}

static bool take_flag(const char *word, const char *name, bool *flag) {
    if (strcmp(word, name) != 0) return false;
    *flag = true;
    return true;
}

/* A misspelt name must not look like an experiment that passed. */
static void check_only(const char *only) {
    for (const char *at = only; at && *at;) {
        char name[64];
        size_t word = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(word < 63 ? word : 63), at);
        if (!gpuchar_experiment_get(name)) {
            fprintf(stderr, "quick_char: no experiment \"%s\"\n  hint: quick_char --list shows them\n", name);
            exit(EXIT_USAGE);
        }
        at += word + (at[word] == ',');
    }
}

arguments parse_arguments(int count, char **words) {
    arguments a = {0};
    for (int i = 1; i < count; ++i) {
        if (take_value(count, words, &i, "--device", &a.device) || take_value(count, words, &i, "--only", &a.only) ||
            take_value(count, words, &i, "--json", &a.json) || take_value(count, words, &i, "--profile", &a.profile) ||
            take_value(count, words, &i, "--cache", &a.cache) || take_flag(words[i], "--full", &a.full) ||
            take_flag(words[i], "--require-gpu", &a.require_gpu) || take_flag(words[i], "--list", &a.list) ||
            take_flag(words[i], "--version", &a.version) || take_flag(words[i], "--quiet", &a.quiet) ||
            take_flag(words[i], "--bench", &a.bench) || take_flag(words[i], "--verbose", &a.verbose) ||
            take_flag(words[i], "--help", &a.help) || take_flag(words[i], "-h", &a.help)) {
            continue;
        }
        end_with_usage("unknown option ", words[i]);
    }
    if (a.require_gpu && a.device && strncmp(a.device, "sm_", 3) == 0) {
        end_with_usage("--require-gpu wants a GPU, but this --device compiles only: ", a.device);
    }
    if (a.profile && (a.device || a.require_gpu)) {
        end_with_usage("--profile measures nothing: it excludes --device and --require-gpu", "");
    }
    if (a.quiet && a.verbose) end_with_usage("--quiet excludes --verbose", "");
    check_only(a.only);
    return a;
}

bool is_selected(const arguments *given, const char *experiment) {
    size_t length = strlen(experiment);
    if (!given->only) return true;
    for (const char *at = given->only; *at;) {
        size_t word = strcspn(at, ",");
        if (word == length && strncmp(at, experiment, word) == 0) return true;
        at += word + (at[word] == ',');
    }
    return false;
}
