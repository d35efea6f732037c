/* Names of errno values; glibc's strerrorname_np is too young for the oldest systems served. */
#include "core/error.h"

#include <errno.h>

/* The formatter never comes to rest on a row of macro calls. */
// clang-format off
#define ERRNO_LIST(X)                                                                                                  \
    X(E2BIG) X(EACCES) X(EADDRINUSE) X(EADDRNOTAVAIL) X(EAFNOSUPPORT) X(EAGAIN) X(EBADF) X(EBUSY) X(ECHILD)            \
    X(ECONNABORTED) X(ECONNREFUSED) X(ECONNRESET) X(EDEADLK) X(EDOM) X(EDQUOT) X(EEXIST) X(EFAULT) X(EFBIG) X(EILSEQ)  \
    X(EINTR) X(EINVAL) X(EIO) X(EISDIR) X(EISCONN) X(ELOOP) X(EMFILE) X(EMLINK) X(EMSGSIZE) X(ENAMETOOLONG) X(ENFILE)  \
    X(ENOBUFS) X(ENODEV) X(ENOENT) X(ENOEXEC) X(ENOLCK) X(ENOMEM) X(ENOSPC) X(ENOSYS) X(ENOTCONN) X(ENOTDIR)           \
    X(ENOTEMPTY) X(ENOTSOCK) X(ENOTSUP) X(ENOTTY) X(ENXIO) X(EOVERFLOW) X(EPERM) X(EPIPE) X(EPROTO)                    \
    X(EPROTONOSUPPORT) X(ERANGE) X(EROFS) X(ESPIPE) X(ESRCH) X(ESTALE) X(ETIMEDOUT) X(ETXTBSY) X(EXDEV)
// clang-format on

const char *gc_errno_name(int error_number) {
    switch (error_number) {
#define ERRNO_NAME(name)                                                                                               \
    case name:                                                                                                         \
        return #name;
        ERRNO_LIST(ERRNO_NAME)
#undef ERRNO_NAME
    default:
        return "";
    }
}
