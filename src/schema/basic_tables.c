/* Tables of the structs that every result is built from, and of those of the layers below the tables. */
#include "schema/table.h"

#include <gpuchar/experiment.h>
#include <gpuchar/stat.h>

#define STAT(member, kind, unit, doc) GC_FIELD(gpuchar_stat, member, kind, unit, doc)
static const gpuchar_field stat_fields[] = {
    STAT(median, F64, "", "median; its unit and that of the others is the unit of the field that holds the summary"),
    STAT(mean, F64, "", "arithmetic mean"),
    STAT(min, F64, "", "smallest sample"),
    STAT(max, F64, "", "largest sample"),
    STAT(mad, F64, "", "median absolute deviation from the median, not scaled"),
    STAT(cv, F64, "1", "standard deviation / mean; 0 when the mean is 0"),
    STAT(ci95_low, F64, "", "lower end of the 95 % order-statistic confidence interval of the median"),
    STAT(ci95_high, F64, "", "upper end of it"),
    STAT(samples, U64, "1", "number of samples; 0: the summary is unknown"),
    STAT(outliers, U32, "1", "samples with a modified z-score above 3.5; kept, not dropped"),
    STAT(flags, U32, "", "GPUCHAR_FLAG_UNSTABLE"),
};
const gpuchar_schema gc_schema_stat = GC_SCHEMA(gpuchar_stat, stat_fields, 0, (uint32_t)offsetof(gpuchar_stat, samples),
                                                "robust summary of one sampled quantity");

#define FIT(member, kind, unit, doc) GC_FIELD(gpuchar_fit, member, kind, unit, doc)
static const gpuchar_field fit_fields[] = {
    FIT(value, F64, "", "the parameter; its unit is the unit of the field that holds the fit"),
    FIT(ci95_low, F64, "",
        "lower end of its 95 % confidence interval by Student's t; unknown with fewer than three points"),
    FIT(ci95_high, F64, "", "upper end of it"),
    FIT(r2, F64, "1", "coefficient of determination of the whole fit"),
    FIT(points, U64, "1", "number of points fitted; 0: the fit is unknown"),
};
const gpuchar_schema gc_schema_fit = GC_SCHEMA(gpuchar_fit, fit_fields, 0, (uint32_t)offsetof(gpuchar_fit, points),
                                               "one fitted parameter of a line or law");

#define EVIDENCE(member, kind, unit, doc) GC_FIELD(gpuchar_evidence, member, kind, unit, doc)
#define EVIDENCE_KNOWN(member, kind, unit, bit, doc)                                                                   \
    GC_FIELD_KNOWN(gpuchar_evidence, member, kind, unit, known, GPUCHAR_EVIDENCE_##bit, doc)
static const gpuchar_field evidence_fields[] = {
    EVIDENCE(intended_count, U64, "instructions", "warp instructions meant to be in the timed region"),
    EVIDENCE_KNOWN(decoded_count, U64, "instructions", DECODED, "warp instructions the machine code holds"),
    EVIDENCE_KNOWN(executed_count, U64, "instructions", EXECUTED,
                   "warp instructions the hardware counters saw, less scaffold_count"),
    EVIDENCE_KNOWN(scaffold_count, U64, "instructions", DECODED,
                   "other instructions that the loops around them execute"),
    EVIDENCE_KNOWN(sm_clock_hz, F64, "Hz", CLOCK, "mean SM clock while measuring"),
    EVIDENCE_KNOWN(mnemonic, TEXT, "", DECODED, "instruction under test as found in the machine code"),
    EVIDENCE(proof_status, I32, "", "GPUCHAR_OK: the machine code is proved; else why not"),
    EVIDENCE(counters_status, I32, "", "GPUCHAR_OK: the hardware counters agree; else why not"),
    EVIDENCE(counter_passes, U32, "1", "how often the kernels ran again for the counters"),
    EVIDENCE(flags, U32, "", "GPUCHAR_FLAG_..."),
    EVIDENCE(known, U32, "", "GPUCHAR_EVIDENCE_..."),
    EVIDENCE(arch, U32, "", "architecture of the machine code, 90 for sm_90"),
};
const gpuchar_schema gc_schema_evidence =
    GC_SCHEMA(gpuchar_evidence, evidence_fields, 0, GC_NONE, "what stands behind a result");

#define ERROR(member, kind, doc) GC_FIELD(gpuchar_error, member, kind, "", doc)
static const gpuchar_field error_fields[] = {
    ERROR(status, I32, "what failed"),
    ERROR(domain, U32, "GPUCHAR_DOMAIN_...: whose code native_code is"),
    ERROR(native_code, I64, "errno, CUresult, nvrtcResult, CUptiResult, nvmlReturn_t"),
    ERROR(native_name, STRING, "its name"),
    ERROR(call, STRING, "the foreign function that failed"),
    ERROR(message, STRING, "one sentence"),
    ERROR(hint, STRING, "what to do about it"),
    ERROR(log, STRING, "NVRTC's whole log"),
};
const gpuchar_schema gc_schema_error = GC_SCHEMA(gpuchar_error, error_fields, 1, GC_NONE, "detail of a failure");

#define EXPERIMENT(member, kind, unit, doc) GC_FIELD(gpuchar_experiment, member, kind, unit, doc)
static const gpuchar_field experiment_fields[] = {
    EXPERIMENT(name, STRING, "", "name; the function is gpuchar_ and this"),
    EXPERIMENT(title, STRING, "", "one line for people"),
    EXPERIMENT(options_struct, STRING, "", "name of the struct of options"),
    EXPERIMENT(result_struct, STRING, "", "name of the struct of results"),
    EXPERIMENT(options_size_bytes, U64, "bytes", "size of the struct of options"),
    EXPERIMENT(result_size_bytes, U64, "bytes", "size of the struct of results"),
};
const gpuchar_schema gc_schema_experiment =
    GC_SCHEMA(gpuchar_experiment, experiment_fields, 0, GC_NONE, "one experiment of this library");

#define JOB(member, kind, unit, doc) GC_FIELD(gpuchar_experiment_job, member, kind, unit, doc)
static const gpuchar_field job_fields[] = {
    JOB(name, STRING, "", "name of the experiment"),
    JOB(options, POINTER, "", "its options; NULL: all defaults"),
    JOB(result, POINTER, "", "its result, filled by the call"),
    JOB(status, I32, "", "how it ended, gpuchar_status"),
    JOB(reserved, U32, "", "0"),
};
const gpuchar_schema gc_schema_experiment_job =
    GC_SCHEMA(gpuchar_experiment_job, job_fields, 0, GC_NONE, "one experiment among several of a call");
