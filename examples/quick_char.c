/*
 * quick_char: what this GPU really does, in seconds. It knows no experiment by name: what the library offers, it runs.
 * docs/quick_char.md tells its options and exit codes.
 */
#include <gpuchar/gpuchar.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "quick_char_profiles.h"

enum { EXIT_EXPERIMENT = 1, EXIT_USAGE = 2, EXIT_NO_GPU = 3, EXIT_OUTPUT = 4 };

typedef struct arguments {
    const char *device;
    const char *only;
    const char *json;
    const char *profile;
    const char *cache;
    bool full;
    bool require_gpu;
    bool list;
    bool version;
    bool quiet;
    bool bench;
    bool help;
} arguments;

/* One run of the program. */
typedef struct run {
    arguments arguments;
    gpuchar_runtime *runtime;
    gpuchar_session *session;
    gpuchar_profile *profile;
    const char *command;
    bool terminal;
    int worst;
} run;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- command line ---- */

static void print_help(FILE *to) {
    fputs("usage: quick_char [options]\n"
          "  --device D      \"0\", \"GPU-...\", \"MIG-...\", a PCI id; default: the first GPU\n"
          "  --full          more points than the quick set\n"
          "  --only LIST     experiments by name, separated by commas\n"
          "  --json FILE     write all results as one JSON document (\"-\": standard output)\n"
          "  --profile FILE  answer from a recorded profile instead of a GPU\n"
          "  --require-gpu   exit with 3 when there is no usable GPU\n"
          "  --list          list the experiments\n"
          "  --cache DIR     keep compiled kernels in this folder\n"
          "  --bench         print what the run itself cost, as \"key: value\" lines\n"
          "  --quiet         errors only\n"
          "  --version, --help\n"
          "exit status: 0 done, 1 an experiment failed, 2 wrong usage, 3 no GPU (with --require-gpu),\n"
          "             4 a file could not be written\n",
          to);
}

static bool take_value(int count, char **words, int *at, const char *name, const char **value) {
    if (strcmp(words[*at], name) != 0) return false;
    if (*at + 1 >= count) {
        fprintf(stderr, "quick_char: %s needs a value\n", name);
        exit(EXIT_USAGE);
    }
    *value = words[++*at];
    return true;
}

static bool take_flag(const char *word, const char *name, bool *flag) {
    if (strcmp(word, name) != 0) return false;
    *flag = true;
    return true;
}

static arguments parse(int count, char **words) {
    arguments a = {0};
    for (int i = 1; i < count; ++i) {
        if (take_value(count, words, &i, "--device", &a.device) || take_value(count, words, &i, "--only", &a.only) ||
            take_value(count, words, &i, "--json", &a.json) || take_value(count, words, &i, "--profile", &a.profile) ||
            take_value(count, words, &i, "--cache", &a.cache) || take_flag(words[i], "--full", &a.full) ||
            take_flag(words[i], "--require-gpu", &a.require_gpu) || take_flag(words[i], "--list", &a.list) ||
            take_flag(words[i], "--version", &a.version) || take_flag(words[i], "--quiet", &a.quiet) ||
            take_flag(words[i], "--bench", &a.bench) || take_flag(words[i], "--help", &a.help) ||
            take_flag(words[i], "-h", &a.help)) {
            continue;
        }
        fprintf(stderr, "quick_char: unknown option \"%s\"\n", words[i]);
        print_help(stderr);
        exit(EXIT_USAGE);
    }
    return a;
}

static bool name_in_list(const char *list, const char *name, size_t length) {
    for (const char *at = list; *at;) {
        size_t word = strcspn(at, ",");
        if (word == length && strncmp(at, name, word) == 0) return true;
        at += word + (at[word] == ',');
    }
    return false;
}

static bool selected(const run *r, const char *name) {
    return !r->arguments.only || name_in_list(r->arguments.only, name, strlen(name));
}

/* A misspelt name must not look like an experiment that passed. */
static bool check_only(const char *only) {
    for (const char *at = only; at && *at;) {
        char name[64];
        size_t word = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(word < 63 ? word : 63), at);
        if (!gpuchar_experiment_get(name)) {
            fprintf(stderr, "quick_char: no experiment \"%s\"; --list shows them\n", name);
            return false;
        }
        at += word + (at[word] == ',');
    }
    return true;
}

/* ---- words ---- */

static void complain(const char *what) {
    const gpuchar_error *error = gpuchar_last_error();
    fprintf(stderr, "quick_char: %s: %s [%s%s%s]\n", what, error->message, gpuchar_status_name(error->status),
            error->native_name[0] ? ", " : "", error->native_name);
    if (error->hint[0]) fprintf(stderr, "  hint: %s\n", error->hint);
    if (error->log[0]) fprintf(stderr, "%s\n", error->log);
}

static void show_progress(void *user, const char *step, double done) {
    const run *r = user;
    char bar[31];
    int filled = (int)(done * 30);
    if (!r->terminal) return;
    if (filled > 30) filled = 30;
    memset(bar, '.', 30);
    memset(bar, '#', (size_t)filled);
    bar[30] = '\0';
    fprintf(stderr, "\r  [%s] %-12.12s", bar, step);
}

static void clear_progress(const run *r) {
    if (r->terminal) fprintf(stderr, "\r%60s\r", "");
}

static void print_clock(const char *name, uint64_t hz, bool known) {
    if (known) {
        printf("  %s %.0f MHz", name, (double)hz / 1e6);
    } else {
        printf("  %s unknown", name);
    }
}

static void print_device(gpuchar_session *session) {
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    if (gpuchar_device_info_get(session, &info) < 0) return;
    printf("%s  sm_%u  %u SMs  %.1f GiB  L2 %.1f MiB\n", info.name, info.architecture, info.sm_count,
           (double)info.memory_bytes / (1 << 30), (double)info.l2_bytes / (1 << 20));
    printf("  %s  driver %s (CUDA %u.%u)\n", info.uuid,
           info.known & GPUCHAR_DEVICE_DRIVER_NAME ? info.driver_name : "unknown", info.driver_version / 1000,
           info.driver_version % 1000 / 10);
    print_clock("SM clock: now", info.current_sm_clock_hz, info.known & GPUCHAR_DEVICE_CURRENT_SM_CLOCK);
    print_clock("application", info.application_sm_clock_hz, info.known & GPUCHAR_DEVICE_APPLICATION_SM_CLOCK);
    print_clock("maximum", info.max_sm_clock_hz, info.known & GPUCHAR_DEVICE_MAX_SM_CLOCK);
    printf("\n  ECC %s", !(info.known & GPUCHAR_DEVICE_ECC) ? "unknown" : info.ecc_enabled ? "on" : "off");
    printf("  MIG %s", !(info.known & GPUCHAR_DEVICE_MIG) ? "unknown" : info.mig_enabled ? "on" : "off");
    if (info.known & GPUCHAR_DEVICE_POWER_LIMIT) printf("  power limit %.0f W", info.power_limit_watts);
    if ((info.known & GPUCHAR_DEVICE_OTHER_PROCESSES) && info.other_processes) {
        printf("\n  note: %u other process(es) compute on this GPU; numbers may be disturbed", info.other_processes);
    }
    printf("\n\n");
}

/* ---- the run's own cost ---- */

/* The value of an integer field by its name, found through the struct's table; false when it has none or it is unknown. */
static bool field_value(const char *struct_name, const void *object, const char *name, uint64_t *value) {
    const gpuchar_schema *schema = gpuchar_schema_get(struct_name);
    for (uint32_t i = 0; schema && i < schema->field_count; ++i) {
        const gpuchar_field *field = &schema->fields[i];
        uint32_t known = 0;
        if (strcmp(field->name, name) != 0 || field->type != GPUCHAR_TYPE_U64) continue;
        if (field->known_offset != UINT32_MAX) {
            memcpy(&known, (const char *)object + field->known_offset, sizeof known);
            if (!(known & field->known_bit)) return false;
        }
        memcpy(value, (const char *)object + field->offset, sizeof *value);
        return true;
    }
    return false;
}

static void bench_call(const gpuchar_experiment *experiment, const char *which, const void *result, double seconds) {
    static const char *const names[] = {"call_ns",     "launches_ns", "compile_ns",
                                        "counters_ns", "prove_ns",    "device_memory_bytes"};
    uint64_t call = 0, launches = 0;
    printf("%s.%s.wall_ns: %.0f\n", experiment->name, which, seconds * 1e9);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        uint64_t value = 0;
        if (!field_value(experiment->result_struct, result, names[i], &value)) continue;
        printf("%s.%s.%s: %llu\n", experiment->name, which, names[i], (unsigned long long)value);
        if (i == 0) call = value;
        if (i == 1) launches = value;
    }
    if (call && launches) {
        printf("%s.%s.call_over_launches: %.4f\n", experiment->name, which, (double)call / (double)launches);
    }
}

/* The same call once more, warm and without counters. */
static void bench_warm(run *r, const gpuchar_experiment *experiment, void *options, void *result) {
    const gpuchar_schema *schema = gpuchar_schema_get(experiment->options_struct);
    for (uint32_t i = 0; schema && i < schema->field_count; ++i) {
        uint32_t off = GPUCHAR_COUNTERS_OFF;
        if (strcmp(schema->fields[i].name, "counters") == 0) {
            memcpy((char *)options + schema->fields[i].offset, &off, sizeof off);
        }
    }
    double begin = seconds_now();
    gpuchar_status status = gpuchar_experiment_run(r->session, experiment->name, options, result);
    double end = seconds_now();
    clear_progress(r);
    if (status < 0) {
        complain("warm call");
    } else {
        bench_call(experiment, "warm", result, end - begin);
    }
    gpuchar_experiment_result_free(experiment->name, result);
}

static void bench_memory(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("host_peak_bytes: %lld\n", (long long)usage.ru_maxrss * 1024);
}

/* ---- experiments ---- */

static void *make_struct(size_t size) {
    size_t *made = calloc(1, size);
    if (!made) {
        fputs("quick_char: out of memory\n", stderr);
        exit(EXIT_EXPERIMENT);
    }
    *made = size; /* every options and result struct begins with its size */
    return made;
}

static void show_result(run *r, const gpuchar_experiment *experiment, const void *result) {
    char *text = NULL;
    if (r->arguments.quiet) return;
    if (gpuchar_experiment_text(experiment->name, result, &text) < 0) {
        complain(experiment->name);
        return;
    }
    printf("%s: %s\n%s\n", experiment->name, experiment->title, text);
    gpuchar_string_free(text);
}

static void run_one(run *r, const gpuchar_experiment *experiment) {
    void *options = make_struct(experiment->options_size_bytes);
    void *result = make_struct(experiment->result_size_bytes);
    /* A recording answers with all it has when nothing is asked for. */
    if (!r->arguments.profile) {
        gpuchar_experiment_preset(experiment->name, r->arguments.full ? GPUCHAR_PRESET_FULL : GPUCHAR_PRESET_QUICK,
                                  options);
    }
    double begin = seconds_now();
    gpuchar_status status = gpuchar_experiment_run(r->session, experiment->name, options, result);
    double end = seconds_now();
    clear_progress(r);
    if (status < 0) {
        complain(experiment->name);
        r->worst = EXIT_EXPERIMENT;
    } else {
        show_result(r, experiment, result);
        if (r->profile && gpuchar_profile_add(r->profile, experiment->name, result) < 0) complain("profile");
        if (r->arguments.bench) bench_call(experiment, "first", result, end - begin);
    }
    gpuchar_experiment_result_free(experiment->name, result);
    if (status >= 0 && r->arguments.bench && !r->arguments.profile) bench_warm(r, experiment, options, result);
    free(options);
    free(result);
}

static gpuchar_status save_profile(run *r) {
    char *text = NULL;
    if (strcmp(r->arguments.json, "-") != 0) return gpuchar_profile_save(r->profile, r->arguments.json);
    gpuchar_status status = gpuchar_profile_text(r->profile, &text);
    if (status >= 0) fputs(text, stdout);
    gpuchar_string_free(text);
    return status;
}

static void run_all(run *r) {
    const gpuchar_experiment *experiment = NULL;
    if (!r->arguments.quiet) print_device(r->session);
    if (r->arguments.json && gpuchar_profile_create(r->session, &r->profile) < 0) {
        complain("profile");
        r->worst = EXIT_EXPERIMENT;
    }
    for (size_t i = 0; (experiment = gpuchar_experiment_at(i)) != NULL; ++i) {
        if (selected(r, experiment->name)) run_one(r, experiment);
    }
    if (!r->profile) return;
    gpuchar_profile_set_command(r->profile, r->command);
    if (save_profile(r) < 0) {
        complain(r->arguments.json);
        r->worst = EXIT_OUTPUT;
    }
    gpuchar_profile_free(r->profile);
    r->profile = NULL;
}

/* ---- without a GPU ---- */

static void prove_one(run *r, const gpuchar_experiment *experiment, uint32_t architecture) {
    void *result = make_struct(experiment->result_size_bytes);
    uint64_t compile_ns = 0;
    gpuchar_status status = gpuchar_experiment_run(r->session, experiment->name, NULL, result);
    field_value(experiment->result_struct, result, "compile_ns", &compile_ns);
    if (status < 0) {
        complain(experiment->name);
        r->worst = EXIT_EXPERIMENT;
    } else if (!r->arguments.quiet) {
        char *text = NULL;
        if (gpuchar_experiment_text(experiment->name, result, &text) == GPUCHAR_OK) {
            printf("  sm_%-4u %-20s %.2f s to compile; %.*s\n", architecture, experiment->name,
                   (double)compile_ns * 1e-9, (int)strcspn(text, "\n"), text);
        }
        gpuchar_string_free(text);
    }
    gpuchar_experiment_result_free(experiment->name, result);
    free(result);
}

static void prove_everywhere(run *r) {
    uint32_t architectures[64];
    size_t count = 0;
    const gpuchar_experiment *experiment = NULL;
    if (gpuchar_runtime_architectures(r->runtime, architectures, 64, &count) < 0) {
        complain("kernels cannot be compiled either");
        return;
    }
    if (!r->arguments.quiet) printf("Kernels, generated, compiled and proved without a GPU:\n");
    for (size_t i = 0; i < count && i < 64; ++i) {
        char name[16];
        snprintf(name, sizeof name, "sm_%u", architectures[i]);
        if (gpuchar_session_open(r->runtime, name, NULL, &r->session) < 0) {
            complain(name);
            continue;
        }
        for (size_t j = 0; (experiment = gpuchar_experiment_at(j)) != NULL; ++j) {
            if (selected(r, experiment->name)) prove_one(r, experiment, architectures[i]);
        }
        gpuchar_session_close(r->session);
        r->session = NULL;
    }
}

static void run_recorded(run *r, const char *path) {
    if (gpuchar_session_open_recorded(r->runtime, path, &r->session) < 0) {
        complain(path);
        r->worst = EXIT_EXPERIMENT;
        return;
    }
    if (!r->arguments.quiet) printf("\nRecorded, not measured now, from %s:\n", path);
    r->arguments.profile = path;
    run_all(r);
}

static void run_without_gpu(run *r) {
    char path[4096];
    fprintf(stderr, "no GPU to measure: %s\n", gpuchar_last_error()->message);
    if (gpuchar_last_error()->hint[0]) fprintf(stderr, "  hint: %s\n", gpuchar_last_error()->hint);
    if (r->arguments.require_gpu) {
        r->worst = EXIT_NO_GPU;
        return;
    }
    prove_everywhere(r);
    if (find_recorded_profile(path, sizeof path)) {
        run_recorded(r, path);
    } else {
        fprintf(stderr, "no recorded profile found (GPUCHAR_PROFILES names a folder of them)\n");
    }
}

/* Everything else (a wrong device string, a lost GPU) is an error of its own. */
static bool means_no_gpu(gpuchar_status status) {
    return status == GPUCHAR_E_NO_DRIVER || status == GPUCHAR_E_NO_DEVICE || status == GPUCHAR_E_DRIVER_TOO_OLD;
}

static void run_live(run *r) {
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.progress = show_progress;
    options.progress_user = r;
    double begin = seconds_now();
    gpuchar_status status = gpuchar_session_open(r->runtime, r->arguments.device, &options, &r->session);
    if (status < 0 && means_no_gpu(status)) {
        run_without_gpu(r);
    } else if (status < 0) {
        complain("session");
        r->worst = EXIT_EXPERIMENT;
    } else {
        if (r->arguments.bench) printf("session_open_ns: %.0f\n", (seconds_now() - begin) * 1e9);
        run_all(r);
    }
}

/* ---- main ---- */

static void print_list(void) {
    const gpuchar_experiment *experiment = NULL;
    for (size_t i = 0; (experiment = gpuchar_experiment_at(i)) != NULL; ++i) {
        printf("%-24s %s\n", experiment->name, experiment->title);
    }
}

static char *join(int count, char **words) {
    size_t length = 1;
    for (int i = 0; i < count; ++i) length += strlen(words[i]) + 1;
    char *text = calloc(1, length);
    for (int i = 0; text && i < count; ++i) {
        const char *base = i == 0 && strrchr(words[0], '/') ? strrchr(words[0], '/') + 1 : words[i];
        strcat(strcat(text, base), i + 1 < count ? " " : "");
    }
    return text;
}

int main(int count, char **words) {
    double begin = seconds_now();
    run r = {.arguments = parse(count, words)};
    if (r.arguments.help) return print_help(stdout), 0;
    if (r.arguments.version) return printf("quick_char %s\n", gpuchar_version()), 0;
    if (r.arguments.list) return print_list(), 0;
    if (!check_only(r.arguments.only)) return EXIT_USAGE;
    if (r.arguments.json && strcmp(r.arguments.json, "-") == 0) r.arguments.quiet = true;
    r.terminal = !r.arguments.quiet && isatty(STDERR_FILENO);
    char *command = join(count, words);
    r.command = command ? command : "quick_char";
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.cache_dir = r.arguments.cache;
    if (gpuchar_runtime_open(&options, &r.runtime) < 0) {
        complain("runtime");
        free(command);
        return EXIT_EXPERIMENT;
    }
    if (r.arguments.profile) {
        run_recorded(&r, r.arguments.profile);
    } else {
        run_live(&r);
    }
    gpuchar_session_close(r.session);
    gpuchar_runtime_close(r.runtime);
    free(command);
    if (r.arguments.bench) {
        bench_memory();
        printf("total_ns: %.0f\n", (seconds_now() - begin) * 1e9);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "quick_char: standard output: %s\n", strerror(errno));
        return EXIT_OUTPUT;
    }
    return r.worst;
}
