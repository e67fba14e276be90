/* messages.c - the memory of the rings of shared-memory peers, and how two peers begin to use it.
 *
 * A receive thread sleeps on a word of its process's memory.  The sender exchanges that word after
 * it has stored the trailer, the sleeper before its last poll: one of them sees what the other has
 * done.
 */
#include "core/shm/messages.h"

#include <limits.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/report.h"
#include "other/base/futex.h"

/* The head of a ring, as its sender and its receiver map it. */
typedef struct shm_head {
    _Alignas(64) amrdma_released_t released;
    _Atomic uint32_t
        unanswered; /* of a ring of Requests: handlers that have ended without a Reply */
} shm_head_t;

/* The memory of a process; the heads of the rings follow, then the slots. */
typedef struct shm_memory {
    _Alignas(64) _Atomic uint32_t asleep; /* 1: the receive thread waits to be woken */
    _Alignas(64) _Atomic uint64_t door;   /* a trailer: OPEN when a flag below was set, else 0 */
    _Atomic bool begun[];                 /* by index: that rank has begun to send */
} shm_memory_t;

#define OPEN amrdma_trailer(1, 0, 0)

static shm_memory_t *mine;
static uint32_t my_index, ranks;
static gasnetc_peer_t **peers; /* by index; NULL: this rank itself */

gasnetc_ring_form_t gasnetc_shm_form;
gasnetc_ring_t gasnetc_shm_door;

/* --- where things lie --- */

static size_t heads_at(void)
{
    return (sizeof(shm_memory_t) + ranks * sizeof mine->begun[0] + 63) / 64 * 64;
}

static size_t slots_at(void)
{
    return heads_at() + ranks * GASNETC_SHM_RINGS * sizeof(shm_head_t);
}

static shm_head_t *head_of(shm_memory_t *memory, uint32_t sender, enum gasnetc_shm_kind kind)
{
    shm_head_t *heads = (shm_head_t *)(void *)((char *)memory + heads_at());
    return &heads[sender * GASNETC_SHM_RINGS + kind];
}

static char *slots_of(shm_memory_t *memory, uint32_t sender, enum gasnetc_shm_kind kind)
{
    return (char *)memory + slots_at() +
           (sender * GASNETC_SHM_RINGS + kind) * gasnetc_ring_bytes(&gasnetc_shm_form);
}

/* The slots of a ring: as many as keep a process's memory within 16 MB, but 8 at least. */
static uint32_t slots_for(uint32_t count)
{
    const size_t most = 16 << 20, of_slot = amrdma_slot_size(GASNETC_SHM_LIMIT);
    uint32_t slots = AMRDMA_SLOTS;
    while (slots > 8 && count * GASNETC_SHM_RINGS * slots * of_slot > most) slots /= 2;
    return slots;
}

size_t gasnetc_shm_messages_size(uint32_t count)
{
    ranks = count;
    gasnetc_shm_form = gasnetc_ring_form(slots_for(count), GASNETC_SHM_LIMIT);
    return slots_at() + ranks * GASNETC_SHM_RINGS * gasnetc_ring_bytes(&gasnetc_shm_form);
}

void gasnetc_shm_messages_open(void *memory, uint32_t index)
{
    peers = calloc(ranks, sizeof *peers);
    if (!peers) gasneti_fatal("out of memory for %u shared-memory peers", ranks);
    mine = memory;
    my_index = index;
    gasnetc_rings_add_door(&gasnetc_shm_door, &mine->door);
}

void gasnetc_shm_messages_peer(gasnetc_peer_t *peer, void *memory, uint32_t index, bool sleeps)
{
    shm_memory_t *theirs = memory;
    gasnetc_shm_peer_t *shm = calloc(1, sizeof *shm);
    if (!shm) gasneti_fatal("out of memory for the record of a shared-memory peer");
    for (enum gasnetc_shm_kind kind = 0; kind < GASNETC_SHM_RINGS; kind++) {
        gasnetc_shm_out_t *out = &shm->out[kind];
        out->released = &head_of(theirs, my_index, kind)->released;
        out->slots = slots_of(theirs, my_index, kind);
        atomic_init(&out->out.slots, (uint16_t)(gasnetc_shm_form.mask + 1));
    }
    shm->theirs = theirs;
    shm->unanswered_there = &head_of(theirs, my_index, GASNETC_SHM_REQUESTS)->unanswered;
    shm->unanswered_here = &head_of(mine, index, GASNETC_SHM_REQUESTS)->unanswered;
    shm->asleep = sleeps ? &theirs->asleep : NULL;
    shm->index = index;
    peer->shm = shm;
    peers[index] = peer;
}

/* --- two ranks begin to use their rings --- */

/* Enters a rank at the process with this memory. */
static void enter(shm_memory_t *memory, uint32_t index)
{
    atomic_store(&memory->begun[index], true);
    atomic_store(&memory->door, OPEN);
}

static void begin(gasnetc_shm_peer_t *shm)
{
    enter(mine, shm->index);
    enter(shm->theirs, my_index);
    shm->window = gasnetc_shm_form.mask + 1;
}

static void admit(gasnetc_peer_t *peer)
{
    static amrdma_out_t no_ring; /* trailers report no ring */
    gasnetc_shm_peer_t *shm = peer->shm;
    shm->in = calloc(GASNETC_SHM_RINGS, sizeof *shm->in);
    if (!shm->in) gasneti_fatal("out of memory for the records of rings");
    for (enum gasnetc_shm_kind kind = 0; kind < GASNETC_SHM_RINGS; kind++)
        gasnetc_rings_add(&shm->in[kind], &gasnetc_shm_form, slots_of(mine, shm->index, kind),
                          &peer->net, (uint8_t)kind, &head_of(mine, shm->index, kind)->released,
                          &no_ring);
    atomic_store_explicit(&shm->admitted, true, memory_order_release);
    gasneti_debug(shm, "messages of rank %u come by rings from now on", peer->net.rank);
}

void gasnetc_shm_admit(void)
{
    atomic_store(&mine->door, 0);
    for (uint32_t i = 0; i < ranks; i++)
        if (peers[i] && atomic_load(&mine->begun[i]) && !atomic_load(&peers[i]->shm->admitted))
            admit(peers[i]);
}

bool gasnetc_shm_may_request(gasnetc_peer_t *peer)
{
    gasnetc_shm_peer_t *shm = peer->shm;
    const uint32_t sent = (uint32_t)shm->out[GASNETC_SHM_REQUESTS].out.sent;
    if (shm->window == 0)
        begin(shm);
    else if (atomic_load_explicit(&shm->admitted, memory_order_acquire))
        shm_flow_look(&shm->flow, &shm->in[GASNETC_SHM_REPLIES].in, GASNETC_RINGS_IN_ORDER,
                      shm->unanswered_there);
    if (!shm_flow_is_sound(&shm->flow, sent, shm->window))
        gasneti_malformed(peer->net.rank, 0, "Reply (to no Request)");
    return shm_flow_may_request(&shm->flow, sent, shm->window);
}

void gasnetc_shm_no_reply_slot(const gasnetc_peer_t *peer, size_t length)
{
    gasneti_malformed(peer->net.rank, (uint32_t)length,
                      "Request (its sender has left no slot for the Reply)");
}

/* --- sleeping --- */

void gasnetc_shm_wake_sleeper(_Atomic uint32_t *asleep)
{
    if (atomic_exchange_explicit(asleep, 0, memory_order_acq_rel))
        gasneti_futex_wake(asleep, GASNETI_FUTEX_SHARED, INT_MAX);
}

bool gasnetc_shm_has_sleeper(void)
{
    return mine;
}

void gasnetc_shm_arm(void)
{
    atomic_exchange_explicit(&mine->asleep, 1, memory_order_acq_rel);
}

void gasnetc_shm_block(void)
{
    while (atomic_load_explicit(&mine->asleep, memory_order_acquire))
        gasneti_futex_sleep(&mine->asleep, GASNETI_FUTEX_SHARED, 1, NULL);
}
