/* am_dispatch.h - runs a handler with exactly the arguments it was sent.
 * Made by core/am/gen_dispatch.sh; do not edit. */
#ifndef GASNETC_AM_DISPATCH_H
#define GASNETC_AM_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
typedef void (*gasnetc_handler_fn)(void);

static inline void gasnetc_run_short(gasnetc_handler_fn f, void *token, unsigned n, const int32_t *a)
{
    switch (n) {
    case 0:
        ((void (*)(void *))f)(token);
        break;
    case 1:
        ((void (*)(void *, int32_t))f)(token, a[0]);
        break;
    case 2:
        ((void (*)(void *, int32_t, int32_t))f)(token, a[0], a[1]);
        break;
    case 3:
        ((void (*)(void *, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2]);
        break;
    case 4:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3]);
        break;
    case 5:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4]);
        break;
    case 6:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5]);
        break;
    case 7:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
        break;
    case 8:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
        break;
    case 9:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
        break;
    case 10:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
        break;
    case 11:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
        break;
    case 12:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
        break;
    case 13:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
        break;
    case 14:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13]);
        break;
    case 15:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14]);
        break;
    case 16:
        ((void (*)(void *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
        break;
    }
}

static inline void gasnetc_run_payload(gasnetc_handler_fn f, void *token, void *buf, size_t nbytes, unsigned n, const int32_t *a)
{
    switch (n) {
    case 0:
        ((void (*)(void *, void *, size_t))f)(token, buf, nbytes);
        break;
    case 1:
        ((void (*)(void *, void *, size_t, int32_t))f)(token, buf, nbytes, a[0]);
        break;
    case 2:
        ((void (*)(void *, void *, size_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1]);
        break;
    case 3:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2]);
        break;
    case 4:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3]);
        break;
    case 5:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4]);
        break;
    case 6:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5]);
        break;
    case 7:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
        break;
    case 8:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
        break;
    case 9:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
        break;
    case 10:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
        break;
    case 11:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
        break;
    case 12:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
        break;
    case 13:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
        break;
    case 14:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13]);
        break;
    case 15:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14]);
        break;
    case 16:
        ((void (*)(void *, void *, size_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))f)(token, buf, nbytes, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
        break;
    }
}
/* clang-format on */

#endif
