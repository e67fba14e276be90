/* rdma.h - puts and gets to and from other ranks' segments, for the Extended API.
 *
 * A call splits the transfer where it crosses a region or exceeds the network's transfer_max.  Its
 * local side is inlined, in the segment, copied through a bounce buffer, in the registration cache,
 * or registered for the transfer.  The call may block for resources; it polls then, which runs
 * handlers, and so must not be made in a handler.  `node` is not the caller's own rank.  Any
 * alignment; nbytes >= 1, or 0 for a put or get, which then does nothing.  A remote range outside
 * the rank's segment is a fatal error that names the range.
 *
 * `counter` counts one or more operations as issued before the call returns; the transfer is
 * complete when gasnetc_counter_done(counter).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"

struct net_region; /* opaque above the core */

/* A put whose source must stay unchanged until the counter is done (bulk and blocking forms). */
void gasnetc_rdma_put_bulk(uint32_t node, void *dst, const void *src, size_t nbytes,
                           gasnetc_counter_t *counter);

/* A put whose source may be reused when the call returns (non-bulk forms, values, AMLong). */
void gasnetc_rdma_put(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter);

/* A get; dst is undefined until the counter is done. */
void gasnetc_rdma_get(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter);

/* A get into memory that gasnetc_destination registered: not copied through a buffer. `destination`
 * NULL: gasnetc_rdma_get. */
void gasnetc_rdma_get_into(uint32_t node, void *dst, const struct net_region *destination,
                           const void *src, size_t nbytes, gasnetc_counter_t *counter);

/* Pieces of local memory that one put, or get, takes; 0: the network has no lists. */
uint32_t gasnetc_rdma_list_max(bool put);

/* Puts `count` pieces of this rank's segment to contiguous remote memory, or gets it into them, by
 * one post.  False, with nothing done, if the list is too long, all of it is empty, or a piece or
 * the remote memory does not lie in one region of its segment.  The pieces must stay unchanged
 * (put), or are undefined (get), until the counter is done; the list itself may be reused. */
typedef struct gasnetc_piece {
    void *at;
    size_t length;
} gasnetc_piece_t;
enum { GASNETC_LIST_MOST = 32 }; /* the longest of any network */
bool gasnetc_rdma_list(uint32_t node, bool put, void *remote, const gasnetc_piece_t *pieces,
                       uint32_t count, gasnetc_counter_t *counter);

/* Registers memory of the library for the life of the process; NULL if that would not speed up
 * gets, or the network refuses. */
const struct net_region *gasnetc_destination(void *start, size_t nbytes);

/* Atomic operations of the adapter on the 8 bytes at `at`, aligned, of any rank, which may be the
 * caller's own.  `result`: where they are stored as they were before; NULL: nowhere. */
void gasnetc_rdma_fetch_add(uint32_t node, void *at, uint64_t operand, void *result,
                            gasnetc_counter_t *counter);
void gasnetc_rdma_compare_swap(uint32_t node, void *at, uint64_t expected, uint64_t desired,
                               void *result, gasnetc_counter_t *counter);

/* True if the user wants these operations where a client favours remote memory, or does not say
 * what it favours, and all ranks have them.  *global: they are atomic with respect to processors,
 * too. */
bool gasnetc_rdma_atomics(bool favors_remote, bool *global);

/* True if a segment that the rank has published contains all of the range, which is not empty
 * (published.h). */
bool gasnetc_is_published(uint32_t rank, uintptr_t start, size_t nbytes);

/* Writes nbytes copies of a byte.  False, with nothing done, for more than GASNETC_FILL_MAX, the
 * size of a bounce buffer, or if the core has no bounce buffers. */
bool gasnetc_rdma_fill(uint32_t node, void *dst, int value, size_t nbytes,
                       gasnetc_counter_t *counter);
enum { GASNETC_FILL_MAX = 4096 };
