/* rail.h - the one port this process uses, and what start-up keeps of it.  Shared by this folder's
 * .c files only; the hot state is net_ib in network_inline.h. */
#ifndef NET_IB_RAIL_H
#define NET_IB_RAIL_H

#include "core/network.h"

struct net_ib_rail {
    hca_t hca;
    hca_pd_t pd;
    char name[64];
    uint8_t port_number;
    hca_port_t port;
    hca_limits_t limits;
};
extern struct net_ib_rail net_ib_rail;

/* Opens the first port that is active and passes the filter; fatal, saying what was found, when
 * there is none. */
void net_ib_rail_open(void);
void net_ib_rail_close(void);

/* Allocates and registers per_peer * peers + shared receive buffers, all unposted. */
void net_ib_receive_init(uint32_t peers, uint32_t per_peer, uint32_t shared);
void net_ib_receive_fini(void);

/* Settles the inline size (net_ib.inline_max: wanted on entry, what queue pairs grant on return)
 * and the depths of the queue pairs to be made. */
void net_ib_connect_init(uint32_t peers, uint32_t send_depth, uint32_t recv_depth,
                         uint32_t recv_prepost);
void net_ib_connect_fini(void);

#endif
