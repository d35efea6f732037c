/* What people see besides the results: errors, a progress bar, the device. */
#include "quick_char.h"

#include <string.h>
#include <unistd.h>

static bool bar_drawn;

/*
 * Names of devices and files come from anywhere. A terminal obeys control characters, and Unicode's marks of direction
 * and other invisible ones make text look other than it is. In UTF-8 they differ from their neighbours in the last byte.
 */
static size_t command_bytes(const char *at) {
    static const struct {
        char before[4];
        unsigned char first, last;
    } commands[] = {{"", 0x01, 0x1f},
                    {"", 0x7f, 0x7f},
                    {"\xc2", 0x80, 0x9f},
                    {"\xc2", 0xad, 0xad},
                    {"\xd8", 0x9c, 0x9c},
                    {"\xe1\xa0", 0x8e, 0x8e},
                    {"\xe2\x80", 0x8b, 0x8f},
                    {"\xe2\x80", 0xa8, 0xae},
                    {"\xe2\x81", 0xa0, 0xaf},
                    {"\xef\xbb", 0xbf, 0xbf},
                    {"\xef\xbf", 0xb9, 0xbb},
                    {"\xf3\xa0\x80", 0x80, 0xbf},
                    {"\xf3\xa0\x81", 0x80, 0xbf}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        size_t before = strlen(commands[i].before);
        if (strncmp(at, commands[i].before, before) != 0) continue;
        unsigned char last = (unsigned char)at[before];
        if (last >= commands[i].first && last <= commands[i].last) return before + 1;
    }
    return 0;
}

void put_text(FILE *to, const char *text) {
    while (*text) {
        size_t command = command_bytes(text);
        putc(command ? '?' : *text, to);
        text += command ? command : 1;
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

/* Several threads may log: a line is one piece. */
void show_log(void *user, uint32_t level, const char *message) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    (void)user;
    flockfile(stderr);
    fprintf(stderr, "%8.3f s  %-7s  ", bench_seconds(), level >= 1 && level <= 4 ? names[level - 1] : "?");
    put_text(stderr, message);
    putc('\n', stderr);
    funlockfile(stderr);
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
