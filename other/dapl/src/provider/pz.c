/* pz.c - protection zones, which are protection domains of verbs.  */
#include <errno.h>

#include "provider.h"

DAT_RETURN udapl_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *handle)
{
    struct udapl_ia *ia = udapl_object_of(ia_handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (!handle) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    struct ibv_pd *verbs = ibv_alloc_pd(ia->verbs);
    if (!verbs) return udapl_no_resource(errno, DAT_RESOURCE_PROTECTION_DOMAIN);
    struct udapl_pz *pz = udapl_object_new(ia, UDAPL_PZ, sizeof *pz);
    if (!pz) {
        ibv_dealloc_pd(verbs);
        return udapl_no_resource(ENOMEM, DAT_RESOURCE_MEMORY);
    }
    pz->verbs = verbs;
    *handle = pz;
    return DAT_SUCCESS;
}

DAT_RETURN udapl_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
    const struct udapl_pz *pz = udapl_object_of(handle, UDAPL_PZ);
    if (!pz) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (mask & ~DAT_PZ_FIELD_ALL) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (!param) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    param->ia_handle = udapl_ia_name_of(&pz->object);
    return DAT_SUCCESS;
}

DAT_RETURN udapl_pz_free(DAT_PZ_HANDLE handle)
{
    struct udapl_pz *pz = udapl_object_of(handle, UDAPL_PZ);
    if (!pz) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (!udapl_object_remove(&pz->object))
        return UDAPL_CODE(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
    ibv_dealloc_pd(pz->verbs);
    udapl_object_free(&pz->object);
    return DAT_SUCCESS;
}
