/* transfer.h - selects the transport of puts, gets and fills to other ranks: RDMA, or Active
 * Messages where GASNETE_BY_AM is defined (the portable reference, for networks without RDMA).
 *
 * Both headers declare the same functions, with the rules of core/rdma/rdma.h.
 * gasnete_transfer_put: the source may be reused on return.  gasnete_transfer_put_bulk: the source
 * must not change until the operation is complete.  gasnete_transfer_get;
 * gasnete_transfer_get_into, for memory that gasnete_destination has registered.
 * gasnete_transfer_fill returns false, and does nothing, where a handler of the target is faster.
 * gasnete_transfer_list: gasnetc_rdma_list, whose lists have at most gasnete_transfer_list_max
 * pieces, 0 where the transport has no lists.  gasnete_transfer_atomics: gasnetc_rdma_atomics;
 * the operations that it speaks of are gasnete_transfer_fetch_add and _compare_swap.
 * GASNETE_TRANSFER_HANDLERS are the transport's entries of the handler table.
 */
#ifndef GASNETE_TRANSFER_H
#define GASNETE_TRANSFER_H

#ifdef GASNETE_BY_AM
#include "extended-ref/transfer_am.h"
#else
#include "extended-ref/transfer_rdma.h"
#endif

#endif
