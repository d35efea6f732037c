#include <experiments/reconvergence_resample.h>

#include <core/util.h>
#include <gpuchar/sass.h>
#include <stats/order.h>
#include <string.h>

enum { RULES = GPUCHAR_SASS_RULES };

/* Branches that meet at their post-dominator, of those that meet at all. */
typedef struct tally {
    uint64_t at[RULES], matched[RULES];
} tally;

static void tally_add(tally *sum, const gpuchar_reconvergence_counts *counts) {
    for (size_t rule = 0; rule < RULES; rule++) {
        const uint64_t *inside = counts->placings[rule].inside;
        sum->at[rule] += inside[GPUCHAR_SASS_PLACED_AT];
        sum->matched[rule] += inside[GPUCHAR_SASS_PLACED_AT] + inside[GPUCHAR_SASS_PLACED_BEFORE] +
                              inside[GPUCHAR_SASS_PLACED_AFTER] + inside[GPUCHAR_SASS_PLACED_ASIDE];
    }
}

/* Of ascending values, by linear interpolation between the two nearest. */
static double quantile(const double *sorted, size_t count, double fraction) {
    const double place = fraction * (double)(count - 1);
    const size_t below = (size_t)place;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

void gc_study_resample(const gpuchar_reconvergence_kernel *kernels, size_t count, uint32_t rounds, uint32_t seed,
                       double *scratch, gpuchar_reconvergence_rate rates[5]) {
    tally all = {0};
    size_t drawn[RULES] = {0};
    memset(rates, 0, RULES * sizeof *rates);
    for (size_t i = 0; i < count; i++) tally_add(&all, &kernels[i].counts);
    gc_random random = gc_random_seed(seed);
    for (uint32_t round = 0; round < rounds; round++) {
        tally one = {0};
        for (size_t i = 0; i < count; i++) tally_add(&one, &kernels[gc_random_below(&random, (uint32_t)count)].counts);
        for (size_t rule = 0; rule < RULES; rule++) {
            if (one.matched[rule])
                scratch[rule * rounds + drawn[rule]++] = (double)one.at[rule] / (double)one.matched[rule];
        }
    }
    for (size_t rule = 0; rule < RULES; rule++) {
        if (!all.matched[rule] || !drawn[rule]) continue;
        double *values = &scratch[rule * rounds];
        gc_sort_doubles(values, drawn[rule]);
        rates[rule] = (gpuchar_reconvergence_rate){.rate = (double)all.at[rule] / (double)all.matched[rule],
                                                   .low = quantile(values, drawn[rule], 0.025),
                                                   .high = quantile(values, drawn[rule], 0.975),
                                                   .samples = all.matched[rule]};
    }
}
