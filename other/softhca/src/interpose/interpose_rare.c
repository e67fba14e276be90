/* interpose_rare.c - the ibv_* names that few programs use.
 *
 * A real function would crash on an object of the software device, so every name that takes an
 * object is here. Multicast, importing, device memory and later additions are refused. Names that
 * libibverbs 44 does not have are forwarded when the library at run time has them.
 */
#include "other/softhca/src/interpose/interpose.h"
#include "other/softhca/src/objects/ah.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/srq.h"

static void *interpose_refuse(void)
{
    shca_unsupported();
    return NULL;
}

/* Exported by libibverbs without a declaration in its headers. */
int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned index, unsigned *type);

SHCA_EXPORT int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned index,
                                   unsigned *type)
{
    if (!interpose_is_ours(c)) return REAL(-1, ibv_query_gid_type, c, port, index, type);
    const struct shca_gid_model *m = shca_query_gid_model(c, port, index);
    /* 0: InfiniBand, or RoCE v1; 1: RoCE v2. */
    *type = m && m->family != SHCA_GID_NONE && m->type == IBV_GID_TYPE_ROCE_V2;
    return m ? 0 : -1;
}

/* Fills *ENTRY with a GID entry of the port. False: the entry is empty or does not exist. */
static bool interpose_gid_entry(struct ibv_context *c, uint32_t port, uint32_t index, void *entry)
{
    enum { LOOPBACK = 1 }; /* the interface below Ethernet ports */
    struct ibv_gid_entry *e = entry;
    const struct shca_gid_model *m = shca_query_gid_model(c, port, index);
    if (!m || m->family == SHCA_GID_NONE) return false;
    *e = (struct ibv_gid_entry){.gid_index = index,
                                .port_num = port,
                                .gid_type = m->type,
                                .ndev_ifindex = m->type == IBV_GID_TYPE_IB ? 0 : LOOPBACK};
    shca_query_gid(c, port, index, &e->gid);
    return true;
}

SHCA_EXPORT int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
                                  struct ibv_gid_entry *e, uint32_t flags, size_t size)
{
    if (!interpose_is_ours(c))
        return REAL(ENOSYS, _ibv_query_gid_ex, c, port, index, e, flags, size);
    if (!shca_port_exists(port) || flags || size < sizeof *e) return EINVAL;
    return interpose_gid_entry(c, port, index, e) ? 0 : ENODATA;
}

SHCA_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *e, size_t max,
                                         uint32_t flags, size_t size)
{
    if (!interpose_is_ours(c)) return REAL(-ENOSYS, _ibv_query_gid_table, c, e, max, flags, size);
    if (flags || size < sizeof *e) return -EINVAL;
    size_t n = 0;
    struct ibv_gid_entry one;
    for (uint32_t port = 1; shca_port_exists(port); port++)
        for (uint32_t i = 0; shca_query_gid_model(c, port, i); i++) {
            if (!interpose_gid_entry(c, port, i, &one)) continue;
            if (n == max) return -EINVAL;
            memcpy((char *)e + n++ * size, &one, sizeof one);
        }
    return (ssize_t)n;
}

SHCA_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
    return interpose_is_ours(pd->context) ? shca_create_srq(pd, a)
                                          : REAL(NULL, ibv_create_srq, pd, a);
}

SHCA_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *a, int mask)
{
    return interpose_is_ours(srq->context) ? shca_modify_srq(srq, a, mask)
                                           : REAL(ENOSYS, ibv_modify_srq, srq, a, mask);
}

SHCA_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a)
{
    return interpose_is_ours(srq->context) ? shca_query_srq(srq, a)
                                           : REAL(ENOSYS, ibv_query_srq, srq, a);
}

SHCA_EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
    return interpose_is_ours(srq->context) ? shca_destroy_srq(srq)
                                           : REAL(ENOSYS, ibv_destroy_srq, srq);
}

SHCA_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a)
{
    return interpose_is_ours(pd->context) ? shca_create_ah(pd, a)
                                          : REAL(NULL, ibv_create_ah, pd, a);
}

SHCA_EXPORT int ibv_init_ah_from_wc(struct ibv_context *c, uint8_t port, struct ibv_wc *wc,
                                    struct ibv_grh *grh, struct ibv_ah_attr *a)
{
    return interpose_is_ours(c) ? shca_init_ah_from_wc(c, port, wc, grh, a)
                                : REAL(ENOSYS, ibv_init_ah_from_wc, c, port, wc, grh, a);
}

SHCA_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
                                                 struct ibv_grh *grh, uint8_t port)
{
    return interpose_is_ours(pd->context) ? shca_create_ah_from_wc(pd, wc, grh, port)
                                          : REAL(NULL, ibv_create_ah_from_wc, pd, wc, grh, port);
}

SHCA_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
    return interpose_is_ours(ah->context) ? shca_destroy_ah(ah) : REAL(ENOSYS, ibv_destroy_ah, ah);
}

SHCA_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    return interpose_is_ours(qp->context) ? shca_unsupported()
                                          : REAL(ENOSYS, ibv_attach_mcast, qp, gid, lid);
}

SHCA_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    return interpose_is_ours(qp->context) ? shca_unsupported()
                                          : REAL(ENOSYS, ibv_detach_mcast, qp, gid, lid);
}

SHCA_EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
                             size_t len, int access)
{
    if (!interpose_is_ours(mr->context))
        return REAL(ENOSYS, ibv_rereg_mr, mr, flags, pd, addr, len, access);
    return shca_rereg_mr(mr, flags, pd, addr, len, access);
}

SHCA_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t len,
                                             uint64_t iova, int fd, int access)
{
    return interpose_is_ours(pd->context)
               ? interpose_refuse()
               : REAL(NULL, ibv_reg_dmabuf_mr, pd, offset, len, iova, fd, access);
}

SHCA_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *c, uint32_t handle)
{
    return interpose_is_ours(c) ? interpose_refuse() : REAL(NULL, ibv_import_pd, c, handle);
}

SHCA_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
    if (!interpose_is_ours(pd->context)) REAL_VOID(ibv_unimport_pd, pd);
}

SHCA_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
    return interpose_is_ours(pd->context) ? interpose_refuse()
                                          : REAL(NULL, ibv_import_mr, pd, handle);
}

SHCA_EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
    if (!interpose_is_ours(mr->context)) REAL_VOID(ibv_unimport_mr, mr);
}

SHCA_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *c, uint32_t handle)
{
    return interpose_is_ours(c) ? interpose_refuse() : REAL(NULL, ibv_import_dm, c, handle);
}

SHCA_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
    if (!interpose_is_ours(dm->context)) REAL_VOID(ibv_unimport_dm, dm);
}

SHCA_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    return interpose_is_ours(qp->context) ? shca_unsupported()
                                          : REAL(ENOSYS, ibv_query_ece, qp, ece);
}

SHCA_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    return interpose_is_ours(qp->context) ? shca_unsupported() : REAL(ENOSYS, ibv_set_ece, qp, ece);
}

SHCA_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    return interpose_is_ours(qp->context) ? 0 : REAL(0, ibv_query_qp_data_in_order, qp, op, flags);
}

SHCA_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *a,
                                            uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
    return interpose_is_ours(c) ? shca_unsupported()
                                : REAL(ENOSYS, ibv_resolve_eth_l2_from_gid, c, a, mac, vid);
}

/* Added after libibverbs 44: their types are not known here. As many arguments are forwarded as
 * registers hold; the first one is a verbs object of any kind. */
typedef uintptr_t later(void *object, long b, long c, long d, long e, long f);
enum { POINTER, NUMBER };

static uintptr_t interpose_continue(const char *name, int kind, void *object, long b, long c,
                                    long d, long e, long f)
{
    int why = shca_dead(object) ? EIO : shca_is_object(object) ? EOPNOTSUPP : 0;
    later *real = why ? NULL : shca_real_verbs(name);
    if (real) return real(object, b, c, d, e, f);
    errno = why ? why : ENOSYS;
    return kind == POINTER ? 0 : errno;
}

later ibv_alloc_dmah, ibv_reg_mr_ex, ibv_query_port_speed, ibv_alloc_buf, ibv_reg_buf_mr,
    ibv_create_comp_cntr, ibv_qp_attach_comp_cntr;

SHCA_EXPORT uintptr_t ibv_alloc_dmah(void *object, long b, long c, long d, long e, long f)
{
    return interpose_continue("ibv_alloc_dmah", POINTER, object, b, c, d, e, f);
}

SHCA_EXPORT uintptr_t ibv_reg_mr_ex(void *object, long b, long c, long d, long e, long f)
{
    return interpose_continue("ibv_reg_mr_ex", POINTER, object, b, c, d, e, f);
}

SHCA_EXPORT uintptr_t ibv_query_port_speed(void *object, long b, long c, long d, long e, long f)
{
    return interpose_continue("ibv_query_port_speed", NUMBER, object, b, c, d, e, f);
}

SHCA_EXPORT uintptr_t ibv_alloc_buf(void *object, long b, long c, long d, long e, long f)
{
    return interpose_continue("ibv_alloc_buf", POINTER, object, b, c, d, e, f);
}

SHCA_EXPORT uintptr_t ibv_reg_buf_mr(void *object, long b, long c, long d, long e, long f)
{
    return interpose_continue("ibv_reg_buf_mr", POINTER, object, b, c, d, e, f);
}

SHCA_EXPORT uintptr_t ibv_create_comp_cntr(void *object, long b, long c, long d, long e, long f)
{
    return interpose_continue("ibv_create_comp_cntr", POINTER, object, b, c, d, e, f);
}

SHCA_EXPORT uintptr_t ibv_qp_attach_comp_cntr(void *object, long b, long c, long d, long e, long f)
{
    return interpose_continue("ibv_qp_attach_comp_cntr", NUMBER, object, b, c, d, e, f);
}
