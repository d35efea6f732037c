/* Counts of instructions, of branches and of intervals. */
#include <experiments/reconvergence_reduce.h>

#include <core/util.h>
#include <stdlib.h>
#include <string.h>

/* ---- instructions */

static bool is_called(const gpuchar_sass_instruction *instruction, const char *mnemonic) {
    return instruction->mnemonic && strcmp(instruction->mnemonic, mnemonic) == 0;
}

static void count_branch(const gpuchar_sass_instruction *instruction, gpuchar_reconvergence_counts *counts) {
    if (is_called(instruction, "CALL")) counts->call_branches++;
    if (!is_called(instruction, "BRA")) return;
    counts->bra_u += instruction->opcode == 0x947 && instruction->mode == 1;
    counts->bra_uniform_predicate += instruction->opcode == 0x1547;
    counts->bra_uniform_register += instruction->opcode == 0x1947;
    counts->bra_div += instruction->mode == 2;
    counts->bra_conv += instruction->mode == 3;
}

/* Bits 86 and 85 changed their meaning with sm_90. */
static void count_warpsync(const gpuchar_sass_instruction *instruction, uint32_t architecture,
                           gpuchar_reconvergence_warpsync *counts) {
    const uint32_t exclusive = architecture >= 90 ? 1 : 2;
    if (instruction->mode == exclusive)
        counts->exclusive++;
    else if (architecture >= 90 && instruction->mode == 2)
        counts->collective++;
    else if (instruction->flags & GPUCHAR_SASS_WHOLE_WARP)
        counts->all++;
    else
        counts->partial++;
}

/* Opcodes x55 read a barrier register, x56 write one: 355 into a general register, f55 into another barrier register. */
static void count_bmov(const gpuchar_sass_instruction *instruction, gpuchar_reconvergence_counts *counts) {
    const uint32_t zero_register = 0xff;
    const uint32_t destination = (uint32_t)(instruction->low >> 16) & 0xff;
    counts->bmov++;
    counts->bmov_clear += (instruction->flags & GPUCHAR_SASS_CLEAR) != 0;
    counts->bmov_saves += instruction->opcode == 0x355 && destination != zero_register;
    counts->bmov_restores += instruction->opcode == 0x356;
}

static void count_push(const gpuchar_sass_instruction *instruction, gpuchar_reconvergence_counts *counts) {
    counts->ssy += is_called(instruction, "SSY");
    counts->pbk += is_called(instruction, "PBK");
    counts->pcnt += is_called(instruction, "PCNT");
}

void gc_study_count_instruction(const gpuchar_sass_instruction *instruction, uint32_t architecture, bool in_kernel,
                                gpuchar_reconvergence_counts *counts) {
    const uint32_t true_predicate = 7;
    counts->instructions++;
    counts->unknown += !instruction->mnemonic;
    switch (instruction->kind) {
    case GPUCHAR_SASS_OTHER:
        counts->guarded += instruction->guard != true_predicate;
        break;
    case GPUCHAR_SASS_BRANCH:
        count_branch(instruction, counts);
        break;
    case GPUCHAR_SASS_INDIRECT:
        counts->indirect_branches++;
        break;
    case GPUCHAR_SASS_CALL:
        counts->calls++;
        break;
    case GPUCHAR_SASS_BSSY:
        counts->bssy[instruction->barrier_class & 3]++;
        break;
    case GPUCHAR_SASS_BSYNC:
        counts->bsync[instruction->barrier_class & 3]++;
        break;
    case GPUCHAR_SASS_BREAK:
        counts->breaks[instruction->barrier_class & 3]++;
        break;
    case GPUCHAR_SASS_BMOV:
        count_bmov(instruction, counts);
        break;
    case GPUCHAR_SASS_WARPSYNC:
        count_warpsync(instruction, architecture, in_kernel ? &counts->warpsync_kernels : &counts->warpsync_functions);
        break;
    case GPUCHAR_SASS_PUSH:
        count_push(instruction, counts);
        break;
    case GPUCHAR_SASS_SYNC:
        counts->sync++;
        break;
    case GPUCHAR_SASS_BRK:
        counts->brk++;
        break;
    case GPUCHAR_SASS_CONT:
        counts->cont++;
        break;
    default:
        break;
    }
}

/* ---- branches and intervals */

static void count_record(const gpuchar_sass_branch *branch, gpuchar_reconvergence_counts *counts) {
    counts->branches++;
    counts->bra_uniform_compare += (branch->flags & GPUCHAR_SASS_BRANCH_UNIFORM_COMPARE) != 0;
    if (!(branch->flags & GPUCHAR_SASS_BRANCH_DIVERGENT)) {
        if (branch->flags & GPUCHAR_SASS_BRANCH_UNIFORM_FORM)
            counts->uniform_form++;
        else
            counts->uniform_data++;
        return;
    }
    counts->divergent++;
    counts->partial_joins += branch->partial_joins;
    counts->joined_partly += branch->partial_joins != 0;
    for (size_t rule = 0; rule < GPUCHAR_SASS_RULES; rule++) {
        gpuchar_reconvergence_placing *placing = &counts->placings[rule];
        uint64_t *by_place = placing->inside;
        if (branch->flags & GPUCHAR_SASS_BRANCH_BACK)
            by_place = placing->back;
        else if (branch->flags & GPUCHAR_SASS_BRANCH_OUTSIDE)
            by_place = placing->outside;
        if (branch->placement[rule] <= GPUCHAR_SASS_PLACED_ASIDE) by_place[branch->placement[rule]]++;
    }
}

static void count_interval(const gpuchar_sass_interval *interval, gpuchar_reconvergence_counts *counts) {
    if (!(interval->flags & GPUCHAR_SASS_INTERVAL_REACHABLE)) return;
    gpuchar_reconvergence_barrier *barrier =
        &counts->barriers[2 * (interval->barrier_class & 3) + (interval->breaks != 0)];
    barrier->intervals++;
    for (size_t place = 0; place <= GPUCHAR_SASS_PLACED_ASIDE; place++) {
        barrier->innermost[place] += interval->innermost[place];
        barrier->primary[place] += interval->primary[place];
    }
}

static void keep_greater(uint64_t *most, uint64_t value) {
    if (value > *most) *most = value;
}

void gc_study_count_records(const gpuchar_sass_reconvergence *records, gpuchar_reconvergence_counts *counts) {
    for (size_t i = 0; i < records->branch_count; i++) count_record(&records->branches[i], counts);
    for (size_t i = 0; i < records->interval_count; i++) count_interval(&records->intervals[i], counts);
    counts->unmatched += records->unmatched;
    keep_greater(&counts->depth, records->depth);
    keep_greater(&counts->live_barriers, records->live_barriers);
}

/* All members are of one type: the sums first, then what is the greatest. */
void gc_study_add(gpuchar_reconvergence_counts *sum, const gpuchar_reconvergence_counts *part) {
    enum { SUMS = offsetof(gpuchar_reconvergence_counts, depth) / sizeof(uint64_t) };
    _Static_assert(sizeof *sum == (SUMS + 2) * sizeof(uint64_t), "depth and live_barriers are the last two");
    uint64_t sums[SUMS], parts[SUMS];
    memcpy(sums, sum, sizeof sums);
    memcpy(parts, part, sizeof parts);
    for (size_t i = 0; i < SUMS; i++) sums[i] += parts[i];
    memcpy(sum, sums, sizeof sums);
    keep_greater(&sum->depth, part->depth);
    keep_greater(&sum->live_barriers, part->live_barriers);
}

gpuchar_reconvergence_deep gc_study_deep(const gpuchar_reconvergence_kernel *kernels, size_t count) {
    gpuchar_reconvergence_deep deep = {0};
    for (size_t i = 0; i < count; i++) {
        const gpuchar_reconvergence_kernel *kernel = &kernels[i];
        if (kernel->levels == 0 || kernel->counts.unread != 0) continue;
        const bool spilled = kernel->counts.bmov_saves != 0, fewer = kernel->counts.depth < kernel->levels;
        deep.kernels++;
        deep.spilled += spilled;
        deep.fewer_levels += fewer;
        deep.fewer_unspilled += fewer && !spilled;
        if (!spilled) keep_greater(&deep.deepest_unspilled, kernel->levels);
    }
    return deep;
}

uint32_t gc_study_release(const char *text) {
    static const char word[] = "release ";
    const char *at = strstr(text, word);
    if (!at) return 0;
    char *end = NULL;
    const unsigned long major = strtoul(at + sizeof word - 1, &end, 10);
    if (!end || *end != '.' || major == 0 || major > 999) return 0;
    const unsigned long minor = strtoul(end + 1, NULL, 10);
    return minor > 99 ? 0 : (uint32_t)(major * 1000 + minor * 10);
}

/* ---- two lists of sites */

int gc_study_site_order(const void *a, const void *b) {
    const gc_study_site *x = a, *y = b;
    if (x->kernel != y->kernel) return x->kernel < y->kernel ? -1 : 1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool same_line(const gc_study_site *a, const gc_study_site *b) {
    return a->kernel == b->kernel && a->file == b->file && a->line == b->line;
}

/* How many of the sites at the list's beginning are of one line, and how many of these of each place. */
static size_t take_line(const gc_study_site *sites, size_t count, size_t places[GC_STUDY_OUTSIDE + 1]) {
    size_t taken = 0;
    memset(places, 0, (GC_STUDY_OUTSIDE + 1) * sizeof *places);
    while (taken < count && same_line(sites, &sites[taken])) places[sites[taken++].place]++;
    return taken;
}

void gc_study_match(const gc_study_site *a, size_t a_count, const gc_study_site *b, size_t b_count,
                    gpuchar_reconvergence_pair *pair) {
    size_t in_a[GC_STUDY_OUTSIDE + 1], in_b[GC_STUDY_OUTSIDE + 1];
    while (a_count > 0 || b_count > 0) {
        const bool has_a = a_count > 0, has_b = b_count > 0;
        gc_study_site key = has_a ? *a : *b;
        if (has_b && !same_line(&key, b)) {
            gc_study_site other = *b;
            key.place = other.place = 0;
            if (gc_study_site_order(&other, &key) < 0) key = other;
        }
        const size_t from_a = has_a && same_line(a, &key) ? take_line(a, a_count, in_a) : 0;
        const size_t from_b = has_b && same_line(b, &key) ? take_line(b, b_count, in_b) : 0;
        size_t alike = 0;
        for (size_t place = 0; from_a && from_b && place <= GC_STUDY_OUTSIDE; place++)
            alike += in_a[place] < in_b[place] ? in_a[place] : in_b[place];
        const size_t both = from_a < from_b ? from_a : from_b;
        pair->alike += alike;
        pair->otherwise += both - alike;
        pair->only_a += from_a - both;
        pair->only_b += from_b - both;
        if (from_a) {
            a += from_a;
            a_count -= from_a;
        }
        if (from_b) {
            b += from_b;
            b_count -= from_b;
        }
    }
}
