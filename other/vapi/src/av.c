/* av.c - address vectors, and handles of them for datagrams. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

/* The static rate stays 0, full speed: in VAPI it is a delay, in verbs a rate, and programs leave
 * the member uninitialised.  */
void vapi_to_ah_attr(const VAPI_ud_av_t *av, uint8_t port, struct ibv_ah_attr *attr)
{
    memset(attr, 0, sizeof *attr);
    attr->dlid = av->dlid;
    attr->sl = av->sl;
    attr->src_path_bits = av->src_path_bits;
    attr->port_num = port;
    if (!av->grh_flag) return;
    attr->is_global = 1;
    memcpy(attr->grh.dgid.raw, av->dgid, sizeof attr->grh.dgid.raw);
    attr->grh.flow_label = av->flow_label;
    attr->grh.sgid_index = av->sgid_index;
    attr->grh.hop_limit = av->hop_limit;
    attr->grh.traffic_class = av->traffic_class;
}

static VAPI_ret_t av_make(struct vapi_pd *pd, const VAPI_ud_av_t *av, struct ibv_ah **ah)
{
    struct ibv_ah_attr attr;
    if (!av) return VAPI_EINVAL_PARAM;
    if (av->port < 1 || av->port > pd->hca->attr.phys_port_cnt) return VAPI_EINVAL_PORT;
    vapi_to_ah_attr(av, av->port, &attr);
    *ah = ibv_create_ah(pd->verbs, &attr);
    return *ah ? VAPI_OK : vapi_error(errno, VAPI_EINVAL_PARAM);
}

VAPI_ret_t VAPI_create_addr_hndl(VAPI_hca_hndl_t hca, VAPI_pd_hndl_t pd_handle, VAPI_ud_av_t *av,
                                 VAPI_ud_av_hndl_t *ah)
{
    VAPI_ret_t code;
    struct vapi_pd *pd = vapi_find(hca, pd_handle, KIND_PD, &code);
    if (code != VAPI_OK) return code;
    if (!ah) return VAPI_EINVAL_PARAM;
    struct vapi_av *made = calloc(1, sizeof *made);
    if (!made) return VAPI_ENOMEM;
    code = av_make(pd, av, &made->verbs);
    if (code == VAPI_OK && !(made->handle = vapi_handle_new(KIND_AV, hca, made))) {
        ibv_destroy_ah(made->verbs);
        code = VAPI_EAGAIN;
    }
    if (code != VAPI_OK) {
        free(made);
        return code;
    }
    made->pd = pd;
    made->av = *av;
    vapi_pd_hold(pd);
    *ah = made->handle;
    return VAPI_OK;
}

VAPI_ret_t VAPI_modify_addr_hndl(VAPI_hca_hndl_t hca, VAPI_ud_av_hndl_t ah, VAPI_ud_av_t *av)
{
    struct ibv_ah *fresh;
    VAPI_ret_t code;
    struct vapi_av *found = vapi_find(hca, ah, KIND_AV, &code);
    if (code == VAPI_OK) code = av_make(found->pd, av, &fresh);
    if (code != VAPI_OK) return code;
    ibv_destroy_ah(found->verbs);
    found->verbs = fresh;
    found->av = *av;
    return VAPI_OK;
}

VAPI_ret_t VAPI_query_addr_hndl(VAPI_hca_hndl_t hca, VAPI_ud_av_hndl_t ah, VAPI_ud_av_t *av)
{
    VAPI_ret_t code;
    struct vapi_av *found = vapi_find(hca, ah, KIND_AV, &code);
    if (code == VAPI_OK && !av) code = VAPI_EINVAL_PARAM;
    if (code == VAPI_OK) *av = found->av;
    return code;
}

VAPI_ret_t VAPI_destroy_addr_hndl(VAPI_hca_hndl_t hca, VAPI_ud_av_hndl_t ah)
{
    VAPI_ret_t code;
    struct vapi_av *found = vapi_find(hca, ah, KIND_AV, &code);
    if (code != VAPI_OK) return code;
    int error = ibv_destroy_ah(found->verbs);
    if (error) return vapi_error(error, VAPI_EINVAL_AV_HNDL);
    vapi_handle_free(found->handle);
    vapi_pd_drop(found->pd);
    free(found);
    return VAPI_OK;
}
