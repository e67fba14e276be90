/* amrdma_near.c - rings for Active Messages in memory that neighbours share: where they lie, the
 * message that is written by stores, and the thread that sleeps until one is.
 *
 * They are the rings of amrdma.h, given by amrdma_rings.c.  What differs: a neighbour has one from
 * its first message, so far as there are rings; the message is complete when the call returns; the
 * sender sees for itself which slots are released, and the trailer does not say it.  A slot counts
 * as written only by its trailer, which is stored last: a sender that dies before has written
 * nothing.
 *
 * A receive thread sleeps on a word of its process's memory.  Sender and sleeper exchange that word
 * after the trailer's store, and before the last poll: one of them sees what the other has done.
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ib/rail.h"
#include "core/job/rank.h"
#include "core/params/params.h"
#include "core/report.h"

static net_near_t *mine;
static void (*wake_waiting)(uint32_t rank);
static net_near_t **theirs; /* [ranks]; NULL: no neighbour */

static size_t stride(void)
{
    return sizeof(net_near_ring_t) + net_ib_ring_size();
}

size_t net_ib_near_size(void)
{
    const uint32_t rings = net_ib_rings_most();
    return rings ? sizeof(net_near_t) + rings * stride() : 0;
}

void net_ib_near_open(void *memory, void (*wake)(uint32_t rank))
{
    theirs = calloc(gasnetc_job.size, sizeof *theirs);
    if (!theirs) gasneti_fatal("out of memory for the rings of neighbours");
    mine = memory;
    wake_waiting = wake;
    net_ib_rings_near();
}

void net_ib_near_peer(const net_peer_t *peer, void *memory)
{
    theirs[peer->rank] = memory;
}

void net_ib_near_fini(void)
{
    free(theirs);
    theirs = NULL;
    mine = NULL;
}

static bool is_near(const net_peer_t *peer)
{
    return theirs && theirs[peer->rank];
}

static net_near_ring_t *ring_at(net_near_t *near, uint32_t index)
{
    return (net_near_ring_t *)(void *)((char *)(near + 1) + index * stride());
}

net_near_ring_t *net_ib_near_mine(const net_peer_t *peer, uint32_t index)
{
    return is_near(peer) ? ring_at(mine, index) : NULL;
}

net_near_ring_t *net_ib_near_theirs(const net_peer_t *peer, uint32_t index)
{
    return is_near(peer) ? ring_at(theirs[peer->rank], index) : NULL;
}

_Atomic uint32_t *net_ib_near_asleep(const net_peer_t *peer)
{
    return gasnetc_params.rcv_thread ? &theirs[peer->rank]->asleep : NULL;
}

/* --- sending --- */

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    (void)syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static inline bool may_send(amrdma_out_t *out, const net_near_ring_t *near)
{
    if (__builtin_expect(amrdma_may_send(out), 1)) return true;
    amrdma_look(out, &near->released);
    return amrdma_may_send(out);
}

/* Both are aligned to 8 bytes; most messages are a few words. */
static inline void copy_words(uint64_t *to, const uint64_t *from, uint32_t bytes)
{
    enum { FEW = 64 };
    if (bytes > FEW) {
        memcpy(to, from, bytes);
        return;
    }
    for (; bytes; bytes -= 8) *to++ = *from++;
}

static __attribute__((noinline)) bool by_network(net_qp_t *qp, net_slot_t *slot, const void *data,
                                                 size_t length, const net_region_t *local,
                                                 gasnetc_held_t *held)
{
    net_rings_t *rings = atomic_load_explicit(&qp->rings, memory_order_relaxed);
    net_ib_post_am(qp->send_ring.peer, qp, slot,
                   net_ib_ring_unusual(qp, rings) < 0 ? HCA_SEND_IMM : HCA_SEND,
                   net_ib_local(qp, data, length, local), &(gasnetc_sent_t){.held = held});
    return false;
}

/* The trailer of the message with that number. */
static inline char *trailer_of(net_near_ring_t *near, uint32_t number)
{
    return (char *)(near + 1) + ((number & net_ib.ring_mask) + 1) * (size_t)net_ib.ring_slot -
           AMRDMA_TRAILER;
}

/* Where the next message begins.  A ring that the peer does not know of yet is reported by the
 * network. */
static inline char *room(net_rings_t *rings, size_t length)
{
    net_near_ring_t *near = atomic_load_explicit(&rings->near, memory_order_relaxed);
    if (__builtin_expect(length > net_ib.ring_limit, 0) ||
        __builtin_expect(atomic_load_explicit(&rings->offer, memory_order_relaxed) != 0, 0) ||
        __builtin_expect(!may_send(&rings->near_out, near), 0))
        return NULL;
    return trailer_of(near, amrdma_next(&rings->near_out)) - amrdma_padded((uint32_t)length);
}

static inline void written(net_rings_t *rings, uint32_t rank, uint32_t length)
{
    net_near_ring_t *near = atomic_load_explicit(&rings->near, memory_order_relaxed);
    const uint32_t number = amrdma_send(&rings->near_out);
    atomic_store_explicit((_Atomic uint64_t *)(void *)trailer_of(near, number),
                          amrdma_trailer(number, 0, length), memory_order_release);
    if (__builtin_expect(rings->asleep != NULL, 0) &&
        atomic_exchange_explicit(rings->asleep, 0, memory_order_acq_rel))
        futex(rings->asleep, FUTEX_WAKE, INT_MAX);
    wake_waiting(rank);
}

bool net_ib_near_am(net_qp_t *qp, net_slot_t *slot, const void *data, size_t length,
                    const net_region_t *local, gasnetc_held_t *held)
{
    net_rings_t *rings = atomic_load_explicit(&qp->rings, memory_order_relaxed);
    char *to = room(rings, length);
    if (__builtin_expect(!to, 0)) return by_network(qp, slot, data, length, local, held);
    net_ib_total_return();
    copy_words((uint64_t *)(void *)to, data, amrdma_padded((uint32_t)length));
    written(rings, qp->send_ring.peer->rank, (uint32_t)length);
    return true;
}

void *net_ib_near_room(net_peer_t *peer, size_t length, bool wants_reply)
{
    net_qp_t *qp = net_ib_am(peer);
    char *to = room(atomic_load_explicit(&qp->rings, memory_order_relaxed), length);
    return to && (!wants_reply || net_ib_reply_recv(peer, qp)) ? to : NULL;
}

void net_ib_near_written(net_peer_t *peer, size_t length)
{
    net_rings_t *rings = atomic_load_explicit(&net_ib_am(peer)->rings, memory_order_relaxed);
    written(rings, peer->rank, (uint32_t)length);
}

/* --- sleeping --- */

bool net_ib_near_sleeps(void)
{
    return mine;
}

void net_ib_near_arm(void)
{
    atomic_exchange_explicit(&mine->asleep, 1, memory_order_acq_rel);
}

void net_ib_near_block(void)
{
    while (atomic_load_explicit(&mine->asleep, memory_order_acquire))
        futex(&mine->asleep, FUTEX_WAIT, 1);
}
