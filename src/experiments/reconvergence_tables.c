/* Field tables of reconvergence_study.h. */
#include <gpuchar/reconvergence_study.h>
#include <schema/table.h>

static const gpuchar_field source_fields[] = {
#define SF(member, kind, doc) GC_FIELD(gpuchar_reconvergence_source, member, kind, "", doc)
    SF(name, STRING, "of the text; NULL: kernel.cu"),
    SF(text, STRING, "CUDA C++"),
    SF(flags, POINTER, "further NVRTC options"),
    GC_FIELD_COUNT(gpuchar_reconvergence_source, flag_count, U64, "number of flags"),
#undef SF
};
const gpuchar_schema gc_schema_reconvergence_source =
    GC_SCHEMA(gpuchar_reconvergence_source, source_fields, 0, GC_NONE, "a source of the caller's");

static const gpuchar_field cubin_fields[] = {
    GC_FIELD(gpuchar_reconvergence_cubin, name, STRING, "", "shown in its row; NULL: cubin"),
    GC_FIELD(gpuchar_reconvergence_cubin, bytes, POINTER, "", "machine code, an ELF file"),
    GC_FIELD(gpuchar_reconvergence_cubin, size_bytes, U64, "bytes", "of the machine code"),
};
const gpuchar_schema gc_schema_reconvergence_cubin =
    GC_SCHEMA(gpuchar_reconvergence_cubin, cubin_fields, 0, GC_NONE, "ready machine code");

static const gpuchar_field options_fields[] = {
#define OF(member, kind, unit, doc) GC_FIELD(gpuchar_reconvergence_study_options, member, kind, unit, doc)
#define OC(member, doc) GC_FIELD_COUNT(gpuchar_reconvergence_study_options, member, U64, doc)
    OF(compilers, POINTER, "", "paths of libnvrtc; none: the runtime's"),
    OC(compiler_count, "number of compilers"),
    OF(assemblers, POINTER, "", "paths of ptxas programs"),
    OC(assembler_count, "number of assemblers"),
    GC_FIELD_POINTED(gpuchar_reconvergence_study_options, architectures, U32, architecture_count, "",
                     "90 for sm_90; none: all that each compiler knows"),
    OC(architecture_count, "number of architectures"),
    OF(sources, POINTER, "", "sources of the caller's; none, and no cubins: the corpus"),
    OC(source_count, "number of sources"),
    OF(cubins, POINTER, "", "ready machine code"),
    OC(cubin_count, "number of cubins"),
    OF(cancel, POINTER, "", "asked between two compilations"),
    OF(cancel_user, POINTER, "", "handed to it"),
    OF(ptx_compiler, U32, "", "index of the compiler whose PTX the assemblers get"),
    OF(ptx_architecture, U32, "", "what that PTX is made for"),
    OF(deep, U32, "", "1: the deep nests as well"),
    OF(keep_kernels, U32, "", "1: a record of each kernel in each row; 0: of the deep nests' only"),
    OF(threads, U32, "threads", "that compile; 0: as many as cores"),
    OF(rounds, U32, "1", "resamplings behind each interval"),
    OF(seed, U32, "", "of the resampling"),
    OF(work, U32, "1", "steps of straight-line work in each arm of the corpus"),
    OF(flags, U32, "", "GPUCHAR_RECONVERGENCE_... bits"),
#undef OF
#undef OC
};
const gpuchar_schema gc_schema_reconvergence_study_options =
    GC_SCHEMA(gpuchar_reconvergence_study_options, options_fields, 1, GC_NONE, "what the reconvergence study compares");

static const gpuchar_field placing_fields[] = {
#define PF(member, doc) GC_FIELD_ARRAY(gpuchar_reconvergence_placing, member, U64, "branches", doc)
    PF(inside, "in an interval: none, at, before, after, aside"),
    PF(outside, "in none"),
    PF(back, "that close a loop"),
#undef PF
};
const gpuchar_schema gc_schema_reconvergence_placing =
    GC_SCHEMA(gpuchar_reconvergence_placing, placing_fields, 0, GC_NONE, "divergent branches by placement");

static const gpuchar_field barrier_fields[] = {
    GC_FIELD(gpuchar_reconvergence_barrier, intervals, U64, "intervals", "reachable ones"),
    GC_FIELD_ARRAY(gpuchar_reconvergence_barrier, innermost, U64, "branches",
                   "of which it is the innermost, by placement under that rule"),
    GC_FIELD_ARRAY(gpuchar_reconvergence_barrier, primary, U64, "branches", "that the primary rule matches with it"),
};
const gpuchar_schema gc_schema_reconvergence_barrier =
    GC_SCHEMA(gpuchar_reconvergence_barrier, barrier_fields, 0, GC_NONE, "intervals of one class and their branches");

static const gpuchar_field warpsync_fields[] = {
#define WF(member, doc) GC_FIELD(gpuchar_reconvergence_warpsync, member, U64, "instructions", doc)
    WF(all, "for all 32 threads"),
    WF(partial, "for those of another mask, or of one in a register"),
    WF(collective, "collective ones"),
    WF(exclusive, "exclusive ones"),
#undef WF
};
const gpuchar_schema gc_schema_reconvergence_warpsync =
    GC_SCHEMA(gpuchar_reconvergence_warpsync, warpsync_fields, 0, GC_NONE, "WARPSYNC by what it waits for");

static const gpuchar_field counts_fields[] = {
#define CF(member, unit, doc) GC_FIELD(gpuchar_reconvergence_counts, member, U64, unit, doc)
#define CI(member, doc) CF(member, "instructions", doc)
#define CA(member, doc) GC_FIELD_ARRAY(gpuchar_reconvergence_counts, member, U64, "instructions", doc)
    CF(kernels, "1", "kernels"),
    CF(functions, "1", "functions that kernels call"),
    CI(instructions, "all"),
    CI(unknown, "with an opcode that is not known"),
    CI(guarded, "under a predicate, without control flow"),
    CF(unread, "1", "functions whose control flow could not be read"),
    CF(branches, "branches", "reachable ones with two or more ways"),
    CF(divergent, "branches", "not proved uniform"),
    CF(uniform_form, "branches", "uniform by their form"),
    CF(uniform_data, "branches", "uniform by their predicate's origin"),
    CF(partial_joins, "intervals", "around divergent branches, whose BSYNC does not post-dominate them"),
    CF(joined_partly, "branches", "divergent ones with such an interval"),
    CF(irreducible, "1", "edges into loops beside their head"),
    CF(loops, "1", "natural loops"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_reconvergence_counts, placings, gc_schema_reconvergence_placing, "",
                          "by rule: primary, innermost, any active, first above, next in code"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_reconvergence_counts, barriers, gc_schema_reconvergence_barrier, "",
                          "2 * class, plus 1 with a BREAK"),
    CF(unmatched, "intervals", "whose BSYNC does not stand where they say"),
    CA(bssy, "BSSY by class: bare, reliable, reconvergent, unnamed"),
    CA(bsync, "BSYNC by class"),
    CA(breaks, "BREAK by class"),
    CI(bra_u, "BRA.U of opcode 947"),
    CI(bra_uniform_predicate, "BRA of opcode 1547"),
    CI(bra_uniform_register, "BRA of opcode 1947"),
    CI(bra_uniform_compare, "reachable BRA by a uniform predicate that a UISETP of their block made"),
    CI(bra_div, "BRA.DIV"),
    CI(bra_conv, "BRA.CONV"),
    GC_FIELD_STRUCT(gpuchar_reconvergence_counts, warpsync_kernels, gc_schema_reconvergence_warpsync, "", "in kernels"),
    GC_FIELD_STRUCT(gpuchar_reconvergence_counts, warpsync_functions, gc_schema_reconvergence_warpsync, "",
                    "in functions that they call"),
    CI(bmov, "BMOV"),
    CI(bmov_clear, "BMOV.CLEAR"),
    CI(bmov_saves, "BMOV into a general register that is not RZ"),
    CI(bmov_restores, "BMOV back into a barrier register"),
    CI(calls, "calls"),
    CI(call_branches, "CALL.REL.NOINC as conditional branches"),
    CI(indirect_branches, "BRX, BRXU"),
    CI(ssy, "SSY"),
    CI(sync, "SYNC"),
    CI(pbk, "PBK"),
    CI(brk, "BRK"),
    CI(pcnt, "PCNT"),
    CI(cont, "CONT"),
    CF(depth, "intervals", "most around a reachable point"),
    CF(live_barriers, "1", "most distinct barrier registers among these"),
#undef CF
#undef CI
#undef CA
};
const gpuchar_schema gc_schema_reconvergence_counts = GC_SCHEMA(gpuchar_reconvergence_counts, counts_fields, 0, GC_NONE,
                                                                "what stands in the machine code of some kernels");

static const gpuchar_field rate_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(gpuchar_reconvergence_rate, member, kind, unit, doc)
    RF(rate, F64, "1", "of the branches that match, those at their immediate post-dominator"),
    RF(low, F64, "1", "95 % interval by resampling kernels"),
    RF(high, F64, "1", "its upper end"),
    RF(samples, U64, "branches", "that match"),
#undef RF
};
const gpuchar_schema gc_schema_reconvergence_rate =
    GC_SCHEMA(gpuchar_reconvergence_rate, rate_fields, 0, (uint32_t)offsetof(gpuchar_reconvergence_rate, samples),
              "how many branches meet at their immediate post-dominator");

static const gpuchar_field deep_fields[] = {
#define DF(member, doc) GC_FIELD(gpuchar_reconvergence_deep, member, U64, "1", doc)
    DF(kernels, "deep nests whose control flow could be read"),
    DF(spilled, "of these, those that save barrier registers"),
    DF(fewer_levels, "of these, those with fewer nested intervals than levels in the source"),
    DF(fewer_unspilled, "of these, those that save no barrier"),
    DF(deepest_unspilled, "most levels of one that saves none"),
#undef DF
};
const gpuchar_schema gc_schema_reconvergence_deep =
    GC_SCHEMA(gpuchar_reconvergence_deep, deep_fields, 0, GC_NONE, "what the deep nests become");

static const gpuchar_field row_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(gpuchar_reconvergence_row, member, kind, unit, doc)
    RF(compiler, TEXT, "", "NVRTC 13.0; a ready cubin's name"),
    RF(assembler, TEXT, "", "as the cubin tells it, else by its program"),
    RF(made, U32, "", "GPUCHAR_RECONVERGENCE_BY_..., _READY"),
    RF(compiler_index, U32, "", "in the options; of a ready cubin its index"),
    RF(assembler_index, U32, "", "in the options"),
    RF(compiler_version, U32, "", "13000 for 13.0"),
    RF(assembler_version, U32, "", "the same"),
    RF(architecture, U32, "", "90: sm_90"),
    RF(ptx_architecture, U32, "", "of a row by an assembler"),
    RF(status, I32, "", "why there is nothing in this row"),
    RF(message, TEXT, "", "and in words"),
    RF(compile_ns, U64, "ns", "threads' time, all texts; 0 from the cache"),
    RF(analyze_ns, U64, "ns", "threads' time of reading the machine code"),
    GC_FIELD_STRUCT(gpuchar_reconvergence_row, counts, gc_schema_reconvergence_counts, "",
                    "of the corpus, the sources or the cubin"),
    GC_FIELD_STRUCT(gpuchar_reconvergence_row, nests, gc_schema_reconvergence_counts, "", "of the deep nests"),
    GC_FIELD_STRUCT(gpuchar_reconvergence_row, deep, gc_schema_reconvergence_deep, "", "what these become"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_reconvergence_row, rates, gc_schema_reconvergence_rate, "", "by rule"),
#undef RF
};
const gpuchar_schema gc_schema_reconvergence_row =
    GC_SCHEMA(gpuchar_reconvergence_row, row_fields, 0, GC_NONE, "one front end, one assembler, one architecture");

static const gpuchar_field kernel_fields[] = {
    GC_FIELD(gpuchar_reconvergence_kernel, name, TEXT, "", "the kernel's"),
    GC_FIELD(gpuchar_reconvergence_kernel, row, U32, "", "index of its row"),
    GC_FIELD(gpuchar_reconvergence_kernel, levels, U32, "1", "nested statements of a deep nest"),
    GC_FIELD_STRUCT(gpuchar_reconvergence_kernel, counts, gc_schema_reconvergence_counts, "", "its machine code"),
};
const gpuchar_schema gc_schema_reconvergence_kernel =
    GC_SCHEMA(gpuchar_reconvergence_kernel, kernel_fields, 0, GC_NONE, "one kernel in one row");

static const gpuchar_field pair_fields[] = {
#define PF(member, kind, unit, doc) GC_FIELD(gpuchar_reconvergence_pair, member, kind, unit, doc)
    PF(row_a, U32, "", "index of the one row"),
    PF(row_b, U32, "", "and of the other"),
    PF(alike, U64, "branches", "of one line, placed alike"),
    PF(otherwise, U64, "branches", "of one line, placed otherwise"),
    PF(only_a, U64, "branches", "more in their line than the other row has"),
    PF(only_b, U64, "branches", "the other way round"),
#undef PF
};
const gpuchar_schema gc_schema_reconvergence_pair =
    GC_SCHEMA(gpuchar_reconvergence_pair, pair_fields, 0, GC_NONE, "two rows, branch by branch of each line");

static const gpuchar_field result_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(gpuchar_reconvergence_study_result, member, kind, unit, doc)
#define RP(member, element, count, doc)                                                                                \
    GC_FIELD_STRUCT_POINTED(gpuchar_reconvergence_study_result, member, element, count, "", doc),                      \
        GC_FIELD_COUNT(gpuchar_reconvergence_study_result, count, U64, "how many")
    RP(rows, gc_schema_reconvergence_row, row_count, "by compilers, assemblers, cubins; by architecture in each"),
    RP(kernels, gc_schema_reconvergence_kernel, kernel_count, "by row"),
    RP(pairs, gc_schema_reconvergence_pair, pair_count, "rows matched by source line"),
    RF(threads, U32, "threads", "that compiled"),
    RF(rounds, U32, "1", "resamplings behind each interval"),
    RF(seed, U32, "", "of the resampling"),
    RF(work, U32, "1", "steps of straight-line work in each arm of the corpus"),
    RF(load_ns, U64, "ns", "opening the libraries"),
    RF(compile_ns, U64, "ns", "threads' time of all compilations"),
    RF(analyze_ns, U64, "ns", "threads' time of reading the machine code"),
    RF(resample_ns, U64, "ns", "resampling and matching"),
    RF(call_ns, U64, "ns", "the whole call"),
#undef RF
#undef RP
};
const gpuchar_schema gc_schema_reconvergence_study_result = GC_SCHEMA(
    gpuchar_reconvergence_study_result, result_fields, 1, GC_NONE, "where compilers let divergent threads meet again");
