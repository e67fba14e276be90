/* poll.c - polling of completions; vapi_inline.h handles the common ones.
 *
 * Verbs writes a completion to the program's descriptor, which has the same layout; it is converted
 * to VAPI's form where it is. After the first EVAPI_peek_cq a CQ is polled under its lock, because
 * completions may then wait in a ring of the library.
 */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "wc_status.h"

#define SAME(member, other)                                                                        \
    _Static_assert(offsetof(VAPI_wc_desc_t, member) == offsetof(struct ibv_wc, other), #member)
SAME(id, wr_id);
SAME(status, status);
SAME(opcode, opcode);
SAME(vendor_err_syndrome, vendor_err);
SAME(byte_len, byte_len);
SAME(imm_data, imm_data);
SAME(local_qp_num, qp_num);
SAME(remote_node_addr.qp_ety.qp, src_qp);
SAME(remote_node_addr.vapi_flags, wc_flags);
SAME(remote_node_addr.vapi_pkey_ix, pkey_index);
SAME(remote_node_addr.slid, slid);
SAME(remote_node_addr.sl, sl);
SAME(remote_node_addr.ee_dlid.dst_path_bits, dlid_path_bits);
_Static_assert(sizeof(struct ibv_wc) <= offsetof(VAPI_wc_desc_t, remote_node_addr.type),
               "verbs writes over nothing of ours");
_Static_assert(IBV_WC_GRH == 1 && IBV_WC_WITH_IMM == 2, "the bits of grh_flag, imm_data_valid");
_Static_assert(IBV_WC_RECV == 128 && IBV_WC_RECV_RDMA_WITH_IMM == 129, "see vapi_usual_finish");
_Static_assert((int)IBV_WC_SEND == VAPI_CQE_SQ_SEND_DATA &&
                   (int)IBV_WC_RDMA_WRITE == VAPI_CQE_SQ_RDMA_WRITE &&
                   (int)IBV_WC_RDMA_READ == VAPI_CQE_SQ_RDMA_READ &&
                   (int)IBV_WC_COMP_SWAP == VAPI_CQE_SQ_COMP_SWAP &&
                   (int)IBV_WC_FETCH_ADD == VAPI_CQE_SQ_FETCH_ADD &&
                   (int)IBV_WC_BIND_MW == VAPI_CQE_SQ_BIND_MRW,
               "operations of the send queue");

enum origin { SENT, RECEIVED, NOBODYS };

/* Finds the queue of a completion that failed or has a record, and the data to report.  A failed
 * completion of verbs does not contain its queue: if both queues of a queue pair complete in one
 * CQ, the ids of receives have VAPI_ID_RECEIVE.  If another thread has destroyed the queue pair and
 * its records meanwhile, the completion is dropped.  *told is false if the completion is not
 * reported to the program.  */
static enum origin poll_find_record(struct vapi_cq *cq, const VAPI_wc_desc_t *wc, uint64_t *id,
                                    uint32_t *freed, bool *told)
{
    enum origin origin = NOBODYS;
    pthread_mutex_lock(&cq->hca->lock);
    struct vapi_qp *qp = vapi_qp_by_number(cq->hca, wc->local_qp_num);
    if (qp && *id & VAPI_ID_TRACKED) {
        struct vapi_record *record = (struct vapi_record *)(uintptr_t)(*id & ~VAPI_ID_TRACKED);
        if (vapi_lane_has(&qp->send, record))
            origin = SENT;
        else if (qp->srq || vapi_lane_has(&qp->recv, record))
            origin = RECEIVED;
        if (origin != NOBODYS)
            *told = vapi_record_done(record, wc->status == VAPI_SUCCESS, id, freed);
    } else if (qp)
        origin = qp->recv_cq == cq && qp->send_cq != cq ? RECEIVED : SENT;
    pthread_mutex_unlock(&cq->hca->lock);
    return origin;
}

/* Converts the completion that verbs wrote to `wc`; false if it is not reported to the program.
 *
 * Passed on unchanged: the vendor syndrome; the length of a datagram, which includes the 40 bytes
 * of the GRH in both interfaces; and the word that an atomic fetches, in the host's byte order.  */
static bool poll_translate(struct vapi_cq *cq, VAPI_wc_desc_t *wc)
{
    bool success = wc->status == VAPI_SUCCESS, told = true;
    uint64_t id = wc->id;
    uint32_t freed = 1;
    enum origin origin = RECEIVED;
    if ((id & VAPI_ID_RECEIVE) == VAPI_ID_RECEIVE)
        id &= ~VAPI_ID_RECEIVE;
    else if (!success || id & VAPI_ID_TRACKED)
        origin = poll_find_record(cq, wc, &id, &freed, &told);
    if (origin == NOBODYS || !told) return false;
    if (success) {
        vapi_usual_finish(wc);
        wc->id = id;
        wc->free_res_count = freed;
        return true;
    }
    VAPI_wc_desc_t failed = {.id = id,
                             .status = vapi_wc_status(wc->status),
                             .opcode =
                                 origin == RECEIVED ? VAPI_CQE_RQ_SEND_DATA : VAPI_CQE_SQ_SEND_DATA,
                             .vendor_err_syndrome = wc->vendor_err_syndrome,
                             .local_qp_num = wc->local_qp_num,
                             .free_res_count = freed};
    *wc = failed;
    return true;
}

/* --- the ring of waiting completions; with the CQ's lock --- */

static void open_or_shut(struct vapi_cq *cq)
{
    bool open = !cq->careful && cq->staged_count == 0;
    __atomic_store_n(&vapi_slot_of(cq->handle)->usual,
                     open ? VAPI_PAIR(cq->hca->handle, cq->handle) : 0, __ATOMIC_RELEASE);
}

static VAPI_wc_desc_t *staged_at(struct vapi_cq *cq, size_t i)
{
    return &cq->staged[(cq->staged_first + i) % cq->staged_room];
}

static bool poll_make_room(struct vapi_cq *cq)
{
    if (cq->staged_count < cq->staged_room) return true;
    size_t room = cq->staged_room ? 2 * cq->staged_room : 16;
    VAPI_wc_desc_t *larger = malloc(room * sizeof *larger);
    if (!larger) return false;
    for (size_t i = 0; i < cq->staged_count; i++) larger[i] = *staged_at(cq, i);
    free(cq->staged);
    cq->staged = larger;
    cq->staged_room = room;
    cq->staged_first = 0;
    return true;
}

/* Polls one completion from verbs; 0: none.  */
static int poll_take(struct vapi_cq *cq, VAPI_wc_desc_t *wc)
{
    return ibv_poll_cq(cq->verbs, 1, (struct ibv_wc *)(void *)wc);
}

static VAPI_ret_t poll_verbs(struct vapi_cq *cq, VAPI_wc_desc_t *wc)
{
    int count;
    while ((count = poll_take(cq, wc)) > 0)
        if (poll_translate(cq, wc)) return VAPI_OK;
    return count == 0 ? VAPI_CQ_EMPTY : VAPI_EFATAL;
}

VAPI_cqe_num_t vapi_cq_waiting(struct vapi_cq *cq, VAPI_cqe_num_t n)
{
    pthread_mutex_lock(&cq->lock);
    cq->careful = true;
    open_or_shut(cq);
    while (cq->staged_count < n && poll_make_room(cq)) {
        if (poll_verbs(cq, staged_at(cq, cq->staged_count)) != VAPI_OK) break;
        cq->staged_count++;
    }
    VAPI_cqe_num_t waiting = (VAPI_cqe_num_t)cq->staged_count;
    pthread_mutex_unlock(&cq->lock);
    return waiting;
}

/* Some devices do not remove the completions of a queue pair that is reset or destroyed.  */
void vapi_cq_purge(struct vapi_cq *cq, uint32_t qp_number)
{
    VAPI_wc_desc_t wc;
    size_t kept = 0;
    pthread_mutex_lock(&cq->lock);
    for (size_t i = 0; i < cq->staged_count; i++)
        if (staged_at(cq, i)->local_qp_num != qp_number) *staged_at(cq, kept++) = *staged_at(cq, i);
    cq->staged_count = kept;
    while (poll_make_room(cq) && poll_take(cq, &wc) > 0) {
        bool told = poll_translate(cq, &wc); /* also releases the record of the work request */
        if (wc.local_qp_num == qp_number || !told) continue;
        *staged_at(cq, cq->staged_count++) = wc;
        open_or_shut(cq);
    }
    open_or_shut(cq);
    pthread_mutex_unlock(&cq->lock);
}

/* --- calls --- */

VAPI_ret_t vapi_poll_cq_rest(u_int64_t pair, VAPI_cq_hndl_t handle, VAPI_wc_desc_t *wc)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(VAPI_HCA_OF(pair, handle), handle, KIND_CQ, &code);
    if (code != VAPI_OK) return code;
    pthread_mutex_lock(&cq->lock);
    if (cq->staged_count > 0) {
        *wc = *staged_at(cq, 0);
        cq->staged_first = (cq->staged_first + 1) % cq->staged_room;
        cq->staged_count--;
        open_or_shut(cq);
    } else
        code = poll_verbs(cq, wc);
    pthread_mutex_unlock(&cq->lock);
    return code;
}

VAPI_ret_t vapi_poll_cq_odd(VAPI_wc_desc_t *wc, int count)
{
    struct vapi_cq *cq = vapi_object(wc->free_res_count, KIND_CQ);
    if (!cq) return VAPI_EINVAL_CQ_HNDL;
    if (count != 1) return VAPI_EFATAL;
    return poll_translate(cq, wc)
               ? VAPI_OK
               : vapi_poll_cq_rest(VAPI_PAIR(cq->hca->handle, cq->handle), cq->handle, wc);
}

VAPI_ret_t VAPI_poll_cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, VAPI_wc_desc_t *wc)
{
    return vapi_usual_poll(hca, cq, wc);
}

/* The completion that verbs has put into `wc`; false if it is not reported. */
static inline bool poll_finish(VAPI_cq_hndl_t handle, VAPI_wc_desc_t *wc)
{
    if (wc->status != VAPI_SUCCESS || wc->id & VAPI_ID_ODD)
        return poll_translate(vapi_object(handle, KIND_CQ), wc);
    vapi_usual_finish(wc);
    return true;
}

VAPI_ret_t EVAPI_poll_cq_list(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, u_int32_t most,
                              VAPI_wc_desc_t *wc, u_int32_t *count)
{
    enum { POLLED = 64 };
    struct ibv_wc taken[POLLED];
    struct vapi_slot *slot = vapi_slot_of(handle);
    VAPI_wc_desc_t *to = wc;
    *count = 0;
    if (most == 0) return VAPI_EINVAL_PARAM;
    if (__atomic_load_n(&slot->usual, __ATOMIC_ACQUIRE) != VAPI_PAIR(hca, handle)) {
        const VAPI_ret_t code = VAPI_poll_cq(hca, handle, wc);
        *count = code == VAPI_OK;
        return code;
    }
    const int n = slot->call.poll(slot->verbs.cq, most < POLLED ? (int)most : POLLED, taken);
    if (n == 0) return VAPI_CQ_EMPTY;
    for (int i = 0; i < n; i++) {
        memcpy(to, &taken[i], sizeof taken[i]);
        to += poll_finish(handle, to);
    }
    *count = (u_int32_t)(to - wc);
    return n < 0 ? VAPI_EFATAL : *count > 0 ? VAPI_OK : VAPI_CQ_EMPTY;
}

VAPI_ret_t EVAPI_peek_cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, VAPI_cqe_num_t n)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code != VAPI_OK) return code;
    if (n == 0 || n > (uint32_t)cq->verbs->cqe) return VAPI_E2BIG_CQ_NUM;
    return vapi_cq_waiting(cq, n) >= n ? VAPI_OK : VAPI_CQ_EMPTY;
}
