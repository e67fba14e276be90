/* cost.c - operations that other/vapi/tests/bench.sh counts: each through VAPI and through raw
 * verbs.
 *
 *   cost vapi|verbs OPERATION N
 *
 * Eight at a time within counted(), all else outside of it.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp_pair.h"

enum { BATCH = 8 };

static struct stage stage;
static struct ibv_qp *qp, *far_qp;
static struct ibv_cq *cq, *far_cq;
static uint64_t sum; /* of the completions' fields: the compiler must not drop the reads */

struct posting {
    VAPI_sr_desc_t sr;
    VAPI_rr_desc_t rr;
    VAPI_sg_lst_entry_t vapi_sg;
    struct ibv_send_wr wr, *bad;
    struct ibv_recv_wr recv, *bad_recv;
    struct ibv_sge sge;
};
static struct posting p;

static void fail(void)
{
    fprintf(stderr, "cost: an operation failed\n");
    exit(1);
}

/* Members that change from post to post are set for each post, as programs do. */
#define VAPI_POST(name, op, call)                                                                  \
    static void vapi_##name(uint64_t id)                                                           \
    {                                                                                              \
        p.vapi_sg.addr = (MT_virt_addr_t)stage.memory;                                             \
        p.vapi_sg.len = 16;                                                                        \
        p.vapi_sg.lkey = stage.keys.l_key;                                                         \
        p.sr.id = id;                                                                              \
        p.sr.opcode = op;                                                                          \
        p.sr.comp_type = VAPI_SIGNALED;                                                            \
        p.sr.fence = p.sr.set_se = 0;                                                              \
        if (op == VAPI_SEND_WITH_IMM) p.sr.imm_data = (VAPI_imm_data_t)id;                         \
        p.sr.remote_addr = (MT_virt_addr_t)(stage.memory + 4096);                                  \
        p.sr.r_key = stage.keys.r_key;                                                             \
        if (call(stage.hca, stage.a.qp, &p.sr) != VAPI_OK) fail();                                 \
    }
#define VERBS_POST(name, op, flags)                                                                \
    static void verbs_##name(uint64_t id)                                                          \
    {                                                                                              \
        p.sge.addr = (MT_virt_addr_t)stage.memory;                                                 \
        p.sge.length = 16;                                                                         \
        p.sge.lkey = stage.keys.l_key;                                                             \
        p.wr.wr_id = id;                                                                           \
        p.wr.opcode = op;                                                                          \
        p.wr.send_flags = flags;                                                                   \
        if (op == IBV_WR_SEND_WITH_IMM) p.wr.imm_data = htonl((uint32_t)id);                       \
        p.wr.wr.rdma.remote_addr = (MT_virt_addr_t)(stage.memory + 4096);                          \
        p.wr.wr.rdma.rkey = stage.keys.r_key;                                                      \
        if (ibv_post_send(qp, &p.wr, &p.bad)) fail();                                              \
    }
VAPI_POST(write, VAPI_RDMA_WRITE, VAPI_post_sr)
VERBS_POST(write, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED)
VAPI_POST(inline, VAPI_RDMA_WRITE, EVAPI_post_inline_sr)
VERBS_POST(inline, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED | IBV_SEND_INLINE)
VAPI_POST(send, VAPI_SEND_WITH_IMM, VAPI_post_sr)
VERBS_POST(send, IBV_WR_SEND_WITH_IMM, IBV_SEND_SIGNALED)

static void vapi_recv(uint64_t id)
{
    p.vapi_sg.addr = (MT_virt_addr_t)stage.memory;
    p.rr.id = id;
    if (VAPI_post_rr(stage.hca, stage.b.qp, &p.rr) != VAPI_OK) fail();
}

static void verbs_recv(uint64_t id)
{
    p.sge.addr = (MT_virt_addr_t)stage.memory;
    p.recv.wr_id = id;
    if (ibv_post_recv(far_qp, &p.recv, &p.bad_recv)) fail();
}

static bool vapi_poll_one(VAPI_cq_hndl_t which)
{
    VAPI_wc_desc_t wc;
    VAPI_ret_t code = VAPI_poll_cq(stage.hca, which, &wc);
    if (code == VAPI_CQ_EMPTY) return false;
    if (code != VAPI_OK || wc.status != VAPI_SUCCESS) fail();
    sum += wc.id;
    if (wc.opcode == VAPI_CQE_RQ_SEND_DATA && wc.imm_data_valid) sum += wc.imm_data;
    return true;
}

static bool verbs_poll_one(struct ibv_cq *which)
{
    struct ibv_wc wc;
    int n = ibv_poll_cq(which, 1, &wc);
    if (n == 0) return false;
    if (n < 0 || wc.status != IBV_WC_SUCCESS) fail();
    sum += wc.wr_id;
    if (wc.opcode == IBV_WC_RECV && wc.wc_flags & IBV_WC_WITH_IMM) sum += ntohl(wc.imm_data);
    return true;
}

static void vapi_reap(uint64_t id)
{
    vapi_poll_one(stage.a.scq);
}

static void verbs_reap(uint64_t id)
{
    verbs_poll_one(cq);
}

static void vapi_reap_recv(uint64_t id)
{
    vapi_poll_one(stage.b.rcq);
}

static void verbs_reap_recv(uint64_t id)
{
    verbs_poll_one(far_cq);
}

static void nothing(uint64_t id) {}

static void drain(uint64_t id)
{
    while (verbs_poll_one(cq)) continue;
    while (verbs_poll_one(far_cq)) continue;
}

static void eight(void (*call)(uint64_t))
{
    for (uint64_t i = 0; i < BATCH; i++) call(i);
}

__attribute__((noinline, visibility("default"))) void counted(void (*call)(uint64_t));
void counted(void (*call)(uint64_t))
{
    for (uint64_t i = 0; i < BATCH; i++) call(i);
}

/* Each operation is what is counted, between what goes before and what comes after. */
static const struct {
    const char *name;
    void (*before)(uint64_t), (*then)(uint64_t);
    void (*vapi)(uint64_t), (*verbs)(uint64_t);
} operations[] = {
    {"nothing", nothing, nothing, nothing, nothing},
    {"post_write", nothing, nothing, vapi_write, verbs_write},
    {"post_inline", nothing, nothing, vapi_inline, verbs_inline},
    {"post_send_imm", verbs_recv, nothing, vapi_send, verbs_send},
    {"post_recv", nothing, nothing, vapi_recv, verbs_recv},
    {"poll_empty", nothing, nothing, vapi_reap, verbs_reap},
    {"poll_sent", verbs_write, nothing, vapi_reap, verbs_reap},
    {"poll_received", verbs_recv, verbs_send, vapi_reap_recv, verbs_reap_recv},
};

static void set_up(void)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    setenv("SOFTHCA", "on", 1);
    open_stage(&stage);
    make_ends(&stage, &w);
    qp = vapi_slot_of(stage.a.qp)->verbs.qp;
    far_qp = vapi_slot_of(stage.b.qp)->verbs.qp;
    cq = vapi_slot_of(stage.a.scq)->verbs.cq;
    far_cq = vapi_slot_of(stage.b.rcq)->verbs.cq;
    p.sge = (struct ibv_sge){.length = 16, .lkey = stage.keys.l_key};
    p.vapi_sg.len = 16;
    p.vapi_sg.lkey = stage.keys.l_key;
    p.wr.sg_list = p.recv.sg_list = &p.sge;
    p.sr.sg_lst_p = p.rr.sg_lst_p = &p.vapi_sg;
    p.wr.num_sge = p.recv.num_sge = 1;
    p.sr.sg_lst_len = p.rr.sg_lst_len = 1;
    p.rr.opcode = VAPI_RECEIVE;
    p.rr.comp_type = VAPI_SIGNALED;
}

int main(int argc, char **argv)
{
    size_t i = 0, count = sizeof operations / sizeof *operations;
    if (argc != 4) return 2;
    while (i < count && strcmp(operations[i].name, argv[2]) != 0) i++;
    if (i == count) return 2;
    set_up();
    bool vapi = !strcmp(argv[1], "vapi");
    bool receives = !strcmp(argv[2], "post_recv");
    for (long n = atol(argv[3]); n > 0; n -= BATCH) {
        eight(operations[i].before);
        eight(operations[i].then);
        counted(vapi ? operations[i].vapi : operations[i].verbs);
        if (receives) eight(verbs_send);
        drain(0);
    }
    return sum == 1; /* never */
}
