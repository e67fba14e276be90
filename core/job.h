/* job.h - what every part of the core knows of the job: its shape and its peers. */
#ifndef GASNETC_JOB_H
#define GASNETC_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/credits.h"
#include "core/lock.h"
#include "core/network.h"
#include "other/spawner/bootstrap.h"

/* A node's segment, as others reach it: one key per 2^pin_shift bytes from base. */
typedef struct gasnetc_segment {
    uintptr_t base;
    uintptr_t size;
    const net_key_t *keys;
} gasnetc_segment_t;

/* All that is kept per node; the entry of this node itself has no network half. */
typedef struct gasnetc_peer {
    net_peer_t net;      /* first: the network hands back pointers to it */
    gasneti_lock_t lock; /* of net's posting side, and of credits */
    gasnetc_credits_t credits;
    gasnetc_segment_t segment;
} gasnetc_peer_t;

enum gasnetc_phase { GASNETC_BEFORE_INIT, GASNETC_BEFORE_ATTACH, GASNETC_ATTACHED };

extern struct bootstrap_job gasnetc_job;
extern enum gasnetc_phase gasnetc_phase;
extern gasnetc_peer_t *gasnetc_peers; /* [nodes] */
extern struct net_caps gasnetc_caps;
extern unsigned gasnetc_pin_shift;

static inline gasnetc_peer_t *gasnetc_peer_of(net_peer_t *net)
{
    return (gasnetc_peer_t *)net;
}

#endif
