/*
 * The kernels of barrier_class.cu on the driver of the worker's tests. What a launch leaves follows from the machine code of
 * its image: a store whose guard is !PT stores nothing, and classes do what the environment says. BARRIER_LAW: "WHAT EFFECT",
 * for images in which WHAT holds, "bssy3" (a BSSY of class 3), "bsync1", "break2", "mismatch" (a BSSY of another class than a
 * BSYNC), "all", or "load5" (the fifth image that is loaded, from 1; BARRIER_COUNT is a file that counts them).
 */
#ifndef TEST_BARRIER_PLAN_H
#define TEST_BARRIER_PLAN_H

#include <elf.h>
#include <experiments/barrier_class_reduce.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Kernel arguments, as in barrier_class.cu. */
typedef struct barrier_arguments {
    uint64_t samples, sink;
    uint32_t slot, iterations;
    uint64_t records, cycles;
    uint32_t spin_limit, salt;
} barrier_arguments;

enum { OPCODE_BSSY = 0x945, OPCODE_BSYNC = 0x941, OPCODE_BREAK = 0x942, OPCODE_YIELD = 0x946, OPCODE_STG = 0x986 };

/* What the loaded image holds. */
typedef struct barrier_image {
    uint32_t classes[3];         /* of BSSY, BSYNC, BREAK: bit n, one of class n */
    bool breaks, yields, stores; /* a 16-byte store that is not disabled */
    unsigned number;
} barrier_image;
static barrier_image barrier;

static size_t barrier_size(const uint8_t *image) {
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    return header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
}

static void barrier_take_word(const uint8_t *word) {
    const unsigned opcode = (word[0] | word[1] << 8) & 0xfff, class = word[9] & 3;
    if (opcode == OPCODE_BSSY) barrier.classes[0] |= 1u << class;
    if (opcode == OPCODE_BSYNC) barrier.classes[1] |= 1u << class;
    if (opcode == OPCODE_BREAK) barrier.classes[2] |= 1u << class;
    barrier.breaks = barrier.breaks || opcode == OPCODE_BREAK;
    barrier.yields = barrier.yields || opcode == OPCODE_YIELD;
    if (opcode == OPCODE_STG && (word[9] >> 1 & 7) == 6) barrier.stores = word[1] >> 4 != 0xf;
}

static unsigned barrier_count(void) {
    unsigned number = 0;
    const char *path = getenv("BARRIER_COUNT");
    const int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0) return 0;
    if (pread(file, &number, sizeof number, 0) != sizeof number) number = 0;
    ++number;
    if (pwrite(file, &number, sizeof number, 0) != sizeof number) number = 0;
    close(file);
    return number;
}

/* Code of one kernel lies in one section: only there words are instructions. */
static void barrier_load(const uint8_t *image) {
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    memset(&barrier, 0, sizeof barrier);
    for (unsigned i = 0; i < header.e_shnum && barrier_size(image) > 64; i++) {
        Elf64_Shdr section;
        memcpy(&section, image + header.e_shoff + (size_t)i * header.e_shentsize, sizeof section);
        if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR)) continue;
        for (size_t at = 0; at + 16 <= section.sh_size; at += 16) barrier_take_word(image + section.sh_offset + at);
    }
    barrier.number = barrier_count();
}

static bool barrier_what_holds(const char *what) {
    static const char *const kinds[] = {"bssy", "bsync", "break"};
    unsigned number;
    if (strcmp(what, "all") == 0) return true;
    if (strcmp(what, "mismatch") == 0) return barrier.classes[0] != barrier.classes[1];
    if (sscanf(what, "load%u", &number) == 1) return barrier.number == number;
    for (int kind = 0; kind < 3; kind++) {
        const size_t length = strlen(kinds[kind]);
        if (strncmp(what, kinds[kind], length) == 0 && sscanf(what + length, "%u", &number) == 1)
            return (barrier.classes[kind] >> number & 1) != 0;
    }
    return false;
}

static bool barrier_does(const char *effect) {
    char what[32] = "", wanted[32] = "";
    const char *law = getenv("BARRIER_LAW");
    if (!law || sscanf(law, "%31s %31s", what, wanted) != 2) return false;
    return strcmp(wanted, effect) == 0 && barrier_what_holds(what);
}

static gc_barrier_record barrier_record(const barrier_arguments *args, unsigned thread) {
    gc_barrier_record record = {(thread * 2654435761u ^ args->salt) | 1, args->iterations * 32, 0, 0};
    const bool odd = args->slot % 2 == 1;
    if (barrier.yields) {
        record.seen = args->iterations;
        record.spins = args->iterations + (thread + args->slot) % 3;
        if (record.spins > args->iterations * args->spin_limit) record.spins = args->iterations;
    }
    if (thread == 7 && barrier_does("value")) record.value ^= 2;
    if (thread == 7 && barrier_does("met")) record.met--;
    if (thread == 7 && barrier_does("seen") && barrier.yields) record.seen--;
    if (thread == 7 && odd && barrier_does("flicker")) record.value ^= 2;
    if (thread == 3 && barrier_does("nothing")) record.value = 0;
    if (thread == 3 && barrier_does("many")) record.met = args->iterations * 26 * 32;
    if (thread == 3 && barrier_does("eager")) record.spins = args->iterations * args->spin_limit + 1;
    return record;
}

static void barrier_launch(const barrier_arguments *args, unsigned grid, unsigned block) {
    const unsigned threads = grid * block;
    gc_barrier_record *records = (gc_barrier_record *)(uintptr_t)args->records + (size_t)args->slot * threads;
    uint64_t *cycles = (uint64_t *)(uintptr_t)args->cycles + (size_t)args->slot * (threads / 32);
    for (unsigned i = 0; i < threads && (barrier.stores || barrier_does("stubborn")); i++)
        records[i] = barrier_record(args, i);
    for (unsigned i = 0; i < threads / 32; i++) {
        /* The first launch is slow; of each run all others are alike, and runs differ a little. */
        const unsigned quiet = getenv("BARRIER_QUIET") != NULL;
        cycles[i] = 10000 + i + (args->slot == 0 ? 5000 : 0) + (quiet ? 0 : barrier.number % 3);
        if (barrier_does("slow")) cycles[i] += 100;
        if (barrier_does("timeless")) cycles[i] = 0;
    }
}

#endif
