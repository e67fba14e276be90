/* cq_wait.c - how receive threads sleep until a message arrives: one thread for all devices where
 * the verbs can wait for several, else one for each.
 *
 * Called by core/progress/receive_thread.c alone, and left out of the library with it (IB-B3).  So
 * is the buffer that each of these threads keeps.
 */
#include "core/ib/rail.h"

unsigned net_rx_channels(void)
{
    return net_ib_sleepers();
}

/* Gives a receive thread a buffer beyond those of the pool: GASNET_AM_SPARES are all for other
 * threads. */
void net_spare_own(net_spare_t *spare)
{
    *spare = (net_spare_t){.recv = net_ib.shared ? NULL : net_ib_recv_make(1)};
}

void net_arm(unsigned channel)
{
    hca_arm(&net_ib_sleeper[channel]);
}

void net_block(unsigned channel)
{
    net_ib_sleep(&net_ib_sleeper[channel], -1);
}
