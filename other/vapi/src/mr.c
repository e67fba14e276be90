/* mr.c - memory regions: register, reregister, share, deregister.  */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

/* Access rights have verbs' values. */
_Static_assert((int)VAPI_EN_LOCAL_WRITE == IBV_ACCESS_LOCAL_WRITE &&
                   (int)VAPI_EN_REMOTE_WRITE == IBV_ACCESS_REMOTE_WRITE &&
                   (int)VAPI_EN_REMOTE_READ == IBV_ACCESS_REMOTE_READ &&
                   (int)VAPI_EN_REMOTE_ATOM == IBV_ACCESS_REMOTE_ATOMIC &&
                   (int)VAPI_EN_MEMREG_BIND == IBV_ACCESS_MW_BIND,
               "rights");
_Static_assert((int)VAPI_MR_CHANGE_TRANS == IBV_REREG_MR_CHANGE_TRANSLATION &&
                   (int)VAPI_MR_CHANGE_PD == IBV_REREG_MR_CHANGE_PD &&
                   (int)VAPI_MR_CHANGE_ACL == IBV_REREG_MR_CHANGE_ACCESS,
               "changes");

enum { ALL_RIGHTS = 31, ALL_CHANGES = 7 };

/* The original's behaviour for 0 bytes, or a range beyond the end of the address space, is not
 * known; VAPI_EINVAL_LEN is the appropriate code.  */
static VAPI_ret_t mr_check_range(VAPI_virt_addr_t start, VAPI_size_t size)
{
    return size == 0 || start + size - 1 < start ? VAPI_EINVAL_LEN : VAPI_OK;
}

static VAPI_ret_t check_acl(VAPI_mrw_acl_t acl)
{
    bool changes = acl & (VAPI_EN_REMOTE_WRITE | VAPI_EN_REMOTE_ATOM);
    if (acl & ~(VAPI_mrw_acl_t)ALL_RIGHTS) return VAPI_EINVAL_ACL;
    return changes && !(acl & VAPI_EN_LOCAL_WRITE) ? VAPI_EINVAL_ACL : VAPI_OK;
}

static VAPI_ret_t check_type(VAPI_mrw_type_t type)
{
    return type == VAPI_MR ? VAPI_OK : type == VAPI_MPR ? VAPI_ENOSYS : VAPI_EINVAL_PARAM;
}

static struct ibv_mr *mr_reg(struct vapi_pd *pd, const VAPI_mr_t *mr)
{
    return ibv_reg_mr(pd->verbs, (void *)(uintptr_t)mr->start, mr->size, (int)mr->acl);
}

/* Creates the object of a registration; on failure deregisters.  */
static VAPI_ret_t mr_add(struct vapi_pd *pd, struct ibv_mr *verbs, const VAPI_mr_t *like,
                         VAPI_mr_hndl_t *handle, VAPI_mr_t *reply)
{
    struct vapi_mr *mr = calloc(1, sizeof *mr);
    if (mr) mr->handle = vapi_handle_new(KIND_MR, pd->hca->handle, mr);
    if (!mr || !mr->handle) {
        ibv_dereg_mr(verbs);
        free(mr);
        return VAPI_EAGAIN;
    }
    mr->pd = pd;
    mr->verbs = verbs;
    mr->mr = (VAPI_mr_t){.type = like->type,
                         .l_key = verbs->lkey,
                         .r_key = verbs->rkey,
                         .start = like->start,
                         .size = like->size,
                         .pd_hndl = pd->handle,
                         .acl = like->acl};
    vapi_pd_hold(pd);
    pthread_mutex_lock(&pd->hca->lock);
    mr->next = pd->hca->mrs;
    mr->link = &pd->hca->mrs;
    if (mr->next) mr->next->link = &mr->next;
    pd->hca->mrs = mr;
    pthread_mutex_unlock(&pd->hca->lock);
    *handle = mr->handle;
    if (reply) *reply = mr->mr;
    return VAPI_OK;
}

/* Frees the object of a region that is deregistered.  */
static void mr_remove(struct vapi_mr *mr)
{
    struct vapi_hca *hca = mr->pd->hca;
    pthread_mutex_lock(&hca->lock);
    *mr->link = mr->next;
    if (mr->next) mr->next->link = mr->link;
    pthread_mutex_unlock(&hca->lock);
    vapi_handle_free(mr->handle);
    vapi_pd_drop(mr->pd);
    free(mr);
}

VAPI_ret_t VAPI_register_mr(VAPI_hca_hndl_t handle, VAPI_mr_t *request, VAPI_mr_hndl_t *mr,
                            VAPI_mr_t *reply)
{
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (!request || !mr) return VAPI_EINVAL_PARAM;
    VAPI_ret_t code = check_type(request->type);
    if (code != VAPI_OK) return code;
    struct vapi_pd *pd = vapi_object_of(hca, request->pd_hndl, KIND_PD);
    if (!pd) return VAPI_EINVAL_PD_HNDL;
    code = mr_check_range(request->start, request->size);
    if (code == VAPI_OK) code = check_acl(request->acl);
    if (code != VAPI_OK) return code;
    struct ibv_mr *verbs = mr_reg(pd, request);
    /* EOPNOTSUPP is of file systems whose pages are not pinned. */
    if (!verbs) return vapi_error(errno == EOPNOTSUPP ? EFAULT : errno, VAPI_EINVAL_PARAM);
    return mr_add(pd, verbs, request, mr, reply);
}

/* Registers the same pages for another domain or with other rights.  Only some devices support
 * another address.  */
VAPI_ret_t VAPI_register_smr(VAPI_hca_hndl_t hca, VAPI_mr_hndl_t orig, VAPI_mr_t *request,
                             VAPI_mr_hndl_t *mr, VAPI_mr_t *reply)
{
    VAPI_ret_t code;
    struct vapi_mr *first = vapi_find(hca, orig, KIND_MR, &code);
    if (code != VAPI_OK) return code;
    if (!request || !mr) return VAPI_EINVAL_PARAM;
    struct vapi_pd *pd = vapi_object_of(first->pd->hca, request->pd_hndl, KIND_PD);
    if (!pd) return VAPI_EINVAL_PD_HNDL;
    code = check_acl(request->acl);
    if (code != VAPI_OK) return code;
    VAPI_mr_t same = {
        .type = VAPI_MSHAR, .start = first->mr.start, .size = first->mr.size, .acl = request->acl};
    struct ibv_mr *verbs;
    if (request->start == same.start)
        verbs = mr_reg(pd, &same);
    else {
        verbs = ibv_reg_mr_iova(pd->verbs, (void *)(uintptr_t)same.start, same.size, request->start,
                                (int)same.acl);
        same.start = request->start;
        if (!verbs && (errno == EINVAL || errno == EOPNOTSUPP)) return VAPI_EINVAL_VA;
    }
    if (!verbs) return vapi_error(errno, VAPI_EINVAL_PARAM);
    return mr_add(pd, verbs, &same, mr, reply);
}

VAPI_ret_t VAPI_query_mr(VAPI_hca_hndl_t hca, VAPI_mr_hndl_t handle, VAPI_mr_t *reply,
                         VAPI_virt_addr_t *remote_start, VAPI_virt_addr_t *remote_size)
{
    VAPI_ret_t code;
    struct vapi_mr *mr = vapi_find(hca, handle, KIND_MR, &code);
    if (code == VAPI_OK && !reply) code = VAPI_EINVAL_PARAM;
    if (code != VAPI_OK) return code;
    bool remote = mr->mr.acl & (VAPI_EN_REMOTE_WRITE | VAPI_EN_REMOTE_READ | VAPI_EN_REMOTE_ATOM);
    *reply = mr->mr;
    if (remote_start) *remote_start = remote ? mr->mr.start : 0;
    if (remote_size) *remote_size = remote ? mr->mr.size : 0;
    return VAPI_OK;
}

VAPI_ret_t VAPI_deregister_mr(VAPI_hca_hndl_t hca, VAPI_mr_hndl_t handle)
{
    VAPI_ret_t code;
    struct vapi_mr *mr = vapi_find(hca, handle, KIND_MR, &code);
    if (code != VAPI_OK) return code;
    if (vapi_held(&mr->windows)) return VAPI_EBUSY;
    int error = ibv_dereg_mr(mr->verbs);
    if (error) return vapi_error(error, VAPI_EINVAL_MR_HNDL);
    mr_remove(mr);
    return VAPI_OK;
}

/* --- registering again --- */

/* The properties of the changed region.  */
static VAPI_ret_t mr_compose(const struct vapi_mr *mr, VAPI_mr_change_t change,
                             const VAPI_mr_t *request, VAPI_mr_t *wanted)
{
    *wanted = mr->mr;
    if (change & VAPI_MR_CHANGE_TRANS) {
        wanted->type = request->type;
        wanted->start = request->start;
        wanted->size = request->size;
    }
    if (change & VAPI_MR_CHANGE_ACL) wanted->acl = request->acl;
    if (change == 0 || change & ~(VAPI_mr_change_t)ALL_CHANGES) return VAPI_EINVAL_PARAM;
    VAPI_ret_t code = change & VAPI_MR_CHANGE_TRANS ? check_type(wanted->type) : VAPI_OK;
    if (code == VAPI_OK) code = mr_check_range(wanted->start, wanted->size);
    return code == VAPI_OK ? check_acl(wanted->acl) : code;
}

/* If the device cannot change a region, it is replaced by a new one; without resources for both,
 * the old one is deregistered first.  */
static int mr_replace(struct vapi_mr *mr, struct vapi_pd *pd, const VAPI_mr_t *wanted, bool *gone)
{
    struct ibv_mr *fresh = mr_reg(pd, wanted);
    if (!fresh && errno != ENOMEM && errno != EAGAIN) return errno;
    int error = ibv_dereg_mr(mr->verbs);
    if (error) {
        if (fresh) ibv_dereg_mr(fresh);
        return error;
    }
    if (!fresh) fresh = mr_reg(pd, wanted);
    *gone = !fresh;
    mr->verbs = fresh;
    return fresh ? 0 : errno;
}

static int change_region(struct vapi_mr *mr, VAPI_mr_change_t change, struct vapi_pd *pd,
                         const VAPI_mr_t *wanted, bool *gone)
{
    int result = ibv_rereg_mr(mr->verbs, (int)change, pd->verbs, (void *)(uintptr_t)wanted->start,
                              wanted->size, (int)wanted->acl);
    if (result == 0) return 0;
    if (result == IBV_REREG_MR_ERR_INPUT || result == IBV_REREG_MR_ERR_DONT_FORK_NEW ||
        errno == EOPNOTSUPP || errno == ENOSYS)
        return mr_replace(mr, pd, wanted, gone);
    return errno ? errno : EIO;
}

/* After these codes the region is deregistered, as documented for the original.  */
static bool ends_region(VAPI_ret_t code)
{
    return code == VAPI_EAGAIN || code == VAPI_ENOMEM || code == VAPI_EINVAL_ACL ||
           code == VAPI_EINVAL_LEN || code == VAPI_EINVAL_PARAM;
}

VAPI_ret_t VAPI_reregister_mr(VAPI_hca_hndl_t hca, VAPI_mr_hndl_t handle, VAPI_mr_change_t change,
                              VAPI_mr_t *request, VAPI_mr_hndl_t *new_mr, VAPI_mr_t *reply)
{
    VAPI_mr_t wanted;
    bool gone = false;
    VAPI_ret_t code;
    struct vapi_mr *mr = vapi_find(hca, handle, KIND_MR, &code);
    if (code != VAPI_OK) return code;
    if (vapi_held(&mr->windows)) return VAPI_EBUSY;
    if (!request || !new_mr) return VAPI_EINVAL_PARAM;
    struct vapi_pd *pd = mr->pd;
    if (change & VAPI_MR_CHANGE_PD) pd = vapi_object_of(mr->pd->hca, request->pd_hndl, KIND_PD);
    if (!pd) return VAPI_EINVAL_PD_HNDL;
    code = mr_compose(mr, change, request, &wanted);
    if (code == VAPI_OK)
        code = vapi_error(change_region(mr, change, pd, &wanted, &gone), VAPI_EINVAL_PARAM);
    if (code != VAPI_OK) {
        bool ended = gone || ends_region(code);
        if (ended && !gone) ibv_dereg_mr(mr->verbs);
        if (ended) mr_remove(mr);
        return code;
    }
    vapi_hold(&pd->users);
    vapi_drop(&mr->pd->users);
    wanted.pd_hndl = pd->handle;
    wanted.l_key = mr->verbs->lkey;
    wanted.r_key = mr->verbs->rkey;
    pthread_mutex_lock(&pd->hca->lock); /* the binding of a window searches all regions */
    mr->pd = pd;
    mr->mr = wanted;
    pthread_mutex_unlock(&pd->hca->lock);
    *new_mr = mr->handle;
    if (reply) *reply = mr->mr;
    return VAPI_OK;
}
