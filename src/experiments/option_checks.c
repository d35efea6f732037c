#include <core/error.h>
#include <experiments/option_checks.h>
#include <gpuchar/counters.h>

gpuchar_status gc_check_choice(const char *name, uint32_t value, uint32_t highest) {
    if (value <= highest) return GPUCHAR_OK;
    return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s is %u; known are 0 to %u", name, value, highest);
}

gpuchar_status gc_check_range(const char *name, uint32_t value, uint32_t lowest, uint32_t highest) {
    if (value >= lowest && value <= highest) return GPUCHAR_OK;
    return gc_fail(GPUCHAR_E_LIMIT, "%s is %u; it can be %u to %u, 0 for the default", name, value, lowest, highest);
}

gpuchar_status gc_check_demands(uint32_t counters, uint32_t require) {
    gpuchar_status status = gc_check_choice("counters", counters, GPUCHAR_COUNTERS_REQUIRED);
    if (status == GPUCHAR_OK) status = gc_check_choice("require", require, 7);
    if (status != GPUCHAR_OK) return status;
    if (counters != GPUCHAR_COUNTERS_OFF || !(require & GPUCHAR_REQUIRE_COUNTED)) return GPUCHAR_OK;
    gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "`require` asks for counted results, but counters is GPUCHAR_COUNTERS_OFF");
    gc_hint("set counters to GPUCHAR_COUNTERS_REQUIRED, or take GPUCHAR_REQUIRE_COUNTED out of `require`");
    return GPUCHAR_E_INVALID_ARGUMENT;
}

/* What would be ignored is refused: its caller believes in it. */
static gpuchar_status check_empty(const char *name, const uint32_t list[32]) {
    for (uint32_t i = 0; i < 32; ++i) {
        if (list[i] == 0) continue;
        gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s[%u] is %u, but %s_count is 0", name, i, list[i], name);
        gc_hint("set %s_count to the number of entries, or leave `%s` at zero for the default ones", name, name);
        return GPUCHAR_E_INVALID_ARGUMENT;
    }
    return GPUCHAR_OK;
}

gpuchar_status gc_check_list(const char *name, const uint32_t list[32], uint32_t count, const char *unit) {
    if (count == 0) return check_empty(name, list);
    if (count > 32) return gc_fail(GPUCHAR_E_LIMIT, "%s_count is %u; at most 32", name, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (list[i] >= 1 && list[i] <= 32) continue;
        return gc_fail(GPUCHAR_E_LIMIT, "%s[%u] is %u; %s", name, i, list[i], unit);
    }
    return GPUCHAR_OK;
}
