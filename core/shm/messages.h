/* messages.h - Active Messages between shared-memory peers: rings that each writes in the memory of
 * the other (core/rings/amrdma.h), and the receive thread that sleeps until a message is written.
 *
 * Every rank of a supernode has two rings in its memory for each other one, for that rank's
 * Requests and for its Replies; a free slot is the credit of a message (shm_flow.h).  The memory is
 * there from attach on, but neither touched nor polled before the two ranks use it: with its first
 * Request a rank enters itself at the peer and the peer at itself, and each takes the rings of the
 * other into its polls when it sees that.  It sees it by the door, a word that polls look at as if
 * it were the trailer of a ring's next message.
 *
 * A message is complete when the call returns.  A slot counts as written only by its trailer, which
 * is stored last: a sender that dies before that has written nothing.
 */
#pragma once

#include "core/job/job.h"
#include "core/network.h"
#include "core/rings/local_rings.h"
#include "core/shm/shm_flow.h"
#include "core/shm/wake.h"
#include "other/base/hot.h"

enum gasnetc_shm_kind { GASNETC_SHM_REQUESTS, GASNETC_SHM_REPLIES, GASNETC_SHM_RINGS };

/* The longest message: a Medium with its header and 16 arguments. */
enum { GASNETC_SHM_LIMIT = 8 + 16 * 4 + GASNETC_MAX_MEDIUM };

/* A ring of which this rank writes the slots. */
typedef struct gasnetc_shm_out {
    amrdma_out_t out;
    const amrdma_released_t *released; /* in the peer's memory */
    char *slots;
} gasnetc_shm_out_t;

/* The record of a shared-memory peer.  Under the peer's lock, but for what `admitted` publishes. */
typedef struct gasnetc_shm_peer {
    gasnetc_shm_out_t out[GASNETC_SHM_RINGS];
    shm_flow_t flow;
    uint32_t window; /* open Requests, at most; 0: the rings are not used */
    const _Atomic uint32_t *unanswered_there; /* Requests of this rank without a Reply */
    _Atomic uint32_t *unanswered_here;        /* Requests of the peer without a Reply */
    _Atomic uint32_t *asleep; /* word of the peer's receive thread; NULL: the peer has none */
    struct shm_memory *theirs;
    uint32_t index;        /* number of the peer in the supernode */
    _Atomic bool admitted; /* polls look at `in` */
    gasnetc_ring_t *in;    /* [GASNETC_SHM_RINGS], in local memory; made when admitted */
} gasnetc_shm_peer_t;

#pragma GCC visibility push(hidden)
extern gasnetc_ring_form_t gasnetc_shm_form; /* of all rings of the supernode */
extern gasnetc_ring_t gasnetc_shm_door; /* in the list of rings; a "message": ranks have entered */

/* Bytes of a process's memory for the messages of a supernode of `ranks`. */
size_t gasnetc_shm_messages_size(uint32_t ranks);

/* Attach: this process's own memory; then that of each other rank of the supernode.  `index`: the
 * number of a rank in the supernode, from 0.  `sleeps`: the peer has a receive thread.  The memory
 * is zeroed, and stays mapped. */
void gasnetc_shm_messages_open(void *memory, uint32_t index);
void gasnetc_shm_messages_peer(gasnetc_peer_t *peer, void *memory, uint32_t index, bool sleeps);

/* Takes the rings of peers that have entered themselves into the polls, and closes the door; poll
 * lock held. */
void gasnetc_shm_admit(void);

/* The parts of gasnetc_shm_request_slot and _reply_slot that are not usual. */
bool gasnetc_shm_may_request(gasnetc_peer_t *peer);
void gasnetc_shm_no_reply_slot(const gasnetc_peer_t *peer, size_t length)
    __attribute__((noreturn, cold));
/* Wakes the receive thread that sleeps on this word, if it sleeps. */
void gasnetc_shm_wake_sleeper(_Atomic uint32_t *asleep);

/* The receive thread that shared-memory peers wake: true if the process needs one; and net_arm and
 * net_block (core/network.h) for it. */
bool gasnetc_shm_has_sleeper(void);
void gasnetc_shm_arm(void);
void gasnetc_shm_block(void);
#pragma GCC visibility pop

/* The record of a peer that has its messages by shared memory; NULL: by the network. */
static inline gasnetc_shm_peer_t *gasnetc_shm_of(const gasnetc_peer_t *peer)
{
    return GASNET_PSHM ? peer->shm : NULL;
}

/* True if `ring`, in which a message seems to be ready, is the door: gasnetc_shm_admit is to be
 * called. */
HOT bool gasnetc_shm_is_door(const gasnetc_ring_t *ring)
{
    return ring == &gasnetc_shm_door;
}

/* --- sending; the peer's lock is held --- */

/* Where the trailer of message `number` lies. */
HOT char *gasnetc_shm_trailer(const gasnetc_shm_out_t *out, uint32_t number)
{
    return out->slots + ((number & gasnetc_shm_form.mask) + 1) * (size_t)gasnetc_shm_form.slot -
           AMRDMA_TRAILER;
}

/* The address for the next message of `length` bytes, aligned to 8 bytes; NULL: no slot is free. */
HOT char *gasnetc_shm_slot(gasnetc_shm_out_t *out, size_t length)
{
    if (!amrdma_may_send(&out->out)) {
        amrdma_look(&out->out, out->released);
        if (!amrdma_may_send(&out->out)) return NULL;
    }
    return gasnetc_shm_trailer(out, amrdma_next(&out->out)) - amrdma_padded((uint32_t)length);
}

/* gasnetc_shm_slot for a Request; NULL also while too many Requests are open. */
HOT char *gasnetc_shm_request_slot(gasnetc_peer_t *peer, size_t length)
{
    gasnetc_shm_peer_t *shm = peer->shm;
    gasnetc_shm_out_t *out = &shm->out[GASNETC_SHM_REQUESTS];
    if (!shm_flow_may_request(&shm->flow, (uint32_t)out->out.sent, shm->window) &&
        !gasnetc_shm_may_request(peer))
        return NULL;
    return gasnetc_shm_slot(out, length);
}

/* gasnetc_shm_slot for a Reply; fatal without a slot, which its Request has left for it. */
HOT char *gasnetc_shm_reply_slot(gasnetc_peer_t *peer, size_t length)
{
    char *slot = gasnetc_shm_slot(&peer->shm->out[GASNETC_SHM_REPLIES], length);
    if (!slot) gasnetc_shm_no_reply_slot(peer, length);
    return slot;
}

/* Publishes the message in the slot, and wakes the receiving rank if it sleeps. */
HOT void gasnetc_shm_written(gasnetc_peer_t *peer, enum gasnetc_shm_kind kind, size_t length)
{
    gasnetc_shm_peer_t *shm = peer->shm;
    gasnetc_shm_out_t *out = &shm->out[kind];
    const uint32_t number = amrdma_send(&out->out);
    atomic_store_explicit((_Atomic uint64_t *)(void *)gasnetc_shm_trailer(out, number),
                          amrdma_trailer(number, 0, (uint32_t)length), memory_order_release);
    if (shm->asleep) gasnetc_shm_wake_sleeper(shm->asleep);
    gasnetc_wakeup_rank(peer->net.rank);
}

/* The handler of a Request of the peer has sent no Reply. */
HOT void gasnetc_shm_unanswered(const gasnetc_peer_t *peer)
{
    shm_flow_count_unanswered(peer->shm->unanswered_here);
}

/* Adds the messages written into rings of the peer, and the local rings that the peer writes. */
__attribute__((no_sanitize("thread"))) static inline void
gasnetc_shm_counts(const gasnetc_peer_t *peer, struct net_peer_counts *counts)
{
    const gasnetc_shm_peer_t *shm = gasnetc_shm_of(peer);
    if (!shm) return;
    for (int kind = 0; kind < GASNETC_SHM_RINGS; kind++) counts->by_ring += shm->out[kind].out.sent;
    if (atomic_load(&shm->admitted)) counts->rings += GASNETC_SHM_RINGS;
}
