#include <core/util.h>
#include <experiments/recorded_checks.h>
#include <gpuchar/counters.h>
#include <gpuchar/experiment.h>

bool gc_is_amount(double value) {
    return value >= 0 && value <= 0x1p64;
}

bool gc_are_cycles(double value) {
    return value == 0 || (value >= 0.5 && value <= 0x1p64);
}

bool gc_is_summary(const gpuchar_stat *stat) {
    const double amounts[] = {stat->median, stat->mean,     stat->min,      stat->max,
                              stat->mad,    stat->ci95_low, stat->ci95_high};
    for (size_t i = 0; i < GC_COUNT(amounts); ++i) {
        if (!gc_is_amount(amounts[i])) return false;
    }
    return stat->cv >= 0 && stat->outliers <= stat->samples;
}

bool gc_differs(uint32_t asked, uint32_t recorded) {
    return asked != 0 && asked != recorded;
}

const char *gc_find_demand(uint32_t counters, uint32_t require, const gpuchar_evidence *evidence) {
    const uint32_t unsteady = GPUCHAR_FLAG_THROTTLED | GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW;
    bool counted = (evidence->flags & GPUCHAR_FLAG_COUNTED) != 0, proved = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0;
    if (counters == GPUCHAR_COUNTERS_REQUIRED && !counted) return "counters";
    if ((require & GPUCHAR_REQUIRE_COUNTED) && !counted) return "require";
    if ((require & GPUCHAR_REQUIRE_PROVED) && !proved) return "require";
    return (require & GPUCHAR_REQUIRE_STABLE) && (evidence->flags & unsteady) ? "require" : NULL;
}
