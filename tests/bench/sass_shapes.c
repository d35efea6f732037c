#include <elf.h>
#include <sass_shapes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL_INSTRUCTIONS = 1000, NAME_BYTES = 32, NO_GUARD = 7, ZERO = 255 };

typedef struct bytes {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
} bytes;

/* The function that is being written. */
typedef struct writer {
    bytes code, info;
    uint64_t random;
} writer;

static void add(bytes *to, const void *data, size_t size) {
    if (to->size + size > to->capacity && !to->failed) {
        const size_t capacity = (to->size + size) * 2;
        uint8_t *grown = realloc(to->data, capacity);
        if (!grown) to->failed = true;
        if (grown) to->data = grown;
        if (grown) to->capacity = capacity;
    }
    if (to->failed || !size) return;
    memcpy(to->data + to->size, data, size);
    to->size += size;
}

static void align(bytes *to, size_t unit) {
    static const uint8_t zeros[16] = {0};
    if (to->size % unit) add(to, zeros, unit - to->size % unit);
}

/* ---- instructions ---- */

static size_t emit(writer *w, uint64_t low, uint64_t high) {
    const uint64_t word[2] = {low, high};
    add(&w->code, word, sizeof word);
    return w->code.size / sizeof word - 1;
}

static size_t here(const writer *w) {
    return w->code.size / 16;
}

static uint64_t any(writer *w, uint64_t below) {
    w->random = w->random * UINT64_C(6364136223846793005) + 1;
    return (w->random >> 33) % below;
}

static void load(writer *w, uint64_t d) {
    emit(w, UINT64_C(0x0000000400007981) | d << 16 | (4 + any(w, 60)) << 24, UINT64_C(0x000ea2000c1e9900));
}

static void sum(writer *w, uint64_t d, uint64_t a, uint64_t b) {
    emit(w, 0x7210 | d << 16 | a << 24 | b << 32, UINT64_C(0x000fe20007ffe0ff));
}

/* FFMA, IADD3 and here and there a load, on registers 4 to 63; 4 to 7 stay as they are. */
static void arithmetic(writer *w, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t d = 8 + any(w, 56), a = 4 + any(w, 60), b = 4 + any(w, 60), c = 4 + any(w, 60);
        if (any(w, 8) == 0)
            load(w, d);
        else if (i % 2)
            emit(w, 0x7223 | d << 16 | a << 24 | b << 32, UINT64_C(0x000fe20000000000) | c);
        else
            sum(w, d, a, b);
    }
}

/* R0 and R2 are the thread's and the block's index. */
static void indices(writer *w) {
    emit(w, 0x007919, UINT64_C(0x000e240000002100));
    emit(w, 0x027919, UINT64_C(0x000e2e0000002500));
}

static void compare(writer *w, uint64_t predicate, uint64_t a, uint64_t b) {
    emit(w, 0x720c | a << 24 | b << 32, UINT64_C(0x000fda0003f05270) | predicate << 17);
}

/* Branches and BSSY get their targets later, by aim and aim_bssy. */
static size_t branch(writer *w, uint64_t guard) {
    return emit(w, 0x0947 | guard << 12, UINT64_C(0x000fea0003800000));
}

static void aim(writer *w, size_t at, size_t target) {
    uint64_t word[2];
    if (w->code.failed) return;
    memcpy(word, w->code.data + at * 16, sizeof word);
    const uint64_t offset = ((uint64_t)target - at - 1) * 4; /* in units of four bytes; bits 7 to 0 are 0 up to 64 */
    word[0] |= (offset & 0xff) << 16 | offset >> 8 << 34;
    word[1] |= offset >> 8 >> 30 & 0x3ffff;
    memcpy(w->code.data + at * 16, word, sizeof word);
}

static size_t bssy(writer *w, uint64_t barrier) {
    return emit(w, 0x7945 | (barrier & 15) << 16, UINT64_C(0x000fe20003800000));
}

/* Writes the BSYNC that a BSSY leads to. */
static void bsync(writer *w, size_t at, uint64_t barrier) {
    const size_t target = emit(w, 0x7941 | (barrier & 15) << 16, UINT64_C(0x000fea0003800000)) + 1;
    uint64_t low;
    if (w->code.failed) return;
    memcpy(&low, w->code.data + at * 16, sizeof low);
    low |= (target - at - 1) * 4 << 34;
    memcpy(w->code.data + at * 16, &low, sizeof low);
}

static void leave(writer *w, uint64_t guard) {
    emit(w, 0x094d | guard << 12, UINT64_C(0x000fea0003800000));
}

/* An indirect branch to the `count` places that stand right behind it, `apart` instructions from each other. */
static void indirect(writer *w, uint32_t count, uint32_t apart) {
    const size_t at = emit(w, 0x02007949, UINT64_C(0x000fea0003800000));
    const uint8_t head[4] = {4, 0x34, (uint8_t)(12 + count * 4), 0};
    const uint32_t record[3] = {(uint32_t)at * 16, 0, count};
    add(&w->info, head, sizeof head);
    add(&w->info, record, sizeof record);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t target = (uint32_t)(at + 1 + i * (size_t)apart) * 16;
        add(&w->info, &target, sizeof target);
    }
}

/* ---- what kernels look like ---- */

/* What a loaded value says decides: if (data[i] & ...) {...} else {...}, with the same inside. */
static void region(writer *w, uint32_t depth) {
    const uint64_t loaded = 4 + any(w, 4), made = 4 + any(w, 4);
    load(w, loaded);
    sum(w, made, loaded, 2);
    const size_t open = bssy(w, depth);
    arithmetic(w, 6);
    compare(w, 0, made, ZERO);
    const size_t other = branch(w, 0);
    arithmetic(w, 8);
    if (depth) region(w, depth - 1);
    const size_t over = branch(w, NO_GUARD);
    aim(w, other, here(w));
    arithmetic(w, 8);
    aim(w, over, here(w));
    bsync(w, open, depth);
}

/* for (i = blockIdx; ...): all threads go round equally often. */
static void loop(writer *w) {
    sum(w, 3, 2, ZERO);
    const size_t head = here(w);
    arithmetic(w, 12);
    sum(w, 3, 3, 2);
    compare(w, 1, 3, ZERO);
    aim(w, branch(w, 1), head);
}

static void body(writer *w, uint64_t instructions) {
    indices(w);
    while (here(w) + 1 < instructions && !w->code.failed) {
        region(w, 2);
        loop(w);
        arithmetic(w, 30);
    }
}

/* ---- what an analysis could be slow at ---- */

/* A BSSY inside a BSSY and so on, each with a branch to its end. */
static void nest(writer *w, uint64_t instructions) {
    const size_t depth = instructions / 4;
    size_t *open = malloc((depth + 1) * 2 * sizeof *open), *skip = open + depth + 1;
    if (!open) return;
    for (size_t i = 0; i < depth; i++) {
        open[i] = bssy(w, i);
        compare(w, 0, 0, 4 + i % 60);
        skip[i] = branch(w, 0);
    }
    for (size_t i = depth; i-- > 0;) {
        aim(w, skip[i], here(w));
        bsync(w, open[i], i);
    }
    free(open);
}

/* All intervals are open, and none of them ends where the branches meet. */
static void nest_and_ladder(writer *w, uint64_t instructions) {
    const size_t depth = instructions / 4, steps = instructions / 4;
    size_t *open = malloc((depth + steps + 1) * sizeof *open), *out = open + depth;
    if (!open) return;
    for (size_t i = 0; i < depth; i++) open[i] = bssy(w, i);
    for (size_t i = 0; i < steps; i++) {
        compare(w, 0, 0, 4 + i % 60);
        out[i] = branch(w, 0);
    }
    for (size_t i = depth; i-- > 0;) bsync(w, open[i], i);
    for (size_t i = 0; i < steps; i++) aim(w, out[i], here(w));
    free(open);
}

static void loops(writer *w, uint64_t instructions) {
    while (here(w) + 1 < instructions && !w->code.failed) {
        const size_t head = here(w);
        arithmetic(w, 2);
        compare(w, 0, 4 + any(w, 60), 2);
        aim(w, branch(w, 0), head);
    }
}

static void nested_loops(writer *w, uint64_t instructions) {
    const size_t depth = instructions / 4;
    for (size_t i = 0; i < depth; i++) arithmetic(w, 2);
    for (size_t i = 0; i < depth; i++) {
        compare(w, 0, 4 + any(w, 60), 2);
        aim(w, branch(w, 0), (depth - 1 - i) * 2);
    }
}

/* Branches to one block, all before any code that lies between. */
static void ladder(writer *w, uint64_t instructions) {
    const size_t steps = instructions / 4;
    size_t *out = malloc((steps + 1) * sizeof *out);
    if (!out) return;
    indices(w);
    for (size_t i = 0; i < steps; i++) {
        compare(w, 0, 0, 4 + any(w, 60));
        out[i] = branch(w, 0);
    }
    loops(w, instructions);
    for (size_t i = 0; i < steps; i++) aim(w, out[i], here(w));
    free(out);
}

static void indirects(writer *w, uint64_t instructions) {
    while (here(w) + 1 < instructions && !w->code.failed) {
        indirect(w, 8, 2);
        size_t over[8];
        for (size_t i = 0; i < 8; i++) {
            arithmetic(w, 1);
            over[i] = branch(w, NO_GUARD);
        }
        for (size_t i = 0; i < 8; i++) aim(w, over[i], here(w));
    }
}

static void guarded(writer *w, uint64_t instructions) {
    while (here(w) + 1 < instructions && !w->code.failed) {
        const size_t at = branch(w, any(w, 7));
        if (any(w, 4) == 0) compare(w, any(w, 7), 4 + any(w, 60), 2);
        aim(w, at, here(w));
    }
}

/* One block, of which each value is made far behind its sources. */
static void one_block(writer *w, uint64_t instructions) {
    const size_t half = instructions / 2;
    arithmetic(w, 120);
    for (size_t i = 0; i < half; i++) compare(w, i % 6, 4 + any(w, 60), 4 + any(w, 60));
    while (here(w) + 1 < instructions && !w->code.failed) aim(w, branch(w, any(w, 6)), here(w));
}

/* Each branch asks for another register, through all that stands before it. */
static void values(writer *w, uint64_t instructions) {
    size_t head = here(w);
    emit(w, 0x027919, UINT64_C(0x000e2e0000002500));
    while (here(w) + 1 < instructions && !w->code.failed) {
        compare(w, 0, 4 + any(w, 240), 4 + any(w, 240));
        aim(w, branch(w, 0), here(w) + 1);
        aim(w, branch(w, any(w, 6)), head);
    }
}

static const struct {
    shape shape;
    void (*write)(writer *, uint64_t);
} SHAPES[] = {
    {{"kernels", "functions of 1000 instructions"}, body},
    {{"huge", "one function of the same"}, body},
    {{"nest", "BSSY inside BSSY"}, nest},
    {{"nest_ladder", "a nest around branches out of it"}, nest_and_ladder},
    {{"loops", "a chain of loops"}, loops},
    {{"nested_loops", "loops inside loops"}, nested_loops},
    {{"ladder", "branches to one block"}, ladder},
    {{"indirect", "indirect branches"}, indirects},
    {{"guarded", "guarded branches and little else"}, guarded},
    {{"one_block", "one long block, then branches"}, one_block},
    {{"values", "many registers live through many blocks"}, values},
};

const shape *shape_at(size_t index) {
    return index < sizeof SHAPES / sizeof SHAPES[0] ? &SHAPES[index].shape : NULL;
}

/* ---- the ELF file ---- */

typedef struct file {
    bytes body, names, symbols, headers;
    uint32_t sections;
} file;

static uint32_t add_name(file *f, const char *name) {
    const uint32_t at = (uint32_t)f->names.size;
    add(&f->names, name, strlen(name) + 1);
    return at;
}

static uint32_t add_section(file *f, const char *name, Elf64_Shdr header, const bytes *content) {
    align(&f->body, 16);
    header.sh_name = add_name(f, name);
    header.sh_offset = sizeof(Elf64_Ehdr) + f->body.size;
    header.sh_size = content->size;
    add(&f->body, content->data, content->size);
    add(&f->headers, &header, sizeof header);
    return f->sections++;
}

static void add_kernel(file *f, size_t index, uint64_t instructions, uint64_t number) {
    char name[NAME_BYTES], section[NAME_BYTES + 16];
    writer w = {.random = number};
    SHAPES[index].write(&w, instructions);
    leave(&w, NO_GUARD);
    snprintf(name, sizeof name, "%s_%llu", SHAPES[index].shape.name, (unsigned long long)number);
    snprintf(section, sizeof section, ".text.%s", name);
    const uint32_t text = add_section(f, section, (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_addralign = 16}, &w.code);
    snprintf(section, sizeof section, ".nv.info.%s", name);
    if (w.info.size)
        add_section(f, section, (Elf64_Shdr){.sh_type = SHT_LOPROC, .sh_info = text, .sh_addralign = 4}, &w.info);
    const Elf64_Sym symbol = {.st_name = add_name(f, name),
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                              .st_other = 0x10,
                              .st_shndx = (uint16_t)text,
                              .st_size = w.code.size};
    add(&f->symbols, &symbol, sizeof symbol);
    if (w.code.failed || w.info.failed) f->body.failed = true;
    free(w.code.data);
    free(w.info.data);
}

static uint8_t *finish(file *f, size_t *size) {
    const uint32_t names = f->sections + 1;
    add_section(f, ".symtab", (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_link = names, .sh_entsize = sizeof(Elf64_Sym)},
                &f->symbols);
    add_name(f, ".strtab"); /* before the table's size is taken */
    const bytes table = f->names;
    align(&f->body, 16);
    const Elf64_Shdr header = {.sh_name = (uint32_t)(table.size - sizeof ".strtab"),
                               .sh_type = SHT_STRTAB,
                               .sh_offset = sizeof(Elf64_Ehdr) + f->body.size,
                               .sh_size = table.size};
    add(&f->body, table.data, table.size);
    add(&f->headers, &header, sizeof header);
    f->sections++;
    align(&f->body, 16);
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x41, 8},
                       .e_type = ET_EXEC,
                       .e_machine = 190,
                       .e_version = EV_CURRENT,
                       .e_shoff = sizeof head + f->body.size,
                       .e_flags = 90u << 8,
                       .e_ehsize = sizeof head,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = (uint16_t)f->sections,
                       .e_shstrndx = (uint16_t)names};
    bytes whole = {0};
    add(&whole, &head, sizeof head);
    add(&whole, f->body.data, f->body.size);
    add(&whole, f->headers.data, f->headers.size);
    whole.failed = whole.failed || f->body.failed || f->headers.failed || f->names.failed || f->symbols.failed;
    *size = whole.size;
    if (!whole.failed) return whole.data;
    free(whole.data);
    return NULL;
}

uint8_t *shape_make(size_t index, uint64_t instructions, size_t *size) {
    file f = {0};
    const Elf64_Shdr nothing = {0};
    const Elf64_Sym none = {0};
    add_name(&f, "");
    add(&f.headers, &nothing, sizeof nothing);
    add(&f.symbols, &none, sizeof none);
    f.sections = 1;
    const uint64_t kernels =
        index == SHAPE_KERNELS ? (instructions + KERNEL_INSTRUCTIONS - 1) / KERNEL_INSTRUCTIONS : 1;
    for (uint64_t i = 0; i < kernels; i++) add_kernel(&f, index, instructions / kernels, i);
    uint8_t *made = finish(&f, size);
    free(f.body.data);
    free(f.names.data);
    free(f.symbols.data);
    free(f.headers.data);
    return made;
}
