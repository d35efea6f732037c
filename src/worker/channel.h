/* Bytes over the socket between the library and gpuchar-worker, both sides. Never SIGPIPE, never a wait without an end. */
#ifndef GC_WORKER_CHANNEL_H
#define GC_WORKER_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

typedef enum gc_transfer {
    GC_TRANSFER_DONE,
    GC_TRANSFER_ENDED, /* the other side is gone */
    GC_TRANSFER_TIMED_OUT,
    GC_TRANSFER_CANCELLED,
    GC_TRANSFER_NONSENSE, /* what came is no message; for those who read messages */
    /* The system refused a call; errno tells why. */
    GC_TRANSFER_SEND_FAILED,
    GC_TRANSFER_RECV_FAILED,
    GC_TRANSFER_POLL_FAILED
} gc_transfer;

/* How long to wait, and what else may end it. A NULL gc_wait waits until the other side is gone. */
typedef struct gc_wait {
    uint64_t until_ns; /* by gc_now_ns */
    /* Asked every few milliseconds: DONE to go on; ENDED lets what has already come be read. */
    gc_transfer (*look)(void *user);
    void *user;
} gc_wait;

gc_transfer gc_channel_send(int channel, const void *from, size_t bytes, const gc_wait *wait);
gc_transfer gc_channel_receive(int channel, void *to, size_t bytes, const gc_wait *wait);

#endif
