/* verbs_list_lease.c - grants lists of match entries to peers, and holds theirs (list_lease.h).
 *
 * A process that holds a list may read and write the peer's memory by RDMA.  The peer must revoke
 * the list before it changes any of its match entries.
 */
#include <stdlib.h>
#include <string.h>

#include "other/portals3/transport/verbs.h"

/* --- both ends; with posting held --- */

struct ptli_list_lease *ptli_verbs_list_lease(struct ptli_node *node, ptl_pt_index_t pt)
{
    struct ptli_list_lease *share = node->shares;
    while (share && share->pt != pt) share = share->next;
    if (share) return share;
    share = calloc(1, sizeof *share);
    if (!share) return NULL;
    share->node = node;
    share->pt = pt;
    share->next = node->shares;
    node->shares = share;
    return share;
}

static void lease_message(struct ptli_list_lease *share, struct ptli_message *m, uint8_t type,
                          uint32_t epoch)
{
    *m = (struct ptli_message){.header = {.type = type,
                                          .source = share->node->verbs->face.id,
                                          .destination = share->node->face.id,
                                          .pt_index = share->pt,
                                          .operation = epoch}};
}

static void lease_return(struct ptli_list_lease *share)
{
    lease_message(share, &share->answer, PTLI_REVOKED, share->lease.epoch);
    share->answering = true;
    ptli_verbs_answer(share->node, &share->answer);
}

void ptli_verbs_release(struct ptli_list_lease *share)
{
    if (__builtin_expect(ptli_lease_release(&share->lease), 0)) lease_return(share);
}

static void lease_count_granted(struct ptli_verbs *v, int change)
{
    atomic_fetch_add(&v->lent, (uint32_t)change);
}

void ptli_verbs_list_leases_lost(struct ptli_node *node)
{
    for (struct ptli_list_lease *share = node->shares; share; share = share->next) {
        if (share->grant.state != PTLI_GRANT_NONE) lease_count_granted(node->verbs, -1);
        ptli_grant_lost(&share->grant);
        ptli_lease_lost(&share->lease);
    }
}

/* --- the initiator's end --- */

struct ptli_published_hold *ptli_verbs_published_hold(struct ptli_transport *transport,
                                                      struct ptli_peer *peer, ptl_pt_index_t pt)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    struct ptli_published_hold *hold = NULL;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_list_lease *share = ptli_node(peer)->shares;
    while (share && share->pt != pt) share = share->next;
    if (share && ptli_lease_hold(&share->lease)) hold = &share->list->face;
    ptli_mutex_unlock(&v->posting.lock);
    return hold;
}

void ptli_verbs_published_release(struct ptli_transport *transport,
                                  struct ptli_published_hold *hold)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    ptli_mutex_lock(&v->posting.lock);
    ptli_verbs_release(((struct ptli_published_held *)hold)->share);
    ptli_mutex_unlock(&v->posting.lock);
}

/* The peer's answer to PTLI_ASK.  With posting held.  */
static bool take_list(struct ptli_list_lease *share, const struct ptli_header *header,
                      const void *data)
{
    bool given = header->data_length > 0;
    uint32_t epoch = (uint32_t)header->operation;
    struct ptli_published shadow;
    if (given && ptli_published_parse(data, header->data_length, &shadow)) return false;
    if (given && shadow.pt_index != share->pt) return false;
    if (given && !share->list) {
        share->list = calloc(1, sizeof *share->list);
        if (share->list) share->list->share = share;
    }
    /* While a list of an earlier connection is in use, this one is returned.  */
    bool use = given && share->list && !share->lease.users;
    if (!ptli_lease_answered(&share->lease, use, epoch)) return false;
    if (given && !use) lease_return(share);
    if (!use) return true;
    share->list->face.shadow = shadow;
    share->list->life = share->node->life;
    return true;
}

/* --- the target's end --- */

/* Called by the thread that drives the network, without posting.  */
static void lease_grant(struct ptli_list_lease *share)
{
    struct ptli_node *node = share->node;
    struct ptli_verbs *v = node->verbs;
    ptli_mutex_lock(&v->posting.lock);
    if (!share->lent) share->lent = calloc(1, sizeof *share->lent);
    struct ptli_lent *to = share->telling ? NULL : share->lent;
    bool asked = to && ptli_grant_asked(&share->grant);
    if (asked) lease_count_granted(v, 1);
    share->listed = false;
    ptli_mutex_unlock(&v->posting.lock);
    if (!asked) return;
    size_t length = ptli_publish(v->face.engine, &node->face, share->pt, to->bytes);
    ptli_mutex_lock(&v->posting.lock);
    if (!length && share->grant.state != PTLI_GRANT_NONE) { /* else the peer was lost */
        ptli_grant_refuse(&share->grant);
        lease_count_granted(v, -1);
    }
    lease_message(share, &to->list, PTLI_LIST, share->grant.epoch);
    to->list.header.data_length = (uint32_t)length;
    to->piece = (struct ptli_piece){.base = (char *)to->bytes, .length = length};
    to->list.data = (struct ptli_span){.pieces = &to->piece, .count = 1, .length = length};
    share->telling = share->listed = true;
    /* Revoked meanwhile: REVOKE follows the list.  */
    bool revoked = share->grant.state == PTLI_GRANT_REVOKED;
    ptli_verbs_answer(node, &to->list);
    if (revoked) {
        lease_message(share, &to->revoke, PTLI_REVOKE, share->grant.epoch);
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
    struct ptli_list_lease *share =
        node->failing ? NULL : ptli_verbs_list_lease(node, header->pt_index);
    if (share) switch (header->type) {
        case PTLI_LIST:
            well = take_list(share, header, data);
            break;
        case PTLI_REVOKE:
            if (share->answering) break;
            if (share->lease.state != PTLI_LEASE_HELD) {
                share->lease.epoch = (uint32_t)header->operation;
                lease_return(share);
            } else if (ptli_lease_revoke(&share->lease, (uint32_t)header->operation)) {
                lease_return(share);
            }
            break;
        case PTLI_REVOKED:
            if (ptli_grant_returned(&share->grant, (uint32_t)header->operation))
                lease_count_granted(v, -1);
            break;
        default:
            well = header->type == PTLI_ASK;
        }
    ptli_mutex_unlock(&v->posting.lock);
    if (share && header->type == PTLI_ASK) lease_grant(share);
    return well;
}

/* Whether a peer holds the list of that table entry; `now`: revokes it.  */
static bool lease_any_granted(struct ptli_verbs *v, ptl_pt_index_t pt, bool now)
{
    bool any = false;
    ptli_mutex_lock(&v->posting.lock);
    for (struct ptli_node *node = v->all; node; node = node->next)
        for (struct ptli_list_lease *share = node->shares; share; share = share->next) {
            if (share->pt != pt || share->grant.state == PTLI_GRANT_NONE) continue;
            any = true;
            if (!now || !ptli_grant_revoke(&share->grant) || !share->listed) continue;
            lease_message(share, &share->lent->revoke, PTLI_REVOKE, share->grant.epoch);
            ptli_verbs_answer(node, &share->lent->revoke);
        }
    ptli_mutex_unlock(&v->posting.lock);
    return any;
}

bool ptli_verbs_revoke(struct ptli_transport *transport, ptl_pt_index_t pt, ptl_time_t timeout)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    if (atomic_load(&v->lent) == 0 || !lease_any_granted(v, pt, true)) return true;
    bool driving = atomic_load(&v->driver) == (uintptr_t)pthread_self();
    double until = ptli_verbs_clock() + timeout / 1000.0;
    while (lease_any_granted(v, pt, false)) {
        if (driving || (timeout != PTL_TIME_FOREVER && ptli_verbs_clock() >= until)) return false;
        ptli_verbs_progress(transport, 1);
    }
    return true;
}
