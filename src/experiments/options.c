#include <core/error.h>
#include <experiments/options.h>
#include <gpuchar/counters.h>
#include <gpuchar/experiment.h>

gpuchar_status gc_option_choice(const char *name, uint32_t value, uint32_t highest) {
    if (value <= highest) return GPUCHAR_OK;
    gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s is %u; known are 0 to %u", name, value, highest);
    gc_hint("leave %s at 0 for its default; its values are in the header of its struct", name);
    return GPUCHAR_E_INVALID_ARGUMENT;
}

gpuchar_status gc_option_range(const char *name, uint32_t value, uint32_t lowest, uint32_t highest) {
    if (value >= lowest && value <= highest) return GPUCHAR_OK;
    gc_fail(GPUCHAR_E_LIMIT, "%s is %u; it can be %u to %u, 0 for the default", name, value, lowest, highest);
    gc_hint("set %s to %s, or leave it at 0", name, value < lowest ? "more" : "less");
    return GPUCHAR_E_LIMIT;
}

gpuchar_status gc_option_body(const char *name, uint32_t index, uint32_t value) {
    if (value == 64 || value == 128 || value == 256 || value == 512) return GPUCHAR_OK;
    if (index == GC_OPTION_ALONE) {
        gc_fail(GPUCHAR_E_LIMIT, "%s is %u; it can be 64, 128, 256 or 512", name, value);
    } else {
        gc_fail(GPUCHAR_E_LIMIT, "%s[%u] is %u; it can be 64, 128, 256 or 512", name, index, value);
    }
    gc_hint("a longer loop is one of these bodies and more iterations of it");
    return GPUCHAR_E_LIMIT;
}

/* Counters that are off cannot agree. */
gpuchar_status gc_option_demands(uint32_t counters, uint32_t require) {
    gpuchar_status status = gc_option_choice("counters", counters, GPUCHAR_COUNTERS_REQUIRED);
    if (status == GPUCHAR_OK) status = gc_option_choice("require", require, 7);
    if (status != GPUCHAR_OK) return status;
    if (counters != GPUCHAR_COUNTERS_OFF || !(require & GPUCHAR_REQUIRE_COUNTED)) return GPUCHAR_OK;
    gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "`require` asks for counted results, but counters is GPUCHAR_COUNTERS_OFF");
    gc_hint("set counters to GPUCHAR_COUNTERS_REQUIRED, or take GPUCHAR_REQUIRE_COUNTED out of `require`");
    return GPUCHAR_E_INVALID_ARGUMENT;
}

gpuchar_status gc_option_count(const char *name, const uint32_t *values, uint32_t count, uint32_t capacity) {
    if (count > capacity) {
        gc_fail(GPUCHAR_E_LIMIT, "%s_count is %u; at most %u", name, count, capacity);
        gc_hint("`%s` has %u entries: make several calls for more", name, capacity);
        return GPUCHAR_E_LIMIT;
    }
    for (uint32_t i = count; i < capacity; ++i) {
        if (values[i] == 0) continue;
        gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s[%u] is %u, but %s_count is %u", name, i, values[i], name, count);
        gc_hint("set %s_count to the number of entries, or leave `%s` at zero for the default ones", name, name);
        return GPUCHAR_E_INVALID_ARGUMENT;
    }
    return GPUCHAR_OK;
}
