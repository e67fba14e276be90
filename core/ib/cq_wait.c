/* cq_wait.c - how receive threads sleep until a message arrives: one at each device.
 *
 * Called by core/progress/receive_thread.c alone, and left out of the library with it (IB-B3).
 * Whether a message was worth waking for is the thread's to judge.
 */
#include "core/ib/rail.h"

unsigned net_rx_channels(void)
{
    return net_ib.hcas;
}

void net_arm(unsigned place)
{
    hca_cq_arm(net_ib.recv_cq[place]);
}

void net_block(unsigned place)
{
    net_ib_sleep(net_ib.recv_cq[place], -1);
}
