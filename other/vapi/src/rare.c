/* rare.c - calls that verbs cannot implement: they check their handles and return VAPI_ENOSYS.  */
#include "objects.h"

/* `handle` of that kind, or `invalid`. */
static VAPI_ret_t rare_unsupported(VAPI_hca_hndl_t hca_handle, MT_ulong_ptr_t handle,
                                   enum vapi_kind kind, VAPI_ret_t invalid)
{
    struct vapi_hca *hca = vapi_hca(hca_handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    return vapi_object_of(hca, handle, kind) ? VAPI_ENOSYS : invalid;
}

VAPI_ret_t EVAPI_alloc_map_devmem(VAPI_hca_hndl_t hca, EVAPI_devmem_type_t type, VAPI_size_t bytes,
                                  u_int8_t align_shift, VAPI_phy_addr_t *physical, void **virt,
                                  VAPI_devmem_hndl_t *devmem)
{
    return rare_unsupported(hca, hca, KIND_HCA, VAPI_EINVAL_HCA_HNDL);
}

VAPI_ret_t EVAPI_query_devmem(VAPI_hca_hndl_t hca, EVAPI_devmem_type_t type, u_int8_t align_shift,
                              EVAPI_devmem_info_t *info)
{
    return rare_unsupported(hca, hca, KIND_HCA, VAPI_EINVAL_HCA_HNDL);
}

VAPI_ret_t EVAPI_free_unmap_devmem(VAPI_hca_hndl_t hca, VAPI_devmem_hndl_t devmem)
{
    return rare_unsupported(hca, hca, KIND_HCA, VAPI_EINVAL_HCA_HNDL);
}

VAPI_ret_t EVAPI_process_local_mad(VAPI_hca_hndl_t hca, IB_port_t port, IB_lid_t slid,
                                   EVAPI_proc_mad_opt_t options, const void *mad_in, void *mad_out)
{
    return rare_unsupported(hca, hca, KIND_HCA, VAPI_EINVAL_HCA_HNDL);
}

VAPI_ret_t EVAPI_suspend_qp(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, MT_bool suspend)
{
    return rare_unsupported(hca, qp, KIND_QP, VAPI_EINVAL_QP_HNDL);
}

VAPI_ret_t EVAPI_suspend_cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, MT_bool suspend)
{
    return rare_unsupported(hca, cq, KIND_CQ, VAPI_EINVAL_CQ_HNDL);
}
