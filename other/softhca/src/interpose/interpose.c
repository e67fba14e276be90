/* interpose.c - the common ibv_* names: the software device for its objects, the real library for
 * others.
 *
 * Symbol versions come from softhca.map alone. The real library may call any of these functions
 * too, with its own objects; the call is then forwarded with the exact arguments and without a
 * lock. The rarely used names are in interpose_rare.c.
 */
#include "other/softhca/src/interpose/interpose.h"

#include <dlfcn.h>
#include <string.h>

#include "other/softhca/src/objects/event.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/verbs/verbs.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* Real functions are found by name after this library in the search order. */
void *shca_real_verbs(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (f) return f;
    /* libibverbs may not be behind this library, for instance when it is preloaded and the program
     * uses dlopen(). */
    static void *_Atomic library;
    if (!library) library = dlopen("libibverbs.so.1", RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}

SHCA_EXPORT struct ibv_device **ibv_get_device_list(int *num)
{
    if (shca_enabled()) return shca_list(num);
    return REAL(NULL, ibv_get_device_list, num);
}

SHCA_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
    if (!shca_list_free(list)) REAL_VOID(ibv_free_device_list, list);
}

SHCA_EXPORT const char *ibv_get_device_name(struct ibv_device *d)
{
    if (shca_is_device(d)) return d->name;
    return REAL(NULL, ibv_get_device_name, d);
}

SHCA_EXPORT int ibv_get_device_index(struct ibv_device *d)
{
    if (shca_is_device(d)) return -1;
    return REAL(-1, ibv_get_device_index, d);
}

SHCA_EXPORT __be64 ibv_get_device_guid(struct ibv_device *d)
{
    if (shca_is_device(d)) return shca_guid(((struct shca_device *)d)->index);
    return REAL(0, ibv_get_device_guid, d);
}

SHCA_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *d)
{
    if (shca_is_device(d)) return shca_open(d);
    return shca_open_real(d);
}

SHCA_EXPORT int ibv_close_device(struct ibv_context *c)
{
    if (interpose_is_ours_or_removed(c)) return shca_close(c);
    return REAL(ENOSYS, ibv_close_device, c);
}

SHCA_EXPORT int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
    if (interpose_is_ours(c)) return shca_query_device(c, a);
    return REAL(ENOSYS, ibv_query_device, c, a);
}

SHCA_EXPORT int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a)
{
    /* Programs built before flags and port_cap_flags2 existed pass a structure without them. */
    if (interpose_is_ours(c))
        return shca_query_port(c, port, (struct ibv_port_attr *)a,
                               offsetof(struct ibv_port_attr, flags));
    return REAL(ENOSYS, ibv_query_port, c, port, a);
}

SHCA_EXPORT int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
    if (interpose_is_ours(c)) return shca_query_gid(c, port, index, gid);
    return REAL(-1, ibv_query_gid, c, port, index, gid);
}

SHCA_EXPORT int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
    if (interpose_is_ours(c)) return shca_query_pkey(c, port, index, pkey);
    return REAL(-1, ibv_query_pkey, c, port, index, pkey);
}

SHCA_EXPORT int ibv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey)
{
    if (interpose_is_ours(c)) return shca_pkey_index(c, port, pkey);
    return REAL(-1, ibv_get_pkey_index, c, port, pkey);
}

SHCA_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    if (interpose_is_ours(c)) return shca_alloc_pd(c);
    return REAL(NULL, ibv_alloc_pd, c);
}

SHCA_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
    if (interpose_is_ours(pd->context)) return shca_dealloc_pd(pd);
    return REAL(ENOSYS, ibv_dealloc_pd, pd);
}

SHCA_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
    if (interpose_is_ours(pd->context)) return shca_reg_mr(pd, addr, len, (uintptr_t)addr, access);
    return REAL(NULL, ibv_reg_mr, pd, addr, len, access);
}

SHCA_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
                                           int access)
{
    if (interpose_is_ours(pd->context)) return shca_reg_mr(pd, addr, len, iova, access);
    return REAL(NULL, ibv_reg_mr_iova, pd, addr, len, iova, access);
}

SHCA_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len,
                                            uint64_t iova, unsigned int access)
{
    if (interpose_is_ours(pd->context)) return shca_reg_mr(pd, addr, len, iova, access);
    return REAL(NULL, ibv_reg_mr_iova2, pd, addr, len, iova, access);
}

SHCA_EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
    if (interpose_is_ours(mr->context)) return shca_dereg_mr(mr);
    return REAL(ENOSYS, ibv_dereg_mr, mr);
}

SHCA_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
    if (interpose_is_ours(c)) return shca_create_channel(c);
    return REAL(NULL, ibv_create_comp_channel, c);
}

SHCA_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ch)
{
    if (interpose_is_ours(ch->context)) return shca_destroy_channel(ch);
    return REAL(ENOSYS, ibv_destroy_comp_channel, ch);
}

SHCA_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *context,
                                         struct ibv_comp_channel *ch, int vector)
{
    if (interpose_is_ours(c)) return shca_create_cq(c, cqe, context, ch, vector);
    return REAL(NULL, ibv_create_cq, c, cqe, context, ch, vector);
}

SHCA_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
    if (interpose_is_ours(cq->context)) return shca_destroy_cq(cq);
    return REAL(ENOSYS, ibv_destroy_cq, cq);
}

SHCA_EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
    if (interpose_is_ours(cq->context)) return shca_resize_cq(cq, cqe);
    return REAL(ENOSYS, ibv_resize_cq, cq, cqe);
}

SHCA_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *ch, struct ibv_cq **cq, void **context)
{
    if (interpose_is_ours(ch->context)) return shca_get_cq_event(ch, cq, context);
    return REAL(-1, ibv_get_cq_event, ch, cq, context);
}

SHCA_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
    if (interpose_is_ours(cq->context))
        shca_ack_cq_events(cq, n);
    else
        REAL_VOID(ibv_ack_cq_events, cq, n);
}

SHCA_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
    if (interpose_is_ours(pd->context)) return shca_create_qp(pd, a);
    return REAL(NULL, ibv_create_qp, pd, a);
}

SHCA_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    if (interpose_is_ours(qp->context)) return shca_qp(qp)->comp_mask & 1 ? &shca_qp(qp)->ex : NULL;
    return REAL(NULL, ibv_qp_to_qp_ex, qp);
}

SHCA_EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
    if (interpose_is_ours(qp->context)) return shca_modify_qp(qp, a, mask);
    return REAL(ENOSYS, ibv_modify_qp, qp, a, mask);
}

SHCA_EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask,
                             struct ibv_qp_init_attr *init)
{
    if (interpose_is_ours(qp->context)) return shca_query_qp(qp, a, mask, init);
    return REAL(ENOSYS, ibv_query_qp, qp, a, mask, init);
}

SHCA_EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
    if (interpose_is_ours(qp->context)) return shca_destroy_qp(qp);
    return REAL(ENOSYS, ibv_destroy_qp, qp);
}

/* The subject of an event: an object, or a port or the whole device. */
enum subject { SUBJECT_QP, SUBJECT_CQ, SUBJECT_SRQ, SUBJECT_WQ, SUBJECT_DEVICE };
static enum subject interpose_subject(const struct ibv_async_event *e)
{
    switch (e->event_type) {
    case IBV_EVENT_CQ_ERR:
        return SUBJECT_CQ;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return SUBJECT_QP;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return SUBJECT_SRQ;
    case IBV_EVENT_WQ_FATAL:
        return SUBJECT_WQ;
    default:
        return SUBJECT_DEVICE;
    }
}

/* An event does not name its context, and both kinds of devices have a port 1. Port events use one
 * half of the element; the other half records which library delivered the event. */
static const uint32_t from_us = 0x53484341, from_them = 0;
static char *interpose_sender(struct ibv_async_event *e)
{
    return (char *)&e->element + sizeof e->element - sizeof from_us;
}

SHCA_EXPORT int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *e)
{
    bool us = interpose_is_ours_or_removed(c);
    int error = us ? shca_get_async_event(c, e) : REAL(-1, ibv_get_async_event, c, e);
    if (!error && interpose_subject(e) == SUBJECT_DEVICE)
        memcpy(interpose_sender(e), us ? &from_us : &from_them, sizeof from_us);
    return error;
}

/* The context of the object that an event is about; NULL for a port or device. */
static struct ibv_context *interpose_context_of(const struct ibv_async_event *e)
{
    switch (interpose_subject(e)) {
    case SUBJECT_CQ:
        return e->element.cq->context;
    case SUBJECT_QP:
        return e->element.qp->context;
    case SUBJECT_SRQ:
        return e->element.srq->context;
    case SUBJECT_WQ:
        return e->element.wq->context;
    default:
        return NULL;
    }
}

SHCA_EXPORT void ibv_ack_async_event(struct ibv_async_event *e)
{
    struct ibv_context *c = interpose_context_of(e);
    if (c ? interpose_is_ours(c) : memcmp(interpose_sender(e), &from_us, sizeof from_us) == 0)
        shca_ack_async_event(e);
    else if (!shca_dead(c))
        REAL_VOID(ibv_ack_async_event, e);
}
