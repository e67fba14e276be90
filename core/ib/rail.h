/* rail.h - the devices and ports this process uses, and what start-up keeps of them.  Shared by
 * this folder's .c files only; the hot state is net_ib in network_ib.h.
 *
 * A rail is one active port; a device (HCA) may have several.  Queue pair i of a peer uses rail
 * i modulo their number.
 */
#ifndef NET_IB_RAIL_H
#define NET_IB_RAIL_H

#include "core/network.h"

enum { NET_IB_RAILS = NET_IB_HCAS == 1 ? 1 : 4 * NET_IB_HCAS };

struct net_ib_hca {
    hca_t hca;
    hca_pd_t pd;
    char name[64];
    hca_limits_t limits;
};

struct net_ib_rail {
    uint32_t hca; /* index in net_ib_rails.hca */
    uint8_t number;
    hca_port_t port;
};

struct net_ib_rails {
    struct net_ib_hca hca[NET_IB_HCAS];
    struct net_ib_rail rail[NET_IB_RAILS];
    uint32_t hcas, rails;
    uint32_t qps;        /* per peer */
    hca_limits_t limits; /* the least of all devices' */
    char text[128];      /* all ports, for people */
};
extern struct net_ib_rails net_ib_rails;

/* hca_cq_sleep, by one who has armed the queue and polled since; reap_multi.c. */
void net_ib_sleep(hca_cq_t cq, int ms);

/* Opens what is active and passes the filter; fatal, saying what was found, when there is nothing.
 */
void net_ib_rails_open(void);
void net_ib_rails_close(void);

/* `count` more receive buffers, registered, as a list: for the caller to post or to hand over.
 * Fatal when there is no memory. */
net_recv_t *net_ib_recv_make(uint32_t count);
void net_ib_receive_fini(void);

/* The message in ordinary memory: its buffer may be posted again. */
net_recv_t *net_ib_recv_copy(const net_recv_t *recv);

/* By any thread: whoever takes receive buffers next will find these (net_ib_recv_more). */
void net_ib_recv_hand_over(net_recv_t *first);

/* Rings for Active Messages (amrdma_rings.c): `most` of them at the most, to be given to `peers`.
 */
void net_ib_rings_init(uint32_t peers, uint32_t most);
void net_ib_rings_fini(void);

/* Where a process has the rings that it gives its peers; base 0: it gives none. */
typedef struct net_ib_far_rings {
    uint64_t base;
    net_key_t key;
} net_ib_far_rings_t;
net_ib_far_rings_t net_ib_rings_address(void);

#endif
