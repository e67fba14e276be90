/* rare.c - calls that verbs cannot implement: they check their handles and return VAPI_ENOSYS.  */
#include "objects.h"

static VAPI_ret_t rare_unsupported(VAPI_hca_hndl_t hca, MT_ulong_ptr_t handle, enum vapi_kind kind)
{
    VAPI_ret_t code;
    return vapi_find(hca, handle, kind, &code) ? VAPI_ENOSYS : code;
}

VAPI_ret_t EVAPI_alloc_map_devmem(VAPI_hca_hndl_t hca, EVAPI_devmem_type_t type, VAPI_size_t bytes,
                                  u_int8_t align_shift, VAPI_phy_addr_t *physical, void **virt,
                                  VAPI_devmem_hndl_t *devmem)
{
    return rare_unsupported(hca, hca, KIND_HCA);
}

VAPI_ret_t EVAPI_query_devmem(VAPI_hca_hndl_t hca, EVAPI_devmem_type_t type, u_int8_t align_shift,
                              EVAPI_devmem_info_t *info)
{
    return rare_unsupported(hca, hca, KIND_HCA);
}

VAPI_ret_t EVAPI_free_unmap_devmem(VAPI_hca_hndl_t hca, VAPI_devmem_hndl_t devmem)
{
    return rare_unsupported(hca, hca, KIND_HCA);
}

VAPI_ret_t EVAPI_process_local_mad(VAPI_hca_hndl_t hca, IB_port_t port, IB_lid_t slid,
                                   EVAPI_proc_mad_opt_t options, const void *mad_in, void *mad_out)
{
    return rare_unsupported(hca, hca, KIND_HCA);
}

VAPI_ret_t EVAPI_suspend_qp(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, MT_bool suspend)
{
    return rare_unsupported(hca, qp, KIND_QP);
}

VAPI_ret_t EVAPI_suspend_cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, MT_bool suspend)
{
    return rare_unsupported(hca, cq, KIND_CQ);
}
