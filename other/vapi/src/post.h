/* post.h - functions shared by post.c, list.c, mw.c and srq.c.  */
#ifndef VAPI_POST_H
#define VAPI_POST_H

#include "objects.h"

/* VAPI_OK, or the error code of an invalid descriptor.  */
VAPI_ret_t vapi_check_send(const struct vapi_qp *qp, const VAPI_sr_desc_t *d, bool inlined);
VAPI_ret_t vapi_check_list(const VAPI_sg_lst_entry_t *list, u_int32_t length, u_int32_t most);
VAPI_ret_t vapi_check_recv(const struct vapi_qp *qp, const VAPI_rr_desc_t *d);
/* The code for a request that verbs refused although the checks found no error.  */
VAPI_ret_t vapi_refused(int error);

/* Converts all members except the id.  */
void vapi_translate_send(const struct vapi_qp *qp, const VAPI_sr_desc_t *d, bool inlined,
                         struct ibv_send_wr *wr);

/* True if the request is unsignalled.  */
static inline bool vapi_is_silent(const struct vapi_qp *qp, const VAPI_sr_desc_t *d)
{
    return qp->init.sq_sig_type == VAPI_SIGNAL_REQ_WR && d->comp_type == VAPI_UNSIGNALED;
}

/* With the receive lane's lock.  */
bool vapi_enter_recv(struct vapi_qp *qp, const VAPI_rr_desc_t *d, uint64_t *wr_id);
/* Enables or disables the fast path after a change of the receive lane.  */
void vapi_refresh_recv(struct vapi_qp *qp);

#endif
