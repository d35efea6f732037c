/* Whether lanes that wait for other lanes of their own warp ever go on: probes that run in the worker. */
#include <core/error.h>
#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <experiments/options.h>
#include <experiments/progress_recorded.h>
#include <experiments/progress_reduce.h>
#include <experiments/progress_tables.h>
#include <measure/kernel.h>
#include <measure/timing.h>
#include <proof/spin_proof.h>
#include <sass/patch.h>
#include <stdio.h>
#include <stdlib.h>
#include <worker/worker.h>

#define KERNEL "gpuchar_forward_progress"

/* The kernel's GPUCHAR_PROBE less one. */
enum { PROBE_LOCK, PROBE_PRODUCER, PROBE_PEER, PROBE_PEER_SWAPPED, PROBES };
#define ORDERS 2

/* Kernel arguments, as in forward_progress.cu; the worker puts the addresses in. */
typedef struct progress_args {
    gc_header header;
    uint64_t state;
    uint32_t spin_limit;
    uint32_t reserved;
} progress_args;

static const gc_spin_layout layout = {
    .argument_bytes = sizeof(progress_args),
    .samples_argument = offsetof(progress_args, header.samples),
    .sink_argument = offsetof(progress_args, header.sink),
    .slot_argument = offsetof(progress_args, header.slot),
    .turns_argument = offsetof(progress_args, header.iterations),
    .state_argument = offsetof(progress_args, state),
    .limit_argument = offsetof(progress_args, spin_limit),
    .lock = offsetof(gc_progress_state, lock),
    .counter = offsetof(gc_progress_state, counter),
    .flag = offsetof(gc_progress_state, flag),
    .answer = offsetof(gc_progress_state, answer),
    .turn = offsetof(gc_progress_state, turn),
    .spins = offsetof(gc_progress_state, spins),
};

/* What the hardware wrote that no launch can write; as in timing.c. */
static const char impossible_hint[] = "a debugger or profiler may change the kernels, or the GPU's memory fails "
                                      "(dmesg, \"NVRM: Xid\"); repeat without it";

/* One call: what it holds until its end. */
typedef struct progress {
    gc_call call;
    gpuchar_session *session;
    const gpuchar_forward_progress_options *options;
    gpuchar_forward_progress_result *result;
    void *without_yield[ORDERS]; /* copies of the peer probes' images, patched; NULL: not possible */
    gc_worker *worker;
    bool unlike; /* launches of one probe ended in different ways, or were not all made */
    gc_spin_proof proofs[PROBES];
} progress;

/* ---- options ---- */

static gpuchar_status check_producers(gpuchar_forward_progress_options *options) {
    static const uint64_t defaults[] = {10, 1000, 100000, 10000000};
    const uint32_t count = options->producer_turns_count;
    if (count > GC_PROGRESS_PRODUCERS_MAX) {
        return gc_advise(
            gc_fail(GPUCHAR_E_LIMIT, "producer_turns_count is %u; at most %d", count, GC_PROGRESS_PRODUCERS_MAX),
            "make several calls for more");
    }
    for (uint32_t i = 0; i < GC_PROGRESS_PRODUCERS_MAX; ++i) {
        const unsigned long long turns = options->producer_turns[i];
        if (i >= count && turns != 0) {
            return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT,
                                     "producer_turns[%u] is %llu, but producer_turns_count is %u", i, turns, count),
                             "set producer_turns_count to the number of entries, or leave `producer_turns` at zero for "
                             "the default ones");
        }
        if (i < count && (turns < 1 || turns > UINT32_MAX)) {
            return gc_advise(
                gc_fail(GPUCHAR_E_LIMIT, "producer_turns[%u] is %llu; it can be 1 to %u", i, turns, UINT32_MAX),
                "leave `producer_turns` at zero for the default ones");
        }
    }
    if (count) return GPUCHAR_OK;
    memcpy(options->producer_turns, defaults, sizeof defaults);
    options->producer_turns_count = GC_COUNT(defaults);
    return GPUCHAR_OK;
}

static gpuchar_status resolve(void *raw) {
    gpuchar_forward_progress_options *options = raw;
    gpuchar_status status = gc_option_demands(options->counters, options->require);
    if (status == GPUCHAR_OK) status = check_producers(options);
    if (status != GPUCHAR_OK) return status;
    if (options->spin_limit == 0) options->spin_limit = 1u << 16;
    if (options->launches == 0) options->launches = 3;
    if (options->limit_ms == 0) options->limit_ms = 5000;
    status = gc_option_range("spin_limit", options->spin_limit, 1, GC_PROGRESS_SPINS_MAX);
    if (status == GPUCHAR_OK) status = gc_option_range("launches", options->launches, 1, GC_PROGRESS_LAUNCHES_MAX);
    if (status != GPUCHAR_OK) return status;
    return gc_option_range("limit_ms", options->limit_ms, GC_PROGRESS_LIMIT_MS_MIN, GC_PROGRESS_LIMIT_MS_MAX);
}

static void preset(uint32_t which, void *raw) {
    gpuchar_forward_progress_options *options = raw;
    if (which == GPUCHAR_PRESET_FULL) options->launches = 10;
}

/* ---- kernel and proof ---- */

static void kernels(const void *options, gc_kernel_list *list) {
    (void)options;
    for (int i = 0; i < PROBES; ++i) {
        list->templates[list->count++] = (gc_template){"forward_progress", NULL, {{"GPUCHAR_PROBE", i + 1}}, NULL};
    }
}

static void take_code(const gc_spin_proof *proof, gpuchar_progress_code *code) {
    code->proof_status = proof->status;
    if (proof->status != GPUCHAR_OK) return;
    code->known = GPUCHAR_PROGRESS_CODE_COUNTS;
    code->instructions = proof->instructions;
    code->yields = proof->yields;
    code->barriers = proof->barriers;
    code->breaks = proof->breaks;
    code->warpsyncs = proof->warpsyncs;
    code->sleeps = proof->sleeps;
    code->spins_first = proof->spins_first;
}

static gpuchar_progress_code *code_of(progress *p, int probe) {
    if (probe == PROBE_LOCK) return &p->result->lock_code;
    return probe == PROBE_PRODUCER ? &p->result->producer_code : &p->result->peers[probe - PROBE_PEER].code;
}

static gpuchar_status prove_bytes(progress *p, int probe, const void *bytes, size_t size, gpuchar_progress_code *code) {
    static const uint32_t acts[PROBES] = {GC_SPIN_TAKES_LOCK, GC_SPIN_PRODUCES, GC_SPIN_WAITS_FOR_PEER,
                                          GC_SPIN_WAITS_FOR_PEER};
    const gc_spin_claim claim = {KERNEL, acts[probe], &layout};
    gc_spin_proof *proof = &p->proofs[probe];
    gc_error_box *before = gc_error_take();
    gpuchar_status status = gc_prove_spin(bytes, size, &claim, proof);
    if (status == GPUCHAR_E_OUT_OF_MEMORY) {
        gc_error_put(before, GPUCHAR_OK); /* gives the older detail up */
        return status;
    }
    if (status != GPUCHAR_OK) snprintf(proof->reason, sizeof proof->reason, "%s", gpuchar_last_error()->message);
    gc_error_restore(before);
    take_code(proof, code);
    return gc_evidence_take_proof(&p->call, KERNEL, proof->status, proof->reason);
}

/* The peer probes once more with NOP for YIELD; where there is no YIELD, nothing. */
static gpuchar_status take_yields_out(progress *p, int order) {
    const gc_image *image = p->call.images[PROBE_PEER + order];
    const gpuchar_progress_code *original = &p->result->peers[order].code;
    gpuchar_progress_code *code = &p->result->peers[ORDERS + order].code;
    if (original->yields == 0) {
        const bool proved = original->proof_status == GPUCHAR_OK;
        code->proof_status = proved ? GPUCHAR_E_NOT_APPLICABLE : original->proof_status;
        return GPUCHAR_OK;
    }
    void *copy = malloc(image->size);
    if (!copy) return gc_fail_memory(image->size);
    memcpy(copy, image->bytes, image->size);
    p->without_yield[order] = copy;
    uint32_t removed = 0;
    gpuchar_status status = gc_patch_out(copy, image->size, KERNEL, GC_OP_YIELD, &removed);
    if (status == GPUCHAR_OK) status = prove_bytes(p, PROBE_PEER + order, copy, image->size, code);
    code->yields_removed = removed;
    return status;
}

static gpuchar_status prove(void *state) {
    progress *p = state;
    gpuchar_status status = GPUCHAR_OK;
    for (int i = 0; i < PROBES && status == GPUCHAR_OK; ++i) {
        status = prove_bytes(p, i, p->call.images[i]->bytes, p->call.images[i]->size, code_of(p, i));
    }
    for (int i = 0; i < ORDERS && status == GPUCHAR_OK; ++i) status = take_yields_out(p, i);
    return status;
}

/* ---- run ---- */

typedef struct probe {
    const char *name;
    const void *image;
    size_t image_bytes;
    uint32_t turns;
    gc_progress_kind kind;
    gpuchar_progress_run *run;
} probe;

/* A kernel that broke its context: bounded and proved, it should not. */
static void take_failure(progress *p, const probe *what, const gc_wire_answer *failure) {
    gc_log_write(gc_runtime_log(p->session->runtime), GPUCHAR_LOG_WARNING, "%s: the kernel failed in %s: %s (%lld): %s",
                 what->name, failure->call, failure->native_name, (long long)failure->native_code, failure->message);
    what->run->native_code = failure->native_code;
    what->run->known |= GPUCHAR_PROGRESS_RUN_NATIVE;
    p->result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
}

static gpuchar_status take_end(progress *p, const probe *what, const gc_progress_launch *made) {
    const char *impossible = gc_progress_impossible(made);
    if (impossible) {
        return gc_advise(
            gc_fail(GPUCHAR_E_MEASUREMENT, "%s, launch %u: %s", what->name, what->run->launches, impossible),
            impossible_hint);
    }
    if (!gc_progress_add(made, what->run)) p->unlike = true;
    if (made->kind == GC_PROGRESS_LOCK) gc_progress_add_lock(made, p->result);
    if (p->result->lock_broken) p->result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
    return GPUCHAR_OK;
}

static gpuchar_status launch(progress *p, const probe *what) {
    /* No spin is as short as a turn: with as many of them no consumer gives up before its producer is done. */
    const uint32_t enough = what->turns > p->options->spin_limit ? what->turns : p->options->spin_limit;
    const progress_args arguments = {.header = {.iterations = what->turns}, .spin_limit = enough};
    gc_progress_launch made = {.kind = what->kind, .spin_limit = enough, .turns = what->turns};
    gc_progress_state *state = &made.state;
    gc_sample sample = {0};
    const gc_worker_buffer buffers[] = {
        {.bytes = sizeof sample,
         .read = &sample,
         .read_bytes = sizeof sample,
         .argument_offset = offsetof(progress_args, header.samples)},
        {.bytes = GC_SINK_BYTES, .argument_offset = offsetof(progress_args, header.sink)},
        {.bytes = sizeof *state,
         .read = state,
         .read_bytes = sizeof *state,
         .argument_offset = offsetof(progress_args, state)},
    };
    const gc_worker_job job = {.image = what->image,
                               .image_bytes = what->image_bytes,
                               .kernel = KERNEL,
                               .arguments = &arguments,
                               .argument_bytes = sizeof arguments,
                               .grid = {1, 1, 1},
                               .block = {32, 1, 1},
                               .buffers = buffers,
                               .buffer_count = GC_COUNT(buffers),
                               .limit_ns = p->options->limit_ms * UINT64_C(1000000)};
    gc_worker_outcome outcome;
    gpuchar_status status = gc_worker_run(p->worker, &job, &outcome);
    if (status != GPUCHAR_OK) return status;
    if (outcome.end == GC_WORKER_ENDED) {
        made.cycles = sample.cycles;
        made.elapsed_ns = outcome.elapsed_ns;
        return take_end(p, what, &made);
    }
    const bool late = outcome.end == GC_WORKER_TIMED_OUT;
    if (!gc_progress_add_end(late ? GPUCHAR_PROGRESS_TIMED_OUT : GPUCHAR_PROGRESS_FAILED, what->run)) p->unlike = true;
    if (!late) take_failure(p, what, &outcome.failure);
    return GPUCHAR_OK;
}

/* All launches of one probe; one that did not end is not repeated: it cost the whole limit and a process. */
static gpuchar_status repeat(progress *p, const probe *what) {
    const gpuchar_progress_run *run = what->run;
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t i = 0; i < p->options->launches && status == GPUCHAR_OK; ++i) {
        if (!(run->known & GPUCHAR_PROGRESS_RUN_COUNTS) && i > 0) break;
        status = launch(p, what);
        if (status == GPUCHAR_OK) status = gc_session_check_cancel(p->session);
    }
    if (run->launches < p->options->launches) p->unlike = true;
    return status;
}

static gpuchar_status run_lock(progress *p) {
    gpuchar_forward_progress_result *result = p->result;
    const gc_image *image = p->call.images[PROBE_LOCK];
    const probe what = {"the lock", image->bytes, image->size, 1, GC_PROGRESS_LOCK, &result->lock};
    gpuchar_status status = repeat(p, &what);
    if (result->lock_broken) {
        gc_log_write(gc_runtime_log(p->session->runtime), GPUCHAR_LOG_WARNING,
                     "the lock did not hold: lanes had it together in %u launches", result->lock_broken);
    }
    if (result->lock.known & GPUCHAR_PROGRESS_RUN_COUNTS) return status;
    result->known &= ~(uint32_t)GPUCHAR_PROGRESS_LOCK;
    result->lock_served = result->lock_broken = 0;
    memset(result->lock_turns, 0, sizeof result->lock_turns);
    return status;
}

static gpuchar_status run_producers(progress *p) {
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < p->result->producer_count && status == GPUCHAR_OK; ++i) {
        gpuchar_progress_producer *producer = &p->result->producers[i];
        const gc_image *image = p->call.images[PROBE_PRODUCER];
        const probe what = {"the producer",       image->bytes,  image->size, (uint32_t)producer->turns,
                            GC_PROGRESS_PRODUCER, &producer->run};
        status = repeat(p, &what);
    }
    return status;
}

static gpuchar_status run_peers(progress *p) {
    gpuchar_status status = GPUCHAR_OK;
    for (int i = 0; i < 2 * ORDERS && status == GPUCHAR_OK; ++i) {
        const gc_image *image = p->call.images[PROBE_PEER + i % ORDERS];
        const void *bytes = i < ORDERS ? image->bytes : p->without_yield[i % ORDERS];
        const probe what = {"the peer wait", bytes, image->size, 1, GC_PROGRESS_PEER, &p->result->peers[i].run};
        if (bytes) status = repeat(p, &what);
    }
    return status;
}

/* What the worker's start takes longer than compiling and proving did. */
static gpuchar_status ready(void *state) {
    progress *p = state;
    const uint64_t begin = gc_now_ns();
    gpuchar_status status = gc_worker_ready(p->worker);
    gc_log_write(gc_runtime_log(p->session->runtime), GPUCHAR_LOG_DEBUG,
                 "forward_progress: gpuchar-worker was waited for %.1f ms", (double)(gc_now_ns() - begin) * 1e-6);
    return status;
}

static gpuchar_status measure(void *state) {
    progress *p = state;
    gc_timing timing = {0};
    uint32_t before = 0, after = 0;
    const uint64_t begin = gc_now_ns();
    timing.throttle_known = gc_session_throttle_reasons(p->session, &before);
    gpuchar_status status = run_lock(p);
    if (status == GPUCHAR_OK) gc_session_progress(p->session, "lock", 1);
    if (status == GPUCHAR_OK) status = run_producers(p);
    if (status == GPUCHAR_OK) gc_session_progress(p->session, "producer", 1);
    if (status == GPUCHAR_OK) status = run_peers(p);
    if (status == GPUCHAR_OK) gc_session_progress(p->session, "peer wait", 1);
    gc_worker_dismiss(p->worker);
    timing.throttle_known = gc_session_throttle_reasons(p->session, &after) && timing.throttle_known;
    timing.throttle_reasons = before | after;
    timing.steady = !p->unlike;
    p->result->launches_ns = gc_now_ns() - begin;
    p->result->known |= GPUCHAR_PROGRESS_LAUNCHED;
    gc_evidence_time(&timing, &p->result->evidence);
    return status;
}

/* ---- fill ---- */

static gpuchar_status no_counters(void *user) {
    (void)user;
    return gc_advise(gc_fail(GPUCHAR_E_NOT_APPLICABLE, "the kernels run in another process, where nothing is counted"),
                     "leave `counters` at 0, and GPUCHAR_REQUIRE_COUNTED out of `require`");
}

static gpuchar_status begin(void *state) {
    progress *p = state;
    const gpuchar_forward_progress_options *options = p->call.options;
    gpuchar_forward_progress_result *result = p->call.result;
    const uint32_t count = options->producer_turns_count;
    p->session = p->call.session;
    p->options = options;
    p->result = result;
    result->producers = calloc(count, sizeof result->producers[0]);
    if (!result->producers) return gc_fail_memory(count * sizeof result->producers[0]);
    result->producer_count = count;
    for (uint32_t i = 0; i < count; ++i) result->producers[i].turns = options->producer_turns[i];
    result->spin_limit = options->spin_limit;
    result->launches = options->launches;
    result->limit_ms = options->limit_ms;
    gpuchar_status status = gc_evidence_count(&p->call, no_counters, p);
    if (status != GPUCHAR_OK || p->session->kind != GC_SESSION_LIVE) return status;
    /* Its start goes on while this process compiles and proves. */
    return gc_worker_begin(p->session, &p->worker);
}

static void release(void *state) {
    progress *p = state;
    gc_worker_stop(p->worker);
    for (size_t i = 0; i < ORDERS; ++i) free(p->without_yield[i]);
}

/* ---- the descriptor ---- */

const gc_experiment gc_experiment_forward_progress = {
    GC_EXPERIMENT(forward_progress, "whether lanes that wait for their own warp go on"),
    .resolve = resolve,
    .preset = preset,
    .state_bytes = sizeof(progress),
    .begin = begin,
    .kernels = kernels,
    .prove = prove,
    .ready = ready,
    .measure = measure,
    .release = release,
    .result_free = gc_progress_free,
    .text = gc_progress_text,
    .answer = gc_progress_answer,
};

GC_EXPERIMENT_FUNCTIONS(forward_progress)
