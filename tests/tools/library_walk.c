/*
 * Reads every cubin of large files: library_walk FILE... Nothing may fail, no control flow be unknown, no branch leave its
 * function, no BSSY be without its BSYNC. One line for each file and architecture, and the exit status.
 */
#include <gpuchar/gpuchar.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ARCHITECTURES 256

typedef struct tally {
    uint64_t cubins, functions, instructions, branches, divergent, intervals;
    uint64_t unknown; /* instructions whose opcode has no name */
    uint64_t failed, unknown_control, unmatched, crossed;
} tally;

static void complain(const char *what) {
    const gpuchar_error *error = gpuchar_last_error();
    printf("  %s: %s: %s\n", what, gpuchar_status_name(error->status), error->message);
}

/* Control flow has opcode bits [8:5] of its own from sm_70 on. */
static bool is_control(const gpuchar_sass_info *info, uint32_t opcode) {
    return info->architecture >= 70 ? (opcode & 0x1e0) == 0x140 : opcode >> 9 == 0x71 || opcode >> 8 == 0xf0;
}

static void walk_function(const gpuchar_sass *sass, size_t index, tally *to) {
    gpuchar_sass_reconvergence found = GPUCHAR_SASS_RECONVERGENCE_INIT;
    if (gpuchar_sass_reconvergence_get(sass, index, &found)) {
        to->failed++;
        complain("reconvergence");
        return;
    }
    to->functions++;
    to->branches += found.branch_count;
    to->divergent += found.divergent;
    to->intervals += found.interval_count;
    to->unmatched += found.unmatched;
    for (size_t i = 0; i < found.interval_count; i++)
        to->crossed += (found.intervals[i].flags & GPUCHAR_SASS_INTERVAL_CROSSED) != 0;
    gpuchar_sass_reconvergence_free(&found);
}

static void walk_cubin(const gpuchar_sass *sass, tally *tallies) {
    gpuchar_sass_info info = GPUCHAR_SASS_INFO_INIT;
    gpuchar_sass_mix mix = GPUCHAR_SASS_MIX_INIT;
    if (gpuchar_sass_info_get(sass, &info) || gpuchar_sass_mix_get(sass, GPUCHAR_SASS_ALL, &mix)) {
        tallies[0].failed++;
        complain("mix");
        return;
    }
    tally *to = &tallies[info.architecture % ARCHITECTURES];
    to->cubins++;
    to->instructions += info.instructions;
    to->unknown += mix.unknown;
    for (size_t i = 0; i < mix.entry_count; i++) {
        const gpuchar_sass_mix_entry *entry = &mix.entries[i];
        if (entry->mnemonic) continue;
        printf("  sm_%u: unknown opcode 0x%x, %" PRIu64 " times, first 0x%016" PRIx64 "%016" PRIx64 "\n",
               info.architecture, entry->opcode, entry->count, entry->example_high, entry->example_low);
        if (is_control(&info, entry->opcode)) to->unknown_control += entry->count;
    }
    gpuchar_sass_mix_free(&mix);
    for (size_t i = 0; i < info.functions; i++) walk_function(sass, i, to);
}

static void walk_file(const char *path, tally *tallies) {
    gpuchar_sass_file *file;
    if (gpuchar_sass_file_open(path, &file)) {
        tallies[0].failed++;
        complain(path);
        return;
    }
    for (size_t i = 0; i < gpuchar_sass_file_count(file); i++) {
        gpuchar_sass_entry entry;
        gpuchar_sass *sass;
        if (gpuchar_sass_file_entry(file, i, &entry) || entry.kind != GPUCHAR_SASS_ENTRY_CUBIN) continue;
        if (gpuchar_sass_file_load(file, i, &sass)) {
            tallies[0].failed++;
            complain("load");
            continue;
        }
        walk_cubin(sass, tallies);
        gpuchar_sass_close(sass);
    }
    gpuchar_sass_file_close(file);
}

static bool tell(const char *path, const tally *tallies) {
    bool good = tallies[0].failed == 0;
    const char *name = strrchr(path, '/');
    for (size_t i = 0; i < ARCHITECTURES; i++) {
        const tally *t = &tallies[i];
        if (!t->cubins) continue;
        printf("%s sm_%zu: %" PRIu64 " cubins, %" PRIu64 " functions, %" PRIu64 " instructions (%" PRIu64
               " of unknown opcodes), %" PRIu64 " branches (%" PRIu64 " divergent), %" PRIu64
               " intervals; failed %" PRIu64 ", unknown control flow %" PRIu64 ", unmatched %" PRIu64
               ", crossed %" PRIu64 "\n",
               name ? name + 1 : path, i, t->cubins, t->functions, t->instructions, t->unknown, t->branches,
               t->divergent, t->intervals, t->failed, t->unknown_control, t->unmatched, t->crossed);
        good = good && !t->failed && !t->unknown_control && !t->unmatched && !t->crossed;
    }
    return good;
}

int main(int count, char **arguments) {
    bool good = count > 1;
    for (int i = 1; i < count; i++) {
        static tally tallies[ARCHITECTURES];
        memset(tallies, 0, sizeof tallies);
        walk_file(arguments[i], tallies);
        good = tell(arguments[i], tallies) && good;
        fflush(stdout);
    }
    return good ? 0 : 1;
}
