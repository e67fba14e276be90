/* verbs_list_lease.c - grants lists of match entries to peers, and holds theirs (list_lease.h).
 *
 * A process that holds a list may read and write the peer's memory by RDMA.  The peer must revoke
 * the list before it changes any of its match entries.
 */
#include <stdlib.h>
#include <string.h>

#include "other/base/clock.h"
#include "other/portals3/src/transport/verbs.h"

/* --- initiator and target; with posting held --- */

struct ptli_route *ptli_verbs_list_lease(struct ptli_node *node, ptl_pt_index_t pt)
{
    struct ptli_route *route = node->routes;
    while (route && route->pt != pt) route = route->next;
    if (route) return route;
    route = calloc(1, sizeof *route);
    if (!route) return NULL;
    route->node = node;
    route->pt = pt;
    route->next = node->routes;
    node->routes = route;
    return route;
}

static void lease_message(struct ptli_route *route, struct ptli_message *m, uint8_t type,
                          uint32_t epoch)
{
    *m = (struct ptli_message){.header = {.type = type,
                                          .source = route->node->verbs->face.id,
                                          .destination = route->node->face.id,
                                          .pt_index = route->pt,
                                          .operation = epoch}};
}

void ptli_verbs_lease_return(struct ptli_route *route)
{
    lease_message(route, &route->answer, PTLI_REVOKED, route->lease.epoch);
    route->answering = true;
    ptli_verbs_answer(route->node, &route->answer);
}

void ptli_verbs_release(struct ptli_route *route)
{
    if (ptli_lease_release(&route->lease)) ptli_verbs_lease_return(route);
}

static void lease_count_granted(struct ptli_verbs *v, int change)
{
    atomic_fetch_add(&v->lent, (uint32_t)change);
}

void ptli_verbs_list_leases_lost(struct ptli_node *node)
{
    for (struct ptli_route *route = node->routes; route; route = route->next) {
        if (route->grant.state != PTLI_GRANT_NONE) lease_count_granted(node->verbs, -1);
        ptli_grant_lost(&route->grant);
        ptli_lease_lost(&route->lease);
    }
}

/* --- the initiator's end --- */

struct ptli_published_hold *ptli_verbs_published_hold(struct ptli_transport *transport,
                                                      struct ptli_peer *peer, ptl_pt_index_t pt)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    struct ptli_published_hold *hold = NULL;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_route *route = ptli_node(peer)->routes;
    while (route && route->pt != pt) route = route->next;
    if (route && ptli_lease_hold(&route->lease)) hold = &route->list->face;
    ptli_mutex_unlock(&v->posting.lock);
    return hold;
}

void ptli_verbs_published_release(struct ptli_transport *transport,
                                  struct ptli_published_hold *hold)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    ptli_mutex_lock(&v->posting.lock);
    ptli_verbs_release(((struct ptli_published_held *)hold)->route);
    ptli_mutex_unlock(&v->posting.lock);
}

/* The peer's answer to PTLI_ASK.  With posting held.  */
static bool take_list(struct ptli_route *route, const struct ptli_header *header, const void *data)
{
    bool given = header->data_length > 0;
    uint32_t epoch = (uint32_t)header->operation;
    struct ptli_published list;
    if (given && ptli_published_parse(data, header->data_length, &list)) return false;
    if (given && list.pt_index != route->pt) return false;
    if (given && !route->list) {
        route->list = calloc(1, sizeof *route->list);
        if (route->list) route->list->route = route;
    }
    /* While a list of an earlier connection is in use, this one is returned.  */
    bool use = given && route->list && !route->lease.users;
    if (!ptli_lease_answered(&route->lease, use, epoch)) return false;
    if (given && !use) ptli_verbs_lease_return(route);
    if (!use) return true;
    route->list->face.published = list;
    route->list->life = route->node->life;
    return true;
}

/* --- the target's end --- */

/* Called by the thread that drives the network, without posting.  */
static void lease_grant(struct ptli_route *route)
{
    struct ptli_node *node = route->node;
    struct ptli_verbs *v = node->verbs;
    ptli_mutex_lock(&v->posting.lock);
    if (!route->lent) route->lent = calloc(1, sizeof *route->lent);
    struct ptli_lent *to = route->sending_list ? NULL : route->lent;
    bool asked = to && ptli_grant_asked(&route->grant);
    if (asked) lease_count_granted(v, 1);
    route->listed = false;
    ptli_mutex_unlock(&v->posting.lock);
    if (!asked) return;
    size_t length = ptli_publish(v->face.engine, &node->face, route->pt, to->bytes);
    ptli_mutex_lock(&v->posting.lock);
    if (!length && route->grant.state != PTLI_GRANT_NONE) { /* NONE: the peer was lost meanwhile */
        ptli_grant_refuse(&route->grant);
        lease_count_granted(v, -1);
    }
    lease_message(route, &to->list, PTLI_LIST, route->grant.epoch);
    to->list.header.data_length = (uint32_t)length;
    to->piece = (struct ptli_piece){.base = (char *)to->bytes, .length = length};
    to->list.data = (struct ptli_span){.pieces = &to->piece, .count = 1, .length = length};
    route->sending_list = route->listed = true;
    /* Revoked meanwhile: REVOKE follows the list.  */
    bool revoked = route->grant.state == PTLI_GRANT_REVOKED;
    ptli_verbs_answer(node, &to->list);
    if (revoked) {
        lease_message(route, &to->revoke, PTLI_REVOKE, route->grant.epoch);
        ptli_verbs_answer(node, &to->revoke);
    }
    ptli_mutex_unlock(&v->posting.lock);
}

bool ptli_verbs_list_lease_message(struct ptli_node *node, const struct ptli_header *header,
                                   const void *data)
{
    struct ptli_verbs *v = node->verbs;
    bool well = true;
    if (header->pt_index > UINT16_MAX) return false;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_route *route = node->failing ? NULL : ptli_verbs_list_lease(node, header->pt_index);
    if (route) switch (header->type) {
        case PTLI_LIST:
            well = take_list(route, header, data);
            break;
        case PTLI_REVOKE:
            if (route->answering) break;
            if (route->lease.state != PTLI_LEASE_HELD) {
                route->lease.epoch = (uint32_t)header->operation;
                ptli_verbs_lease_return(route);
            } else if (ptli_lease_revoke(&route->lease, (uint32_t)header->operation)) {
                ptli_verbs_lease_return(route);
            }
            break;
        case PTLI_REVOKED:
            if (ptli_grant_returned(&route->grant, (uint32_t)header->operation))
                lease_count_granted(v, -1);
            break;
        default:
            well = header->type == PTLI_ASK;
        }
    ptli_mutex_unlock(&v->posting.lock);
    if (route && header->type == PTLI_ASK) lease_grant(route);
    return well;
}

/* Whether a peer holds the list of that table entry; `now`: revokes it.  */
static bool lease_any_granted(struct ptli_verbs *v, ptl_pt_index_t pt, bool now)
{
    bool any = false;
    ptli_mutex_lock(&v->posting.lock);
    for (struct ptli_node *node = v->all; node; node = node->next)
        for (struct ptli_route *route = node->routes; route; route = route->next) {
            if (route->pt != pt || route->grant.state == PTLI_GRANT_NONE) continue;
            any = true;
            if (!now || !ptli_grant_revoke(&route->grant) || !route->listed) continue;
            lease_message(route, &route->lent->revoke, PTLI_REVOKE, route->grant.epoch);
            ptli_verbs_answer(node, &route->lent->revoke);
        }
    ptli_mutex_unlock(&v->posting.lock);
    return any;
}

bool ptli_verbs_revoke(struct ptli_transport *transport, ptl_pt_index_t pt, ptl_time_t timeout)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    if (atomic_load(&v->lent) == 0 || !lease_any_granted(v, pt, true)) return true;
    bool driving = atomic_load(&v->driver) == (uintptr_t)pthread_self();
    double until = gasneti_clock() + timeout / 1000.0;
    while (lease_any_granted(v, pt, false)) {
        if (driving || (timeout != PTL_TIME_FOREVER && gasneti_clock() >= until)) return false;
        ptli_verbs_progress(transport, 1);
    }
    return true;
}
