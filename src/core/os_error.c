/* Names of errno values; glibc's strerrorname_np is too young for the oldest systems served. */
#include "core/error.h"

#include <errno.h>

/* The formatter never comes to rest on a row of macro calls. */
// clang-format off
#define ERRNO_LIST(X)                                                                                                  \
    X(E2BIG) X(EACCES) X(EAGAIN) X(EBADF) X(EBUSY) X(ECHILD) X(EDEADLK) X(EDOM) X(EDQUOT) X(EEXIST) X(EFAULT)          \
    X(EFBIG) X(EILSEQ) X(EINTR) X(EINVAL) X(EIO) X(EISDIR) X(ELOOP) X(EMFILE) X(EMLINK) X(ENAMETOOLONG) X(ENFILE)      \
    X(ENODEV) X(ENOENT) X(ENOEXEC) X(ENOLCK) X(ENOMEM) X(ENOSPC) X(ENOSYS) X(ENOTDIR) X(ENOTEMPTY) X(ENOTSUP)          \
    X(ENOTTY) X(ENXIO) X(EOVERFLOW) X(EPERM) X(EPIPE) X(ERANGE) X(EROFS) X(ESPIPE) X(ESRCH) X(ESTALE) X(ETIMEDOUT)     \
    X(ETXTBSY) X(EXDEV)
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
