/* A program of the caller's that turns one file into another, such as an assembler: run on bytes, without files. */
#ifndef GC_WORKER_TOOL_H
#define GC_WORKER_TOOL_H

#include <gpuchar/status.h>

/* What a tool left behind. Texts and bytes are freed by gc_tool_free. */
typedef struct gc_tool_result {
    void *output; /* what it wrote to `{out}` */
    size_t output_size;
    char *text; /* what it printed, NUL-terminated; cleaned for a terminal */
    int code;   /* its exit status */
    int reserved;
} gc_tool_result;

/* Where the two are in the tool's arguments. */
#define GC_TOOL_INPUT "/proc/self/fd/0"
#define GC_TOOL_OUTPUT "/proc/self/fd/3"

/*
 * Runs `path` with `words` (words[0] is its name, the last one NULL), the input behind GC_TOOL_INPUT, and waits, at most
 * limit_ns. An exit status that is not 0 is no failure here. It sees the host's environment and working directory, no
 * terminal, and signals as at the beginning of a program. Errors: E_IO (it cannot be run, or died), E_TIMEOUT,
 * E_OUT_OF_MEMORY.
 */
gpuchar_status gc_tool_run(const char *path, char *const *words, const void *input, size_t input_size,
                           uint64_t limit_ns, gc_tool_result *result);
void gc_tool_free(gc_tool_result *result);

#endif
