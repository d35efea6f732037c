/*
 * Random programs run by a warp: no branch that is told to go the same way in all threads may ever be seen to split threads
 * that come to it together. Threads part at branches, and meet at the branch's immediate post-dominator.
 */
#include "sass_random.h"

#define PROGRAMS 30000

/* Where some of the threads are, and where they wait for others; NOWHERE: for none. */
typedef struct part {
    uint32_t at, meet;
    uint32_t threads; /* a mask */
} part;

#define NOWHERE UINT32_MAX
#define PARTS_MAX 256

typedef struct warp {
    const cubin_parts *parts;
    const gpuchar_sass_reconvergence *result;
    random_thread threads[RANDOM_THREADS];
    uint8_t branch_of[CUBIN_CODE_MAX]; /* index + 1 of result's branch */
    part stack[PARTS_MAX];
    uint32_t depth;
    uint32_t parted; /* threads that were apart at some time */
} warp;

static uint64_t kept_together, told_uniform, told_divergent, seen_split, merged_uniform;

static void begin(warp *w) {
    memset(w->threads, 0, sizeof w->threads);
    for (uint32_t t = 0; t < RANDOM_THREADS; t++) {
        random_thread *thread = &w->threads[t];
        thread->index = t;
        for (uint32_t r = 0; r < CODE_RZ; r++) thread->registers[r] = mixed(t, r); /* what a caller left */
        for (uint32_t p = 0; p < CODE_PT; p++) thread->predicates[p] = mixed(t + 50, p) & 1;
        thread->predicates[CODE_PT] = true;
    }
    memset(w->branch_of, 0, sizeof w->branch_of);
    for (size_t i = 0; i < w->result->branch_count; i++)
        w->branch_of[w->result->branches[i].instruction] = (uint8_t)(i + 1);
    w->stack[0] = (part){0, NOWHERE, (1u << RANDOM_THREADS) - 1};
    w->depth = 1;
    w->parted = 0;
}

static uint32_t target_of(const cubin_parts *parts, uint32_t at) {
    const cubin_word word = parts->code[at];
    return at + 1 + (uint32_t)((int32_t)(word_field(word, 65, 34) << 8 | word_field(word, 23, 16)) / 4);
}

static void leave(warp *w, uint32_t threads) {
    for (uint32_t i = 0; i < w->depth; i++) w->stack[i].threads &= ~threads;
}

/* Those of the threads for which the guard holds. */
static uint32_t holding(const warp *w, uint32_t threads, uint32_t at) {
    uint32_t found = 0;
    for (uint32_t t = 0; t < RANDOM_THREADS; t++)
        if ((threads >> t & 1) && thread_holds(&w->threads[t], word_field(w->parts->code[at], 15, 12)))
            found |= 1u << t;
    return found;
}

static void branch(warp *w, part *top) {
    const uint32_t at = top->at, taken = holding(w, top->threads, at), other = top->threads & ~taken;
    const uint32_t target = target_of(w->parts, at), index = w->branch_of[at];
    if (index) {
        const gpuchar_sass_branch *found = &w->result->branches[index - 1];
        const bool uniform = (found->flags & GPUCHAR_SASS_BRANCH_UNIFORM_DATA) != 0;
        const bool several = (top->threads & (top->threads - 1)) != 0;
        if (uniform && taken && other) fail_msg("the branch at %u of a random program is told uniform and splits", at);
        kept_together += uniform && several;
        merged_uniform += uniform && several && (w->parted & top->threads);
        seen_split += taken && other;
        if (taken && other) {
            assert_true(w->depth + 2 < PARTS_MAX);
            const uint32_t meet =
                found->meet_bytes == GPUCHAR_SASS_NO_PC ? NOWHERE : (uint32_t)(found->meet_bytes / 16);
            w->parted |= top->threads;
            if (meet == NOWHERE)
                w->depth--; /* nobody waits */
            else
                top->at = meet;
            w->stack[w->depth++] = (part){at + 1, meet, other};
            w->stack[w->depth++] = (part){target, meet, taken};
            return;
        }
    }
    top->at = taken ? target : at + 1;
}

static void run(warp *w) {
    begin(w);
    for (uint32_t step = 0; step < RANDOM_STEPS && w->depth; step++) {
        part *top = &w->stack[w->depth - 1];
        if (!top->threads || top->at == top->meet) {
            w->depth--;
            continue;
        }
        if (w->depth + 3 > PARTS_MAX) return; /* a loop that parts its threads for ever */
        const uint32_t opcode = word_field(w->parts->code[top->at], 11, 0);
        if (opcode == 0x947) {
            branch(w, top);
        } else if (opcode == 0x94d) {
            const uint32_t gone = holding(w, top->threads, top->at++);
            leave(w, gone);
        } else {
            for (uint32_t t = 0; t < RANDOM_THREADS; t++)
                if (top->threads >> t & 1) thread_step(&w->threads[t], w->parts->code[top->at]);
            top->at++;
        }
    }
}

static void check_program(cubin_parts *parts) {
    static warp w;
    cubin_image image;
    gpuchar_sass *sass = cubin_open(parts, &image);
    gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
    assert_int_equal(gpuchar_sass_reconvergence_get(sass, 0, &result), GPUCHAR_OK);
    assert_true(result.branch_count < 255);
    for (size_t i = 0; i < result.branch_count; i++) {
        told_uniform += (result.branches[i].flags & GPUCHAR_SASS_BRANCH_UNIFORM_DATA) != 0;
        told_divergent += (result.branches[i].flags & GPUCHAR_SASS_BRANCH_DIVERGENT) != 0;
    }
    w.parts = parts;
    w.result = &result;
    run(&w);
    gpuchar_sass_reconvergence_free(&result);
    gpuchar_sass_close(sass);
    free(image.bytes);
}

static void test_random_programs(void **state) {
    static const uint32_t ARCHS[] = {90, 100, 120};
    (void)state;
    cubin_parts *parts = cubin_begin(0);
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        random_seed = i * UINT64_C(0x9e3779b97f4a7c15) + 1;
        for (uint32_t warm = 0; warm < 4; warm++) random_below(2);
        parts->arch = ARCHS[i % 3];
        parts->count = 0;
        /* All begin with values that are the same in all threads, so that branches can be. */
        for (uint32_t r = 0; r < RANDOM_REGISTERS && random_below(8); r++)
            code_field(parts, code_add(parts, 0x802, CODE_PT), 23, 16, r);
        for (uint32_t p = 0; p < RANDOM_PREDICATES && random_below(8); p++) {
            const uint32_t at = code_add(parts, 0x80c, CODE_PT);
            code_field(parts, at, 31, 24, CODE_RZ);
            code_field(parts, at, 78, 76, random_below(2) ? 2 : 1);
            code_field(parts, at, 83, 81, p);
        }
        if (i % 2) {
            random_nest(parts, 1 + random_below(3));
            code_exit(parts, CODE_PT);
        } else {
            random_unstructured(parts);
        }
        check_program(parts);
    }
    free(parts);
    print_message(
        "%u programs: %llu branches uniform, %llu not; %llu times a uniform one kept threads together (%llu of them "
        "had been apart), %llu times another one split them\n",
        PROGRAMS, (unsigned long long)told_uniform, (unsigned long long)told_divergent,
        (unsigned long long)kept_together, (unsigned long long)merged_uniform, (unsigned long long)seen_split);
    /* The test meets what it is about. */
    assert_true(told_uniform > PROGRAMS / 4 && told_divergent > PROGRAMS);
    assert_true(kept_together > PROGRAMS && merged_uniform > PROGRAMS / 4 && seen_split > PROGRAMS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
