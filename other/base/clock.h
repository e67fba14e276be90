/* clock.h - the monotonic clock. */
#ifndef GASNETI_CLOCK_H
#define GASNETI_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t gasneti_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t gasneti_clock_ms(void)
{
    return gasneti_clock_ns() / 1000000;
}

/* A few milliseconds behind, and several times as cheap. */
static inline uint64_t gasneti_clock_coarse_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Seconds. */
static inline double gasneti_clock(void)
{
    return (double)gasneti_clock_ns() * 1e-9;
}

#endif
