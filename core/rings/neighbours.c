/* neighbours.c - the memory that shared-memory peers ("neighbours") use for their rings, and the
 * thread that sleeps until a message is written there.
 *
 * A word for each peer names the rings that the peer has been given.  The word is stored with
 * release, when polls look at the rings already, and loaded with acquire: so a message that the
 * peer writes as soon as it sees the word is found.
 *
 * A receive thread sleeps on a word of its process's memory.  The sender exchanges that word after
 * it has stored the trailer, the sleeper before its last poll: one of them sees what the other has
 * done.
 */
#include <limits.h>
#include <stdlib.h>

#include "core/network.h"
#include "core/job/rank.h"
#include "core/params/params.h"
#include "core/report.h"
#include "core/rings/neighbours.h"
#include "other/base/futex.h"

/* The shared memory of a process; the rings follow. */
typedef struct near_memory {
    _Alignas(64) _Atomic uint32_t asleep;  /* 1: a thread of the process waits to be woken */
    uint32_t has_receive_thread;           /* has_receive_thread and rings are set at attach */
    uint32_t rings;                        /* rings that the process has */
    _Alignas(64) _Atomic uint32_t given[]; /* [ranks]: 1 + index of the first ring given to it */
} near_memory_t;

void (*net_near_wake)(uint32_t rank);

static near_memory_t *mine;
static near_memory_t **theirs; /* [ranks]; NULL: not a shared-memory peer */
static uint32_t most;          /* rings of this process */

static size_t stride(void)
{
    return sizeof(net_near_ring_t) + net_rings_bytes();
}

static size_t before_rings(void)
{
    return sizeof(near_memory_t) + (gasnetc_job.size * sizeof mine->given[0] + 63) / 64 * 64;
}

size_t net_neighbours_size(uint32_t rings)
{
    most = rings;
    return rings ? before_rings() + rings * stride() : 0;
}

void net_near_open(void *memory, void (*wake)(uint32_t rank))
{
    theirs = calloc(gasnetc_job.size, sizeof *theirs);
    if (!theirs) gasneti_fatal("out of memory for the rings of neighbours");
    mine = memory;
    mine->has_receive_thread = gasnetc_params.rcv_thread;
    mine->rings = most;
    net_near_wake = wake;
}

void net_neighbours_enter(const net_peer_t *peer, void *memory)
{
    theirs[peer->rank] = memory;
}

void net_neighbours_close(void)
{
    free(theirs);
    theirs = NULL;
    mine = NULL;
}

bool net_near_shares(const net_peer_t *peer)
{
    return theirs && theirs[peer->rank];
}

static net_near_ring_t *ring_at(near_memory_t *memory, uint32_t index)
{
    return (net_near_ring_t *)(void *)((char *)memory + before_rings() + index * stride());
}

/* --- giving rings --- */

net_near_ring_t *net_near_ring_mine(uint32_t index)
{
    return ring_at(mine, index);
}

void net_near_give(const net_peer_t *peer, uint32_t first)
{
    atomic_store_explicit(&mine->given[peer->rank], 1 + first, memory_order_release);
}

net_near_ring_t *net_near_given(const net_peer_t *peer, uint32_t which)
{
    near_memory_t *memory = theirs[peer->rank];
    const uint32_t word =
        atomic_load_explicit(&memory->given[gasnetc_job.rank], memory_order_acquire);
    if (!word) return NULL;
    if (word - 1 + which >= memory->rings) gasneti_malformed(peer->rank, 0, "offer of rings");
    return ring_at(memory, word - 1 + which);
}

/* --- sending --- */

void net_near_begin(net_near_out_t *near, const net_peer_t *peer, net_near_ring_t *ring)
{
    near_memory_t *memory = theirs[peer->rank];
    near->asleep = memory->has_receive_thread ? &memory->asleep : NULL;
    atomic_store(&near->out.slots, (uint16_t)(net_rings.mask + 1));
    atomic_store(&near->ring, ring);
}

void net_near_rouse(_Atomic uint32_t *asleep)
{
    if (atomic_exchange_explicit(asleep, 0, memory_order_acq_rel))
        gasneti_futex_wake(asleep, GASNETI_FUTEX_SHARED, INT_MAX);
}

/* --- sleeping --- */

bool net_near_sleeps(void)
{
    return mine;
}

void net_near_arm(void)
{
    atomic_exchange_explicit(&mine->asleep, 1, memory_order_acq_rel);
}

void net_near_block(void)
{
    while (atomic_load_explicit(&mine->asleep, memory_order_acquire))
        gasneti_futex_sleep(&mine->asleep, GASNETI_FUTEX_SHARED, 1, NULL);
}
