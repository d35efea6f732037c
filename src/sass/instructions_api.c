/* Instructions one by one, and how many of each there are. */
#include <core/error.h>
#include <core/structs.h>
#include <sass/operands.h>
#include <sass/sass_handle.h>
#include <stdlib.h>
#include <string.h>

GC_DEFINE_INIT(gpuchar_sass_mix)

/* ---- one ---- */

static uint32_t flags_of(const gc_instruction *in) {
    return (in->conditional ? GPUCHAR_SASS_CONDITIONAL : 0u) | (in->never ? GPUCHAR_SASS_NEVER : 0u) |
           (in->uniform ? GPUCHAR_SASS_UNIFORM : 0u) | (in->clear ? GPUCHAR_SASS_CLEAR : 0u) |
           (in->whole_warp ? GPUCHAR_SASS_WHOLE_WARP : 0u);
}

/* The public kinds are the decoder's, by number. */
_Static_assert((int)GPUCHAR_SASS_CLOCK == GC_OP_CLOCK && (int)GPUCHAR_SASS_LONGJMP == GC_OP_LONGJMP, "same numbers");

static void read_word(const gc_code *code, size_t offset, gpuchar_sass_instruction *out) {
    memcpy(&out->low, code->bytes + offset, sizeof out->low);
    if (code->arch >= 70) {
        memcpy(&out->high, code->bytes + offset + 8, sizeof out->high);
        return;
    }
    /* Three schedules of 21 bits stand in the word at the group's beginning. */
    const size_t slot = (code->offset + offset) % 32 / 8;
    uint64_t control;
    memcpy(&control, code->bytes + offset - slot * 8, sizeof control);
    out->high = control >> (slot - 1) * 21 & 0x1fffff;
}

/* Not a CALL that is used as a branch. */
static bool has_variant(const gc_instruction *in) {
    const bool kind = in->kind == GC_OP_BRANCH || in->kind == GC_OP_INDIRECT || in->kind == GC_OP_JUMP;
    return kind && in->opcode != GC_OPCODE_CALL_REL;
}

/* Of sm_70 and later; the operand form, opcode bits [12:9], says what there is. */
static void read_operand(const gc_code *code, const gc_instruction *in, gpuchar_sass_instruction *out) {
    const bool branches = in->kind == GC_OP_BRANCH || in->kind == GC_OP_JUMP || in->kind == GC_OP_INDIRECT;
    if (code->arch < 70 || !branches || in->opcode == GC_OPCODE_CALL_REL) return;
    const gc_word word = {out->low, out->high};
    const uint32_t form = in->opcode >> 9;
    const bool indirect = in->kind == GC_OP_INDIRECT || (in->opcode & 0x1ff) == 0x14c;
    if (form == 10) {
        out->operand_kind = GPUCHAR_SASS_OPERAND_UNIFORM_PREDICATE;
        out->operand = (uint32_t)gc_bits(word, 26, 24);
        out->operand_not = (uint32_t)gc_bits(word, 27, 27);
    } else if (indirect && (in->opcode & 0x1ff) != 0x158) {
        out->operand_kind = GPUCHAR_SASS_OPERAND_REGISTER;
        out->operand = (uint32_t)gc_bits(word, 31, 24);
    } else if (form == 12 && code->arch > 75) {
        out->operand_kind = GPUCHAR_SASS_OPERAND_UNIFORM_REGISTER;
        out->operand = (uint32_t)gc_bits(word, code->arch >= 100 ? 31 : 29, 24);
    }
}

static void convert(const gc_code *code, size_t index, gpuchar_sass_instruction *out) {
    const size_t offset = gc_code_offset(code, index);
    gc_instruction in;
    gc_decode(code, offset, &in);
    *out = (gpuchar_sass_instruction){.pc_bytes = in.pc,
                                      .target_bytes = in.target,
                                      .mnemonic = in.mnemonic,
                                      .opcode = in.opcode,
                                      .kind = in.kind,
                                      .flags = flags_of(&in),
                                      .guard = in.guard,
                                      .guard_not = in.guard_not,
                                      .mode = has_variant(&in) ? in.condition : in.mode,
                                      .variant = has_variant(&in) ? in.mode : 0,
                                      .mask = in.mask,
                                      .barrier = in.barrier,
                                      .barrier_class = in.barrier_class,
                                      .stall_cycles = in.stall,
                                      .yield = in.yield,
                                      .write_barrier = in.write_barrier,
                                      .read_barrier = in.read_barrier,
                                      .wait_mask = in.wait_mask,
                                      .reuse = in.reuse};
    if (code->arch < 70) { /* the condition code stands in `second` */
        out->mode = in.kind == GC_OP_BRANCH && in.uniform;
        out->variant = 0;
    }
    if (in.kind != GC_OP_OTHER) {
        out->second = code->arch >= 70 ? in.second : in.condition;
        out->second_not = in.second_not;
    }
    read_word(code, offset, out);
    read_operand(code, &in, out);
}

gpuchar_status gpuchar_sass_instruction_get(const gpuchar_sass *sass, size_t function, size_t index,
                                            gpuchar_sass_instruction *out) {
    gpuchar_status status = GPUCHAR_OK;
    if (!out) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the place for the instruction is NULL");
    *out = (gpuchar_sass_instruction){0};
    const gc_function *found = gc_sass_function(sass, function, &status);
    if (!found) return status;
    if (index >= gc_code_count(&found->code))
        return gc_fail(GPUCHAR_E_LIMIT, "%.200s has %zu instructions, so none of number %zu", found->code.name,
                       gc_code_count(&found->code), index);
    convert(&found->code, index, out);
    return GPUCHAR_OK;
}

/* ---- all ---- */

/* Entries by mnemonic, or by opcode where there is none: a small table that is looked through by hash. */
typedef struct counter {
    gpuchar_sass_mix *mix;
    size_t capacity;
    uint32_t slots[4096]; /* entry + 1 */
} counter;

static uint32_t slot_of(const gc_instruction *in) {
    const uint64_t key = in->mnemonic ? (uint64_t)(uintptr_t)in->mnemonic : in->opcode + UINT64_C(1);
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 52);
}

static bool is_same(const gpuchar_sass_mix_entry *entry, const gc_instruction *in) {
    if (!entry->mnemonic || !in->mnemonic) return !entry->mnemonic && !in->mnemonic && entry->opcode == in->opcode;
    return strcmp(entry->mnemonic, in->mnemonic) == 0;
}

/* The same mnemonic stands at several places of the decoder's table, each with its own address. */
static gpuchar_sass_mix_entry *find(const counter *c, const gc_instruction *in) {
    for (size_t i = 0; i < c->mix->entry_count; i++)
        if (is_same(&c->mix->entries[i], in)) return &c->mix->entries[i];
    return NULL;
}

static gpuchar_sass_mix_entry *entry_of(counter *c, const gc_code *code, size_t offset, const gc_instruction *in) {
    uint32_t slot = slot_of(in);
    gpuchar_sass_mix *mix = c->mix;
    if (c->slots[slot] && is_same(&mix->entries[c->slots[slot] - 1], in)) return &mix->entries[c->slots[slot] - 1];
    gpuchar_sass_mix_entry *entry = find(c, in);
    if (!entry) {
        if (mix->entry_count == c->capacity) {
            const size_t grown = c->capacity ? c->capacity * 2 : 64;
            gpuchar_sass_mix_entry *entries = realloc(mix->entries, grown * sizeof *entries);
            if (!entries) return NULL;
            mix->entries = entries;
            c->capacity = grown;
        }
        entry = &mix->entries[mix->entry_count++];
        gpuchar_sass_instruction word = {0};
        read_word(code, offset, &word);
        *entry = (gpuchar_sass_mix_entry){
            .mnemonic = in->mnemonic, .example_low = word.low, .example_high = word.high, .opcode = in->opcode};
    }
    c->slots[slot] = (uint32_t)(entry - mix->entries) + 1;
    return entry;
}

static gpuchar_status count(counter *c, const gc_code *code) {
    const size_t instructions = gc_code_count(code);
    for (size_t i = 0; i < instructions; i++) {
        const size_t offset = gc_code_offset(code, i);
        gc_instruction in;
        gc_decode(code, offset, &in);
        gpuchar_sass_mix_entry *entry = entry_of(c, code, offset, &in);
        if (!entry) return gc_fail_memory(c->capacity * 2 * sizeof *entry);
        entry->count++;
        c->mix->instructions++;
        c->mix->unknown += !in.mnemonic;
        c->mix->guarded += in.guard != GC_PREDICATE_TRUE || in.guard_not;
        c->mix->stall_cycles += in.stall;
    }
    return GPUCHAR_OK;
}

static int by_count(const void *left, const void *right) {
    const gpuchar_sass_mix_entry *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    if (!a->mnemonic || !b->mnemonic) return (a->mnemonic == NULL) - (b->mnemonic == NULL);
    return strcmp(a->mnemonic, b->mnemonic);
}

static gpuchar_status read_mix(const gpuchar_sass *sass, size_t function, gpuchar_sass_mix *mix) {
    gpuchar_status status = GPUCHAR_OK;
    const size_t first = function == GPUCHAR_SASS_ALL ? 0 : function;
    const size_t end = function == GPUCHAR_SASS_ALL ? sass->functions.count : function + 1;
    counter *c = calloc(1, sizeof *c);
    if (!c) return gc_fail_memory(sizeof *c);
    c->mix = mix;
    for (size_t i = first; !status && i < end; i++) status = count(c, &sass->functions.list[i].code);
    free(c);
    if (!status && mix->entry_count) qsort(mix->entries, mix->entry_count, sizeof *mix->entries, by_count);
    return status;
}

gpuchar_status gpuchar_sass_mix_get(const gpuchar_sass *sass, size_t function, gpuchar_sass_mix *mix) {
    gpuchar_status status = gc_result_check(mix, sizeof *mix, "gpuchar_sass_mix");
    if (status) return status;
    if (!sass) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the cubin is NULL");
    if (function != GPUCHAR_SASS_ALL) gc_sass_function(sass, function, &status);
    if (status) return status;
    gpuchar_sass_mix filled = GPUCHAR_SASS_MIX_INIT;
    status = read_mix(sass, function, &filled);
    if (status)
        gpuchar_sass_mix_free(&filled);
    else
        gc_result_write(mix, &filled, sizeof filled);
    return status;
}

void gpuchar_sass_mix_free(gpuchar_sass_mix *mix) {
    if (!mix) return;
    free(mix->entries);
    mix->entries = NULL;
    mix->entry_count = 0;
}
