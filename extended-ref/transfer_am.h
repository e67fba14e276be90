/* transfer_am.h - transfer.h by Active Messages: see transfer_am.c. */
#pragma once

#include "core/rdma/rdma.h"
#include "extended-ref/internal_am.h"
#include "gasnet.h"

void gasnete_transfer_put(gasnet_node_t node, void *dst, const void *src, size_t nbytes,
                          gasnetc_counter_t *counter);
void gasnete_transfer_put_bulk(gasnet_node_t node, void *dst, const void *src, size_t nbytes,
                               gasnetc_counter_t *counter);
void gasnete_transfer_get(gasnet_node_t node, void *dst, const void *src, size_t nbytes,
                          gasnetc_counter_t *counter);

/* Registers nothing: a Reply may write to any memory.  */
static inline const struct net_region *gasnete_destination(void *start, size_t nbytes)
{
    (void)start;
    (void)nbytes;
    return NULL;
}

static inline void gasnete_transfer_get_into(gasnet_node_t node, void *dst,
                                             const struct net_region *destination, const void *src,
                                             size_t nbytes, gasnetc_counter_t *counter)
{
    (void)destination;
    gasnete_transfer_get(node, dst, src, nbytes, counter);
}

/* Returns false: a Request to fill is shorter than a put of the bytes.  */
static inline bool gasnete_transfer_fill(gasnet_node_t node, void *dst, int value, size_t nbytes,
                                         gasnetc_counter_t *counter)
{
    (void)node, (void)dst, (void)value, (void)nbytes, (void)counter;
    return false;
}

/* Lists do not exist with Active Messages: a Medium has one source.  */
static inline uint32_t gasnete_transfer_list_max(bool put)
{
    (void)put;
    return 0;
}

static inline bool gasnete_transfer_list(gasnet_node_t node, bool put, void *remote,
                                         const gasnetc_piece_t *pieces, uint32_t count,
                                         gasnetc_counter_t *counter)
{
    (void)node, (void)put, (void)remote, (void)pieces, (void)count, (void)counter;
    return false;
}

/* An adapter is not known: ex/atomics.c has messages.  */
static inline bool gasnete_transfer_atomics(bool favors_remote, bool *global)
{
    (void)favors_remote;
    return *global = false;
}

static inline void gasnete_transfer_fetch_add(gasnet_node_t node, void *at, uint64_t operand,
                                              void *result, gasnetc_counter_t *counter)
{
    (void)node, (void)at, (void)operand, (void)result, (void)counter;
}

static inline void gasnete_transfer_compare_swap(gasnet_node_t node, void *at, uint64_t expected,
                                                 uint64_t desired, void *result,
                                                 gasnetc_counter_t *counter)
{
    (void)node, (void)at, (void)expected, (void)desired, (void)result, (void)counter;
}

#define GASNETE_TRANSFER_HANDLERS(HANDLER)                                                         \
    HANDLER(PUT, 67, REQUEST, MEDIUM, 4, gasnete_put_handler)                                      \
    HANDLER(PUT_LONG, 68, REQUEST, LONG, 2, gasnete_put_long_handler)                              \
    HANDLER(GET, 69, REQUEST, SHORT, 5, gasnete_get_handler)                                       \
    HANDLER(GET_LONG, 70, REQUEST, SHORT, 7, gasnete_get_long_handler)                             \
    HANDLER(GOT, 71, REPLY, MEDIUM, 2, gasnete_got_handler)                                        \
    HANDLER(GOT_LONG, 72, REPLY, LONG, 2, gasnete_got_long_handler)
enum { GASNETE_TRANSFER_HANDLERS(GASNETE_HANDLER_INDEX) };
GASNETE_TRANSFER_HANDLERS(GASNETE_HANDLER_DECLARE)
