/*
 * What the library and gpuchar-worker say to each other. Both greet at once, and the library names the device without
 * waiting for the worker's greeting; a worker of another version leaves without looking at it. From then on the library
 * asks and the worker answers, one message after the other; of a job it tells before the answer that the kernel is
 * launched. A message is a frame and as many bytes as it announces. The two run on one machine and are of one version, so numbers go as they lie
 * in memory. Neither trusts the other's numbers.
 */
#ifndef GC_WORKER_PROTOCOL_H
#define GC_WORKER_PROTOCOL_H

#include <gpuchar/status.h>
#include <limits.h>
#include <worker/channel.h>

/* Changes with anything in this file. */
#define GC_PROTOCOL_VERSION 3

/* The program's only argument when the library starts it; its socket is then its standard input. */
#define GC_WORKER_ARGUMENT "--serve"

/* Frozen: it must be readable by every version. */
typedef struct gc_wire_hello {
    char magic[8];
    uint32_t protocol;
    uint32_t process; /* who says it */
    char version[48]; /* gpuchar_version() */
} gc_wire_hello;
#define GC_HELLO_MAGIC "GPUCHARW"

enum {
    GC_FRAME_MAGIC = 0x57474346,
    GC_FRAME_OPEN = 1,
    GC_FRAME_JOB = 2,
    GC_FRAME_ANSWER = 3,
    /* Without a body: the driver took the launch, of several all of them. What failed or took long before was not the kernel. */
    GC_FRAME_LAUNCHED = 4
};

typedef struct gc_wire_frame {
    uint32_t magic;
    uint32_t kind;
    uint64_t bytes; /* that follow */
} gc_wire_frame;

/* Bounds of a job; larger ones are refused before anything is sent. */
#define GC_JOB_MESSAGE_MAX ((uint64_t)256 << 20)
#define GC_JOB_BUFFERS_MAX 64u
#define GC_JOB_ARGUMENTS_MAX 4096u
#define GC_JOB_LAUNCHES_MAX 256u /* fewer than a stream takes without waiting */

/* GC_FRAME_OPEN: which driver, which device. Answered without data. */
typedef struct gc_wire_open {
    char driver[PATH_MAX];
    char device[48];
} gc_wire_open;

/*
 * GC_FRAME_JOB: this, buffer_count gc_wire_buffer, the image, the arguments, then each buffer's initial bytes. The image
 * is where the driver wants it, at a multiple of 16.
 */
typedef struct gc_wire_job {
    uint64_t image_bytes;
    uint64_t limit_ns; /* from the launch to the kernel's end, of all launches together */
    uint32_t argument_bytes;
    uint32_t buffer_count;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    uint32_t launches;      /* one behind the other, at least 1 */
    uint32_t launch_offset; /* where the number of the launch goes in the arguments, a u32; GC_WORKER_NOWHERE */
    char kernel[116];
} gc_wire_job;

typedef struct gc_wire_buffer {
    uint64_t bytes;
    uint64_t initial_bytes;
    uint64_t read_bytes;
    uint32_t argument_offset; /* GC_WORKER_NOWHERE */
    uint32_t reserved;
} gc_wire_buffer;
#define GC_WORKER_NOWHERE UINT32_MAX

/* GC_FRAME_ANSWER: this, and after success each buffer's read_bytes; not of a kernel that still runs. */
typedef struct gc_wire_answer {
    int64_t native_code;
    uint64_t elapsed_ns;
    gpuchar_status status;
    uint32_t domain;
    uint32_t running; /* 1: the limit is over and the kernel has not ended; status is GPUCHAR_OK */
    uint32_t reserved;
    char native_name[96];
    char call[64];
    char message[512];
    char hint[512];
} gc_wire_answer;

gc_wire_hello gc_hello(void);

/* Lengths of all parts of a job together; 0: one of its numbers is out of bounds. */
uint64_t gc_job_bytes(const gc_wire_job *job, const gc_wire_buffer *buffers);
/* What is read back. Only of a job that is within its bounds. */
uint64_t gc_job_read_bytes(const gc_wire_job *job, const gc_wire_buffer *buffers);

/* Announces `bytes`. */
gc_transfer gc_frame_send(int channel, uint32_t kind, uint64_t bytes, const gc_wait *wait);
gc_transfer gc_frame_receive(int channel, gc_wire_frame *frame, const gc_wait *wait);
/* The answer that a frame announces, without its data, of which there must be `data_bytes` after success. */
gc_transfer gc_answer_receive(int channel, const gc_wire_frame *frame, uint64_t data_bytes, gc_wire_answer *answer,
                              const gc_wait *wait);

#endif
