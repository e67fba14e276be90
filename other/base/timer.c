/* timer.c - the clock of gasnett_ticks_now, its overhead and granularity.
 *
 * Ticks are nanoseconds of CLOCK_MONOTONIC, which is read through the vDSO, is the same on all
 * cores, is never stepped, and needs no calibration.
 */
#include "config.h"

#include <time.h>

#include "tools.h"

int gasneti_fence_word; /* see gasnet_membar.h */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

gasnett_tick_t gasnett_ticks_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t gasnett_gettimeofday_us(void)
{
    return read_clock(CLOCK_REALTIME) / 1000;
}

/* The minimum of several batches, since a batch may be preempted. */
double gasnett_tick_overheadus(void)
{
    enum { BATCHES = 20, CALLS = 500 };
    uint64_t best = UINT64_MAX;
    for (int b = 0; b < BATCHES; b++) {
        uint64_t begin = gasnett_ticks_now(), took;
        for (int i = 1; i < CALLS; i++) (void)gasnett_ticks_now();
        took = gasnett_ticks_now() - begin;
        if (took < best) best = took;
    }
    return best ? (double)best / CALLS / 1000 : 0.001;
}

/* The least difference seen between two readings, and no less than the time of one reading. */
double gasnett_tick_granularityus(void)
{
    enum { STEPS = 1000 };
    uint64_t least = UINT64_MAX;
    double overhead = gasnett_tick_overheadus(), us;
    for (int i = 0; i < STEPS; i++) {
        uint64_t begin = gasnett_ticks_now(), now;
        do now = gasnett_ticks_now();
        while (now == begin);
        if (now - begin < least) least = now - begin;
    }
    us = (double)least / 1000;
    return us > overhead ? us : overhead;
}
