/* roce.c - rules about ports of Ethernet: their GID tables, which addresses are refused, and which
 * packets do not arrive.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "rules.h"

/* Entries 0 to 7 of softhca0; softhca1 has 0 alone. */
#define TABLES                                                                                     \
    "SOFTHCA_DEVICES=2;link=ethernet;softhca1:gids=v1-local;softhca0:gids=v1-local+v2-local+none+" \
    "v2-ipv4+v2-ipv6+v1-ipv4+v2-ipv4-unreachable+v2-local-unreachable"
enum { V1, V2, HOLE, IPV4, IPV6, V1_IPV4, DEAD_IPV4, DEAD_LOCAL, ENTRIES };

int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned index, unsigned *type);

static void tables_are_shown(void)
{
    static const uint32_t types[ENTRIES] = {1, 2, 0, 2, 2, 1, 2, 2};
    putenv(TABLES);
    struct ibv_context *c = open_named("softhca0");
    struct ibv_port_attr port;
    struct ibv_gid_entry all[ENTRIES], one;
    union ibv_gid gid, zero = {{0}}, gids[ENTRIES];
    CHECK_EQ(ibv_query_port(c, 1, &port), 0);
    CHECK_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
    CHECK(port.lid == 0 && port.sm_lid == 0 && port.gid_tbl_len == ENTRIES);
    CHECK_EQ(ibv_query_gid_table(c, all, ENTRIES, 0), ENTRIES - 1);
    for (unsigned i = 0, n = 0; i < ENTRIES; i++) {
        unsigned type;
        CHECK_EQ(ibv_query_gid(c, 1, (int)i, &gid), 0);
        CHECK_EQ(ibv_query_gid_type(c, 1, i, &type), 0);
        CHECK_EQ(type, types[i] == IBV_GID_TYPE_ROCE_V2);
        CHECK_EQ(ibv_query_gid_ex(c, 1, i, &one, 0), i == HOLE ? ENODATA : 0);
        CHECK_EQ(!memcmp(&gid, &zero, sizeof gid), i == HOLE);
        gids[i] = gid;
        if (i == HOLE) continue;
        CHECK(!memcmp(&all[n], &one, sizeof one) && !memcmp(&one.gid, &gid, sizeof gid));
        CHECK(one.gid_type == types[i] && one.gid_index == i && one.port_num == 1);
        CHECK(one.ndev_ifindex != 0);
        n++;
    }
    CHECK(!memcmp(&gids[V1], &gids[V2], 16) && !memcmp(&gids[IPV4], &gids[V1_IPV4], 16));
    CHECK(gids[V1].raw[0] == 0xfe && gids[IPV6].raw[0] == 0x20 && gids[IPV4].raw[11] == 0xff);
    CHECK(memcmp(&gids[IPV4], &gids[DEAD_IPV4], 16) && memcmp(&gids[V2], &gids[DEAD_LOCAL], 16));
    CHECK_EQ(ibv_query_gid(c, 1, ENTRIES, &gid), -1);
    CHECK_EQ(ibv_query_gid_ex(c, 1, ENTRIES, &one, 0), ENODATA);
}

/* Two entries of a host are the same address only if their versions differ. */
static void addresses_differ(void)
{
    enum { DEVICES = 16, PORTS = 8, EACH = 4 };
    static union ibv_gid all[DEVICES * PORTS * EACH];
    size_t n = 0;
    setenv("SOFTHCA_DEVICES", "16x8;link=ethernet,gids=v2-ipv4+v2-ipv4+v2-local+v2-ipv6", 1);
    for (int device = 0; device < DEVICES; device++) {
        char name[16];
        snprintf(name, sizeof name, "softhca%d", device);
        struct ibv_context *c = open_named(name);
        for (uint8_t port = 1; port <= PORTS; port++)
            for (int i = 0; i < EACH; i++) CHECK_EQ(ibv_query_gid(c, port, i, &all[n++]), 0);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) CHECK(memcmp(&all[i], &all[k], sizeof all[i]));
}

/* The error of an address handle and of a queue pair on its way to RTR; 0: neither is refused. */
static int refusal(struct side *s, bool global, int from, const union ibv_gid *to)
{
    struct ibv_ah_attr way = {.port_num = s->port, .is_global = global, .dlid = 1};
    way.grh = (struct ibv_global_route){.dgid = *to, .sgid_index = (uint8_t)from, .hop_limit = 1};
    struct ibv_ah *ah = ibv_create_ah(s->pd, &way);
    const int error = ah ? 0 : errno;
    if (ah) CHECK_EQ(ibv_destroy_ah(ah), 0);
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .max_dest_rd_atomic = 1, .ah_attr = way};
    const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, mask), error);
    if (!error) {
        struct ibv_qp_attr init = {.qp_state = IBV_QPS_RESET};
        CHECK_EQ(ibv_modify_qp(s->qp, &init, IBV_QP_STATE), 0);
        init = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = (uint8_t)s->port};
        CHECK_EQ(
            ibv_modify_qp(s->qp, &init,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            0);
    }
    return error;
}

static void exchange_gids(struct side *s, union ibv_gid its[ENTRIES])
{
    union ibv_gid mine[ENTRIES] = {{{0}}};
    for (int i = 0; i < ENTRIES; i++) ibv_query_gid(s->ctx, s->port, i, &mine[i]);
    tell(s, mine, sizeof mine);
    hear(s, its, sizeof mine);
}

static void wrong_addresses_are_refused(struct side *s)
{
    union ibv_gid its[ENTRIES], nobody = {{0x20, 1, 0xd, 0xb8, [15] = 1}};
    exchange_gids(s, its);
    meet(s);
    CHECK_EQ(refusal(s, false, V1, &its[V1]), EINVAL);
    CHECK_EQ(refusal(s, true, HOLE, &its[V1]), EINVAL);
    CHECK_EQ(refusal(s, true, ENTRIES, &its[V1]), EINVAL);
    CHECK_EQ(refusal(s, true, IPV4, &its[V2]), EINVAL);
    CHECK_EQ(refusal(s, true, V2, &its[IPV4]), EINVAL);
    CHECK_EQ(refusal(s, true, DEAD_IPV4, &its[IPV4]), ENETUNREACH);
    CHECK_EQ(refusal(s, true, DEAD_LOCAL, &its[V2]), ENETUNREACH);
    CHECK_EQ(refusal(s, true, IPV4, &its[DEAD_IPV4]), EHOSTUNREACH);
    CHECK_EQ(refusal(s, true, V2, &its[DEAD_LOCAL]), EHOSTUNREACH);
    CHECK_EQ(refusal(s, true, IPV6, &nobody), EHOSTUNREACH);
    CHECK_EQ(refusal(s, true, V1, &its[V1]), 0);
    CHECK_EQ(refusal(s, true, V2, &its[V2]), 0);
    CHECK_EQ(refusal(s, true, IPV4, &its[IPV4]), 0);
    CHECK_EQ(refusal(s, true, IPV6, &its[IPV6]), 0);
    CHECK_EQ(refusal(s, true, V1_IPV4, &its[V1_IPV4]), 0);
    meet(s);
}

static struct ibv_ah_attr way_from(struct side *s, int from, const union ibv_gid *to)
{
    return (struct ibv_ah_attr){
        .port_num = s->port,
        .is_global = 1,
        .grh = {.dgid = *to, .sgid_index = (uint8_t)from, .hop_limit = 9, .traffic_class = 0x5a}};
}

/* By every pair of GIDs that fit. */
static void messages_arrive(struct side *s, int kind)
{
    union ibv_gid its[ENTRIES];
    exchange_gids(s, its);
    const struct ibv_ah_attr way = way_from(s, kind, &its[kind]);
    connect_by(s, s->its.qpn, &way);
    CHECK_EQ(post_recv(s, 1, 0, 64), 0);
    meet(s);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 4096, 64, 0)), 0);
    expect(s->scq, 2, IBV_WC_SUCCESS);
    expect(s->rcq, 1, IBV_WC_SUCCESS);
    meet(s);
}
static void by_v1(struct side *s)
{
    messages_arrive(s, V1);
}
static void by_v2(struct side *s)
{
    messages_arrive(s, V2);
}
static void by_ipv4(struct side *s)
{
    messages_arrive(s, IPV4);
}
static void by_ipv6(struct side *s)
{
    messages_arrive(s, IPV6);
}
static void by_v1_ipv4(struct side *s)
{
    messages_arrive(s, V1_IPV4);
}

/* Side B's port has the GID in version 1 alone: packets of version 2 are lost there. */
static void another_version_does_not_arrive(struct side *s)
{
    union ibv_gid its[ENTRIES];
    exchange_gids(s, its);
    const struct ibv_ah_attr way = way_from(s, s->is_a ? V2 : V1, &its[V1]);
    connect_by(s, s->its.qpn, &way);
    CHECK_EQ(post_recv(s, 1, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 0, 8, 0)), 0);
        expect(s->scq, 2, IBV_WC_RETRY_EXC_ERR);
        expect(s->rcq, 1, IBV_WC_WR_FLUSH_ERR);
    }
    meet(s);
    if (!s->is_a) expect_nothing(s->rcq);
}

static void check_header(const struct ibv_grh *h, int kind, const union ibv_gid *from,
                         const union ibv_gid *to)
{
    const unsigned char *ipv4 = (const unsigned char *)h + 20;
    if (kind == IPV4) {
        CHECK(ipv4[0] == 0x45 && ipv4[1] == 0x5a && ipv4[8] == 9 && ipv4[9] == 17);
        CHECK(!memcmp(ipv4 + 12, from->raw + 12, 4) && !memcmp(ipv4 + 16, to->raw + 12, 4));
        return;
    }
    CHECK_EQ(be32toh(h->version_tclass_flow) >> 20, 0x65a);
    CHECK_EQ(h->next_hdr, kind == V1 || kind == V1_IPV4 ? 0x1b : 17);
    CHECK(!memcmp(&h->sgid, from, 16) && !memcmp(&h->dgid, to, 16));
}

/* From the 40 bytes before a datagram's payload an address handle is made that leads back. */
static void datagrams_can_be_answered(struct side *s)
{
    static const int kinds[] = {V1, V2, IPV4, IPV6, V1_IPV4};
    union ibv_gid its[ENTRIES], mine[ENTRIES];
    exchange_gids(s, its);
    for (int i = 0; i < ENTRIES; i++) ibv_query_gid(s->ctx, s->port, i, &mine[i]);
    struct ibv_ah_attr way = way_from(s, V1, &its[V1]);
    connect_by(s, s->its.qpn, &way);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ibv_ah *ah;
        CHECK_EQ(post_recv(s, 5, 0, 100), 0);
        meet(s);
        if (s->is_a) {
            way = way_from(s, kinds[i], &its[kinds[i]]);
            CHECK((ah = ibv_create_ah(s->pd, &way)) != NULL);
        } else {
            struct ibv_wc wc = await(s->rcq);
            struct ibv_grh *h = (struct ibv_grh *)s->buf;
            CHECK(wc.status == IBV_WC_SUCCESS && wc.wc_flags & IBV_WC_GRH);
            check_header(h, kinds[i], &its[kinds[i]], &mine[kinds[i]]);
            CHECK_EQ(ibv_init_ah_from_wc(s->ctx, (uint8_t)s->port, &wc, h, &way), 0);
            CHECK(way.is_global && way.grh.sgid_index == kinds[i]);
            CHECK(!memcmp(&way.grh.dgid, &its[kinds[i]], 16));
            CHECK((ah = ibv_create_ah_from_wc(s->pd, &wc, h, (uint8_t)s->port)) != NULL);
        }
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, 200, 10, 0);
        wr->wr.ud.ah = ah;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        if (s->is_a) expect(s->rcq, 5, IBV_WC_SUCCESS);
        CHECK_EQ(ibv_destroy_ah(ah), 0);
        meet(s);
    }
}

void roce_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } pairs[] = {
        {"wrong addresses are refused, as by a kernel", wrong_addresses_are_refused, {0}},
        {"messages arrive by RoCE v1", by_v1, {0}},
        {"messages arrive by RoCE v2, link-local", by_v2, {0}},
        {"messages arrive by RoCE v2 and IPv4", by_ipv4, {0}},
        {"messages arrive by RoCE v2 and global IPv6", by_ipv6, {0}},
        {"messages arrive by RoCE v1 and IPv4", by_v1_ipv4, {0}},
        {"packets of a version that the peer has no GID for are lost",
         another_version_does_not_arrive,
         {.device = {0, 1}, .timeout = 8, .retry_cnt = 1}},
        {"datagrams of each type can be answered", datagrams_can_be_answered, {.type = IBV_QPT_UD}},
    };
    check(run_alone(tables_are_shown), "GID tables of Ethernet are shown with types");
    check(run_alone(addresses_differ), "all ports of 16 devices have addresses of their own");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct options o = pairs[i].o;
        o.no_connect = true;
        o.env[0] = TABLES;
        check(run_pair(pairs[i].run, &o), "%s", pairs[i].name);
    }
}
