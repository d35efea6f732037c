/* What people see besides the results: errors, a progress bar, the device. */
#include "quick_char.h"

#include <string.h>
#include <unistd.h>

static bool bar_drawn;

/* Names of devices and files come from anywhere, and a terminal obeys control characters: ASCII's, and those of two
 * bytes in UTF-8 (0xc2, then 0x80 to 0x9f). */
void put_text(FILE *to, const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at; ++at) {
        bool wide = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        putc(wide || *at < 0x20 || *at == 0x7f ? '?' : *at, to);
        at += wide;
    }
}

static void put_hint(const gpuchar_error *error) {
    if (!error->hint[0]) return;
    fputs("  hint: ", stderr);
    put_text(stderr, error->hint);
    putc('\n', stderr);
}

void complain(const char *what) {
    const gpuchar_error *error = gpuchar_last_error();
    clear_progress();
    fputs("quick_char: ", stderr);
    put_text(stderr, what);
    fputs(": ", stderr);
    put_text(stderr, error->message);
    fprintf(stderr, " [%s%s%s]\n", gpuchar_status_name(error->status), error->native_name[0] ? ", " : "",
            error->native_name);
    put_hint(error);
    if (error->log[0]) fprintf(stderr, "%s\n", error->log);
}

void complain_of_gpu(void) {
    const gpuchar_error *error = gpuchar_last_error();
    fputs("quick_char: no GPU to measure: ", stderr);
    put_text(stderr, error->message);
    putc('\n', stderr);
    put_hint(error);
}

void show_progress(void *user, const char *step, double done) {
    char bar[31];
    int filled = (int)(done * 30);
    (void)user;
    if (filled < 0) filled = 0;
    if (filled > 30) filled = 30;
    memset(bar, '.', 30);
    memset(bar, '#', (size_t)filled);
    bar[30] = '\0';
    fprintf(stderr, "\r  [%s] %-20.20s", bar, step);
    bar_drawn = true;
}

void clear_progress(void) {
    if (bar_drawn) fprintf(stderr, "\r%60s\r", "");
    bar_drawn = false;
}

static void print_clock(const char *name, uint64_t hz, bool known) {
    if (known) {
        printf("  %s %.0f MHz", name, (double)hz / 1e6);
    } else {
        printf("  %s unknown", name);
    }
}

static const char *on_off(uint32_t value, bool known) {
    if (!known) return "unknown";
    return value ? "on" : "off";
}

void print_device(const gpuchar_device_info *info) {
    uint32_t known = info->known;
    put_text(stdout, info->name);
    printf("  sm_%u  %u SMs  %.1f GiB  L2 %.1f MiB\n  ", info->architecture, info->sm_count,
           (double)info->memory_bytes / (1 << 30), (double)info->l2_bytes / (1 << 20));
    put_text(stdout, info->uuid);
    printf("  driver ");
    put_text(stdout, known & GPUCHAR_DEVICE_DRIVER_NAME ? info->driver_name : "unknown");
    printf(" (CUDA %u.%u)\n", info->driver_version / 1000, info->driver_version % 1000 / 10);
    print_clock("SM clock: current", info->current_sm_clock_hz, known & GPUCHAR_DEVICE_CURRENT_SM_CLOCK);
    print_clock("application", info->application_sm_clock_hz, known & GPUCHAR_DEVICE_APPLICATION_SM_CLOCK);
    print_clock("maximum", info->max_sm_clock_hz, known & GPUCHAR_DEVICE_MAX_SM_CLOCK);
    print_clock(" memory clock: maximum", info->max_memory_clock_hz, known & GPUCHAR_DEVICE_MAX_MEMORY_CLOCK);
    printf("\n  ECC %s  MIG %s  power limit ", on_off(info->ecc_enabled, known & GPUCHAR_DEVICE_ECC),
           on_off(info->mig_enabled, known & GPUCHAR_DEVICE_MIG));
    if (known & GPUCHAR_DEVICE_POWER_LIMIT) {
        printf("%.6g W\n", info->power_limit_watts);
    } else {
        printf("unknown\n");
    }
    if ((known & GPUCHAR_DEVICE_OTHER_PROCESSES) && info->other_processes) {
        printf("  note: %u other process(es) compute on this GPU; numbers may be disturbed\n", info->other_processes);
    }
    printf("\n");
}
