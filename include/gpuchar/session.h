/*
 * A session is one device, on the caller's CUDA context or on the device's primary one, with a stream of its own.
 *
 * The device is named by one string: "0" (the driver's ordinal), "GPU-...", "MIG-..." or a PCI id "0000:01:00.0"; NULL
 * is "0". An architecture, "sm_90", opens a compile-only session: experiments generate, compile and prove their
 * kernels for it and return GPUCHAR_CAVEAT with the flag COMPILE_ONLY; it needs NVRTC and no GPU.
 *
 * Thread safety: one call at a time per session (a second one gets E_BUSY); gpuchar_session_cancel may come from any
 * thread. Measurements of several sessions on one device wait for each other.
 */
#ifndef GPUCHAR_SESSION_H
#define GPUCHAR_SESSION_H

#include <gpuchar/runtime.h>

GPUCHAR_BEGIN_DECLS

typedef struct gpuchar_session gpuchar_session;

/* Called on the calling thread. May call gpuchar_session_cancel and nothing else of the library. */
typedef void (*gpuchar_progress_function)(void *user, const char *step, double fraction_done);

typedef struct gpuchar_session_options {
    size_t struct_size;
    void *context; /* CUcontext of the caller on that device; NULL: the primary context, retained until close */
    gpuchar_progress_function progress; /* NULL: none */
    void *progress_user;
} gpuchar_session_options;

GPUCHAR_DEFINE_MAKER(gpuchar_session_options)
#define GPUCHAR_SESSION_OPTIONS_INIT gpuchar_session_options_make()
GPUCHAR_API void gpuchar_session_options_init(gpuchar_session_options *options, size_t size);

/*
 * Opens a session. The caller's current context is as before on return.
 * Errors: E_INVALID_ARGUMENT (unreadable device string, context of another device), E_STRUCT_SIZE, E_NO_DRIVER,
 * E_DRIVER_TOO_OLD, E_NO_DEVICE, E_DEVICE_NOT_FOUND, E_ARCH_UNSUPPORTED (compile-only), E_CUDA, E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_session_open(gpuchar_runtime *runtime, const char *device,
                                                const gpuchar_session_options *options, gpuchar_session **session);

/* Gives everything back. NULL is allowed. In a forked child it frees host memory only. */
GPUCHAR_API void gpuchar_session_close(gpuchar_session *session);

/* The running call, or the next one, returns E_CANCELLED within about one launch or compile. From any thread. */
GPUCHAR_API void gpuchar_session_cancel(gpuchar_session *session);

GPUCHAR_END_DECLS

#endif
