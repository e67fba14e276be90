/*
 * scripted_peer.h - a transport to a peer that is this process in a mirror: a message to it comes
 * back as sent by it, later, with completions in any order that a network may have.
 *
 * The engine is tested with all that is asynchronous, long messages and published lists included,
 * in one process without a device. Linked instead of the transport over libibverbs.
 */
#ifndef TESTS_PORTALS3_MIRROR_H
#define TESTS_PORTALS3_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "other/portals3/src/transport/transport.h"

struct mirror_ways {
    uint64_t seed;
    bool thread;  /* a thread makes progress; else calls do */
    bool publish; /* the fast path is used as soon as may be */
};
/* Before the interface is opened. */
void mirror_set(struct mirror_ways ways);
/* The peer's id. */
ptl_process_id_t mirror_id(ptl_process_id_t self);

/* The peer ends: all operations fail. */
void mirror_break(void);
/* Bytes as if they came from the peer. */
void mirror_inject(const void *bytes, size_t size);

#endif
