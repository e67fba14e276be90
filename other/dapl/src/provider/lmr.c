/* lmr.c - local memory regions, which are memory regions of verbs.
 *
 * Local read permission is always there, and remote writing includes local writing, as verbs
 * demand; a query still reports what the program asked for.
 */
#include <errno.h>

#include "provider.h"

static int access_of(DAT_MEM_PRIV_FLAGS privileges)
{
    int access = 0;
    if (privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) access |= IBV_ACCESS_LOCAL_WRITE;
    if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG) access |= IBV_ACCESS_REMOTE_READ;
    if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
        access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    return access;
}

/* Checks the parameters of dat_lmr_create in their order, and finds the region's memory.  */
static DAT_RETURN check_region(const struct udapl_ia *ia, DAT_MEM_TYPE type,
                               DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_LMR_PARAM *param)
{
    const struct udapl_lmr *other;
    switch (type) {
    case DAT_MEM_TYPE_VIRTUAL:
        /* dapltest expects this code, and not DAT_INVALID_PARAMETER. */
        if (length == 0) return UDAPL_CODE(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
        if (!region.for_va) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        param->registered_address = (DAT_VADDR)(uintptr_t)region.for_va;
        param->registered_size = length;
        break;
    case DAT_MEM_TYPE_LMR:
        other = udapl_object_in(ia, region.for_lmr_handle, UDAPL_LMR);
        if (!other) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
        param->registered_address = other->param.registered_address;
        param->registered_size = other->param.registered_size;
        break;
    case DAT_MEM_TYPE_SHARED_VIRTUAL:
        return UDAPL_CODE(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
    default:
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    }
    return param->registered_size > ia->device.max_mr_size
               ? UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4)
               : DAT_SUCCESS;
}

static DAT_RETURN check_rights(DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
                               const DAT_LMR_HANDLE *handle)
{
    if (privileges & ~DAT_MEM_PRIV_ALL_FLAG)
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
    if (va_type == DAT_VA_TYPE_ZB) return UDAPL_CODE(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
    if (va_type != DAT_VA_TYPE_VA) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
    return handle ? DAT_SUCCESS : UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
}

static DAT_RETURN registration_failed(int error)
{
    if (error == EFAULT) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    if (error == EINVAL) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
    return udapl_no_resource(error, DAT_RESOURCE_MEMORY_REGION);
}

static DAT_RETURN lmr_register(struct udapl_ia *ia, struct udapl_pz *pz, const DAT_LMR_PARAM *param,
                               struct udapl_lmr **made)
{
    struct ibv_mr *verbs = ibv_reg_mr(pz->verbs, (void *)(uintptr_t)param->registered_address,
                                      param->registered_size, access_of(param->mem_priv));
    if (!verbs) return registration_failed(errno);
    struct udapl_lmr *lmr = udapl_object_new(ia, UDAPL_LMR, sizeof *lmr);
    if (!lmr) {
        ibv_dereg_mr(verbs);
        return udapl_no_resource(ENOMEM, DAT_RESOURCE_MEMORY);
    }
    lmr->pz = pz;
    lmr->verbs = verbs;
    lmr->param = *param;
    lmr->param.lmr_context = verbs->lkey;
    lmr->param.rmr_context = verbs->rkey;
    udapl_hold(&pz->object);
    *made = lmr;
    return DAT_SUCCESS;
}

DAT_RETURN udapl_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE type,
                            DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
                            DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
                            DAT_LMR_HANDLE *handle, DAT_LMR_CONTEXT *lmr_context,
                            DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_size,
                            DAT_VADDR *registered_address)
{
    struct udapl_ia *ia = udapl_object_of(ia_handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    struct udapl_pz *pz = udapl_object_in(ia, pz_handle, UDAPL_PZ);
    if (!pz) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    DAT_LMR_PARAM param = {.mem_type = type,
                           .region_desc = region,
                           .length = length,
                           .pz_handle = pz_handle,
                           .mem_priv = privileges,
                           .va_type = va_type};
    DAT_RETURN code = check_region(ia, type, region, length, &param);
    if (code == DAT_SUCCESS) code = check_rights(privileges, va_type, handle);
    struct udapl_lmr *lmr = NULL;
    if (code == DAT_SUCCESS) code = lmr_register(ia, pz, &param, &lmr);
    if (code != DAT_SUCCESS) return code;
    *handle = lmr;
    if (lmr_context) *lmr_context = lmr->param.lmr_context;
    if (rmr_context) *rmr_context = lmr->param.rmr_context;
    if (registered_size) *registered_size = lmr->param.registered_size;
    if (registered_address) *registered_address = lmr->param.registered_address;
    return DAT_SUCCESS;
}

DAT_RETURN udapl_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
    const struct udapl_lmr *lmr = udapl_object_of(handle, UDAPL_LMR);
    if (!lmr) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    if (mask & ~DAT_LMR_FIELD_ALL) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (!param) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    *param = lmr->param;
    param->ia_handle = udapl_ia_name_of(&lmr->object);
    return DAT_SUCCESS;
}

DAT_RETURN udapl_lmr_free(DAT_LMR_HANDLE handle)
{
    struct udapl_lmr *lmr = udapl_object_of(handle, UDAPL_LMR);
    if (!lmr) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    if (!udapl_object_remove(&lmr->object))
        return UDAPL_CODE(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
    ibv_dereg_mr(lmr->verbs);
    udapl_drop(&lmr->pz->object);
    udapl_object_free(&lmr->object);
    return DAT_SUCCESS;
}

/* Memory is coherent for all devices that verbs support.  */
DAT_RETURN udapl_lmr_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN count)
{
    if (!udapl_object_of(ia, UDAPL_IA))
        return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (count > 0 && !segments) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    return DAT_SUCCESS;
}
