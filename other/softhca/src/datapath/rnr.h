/* rnr.h - the RNR NAK timer field of the InfiniBand specification. Pure. */
#ifndef SOFTHCA_RNR_H
#define SOFTHCA_RNR_H

#include <stdint.h>

/* TIMER: as min_rnr_timer of ibv_modify_qp(). */
static inline uint64_t shca_rnr_ns(uint32_t timer)
{
    static const uint16_t units[32] = {0,    1,    2,    3,     4,     6,     8,     12,
                                       16,   24,   32,   48,    64,    96,    128,   192,
                                       256,  384,  512,  768,   1024,  1536,  2048,  3072,
                                       4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    return timer & 31 ? units[timer & 31] * 10000ull : 655360000ull; /* units of 10 us */
}

#endif
