/* Reading the string that names a device. */
#include <core/error.h>
#include <ctype.h>
#include <session/devices.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool all_digits(const char *text) {
    return text[0] && strspn(text, "0123456789") == strlen(text);
}

/* "GPU-" and 8-4-4-4-12 hexadecimal digits; written with upper-case prefix and lower-case digits. */
static bool read_uuid(const char *text, char *to) {
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (strncasecmp(text, "GPU-", 4) != 0 && strncasecmp(text, "MIG-", 4) != 0) {
        return false;
    }
    if (strlen(text + 4) != sizeof shape - 1) {
        return false;
    }
    for (size_t i = 0; i < sizeof shape - 1; i++) {
        char c = text[4 + i];
        if (shape[i] == '-' ? c != '-' : !isxdigit((unsigned char)c)) {
            return false;
        }
        to[4 + i] = (char)tolower((unsigned char)c);
    }
    memcpy(to, toupper((unsigned char)text[0]) == 'G' ? "GPU-" : "MIG-", 4);
    to[4 + sizeof shape - 1] = 0;
    return true;
}

/* Reads 1..limit hexadecimal digits followed by `end`, and moves behind them. */
static bool read_hex(const char **text, size_t limit, char end, unsigned *value) {
    size_t length = strspn(*text, "0123456789abcdefABCDEF");
    if (length < 1 || length > limit || (*text)[length] != end) {
        return false;
    }
    *value = (unsigned)strtoul(*text, NULL, 16);
    *text += length + (end != 0);
    return true;
}

/* "0000:01:00.0", "00000000:01:00.0" or "01:00.0"; written with eight digits of domain. */
static bool read_pci(const char *text, char *to, size_t capacity) {
    unsigned domain = 0, bus, device, function;
    const char *first = strchr(text, ':');
    if (first && strchr(first + 1, ':') && !read_hex(&text, 8, ':', &domain)) {
        return false;
    }
    if (!read_hex(&text, 2, ':', &bus) || !read_hex(&text, 2, '.', &device) || !read_hex(&text, 1, 0, &function)) {
        return false;
    }
    snprintf(to, capacity, "%08x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}

static gpuchar_status read_architecture(const char *text, gc_device_name *name) {
    size_t length = strspn(text + 3, "0123456789");
    const char *suffix = text + 3 + length;
    if (length < 2 || length > 3 || strlen(suffix) > 1 || (suffix[0] && !strchr("af", suffix[0]))) {
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "\"%.64s\" is not an architecture", text);
    }
    if (suffix[0]) {
        gpuchar_status status =
            gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "\"%s\" names a variant of instructions, not a chip", text);
        gc_hint("write \"%.*s\"; kernels that need the %c variant are compiled for it", (int)(3 + length), text,
                suffix[0]);
        return status;
    }
    name->kind = GC_NAME_ARCHITECTURE;
    name->number = (uint32_t)strtoul(text + 3, NULL, 10);
    return GPUCHAR_OK;
}

gpuchar_status gc_device_name_read(const char *text, gc_device_name *name) {
    memset(name, 0, sizeof *name);
    text = text ? text : "0";
    if (strncmp(text, "sm_", 3) == 0) {
        gpuchar_status status = read_architecture(text, name);
        if (status && !gpuchar_last_error()->hint[0]) {
            gc_hint("write \"sm_90\" for compute capability 9.0");
        }
        return status;
    }
    if (all_digits(text)) {
        unsigned long number = strtoul(text, NULL, 10);
        name->kind = GC_NAME_ORDINAL;
        /* Too large a number is a device that does not exist, not a wrong string. */
        name->number = number < INT32_MAX ? (uint32_t)number : INT32_MAX;
        return GPUCHAR_OK;
    }
    if (read_uuid(text, name->text)) {
        name->kind = GC_NAME_UUID;
        return GPUCHAR_OK;
    }
    if (read_pci(text, name->text, sizeof name->text)) {
        name->kind = GC_NAME_PCI;
        return GPUCHAR_OK;
    }
    gpuchar_status status = gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "\"%.64s\" does not name a device", text);
    gc_hint("write \"0\", \"GPU-\" or \"MIG-\" with the whole UUID, a PCI id \"0000:01:00.0\", or \"sm_90\" to compile "
            "only");
    return status;
}
