/*
 * quick_char: what this GPU really does, in seconds. It knows no experiment by name: what the library offers, it runs.
 * docs/quick_char.md tells its options and exit codes.
 */
#include "quick_char/quick_char.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One run of the program. */
typedef struct run {
    arguments arguments;
    gpuchar_runtime *runtime;
    gpuchar_session *session;
    gpuchar_profile *profile;
    const char *command;
    bool recorded; /* answers come from a profile */
    bool written;  /* the document of --json is */
    int worst;
} run;

/* ---- experiments ---- */

enum { EXPERIMENTS_MAX = 64 };

/* The selected experiments as jobs of one call. */
typedef struct batch {
    run *run;
    const char *architecture; /* compile-only: one line each, under this name */
    const gpuchar_experiment *experiments[EXPERIMENTS_MAX];
    gpuchar_experiment_job jobs[EXPERIMENTS_MAX];
    void *options[EXPERIMENTS_MAX];
    size_t count, ended;
} batch;

static void *make_struct(size_t size) {
    size_t *made = calloc(1, size);
    if (!made) {
        fputs("quick_char: out of memory\n", stderr);
        exit(EXIT_EXPERIMENT);
    }
    *made = size; /* every options and result struct begins with its size */
    return made;
}

static void show_result(const gpuchar_experiment *experiment, const void *result) {
    char *text = NULL;
    if (gpuchar_experiment_text(experiment->name, result, &text) < 0) {
        complain(experiment->name);
        return;
    }
    printf("%s: %s\n%s\n", experiment->name, experiment->title, text);
    gpuchar_string_free(text);
}

static void show_proof(const gpuchar_experiment *experiment, const char *architecture, const void *result) {
    uint64_t compile_ns = 0;
    char *text = NULL;
    if (gpuchar_experiment_text(experiment->name, result, &text) < 0) {
        complain(experiment->name);
        return;
    }
    field_value(experiment->result_struct, result, "compile_ns", &compile_ns);
    printf("  %-7s %s, compiled in %.2f s; %.*s\n", architecture, experiment->name, (double)compile_ns * 1e-9,
           (int)strcspn(text, "\n"), text);
    gpuchar_string_free(text);
}

static void keep_result(run *r, const gpuchar_experiment *experiment, const void *result) {
    if (r->profile && gpuchar_profile_add(r->profile, experiment->name, result) < 0) {
        complain("profile");
        r->worst = EXIT_EXPERIMENT;
    }
}

/* A gpuchar_experiment_ended_function. */
static void take_result(void *user, size_t index) {
    batch *b = user;
    run *r = b->run;
    const gpuchar_experiment *experiment = b->experiments[index];
    const gpuchar_experiment_job *job = &b->jobs[index];
    clear_progress();
    b->ended++;
    if (job->status == GPUCHAR_E_NOT_RECORDED && r->recorded && !r->arguments.only) {
        /* An older recording knows nothing of newer experiments, for which nobody asked by name. */
        if (!r->arguments.quiet) printf("%s: not in this recording\n\n", experiment->name);
    } else if (job->status == GPUCHAR_E_NOT_APPLICABLE && !r->arguments.only) {
        /* Not every experiment is one for every chip. */
        if (!r->arguments.quiet) printf("%s: %s\n\n", experiment->name, gpuchar_last_error()->message);
    } else if (job->status < 0) {
        complain(b->architecture ? b->architecture : experiment->name);
        r->worst = EXIT_EXPERIMENT;
    } else {
        if (!r->arguments.quiet && b->architecture) show_proof(experiment, b->architecture, job->result);
        if (!r->arguments.quiet && !b->architecture) show_result(experiment, job->result);
        fflush(stdout);
        keep_result(r, experiment, job->result);
        /* What a recorded result says of its call is not what this run cost. */
        if (!r->recorded) bench_call(experiment, "first", job->result);
    }
}

/* A recording answers with all it has when nothing is asked for. */
static void set_preset(const run *r, const gpuchar_experiment *experiment, void *options) {
    if (r->recorded) return;
    gpuchar_experiment_preset(experiment->name, r->arguments.full ? GPUCHAR_PRESET_FULL : GPUCHAR_PRESET_QUICK,
                              options);
}

static void select_all(batch *b) {
    const gpuchar_experiment *experiment = NULL;
    for (size_t i = 0; (experiment = gpuchar_experiment_at(i)) != NULL && b->count < EXPERIMENTS_MAX; ++i) {
        if (!is_selected(&b->run->arguments, experiment->name)) continue;
        void *options = b->options[b->count] = make_struct(experiment->options_size_bytes);
        set_preset(b->run, experiment, options);
        b->experiments[b->count] = experiment;
        b->jobs[b->count] = (gpuchar_experiment_job){.name = experiment->name, .options = options};
        b->jobs[b->count++].result = make_struct(experiment->result_size_bytes);
    }
}

/* The same call once more, warm, alone and without counters. */
static void run_warm(run *r, const gpuchar_experiment *experiment, void *options, void *result) {
    const gpuchar_schema *schema = gpuchar_schema_get(experiment->options_struct);
    for (uint32_t i = 0; schema && i < schema->field_count; ++i) {
        uint32_t off = GPUCHAR_COUNTERS_OFF;
        if (strcmp(schema->fields[i].name, "counters") == 0) {
            memcpy((char *)options + schema->fields[i].offset, &off, sizeof off);
        }
    }
    gpuchar_experiment_result_free(experiment->name, result);
    gpuchar_status status = gpuchar_experiment_run(r->session, experiment->name, options, result);
    clear_progress();
    if (status < 0) {
        complain("warm call");
        r->worst = EXIT_EXPERIMENT;
    } else {
        bench_call(experiment, "warm", result);
    }
}

/* All selected experiments on the open session. */
static void run_selected(run *r, const char *architecture) {
    batch b = {.run = r, .architecture = architecture};
    select_all(&b);
    uint64_t begin = now_ns();
    gpuchar_status status = gpuchar_experiment_run_all(r->session, b.jobs, b.count, take_result, &b);
    bench_step("run_all", begin);
    if (status < 0 && b.ended < b.count) {
        complain("experiments");
        r->worst = EXIT_EXPERIMENT;
    }
    for (size_t i = 0; i < b.count; ++i) {
        const bool again = r->arguments.bench && !r->recorded && b.jobs[i].status >= 0;
        if (again) run_warm(r, b.experiments[i], b.options[i], b.jobs[i].result);
        gpuchar_experiment_result_free(b.experiments[i]->name, b.jobs[i].result);
        free(b.jobs[i].result);
        free(b.options[i]);
    }
}

/* ---- the document ---- */

/* Whether --json can be written is known before anything is measured. A plain file is replaced as a whole. */
static bool can_write(const char *path) {
    struct stat about;
    bool can = false;
    if (!path || strcmp(path, "-") == 0) return true;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
    } else if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        can = access(path, W_OK) == 0;
    } else {
        const char *slash = strrchr(path, '/');
        char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
        can = folder && access(folder, W_OK | X_OK) == 0;
        free(folder);
    }
    if (!can) fprintf(stderr, "quick_char: %s cannot be written: %s\n", path, strerror(errno));
    return can;
}

/* Results of the open session are kept from here on, when there is a file to write them to. */
static void begin_document(run *r) {
    if (r->arguments.json && gpuchar_profile_create(r->session, &r->profile) < 0) {
        complain("profile");
        r->worst = EXIT_EXPERIMENT;
    }
}

static gpuchar_status save_profile(const run *r, const char *path) {
    char *text = NULL;
    gpuchar_profile_set_command(r->profile, r->command);
    if (strcmp(path, "-") != 0) return gpuchar_profile_save(r->profile, path);
    gpuchar_status status = gpuchar_profile_text(r->profile, &text);
    if (status >= 0) fputs(text, stdout);
    gpuchar_string_free(text);
    return status;
}

static void end_document(run *r) {
    if (!r->profile) return;
    r->written = save_profile(r, r->arguments.json) >= 0;
    if (!r->written) {
        complain(r->arguments.json);
        r->worst = EXIT_OUTPUT;
    }
    gpuchar_profile_free(r->profile);
    r->profile = NULL;
}

static void show_device_and_run(run *r) {
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    if (!r->arguments.quiet && gpuchar_device_info_get(r->session, &info) >= 0) print_device(&info);
    run_selected(r, NULL);
}

static void run_and_keep(run *r) {
    begin_document(r);
    show_device_and_run(r);
    end_document(r);
}

/* ---- without a GPU ---- */

/* A document holds one device: `keep` is the architecture it gets. */
static void prove_for(run *r, uint32_t architecture, bool keep) {
    char name[16];
    snprintf(name, sizeof name, "sm_%u", architecture);
    if (gpuchar_session_open(r->runtime, name, NULL, &r->session) < 0) {
        complain(name);
        r->worst = EXIT_EXPERIMENT;
        return;
    }
    if (keep) begin_document(r);
    run_selected(r, name);
    if (keep) end_document(r);
    gpuchar_session_close(r->session);
    r->session = NULL;
    if (keep && r->written && !r->arguments.quiet) {
        printf("%s holds what was compiled for %s; nothing was measured\n", r->arguments.json, name);
    }
}

static void prove_everywhere(run *r) {
    uint32_t architectures[64];
    size_t count = 0;
    if (gpuchar_runtime_architectures(r->runtime, architectures, 64, &count) < 0) {
        complain("kernels cannot be compiled either");
        return;
    }
    if (count > 64) count = 64;
    if (!r->arguments.quiet) printf("Kernels, generated, compiled and proved without a GPU:\n");
    for (size_t i = 0; i < count; ++i) prove_for(r, architectures[i], i + 1 == count);
    if (!r->arguments.quiet) printf("\n");
}

static bool open_recorded(run *r, const char *path) {
    uint64_t begin = now_ns();
    if (gpuchar_session_open_recorded(r->runtime, path, &r->session) < 0) {
        complain(path);
        r->worst = EXIT_EXPERIMENT;
        return false;
    }
    bench_step("session_open", begin);
    if (!r->arguments.quiet) {
        printf("Recorded, not measured now, from ");
        put_text(stdout, path);
        printf(":\n");
    }
    r->recorded = true;
    return true;
}

/* For people only: a recording of another GPU is no result of this run, and never becomes its document. */
static void show_recorded(run *r) {
    char path[4096];
    if (r->arguments.quiet) return;
    if (!find_recorded_profile(path, sizeof path)) {
        fprintf(stderr, "quick_char: there is no recorded profile to show\n"
                        "  hint: GPUCHAR_PROFILES names a folder of them\n");
    } else if (open_recorded(r, path)) {
        show_device_and_run(r);
    }
}

static void run_without_gpu(run *r) {
    complain_of_gpu();
    if (r->arguments.require_gpu) {
        r->worst = EXIT_NO_GPU;
        return;
    }
    uint64_t begin = now_ns();
    prove_everywhere(r);
    bench_step("prove_everywhere", begin);
    if (r->arguments.json && !r->written) {
        fprintf(stderr, "quick_char: nothing was written to %s\n", r->arguments.json);
        if (!r->worst) r->worst = EXIT_OUTPUT;
    }
    show_recorded(r);
}

/*
 * No driver, none that works, or none that shows a GPU. Everything else (a wrong device string, a GPU that is held by
 * others or lost, another library that is not what it should be) is an error of its own. A driver that is there and does not start fails in its first two calls.
 */
static bool means_no_gpu(gpuchar_status status) {
    const gpuchar_error *error = gpuchar_last_error();
    bool starting = strcmp(error->call, "cuInit") == 0 || strcmp(error->call, "cuDriverGetVersion") == 0;
    return status == GPUCHAR_E_NO_DRIVER || status == GPUCHAR_E_NO_DEVICE || status == GPUCHAR_E_DRIVER_TOO_OLD ||
           (status == GPUCHAR_E_SYMBOL_MISSING && error->domain == GPUCHAR_DOMAIN_CUDA) ||
           (status == GPUCHAR_E_CUDA && starting);
}

static void run_live(run *r) {
    size_t architectures = 0;
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    /* Loads NVRTC: while the session opens, the system reads it from disk. What fails here fails again where it counts. */
    gpuchar_runtime_architectures(r->runtime, NULL, 0, &architectures);
    if (!r->arguments.quiet && !r->arguments.verbose && isatty(STDERR_FILENO)) options.progress = show_progress;
    uint64_t begin = now_ns();
    gpuchar_status status = gpuchar_session_open(r->runtime, r->arguments.device, &options, &r->session);
    bench_step("session_open", begin);
    if (status < 0 && means_no_gpu(status)) {
        run_without_gpu(r);
    } else if (status < 0) {
        complain("session");
        /* What is not readable as a device is a typing error; a device that is not there is not. */
        r->worst = status == GPUCHAR_E_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_EXPERIMENT;
    } else {
        run_and_keep(r);
    }
}

/* ---- main ---- */

static void print_list(void) {
    const gpuchar_experiment *experiment = NULL;
    for (size_t i = 0; (experiment = gpuchar_experiment_at(i)) != NULL; ++i) {
        printf("%-24s %s\n", experiment->name, experiment->title);
    }
}

/* The command line for the document, without the program's folder. */
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

static void run_with_runtime(run *r) {
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.cache_dir = r->arguments.cache;
    if (r->arguments.verbose) {
        options.log = show_log;
        options.log_level = GPUCHAR_LOG_DEBUG;
    }
    uint64_t begin = now_ns();
    gpuchar_status status = gpuchar_runtime_open(&options, &r->runtime);
    if (status < 0) {
        complain("runtime");
        r->worst = status == GPUCHAR_E_IO ? EXIT_OUTPUT : EXIT_EXPERIMENT; /* the cache folder, the only file of it */
        return;
    }
    bench_step("runtime_open", begin);
    if (r->arguments.profile) {
        if (open_recorded(r, r->arguments.profile)) run_and_keep(r);
    } else {
        run_live(r);
    }
    begin = now_ns();
    gpuchar_session_close(r->session);
    gpuchar_runtime_close(r->runtime);
    bench_step("close", begin);
}

static int finish(const run *r) {
    bench_end();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "quick_char: standard output cannot be written: %s\n", strerror(errno));
        return EXIT_OUTPUT;
    }
    return r->worst;
}

int main(int count, char **words) {
    run r = {.arguments = parse_arguments(count, words)};
    bool to_stdout = r.arguments.json && strcmp(r.arguments.json, "-") == 0;
    /* A document on standard output stays alone there. */
    if (to_stdout) r.arguments.quiet = true;
    bench_begin(!r.arguments.bench ? NULL : to_stdout ? stderr : stdout);
    if (r.arguments.help || r.arguments.version || r.arguments.list) {
        if (r.arguments.help) print_help(stdout);
        if (r.arguments.version) printf("quick_char %s\n", gpuchar_version());
        if (r.arguments.list) print_list();
        bench_begin(NULL);
        return finish(&r);
    }
    if (!can_write(r.arguments.json)) return EXIT_OUTPUT;
    char *command = join(count, words);
    r.command = command ? command : "quick_char";
    run_with_runtime(&r);
    free(command);
    return finish(&r);
}
