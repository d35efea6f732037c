/* Sockets that block only in poll, so that a deadline, a cancel and the end of a process are seen. */
#include <worker/channel.h>

#include <core/util.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

/* Between two looks: a cancel is answered within this time. */
#define GC_LOOK_MS 2

/* Until the socket is ready or a few milliseconds are over. Looks in both cases: bytes may trickle without end. */
static gc_transfer pause_until_ready(int channel, short events, const gc_wait *wait) {
    struct pollfd waited = {.fd = channel, .events = events};
    if (poll(&waited, 1, wait ? GC_LOOK_MS : -1) < 0 && errno != EINTR) {
        return GC_TRANSFER_POLL_FAILED;
    }
    if (!wait) {
        return GC_TRANSFER_DONE;
    }
    gc_transfer seen = wait->look(wait->user);
    return seen == GC_TRANSFER_DONE && gc_now_ns() >= wait->until_ns ? GC_TRANSFER_TIMED_OUT : seen;
}

static bool not_ready(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

static gc_transfer give_up(gc_transfer failed) {
    return errno == EPIPE || errno == ECONNRESET ? GC_TRANSFER_ENDED : failed;
}

gc_transfer gc_channel_send(int channel, const void *from, size_t bytes, const gc_wait *wait) {
    const char *at = from;
    while (bytes > 0) {
        ssize_t sent = send(channel, at, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            at += sent;
            bytes -= (size_t)sent;
        } else if (not_ready()) {
            gc_transfer paused = pause_until_ready(channel, POLLOUT, wait);
            if (paused != GC_TRANSFER_DONE) {
                return paused;
            }
        } else if (errno != EINTR) {
            return give_up(GC_TRANSFER_SEND_FAILED);
        }
    }
    return GC_TRANSFER_DONE;
}

gc_transfer gc_channel_receive(int channel, void *to, size_t bytes, const gc_wait *wait) {
    char *at = to;
    bool ended = false;
    while (bytes > 0) {
        ssize_t got = recv(channel, at, bytes, MSG_DONTWAIT);
        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
        } else if (got == 0 || (not_ready() && ended)) {
            return GC_TRANSFER_ENDED;
        } else if (not_ready()) {
            gc_transfer paused = pause_until_ready(channel, POLLIN, wait);
            ended = paused == GC_TRANSFER_ENDED;
            if (paused != GC_TRANSFER_DONE && !ended) {
                return paused;
            }
        } else if (errno != EINTR) {
            return give_up(GC_TRANSFER_RECV_FAILED);
        }
    }
    return GC_TRANSFER_DONE;
}
