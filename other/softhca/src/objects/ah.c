/* ah.c - address handles, and the target of a datagram: from an address and a QP number to a
 * process.
 *
 * A handle is private memory of this process; its address is resolved once, when it is created. A
 * UD queue pair keeps a reference to every process that it has sent to until it is reset, so that
 * the next message needs no look-up.
 */
#include "other/softhca/src/objects/ah.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "other/softhca/src/device/device.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/qp.h"
#include "other/softhca/src/segment/upward.h"

enum { NEXT_HEADER_IBA = 0x1b, NEXT_HEADER_UDP = 17, IP_VERSION = 6 };
enum { TIMEOUT_MS = 1000 }; /* to wait for a peer that is not attached: a datagram is not queued */

/* The last 20 of the 40 bytes before the payload, at a receiver of RoCE v2 with IPv4. */
struct ah_ipv4 {
    uint8_t version_length, tclass;
    uint16_t length, id, fragment;
    uint8_t hop_limit, protocol;
    uint16_t checksum;
    uint8_t from[4], to[4];
};
_Static_assert(sizeof(struct ah_ipv4) == 20, "an IPv4 header");
enum { IPV4_AT = 20, IPV4_VERSION_LENGTH = 0x45 };

static uint16_t ah_checksum(const struct ah_ipv4 *h)
{
    uint16_t words[sizeof *h / 2];
    uint32_t sum = 0;
    memcpy(words, h, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) sum += words[i];
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static struct ibv_grh ah_make_ipv4(const struct ibv_global_route *g, const union ibv_gid *from)
{
    struct ibv_grh grh = {0};
    struct ah_ipv4 h = {.version_length = IPV4_VERSION_LENGTH,
                        .tclass = g->traffic_class,
                        .hop_limit = g->hop_limit,
                        .protocol = NEXT_HEADER_UDP};
    memcpy(h.from, from->raw + 12, sizeof h.from);
    memcpy(h.to, g->dgid.raw + 12, sizeof h.to);
    h.checksum = ah_checksum(&h);
    memcpy((char *)&grh + IPV4_AT, &h, sizeof h);
    return grh;
}

/* The header that was received, with the addresses of IPv4 as GIDs. */
static struct ibv_grh ah_read_grh(const struct ibv_grh *received)
{
    struct ah_ipv4 h;
    memcpy(&h, (const char *)received + IPV4_AT, sizeof h);
    if (be32toh(received->version_tclass_flow) >> 28 == IP_VERSION ||
        h.version_length != IPV4_VERSION_LENGTH)
        return *received;
    struct ibv_grh grh = {.version_tclass_flow =
                              htobe32((uint32_t)IP_VERSION << 28 | (uint32_t)h.tclass << 20),
                          .next_hdr = h.protocol,
                          .hop_limit = h.hop_limit};
    grh.sgid.raw[10] = grh.sgid.raw[11] = grh.dgid.raw[10] = grh.dgid.raw[11] = 0xff;
    memcpy(grh.sgid.raw + 12, h.from, sizeof h.from);
    memcpy(grh.dgid.raw + 12, h.to, sizeof h.to);
    return grh;
}

static int ah_type_of(uint32_t port, const struct ibv_grh *grh)
{
    if (shca_port_model(port)->link != IBV_LINK_LAYER_ETHERNET) return IBV_GID_TYPE_IB;
    return grh->next_hdr == NEXT_HEADER_UDP ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
}

static struct ibv_grh ah_make_grh(uint32_t port, const struct ibv_global_route *g)
{
    const struct shca_gid_model *mine = &shca_port_model(port)->gid[g->sgid_index];
    const bool v2 = mine->type == IBV_GID_TYPE_ROCE_V2;
    union ibv_gid from;
    shca_gid(port, g->sgid_index, &from);
    if (v2 && mine->family == SHCA_GID_IPV4) return ah_make_ipv4(g, &from);
    struct ibv_grh h = {.version_tclass_flow =
                            htobe32((uint32_t)IP_VERSION << 28 | (uint32_t)g->traffic_class << 20 |
                                    (g->flow_label & 0xfffff)),
                        .next_hdr = v2 ? NEXT_HEADER_UDP : NEXT_HEADER_IBA,
                        .hop_limit = g->hop_limit,
                        .sgid = from,
                        .dgid = g->dgid};
    return h;
}

struct ibv_ah *shca_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a)
{
    uint32_t port = shm_port(shca_device(pd->context)->index, a->port_num);
    errno = shca_port_exists(a->port_num) ? shca_address_error(port, a) : EINVAL;
    if (!errno) errno = shca_inject_creation(SHCA_AH);
    struct shca_ah *ah = errno ? NULL : calloc(1, sizeof *ah);
    if (!ah) return NULL;
    ah->base.context = pd->context;
    ah->base.pd = pd;
    ah->port = port;
    ah->destination = shca_destination_of(port, a);
    ah->route = shca_route(port, a);
    ah->global = a->is_global;
    if (a->is_global) ah->grh = ah_make_grh(port, &a->grh);
    shca_pd(pd)->users++;
    return &ah->base;
}

int shca_destroy_ah(struct ibv_ah *ah)
{
    shca_pd(ah->pd)->users--;
    free(ah);
    return 0;
}

static int ah_gid_index(uint32_t port, const union ibv_gid *gid, int type)
{
    union ibv_gid its;
    const struct shca_port_model *m = shca_port_model(port);
    for (uint32_t i = 0; i < m->gids; i++) {
        if (m->gid[i].family == SHCA_GID_NONE || m->gid[i].type != type) continue;
        shca_gid(port, i, &its);
        if (!memcmp(&its, gid, sizeof its)) return (int)i;
    }
    return -1;
}

/* The address of the sender of a received message. */
int shca_init_ah_from_wc(struct ibv_context *c, uint8_t number, struct ibv_wc *wc,
                         struct ibv_grh *grh, struct ibv_ah_attr *a)
{
    if (!shca_port_exists(number)) {
        errno = EINVAL;
        return -1;
    }
    *a = (struct ibv_ah_attr){
        .dlid = wc->slid, .sl = wc->sl, .src_path_bits = wc->dlid_path_bits, .port_num = number};
    if (!(wc->wc_flags & IBV_WC_GRH)) return 0;
    const uint32_t port = shm_port(shca_device(c)->index, number);
    const struct ibv_grh header = ah_read_grh(grh);
    grh = (struct ibv_grh *)&header;
    uint32_t word = be32toh(grh->version_tclass_flow);
    int index = ah_gid_index(port, &grh->dgid, ah_type_of(port, grh));
    if (index < 0) {
        errno = EINVAL;
        return -1;
    }
    a->is_global = 1;
    a->grh = (struct ibv_global_route){.dgid = grh->sgid,
                                       .flow_label = word & 0xfffff,
                                       .sgid_index = index,
                                       .hop_limit = 0xff,
                                       .traffic_class = word >> 20 & 0xff};
    return 0;
}

struct ibv_ah *shca_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                      uint8_t number)
{
    struct ibv_ah_attr a;
    if (shca_init_ah_from_wc(pd->context, number, wc, grh, &a)) return NULL;
    return shca_create_ah(pd, &a);
}

/* The process that owns this QP or SRQ number; referenced until the QP is reset. It has no UD
 * access word of this process until it is attached. Send lock held. */
struct shca_peer *shca_peer_for(struct shca_target *target, int host, uint32_t number)
{
    uint32_t slot = shm_qpn_slot(number);
    if (host != SHCA_HERE) return NULL;
    if (!target->peers && !(target->peers = calloc(SHCA_SLOTS, sizeof *target->peers))) return NULL;
    struct shca_peer *p = target->peers[slot];
    if (p && p->registered && !shca_peer_dead(p)) return p;
    if (!p || shca_peer_dead_slow(p)) { /* the slot may belong to another process now */
        shca_peer_put(p);
        p = target->peers[slot] = shca_peer_get(host, slot);
    }
    if (p && shca_peer_attach_within(p, TIMEOUT_MS)) shca_ud_access_register(p);
    return p;
}

void shca_peers_put(struct shca_target *target)
{
    for (uint32_t i = 0; target->peers && i < SHCA_SLOTS; i++) shca_peer_put(target->peers[i]);
    free(target->peers);
    target->peers = NULL;
}

/* Sets *TARGET up for a message of UD queue pair QP to AH. False: this process cannot map the peer.
 * Send lock held. */
bool shca_datagram_target(struct shca_target *target, struct shca_qp *qp, const struct shca_ah *ah,
                          uint32_t to, uint32_t qkey)
{
    bool down = qp->target.sender_id == SHCA_NO_SENDER || ah->port != qp->port;
    to &= 0xffffff;
    struct shca_peer *p = shca_peer_for(&qp->target, ah->destination.host, to);
    *target = (struct shca_target){
        .peer = p && p->registered ? p : NULL, /* NULL: the datagram is lost */
        .type = IBV_QPT_UD,
        .from = qp->base.qp_num,
        .source = qp->base.qp_num,
        .to = to,
        .pkey = qp->target.pkey,
        .sender_id =
            down ? SHCA_NO_SENDER : shm_datagram_sender(ah->destination.port, qp->target.pkey),
        .route = ah->route,
        .qkey = qkey >> 31 ? qp->attr.qkey : qkey,
        .grh = ah->global};
    target->owner = target->peer;
    if (target->peer) target->t = &target->peer->h->qp[shm_qpn_index(to)];
    return !(p && p->unmappable);
}
