/* route.h - the path from a port of this process to a peer's: by LID, or by GIDs that both have.
 */
#ifndef NET_IB_ROUTE_H
#define NET_IB_ROUTE_H

#include "core/ib/rail.h"

enum { NET_IB_ROUTE_TEXT = 192, NET_IB_ROUTE_TRIES = 3 };

/* Finds the path to a peer's port.  False: the path needs GIDs of one class, and the two ports have
 * none in common. */
bool net_ib_route(const struct net_ib_rail *rail, const hca_remote_t *remote, hca_route_t *route);

/* True if this errno of an address handle, or of a queue pair on its way to RTR, means that the
 * kernel did not resolve the peer's Ethernet address in time: a lost packet is enough, so the call
 * is tried NET_IB_ROUTE_TRIES times. */
bool net_ib_route_timed_out(int error);

/* "LID 5", or "GID ::ffff:10.0.0.2 (RoCE v2), from GID 3 ::ffff:10.0.0.1 (RoCE v2, eth0)". */
const char *net_ib_route_text(const struct net_ib_rail *rail, const hca_remote_t *remote,
                              char text[NET_IB_ROUTE_TEXT]);

/* End the job: net_ib_route was false; or `what`, which a route to the peer takes, was refused with
 * an errno (status.c). */
void net_ib_no_route(uint32_t rank, const struct net_ib_rail *rail, const hca_remote_t *remote)
    __attribute__((noreturn, cold));
void net_ib_cannot_reach(uint32_t rank, const struct net_ib_rail *rail, const hca_remote_t *remote,
                         const char *what, int error) __attribute__((noreturn, cold));

#endif
