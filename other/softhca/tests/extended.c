/* extended.c - rules about extended reliable connections (XRC): a message names its shared queue,
 * in the target's process or in another process that has opened the same domain.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crowd.h"
#include "rules.h"

enum { DEPTH = 16, SLOT = 4096 };

/* The additional objects of an end. Its QP is s->qp, its shared queue s->srq on s->rcq. */
struct end {
    struct ibv_xrcd *xrcd;
    uint32_t srqn;
};

static struct ibv_xrcd *open_domain(struct side *s, int fd)
{
    struct ibv_xrcd_init_attr a = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
                                   .fd = fd,
                                   .oflags = O_CREAT};
    struct ibv_xrcd *x = ibv_open_xrcd(s->ctx, &a);
    CHECK(x != NULL);
    return x;
}

static struct ibv_srq *make_queue(struct side *s, struct ibv_xrcd *xrcd, uint32_t *number)
{
    struct ibv_srq_init_attr_ex a = {.attr = {.max_wr = DEPTH, .max_sge = 4},
                                     .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
                                                  IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
                                     .srq_type = IBV_SRQT_XRC,
                                     .pd = s->pd,
                                     .xrcd = xrcd,
                                     .cq = s->rcq};
    struct ibv_srq *q = ibv_create_srq_ex(s->ctx, &a);
    CHECK(q != NULL);
    CHECK_EQ(ibv_get_srq_num(q, number), 0);
    return q;
}

/* A QP of one of the two types, in INIT. */
static void make_end(struct side *s, enum ibv_qp_type type, struct ibv_xrcd *xrcd)
{
    struct ibv_qp_init_attr_ex init = {
        .send_cq = s->scq, .qp_type = type, .cap = {.max_send_wr = 64, .max_send_sge = 4}};
    init.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
    init.pd = s->pd;
    init.xrcd = xrcd;
    s->qp = ibv_create_qp_ex(s->ctx, &init);
    CHECK(s->qp != NULL);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
                            .port_num = 1,
                            .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                               IBV_ACCESS_REMOTE_ATOMIC};
    CHECK_EQ(ibv_modify_qp(s->qp, &a,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
             0);
    s->mine.qpn = s->qp->qp_num;
}

/* Replaces the QPs of a pair: A sends, B is the target and has a shared queue. */
static struct end make_ends(struct side *s)
{
    struct end e = {0};
    CHECK_EQ(ibv_destroy_qp(s->qp), 0);
    if (!s->is_a) {
        e.xrcd = open_domain(s, -1);
        s->srq = make_queue(s, e.xrcd, &e.srqn);
    }
    make_end(s, s->is_a ? IBV_QPT_XRC_SEND : IBV_QPT_XRC_RECV, e.xrcd);
    tell(s, &s->mine, sizeof s->mine);
    hear(s, &s->its, sizeof s->its);
    if (s->is_a)
        hear(s, &e.srqn, sizeof e.srqn);
    else
        tell(s, &e.srqn, sizeof e.srqn);
    connect_qp(s, &s->its);
    meet(s);
    return e;
}

/* Called before tear_down(): the domain can be closed when unused. */
static void end_ends(struct side *s, struct end *e)
{
    meet(s);
    if (s->is_a) return;
    CHECK_EQ(ibv_close_xrcd(e->xrcd), EBUSY);
    CHECK_EQ(ibv_destroy_qp(s->qp), 0);
    CHECK_EQ(ibv_close_xrcd(e->xrcd), EBUSY);
    CHECK_EQ(ibv_destroy_cq(s->rcq), EBUSY);
    CHECK_EQ(ibv_destroy_srq(s->srq), 0);
    CHECK_EQ(ibv_close_xrcd(e->xrcd), 0);
    s->srq = NULL;
    add_qp(s); /* for tear_down() */
}

static struct ibv_send_wr *to_queue(struct side *s, enum ibv_wr_opcode op, uint64_t id,
                                    uint32_t len, size_t remote_at, uint32_t srqn)
{
    struct ibv_send_wr *wr = make_wr(s, op, id, 0, len, remote_at);
    wr->qp_type.xrc.remote_srqn = srqn;
    return wr;
}

static void operations_reach_their_queue(struct side *s)
{
    struct end e = make_ends(s);
    if (!s->is_a)
        for (int i = 0; i < 3; i++) CHECK_EQ(post_recv(s, i, (size_t)i * SLOT, SLOT), 0);
    meet(s);
    if (s->is_a) {
        fill(s->buf, 3000, 5);
        CHECK_EQ(post(s, to_queue(s, IBV_WR_SEND, 0, 100, 0, e.srqn)), 0);
        struct ibv_send_wr *wr = to_queue(s, IBV_WR_SEND_WITH_IMM, 1, 3000, 0, e.srqn);
        wr->imm_data = 7;
        CHECK_EQ(post(s, wr), 0);
        wr = to_queue(s, IBV_WR_RDMA_WRITE_WITH_IMM, 2, 3000, 100000, e.srqn);
        wr->imm_data = 8;
        CHECK_EQ(post(s, wr), 0);
        CHECK_EQ(post(s, to_queue(s, IBV_WR_RDMA_READ, 3, 8, 100000, e.srqn)), 0);
        CHECK_EQ(post(s, to_queue(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 8, 200000, e.srqn)), 0);
        for (int i = 0; i < 5; i++) expect(s->scq, i, IBV_WC_SUCCESS);
    } else {
        static const uint32_t sizes[] = {100, 3000, 3000};
        for (int i = 0; i < 3; i++) {
            struct ibv_wc wc = await(s->rcq);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
            CHECK_EQ(wc.wr_id, i);
            CHECK_EQ(wc.byte_len, sizes[i]);
            CHECK_EQ(wc.qp_num, s->qp->qp_num);
            CHECK_EQ(wc.src_qp, 0); /* src_qp is of datagrams only */
            if (i) CHECK_EQ(wc.imm_data, 6 + i);
            if (i < 2) CHECK(filled(s->buf + (size_t)i * SLOT, sizes[i], 5));
        }
        CHECK(filled(s->buf + 100000, 3000, 5));
    }
    end_ends(s, &e);
}

static void queue_must_be_of_the_domain(struct side *s)
{
    for (int round = 0; round < 2; round++) {
        struct end e = make_ends(s);
        struct ibv_xrcd *other = NULL;
        struct ibv_srq *stranger = NULL;
        uint32_t number = e.srqn ^ 0x400; /* no such queue */
        if (!s->is_a && round) {
            other = open_domain(s, -1);
            stranger = make_queue(s, other, &number);
        }
        if (s->is_a)
            hear(s, &number, sizeof number);
        else
            tell(s, &number, sizeof number);
        if (s->is_a) {
            CHECK_EQ(post(s, to_queue(s, IBV_WR_SEND, 1, 8, 0, number)), 0);
            expect(s->scq, 1, IBV_WC_REM_INV_REQ_ERR);
        } else {
            CHECK_EQ(await_event(s), IBV_EVENT_QP_REQ_ERR);
            CHECK_EQ(state_of(s), IBV_QPS_ERR);
            if (stranger) CHECK_EQ(ibv_destroy_srq(stranger), 0);
            if (other) CHECK_EQ(ibv_close_xrcd(other), 0);
        }
        end_ends(s, &e);
    }
}

static void late_receive_wakes_a_sleeper(struct side *s)
{
    struct end e = make_ends(s);
    for (int i = 0; i < 20; i++) {
        if (s->is_a) {
            CHECK_EQ(post(s, to_queue(s, IBV_WR_SEND, i, 500, 0, e.srqn)), 0);
            CHECK_EQ(await_sleeping(s, s->scq).status, IBV_WC_SUCCESS);
        } else {
            usleep(i % 4 * 2000); /* no test waits for it: any length is correct */
            CHECK_EQ(post_recv(s, i, 0, 500), 0);
            CHECK_EQ(await_sleeping(s, s->rcq).status, IBV_WC_SUCCESS);
        }
    }
    end_ends(s, &e);
}

/* Unpolled completions are dropped with their queue; those of another queue on the same CQ stay. */
static void destroyed_queue_takes_its_completions(struct side *s)
{
    struct end e = make_ends(s);
    struct side second = *s;
    uint32_t number = 0;
    if (!s->is_a) {
        second.srq = make_queue(s, e.xrcd, &number);
        for (int i = 0; i < 4; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
        for (int i = 0; i < 4; i++) CHECK_EQ(post_recv(&second, 10 + i, 0, 64), 0);
        tell(s, &number, sizeof number);
    } else
        hear(s, &number, sizeof number);
    meet(s);
    for (int i = 0; s->is_a && i < 6; i++) {
        CHECK_EQ(post(s, to_queue(s, IBV_WR_SEND, i, 8, 0, i % 2 ? number : e.srqn)), 0);
        expect(s->scq, i, IBV_WC_SUCCESS);
    }
    meet(s);
    if (!s->is_a) {
        CHECK_EQ(ibv_destroy_srq(second.srq), 0);
        for (int i = 0; i < 3; i++) expect(s->rcq, i, IBV_WC_SUCCESS);
        expect_nothing(s->rcq);
    }
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, to_queue(s, IBV_WR_SEND, 9, 8, 0, number)), 0);
        expect(s->scq, 9, IBV_WC_REM_INV_REQ_ERR);
    } else
        CHECK_EQ(await_event(s), IBV_EVENT_QP_REQ_ERR);
    end_ends(s, &e);
}

static void each_end_has_its_half(struct side *s)
{
    struct end e = make_ends(s);
    struct ibv_recv_wr none = {0}, *bad;
    CHECK(ibv_post_recv(s->qp, &none, &bad) != 0);
    if (!s->is_a) {
        CHECK_EQ(post(s, to_queue(s, IBV_WR_SEND, 1, 8, 0, e.srqn)), EINVAL);
        struct ibv_qp_open_attr o = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
                                                  IBV_QP_OPEN_ATTR_TYPE,
                                     .qp_num = s->qp->qp_num,
                                     .xrcd = e.xrcd,
                                     .qp_type = IBV_QPT_XRC_RECV};
        struct ibv_qp *same = ibv_open_qp(s->ctx, &o);
        CHECK(same && same->qp_num == s->qp->qp_num);
        CHECK_EQ(ibv_destroy_qp(same), 0);
        CHECK_EQ(state_of(s), IBV_QPS_RTS);
        o.qp_num++;
        CHECK(ibv_open_qp(s->ctx, &o) == NULL && errno == EINVAL);
        struct ibv_srq_init_attr plain = {.attr = {.max_wr = 1, .max_sge = 1}};
        struct ibv_srq *q = ibv_create_srq(s->pd, &plain);
        uint32_t number;
        CHECK_EQ(ibv_get_srq_num(q, &number), EINVAL);
        CHECK_EQ(ibv_destroy_srq(q), 0);
    }
    end_ends(s, &e);
}

/* Rank 1 has the target, the hub has the shared queue, rank 2 sends. They share a domain by an
 * inherited file. */
static int shared_file;

struct trio {
    struct side s;
    struct ibv_xrcd *xrcd;
    uint32_t srqn;
    struct ibv_qp *opened;
};

static void pass_data(struct crowd *c, int from, int to, void *data, size_t n)
{
    if (c->rank == from) to_rank(c, c->rank ? 0 : to, data, n);
    if (c->rank == 0 && from) from_rank(c, from, data, n);
    if (c->rank == 0 && from && to) to_rank(c, to, data, n);
    if (c->rank == to && to) from_rank(c, 0, data, n);
}

static struct trio make_trio(struct crowd *c)
{
    struct trio t = {.s = {.o = c->o}};
    struct side *s = &t.s;
    struct address sender, target, memory;
    open_device(s);
    make_qp(s);
    memory = s->mine;
    CHECK_EQ(ibv_destroy_qp(s->qp), 0);
    s->qp = NULL;
    if (c->rank < 2) t.xrcd = open_domain(s, shared_file);
    if (c->rank == 0) s->srq = make_queue(s, t.xrcd, &t.srqn);
    if (c->rank > 0) make_end(s, c->rank == 1 ? IBV_QPT_XRC_RECV : IBV_QPT_XRC_SEND, t.xrcd);
    target = sender = s->mine;
    pass_data(c, 1, 2, &target, sizeof target);
    pass_data(c, 2, 1, &sender, sizeof sender);
    pass_data(c, 0, 2, &t.srqn, sizeof t.srqn);
    pass_data(c, 0, 2, &memory, sizeof memory);
    if (c->rank == 1) connect_qp(s, &sender);
    if (c->rank == 2) connect_qp(s, &target);
    if (c->rank == 2) s->its = memory;
    if (c->rank == 0) { /* the target is opened by its number */
        struct ibv_qp_open_attr o = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
                                                  IBV_QP_OPEN_ATTR_TYPE,
                                     .qp_num = target.qpn,
                                     .xrcd = t.xrcd,
                                     .qp_type = IBV_QPT_XRC_RECV};
        t.opened = ibv_open_qp(s->ctx, &o);
        CHECK(t.opened && t.opened->qp_num == target.qpn);
    }
    all_meet(c);
    return t;
}

static void end_trio(struct crowd *c, struct trio *t)
{
    if (c->rank == 0) {
        CHECK_EQ(ibv_destroy_qp(t->opened), 0);
        CHECK_EQ(ibv_destroy_srq(t->s.srq), 0);
        t->s.srq = NULL;
    } else
        CHECK_EQ(ibv_destroy_qp(t->s.qp), 0);
    if (t->xrcd) CHECK_EQ(ibv_close_xrcd(t->xrcd), 0);
    add_qp(&t->s); /* for tear_down() */
    tear_down(&t->s);
}

static void domain_is_shared_by_a_file(struct crowd *c)
{
    struct trio t = make_trio(c);
    struct side *s = &t.s;
    for (int i = 0; c->rank == 0 && i < DEPTH; i++)
        CHECK_EQ(post_recv(s, i, (size_t)i * SLOT, SLOT), 0);
    all_meet(c);
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t len = i * 7 % SLOT + 1;
        if (c->rank == 2) {
            fill(s->buf, len, i);
            CHECK_EQ(post(s, to_queue(s, IBV_WR_SEND, i, len, 0, t.srqn)), 0);
            expect(s->scq, i, IBV_WC_SUCCESS);
        } else if (c->rank == 0) {
            struct ibv_wc wc = await(s->rcq);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
            CHECK_EQ(wc.byte_len, len);
            CHECK_EQ(wc.qp_num, t.opened->qp_num);
            CHECK(filled(s->buf + wc.wr_id * SLOT, len, i));
            CHECK_EQ(post_recv(s, wc.wr_id, wc.wr_id * SLOT, SLOT), 0);
        }
    }
    if (c->rank == 2) { /* the memory is that of the SRQ's process */
        CHECK_EQ(post(s, to_queue(s, IBV_WR_RDMA_WRITE, 1, 100, 500000, t.srqn)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    }
    all_meet(c);
    if (c->rank == 0) CHECK(filled(s->buf + 500000, 100, 499));
    end_trio(c, &t);
}

static void connect_to(struct side *s, uint32_t qpn)
{
    struct address to = {.qpn = qpn, .lid = s->mine.lid};
    connect_qp(s, &to);
}

/* The sender dies during a message: no receive of the third process is lost. */
static void killed_sender_loses_no_receive(struct crowd *c)
{
    enum { LEN = 60000 };
    struct trio t = make_trio(c);
    struct side *s = &t.s;
    for (int i = 0; c->rank == 0 && i < DEPTH; i++)
        CHECK_EQ(post_recv(s, i, (size_t)i * LEN, LEN), 0);
    all_meet(c);
    if (c->rank == 1) {
        char m;
        from_rank(c, 0, &m, 1);
        end_trio(c, &t);
        return;
    }
    while (c->rank == 2) {
        CHECK_EQ(post(s, to_queue(s, IBV_WR_SEND, 1, LEN, 0, t.srqn)), 0);
        await(s->scq);
    }
    for (int i = 0, stop = getpid() % 50 + 20; i < stop; i++) {
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(post_recv(s, wc.wr_id, wc.wr_id * LEN, LEN), 0);
    }
    CHECK_EQ(kill(c->pid[2], SIGKILL), 0);
    await_end_of(c->pid[2]);
    /* Each receive is used once: by a message of the dead process, or of a new sender. */
    struct side sender = *s, target = *s;
    make_end(&sender, IBV_QPT_XRC_SEND, NULL);
    make_end(&target, IBV_QPT_XRC_RECV, t.xrcd);
    connect_to(&sender, target.qp->qp_num);
    connect_to(&target, sender.qp->qp_num);
    bool used[DEPTH] = {false};
    for (int i = 0; i < DEPTH; i++)
        CHECK_EQ(post(&sender, to_queue(&sender, IBV_WR_SEND, i, 100, 0, t.srqn)), 0);
    for (int i = 0; i < DEPTH; i++) {
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK(!used[wc.wr_id]);
        used[wc.wr_id] = true;
    }
    expect_nothing(s->rcq);
    CHECK_EQ(ibv_destroy_qp(sender.qp), 0);
    CHECK_EQ(ibv_destroy_qp(target.qp), 0);
    char m = 'e';
    to_rank(c, 1, &m, 1);
    end_trio(c, &t);
}

void extended_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"operations reach their queue", operations_reach_their_queue, {0}},
        {"the same, ordinary memory", operations_reach_their_queue, {.ordinary = true}},
        {"the queue must be of the domain", queue_must_be_of_the_domain, {0}},
        {"a late receive wakes a sleeper", late_receive_wakes_a_sleeper, {0}},
        {"a destroyed queue takes its completions along",
         destroyed_queue_takes_its_completions,
         {0}},
        {"each end has its half", each_end_has_its_half, {0}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        check(run_pair(tests[i].run, &tests[i].o), "XRC: %s", tests[i].name);
    char name[] = "/tmp/softhca-xrc-XXXXXX";
    shared_file = mkstemp(name);
    CHECK(shared_file >= 0 && unlink(name) == 0);
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        struct options o = {.ordinary = ordinary};
        const char *memory = ordinary ? "ordinary" : "mapped";
        o.neighbours = true;
        check(run_crowd(domain_is_shared_by_a_file, 3, &o),
              "XRC: a domain is shared by a file, %s memory", memory);
        check(run_crowd(killed_sender_loses_no_receive, 3, &o),
              "XRC: a killed sender takes nothing along, %s memory", memory);
    }
    close(shared_file);
}
