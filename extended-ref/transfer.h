/* transfer.h - selects the transport of puts, gets and fills to other ranks: RDMA, or Active
 * Messages where GASNETE_BY_AM is defined (the portable reference, for networks without RDMA).
 *
 * By RDMA the functions are those of core/rdma/rdma.h; transfer_am.c has others with the same
 * rules. gasnete_transfer_put: the source may be reused on return.  gasnete_transfer_put_bulk: the
 * source must not change until the operation is complete.  gasnete_transfer_get;
 * gasnete_transfer_get_into, for memory that gasnete_destination has registered.
 * gasnete_transfer_fill returns false, and does nothing, where a handler of the target is faster.
 * gasnete_transfer_list: gasnetc_rdma_list, whose lists have at most gasnete_transfer_list_max
 * pieces, 0 where the transport has no lists.  gasnete_transfer_atomics: gasnetc_rdma_atomics;
 * the operations that it speaks of are gasnete_transfer_fetch_add and _compare_swap.
 * GASNETE_TRANSFER_HANDLERS are the transport's entries of the handler table.
 */
#pragma once

#ifdef GASNETE_BY_AM
#include "extended-ref/transfer_am.h"
#else
#include "core/rdma/rdma.h"
#define GASNETE_TRANSFER_HANDLERS(HANDLER)
#define gasnete_transfer_put          gasnetc_rdma_put
#define gasnete_transfer_put_bulk     gasnetc_rdma_put_bulk
#define gasnete_transfer_get          gasnetc_rdma_get
#define gasnete_destination           gasnetc_destination
#define gasnete_transfer_get_into     gasnetc_rdma_get_into
#define gasnete_transfer_fill         gasnetc_rdma_fill
#define gasnete_transfer_list_max     gasnetc_rdma_list_max
#define gasnete_transfer_list         gasnetc_rdma_list
#define gasnete_transfer_atomics      gasnetc_rdma_atomics
#define gasnete_transfer_fetch_add    gasnetc_rdma_fetch_add
#define gasnete_transfer_compare_swap gasnetc_rdma_compare_swap
#endif
