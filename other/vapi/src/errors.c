/* errors.c - VAPI codes for errno values.  After VAPI_ESYSCALL errno has the value itself. */
#include "objects.h"

VAPI_ret_t vapi_error(int error, VAPI_ret_t invalid)
{
    if (error < 0) error = errno; /* some providers return -1 and set errno */
    switch (error) {
    case 0:
        return VAPI_OK;
    case EINVAL:
        return invalid;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
        return VAPI_EAGAIN;
    case EBUSY:
        return VAPI_EBUSY;
    case EPERM:
    case EACCES:
        return VAPI_EPERM;
    case ENOSYS:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
        return VAPI_ENOSYS;
    case EFAULT:
        return VAPI_EINVAL_VA;
    case EINTR:
        return VAPI_EINTR;
    case ETIMEDOUT:
        return VAPI_ETIMEOUT;
    case EIO:
    case ENODEV:
        return VAPI_EFATAL;
    default: /* errors without a code of VAPI, such as EHOSTUNREACH */
        errno = error;
        return VAPI_ESYSCALL;
    }
}
