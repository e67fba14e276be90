/* receive.c - the receive buffers: registered arenas, one free list (IB-A1, IB-R7).
 *
 * Posting and taking are inline in network_ib.h; this file makes and frees buffers, and moves
 * messages when no spare buffer is left.
 */
#include <stdlib.h>

#include "core/ib/srq.h"
#include "core/report.h"

/* Buffers that were made together; usually all those of one peer. */
typedef struct arena {
    struct arena *next;
    net_region_t region;
    char *memory;
    net_recv_t recv[];
} arena_t;

/* Any thread may add; freed when the other threads have ended. */
static arena_t *_Atomic arenas;

/* Buffers made and not yet taken; the end of each list is linked to the list handed over before it.
 */
static net_recv_t *_Atomic handed;

/* One registration. */
static net_recv_t *make_arena(uint32_t count)
{
    size_t size = (size_t)count * net_ib.buffer_size;
    arena_t *arena = calloc(1, sizeof *arena + count * sizeof *arena->recv);
    if (arena) arena->memory = net_alloc(size);
    if (!arena || !arena->memory)
        gasneti_fatal("cannot allocate %zu KB for %u receive buffers: %s; lower "
                      "%s",
                      size / 1024, count, strerror(errno),
                      net_ib.shared ? "GASNET_RBUF_COUNT"
                                    : "GASNET_AM_CREDITS_PP or GASNET_AM_CREDITS_TOTAL");
    if (!net_register(arena->memory, size, NET_LOCAL, &arena->region)) {
        char why[256];
        net_explain_register(errno, size, why, sizeof why);
        gasneti_fatal("cannot register %zu KB of receive buffers: %s", size / 1024, why);
    }
    for (uint32_t i = 0; i < count; i++) {
        net_recv_t *recv = &arena->recv[i];
        char *data = arena->memory + (size_t)i * net_ib.buffer_size;
        recv->message.data = data;
        recv->region = &arena->region;
        recv->next = i + 1 < count ? recv + 1 : NULL;
        hca_recv_init(&recv->post, (uintptr_t)recv, data, net_ib.buffer_size,
                      arena->region.lkey[0]);
    }
    arena->next = atomic_load(&arenas);
    while (!atomic_compare_exchange_weak(&arenas, &arena->next, arena))
        ;
    return arena->recv;
}

net_recv_t *net_ib_recv_make(uint32_t count)
{
    const uint64_t size = net_ib_rails.limits.max_mr_size / net_ib.buffer_size;
    const uint32_t most = size && size < count ? (uint32_t)size : count;
    net_recv_t *first = NULL;
    for (uint32_t left = count, n; left; left -= n) {
        n = left < most ? left : most;
        net_recv_t *made = make_arena(n);
        made[n - 1].next = first;
        first = made;
    }
    return first;
}

void net_ib_recv_hand_over(net_recv_t *first)
{
    if (!first) return;
    net_recv_t *last = first, *before = atomic_load(&handed);
    while (last->next) last = last->next;
    do {
        last->next = before;
    } while (!atomic_compare_exchange_weak(&handed, &before, first));
}

/* Takes the whole list at once, which avoids the ABA problem. */
net_recv_t *net_ib_recv_more(void)
{
    if (!atomic_load_explicit(&handed, memory_order_relaxed)) return NULL;
    net_recv_t *recv = atomic_exchange(&handed, NULL);
    for (net_recv_t *next; recv; recv = next) {
        next = recv->next;
        net_ib_recv_push(recv);
    }
    return net_ib_recv_pop();
}

void net_ib_receive_fini(void)
{
    arena_t *arena = atomic_exchange(&arenas, NULL);
    for (arena_t *next; arena; arena = next) {
        next = arena->next;
        net_deregister(&arena->region);
        net_free(arena->memory);
        free(arena);
    }
    net_ib.free_recvs = NULL;
    atomic_store(&handed, NULL);
}

bool net_ib_reply_recv_indirect(net_peer_t *peer, const net_qp_t *qp)
{
    if (net_ib.shared) return net_ib_shared_reply_recv();
    net_recv_t *recv = net_ib_recv_pop();
    if (!recv) recv = net_ib_recv_more();
    if (recv) net_ib_recv_post(peer, qp, recv);
    return recv;
}

_Atomic uint64_t net_ib_spares_out;

net_recv_t *net_ib_recv_copy(const net_recv_t *recv)
{
    uint32_t length = recv->message.length;
    net_recv_t *copy = malloc(sizeof *copy + length);
    if (!copy) gasneti_fatal("out of memory while copying a %u-byte message", length);
    atomic_fetch_add(&net_ib_spares_out, 1);
    copy->message = recv->message;
    copy->message.data = copy + 1;
    copy->moved = true;
    memcpy(copy + 1, recv->message.data, length);
    return copy;
}

net_message_t *net_ib_move(net_recv_t *recv)
{
    net_recv_t *fresh = net_ib_recv_more();
    if (fresh) {
        net_ib_recv_post(recv->message.peer, recv->qp, fresh);
        return &recv->message;
    }
    net_recv_t *copy = net_ib_recv_copy(recv);
    copy->message.mark = NET_IB_SETTLED | NET_IB_REQUEST;
    net_ib_recv_post(recv->message.peer, recv->qp, recv);
    return &copy->message;
}
