#include "tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const rules[] = {"primary", "innermost", "any active", "first above", "next in code"};
static const char *const classes[] = {"bare", ".RELIABLE", ".RECONVERGENT", "unnamed"};

typedef gpuchar_reconvergence_row row_type;
typedef gpuchar_reconvergence_study_result result_type;

/* "13.0": NVRTC with its own assembler; "12.0>13.0": PTX of the one through the other. */
static void print_name(const row_type *row) {
    char name[32];
    const unsigned compiler = row->compiler_version, assembler = row->assembler_version;
    if (row->made == GPUCHAR_RECONVERGENCE_BY_ASSEMBLER) {
        snprintf(name, sizeof name, "%u.%u>%u.%u", compiler / 1000, compiler % 1000 / 10, assembler / 1000,
                 assembler % 1000 / 10);
    } else {
        snprintf(name, sizeof name, "%u.%u", compiler / 1000, compiler % 1000 / 10);
    }
    printf("%-11s sm_%-4u", name, row->architecture);
}

static void begin(const char *title, const char *columns) {
    printf("\n%s\n%-11s %-7s%s\n", title, "compiler", "chip", columns);
}

#define EACH_ROW(result, row)                                                                                          \
    for (const row_type *row = (result)->rows; row < (result)->rows + (result)->row_count; row++)                      \
        if (row->status == GPUCHAR_OK)

static unsigned long long total(const uint64_t *values, size_t count) {
    unsigned long long sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    return sum;
}

/* The paper's Figure 4, and the first rows of its Table II. */
static void print_placements(const result_type *result, size_t rule) {
    char title[160];
    snprintf(title, sizeof title,
             "divergent branches inside intervals, without back edges: where they meet, rule \"%s\"", rules[rule]);
    begin(title, "   none     at before  after  aside   at/matched     95 % of resamplings");
    EACH_ROW(result, row) {
        const uint64_t *inside = row->counts.placings[rule].inside;
        const gpuchar_reconvergence_rate *rate = &row->rates[rule];
        print_name(row);
        printf("%7" PRIu64 "%7" PRIu64 "%7" PRIu64 "%7" PRIu64 "%7" PRIu64, inside[0], inside[1], inside[2], inside[3],
               inside[4]);
        if (rate->samples)
            printf("%11.1f %%   %6.1f to %.1f %%\n", 100 * rate->rate, 100 * rate->low, 100 * rate->high);
        else
            printf("            -\n");
    }
}

static void print_branches(const result_type *result) {
    begin("branches", "    all  diverg. outside  back  uniform: form  data   partly joined   loops irreducible");
    EACH_ROW(result, row) {
        const gpuchar_reconvergence_counts *counts = &row->counts;
        print_name(row);
        printf("%7" PRIu64 "%9" PRIu64 "%8llu%6llu%15" PRIu64 "%6" PRIu64 "%16" PRIu64 "%8" PRIu64 "%12" PRIu64 "\n",
               counts->branches, counts->divergent, total(counts->placings[0].outside, 5),
               total(counts->placings[0].back, 5), counts->uniform_form, counts->uniform_data, counts->joined_partly,
               counts->loops, counts->irreducible);
    }
}

static void print_features(const result_type *result) {
    begin("features: BRA by form, WARPSYNC in kernels and in functions (all, partial, collective, exclusive)",
          "  947.U 1547 UISETP 1947  .DIV .CONV  CALL BRX   kernels        functions      nest live");
    EACH_ROW(result, row) {
        const gpuchar_reconvergence_counts *c = &row->counts;
        const gpuchar_reconvergence_warpsync *k = &c->warpsync_kernels, *f = &c->warpsync_functions;
        print_name(row);
        printf("%7" PRIu64 "%5" PRIu64 "%7" PRIu64 "%5" PRIu64 "%6" PRIu64 "%6" PRIu64 "%6" PRIu64 "%4" PRIu64,
               c->bra_u, c->bra_uniform_predicate, c->bra_uniform_compare, c->bra_uniform_register, c->bra_div,
               c->bra_conv, c->call_branches, c->indirect_branches);
        printf("   %2" PRIu64 " %2" PRIu64 " %2" PRIu64 " %2" PRIu64 "    %2" PRIu64 " %2" PRIu64 " %2" PRIu64
               " %2" PRIu64,
               k->all, k->partial, k->collective, k->exclusive, f->all, f->partial, f->collective, f->exclusive);
        printf("%8" PRIu64 "%5" PRIu64 "\n", c->depth, c->live_barriers);
    }
}

static void print_instructions(const result_type *result) {
    begin("instructions: barriers by class (bare, .RELIABLE, .RECONVERGENT, unnamed), BMOV, the token stack",
          "  BSSY               BREAK              BMOV saves   SSY  SYNC  PBK  BRK   all unknown guarded");
    EACH_ROW(result, row) {
        const gpuchar_reconvergence_counts *c = &row->counts;
        print_name(row);
        for (size_t i = 0; i < 4; i++) printf("%4" PRIu64, c->bssy[i]);
        printf("   ");
        for (size_t i = 0; i < 4; i++) printf("%4" PRIu64, c->breaks[i]);
        printf("%7" PRIu64 "%6" PRIu64 "%6" PRIu64 "%6" PRIu64 "%5" PRIu64 "%5" PRIu64 "%6" PRIu64 "%8" PRIu64
               "%8" PRIu64 "\n",
               c->bmov, c->bmov_saves, c->ssy, c->sync, c->pbk, c->brk, c->instructions, c->unknown, c->guarded);
    }
}

/* Intervals by class and BREAK; under "innermost" the branches in them. */
static void print_barriers(const result_type *result) {
    begin("intervals with and without BREAK, and the branches of which they are the innermost",
          "  class          BREAK  intervals   none     at before  after  aside");
    EACH_ROW(result, row) {
        for (size_t i = 0; i < 8; i++) {
            const gpuchar_reconvergence_barrier *barrier = &row->counts.barriers[i];
            if (barrier->intervals == 0) continue;
            print_name(row);
            printf("  %-15s%-5s%11" PRIu64, classes[i / 2], i % 2 ? "yes" : "no", barrier->intervals);
            for (size_t place = 0; place < 5; place++) printf("%7" PRIu64, barrier->innermost[place]);
            printf("\n");
        }
    }
}

static void print_deep(const result_type *result) {
    if (result->row_count == 0 || result->kernel_count == 0) return;
    begin("deep nests: kernels, those that save barrier registers, those with fewer intervals than levels",
          " kernels  save  fewer  fewer, none saved  most levels without save  nest live BMOV saves guarded");
    EACH_ROW(result, row) {
        const gpuchar_reconvergence_deep *deep = &row->deep;
        if (deep->kernels == 0) continue;
        print_name(row);
        printf("%8" PRIu64 "%6" PRIu64 "%7" PRIu64 "%19" PRIu64 "%26" PRIu64 "%6" PRIu64 "%5" PRIu64 "%11" PRIu64
               "%8" PRIu64 "\n",
               deep->kernels, deep->spilled, deep->fewer_levels, deep->fewer_unspilled, deep->deepest_unspilled,
               row->nests.depth, row->nests.live_barriers, row->nests.bmov_saves, row->nests.guarded);
    }
}

static void print_failures(const result_type *result) {
    int told = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        const row_type *row = &result->rows[i];
        if (row->status == GPUCHAR_OK) continue;
        if (!told++) printf("\nempty rows\n");
        print_name(row);
        printf(" %s: %s\n", gpuchar_status_name(row->status), row->message);
    }
}

static void print_unread(const result_type *result) {
    EACH_ROW(result, row) {
        const uint64_t unread = row->counts.unread + row->nests.unread;
        if (unread == 0) continue;
        print_name(row);
        printf(" the control flow of %" PRIu64 " functions could not be read: only instructions are counted\n", unread);
    }
}

/* Each pair of compiler and assembler once. */
static void print_tools(const result_type *result) {
    printf("compilers and assemblers\n");
    for (size_t i = 0; i < result->row_count; i++) {
        const row_type *row = &result->rows[i], *before = i ? row - 1 : NULL;
        if (before && before->made == row->made && before->compiler_index == row->compiler_index &&
            before->assembler_index == row->assembler_index)
            continue;
        printf("  %s; %s", row->compiler, row->assembler);
        if (row->made == GPUCHAR_RECONVERGENCE_BY_ASSEMBLER) printf("; PTX for compute_%u", row->ptx_architecture);
        printf("\n");
    }
}

void print_tables(const result_type *result) {
    print_tools(result);
    for (size_t rule = 0; rule < 5; rule++) print_placements(result, rule);
    print_branches(result);
    print_barriers(result);
    print_features(result);
    print_instructions(result);
    print_deep(result);
    print_failures(result);
    print_unread(result);
}

void print_pairs(const result_type *result) {
    printf("\ndivergent branches of one line of one kernel, primary rule\n"
           "one row             the other row           alike  otherwise  only one  only other\n");
    for (size_t i = 0; i < result->pair_count; i++) {
        const gpuchar_reconvergence_pair *pair = &result->pairs[i];
        print_name(&result->rows[pair->row_a]);
        printf(" ");
        print_name(&result->rows[pair->row_b]);
        printf("%9" PRIu64 "%11" PRIu64 "%10" PRIu64 "%12" PRIu64 "\n", pair->alike, pair->otherwise, pair->only_a,
               pair->only_b);
    }
}

void print_times(const result_type *result) {
    const double second = 1e9;
    printf("\n%.2f s in all with %u threads: libraries %.2f s; threads' time of compiling %.2f s, of reading %.2f s; "
           "resampling and matching %.2f s\n",
           (double)result->call_ns / second, result->threads, (double)result->load_ns / second,
           (double)result->compile_ns / second, (double)result->analyze_ns / second,
           (double)result->resample_ns / second);
}
