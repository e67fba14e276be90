/* reap.c - reaping where a process uses several devices, each with its own completion queues.
 *
 * Called by net_reap and net_arrivals, with the poll lock held; with one device they do not come
 * here.
 */
#include "core/ib/rail.h"

unsigned net_ib_reap_others(void)
{
    unsigned n = 0;
    for (uint32_t i = 1; i < net_ib.hcas; i++) n += net_ib_reap(net_ib.send_cq[i]);
    return n;
}

/* Another device is asked first each time, or a busy one would keep the others waiting. */
unsigned net_ib_arrivals_any(net_message_t **messages, unsigned budget, unsigned *systems)
{
    static uint32_t turn;
    unsigned n = 0;
    uint32_t first = turn++;
    for (uint32_t i = 0; i < net_ib.hcas && n < budget; i++)
        n += net_ib_arrivals(net_ib.recv_cq[(first + i) % net_ib.hcas], messages + n, budget - n,
                             systems);
    return n;
}
