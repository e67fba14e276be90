/* route.c - paths between ports, and their text in messages.  Pure but for the settings. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/ib/connect.h"
#include "core/params/params.h"

bool net_ib_route(const struct net_ib_rail *rail, const hca_remote_t *remote, hca_route_t *route)
{
    *route = (hca_route_t){.lid = remote->lid};
    if (!roce_one_partition(&rail->gids.offer, &remote->gids)) return false;
    /* Packets within one subnet of InfiniBand need the LID only. */
    route->global = rail->port.ethernet || remote->gids.ethernet || remote->lid == 0;
    if (!route->global) return true;
    const int kind = roce_common(&rail->gids.offer, &remote->gids);
    if (kind < 0) return false;
    memcpy(route->gid, remote->gids.gid[kind], sizeof route->gid);
    route->gid_index = rail->gids.at[kind];
    route->traffic_class = (uint8_t)gasnetc_params.traffic_class;
    return true;
}

bool net_ib_route_timed_out(int error)
{
    return error == ETIMEDOUT || error == EINTR;
}

const char *net_ib_route_text(const struct net_ib_rail *rail, const hca_remote_t *remote,
                              char text[NET_IB_ROUTE_TEXT])
{
    char to[NET_IB_ROUTE_TEXT], from[NET_IB_ROUTE_TEXT];
    const int kind = roce_common(&rail->gids.offer, &remote->gids);
    if (kind < 0 || remote->lid)
        snprintf(text, NET_IB_ROUTE_TEXT, "LID %u", remote->lid);
    else
        snprintf(text, NET_IB_ROUTE_TEXT, "%.80s, from %.100s",
                 roce_peer_text(&remote->gids, kind, to, sizeof to),
                 roce_own_text(&rail->gids, kind, from, sizeof from));
    return text;
}
