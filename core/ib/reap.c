/* reap.c - reaping beyond the usual case: several devices, each with its own completion queues.
 *
 * With one device, and buffers for each peer, net_reap and net_arrivals do not come here.
 */
#include <pthread.h>

#include "core/ib/shared.h"

int net_ib_poll_alone(hca_cq_t cq, int budget, hca_wc_t *wc)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int n = hca_poll(cq, budget, wc);
    pthread_mutex_unlock(&lock);
    return n;
}

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
    if (net_ib.shared) return net_ib_shared_arrivals(first, messages, budget, systems);
    for (uint32_t i = 0; i < net_ib.hcas && n < budget; i++)
        n += net_ib_arrivals(net_ib.recv_cq[(first + i) % net_ib.hcas], messages + n, budget - n,
                             systems);
    return n;
}
