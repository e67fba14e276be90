/* cq_wait.c - receive threads sleep here until a message arrives: one at each device.
 *
 * Called by core/progress/receive_thread.c alone, and left out of the library with it (IB-B3).
 */
#include "core/ib/rail.h"

unsigned net_rx_channels(void)
{
    return net_ib.hcas;
}

void net_arm(unsigned channel)
{
    hca_cq_arm(net_ib.recv_cq[channel]);
}

void net_block(unsigned channel)
{
    net_ib_sleep(net_ib.recv_cq[channel], -1);
}
