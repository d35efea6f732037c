/* Every body of every kind is proved on every architecture. */
#include "divergence_samples.h"

static void test_every_body(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    static const int BODIES[] = {64, 128, 256, 512};
    int proved = 0;
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int kind = 0; kind < KINDS && is_decoded(NVRTC.archs[i]); kind++)
            for (size_t b = 0; b < sizeof BODIES / sizeof BODIES[0]; b++) {
                char *source = sweep_source(kind + 1, BODIES[b]);
                test_cubin made = nvrtc_compile(&NVRTC, source, NVRTC.archs[i]);
                const gc_divergence_claim claim = sweep_claim(kind, (uint32_t)BODIES[b]);
                const gc_divergence_proof proof = prove(&made, &claim);
                if (proof.status) fail_msg("sm_%d, %d %s: %s", NVRTC.archs[i], BODIES[b], CHAINED[kind], proof.reason);
                proved++;
                free(source);
                free(made.bytes);
            }
    print_message("%d kernels proved\n", proved);
    assert_true(proved > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_body)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
