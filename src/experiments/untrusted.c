#include <core/util.h>
#include <experiments/untrusted.h>

bool gc_is_amount(double value) {
    return value >= 0 && value <= 0x1p64;
}

/* A 64-bit clock counted them, and medians of whole numbers have halves: what lies below would only make ratios overflow. */
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
