/* rdma_internal.h - calls of pieces.c for rdma.c and, for the payload of Longs, for the AM engine.
 */
#pragma once

#include "core/job/job.h"
#include "core/params/params.h"

/* This rank's own segment: its registrations, one per 2^gasnetc_pin_shift bytes.  Set by attach. */
typedef struct gasnetc_local_segment {
    uintptr_t base;
    uintptr_t size;
    net_region_t *regions;
} gasnetc_local_segment_t;
#pragma GCC visibility push(hidden)
extern gasnetc_local_segment_t gasnetc_local_segment;
#pragma GCC visibility pop

/* Puts the payload of a Long.  With `in_handler` it runs no handlers while it waits for resources.
 * With `source_free` the source may be written again on return.  `counter` NULL: no thread waits
 * for the put. */
void gasnetc_put_payload(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                         bool source_free, enum net_order order, gasnetc_counter_t *counter,
                         bool in_handler);

/* pieces.c: the rest of the calls of rdma.h, for at least one byte. */
void gasnetc_put_pieces(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                        bool source_free, gasnetc_counter_t *counter);
void gasnetc_get_pieces(gasnetc_peer_t *peer, void *to, const net_region_t *destination,
                        uintptr_t from, size_t nbytes, gasnetc_counter_t *counter);

/* Puts through bounce buffers of the core, whatever limits the user has set. */
void gasnetc_put_copied(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                        gasnetc_counter_t *counter);

/* The region of this rank's segment that contains all of the range, or NULL; nbytes >= 1. */
const net_region_t *gasnetc_local_region(const void *start, size_t nbytes);
