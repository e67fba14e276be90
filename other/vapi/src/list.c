/* list.c - posting of lists: all of a list or none of it.
 *
 * The free space of a queue is known from records, which the queue has for all work requests from
 * its first list on.  For a list that does not fit the original header documents VAPI_EAGAIN, and
 * its implementation returned VAPI_E2BIG_WR_NUM, as for a single request; so does this one.
 */
#include <stdio.h>

#include "post.h"

enum { CHUNK = 16 };

static bool list_has_room(const struct vapi_lane *lane, u_int32_t n)
{
    return n <= lane->depth && lane->entered - lane->retired <= lane->depth - n;
}

/* Verbs accepted `taken` of `n` and refused the next.  Accepted requests cannot be undone; this
 * happens only if a queue's first list is posted while earlier requests fill the queue.  */
static VAPI_ret_t list_refused(u_int32_t taken, u_int32_t n, int error)
{
    if (taken == 0) return vapi_refused(error);
    fprintf(stderr,
            "libvapi: the device took %u of a list of %u work requests; make the queue deeper than "
            "what is posted before the first list\n",
            taken, n);
    return VAPI_EGEN;
}

/* --- sends --- */

/* Posts up to CHUNK of them, chained; *taken: how many verbs accepted.  */
static int send_chunk(struct vapi_qp *qp, VAPI_sr_desc_t *array, u_int32_t n, u_int32_t *taken)
{
    struct ibv_send_wr wr[CHUNK], *bad = NULL;
    uint32_t silent[CHUNK];
    u_int32_t made = 0;
    for (; made < n; made++) {
        silent[made] = qp->send.silent;
        vapi_translate_send(qp, &array[made], false, &wr[made]);
        if (!vapi_lane_enter(&qp->send, array[made].id, 0, vapi_is_silent(qp, &array[made]),
                             &wr[made].wr_id))
            break; /* no memory for records */
        if (made > 0) wr[made - 1].next = &wr[made];
    }
    int error = made > 0 ? ibv_post_send(qp->verbs, wr, &bad) : ENOMEM;
    *taken = error == 0 ? made : made > 0 ? (u_int32_t)(bad - wr) : 0;
    for (u_int32_t i = made; i > *taken; i--)
        vapi_lane_undo(&qp->send, wr[i - 1].wr_id, silent[i - 1]);
    return error;
}

static VAPI_ret_t list_send_all(struct vapi_qp *qp, VAPI_sr_desc_t *array, u_int32_t n)
{
    u_int32_t done = 0;
    qp->send.all = true;
    vapi_qp_refresh(qp);
    if (!list_has_room(&qp->send, n)) return VAPI_E2BIG_WR_NUM;
    while (done < n) {
        u_int32_t taken;
        int error = send_chunk(qp, array + done, n - done < CHUNK ? n - done : CHUNK, &taken);
        done += taken;
        if (error) return list_refused(done, n, error);
    }
    return VAPI_OK;
}

VAPI_ret_t EVAPI_post_sr_list(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t handle, u_int32_t n,
                              VAPI_sr_desc_t *array)
{
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(hca, handle, KIND_QP, &code);
    if (code == VAPI_OK && (n == 0 || !array)) code = VAPI_EINVAL_PARAM;
    for (u_int32_t i = 0; i < n && code == VAPI_OK; i++)
        code = vapi_check_send(qp, &array[i], false);
    if (code != VAPI_OK) return code;
    pthread_mutex_lock(&qp->send.lock);
    code = list_send_all(qp, array, n);
    pthread_mutex_unlock(&qp->send.lock);
    return code;
}

/* --- receives --- */

static int recv_chunk(struct vapi_qp *qp, VAPI_rr_desc_t *array, u_int32_t n, u_int32_t *taken)
{
    struct ibv_recv_wr wr[CHUNK], *bad = NULL;
    uint32_t silent[CHUNK];
    u_int32_t made = 0;
    for (; made < n; made++) {
        silent[made] = qp->recv.silent;
        wr[made] = (struct ibv_recv_wr){.sg_list = (struct ibv_sge *)(void *)array[made].sg_lst_p,
                                        .num_sge = (int)array[made].sg_lst_len};
        if (!vapi_enter_recv(qp, &array[made], &wr[made].wr_id)) break;
        if (made > 0) wr[made - 1].next = &wr[made];
    }
    int error = made > 0 ? ibv_post_recv(qp->verbs, wr, &bad) : ENOMEM;
    *taken = error == 0 ? made : made > 0 ? (u_int32_t)(bad - wr) : 0;
    for (u_int32_t i = made; i > *taken; i--)
        vapi_lane_undo(&qp->recv, wr[i - 1].wr_id, silent[i - 1]);
    return error;
}

static VAPI_ret_t recv_all(struct vapi_qp *qp, VAPI_rr_desc_t *array, u_int32_t n)
{
    u_int32_t done = 0;
    qp->recv.all = true;
    vapi_refresh_recv(qp);
    if (!list_has_room(&qp->recv, n)) return VAPI_E2BIG_WR_NUM;
    while (done < n) {
        u_int32_t taken;
        int error = recv_chunk(qp, array + done, n - done < CHUNK ? n - done : CHUNK, &taken);
        done += taken;
        if (error) return list_refused(done, n, error);
    }
    return VAPI_OK;
}

VAPI_ret_t EVAPI_post_rr_list(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t handle, u_int32_t n,
                              VAPI_rr_desc_t *array)
{
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(hca, handle, KIND_QP, &code);
    if (code == VAPI_OK && qp->srq) code = VAPI_EINVAL_SRQ_HNDL;
    if (code == VAPI_OK && (n == 0 || !array)) code = VAPI_EINVAL_PARAM;
    for (u_int32_t i = 0; i < n && code == VAPI_OK; i++) code = vapi_check_recv(qp, &array[i]);
    if (code != VAPI_OK) return code;
    pthread_mutex_lock(&qp->recv.lock);
    code = recv_all(qp, array, n);
    pthread_mutex_unlock(&qp->recv.lock);
    return code;
}
