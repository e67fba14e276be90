/* mr.h - protection domains and memory regions, and which region a key is of. */
#ifndef SOFTHCA_MR_H
#define SOFTHCA_MR_H

#include "other/base/hot.h"
#include "other/softhca/src/segment/shm.h"

struct shca_mw;

struct shca_pd {
    struct ibv_pd base;
    uint32_t id;
    _Atomic int users;
    struct ibv_pd *of; /* the PD behind a parent domain */
    struct ibv_td *td;
};

struct shca_mr {
    struct ibv_mr base;
    uint64_t verbs_mr_tail[4]; /* providers read past ibv_mr */
    struct shm_mr *s;
    struct shca_mw *windows; /* bound over it, under the lock of mw.c */
};

static inline struct shca_pd *shca_pd(struct ibv_pd *p)
{
    return (struct shca_pd *)p;
}
static inline struct shca_mr *shca_mr(struct ibv_mr *m)
{
    return (struct shca_mr *)m;
}

/* mr.c */
struct ibv_pd *shca_alloc_pd(struct ibv_context *c);
int shca_dealloc_pd(struct ibv_pd *pd);
struct ibv_mr *shca_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, unsigned acc);
int shca_dereg_mr(struct ibv_mr *mr);
int shca_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t len,
                  unsigned access);
int shca_mr_take(struct ibv_context *c, uint32_t *index);
void shca_mr_give(struct ibv_context *c, uint32_t index);
void shca_mr_in_child(void);
bool shca_is_writable(const void *addr, size_t len); /* writable.c */
void shca_writable_in_child(void);
void shca_strict_memory(const void *addr, size_t len); /* strict_memory.c */
void shca_strict_in_child(void);

/* The entry of KEY in the table of H if it grants NEED on LEN bytes at ADDR, else NULL. The acquire
 * load pairs with the release store of the key in shca_reg_mr(): the fields read below belong to
 * this key. */
HOT struct shm_mr *shca_mr_find(struct shm_header *h, uint32_t key, uint32_t pd, uint64_t addr,
                                uint64_t len, unsigned need)
{
    uint32_t index = (key >> 8) - 1;
    if (index >= SHCA_MRS) return NULL;
    struct shm_mr *s = &h->mr[index];
    if (atomic_load_explicit(&s->key, memory_order_acquire) != key || s->pd != pd) return NULL;
    uint64_t in = addr - s->iova, length = s->length;
    if (in > length || len > length - in) return NULL;
    return (s->access & need) == need ? s : NULL;
}

/* domain.c */
struct ibv_td *shca_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *a);
int shca_dealloc_td(struct ibv_td *td);
struct ibv_pd *shca_alloc_parent_domain(struct ibv_context *c,
                                        struct ibv_parent_domain_init_attr *a);
void shca_end_parent_domain(struct shca_pd *pd);
int shca_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *a);
int shca_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                   struct ibv_sge *sge, uint32_t n);

#endif
