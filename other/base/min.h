/* min.h - the lesser of two sizes or counts. */
#ifndef GASNETI_MIN_H
#define GASNETI_MIN_H

#include <stdint.h>

static inline uint64_t gasneti_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
