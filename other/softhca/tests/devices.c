/* devices.c - rules about several devices and ports: addresses, limits, combinations of objects,
 * and the ports that a message passes.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "rules.h"

static const char two_by_two[] = "SOFTHCA_DEVICES=2x2;lmc=1,gids=3";

/* --- attributes --- */

struct address_book {
    uint64_t guid[2];
    uint16_t lid[2][2];
    union ibv_gid gid[2][2][3];
};

static void read_addresses(struct address_book *b)
{
    memset(b, 0, sizeof *b);
    for (int d = 0; d < 2; d++) {
        struct ibv_context *c = open_named(d ? "softhca1" : "softhca0");
        CHECK(c != NULL);
        b->guid[d] = ibv_get_device_guid(c->device);
        for (int p = 0; p < 2; p++) {
            struct ibv_port_attr a;
            CHECK_EQ(ibv_query_port(c, p + 1, &a), 0);
            b->lid[d][p] = a.lid;
            CHECK_EQ(a.gid_tbl_len, 3);
            for (int i = 0; i < 3; i++) CHECK_EQ(ibv_query_gid(c, p + 1, i, &b->gid[d][p][i]), 0);
            CHECK_EQ(ibv_query_gid(c, p + 1, 3, &b->gid[d][p][0]), -1);
        }
        CHECK(ibv_query_port(c, 0, &(struct ibv_port_attr){0}) != 0);
        CHECK(ibv_query_port(c, 3, &(struct ibv_port_attr){0}) != 0);
        CHECK_EQ(ibv_close_device(c), 0);
    }
}

static void addresses_agree_and_differ(struct side *s)
{
    struct address_book mine, its;
    read_addresses(&mine);
    tell(s, &mine, sizeof mine);
    hear(s, &its, sizeof its);
    CHECK(!memcmp(&mine, &its, sizeof mine) == !sides_are_remote());
    CHECK(mine.guid[0] != mine.guid[1]);
    const union ibv_gid *gid = mine.gid[0][0];
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < i; j++) CHECK(memcmp(&gid[i], &gid[j], sizeof *gid));
    const uint16_t *lid = mine.lid[0];
    for (int i = 0; i < 4; i++) {
        CHECK(lid[i] > 0 && lid[i] < 0xc000);
        for (int j = 0; j < i; j++) CHECK(lid[i] / 2 != lid[j] / 2); /* LMC 1: two LIDs each */
    }
}

static void everything_is_shown(void)
{
    putenv("SOFTHCA_DEVICES=2x2;softhca1:vendor_id=0x2c9,vendor_part_id=4099,hw_ver=7,fw_ver=3.5.0,"
           "max_qp=8,max_cq=9,max_mr=10,max_pd=11,max_cqe=12,max_qp_wr=13,max_sge=14,max_sge_rd=6,"
           "max_mr_size=1M,max_qp_rd_atom=4,max_qp_init_rd_atom=5;"
           "softhca1/2:state=armed,active_mtu=1024,active_width=12x,active_speed=edr,lmc=3,gids=2,"
           "pkeys=0x8001+0x7fff");
    struct ibv_context *c = open_named("softhca1");
    struct ibv_device_attr a;
    struct ibv_port_attr p;
    CHECK(c && !ibv_query_device(c, &a) && !ibv_query_port(c, 2, &p));
    CHECK(!strcmp(a.fw_ver, "3.5.0"));
    CHECK(a.vendor_id == 0x2c9 && a.vendor_part_id == 4099 && a.hw_ver == 7);
    CHECK(a.max_qp == 8 && a.max_cq == 9 && a.max_mr == 10 && a.max_pd == 11 && a.max_cqe == 12);
    CHECK(a.max_qp_wr == 13 && a.max_sge == 14 && a.max_sge_rd == 6 && a.max_mr_size == 1 << 20);
    CHECK(a.max_qp_rd_atom == 4 && a.max_qp_init_rd_atom == 5 && a.phys_port_cnt == 2);
    CHECK(p.state == IBV_PORT_ARMED && p.active_mtu == IBV_MTU_1024 && p.active_width == 8);
    CHECK(p.active_speed == 32 && p.lmc == 3 && p.gid_tbl_len == 2 && p.pkey_tbl_len == 2);
    uint16_t key;
    CHECK(!ibv_query_pkey(c, 2, 0, &key) && be16toh(key) == 0x8001);
    CHECK(!ibv_query_pkey(c, 2, 1, &key) && be16toh(key) == 0x7fff);
    CHECK(ibv_query_pkey(c, 2, 2, &key) && ibv_query_pkey(c, 3, 0, &key));
    CHECK_EQ(ibv_get_pkey_index(c, 2, htobe16(0x7fff)), 1);
    CHECK_EQ(ibv_get_pkey_index(c, 2, htobe16(0xffff)), -1);
    struct ibv_gid_entry gid[4];
    CHECK_EQ(ibv_query_gid_table(c, gid, 4, 0), 3); /* one entry of port 1, two of port 2 */
    CHECK(gid[2].port_num == 2 && gid[2].gid_index == 1);
    CHECK_EQ(ibv_query_gid_table(c, gid, 2, 0), -EINVAL);
    CHECK(!ibv_query_gid_ex(c, 2, 1, gid, 0) && !memcmp(&gid[0], &gid[2], sizeof *gid));
    CHECK_EQ(ibv_query_gid_ex(c, 2, 2, gid, 0), ENODATA);
    /* softhca0 is unchanged. */
    struct ibv_context *other = open_named("softhca0");
    CHECK(other && !ibv_query_device(other, &a) && !ibv_query_port(other, 2, &p));
    CHECK(!strcmp(a.fw_ver, "1.0.0") && a.max_qp > 8 && p.state == IBV_PORT_ACTIVE);
}

static struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_qp_cap cap);

/* As of the kernel's siw: no datagrams, and no connection by ibv_modify_qp. */
static void iwarp_needs_a_connection_manager(void)
{
    putenv("SOFTHCA_DEVICES=2;softhca1:transport=iwarp");
    struct ibv_context *c = open_named("softhca1"), *other = open_named("softhca0");
    CHECK(c->device->transport_type == IBV_TRANSPORT_IWARP);
    CHECK(c->device->node_type == IBV_NODE_RNIC);
    CHECK(other->device->transport_type == IBV_TRANSPORT_IB);
    CHECK(other->device->node_type == IBV_NODE_CA);
    struct ibv_pd *pd = ibv_alloc_pd(c);
    struct ibv_cq *cq = ibv_create_cq(c, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr datagrams = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD, .cap = {.max_send_wr = 1}};
    CHECK(!ibv_create_qp(pd, &datagrams) && errno == EOPNOTSUPP);
    struct ibv_qp *qp = new_qp(pd, cq, (struct ibv_qp_cap){.max_send_wr = 1, .max_recv_wr = 1});
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    CHECK_EQ(
        ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        0);
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                             .path_mtu = IBV_MTU_1024,
                             .dest_qp_num = qp->qp_num,
                             .ah_attr = {.dlid = 1, .port_num = 1}};
    CHECK_EQ(ibv_modify_qp(qp, &a,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                               IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
             EINVAL);
}

/* --- atomics --- */

/* The result of allowing a queue pair of a device atomics, and of none. */
static int modify_for_atomics(struct ibv_context *c, unsigned access)
{
    struct ibv_pd *pd = ibv_alloc_pd(c);
    struct ibv_cq *cq = ibv_create_cq(c, 4, NULL, NULL, 0);
    struct ibv_qp *qp = new_qp(pd, cq, (struct ibv_qp_cap){.max_send_wr = 1, .max_recv_wr = 1});
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};
    return ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static void atomics_may_be_missing(void)
{
    static const char *const names[] = {"softhca0", "softhca1", "softhca2", "softhca3"};
    static const enum ibv_atomic_cap caps[] = {IBV_ATOMIC_HCA, IBV_ATOMIC_NONE, IBV_ATOMIC_GLOB,
                                               IBV_ATOMIC_NONE};
    putenv("SOFTHCA_DEVICES=4;softhca1:atomic_cap=none;softhca2:atomic_cap=glob;"
           "softhca3:transport=iwarp");
    for (int i = 0; i < 4; i++) {
        struct ibv_context *c = open_named(names[i]);
        struct ibv_device_attr a;
        CHECK(c && !ibv_query_device(c, &a));
        CHECK_EQ(a.atomic_cap, caps[i]);
        CHECK_EQ(modify_for_atomics(c, IBV_ACCESS_REMOTE_READ), 0);
        CHECK_EQ(modify_for_atomics(c, IBV_ACCESS_REMOTE_ATOMIC),
                 caps[i] == IBV_ATOMIC_NONE ? EINVAL : 0);
    }
}

/* --- limits --- */

static struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_qp_cap cap)
{
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = cap};
    errno = 0;
    return ibv_create_qp(pd, &init);
}

static void limits_of_counts_act(void)
{
    putenv("SOFTHCA_DEVICES=2;softhca1:max_qp=2,max_cq=2,max_mr=2,max_pd=2,max_srq=2,max_srq_wr=7,"
           "max_srq_sge=2");
    struct ibv_context *c = open_named("softhca1"), *c0 = open_named("softhca0");
    static char memory[4096];
    struct ibv_pd *pd[2] = {ibv_alloc_pd(c), ibv_alloc_pd(c)};
    struct ibv_cq *cq[2];
    struct ibv_qp *qp[2];
    struct ibv_mr *mr[2];
    struct ibv_srq *srq[2];
    struct ibv_srq_init_attr most = {.attr = {.max_wr = 7, .max_sge = 2}}, more = most;
    more.attr.max_wr++;
    CHECK(!ibv_create_srq(pd[0], &more) && errno == EINVAL);
    more = most;
    more.attr.max_sge++;
    CHECK(!ibv_create_srq(pd[0], &more) && errno == EINVAL);
    for (int round = 0; round < 3; round++) { /* freed objects can be created again */
        for (int i = 0; i < 2; i++) {
            CHECK((cq[i] = ibv_create_cq(c, 4, NULL, NULL, 0)) != NULL);
            CHECK((qp[i] = new_qp(pd[0], cq[0], (struct ibv_qp_cap){.max_send_wr = 1})) != NULL);
            CHECK((mr[i] = ibv_reg_mr(pd[1], memory, sizeof memory, 0)) != NULL);
            CHECK((srq[i] = ibv_create_srq(pd[0], &most)) != NULL);
        }
        CHECK(!ibv_alloc_pd(c) && errno == ENOMEM);
        CHECK(!ibv_create_cq(c, 4, NULL, NULL, 0) && errno == ENOMEM);
        CHECK(!new_qp(pd[0], cq[0], (struct ibv_qp_cap){.max_send_wr = 1}) && errno == ENOMEM);
        CHECK(!ibv_reg_mr(pd[1], memory, sizeof memory, 0) && errno == ENOMEM);
        CHECK(!ibv_create_srq(pd[0], &most) && errno == ENOMEM);
        for (int i = 0; i < 2; i++) CHECK(!ibv_destroy_qp(qp[i]) && !ibv_dereg_mr(mr[i]));
        for (int i = 0; i < 2; i++) CHECK(!ibv_destroy_cq(cq[i]) && !ibv_destroy_srq(srq[i]));
        for (int i = 0; i < 2; i++) CHECK(!ibv_dealloc_pd(pd[i]));
        for (int i = 0; i < 2; i++) CHECK((pd[i] = ibv_alloc_pd(c)) != NULL);
    }
    struct ibv_pd *other[3];
    for (int i = 0; i < 3; i++) CHECK((other[i] = ibv_alloc_pd(c0)) != NULL);
    for (int i = 0; i < 3; i++)
        CHECK(!ibv_dealloc_pd(other[i]) && (i > 1 || !ibv_dealloc_pd(pd[i])));
}

static void limits_of_sizes_act(void)
{
    putenv(
        "SOFTHCA_DEVICES=;max_cqe=12,max_qp_wr=13,max_sge=3,max_inline_data=64,max_mr_size=8192");
    struct ibv_context *c = open_named("softhca0");
    struct ibv_pd *pd = ibv_alloc_pd(c);
    static char memory[8193];
    CHECK(!ibv_create_cq(c, 13, NULL, NULL, 0) && errno == EINVAL);
    struct ibv_cq *cq = ibv_create_cq(c, 12, NULL, NULL, 0);
    CHECK(cq != NULL);
    const struct ibv_qp_cap most = {13, 13, 3, 3, 64};
    CHECK(new_qp(pd, cq, most) != NULL);
    for (int i = 0; i < 5; i++) {
        struct ibv_qp_cap cap = most;
        (&cap.max_send_wr)[i]++;
        CHECK(!new_qp(pd, cq, cap) && errno == EINVAL);
    }
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, 8192, 0);
    CHECK(mr && !ibv_dereg_mr(mr));
    CHECK(!ibv_reg_mr(pd, memory, 8193, 0) && errno == EINVAL);
}

static struct ibv_qp_attr to_init(int port)
{
    return (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = port};
}

static void attributes_beyond_the_port_are_refused(struct side *s)
{
    int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET}, good;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
    a = to_init(0);
    CHECK_EQ(ibv_modify_qp(s->qp, &a, init), EINVAL);
    a = to_init(3);
    CHECK_EQ(ibv_modify_qp(s->qp, &a, init), EINVAL);
    a = to_init(1);
    a.pkey_index = 1; /* port 2 has one, port 1 has not */
    CHECK_EQ(ibv_modify_qp(s->qp, &a, init), EINVAL);
    a.port_num = 2;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, init), 0);
    good = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                                .path_mtu = IBV_MTU_1024,
                                .dest_qp_num = s->its.qpn,
                                .max_dest_rd_atomic = 4,
                                .ah_attr = {.dlid = s->its.lid, .port_num = 2}};
    a = good;
    a.path_mtu = IBV_MTU_2048;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, rtr), EINVAL);
    a = good;
    a.ah_attr.port_num = 1;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, rtr), EINVAL);
    a = good;
    a.max_dest_rd_atomic = 5;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, rtr), EINVAL);
    a = good;
    a.ah_attr.is_global = 1;
    a.ah_attr.grh.sgid_index = 1;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, rtr), EINVAL);
    CHECK_EQ(ibv_modify_qp(s->qp, &good, rtr), 0);
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .max_rd_atomic = 4};
    int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
              IBV_QP_MAX_QP_RD_ATOMIC;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, rts), EINVAL);
    a.max_rd_atomic = 3;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, rts), 0);
    meet(s);
}

/* --- combinations --- */

static void devices_do_not_mix(struct side *s)
{
    struct ibv_context *c = open_named("softhca1");
    struct ibv_pd *pd = ibv_alloc_pd(c);
    struct ibv_cq *cq = ibv_create_cq(c, 4, NULL, NULL, 0);
    struct ibv_mr *mr = ibv_reg_mr(pd, s->buf, 4096, IBV_ACCESS_LOCAL_WRITE);
    CHECK(pd && cq && mr);
    struct ibv_qp_cap cap = {.max_send_wr = 1, .max_recv_wr = 1};
    CHECK(!new_qp(pd, s->scq, cap) && errno == EINVAL);
    CHECK(!new_qp(s->pd, cq, cap) && errno == EINVAL);
    CHECK(!ibv_create_cq(c, 4, NULL, s->channel, 0) && errno == EINVAL);
    /* Two contexts of one device do not share objects either. */
    struct ibv_context *again = open_named("softhca0");
    struct ibv_pd *its_pd = ibv_alloc_pd(again);
    CHECK(!new_qp(its_pd, s->scq, cap) && errno == EINVAL);
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0);
        wr->sg_list->lkey = mr->lkey;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_LOC_PROT_ERR);
    }
    CHECK(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd) && !ibv_dealloc_pd(its_pd));
    meet(s);
}

static void rkey_of_another_device(struct side *s)
{
    struct ibv_pd *pd = ibv_alloc_pd(open_named("softhca1"));
    struct ibv_mr *mr =
        ibv_reg_mr(pd, s->buf, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    uint32_t rkey;
    tell(s, &mr->rkey, sizeof mr->rkey);
    hear(s, &rkey, sizeof rkey);
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0);
        wr->wr.rdma.rkey = rkey;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_REM_ACCESS_ERR);
    }
    meet(s);
    CHECK(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
}

/* --- ports of a message --- */

static void send_both_ways(struct side *s)
{
    CHECK_EQ(post_recv(s, 1, 0, 64), 0);
    meet(s);
    fill(s->buf + 4096, 64, s->is_a);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 4096, 64, 0)), 0);
    expect(s->scq, 2, IBV_WC_SUCCESS);
    struct ibv_wc wc = await(s->rcq);
    CHECK(wc.status == IBV_WC_SUCCESS && wc.slid == s->its.lid);
    CHECK(filled(s->buf, 64, !s->is_a));
    meet(s);
}

static void any_port_reaches_any_other(void)
{
    bool ok = true;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            struct options o = {
                .env = {two_by_two}, .device = {a / 2, b / 2}, .port = {1 + a % 2, 1 + b % 2}};
            ok = run_pair(send_both_ways, &o) && ok;
        }
    check(ok, "any port of any device reaches any other");
}

/* All LIDs of an LMC and all GIDs reach the port. */
static void every_address_of_a_port_leads_there(struct side *s)
{
    union ibv_gid gid[3], its[3];
    for (int i = 0; i < 3; i++) CHECK_EQ(ibv_query_gid(s->ctx, s->port, i, &gid[i]), 0);
    tell(s, gid, sizeof gid);
    hear(s, its, sizeof its);
    struct ibv_ah_attr ways[4] = {{.dlid = s->its.lid + 1}};
    for (int i = 0; i < 3; i++)
        ways[1 + i] = (struct ibv_ah_attr){.is_global = 1, .grh = {.dgid = its[i]}};
    for (int i = 0; i < 4; i++) {
        ways[i].port_num = s->port;
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
        meet(s);
        a = to_init(s->port);
        CHECK_EQ(
            ibv_modify_qp(s->qp, &a,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            0);
        connect_by(s, s->its.qpn, &ways[i]);
        meet(s);
        CHECK_EQ(post_recv(s, 1, 0, 64), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 4096, 64, 0)), 0);
        expect(s->scq, 2, IBV_WC_SUCCESS);
        expect(s->rcq, 1, IBV_WC_SUCCESS);
        meet(s);
    }
}

static void no_qp_answers(struct side *s)
{
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

/* The QP exists, but on another port than the destination of the message. */
static void wrong_port(struct side *s)
{
    struct address aim = s->its;
    if (s->is_a) aim.lid += 2;
    connect_qp(s, &aim);
    no_qp_answers(s);
}

/* Two P_Keys in each port's table, and each side uses another one. */
static void other_pkey_index(struct side *s)
{
    struct ibv_qp_attr a = {.pkey_index = s->is_a};
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_PKEY_INDEX), 0);
    connect_qp(s, &s->its);
    no_qp_answers(s);
}

static void datagram_is_lost(struct side *s)
{
    CHECK_EQ(post_recv(s, 1, 0, 200), 0);
    meet(s);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 0, 8, 0)), 0);
    expect(s->scq, 2, IBV_WC_SUCCESS);
    meet(s);
    expect_nothing(s->rcq);
}

static void no_reads_without_resources(struct side *s)
{
    if (!s->is_a) s->o.rd_atomic = -1;
    connect_qp(s, &s->its);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 2, 0, 8, 0)), 0);
        expect(s->scq, 2, IBV_WC_REM_INV_REQ_ERR);
    } else
        CHECK_EQ(await_event(s), IBV_EVENT_QP_REQ_ERR);
    meet(s);
}

static void reads_have_fewer_pieces(struct side *s)
{
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_READ, 1, 0, 8, 0);
        struct ibv_sge pieces[3] = {*wr->sg_list, *wr->sg_list, *wr->sg_list};
        wr->sg_list = pieces;
        wr->num_sge = 3;
        CHECK_EQ(post(s, wr), EINVAL);
        wr->num_sge = 2;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        wr->num_sge = 3;
        wr->opcode = IBV_WR_RDMA_WRITE;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        wr->num_sge = -1;
        CHECK_EQ(post(s, wr), EINVAL);
    }
    meet(s);
}

void device_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } pairs[] = {
        {"addresses differ between ports and agree between processes",
         addresses_agree_and_differ,
         {.env = {two_by_two}}},
        {"values beyond what device and port offer are refused",
         attributes_beyond_the_port_are_refused,
         {.no_connect = true,
          .env = {"SOFTHCA_DEVICES=1x2;max_qp_rd_atom=4,max_qp_init_rd_atom=3,active_mtu=1024;"
                  "softhca0/2:pkeys=1+2"}}},
        {"RDMA reads of more pieces than max_sge_rd are refused",
         reads_have_fewer_pieces,
         {.env = {"SOFTHCA_DEVICES=1;max_sge_rd=2"}}},
        {"objects of different contexts do not mix", devices_do_not_mix, {.env = {two_by_two}}},
        {"an rkey of another device is none", rkey_of_another_device, {.env = {two_by_two}}},
        {"path bits and GIDs lead to their port",
         every_address_of_a_port_leads_there,
         {.port = {2, 1}, .device = {0, 1}, .env = {two_by_two}}},
        {"a message to another port than the QP's reaches no QP",
         wrong_port,
         {.no_connect = true, .timeout = 8, .retry_cnt = 1, .env = {two_by_two}}},
        {"the target's port is down: RETRY_EXC_ERR",
         no_qp_answers,
         {.device = {0, 1},
          .timeout = 8,
          .retry_cnt = 1,
          .env = {"SOFTHCA_DEVICES=2;softhca1/1:state=down"}}},
        {"the sender's port is not active: RETRY_EXC_ERR",
         no_qp_answers,
         {.device = {1, 0},
          .timeout = 8,
          .retry_cnt = 1,
          .env = {"SOFTHCA_DEVICES=2;softhca1/1:state=init"}}},
        {"P_Keys that differ: RETRY_EXC_ERR",
         no_qp_answers,
         {.device = {0, 1},
          .timeout = 8,
          .retry_cnt = 1,
          .env = {"SOFTHCA_DEVICES=2;softhca0:pkeys=0x8001;softhca1:pkeys=0x8002"}}},
        {"the P_Keys are those of the queue pairs' indices",
         other_pkey_index,
         {.no_connect = true,
          .timeout = 8,
          .retry_cnt = 1,
          .env = {"SOFTHCA_DEVICES=1;pkeys=0x8001+0x8002"}}},
        {"two limited members of a partition: RETRY_EXC_ERR",
         no_qp_answers,
         {.timeout = 8, .retry_cnt = 1, .env = {"SOFTHCA_DEVICES=1;pkeys=1"}}},
        {"a full and a limited member of a partition",
         send_both_ways,
         {.device = {0, 1}, .env = {"SOFTHCA_DEVICES=2;softhca0:pkeys=0x8001;softhca1:pkeys=1"}}},
        {"P_Keys that differ: a datagram is lost",
         datagram_is_lost,
         {.type = IBV_QPT_UD,
          .device = {0, 1},
          .env = {"SOFTHCA_DEVICES=2;softhca0:pkeys=0x8001;softhca1:pkeys=0x8002"}}},
        {"a responder without resources refuses READs",
         no_reads_without_resources,
         {.no_connect = true}},
    };
    check(run_alone(everything_is_shown), "attributes are shown as they were set");
    check(run_alone(atomics_may_be_missing), "atomic_cap is reported, and none is enforced");
    check(run_alone(iwarp_needs_a_connection_manager),
          "an iWARP device has no datagrams, and ibv_modify_qp does not connect its queue pairs");
    check(run_alone(limits_of_counts_act), "limits of counts act, and are each device's own");
    check(run_alone(limits_of_sizes_act), "limits of sizes act");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        check(run_pair(pairs[i].run, &pairs[i].o), "%s", pairs[i].name);
    any_port_reaches_any_other();
}
