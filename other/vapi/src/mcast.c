/* mcast.c - multicast.  Joining a group at the subnet manager is not part of VAPI.  */
#include <string.h>

#include "objects.h"

enum { FIRST_MULTICAST_LID = 0xc000 };

/* The queue pair of a call, and the group in *gid; *code is VAPI_OK if it may join groups and
 * `mgid` is one.  */
static struct vapi_qp *mcast_find(VAPI_hca_hndl_t hca, const IB_gid_t mgid, VAPI_qp_hndl_t handle,
                                  union ibv_gid *gid, VAPI_ret_t *code)
{
    struct vapi_qp *qp = vapi_find(hca, handle, KIND_QP, code);
    if (!qp) return NULL;
    if (qp->init.ts_type != VAPI_TS_UD)
        *code = VAPI_EINVAL_SERVICE_TYPE;
    else if (!mgid || mgid[0] != 0xff)
        *code = VAPI_EINVAL_MCG_GID;
    else
        memcpy(gid->raw, mgid, sizeof gid->raw);
    return qp;
}

/* VAPI ignores the LID, and programs pass any value; some devices need that of the group.  */
static uint16_t mcast_lid_of(IB_lid_t given)
{
    return given >= FIRST_MULTICAST_LID ? given : 0;
}

VAPI_ret_t VAPI_attach_to_multicast(VAPI_hca_hndl_t hca, const IB_gid_t mgid, VAPI_qp_hndl_t handle,
                                    IB_lid_t ignored)
{
    union ibv_gid gid;
    VAPI_ret_t code;
    struct vapi_qp *qp = mcast_find(hca, mgid, handle, &gid, &code);
    if (code != VAPI_OK) return code;
    int error = ibv_attach_mcast(qp->verbs, &gid, mcast_lid_of(ignored));
    if ((error < 0 ? errno : error) == ENOMEM) return VAPI_E2BIG_MCG_SIZE;
    if (error) return vapi_error(error, VAPI_EINVAL_MCG_GID);
    vapi_hold(&qp->groups);
    return VAPI_OK;
}

VAPI_ret_t VAPI_detach_from_multicast(VAPI_hca_hndl_t hca, const IB_gid_t mgid,
                                      VAPI_qp_hndl_t handle, IB_lid_t ignored)
{
    union ibv_gid gid;
    VAPI_ret_t code;
    struct vapi_qp *qp = mcast_find(hca, mgid, handle, &gid, &code);
    if (code != VAPI_OK) return code;
    int error = ibv_detach_mcast(qp->verbs, &gid, mcast_lid_of(ignored));
    if (error) return vapi_error(error, VAPI_EINVAL_MCG_GID);
    vapi_drop(&qp->groups);
    return VAPI_OK;
}
