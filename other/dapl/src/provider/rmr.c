/* rmr.c - remote memory regions, which are memory windows of type 1.
 *
 * A window is bound through a connected endpoint, and this provider connects none yet.
 */
#include <errno.h>
#include <string.h>

#include "provider.h"

DAT_RETURN udapl_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *handle)
{
    struct udapl_pz *pz = udapl_object_of(pz_handle, UDAPL_PZ);
    if (!pz) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (!handle) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    struct ibv_mw *verbs = ibv_alloc_mw(pz->verbs, IBV_MW_TYPE_1);
    if (!verbs) return udapl_no_resource(errno, DAT_RESOURCE_MEMORY_REGION);
    struct udapl_rmr *rmr = udapl_object_new(pz->object.ia, UDAPL_RMR, sizeof *rmr);
    if (!rmr) {
        ibv_dealloc_mw(verbs);
        return udapl_no_resource(ENOMEM, DAT_RESOURCE_MEMORY);
    }
    rmr->pz = pz;
    rmr->verbs = verbs;
    udapl_hold(&pz->object);
    *handle = rmr;
    return DAT_SUCCESS;
}

DAT_RETURN udapl_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
    const struct udapl_rmr *rmr = udapl_object_of(handle, UDAPL_RMR);
    if (!rmr) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
    if (mask & ~DAT_RMR_FIELD_ALL) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (!param) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    *param = (DAT_RMR_PARAM){.ia_handle = udapl_ia_name_of(&rmr->object),
                             .pz_handle = rmr->pz,
                             .rmr_context = rmr->verbs->rkey,
                             .rmr_scope = DAT_RMR_SCOPE_PZ};
    return DAT_SUCCESS;
}

DAT_RETURN udapl_rmr_bind(DAT_RMR_HANDLE handle, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
                          DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
                          DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
                          DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
    const struct udapl_rmr *rmr = udapl_object_of(handle, UDAPL_RMR);
    if (!rmr) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
    bool unbinds = triplet && triplet->segment_length == 0;
    if (!unbinds && !udapl_object_in(rmr->object.ia, lmr, UDAPL_LMR))
        return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    const struct udapl_object *ep = udapl_object_in(rmr->object.ia, ep_handle, UDAPL_EP);
    if (!ep) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (!triplet) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    if (privileges & ~DAT_MEM_PRIV_ALL_FLAG)
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
    if (va_type != DAT_VA_TYPE_VA) return UDAPL_CODE(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
    if (flags & ~UDAPL_REQUEST_FLAGS) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
    if (!context && !unbinds) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9);
    return udapl_not_connected(ep_handle);
}

DAT_RETURN udapl_rmr_free(DAT_RMR_HANDLE handle)
{
    struct udapl_rmr *rmr = udapl_object_of(handle, UDAPL_RMR);
    if (!rmr) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
    udapl_object_remove(&rmr->object);
    ibv_dealloc_mw(rmr->verbs);
    udapl_drop(&rmr->pz->object);
    udapl_object_free(&rmr->object);
    return DAT_SUCCESS;
}
