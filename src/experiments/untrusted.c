#include <core/util.h>
#include <experiments/untrusted.h>
#include <math.h>

bool gc_is_amount(double value) {
    return value >= 0 && value <= 0x1p64;
}

/* A 64-bit clock counted them, and medians of whole numbers have halves: what lies below would only make ratios overflow. */
bool gc_are_cycles(double value) {
    return value == 0 || (value >= 0.5 && value <= 0x1p64);
}

bool gc_are_threads(double value) {
    return value >= 0 && value <= 32.0001; /* quotients of counters, rounded */
}

/* Far above what lines through cycles and paths can give, far below what overflows. */
bool gc_is_of_line(double value) {
    return fabs(value) <= 0x1p80;
}

bool gc_is_same(double recorded, double derived) {
    return fabs(recorded - derived) <= 1e-9 * fmax(fabs(recorded), fabs(derived));
}

bool gc_is_fit(const gpuchar_fit *fit) {
    if (!gc_is_of_line(fit->value) || !gc_is_of_line(fit->ci95_low) || !gc_is_of_line(fit->ci95_high)) return false;
    if (!(fit->r2 >= 0 && fit->r2 <= 1) || fit->points > 32) return false;
    return fit->points < GPUCHAR_FIT_INTERVAL_POINTS || (fit->ci95_low <= fit->value && fit->value <= fit->ci95_high);
}

/* What holds of any samples that are not negative; a mean is rounded. */
static bool is_ordered(const gpuchar_stat *stat) {
    return stat->min <= stat->ci95_low && stat->ci95_low <= stat->median && stat->median <= stat->ci95_high &&
           stat->ci95_high <= stat->max && stat->mad <= stat->median && stat->mean >= stat->min * (1 - 1e-9) &&
           stat->mean <= stat->max * (1 + 1e-9);
}

bool gc_is_summary(const gpuchar_stat *stat) {
    const double amounts[] = {stat->median, stat->mean,     stat->min,      stat->max,
                              stat->mad,    stat->ci95_low, stat->ci95_high};
    for (size_t i = 0; i < GC_COUNT(amounts); ++i) {
        if (!gc_is_amount(amounts[i])) return false;
    }
    return gc_is_amount(stat->cv) && stat->outliers <= stat->samples && is_ordered(stat);
}

const char *gc_find_wrong_evidence(const gpuchar_evidence *evidence) {
    const bool proved = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0;
    const bool counted = (evidence->flags & GPUCHAR_FLAG_COUNTED) != 0;
    if (evidence->arch == 0) return "evidence.arch"; /* every call says for which one it compiled */
    if (proved != (evidence->proof_status == GPUCHAR_OK)) return "evidence.proof_status";
    if (counted && evidence->counters_status != GPUCHAR_OK) return "evidence.counters_status";
    if (counted && (!proved || (evidence->flags & GPUCHAR_FLAG_COMPILE_ONLY))) return "evidence.flags";
    return gc_is_amount(evidence->sm_clock_hz) ? NULL : "evidence.sm_clock_hz";
}

bool gc_differs(uint32_t asked, uint32_t recorded) {
    return asked != 0 && asked != recorded;
}
