/* transfer.h - what carries puts, gets and fills to other nodes: RDMA, or nothing but Active
 * Messages where GASNETE_BY_AM is defined (the portable reference, for networks without RDMA).
 *
 * Both headers offer the same, with the rules of core/rdma/rdma.h: gasnete_transfer_put, whose
 * source is free on return, _put_bulk, whose source stays until all is done, _get, and _get_into
 * for memory that gasnete_landing has prepared.  gasnete_transfer_fill is false, and has done
 * nothing, where the target had better do it.  gasnete_default_barrier, at attach, is what barriers
 * use, and GASNETE_TRANSFER_HANDLERS is their part of the table of handlers.
 */
#ifndef GASNETE_TRANSFER_H
#define GASNETE_TRANSFER_H

#ifdef GASNETE_BY_AM
#include "extended-ref/transfer_am.h"
#else
#include "extended-ref/transfer_rdma.h"
#endif

#endif
