/* sleep.c - how the receive thread sleeps until a message arrives.
 *
 * Called by core/receive_thread.c alone, and left out of the library with it (IB-B3).  It arms and
 * sleeps, and never takes a message: whether that was worth waking for is the thread's to judge.
 */
#include <poll.h>

#include "core/ib/rail.h"

void net_arm(void)
{
    for (uint32_t i = 0; i < net_ib.hcas; i++) hca_cq_arm(net_ib.recv_cq[i]);
}

void net_block(void)
{
    struct pollfd wait[NET_IB_HCAS];
    for (uint32_t i = 0; i < net_ib.hcas; i++)
        wait[i] = (struct pollfd){.fd = net_ib_rails.hca[i].channel->fd, .events = POLLIN};
    if (poll(wait, net_ib.hcas, -1) <= 0) return;
    for (uint32_t i = 0; i < net_ib.hcas; i++)
        if (wait[i].revents & POLLIN) hca_channel_take(net_ib_rails.hca[i].channel);
}
