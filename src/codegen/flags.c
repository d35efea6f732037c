/* What a caller's own NVRTC options mean for the contract and for the cache. */
#include "codegen/codegen_internal.h"

#include <string.h>

/* NVRTC passes over blanks before an option. No flag is no option. */
static const char *option_of(const char *flag) {
    return flag ? flag + strspn(flag, " \t\n\v\f\r") : "";
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool starts_with_any(const char *flag, const char *const *prefixes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (starts_with(option_of(flag), prefixes[i])) {
            return true;
        }
    }
    return false;
}

/* "-arch" and "-arch=sm_80", not "-archaic". */
static bool is_option(const char *text, const char *name) {
    size_t length = strlen(name);
    return starts_with(text, name) && (!text[length] || strchr("= \t\n\v\f\r", text[length]));
}

/* ---- options that would break the contract */

typedef struct refusal {
    const char *option;
    const char *reason;
} refusal;

#define ARCHITECTURE "the field `architecture` alone tells the architecture"
#define NO_CODE "it asks for something else than machine code"
#define HIDES "what that file asks for is not seen here"
#define PRINTS "it prints on the host's standard output"

static const refusal nvrtc_refusals[] = {
    {"-arch", ARCHITECTURE},
    {"--gpu-architecture", ARCHITECTURE},
    {"-dlto", NO_CODE},
    {"--dlink-time-opt", NO_CODE},
    {"-optix-ir", NO_CODE},
    {"--optix-ir", NO_CODE},
    {"-fdevice-syntax-only", NO_CODE},
    {"--fdevice-syntax-only", NO_CODE},
};

/* NVRTC hands these on to its assembler, which obeys the last architecture that it is told. */
static const char *const assembler_options[] = {"-Xptxas", "--ptxas-options"};
static const refusal assembler_refusals[] = {
    {"-arch", ARCHITECTURE}, {"--gpu-name", ARCHITECTURE}, {"-optf", HIDES}, {"--options-file", HIDES},
    {"-V", PRINTS},          {"--version", PRINTS},        {"-h", PRINTS},   {"--help", PRINTS},
};

static const refusal *find_refusal(const char *text, const refusal *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (is_option(option_of(text), list[i].option)) {
            return &list[i];
        }
    }
    return NULL;
}

/* What the flag hands on to the assembler: its value, or, without one, the next flag. NULL: nothing. */
static const char *for_assembler(const gc_compile_request *request, size_t i) {
    for (size_t j = 0; j < GC_COUNT(assembler_options); j++) {
        const char *option = option_of(request->flags[i]);
        size_t length = strlen(assembler_options[j]);
        if (starts_with(option, assembler_options[j]) && option[length] == '=') {
            return option + length + 1;
        }
        if (is_option(option, assembler_options[j]) && i + 1 < request->flag_count) {
            return request->flags[i + 1];
        }
    }
    return NULL;
}

gpuchar_status gc_flags_check(const gc_compile_request *request) {
    for (size_t i = 0; i < request->flag_count; i++) {
        const char *handed_on = for_assembler(request, i);
        const refusal *found = find_refusal(request->flags[i], nvrtc_refusals, GC_COUNT(nvrtc_refusals));
        if (handed_on && !found) {
            found = find_refusal(handed_on, assembler_refusals, GC_COUNT(assembler_refusals));
        }
        if (found) {
            gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "flag %zu, \"%.64s\", cannot be used for %s: %s", i, request->flags[i],
                    request->architecture, found->reason);
            gc_hint("leave %s out of the flags", found->option);
            return GPUCHAR_E_INVALID_ARGUMENT;
        }
    }
    return GPUCHAR_OK;
}

/* ---- options that reach outside of the compilation */

bool gc_flags_touch_files(const gc_compile_request *request) {
    /* Those that write a file too: from the cache it would not be written. */
    static const char *const prefixes[] = {"-I",    "--include-path", "-include",      "--pre-include", "-pch",
                                           "--pch", "-use-pch",       "--use-pch",     "-create-pch",   "--create-pch",
                                           "-time", "--time",         "-fdevice-time", "--fdevice-time"};
    for (size_t i = 0; i < request->flag_count; i++) {
        if (starts_with_any(request->flags[i], prefixes, GC_COUNT(prefixes))) {
            return true;
        }
    }
    return false;
}

bool gc_flags_name_standard(const gc_compile_request *request) {
    static const char *const prefixes[] = {"--std", "-std"};
    for (size_t i = 0; i < request->flag_count; i++) {
        if (starts_with_any(request->flags[i], prefixes, GC_COUNT(prefixes))) {
            return true;
        }
    }
    return false;
}
