/* post.c - every operation, every code of posting, and how much room a completion returns. */
#include <stdlib.h>
#include <string.h>

#include "qp_pair.h"

static void operations(struct stage *s)
{
    VAPI_wc_desc_t wc;
    unsigned char *far = s->memory + BLOCK / 2;
    memset(s->memory, 'x', 64);
    is_code(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, 1, 0, 64)), VAPI_OK,
            "RDMA write");
    wc = await_wc(s, s->a.scq);
    is_true(wc.status == VAPI_SUCCESS && wc.id == 1 && wc.opcode == VAPI_CQE_SQ_RDMA_WRITE &&
                wc.local_qp_num == s->a.prop.qp_num && wc.free_res_count == 1 &&
                !wc.imm_data_valid && !wc.grh_flag && memcmp(far, s->memory, 64) == 0,
            "its completion, and the data");
    memset(far, 'r', 64);
    is_code(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_READ, 2, 0, 64)), VAPI_OK,
            "RDMA read");
    wc = await_wc(s, s->a.scq);
    is_true(wc.status == VAPI_SUCCESS && wc.opcode == VAPI_CQE_SQ_RDMA_READ && wc.id == 2 &&
                s->memory[63] == 'r',
            "its completion, and the data");

    NEED(VAPI_post_rr(s->hca, s->b.qp, receive(s, 77, 1024, 100)));
    VAPI_sr_desc_t *d = request(s, VAPI_SEND, 3, 0, 60);
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_OK, "send");
    wc = await_wc(s, s->a.scq);
    is_true(wc.status == VAPI_SUCCESS && wc.opcode == VAPI_CQE_SQ_SEND_DATA && wc.id == 3,
            "its completion");
    wc = await_wc(s, s->b.rcq);
    is_true(wc.status == VAPI_SUCCESS && wc.opcode == VAPI_CQE_RQ_SEND_DATA && wc.id == 77 &&
                wc.byte_len == 60 && !wc.imm_data_valid && wc.free_res_count == 1 &&
                wc.local_qp_num == s->b.prop.qp_num,
            "and the receiver's");
    const VAPI_wr_opcode_t with_imm[] = {VAPI_SEND_WITH_IMM, VAPI_RDMA_WRITE_WITH_IMM};
    const VAPI_cqe_opcode_t as[] = {VAPI_CQE_RQ_SEND_DATA, VAPI_CQE_RQ_RDMA_WITH_IMM};
    for (int i = 0; i < 2; i++) {
        NEED(VAPI_post_rr(s->hca, s->b.qp, receive(s, 78, 1024, 100)));
        d = request(s, with_imm[i], 4, 0, 8);
        d->imm_data = 0x01020304;
        is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_OK, VAPI_wr_opcode_sym(with_imm[i]));
        is_true(d->imm_data == 0x01020304 && d->id == 4, "the descriptor is as it was");
        (void)await_wc(s, s->a.scq);
        wc = await_wc(s, s->b.rcq);
        is_true(wc.imm_data_valid == 1 && wc.imm_data == 0x01020304 && wc.byte_len == 8 &&
                    wc.opcode == as[i],
                "the word beside the message, in the host's order");
    }
}

static void atomics(struct stage *s)
{
    u_int64_t *far = (u_int64_t *)(void *)(s->memory + BLOCK / 2);
    u_int64_t *near = (u_int64_t *)(void *)s->memory;
    VAPI_wc_desc_t wc;
    *far = 40;
    VAPI_sr_desc_t *d = request(s, VAPI_ATOMIC_FETCH_AND_ADD, 5, 0, 8);
    d->compare_add = 2;
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_OK, "fetch and add");
    wc = await_wc(s, s->a.scq);
    is_true(wc.opcode == VAPI_CQE_SQ_FETCH_ADD && *far == 42 && *near == 40 && wc.byte_len == 8,
            "adds, and fetches in the host's order");
    d = request(s, VAPI_ATOMIC_CMP_AND_SWP, 6, 0, 8);
    d->compare_add = 42;
    d->swap = 7;
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_OK, "compare and swap");
    wc = await_wc(s, s->a.scq);
    is_true(wc.opcode == VAPI_CQE_SQ_COMP_SWAP && *far == 7 && *near == 42, "swaps");
    d = request(s, VAPI_ATOMIC_FETCH_AND_ADD, 5, 0, 4);
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_EINVAL_SG_FMT, "an atomic of 4 bytes");
}

static void inlined(struct stage *s)
{
    u_int32_t room = s->a.prop.cap.max_inline_data_sq;
    is_true(room >= 72, "room for 72 bytes of inline data");
    memset(s->memory, 'i', room + 1);
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 7, 0, room);
    d->sg_lst_p->lkey = 0xdeadbeef;
    is_code(EVAPI_post_inline_sr(s->hca, s->a.qp, d), VAPI_OK, "inline, as much as there is room");
    memset(s->memory, 'j', room);
    (void)await_wc(s, s->a.scq);
    is_number(s->memory[BLOCK / 2 + room - 1], 'i', "data are taken during the call");
    d = request(s, VAPI_RDMA_WRITE, 7, 0, room + 1);
    is_code(EVAPI_post_inline_sr(s->hca, s->a.qp, d), VAPI_EINVAL_SG_NUM, "one byte more");
    d = request(s, VAPI_RDMA_READ, 7, 0, 8);
    is_code(EVAPI_post_inline_sr(s->hca, s->a.qp, d), VAPI_EINVAL_OP, "an inline read");
    d = request(s, VAPI_SEND, 7, 0, 8);
    d->sg_lst_len = 0;
    d->sg_lst_p = (VAPI_sg_lst_entry_t *)(MT_virt_addr_t)0xdead;
    NEED(VAPI_post_rr(s->hca, s->b.qp, receive(s, 78, 1024, 100)));
    is_code(EVAPI_post_inline_sr(s->hca, s->a.qp, d), VAPI_OK, "nothing, inline, without a list");
    (void)await_wc(s, s->a.scq);
    is_number(await_wc(s, s->b.rcq).byte_len, 0, "arrives");
}

static void refusals(struct stage *s)
{
    VAPI_sr_desc_t *d = request(s, VAPI_RECEIVE, 1, 0, 8);
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_EINVAL_OP, "VAPI_RECEIVE is not sent");
    for (int op = 8; op < 300; op += 57) {
        d = request(s, (VAPI_wr_opcode_t)op, 1, 0, 8);
        if (VAPI_post_sr(s->hca, s->a.qp, d) != VAPI_EINVAL_OP) is_number(op, 0, "is refused");
    }
    d = request(s, VAPI_SEND, 1, 0, 8);
    d->sg_lst_len = 100;
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_EINVAL_SG_NUM, "too many pieces");
    d = request(s, VAPI_SEND, 1, 0, 8);
    d->sg_lst_p = NULL;
    d->comp_type = VAPI_UNSIGNALED;
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_EINVAL_SG_FMT, "no list");
    d = request(s, VAPI_SEND, 1, 0, 8);
    d->comp_type = (VAPI_comp_type_t)2;
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_EINVAL_NOTIF_TYPE, "a strange comp_type");
    VAPI_rr_desc_t *r = receive(s, 1, 0, 8);
    r->opcode = VAPI_SEND;
    is_code(VAPI_post_rr(s->hca, s->a.qp, r), VAPI_EINVAL_OP, "only VAPI_RECEIVE is received");
    r = receive(s, 1, 0, 8);
    r->sg_lst_len = 100;
    is_code(VAPI_post_rr(s->hca, s->a.qp, r), VAPI_EINVAL_SG_NUM, "too many pieces to receive");
    r = receive(s, 1, 0, 8);
    r->comp_type = (VAPI_comp_type_t)2;
    is_code(VAPI_post_rr(s->hca, s->a.qp, r), VAPI_EINVAL_NOTIF_TYPE, "a strange comp_type there");
}

static void full_queue(struct stage *s)
{
    u_int32_t depth = s->a.prop.cap.max_oust_wr_sq, posted = 0;
    while (VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, posted, 0, 8)) == VAPI_OK)
        posted++;
    is_number(posted, depth, "as many as were told fit");
    is_code(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, posted, 0, 8)),
            VAPI_E2BIG_WR_NUM, "and one more does not");
    bool ordered = true;
    for (u_int32_t i = 0; i < posted; i++) ordered &= await_wc(s, s->a.scq).id == i;
    is_true(ordered, "they complete in order");
}

/* Posts several unsignalled requests, then a signalled one: one completion returns the room of
 * all. */
static void unsignalled(struct stage *s)
{
    const uint64_t odd = UINT64_C(0xfedcba9876543210);
    for (int i = 0; i < 3 * DEPTH; i += 4) {
        for (int k = 0; k < 4; k++) {
            VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, odd + (uint64_t)(i + k), 0, 8);
            d->comp_type = k < 3 ? VAPI_UNSIGNALED : VAPI_SIGNALED;
            NEED(VAPI_post_sr(s->hca, s->a.qp, d));
        }
        VAPI_wc_desc_t wc = await_wc(s, s->a.scq);
        if (wc.id != odd + (uint64_t)i + 3 || wc.free_res_count != 4)
            is_number(wc.free_res_count, 4, "one completion for four");
    }
    VAPI_wc_desc_t wc;
    is_code(VAPI_poll_cq(s->hca, s->a.scq, &wc), VAPI_CQ_EMPTY, "unsignalled ones are not told");
    u_int32_t depth = s->a.prop.cap.max_oust_wr_sq, posted = 0;
    for (;; posted++) {
        VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, posted, 0, 8);
        d->comp_type = VAPI_UNSIGNALED;
        if (VAPI_post_sr(s->hca, s->a.qp, d) != VAPI_OK) break;
    }
    is_number(posted, depth, "unsignalled ones fill the queue");
}

static void unsignalled_receives(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .rsignals = VAPI_SIGNAL_REQ_WR};
    VAPI_wc_desc_t wc;
    make_ends(s, &w);
    for (int i = 0; i < 3; i++) {
        VAPI_rr_desc_t *r = receive(s, (uint64_t)i, 1024, 8);
        r->comp_type = i < 2 ? VAPI_UNSIGNALED : VAPI_SIGNALED;
        NEED(VAPI_post_rr(s->hca, s->b.qp, r));
    }
    for (int i = 0; i < 3; i++) NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_SEND, 9, 0, 8)));
    wc = await_wc(s, s->b.rcq);
    is_true(wc.id == 2 && wc.free_res_count == 3, "unsignalled receives are given back later");
    is_code(VAPI_poll_cq(s->hca, s->b.rcq, &wc), VAPI_CQ_EMPTY, "and not told");
    drop_ends(s);
}

/* Tests that a request that the device refuses leaves no trace: the room for records is still
 * there. */
static void full_receive_queue(struct stage *s, bool one_cq)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .rsignals = VAPI_SIGNAL_REQ_WR};
    w.one_cq = one_cq;
    make_ends(s, &w);
    u_int32_t depth = s->b.prop.cap.max_oust_wr_rq, posted = 0;
    while (VAPI_post_rr(s->hca, s->b.qp, receive(s, posted, 1024, 8)) == VAPI_OK) posted++;
    is_number(posted, depth,
              one_cq ? "as many receives as were told fit (one CQ)"
                     : "as many receives as were told fit (two CQs)");
    is_code(VAPI_post_rr(s->hca, s->b.qp, receive(s, 1, 1024, 8)), VAPI_E2BIG_WR_NUM,
            "and one more does not");
    for (u_int32_t i = 0; i < depth; i++) {
        NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_SEND, i, 0, 8)));
        (void)await_wc(s, s->a.scq);
        (void)await_wc(s, s->b.rcq);
    }
    VAPI_rr_desc_t *r = receive(s, 2, 1024, 8);
    r->comp_type = VAPI_UNSIGNALED;
    is_code(VAPI_post_rr(s->hca, s->b.qp, r), VAPI_OK, "then there is room for an unsignalled one");
    drop_ends(s);
}

/* Which queue failed, and which request, where both queues complete in one CQ or in two. */
static void flushed(struct stage *s, bool one_cq)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .one_cq = one_cq};
    make_ends(s, &w);
    NEED(VAPI_post_rr(s->hca, s->a.qp, receive(s, 5, 1024, 8)));
    NEED(VAPI_post_rr(s->hca, s->a.qp, receive(s, UINT64_C(1) << 62, 1024, 8)));
    NEED(change_state(s, s->a.qp, VAPI_ERR));
    VAPI_sr_desc_t *d = request(s, VAPI_SEND, 5, 0, 8);
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_OK, "posting to a queue pair in error");
    d->comp_type = VAPI_UNSIGNALED;
    d->id = UINT64_C(1) << 63;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    int sends = 0, recvs = 0, right = 0;
    for (int i = 0; i < 4; i++) {
        bool second = i >= 2;
        VAPI_wc_desc_t wc = await_wc(s, second ? s->a.rcq : s->a.scq);
        bool send = wc.opcode == VAPI_CQE_SQ_SEND_DATA;
        uint64_t ids[2][2] = {{5, UINT64_C(1) << 62}, {5, UINT64_C(1) << 63}};
        int *seen = send ? &sends : &recvs;
        right += wc.status == VAPI_WR_FLUSH_ERR && wc.id == ids[send][*seen] &&
                 wc.local_qp_num == s->a.prop.qp_num && wc.free_res_count == 1;
        ++*seen;
    }
    is_true(sends == 2 && recvs == 2, one_cq ? "which queue failed is told (one CQ)"
                                             : "which queue failed is told (two CQs)");
    is_number(right, 4, "and which request");
    drop_ends(s);
}

static void states(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .raw = true};
    make_ends(s, &w);
    is_code(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_SEND, 1, 0, 8)), VAPI_EINVAL_QP_STATE,
            "sending in VAPI_RESET");
    is_code(VAPI_post_rr(s->hca, s->a.qp, receive(s, 1, 0, 8)), VAPI_EINVAL_QP_STATE,
            "receiving in VAPI_RESET");
    connect_to(s, s->a.qp, VAPI_TS_RC, s->b.prop.qp_num, s->port.lid);
    is_code(VAPI_post_rr(s->hca, s->a.qp, receive(s, 1, 0, 8)), VAPI_OK, "receiving in VAPI_RTS");
    NEED(change_state(s, s->a.qp, VAPI_RESET));
    is_code(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_SEND, 1, 0, 8)), VAPI_EINVAL_QP_STATE,
            "sending in VAPI_RESET again");
    drop_ends(s);
}

static void lists(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    VAPI_sr_desc_t sr[DEPTH + 1];
    VAPI_rr_desc_t rr[4];
    VAPI_sg_lst_entry_t sg[2];
    make_ends(s, &w);
    u_int32_t depth = s->a.prop.cap.max_oust_wr_sq;
    (void)receive(s, 0, 1024, 8);
    for (int i = 0; i < 4; i++) {
        rr[i] = *receive(s, 10 + (uint64_t)i, 1024, 8);
        sg[1] = *rr[i].sg_lst_p;
        rr[i].sg_lst_p = &sg[1];
    }
    is_code(EVAPI_post_rr_list(s->hca, s->b.qp, 0, rr), VAPI_EINVAL_PARAM, "a list of no receives");
    is_code(EVAPI_post_rr_list(s->hca, s->b.qp, 4, rr), VAPI_OK, "a list of receives");
    for (u_int32_t i = 0; i < DEPTH + 1; i++) {
        sr[i] = *request(s, i < 4 ? VAPI_SEND_WITH_IMM : VAPI_RDMA_WRITE, 20 + i, 0, 8);
        sg[0] = *sr[i].sg_lst_p;
        sr[i].sg_lst_p = &sg[0];
        sr[i].imm_data = i;
        sr[i].comp_type = i == 3 || i == 5 ? VAPI_SIGNALED : VAPI_UNSIGNALED;
    }
    is_code(EVAPI_post_sr_list(s->hca, s->a.qp, 0, sr), VAPI_EINVAL_PARAM, "a list of no sends");
    is_code(EVAPI_post_sr_list(s->hca, s->a.qp, 1, NULL), VAPI_EINVAL_PARAM, "no list");
    sr[5].opcode = VAPI_RECEIVE;
    is_code(EVAPI_post_sr_list(s->hca, s->a.qp, 6, sr), VAPI_EINVAL_OP, "one bad one in a list");
    sr[5].opcode = VAPI_RDMA_WRITE;
    is_code(EVAPI_post_sr_list(s->hca, s->a.qp, 6, sr), VAPI_OK, "a list of sends");
    VAPI_wc_desc_t first = await_wc(s, s->a.scq), second = await_wc(s, s->a.scq);
    is_true(first.id == 23 && first.free_res_count == 4 && second.id == 25 &&
                second.free_res_count == 2,
            "completes as its descriptors ask, and the bad list was not begun");
    bool all = true;
    for (u_int32_t i = 0; i < 4; i++) {
        VAPI_wc_desc_t wc = await_wc(s, s->b.rcq);
        all &= wc.id == 10 + i && wc.imm_data_valid && wc.imm_data == i;
    }
    is_true(all, "all of it arrives");
    if (depth <= DEPTH) {
        for (u_int32_t i = 0; i <= depth; i++) sr[i].opcode = VAPI_RDMA_WRITE;
        is_code(EVAPI_post_sr_list(s->hca, s->a.qp, depth + 1, sr), VAPI_E2BIG_WR_NUM,
                "a list without room");
        is_code(EVAPI_post_sr_list(s->hca, s->a.qp, depth, sr), VAPI_OK,
                "of which nothing was posted");
    }
    drop_ends(s);
}

void post_rules(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .rsignals = VAPI_SIGNAL_REQ_WR};
    make_ends(s, &w);
    operations(s);
    atomics(s);
    inlined(s);
    refusals(s);
    full_queue(s);
    unsignalled(s);
    drop_ends(s);
    w.one_cq = true;
    make_ends(s, &w);
    inlined(s);
    drop_ends(s);
    w = (struct wants){.signals = VAPI_SIGNAL_ALL_WR};
    make_ends(s, &w);
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 3, 0, 8);
    d->comp_type = VAPI_UNSIGNALED;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    is_number(await_wc(s, s->a.scq).id, 3, "VAPI_SIGNAL_ALL_WR: every request completes");
    drop_ends(s);
    unsignalled_receives(s);
    full_receive_queue(s, false);
    full_receive_queue(s, true);
    flushed(s, false);
    flushed(s, true);
    states(s);
    lists(s);
}
