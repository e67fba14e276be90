/* post.h - what post.c and list.c share. */
#ifndef VAPI_POST_H
#define VAPI_POST_H

#include "objects.h"

/* VAPI_OK, or what is wrong with a descriptor. */
VAPI_ret_t vapi_check_send(const struct vapi_qp *qp, const VAPI_sr_desc_t *d, bool inlined);
VAPI_ret_t vapi_check_list(const VAPI_sg_lst_entry_t *list, u_int32_t length, u_int32_t most);
VAPI_ret_t vapi_check_recv(const struct vapi_qp *qp, const VAPI_rr_desc_t *d);
/* What verbs refused although nothing is wrong that we know of. */
VAPI_ret_t vapi_refused(int error);

/* All but the number. */
void vapi_translate_send(const struct vapi_qp *qp, const VAPI_sr_desc_t *d, bool inlined,
                         struct ibv_send_wr *wr);

/* No completion is wanted. */
static inline bool vapi_is_silent(const struct vapi_qp *qp, const VAPI_sr_desc_t *d)
{
    return qp->init.sq_sig_type == VAPI_SIGNAL_REQ_WR && d->comp_type == VAPI_UNSIGNALED;
}

/* With the receive lane locked. */
bool vapi_enter_recv(struct vapi_qp *qp, const VAPI_rr_desc_t *d, uint64_t *wr_id);
/* Opens or shuts the short way, after a change to the receive lane. */
void vapi_refresh_recv(struct vapi_qp *qp);

#endif
