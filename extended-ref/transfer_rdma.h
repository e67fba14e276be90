/* transfer_rdma.h - transfer.h by RDMA: the functions of core/rdma/rdma.h by other names.  */
#ifndef GASNETE_TRANSFER_RDMA_H
#define GASNETE_TRANSFER_RDMA_H

#include "core/rdma/rdma.h"
#include "gasnet.h"

#define GASNETE_TRANSFER_HANDLERS(HANDLER)

static inline void gasnete_transfer_put(gasnet_node_t node, void *dst, const void *src,
                                        size_t nbytes, gasnetc_counter_t *counter)
{
    gasnetc_rdma_put(node, dst, src, nbytes, counter);
}

static inline void gasnete_transfer_put_bulk(gasnet_node_t node, void *dst, const void *src,
                                             size_t nbytes, gasnetc_counter_t *counter)
{
    gasnetc_rdma_put_bulk(node, dst, src, nbytes, counter);
}

static inline void gasnete_transfer_get(gasnet_node_t node, void *dst, const void *src,
                                        size_t nbytes, gasnetc_counter_t *counter)
{
    gasnetc_rdma_get(node, dst, src, nbytes, counter);
}

static inline const struct net_region *gasnete_destination(void *start, size_t nbytes)
{
    return gasnetc_destination(start, nbytes);
}

static inline void gasnete_transfer_get_into(gasnet_node_t node, void *dst,
                                             const struct net_region *destination, const void *src,
                                             size_t nbytes, gasnetc_counter_t *counter)
{
    gasnetc_rdma_get_into(node, dst, destination, src, nbytes, counter);
}

static inline bool gasnete_transfer_fill(gasnet_node_t node, void *dst, int value, size_t nbytes,
                                         gasnetc_counter_t *counter)
{
    if (nbytes > GASNETC_FILL_MAX) return false;
    return gasnetc_rdma_fill(node, dst, value, nbytes, counter);
}

static inline uint32_t gasnete_transfer_list_max(bool put)
{
    return gasnetc_rdma_list_max(put);
}

static inline bool gasnete_transfer_list(gasnet_node_t node, bool put, void *remote,
                                         const gasnetc_piece_t *pieces, uint32_t count,
                                         gasnetc_counter_t *counter)
{
    return gasnetc_rdma_list(node, put, remote, pieces, count, counter);
}

#endif
