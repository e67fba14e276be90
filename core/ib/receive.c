/* receive.c - the receive buffers: one registered arena, one free list (IB-A1, IB-R7).
 *
 * Posting and taking are inline in network_inline.h; here are birth, death and the case that no
 * spare buffer is left when a message arrives.
 */
#include <stdlib.h>

#include "core/ib/rail.h"
#include "core/report.h"

static char *arena;
static size_t arena_size;
static net_recv_t *descriptors;

void net_ib_receive_init(uint32_t count)
{
    arena_size = (size_t)count * net_ib.buffer_size;
    arena = net_alloc(arena_size);
    descriptors = calloc(count, sizeof *descriptors);
    if (!arena || !descriptors)
        gasneti_fatal("cannot allocate %zu KB for %u receive buffers: %s; lower "
                      "GASNET_AM_CREDITS_PP or GASNET_AM_CREDITS_TOTAL",
                      arena_size / 1024, count, strerror(errno));
    if (!net_register(arena, arena_size, false, &net_ib.recv_region)) {
        char why[256];
        net_explain_register(errno, arena_size, why, sizeof why);
        gasneti_fatal("cannot register %zu KB of receive buffers: %s", arena_size / 1024, why);
    }
    for (uint32_t i = 0; i < count; i++) {
        char *data = arena + (size_t)i * net_ib.buffer_size;
        descriptors[i].message.data = data;
        hca_recv_init(&descriptors[i].post, (uintptr_t)&descriptors[i], data, net_ib.buffer_size,
                      net_ib.recv_region.lkey[0]);
        net_ib_recv_push(&descriptors[i]);
    }
}

void net_ib_receive_fini(void)
{
    net_deregister(&net_ib.recv_region);
    net_free(arena);
    free(descriptors);
    arena = NULL;
    descriptors = NULL;
    net_ib.free_recvs = NULL;
}

/* The buffers for system messages stay posted. */
void net_release_system(net_message_t *message)
{
    net_ib_recv_post(message->peer, (net_recv_t *)message);
}

_Atomic uint64_t net_ib_spares_out;

net_message_t *net_ib_move(net_recv_t *recv)
{
    uint32_t length = recv->message.length;
    net_recv_t *copy = malloc(sizeof *copy + length);
    if (!copy) gasneti_fatal("out of memory while copying a %u-byte message", length);
    atomic_fetch_add(&net_ib_spares_out, 1);
    copy->message = recv->message;
    copy->message.data = copy + 1;
    copy->moved = true;
    memcpy(copy + 1, recv->message.data, length);
    net_ib_recv_post(recv->message.peer, recv);
    return &copy->message;
}
