/* sp.c - service points: public (PSP) and reserved for one endpoint (RSP).
 *
 * They are objects of this process alone: no connection request arrives at them yet.
 */
#include <errno.h>

#include "provider.h"

static bool qualifier_used(struct udapl_ia *ia, DAT_CONN_QUAL qualifier)
{
    pthread_mutex_lock(&ia->lock);
    const struct udapl_object *object = ia->objects;
    while (object && ((object->kind != UDAPL_PSP && object->kind != UDAPL_RSP) ||
                      ((const struct udapl_sp *)object)->qualifier != qualifier))
        object = object->next;
    pthread_mutex_unlock(&ia->lock);
    return object;
}

static DAT_RETURN sp_create(struct udapl_ia *ia, enum udapl_kind kind, DAT_CONN_QUAL qualifier,
                            dapl_evd_t *evd, struct udapl_sp **made)
{
    if (qualifier_used(ia, qualifier)) return UDAPL_CODE(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
    DAT_RETURN code = dapl_evd_use(evd, DAT_COMPLETION_DEFAULT_FLAG);
    if (code != DAT_SUCCESS) return code;
    struct udapl_sp *sp = udapl_object_new(ia, kind, sizeof *sp);
    if (!sp) {
        dapl_evd_unuse(evd);
        return udapl_no_resource(ENOMEM, DAT_RESOURCE_MEMORY);
    }
    sp->qualifier = qualifier;
    sp->evd = evd;
    *made = sp;
    return DAT_SUCCESS;
}

static void sp_free(struct udapl_sp *sp)
{
    udapl_object_remove(&sp->object);
    dapl_evd_unuse(sp->evd);
    udapl_object_free(&sp->object);
}

DAT_RETURN udapl_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qualifier,
                            DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *handle)
{
    struct udapl_ia *ia = udapl_object_of(ia_handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    dapl_evd_t *evd = udapl_evd_in(ia, evd_handle, DAT_EVD_CR_FLAG);
    if (!evd) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
    if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
    if (!handle) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
    struct udapl_sp *sp;
    DAT_RETURN code = sp_create(ia, UDAPL_PSP, qualifier, evd, &sp);
    if (code != DAT_SUCCESS) return code;
    sp->flags = flags;
    *handle = sp;
    return DAT_SUCCESS;
}

DAT_RETURN udapl_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
    const struct udapl_sp *sp = udapl_object_of(handle, UDAPL_PSP);
    if (!sp) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
    if (mask & ~DAT_PSP_FIELD_ALL) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (!param) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    *param = (DAT_PSP_PARAM){.ia_handle = udapl_ia_name_of(&sp->object),
                             .conn_qual = sp->qualifier,
                             .evd_handle = sp->evd,
                             .psp_flags = sp->flags};
    return DAT_SUCCESS;
}

DAT_RETURN udapl_psp_free(DAT_PSP_HANDLE handle)
{
    struct udapl_sp *sp = udapl_object_of(handle, UDAPL_PSP);
    if (!sp) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
    sp_free(sp);
    return DAT_SUCCESS;
}

DAT_RETURN udapl_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qualifier,
                            DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
                            DAT_RSP_HANDLE *handle)
{
    struct udapl_ia *ia = udapl_object_of(ia_handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    struct udapl_ep *ep = udapl_object_in(ia, ep_handle, UDAPL_EP);
    if (!ep) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    dapl_evd_t *evd = udapl_evd_in(ia, evd_handle, DAT_EVD_CR_FLAG);
    if (!evd) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
    if (!handle) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
    if (ep->param.ep_state != DAT_EP_STATE_UNCONNECTED)
        return UDAPL_CODE(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED);
    struct udapl_sp *sp;
    DAT_RETURN code = sp_create(ia, UDAPL_RSP, qualifier, evd, &sp);
    if (code != DAT_SUCCESS) return code;
    sp->ep = ep;
    ep->param.ep_state = DAT_EP_STATE_RESERVED;
    *handle = sp;
    return DAT_SUCCESS;
}

DAT_RETURN udapl_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
    const struct udapl_sp *sp = udapl_object_of(handle, UDAPL_RSP);
    if (!sp) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
    if (mask & ~DAT_RSP_FIELD_ALL) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (!param) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    *param = (DAT_RSP_PARAM){.ia_handle = udapl_ia_name_of(&sp->object),
                             .conn_qual = sp->qualifier,
                             .evd_handle = sp->evd,
                             .ep_handle = sp->ep};
    return DAT_SUCCESS;
}

/* The endpoint is free for another use.  */
DAT_RETURN udapl_rsp_free(DAT_RSP_HANDLE handle)
{
    struct udapl_sp *sp = udapl_object_of(handle, UDAPL_RSP);
    if (!sp) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
    sp->ep->param.ep_state = DAT_EP_STATE_UNCONNECTED;
    sp_free(sp);
    return DAT_SUCCESS;
}
