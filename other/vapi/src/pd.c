/* pd.c - protection domains. */
#include <stdlib.h>

#include "objects.h"

VAPI_ret_t VAPI_alloc_pd(VAPI_hca_hndl_t handle, VAPI_pd_hndl_t *pd)
{
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (!pd) return VAPI_EINVAL_PARAM;
    struct vapi_pd *made = calloc(1, sizeof *made);
    if (!made) return VAPI_ENOMEM;
    made->hca = hca;
    made->verbs = ibv_alloc_pd(hca->verbs);
    VAPI_ret_t code = made->verbs ? VAPI_OK : vapi_error(errno, VAPI_EAGAIN);
    if (code == VAPI_OK && !(made->handle = vapi_handle_new(KIND_PD, handle, made)))
        code = VAPI_EAGAIN;
    if (code != VAPI_OK) {
        if (made->verbs) ibv_dealloc_pd(made->verbs);
        free(made);
        return code;
    }
    vapi_hold(&hca->objects);
    *pd = made->handle;
    return VAPI_OK;
}

VAPI_ret_t EVAPI_alloc_pd(VAPI_hca_hndl_t hca, u_int32_t max_avs, VAPI_pd_hndl_t *pd)
{
    if (!vapi_hca(hca)) return VAPI_EINVAL_HCA_HNDL;
    return max_avs == 0 ? VAPI_EINVAL_PARAM : VAPI_alloc_pd(hca, pd);
}

VAPI_ret_t EVAPI_alloc_pd_sqp(VAPI_hca_hndl_t hca, u_int32_t max_avs, VAPI_pd_hndl_t *pd)
{
    return EVAPI_alloc_pd(hca, max_avs, pd);
}

VAPI_ret_t VAPI_dealloc_pd(VAPI_hca_hndl_t hca, VAPI_pd_hndl_t handle)
{
    VAPI_ret_t code;
    struct vapi_pd *pd = vapi_find(hca, handle, KIND_PD, &code);
    if (code != VAPI_OK) return code;
    if (vapi_held(&pd->users)) return VAPI_EBUSY;
    int error = ibv_dealloc_pd(pd->verbs);
    if (error) return vapi_error(error, VAPI_EINVAL_PD_HNDL);
    vapi_handle_free(pd->handle);
    vapi_drop(&pd->hca->objects);
    free(pd);
    return VAPI_OK;
}
