#include "sass_report.h"

#include <inttypes.h>
#include <string.h>

static const char *const RULES[] = {"primary", "innermost", "any active", "first above", "next in code"};
static const char *const PLACES[] = {"none", "at", "before", "after", "aside"};

void put_name(FILE *to, const char *name) {
    for (; *name; name++) putc(*name >= 0x20 && *name < 0x7f ? *name : '?', to);
}

void complain(const char *path, const char *what) {
    const gpuchar_error *error = gpuchar_last_error();
    fputs("sass_report: ", stderr);
    put_name(stderr, path);
    if (what[0]) fputs(": ", stderr);
    put_name(stderr, what);
    fputs(": ", stderr);
    put_name(stderr, error->message);
    fprintf(stderr, " [%s]\n", gpuchar_status_name(error->status));
    if (!error->hint[0]) return;
    fputs("  hint: ", stderr);
    put_name(stderr, error->hint);
    putc('\n', stderr);
}

void table_image(const image *i) {
    put_name(stdout, i->path);
    printf(", image %zu: ", i->index);
    put_name(stdout, i->info.target);
    if (i->info.assembler[0]) {
        fputs(", assembler: ", stdout);
        put_name(stdout, i->info.assembler);
    } else if (i->info.toolkit_version) {
        printf(", compiler: CUDA %u.%u", i->info.toolkit_version / 1000, i->info.toolkit_version % 1000 / 10);
    } else {
        fputs(", assembler: not told", stdout);
    }
    printf("\n%" PRIu64 " bytes, %u functions, %u of them kernels, %" PRIu64 " instructions\n", i->info.size_bytes,
           i->info.functions, i->info.kernels, i->info.instructions);
}

static void print_placed(const char *indent, const uint64_t *placed) {
    for (int rule = 0; rule < GPUCHAR_SASS_RULES; rule++) {
        printf("%s%-13s", indent, RULES[rule]);
        for (int place = GPUCHAR_SASS_PLACED_AT; place <= GPUCHAR_SASS_PLACED_ASIDE; place++)
            printf(" %s %" PRIu64 ",", PLACES[place], placed[GPUCHAR_SASS_PLACED(rule, place)]);
        printf(" none %" PRIu64 "\n", placed[GPUCHAR_SASS_PLACED(rule, GPUCHAR_SASS_PLACED_NONE)]);
    }
}

static uint64_t sum(const uint64_t *placed) {
    uint64_t all = 0;
    for (int place = 0; place < 5; place++) all += placed[place];
    return all;
}

static void print_all_placed(const char *indent, const uint64_t *placed, const uint64_t *back) {
    if (sum(placed)) {
        printf("%sBSYNC against where the ways meet, divergent branches:\n", indent);
        print_placed(indent, placed);
    }
    if (sum(back)) {
        printf("%sthe same of those that close loops:\n", indent);
        print_placed(indent, back);
    }
}

/* ---- branches ---- */

static void print_pc(uint64_t pc, const char *otherwise) {
    if (pc == GPUCHAR_SASS_NO_PC)
        printf(" %8s", otherwise);
    else
        printf(" %#8" PRIx64, pc);
}

static void print_flags(uint32_t flags) {
    static const struct {
        uint32_t bit;
        const char *word;
    } WORDS[] = {
        {GPUCHAR_SASS_BRANCH_DIVERGENT, "divergent"},
        {GPUCHAR_SASS_BRANCH_UNIFORM_FORM, "uniform by form"},
        {GPUCHAR_SASS_BRANCH_UNIFORM_DATA, "uniform by data"},
        {GPUCHAR_SASS_BRANCH_BACK, "closes a loop"},
        {GPUCHAR_SASS_BRANCH_CALL, "call"},
        {GPUCHAR_SASS_BRANCH_INDIRECT, "indirect"},
        {GPUCHAR_SASS_BRANCH_OUTSIDE, "outside"},
        {GPUCHAR_SASS_BRANCH_BROKEN, "with break"},
        {GPUCHAR_SASS_BRANCH_UNIFORM_COMPARE, "uniform compare"},
    };
    const char *between = "";
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        if (!(flags & WORDS[i].bit)) continue;
        printf("%s%s", between, WORDS[i].word);
        between = ", ";
    }
}

/* What else it goes by: " P1, !UP0". */
static void describe_operands(const gpuchar_sass_instruction *in, char *text, size_t size) {
    static const char *const NAMES[] = {"", "UP", "UR", "R"};
    const int has_second = in->kind == GPUCHAR_SASS_BRANCH && (in->second != 7 || in->second_not);
    text[0] = 0;
    if (has_second) snprintf(text, size, " %sP%u", in->second_not ? "!" : "", in->second);
    const size_t length = strlen(text);
    if (in->operand_kind == GPUCHAR_SASS_OPERAND_NONE || in->operand_kind > GPUCHAR_SASS_OPERAND_REGISTER) return;
    snprintf(text + length, size - length, "%s %s%s%u", has_second ? "," : "", in->operand_not ? "!" : "",
             NAMES[in->operand_kind], in->operand);
}

/* "@!P0 BRA.U P1" */
static void describe(const gpuchar_sass_instruction *in, char *text, size_t size) {
    static const char *const MODES[] = {"", ".U", ".DIV", ".CONV"};
    const char *mode = in->kind == GPUCHAR_SASS_BRANCH && in->mode < 4 ? MODES[in->mode] : "";
    const char *name = in->mnemonic ? in->mnemonic : "?";
    char operands[24];
    describe_operands(in, operands, sizeof operands);
    if (in->guard == 7 && !in->guard_not)
        snprintf(text, size, "%s%s%s", name, mode, operands);
    else if (in->guard == 7)
        snprintf(text, size, "@!PT %s%s%s", name, mode, operands);
    else
        snprintf(text, size, "@%sP%u %s%s%s", in->guard_not ? "!" : "", in->guard, name, mode, operands);
}

static void print_branch(const image *i, const analyzed *f, const gpuchar_sass_branch *b) {
    gpuchar_sass_instruction in;
    char text[48] = "";
    if (gpuchar_sass_instruction_get(i->sass, f->index, b->instruction, &in) >= 0) describe(&in, text, sizeof text);
    printf("  %#8" PRIx64 " %#6x %-16s", b->pc_bytes, b->opcode, text);
    print_pc(b->meet_bytes, "exit");
    print_pc(b->bsync_bytes, "-");
    for (int rule = 0; rule < GPUCHAR_SASS_RULES; rule++)
        printf(" %-6s", b->placement[rule] < 5 ? PLACES[b->placement[rule]] : "?");
    printf(" %5u %5u  ", b->partial_joins, b->depth);
    print_flags(b->flags);
    putchar('\n');
}

static void print_branches(const image *i, const analyzed *f) {
    if (!f->found.branch_count) return;
    printf("  %8s %6s %-16s %8s %8s %-6s %-6s %-6s %-6s %-6s %5s %5s  %s\n", "pc", "opcode", "", "meets at", "BSYNC",
           "prim.", "inner.", "any", "above", "next", "part.", "depth", "flags");
    for (size_t b = 0; b < f->found.branch_count; b++) print_branch(i, f, &f->found.branches[b]);
}

static void print_instructions(const image *i, const analyzed *f) {
    gpuchar_sass_instruction in;
    char text[48];
    for (size_t at = 0; at < f->function.instructions; at++) {
        if (gpuchar_sass_instruction_get(i->sass, f->index, at, &in) < 0) return;
        describe(&in, text, sizeof text);
        printf("  %#8" PRIx64 " %016" PRIx64 " %016" PRIx64 " %#6x stall %2u %s", in.pc_bytes, in.high, in.low,
               in.opcode, in.stall_cycles, text);
        if (in.target_bytes != GPUCHAR_SASS_NO_PC) printf(" to %#" PRIx64, in.target_bytes);
        if (in.kind == GPUCHAR_SASS_BSSY || in.kind == GPUCHAR_SASS_BSYNC || in.kind == GPUCHAR_SASS_BREAK)
            printf(" B%u", in.barrier);
        putchar('\n');
    }
}

void table_function(const arguments *a, const image *i, const analyzed *f) {
    const gpuchar_sass_reconvergence *r = &f->found;
    putchar('\n');
    put_name(stdout, f->function.name);
    printf(" (%s)\n  %u instructions, %zu blocks, %zu edges, %zu loops, %" PRIu64 " irreducible\n",
           f->function.kernel ? "kernel" : "function", f->function.instructions, f->graph.block_count,
           f->graph.edge_count, f->graph.loop_count, f->graph.irreducible);
    printf("  %zu branches: %" PRIu64 " divergent, %" PRIu64 " uniform; %zu intervals, depth %u, %u barriers live\n",
           r->branch_count, r->divergent, r->branch_count - r->divergent, r->interval_count, r->depth,
           r->live_barriers);
    print_all_placed("  ", r->placed, r->placed_back);
    if (a->branches) print_branches(i, f);
    if (a->instructions) print_instructions(i, f);
}

void table_totals(const totals *t) {
    printf("\ntotal of %" PRIu64 " functions: %" PRIu64 " instructions, %" PRIu64 " blocks, %" PRIu64 " edges, %" PRIu64
           " loops, %" PRIu64 " irreducible\n%" PRIu64 " branches: %" PRIu64 " divergent, %" PRIu64 " uniform; %" PRIu64
           " intervals, depth %" PRIu64 "\n",
           t->functions, t->instructions, t->blocks, t->edges, t->loops, t->irreducible, t->branches, t->divergent,
           t->branches - t->divergent, t->intervals, t->depth);
    print_all_placed("", t->placed, t->placed_back);
}

void table_mix(const arguments *a, const gpuchar_sass_mix *mix) {
    printf("\ninstruction mix: %" PRIu64 " instructions, %" PRIu64 " guarded, %" PRIu64 " stall cycles, %" PRIu64
           " of unknown opcodes\n",
           mix->instructions, mix->guarded, mix->stall_cycles, mix->unknown);
    for (size_t e = 0; e < mix->entry_count; e++) {
        const gpuchar_sass_mix_entry *entry = &mix->entries[e];
        if (entry->mnemonic && e < a->top)
            printf("%12" PRIu64 " %5.1f %% %s\n", entry->count, (double)entry->count * 100 / (double)mix->instructions,
                   entry->mnemonic);
        else if (!entry->mnemonic)
            printf("%12" PRIu64 " %5.1f %% unknown opcode %#x, such as %016" PRIx64 " %016" PRIx64 "\n", entry->count,
                   (double)entry->count * 100 / (double)mix->instructions, entry->opcode, entry->example_high,
                   entry->example_low);
    }
    if (mix->entry_count > a->top)
        printf("%12s of %zu kinds the first %u and the unknown\n", "", mix->entry_count, a->top);
}
