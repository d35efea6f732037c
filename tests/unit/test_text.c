/* What people read, where numbers and strings may come from anywhere: nothing infinite, no broken columns, no commands to a
 * terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <core/error.h>
#include <core/util.h>
#include <gpuchar/gpuchar.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        double value;
        int decimals, most;
        const char *wanted;
    } cases[] = {
        {33459, 0, 10, "33459"},
        {1.00234, 4, 10, "1.0023"},
        {9999999999, 0, 10, "9999999999"},
        {99999999999, 0, 10, "1e+11"},
        {1e300, 1, 16, "1e+300"},
        {-1.2345678912345e300, 1, 16, "-1.23456789e+300"},
        {-1e300, 1, 7, "-1e+300"},
        {INFINITY, 1, 10, "-"},
        {-INFINITY, 1, 10, "-"},
        {NAN, 1, 10, "-"},
        {0, 8, 16, "0.00000000"},
        {1e308, 8, 31, "1e+308"},
        {-1.2345678901234567e308, 8, 31, "-1.2345678901234567e+308"},
    };
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        gc_number number = gc_number_text(cases[i].value, cases[i].decimals, cases[i].most);
        assert_true((int)strlen(number.text) <= cases[i].most);
        assert_string_equal(number.text, cases[i].wanted);
    }
}

static void test_clean(void **state) {
    (void)state;
    char text[] = "a\x1b[31m\r\n\t\x7f|\xc2\x9b|\xc2\xb5|\xc3\xa9|\xc2";
    gc_text_clean(text);
    assert_string_equal(text, "a?[31m????|?\?|\xc2\xb5|\xc3\xa9|\xc2");
    /* Marks of direction and invisible ones, and their neighbours that are neither. */
    char marks[] = "\xe2\x80\xae\xe2\x80\xac|\xe2\x80\x8b|\xe2\x81\xa9|\xd8\x9c|\xef\xbb\xbf|\xf3\xa0\x81\xbf|\xc2\xad";
    gc_text_clean(marks);
    assert_string_equal(marks, "?\?\?\?\?\?|?\?\?|?\?\?|?\?|?\?\?|?\?\?\?|?\?");
    char others[] = "\xe2\x80\xa6|\xe2\x82\xac|\xd8\x9b|\xef\xbb\xbe|\xe2\x80";
    gc_text_clean(others);
    assert_string_equal(others, "\xe2\x80\xa6|\xe2\x82\xac|\xd8\x9b|\xef\xbb\xbe|\xe2\x80");
    gc_fail(GPUCHAR_E_FORMAT, "a \"%s\"", "\x1b]0;title\x07");
    gc_hint("not \"%s\"", "\x1b[2J");
    assert_string_equal(gpuchar_last_error()->message, "a \"?]0;title?\"");
    assert_string_equal(gpuchar_last_error()->hint, "not \"?[2J\"");
}

/* ---- the sweep ---- */

static gpuchar_divergence_point points[2];

static gpuchar_divergence_sweep_result new_result(void) {
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    memset(points, 0, sizeof points);
    for (uint32_t i = 0; i < 2; ++i) {
        points[i].ways = i + 1;
        points[i].cycles = (gpuchar_stat){.median = 1000 * (i + 1), .mad = 1, .samples = 9, .outliers = 3};
        points[i].ratio = i + 1;
        points[i].efficiency = 32.0 / (i + 1);
        points[i].known = GPUCHAR_DIVERGENCE_POINT_RATIO | GPUCHAR_DIVERGENCE_POINT_COUNTERS;
    }
    result.points = points;
    result.point_count = 2;
    result.iterations = 4;
    result.path_mean_cycles = 1000;
    result.slope = (gpuchar_fit){.value = 1000, .r2 = 1, .points = 2};
    result.known = GPUCHAR_DIVERGENCE_TIMED | GPUCHAR_DIVERGENCE_DECODED | GPUCHAR_DIVERGENCE_VALIDATED |
                   GPUCHAR_DIVERGENCE_RATIO32 | GPUCHAR_DIVERGENCE_INTERCEPT;
    result.evidence.flags = GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED;
    result.evidence.known = GPUCHAR_EVIDENCE_DECODED | GPUCHAR_EVIDENCE_EXECUTED | GPUCHAR_EVIDENCE_CLOCK;
    result.evidence.decoded_count = 8;
    result.evidence.scaffold_count = 2;
    result.evidence.executed_count = 7;
    result.evidence.intended_count = 8;
    result.evidence.arch = 90;
    strcpy(result.evidence.mnemonic, "FFMA");
    return result;
}

static char *text_of(const gpuchar_divergence_sweep_result *result) {
    char *text = NULL;
    assert_int_equal(gpuchar_experiment_text("divergence_sweep", result, &text), GPUCHAR_OK);
    return text;
}

static void check_says(const gpuchar_divergence_sweep_result *result, const char *wanted) {
    char *text = text_of(result);
    if (!strstr(text, wanted)) fail_msg("not \"%s\" in\n%s", wanted, text);
    gpuchar_string_free(text);
}

static void test_usual(void **state) {
    (void)state;
    gpuchar_divergence_sweep_result result = new_result();
    check_says(&result, "    1        1000      1.0000  1.0e-03          3         32.0000      32.0000\n"
                        "    2        2000      2.0000  5.0e-04          3         16.0000      16.0000\n"
                        "T(k) = s k + c: s = 1000.0 cycles per path, c = 0.0 cycles (0.000 % of s), R2 = 1.00000000\n");
    check_says(&result, "counts, 250.00 measured\n");
    check_says(&result, "proved for sm_90, 8 FFMA as intended, 2 others in their loops\n"
                        "counters:     agree, 7 executed, 0 passes\n");
    result.evidence.flags = GPUCHAR_FLAG_PROVED;
    check_says(&result, "counters:     disagree, 7 executed instead of 8\n");
}

/* What is unknown is not shown as 0. */
static void test_unknown(void **state) {
    (void)state;
    gpuchar_divergence_sweep_result result = new_result();
    result.iterations = 0;
    check_says(&result, "counts, - measured\n");
    points[0].known = 0;
    points[1].cycles.samples = 0;
    points[1].ways = 0;
    check_says(&result, "    1        1000           -  1.0e-03          3               -      32.0000\n"
                        "    0           -      2.0000        -          -         16.0000            -\n");
    result.known &= ~(uint32_t)GPUCHAR_DIVERGENCE_INTERCEPT;
    check_says(&result, "c = 0.0 cycles (- % of s)");
    result.evidence.known = 0;
    check_says(&result, "machine code: proved for sm_90\ncounters:     agree, 0 passes\n");
    result.evidence.flags = GPUCHAR_FLAG_PROVED;
    check_says(&result, "counters:     disagree\n");
}

/* Every column begins where its title says, and no line grows without end. */
static void check_shape(const char *text) {
    size_t width = strcspn(text, "\n");
    const char *line = text;
    for (int i = 0; i < 3; ++i) {
        if (strcspn(line, "\n") != width) fail_msg("broken columns in\n%s", text);
        line += width + 1;
    }
    for (; *line; line += strcspn(line, "\n") + 1) assert_in_range(strcspn(line, "\n"), 1, 160);
    if (strstr(text, "inf") || strstr(text, "nan")) fail_msg("a number that is none in\n%s", text);
}

static void test_extremes(void **state) {
    (void)state;
    static const double extremes[] = {1e300, -1e300, 1e-300, 1.7e308, 0, -0.0, 1e19, INFINITY, NAN};
    for (size_t i = 0; i < GC_COUNT(extremes); ++i) {
        gpuchar_divergence_sweep_result result = new_result();
        double *const numbers[] = {&points[0].cycles.median,   &points[1].cycles.mad,    &points[0].ratio,
                                   &points[0].efficiency,      &result.path_mean_cycles, &result.slope.value,
                                   &result.slope.r2,           &result.intercept.value,  &result.intercept_ratio,
                                   &result.flatness,           &result.ratio_32,         &result.validation_convergent,
                                   &result.validation_two_way, &result.validation_full,  &result.evidence.sm_clock_hz};
        for (size_t j = 0; j < GC_COUNT(numbers); ++j) {
            double kept = *numbers[j];
            *numbers[j] = extremes[i];
            char *text = text_of(&result);
            check_shape(text);
            gpuchar_string_free(text);
            *numbers[j] = kept;
        }
        points[1].cycles.outliers = UINT32_MAX;
        for (size_t j = 0; j < GC_COUNT(numbers); ++j) *numbers[j] = extremes[i];
        char *text = text_of(&result);
        check_shape(text);
        gpuchar_string_free(text);
    }
}

static void test_mnemonic(void **state) {
    (void)state;
    gpuchar_divergence_sweep_result result = new_result();
    memset(result.evidence.mnemonic, '\x1b', sizeof result.evidence.mnemonic); /* and no end */
    check_says(&result, "8 ??????????????????????????????? as intended");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_clean),    cmocka_unit_test(test_usual),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_extremes), cmocka_unit_test(test_mnemonic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
