/* domain.c - hints about the use of objects: thread and parent domains, advice on memory,
 * moderation of events.
 *
 * They are checked and accepted without effect. An object of a parent domain belongs to its
 * protection domain.
 */
#include <stdlib.h>

#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/segment/process.h"

struct shca_td {
    struct ibv_td base;
    _Atomic int users;
};

struct ibv_td *shca_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *a)
{
    if (a->comp_mask) {
        errno = EINVAL;
        return NULL;
    }
    struct shca_td *td = calloc(1, sizeof *td);
    if (!td) return NULL;
    td->base.context = c;
    return &td->base;
}

int shca_dealloc_td(struct ibv_td *base)
{
    struct shca_td *td = (struct shca_td *)base;
    if (td->users) return EBUSY;
    free(td);
    return 0;
}

struct ibv_pd *shca_alloc_parent_domain(struct ibv_context *c,
                                        struct ibv_parent_domain_init_attr *a)
{
    uint32_t known =
        IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    bool fits = a->pd && a->pd->context == c && (!a->td || a->td->context == c);
    if (!fits || a->comp_mask & ~known) {
        errno = fits ? EOPNOTSUPP : EINVAL;
        return NULL;
    }
    struct shca_pd *pd = calloc(1, sizeof *pd);
    if (!pd) return NULL;
    pd->base.context = c;
    pd->id = shca_pd(a->pd)->id;
    pd->base.handle = pd->id;
    pd->of = a->pd;
    pd->td = a->td;
    shca_pd(a->pd)->users++;
    if (a->td) ((struct shca_td *)a->td)->users++;
    return &pd->base;
}

/* Frees a parent domain that has no users. */
void shca_end_parent_domain(struct shca_pd *pd)
{
    shca_pd(pd->of)->users--;
    if (pd->td) ((struct shca_td *)pd->td)->users--;
    free(pd);
}

int shca_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *a)
{
    return a->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE ? EINVAL : 0;
}

/* Memory needs no prefetch. */
int shca_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                   struct ibv_sge *sge, uint32_t n)
{
    bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
    if (!write && advice != IBV_ADVISE_MR_ADVICE_PREFETCH &&
        advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
        return EOPNOTSUPP;
    if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || n == 0) return EINVAL;
    for (uint32_t i = 0; i < n; i++)
        if (!shca_mr_find(shca.h, sge[i].lkey, shca_pd(pd)->id, sge[i].addr, sge[i].length,
                          write ? IBV_ACCESS_LOCAL_WRITE : 0))
            return ENOENT;
    return 0;
}
