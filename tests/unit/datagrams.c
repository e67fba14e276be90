/* datagrams.c - core/ib/datagrams.c upon the software device: a process that sends datagrams to
 * itself, more than its send queue holds, before it takes one.
 */
#include "core/ib/datagrams.h"

#include <stdlib.h>
#include <string.h>

#include "core/params/params.h"
#include "tests/unit/check.h"

enum { PEERS = 100, COUNT = 100, LENGTH = 200, TURNS = 5 };

struct net_ib_rails net_ib_rails;
gasnetc_params_t gasnetc_params;

/* --- functions of the network that datagrams.c calls --- */

void *net_alloc(size_t size)
{
    return aligned_alloc(4096, size);
}

void net_free(void *memory)
{
    free(memory);
}

bool net_register(void *start, size_t size, enum net_access access, net_region_t *region)
{
    (void)access;
    region->mr[0] = hca_register(net_ib_rails.hca[0].pd, start, size, HCA_LOCAL);
    if (region->mr[0]) region->lkey[0] = region->mr[0]->lkey;
    return region->mr[0];
}

void net_deregister(net_region_t *region)
{
    if (region->mr[0]) hca_destroy(region->mr[0]);
}

void net_ib_sleep(hca_sleeper_t *sleeper, int ms)
{
    hca_sleep(sleeper, ms);
}

int net_ib_poll_alone(hca_cq_t cq, int budget, hca_wc_t *wc)
{
    return hca_poll(cq, budget, wc);
}

/* --- the test --- */

static bool open_device(void)
{
    struct net_ib_hca *hca = &net_ib_rails.hca[0];
    hca->hca = hca_open(0, hca->name);
    net_ib_rails.rail[0].number = 1;
    if (!hca->hca || !hca_query_port(hca->hca, 1, &net_ib_rails.rail[0].port)) return false;
    hca->pd = hca_pd_create(hca->hca);
    return hca->pd;
}

/* A datagram's bytes are its number; its length says the number too. */
static int take(unsigned char *bytes)
{
    int length;
    net_ib_datagrams_arm();
    while ((length = net_ib_datagram_take(bytes, LENGTH)) < 0) {
        net_ib_datagrams_sleep(-1);
        net_ib_datagrams_arm();
    }
    return length;
}

int main(int argc, char **argv)
{
    setenv("SOFTHCA", "on", 1);
    check_begin(argc, argv);
    char why[200];
    if (!open_device() || !net_ib_datagrams_open(PEERS, LENGTH, why, sizeof why)) return 1;
    const hca_ud_addr_t self = net_ib_datagrams_address();
    const hca_route_t route = {.lid = net_ib_rails.rail[0].port.lid};
    hca_ah_t ah = net_ib_datagram_ah(&route);
    unsigned char bytes[LENGTH];
    for (int turn = 0; turn < TURNS; turn++) { /* the buffers of arrivals are used again */
        for (int i = 0; i < COUNT; i++) {
            memset(bytes, i + 1, LENGTH);
            check_each(net_ib_datagram_send(ah, &self, 0, bytes, LENGTH - (uint32_t)i) == 0,
                       "datagram %d of turn %d is not sent", i, turn);
        }
        for (int i = 0; i < COUNT; i++) {
            int length = take(bytes);
            check_each(length == LENGTH - i && bytes[0] == i + 1 && bytes[length - 1] == i + 1,
                       "turn %d: not %d, but one of %d bytes that begins with %d", turn, i, length,
                       bytes[0]);
        }
    }
    check_all("datagrams that arrive while others are sent are taken later, in their order");
    check(net_ib_datagram_take(bytes, LENGTH) == -1, "and no more than were sent");
    uint32_t rank;
    hca_failure_t failure;
    check(!net_ib_datagram_failure(&rank, &failure), "no send has failed");
    hca_destroy(ah);
    net_ib_datagrams_close();
    hca_destroy(net_ib_rails.hca[0].pd);
    hca_close(net_ib_rails.hca[0].hca);
    return check_end();
}
