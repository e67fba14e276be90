/* fmr.c - fast memory regions, for programs that use them.
 *
 * Some releases had them for user programs; the latest header declares them for the kernel only.
 * GASNet's configure uses them if EVAPI_unmap_fmr links.  Verbs has no fast regions, so a mapping
 * is an ordinary registration, and as slow as one.
 */
#include <stdlib.h>

#include "objects.h"

enum { MOST_UNMAPPED = 2000, MOST_PAGE_SHIFT = 31 };

VAPI_ret_t EVAPI_alloc_fmr(VAPI_hca_hndl_t handle, EVAPI_fmr_t *properties, EVAPI_fmr_hndl_t *fmr)
{
    const VAPI_mrw_acl_t changes = VAPI_EN_REMOTE_WRITE | VAPI_EN_REMOTE_ATOM;
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (!properties || !fmr) return VAPI_EINVAL_PARAM;
    struct vapi_pd *pd = vapi_object_of(hca, properties->pd_hndl, KIND_PD);
    if (!pd) return VAPI_EINVAL_PD_HNDL;
    if (properties->acl >= VAPI_EN_MEMREG_BIND) return VAPI_EINVAL_ACL;
    if (properties->acl & changes && !(properties->acl & VAPI_EN_LOCAL_WRITE))
        return VAPI_EINVAL_ACL;
    if (properties->max_pages == 0 || properties->max_outstanding_maps == 0 ||
        properties->log2_page_sz > MOST_PAGE_SHIFT)
        return VAPI_EINVAL_PARAM;
    struct vapi_fmr *made = calloc(1, sizeof *made);
    if (!made) return VAPI_ENOMEM;
    made->pd = pd;
    made->properties = *properties;
    made->maps = calloc(properties->max_outstanding_maps, sizeof(struct ibv_mr *));
    if (made->maps) made->handle = vapi_handle_new(KIND_FMR, handle, made);
    if (!made->handle) {
        free(made->maps);
        free(made);
        return VAPI_EAGAIN;
    }
    pthread_mutex_init(&made->lock, NULL);
    vapi_pd_hold(pd);
    *fmr = made->handle;
    return VAPI_OK;
}

/* The pages that the range touches must be no more than were asked for. */
static VAPI_ret_t fmr_check_range(const struct vapi_fmr *fmr, const EVAPI_fmr_map_t *map)
{
    unsigned shift = fmr->properties.log2_page_sz;
    VAPI_virt_addr_t last = map->start + map->size - 1;
    if (map->size == 0 || last < map->start) return VAPI_EINVAL_LEN;
    return (last >> shift) - (map->start >> shift) >= fmr->properties.max_pages ? VAPI_EINVAL_LEN
                                                                                : VAPI_OK;
}

VAPI_ret_t EVAPI_map_fmr(VAPI_hca_hndl_t hca, EVAPI_fmr_hndl_t handle, EVAPI_fmr_map_t *map,
                         VAPI_lkey_t *lkey, VAPI_rkey_t *rkey)
{
    VAPI_ret_t code;
    struct vapi_fmr *fmr = vapi_find(hca, handle, KIND_FMR, &code);
    if (code != VAPI_OK) return code;
    if (!map || !lkey || !rkey) return VAPI_EINVAL_PARAM;
    if (map->page_array_len != 0) return VAPI_ENOSYS; /* physical pages */
    code = fmr_check_range(fmr, map);
    if (code != VAPI_OK) return code;
    pthread_mutex_lock(&fmr->lock);
    if (fmr->count == fmr->properties.max_outstanding_maps)
        code = VAPI_EAGAIN;
    else {
        struct ibv_mr *mr = ibv_reg_mr(fmr->pd->verbs, (void *)(uintptr_t)map->start, map->size,
                                       (int)fmr->properties.acl);
        if (!mr)
            code = vapi_error(errno, VAPI_EINVAL_PARAM);
        else {
            fmr->maps[fmr->count++] = mr;
            *lkey = mr->lkey;
            *rkey = mr->rkey;
        }
    }
    pthread_mutex_unlock(&fmr->lock);
    return code;
}

static VAPI_ret_t fmr_unmap(struct vapi_fmr *fmr)
{
    VAPI_ret_t code = VAPI_OK;
    pthread_mutex_lock(&fmr->lock);
    while (fmr->count > 0 && code == VAPI_OK) {
        code = vapi_error(ibv_dereg_mr(fmr->maps[fmr->count - 1]), VAPI_EINVAL_MR_HNDL);
        if (code == VAPI_OK) fmr->count--;
    }
    pthread_mutex_unlock(&fmr->lock);
    return code;
}

VAPI_ret_t EVAPI_unmap_fmr(VAPI_hca_hndl_t hca, MT_size_t n, EVAPI_fmr_hndl_t *array)
{
    VAPI_ret_t code = VAPI_OK;
    if (!vapi_hca(hca)) return VAPI_EINVAL_HCA_HNDL;
    if (n == 0 || n > MOST_UNMAPPED || !array) return VAPI_EINVAL_PARAM;
    for (MT_size_t i = 0; i < n; i++)
        if (!vapi_find(hca, array[i], KIND_FMR, &code)) return code;
    for (MT_size_t i = 0; i < n && code == VAPI_OK; i++)
        code = fmr_unmap(vapi_object(array[i], KIND_FMR));
    return code;
}

VAPI_ret_t EVAPI_free_fmr(VAPI_hca_hndl_t hca, EVAPI_fmr_hndl_t handle)
{
    VAPI_ret_t code;
    struct vapi_fmr *fmr = vapi_find(hca, handle, KIND_FMR, &code);
    if (code == VAPI_OK) code = fmr_unmap(fmr);
    if (code != VAPI_OK) return code;
    vapi_handle_free(fmr->handle);
    vapi_pd_drop(fmr->pd);
    pthread_mutex_destroy(&fmr->lock);
    free(fmr->maps);
    free(fmr);
    return VAPI_OK;
}
