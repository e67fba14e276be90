/* p30/types.h - forwards to p30.h. */
#ifndef P30_TYPES_H
#define P30_TYPES_H
#include <p30.h>
#endif
