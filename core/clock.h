/* clock.h - seconds on the monotonic clock. */
#ifndef GASNETC_CLOCK_H
#define GASNETC_CLOCK_H

#include <time.h>

static inline double gasnetc_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
