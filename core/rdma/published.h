/* published.h - memory of ranks beside the segments that they have attached: the segments of their
 * endpoints but the first, which the ranks create and publish at any time.
 *
 * An address of a rank names its memory whatever the endpoint, so transfers look for the address
 * alone, and here only when neither the peer's window nor its attached segment has it. Thread-safe.
 */
#pragma once

#include "core/job/job.h"
#include "core/rdma/rdma.h"

/* A segment that this rank has created. */
typedef struct gasnetc_created {
    uintptr_t base, size;
    unsigned pin_shift;    /* log2 of the bytes of a registration, of which the last has fewer */
    size_t count;          /* of registrations; 0: none are made, or none are needed */
    net_region_t *regions; /* [count] */
    struct gasnetc_created *next, **link; /* of those that are registered; segment.c */
} gasnetc_created_t;

/* Registers the memory for peers.  False, with a reason in `why`, if it is refused. */
bool gasnetc_created_pin(gasnetc_created_t *created, char *why, size_t why_size);
/* Ends that; peers' puts and gets are refused by the network from then on, if it has memory
 * registered. */
void gasnetc_created_unpin(gasnetc_created_t *created);

/* Forgets what the registration cache has of memory that ends, or whose use by peers ends. */
void gasnetc_created_forget(const gasnetc_created_t *created);

/* Allocates and frees whole pages; NULL with errno. */
void *gasnetc_created_alloc(uintptr_t size);
void gasnetc_created_free(void *base, uintptr_t size);

/* --- what ranks tell each other --- */

/* Writes what peers need to reach a segment by an endpoint; returns the bytes.  `to` NULL: returns
 * them alone. */
size_t gasnetc_announce(unsigned endpoint, const gasnetc_created_t *created, void *to);

/* Takes an announcement of a rank, which may be this one, from the next `most` bytes; returns how
 * many it has.  Fatal, with the rank, if it is malformed. */
size_t gasnetc_announced(uint32_t rank, const void *announcement, size_t most);

/* The segment of a rank's endpoint is no more. */
void gasnetc_withdrawn(uint32_t rank, unsigned endpoint);

/* --- what is known --- */

typedef struct gasnetc_published {
    gasnetc_segment_t segment; /* size 0: nothing is known */
    unsigned pin_shift;        /* of its keys */
    uint64_t when;             /* of several that overlap the latest is used */
} gasnetc_published_t;

/* The segment that a rank has published with an endpoint. */
gasnetc_published_t gasnetc_published_by(uint32_t rank, unsigned endpoint);

/* The latest that contains all of a range, which is not empty. */
gasnetc_published_t gasnetc_published_at(uint32_t rank, uintptr_t start, size_t nbytes);
