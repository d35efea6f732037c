/* Fields of the barrier-class experiment. */
#include <experiments/barrier_class_tables.h>
#include <gpuchar/barrier_class.h>
#include <schema/table.h>
#include <stdlib.h>

static const gpuchar_field options_fields[] = {
#define OF(member, unit, doc) GC_FIELD(gpuchar_barrier_class_experiment_options, member, U32, unit, doc)
    GC_FIELD_COUNTED_ARRAY(gpuchar_barrier_class_experiment_options, warps, U32, warps_count, "warps", "of a block"),
    GC_FIELD_COUNT(gpuchar_barrier_class_experiment_options, warps_count, U32, "how many shapes; 0: 1, 4, 32"),
    OF(blocks, "1", "of each launch"),
    OF(classes, "", "bit n: class n is tried"),
    OF(combinations, "", "GPUCHAR_BARRIER_COMBINATIONS_..."),
    OF(turns, "1", "of each kernel's outer loop"),
    OF(launches, "1", "of each run, without the warm-up"),
    OF(spin_limit, "1", "how often a lane asks in one turn at most"),
    OF(limit_ms, "ms", "for the launches of one run"),
    OF(lost_limit, "1", "so many runs may not come to their end"),
    OF(counters, "", "GPUCHAR_COUNTERS_..."),
    OF(require, "", "GPUCHAR_REQUIRE_... bits"),
#undef OF
};
const gpuchar_schema gc_schema_barrier_class_experiment_options =
    GC_SCHEMA(gpuchar_barrier_class_experiment_options, options_fields, 1, GC_NONE,
              "which classes barriers get, and how the kernels run");

static const gpuchar_field run_fields[] = {
#define NF(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_barrier_run, member, kind, unit, known, GPUCHAR_BARRIER_RUN_##bit, doc)
    GC_FIELD(gpuchar_barrier_run, end, U32, "", "GPUCHAR_BARRIER_..., how it ended, of several runs the worst"),
    GC_FIELD(gpuchar_barrier_run, known, U32, "", "GPUCHAR_BARRIER_RUN_... bits: which values are known"),
    GC_FIELD(gpuchar_barrier_run, runs, U32, "1", "made"),
    GC_FIELD(gpuchar_barrier_run, launches, U32, "1", "that came to their end, warm-ups among them"),
    NF(differing, U32, "1", COUNTS, "launches with another output than the first unpatched one"),
    NF(values_differing, U32, "1", COUNTS, "in what was worked out and exchanged"),
    NF(met_differing, U32, "1", COUNTS, "in how many lanes had met"),
    NF(seen_differing, U32, "1", COUNTS, "in the turns in which the other side was seen"),
    NF(met_min, U64, "lanes", COUNTS, "there behind the joins, all threads together, fewest of all launches"),
    NF(met_max, U64, "lanes", COUNTS, "the most"),
    NF(seen_min, U64, "1", COUNTS, "turns in which a thread saw the other side, all together, fewest"),
    NF(seen_max, U64, "1", COUNTS, "the most"),
    NF(spins_min, U64, "1", COUNTS, "how often the threads asked, all together, fewest"),
    NF(spins_max, U64, "1", COUNTS, "the most"),
    NF(native_code, I64, "", NATIVE, "the driver's, of a kernel that broke its context"),
    GC_FIELD_STRUCT(gpuchar_barrier_run, cycles, gc_schema_stat, "cycles", "of the longest warp of each launch"),
#undef NF
};
const gpuchar_schema gc_schema_barrier_run =
    GC_SCHEMA(gpuchar_barrier_run, run_fields, 0, GC_NONE, "what the launches of one cubin and shape did");

static const gpuchar_field kernel_fields[] = {
#define KF(member, unit, doc)                                                                                          \
    GC_FIELD_KNOWN(gpuchar_barrier_kernel, member, U32, unit, known, GPUCHAR_BARRIER_CODE, doc)
#define KA(member, doc)                                                                                                \
    GC_FIELD_KNOWN_ARRAY(gpuchar_barrier_kernel, member, U32, "instructions", known, GPUCHAR_BARRIER_CODE, doc)
    GC_FIELD(gpuchar_barrier_kernel, probe, U32, "", "GPUCHAR_BARRIER_PROBE_..."),
    GC_FIELD(gpuchar_barrier_kernel, proof_status, I32, "", "GPUCHAR_OK: proved"),
    GC_FIELD(gpuchar_barrier_kernel, known, U32, "", "GPUCHAR_BARRIER_CODE: what the machine code holds"),
    KF(instructions, "instructions", "of the kernel"),
    KA(bssy, "BSSY of each class, as compiled"),
    KA(bsync, "BSYNC of each class, as compiled"),
    KA(breaks, "BREAK of each class, as compiled"),
    KF(bssy_in_loops, "instructions", "BSSY in loops between the clock reads"),
    KF(bsync_in_loops, "instructions", "BSYNC in loops between the clock reads"),
    KF(breaks_in_loops, "instructions", "BREAK in loops between the clock reads"),
    GC_FIELD(gpuchar_barrier_kernel, stores_disabled, U32, "instructions", "in the control"),
    GC_FIELD_STRUCT(gpuchar_barrier_kernel, store, gc_schema_barrier_run, "", "the control, its store disabled"),
#undef KA
#undef KF
};
const gpuchar_schema gc_schema_barrier_kernel =
    GC_SCHEMA(gpuchar_barrier_kernel, kernel_fields, 0, GC_NONE, "one kernel as compiled, and its control");

static const gpuchar_field shape_fields[] = {
#define SF(member, doc) GC_FIELD_KNOWN(gpuchar_barrier_shape, member, F64, "cycles", known, GPUCHAR_BARRIER_NOISE, doc)
    GC_FIELD(gpuchar_barrier_shape, probe, U32, "", "GPUCHAR_BARRIER_PROBE_..."),
    GC_FIELD(gpuchar_barrier_shape, warps, U32, "warps", "of a block"),
    GC_FIELD(gpuchar_barrier_shape, blocks, U32, "1", "of a launch"),
    GC_FIELD(gpuchar_barrier_shape, known, U32, "", "GPUCHAR_BARRIER_NOISE: medians and noise"),
    GC_FIELD_STRUCT(gpuchar_barrier_shape, run, gc_schema_barrier_run, "", "the unpatched cubin, all its runs"),
    SF(median_cycles, "of the runs' medians the median"),
    SF(median_min_cycles, "the lowest"),
    SF(median_max_cycles, "the highest"),
    SF(noise_cycles, "their standard deviation"),
#undef SF
};
const gpuchar_schema gc_schema_barrier_shape =
    GC_SCHEMA(gpuchar_barrier_shape, shape_fields, 0, GC_NONE, "the unpatched cubin in one shape");

static const gpuchar_field case_fields[] = {
#define CF(member, unit, doc) GC_FIELD(gpuchar_barrier_case, member, U32, unit, doc)
#define CK(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_barrier_case, member, kind, unit, known, GPUCHAR_BARRIER_##bit, doc)
    CF(probe, "", "GPUCHAR_BARRIER_PROBE_..."),
    CF(warps, "warps", "of a block"),
    CF(bssy, "", "the class that BSSY got; 4: as compiled"),
    CF(bsync, "", "the class that BSYNC got"),
    CF(breaks, "", "the class that BREAK got"),
    CF(edited, "instructions", "that got a class"),
    CF(changed, "instructions", "of them those that had another one"),
    CF(known, "", "GPUCHAR_BARRIER_DIFFERENCE, GPUCHAR_BARRIER_UNITS: which values are known"),
    CK(outside, U32, "", DIFFERENCE, "1: its median lies beyond all those of unpatched runs"),
    CK(difference_cycles, F64, "cycles", DIFFERENCE, "its median less that of the unpatched runs"),
    CK(difference_noise, F64, "1", UNITS, "the same in units of their noise"),
    GC_FIELD_STRUCT(gpuchar_barrier_case, run, gc_schema_barrier_run, "", "its run"),
#undef CK
#undef CF
};
const gpuchar_schema gc_schema_barrier_case =
    GC_SCHEMA(gpuchar_barrier_case, case_fields, 0, GC_NONE, "one edit in one shape");

static const gpuchar_field result_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(gpuchar_barrier_class_experiment_result, member, kind, unit, doc)
#define RK(member, kind, unit, doc)                                                                                    \
    GC_FIELD_KNOWN(gpuchar_barrier_class_experiment_result, member, kind, unit, known, GPUCHAR_BARRIER_LAUNCHED, doc)
    RF(blocks, U32, "1", "of each launch"),
    RF(classes, U32, "", "bit n: class n was tried"),
    RF(combinations, U32, "", "GPUCHAR_BARRIER_COMBINATIONS_..."),
    RF(turns, U32, "1", "of each kernel's outer loop"),
    RF(launches, U32, "1", "of each run, without the warm-up"),
    RF(spin_limit, U32, "1", "how often a lane asks in one turn at most"),
    RF(limit_ms, U32, "ms", "for the launches of one run"),
    RF(lost_limit, U32, "1", "so many runs may not come to their end"),
    RF(field_exists, U32, "", "1: the chip has the class field; 0: what was changed are reserved bits"),
    RF(known, U32, "", "GPUCHAR_BARRIER_LAUNCHED: which values are known"),
    RK(cases_run, U32, "1", "cases whose run was made"),
    RK(cases_not_ended, U32, "1", "of them those that did not end or broke their context"),
    RK(cases_differing, U32, "1", "with another output"),
    RK(cases_outside, U32, "1", "with cycles outside of the unpatched runs'"),
    RK(cases_outside_by_chance, F64, "1", "how many that would be if classes did nothing"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_barrier_class_experiment_result, kernels, gc_schema_barrier_kernel, "",
                          "the kernels as compiled, and their controls"),
    GC_FIELD_STRUCT_POINTED(gpuchar_barrier_class_experiment_result, shapes, gc_schema_barrier_shape, shape_count, "",
                            "the unpatched cubins"),
    GC_FIELD_COUNT(gpuchar_barrier_class_experiment_result, shape_count, U64, "number of shapes of all kernels"),
    GC_FIELD_STRUCT_POINTED(gpuchar_barrier_class_experiment_result, cases, gc_schema_barrier_case, case_count, "",
                            "the patched cubins"),
    GC_FIELD_COUNT(gpuchar_barrier_class_experiment_result, case_count, U64, "number of cases"),
    RF(compile_ns, U64, "ns", "0 when the kernels came from the cache"),
    RF(prove_ns, U64, "ns", "host time of the proofs and of all edits"),
    RK(launches_ns, U64, "ns", "host time of the launches in the other process"),
    RF(call_ns, U64, "ns", "host time of the whole call"),
    GC_FIELD_STRUCT(gpuchar_barrier_class_experiment_result, evidence, gc_schema_evidence, "", "what stands behind it"),
#undef RK
#undef RF
};
const gpuchar_schema gc_schema_barrier_class_experiment_result =
    GC_SCHEMA(gpuchar_barrier_class_experiment_result, result_fields, 1, GC_NONE,
              "whether the class of a convergence barrier does anything");

void gc_barrier_free(void *raw) {
    gpuchar_barrier_class_experiment_result *result = raw;
    free(result->shapes);
    free(result->cases);
    result->shapes = NULL;
    result->cases = NULL;
    result->shape_count = result->case_count = 0;
}
