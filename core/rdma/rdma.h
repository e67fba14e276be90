/* rdma.h - one-sided transfers to and from other nodes' segments: the core's offer to the Extended
 * API.
 *
 * Each call posts what is needed, splitting where regions or the network's largest transfer demand
 * it, and choosing how the local side is reached: inlined, inside the segment, through a
 * bounce buffer, or registered for the one transfer.  It may block, polling (handlers run), while
 * no room is free; never call it in a handler.  `node` is not the caller's own: loopback is a
 * memcpy and the caller's business.  Any alignment; nbytes >= 1, or 0 for a put or get, which then
 * does nothing.  The remote range must lie in the
 * node's segment; anything else is a fatal error that names the range.
 *
 * `counter` counts one or more operations as issued before the call returns; the transfer is
 * complete when gasnetc_counter_done(counter).
 */
#ifndef GASNETC_RDMA_H
#define GASNETC_RDMA_H

#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"

struct net_region; /* opaque above the core */

/* The source must stay unchanged until the counter is done (bulk and blocking forms). */
void gasnetc_rdma_put_bulk(uint32_t node, void *dst, const void *src, size_t nbytes,
                           gasnetc_counter_t *counter);

/* The source may be reused when the call returns (non-bulk forms, values, AMLong). */
void gasnetc_rdma_put(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter);

/* dst is undefined until the counter is done. */
void gasnetc_rdma_get(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter);

/* A get into memory that gasnetc_landing registered: never copied on its way, but for what crosses
 * the peer's regions.  `landing` NULL: the same as gasnetc_rdma_get. */
void gasnetc_rdma_get_into(uint32_t node, void *dst, const struct net_region *landing,
                           const void *src, size_t nbytes, gasnetc_counter_t *counter);

/* Registers memory of the library, for good; NULL if the network takes no more. */
const struct net_region *gasnetc_landing(void *start, size_t nbytes);

/* Writes nbytes copies of a byte.  Worthwhile up to GASNETC_FILL_MAX, which one buffer holds;
 * false, with nothing done, where there is no buffer. */
bool gasnetc_rdma_fill(uint32_t node, void *dst, int value, size_t nbytes,
                       gasnetc_counter_t *counter);
enum { GASNETC_FILL_MAX = 4096 };

#endif
