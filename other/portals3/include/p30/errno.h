/* p30/errno.h - forwards to p30.h. */
#ifndef P30_ERRNO_H
#define P30_ERRNO_H
#include <p30.h>
#endif
