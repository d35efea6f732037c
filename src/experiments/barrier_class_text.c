/* The barrier-class experiment as text for people. */
#include <experiments/barrier_class_reduce.h>
#include <experiments/barrier_class_tables.h>
#include <experiments/evidence.h>
#include <math.h>
#include <stdio.h>

typedef gpuchar_barrier_class_experiment_result barrier_result;

enum { LISTED = 24 };

static const char *probe_word(uint32_t probe) {
    static const char *const words[] = {"join", "early exit", "wait"};
    return probe < GC_COUNT(words) ? words[probe] : "unknown";
}

static const char *class_word(uint32_t class) {
    static const char *const words[] = {"0", "1", "2", "3", "-"};
    return class < GC_COUNT(words) ? words[class] : "?";
}

static uint32_t all_of(const uint32_t counts[4]) {
    return counts[0] + counts[1] + counts[2] + counts[3];
}

/* ---- what the kernels hold, and their controls */

static const char *control_word(const gpuchar_barrier_run *store) {
    if (store->end == GPUCHAR_BARRIER_NOT_RUN) return "not run";
    if (store->end != GPUCHAR_BARRIER_ENDED) return "DID NOT END";
    if (store->launches > 0 && store->differing == store->launches) return "changes the output";
    return store->differing ? "CHANGES THE OUTPUT OF SOME LAUNCHES" : "DOES NOT CHANGE THE OUTPUT";
}

static void text_kernel(const gpuchar_barrier_kernel *kernel, bool launched, gc_text *text) {
    gc_text_add(text, "  %-10s ", probe_word(kernel->probe));
    if (!(kernel->known & GPUCHAR_BARRIER_CODE)) {
        gc_text_add(text, "its machine code cannot be read\n");
        return;
    }
    gc_text_add(text, "BSSY %u, BSYNC %u, BREAK %u; in loops %u, %u, %u", all_of(kernel->bssy), all_of(kernel->bsync),
                all_of(kernel->breaks), kernel->bssy_in_loops, kernel->bsync_in_loops, kernel->breaks_in_loops);
    if (launched) gc_text_add(text, "; store disabled: %s", control_word(&kernel->store));
    gc_text_add(text, "\n");
}

/* ---- one line a shape */

typedef struct tally {
    uint32_t cases, ended, output, values, met, seen, outside, timed;
    double largest; /* difference, in cycles */
} tally;

static tally tally_of(const barrier_result *result, const gpuchar_barrier_shape *shape) {
    tally t = {0};
    for (size_t i = 0; i < result->case_count; ++i) {
        const gpuchar_barrier_case *one = &result->cases[i];
        if (one->probe != shape->probe || one->warps != shape->warps) continue;
        t.cases += one->run.end != GPUCHAR_BARRIER_NOT_RUN;
        if (one->run.end != GPUCHAR_BARRIER_ENDED) continue;
        ++t.ended;
        t.output += one->run.differing == 0;
        t.values += one->run.values_differing == 0;
        t.met += one->run.met_differing == 0;
        t.seen += one->run.seen_differing == 0;
        t.outside += one->outside;
        t.timed += (one->known & GPUCHAR_BARRIER_DIFFERENCE) != 0;
        if (fabs(one->difference_cycles) > fabs(t.largest)) t.largest = one->difference_cycles;
    }
    return t;
}

static void text_shape(const barrier_result *result, const gpuchar_barrier_shape *shape, gc_text *text) {
    const tally t = tally_of(result, shape);
    gc_text_add(text, "  %-10s %2u x %-2u %5u %5u %6u %8u %4u %5u", probe_word(shape->probe), shape->blocks,
                shape->warps, t.cases, t.ended, t.output, t.values, t.met, t.seen);
    if (!(shape->known & GPUCHAR_BARRIER_NOISE)) {
        gc_text_add(text, "   -\n");
        return;
    }
    gc_text_add(text, " %10s %8s %9s %3u of %u\n", gc_number_text(shape->median_cycles, 0, 10).text,
                gc_number_text(shape->noise_cycles, 1, 8).text, gc_number_text(t.largest, 1, 9).text, t.outside,
                t.timed);
}

/* ---- those that did something */

static bool is_finding(const gpuchar_barrier_case *one) {
    return one->run.end > GPUCHAR_BARRIER_ENDED || one->run.differing > 0;
}

static void text_finding(const gpuchar_barrier_case *one, gc_text *text) {
    static const char *const ends[] = {"not run", "ended", "did not end", "broke its context"};
    const gpuchar_barrier_run *run = &one->run;
    gc_text_add(text, "  %-10s %2u warps, BSSY %s, BSYNC %s, BREAK %s: %s", probe_word(one->probe), one->warps,
                class_word(one->bssy), class_word(one->bsync), class_word(one->breaks),
                run->end < GC_COUNT(ends) ? ends[run->end] : "unknown");
    if (run->known & GPUCHAR_BARRIER_RUN_NATIVE) gc_text_add(text, " (CUDA error %lld)", (long long)run->native_code);
    if (run->known & GPUCHAR_BARRIER_RUN_COUNTS) {
        gc_text_add(text, ", another output in %u of %u launches: values %u, met %u, seen %u", run->differing,
                    run->launches, run->values_differing, run->met_differing, run->seen_differing);
    }
    gc_text_add(text, "\n");
}

static void text_findings(const barrier_result *result, gc_text *text) {
    size_t found = 0;
    for (size_t i = 0; i < result->case_count; ++i) {
        if (is_finding(&result->cases[i]) && ++found <= LISTED) text_finding(&result->cases[i], text);
    }
    if (found > LISTED) gc_text_add(text, "  and %zu more that differ or do not end\n", found - LISTED);
}

static void text_launched(const barrier_result *result, gc_text *text) {
    gc_text_add(text,
                "                             of them with equal           cycles of            largest\n"
                "  kernel     shape   cases ended output exchange  met  seen  unpatched    noise difference outside\n");
    for (size_t i = 0; i < result->shape_count; ++i) text_shape(result, &result->shapes[i], text);
    gc_text_add(text,
                "  of %u edits %u did not end, %u changed the output; cycles outside of the unpatched runs': %u, by "
                "chance %s\n",
                result->cases_run, result->cases_not_ended, result->cases_differing, result->cases_outside,
                gc_number_text(result->cases_outside_by_chance, 1, 12).text);
    text_findings(result, text);
}

/* ---- all of it */

static void text_flags(const barrier_result *result, gc_text *text) {
    uint32_t left_out = 0;
    for (size_t i = 0; i < result->case_count; ++i) left_out += result->cases[i].run.end == GPUCHAR_BARRIER_NOT_RUN;
    if (result->evidence.flags & GPUCHAR_FLAG_UNSTABLE) {
        if (left_out) gc_text_add(text, "note:         %u runs were left out\n", left_out);
        gc_text_add(text, "note:         launches that should be alike were not, or runs were left out\n");
    }
    if (result->evidence.flags & GPUCHAR_FLAG_OFF_LAW) {
        gc_text_add(text,
                    "note:         an unpatched kernel did not end, or a disabled store did not change every launch: "
                    "the driver may run other bytes\n");
    }
}

static void text_code(const barrier_result *result, bool launched, gc_text *text) {
    gc_text_add(text, "  %s\n",
                result->field_exists
                    ? "the class of BSSY, BSYNC and BREAK, bits [73:72], changed in place"
                    : "this chip has no class field: bits [73:72], changed in place, are reserved here, and "
                      "this is not the paper's experiment");
    for (size_t i = 0; i < GPUCHAR_BARRIER_PROBES; ++i) text_kernel(&result->kernels[i], launched, text);
}

void gc_barrier_text(const void *raw, gc_text *text) {
    const barrier_result *result = raw;
    const bool launched = (result->known & GPUCHAR_BARRIER_LAUNCHED) != 0;
    gpuchar_evidence evidence = result->evidence;
    evidence.flags &= ~(uint32_t)(GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW);
    if (launched) {
        text_code(result, launched, text);
        text_launched(result, text);
    }
    gc_evidence_text_uncounted(&evidence, "the kernels run in another process, where nothing is counted", text);
    text_flags(result, text);
    if (!launched) text_code(result, launched, text); /* the first line says whether all is proved */
}
