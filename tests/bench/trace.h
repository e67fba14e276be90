/* trace.h - transfers over four times the memory that may be registered, uniformly: which piece
 * each of them uses, and how often LRU misses.
 *
 * For outside.c, which puts from these pieces, and trace_ucx.c, which registers them with UCX's
 * cache: both have the same trace.
 */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include <stdint.h>

enum {
    TRACE_PIECE = 64 << 10,        /* bytes; aligned to its size, and the largest region */
    TRACE_ROOM = 64,               /* pieces that may be registered at one time */
    TRACE_PIECES = 4 * TRACE_ROOM, /* pieces that are used */
    TRACE_BYTES = TRACE_PIECES * TRACE_PIECE
};

/* The piece of the next transfer; *state begins with a seed. */
static inline unsigned trace_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % TRACE_PIECES;
}

/* The number of the first n transfers whose piece is not among the TRACE_ROOM used last. */
static inline unsigned trace_lru_misses(uint64_t seed, unsigned n)
{
    unsigned last[TRACE_PIECES] = {0}; /* when each was used, from 1; 0: never */
    unsigned misses = 0;
    for (unsigned now = 1; now <= n; now++) {
        const unsigned piece = trace_next(&seed);
        unsigned newer = 0;
        for (unsigned i = 0; i < TRACE_PIECES; i++) newer += last[i] > last[piece];
        misses += !last[piece] || newer >= TRACE_ROOM;
        last[piece] = now;
    }
    return misses;
}

#endif
