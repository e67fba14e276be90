/* receive_space.h - computes the receive space of a job, and the length of its event queues (PO-4,
 * PO-9, PO-11).
 *
 * They come from a table by the number of ranks, interpolated between its rows, or from the user's
 * parameters.  Every rank computes the same.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/gasnet_config.h"

enum {
    RECEIVE_CHUNK = GASNETI_PORTALS_CHUNK, /* bytes; bounds an Active Message */
    RECEIVE_CREDIT = 256,                  /* bytes of receive space for each credit */
    RECEIVE_COST_MOST =
        RECEIVE_CHUNK /
        RECEIVE_CREDIT,         /* credits of the largest Request, and least credits of a peer */
    RECEIVE_CHUNKS_MOST = 1024, /* chunks in one receive buffer */
    RECEIVE_CEILING_MOST = 65535,
};

/* The user's parameters; -1: from the table. */
typedef struct receive_space_input {
    uint32_t nodes;
    uint32_t spare;     /* buffers that credits do not cover: full ones not attached again yet */
    int64_t each, bank; /* credits: initial ones of each peer, and of the bank */
    int64_t space;      /* bytes of receive space; 0: from the table */
    uint32_t tickets, send_chunks, reply_chunks;
} receive_space_input_t;

typedef struct receive_space {
    uint32_t buffers, chunks; /* receive buffers, chunks in each */
    uint32_t credits;         /* total, with the bank */
    uint16_t each;
    uint64_t am_events, safe_events, system_events;
} receive_space_t;

/* Computes the space.  False, with the reason as one sentence in `why` (size bytes), if the
 * parameters contradict each other. */
bool receive_space_compute(const receive_space_input_t *input, receive_space_t *space, char *why,
                           size_t size);

/* Credits that a Request of `length` bytes costs. */
static inline uint32_t receive_cost(size_t length)
{
    return length <= RECEIVE_CREDIT ? 1
                                    : (uint32_t)((length + RECEIVE_CREDIT - 1) / RECEIVE_CREDIT);
}
