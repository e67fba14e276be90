/* memset.c - filling memory of any rank: gasnet_memset, _nb and _nbi (IB-E4).
 *
 * A short remote fill is a put of a filled buffer.  A long one is done by a handler of the target,
 * in pieces, so that no handler runs for long.  The Reply of each piece completes one operation of
 * the counter.
 */
#include "core/job/progress.h"
#include "core/trace/trace.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/shm_transfer.h"
#include "extended-ref/transfer.h"

enum { PIECE = 4 * 1048576 }; /* bytes of the longest fill by one message */

/* Fills nbytes >= 1 of another rank's memory; on return `counter` includes all operations of the
 * fill.  */
static void memset_remote(gasnet_node_t node, void *dst, int value, size_t nbytes,
                          gasnetc_counter_t *counter)
{
    if (gasnete_transfer_fill(node, dst, value, nbytes, counter)) return;
    gasnete_check_segment(node, dst, nbytes, "a gasnet_memset");
    for (char *at = dst, *end = at + nbytes; at != end;) {
        size_t piece = (size_t)(end - at) < PIECE ? (size_t)(end - at) : PIECE;
        uint64_t number = gasnete_expect(GASNETE_REPLY_DONE, node, NULL, 0, counter);
        gasnetc_AMRequestShort(node, GASNETE_H_MEMSET,
                               GASNETE_ARGS(GASNETE_WORD((uintptr_t)at), (gasnet_handlerarg_t)piece,
                                            value, GASNETE_WORD(number)));
        at += piece;
    }
}

void gasnete_memset_handler(gasnet_token_t token, gasnet_handlerarg_t dst_high,
                            gasnet_handlerarg_t dst_low, gasnet_handlerarg_t nbytes,
                            gasnet_handlerarg_t value, gasnet_handlerarg_t number_high,
                            gasnet_handlerarg_t number_low)
{
    void *dst = gasnete_pointer(dst_high, dst_low);
    size_t length = (uint32_t)nbytes;
    gasnete_check_requested(token, dst, length, "a gasnet_memset");
    memset(dst, value, length);
    gasnetc_AMReplyShort(token, GASNETE_H_DONE, GASNETE_ARGS(number_high, number_low));
}

/* Does an empty fill, or a fill of memory of this rank or of a shared-memory peer, and returns
 * true; else false.  */
static bool memset_local(const char *call, gasnet_node_t node, void *dst, int value, size_t nbytes)
{
    if (GASNETC_CHECKING) gasnete_check_transfer(call, node);
    if (node >= gasnetc_job.size) gasnetc_no_such_rank(call, node);
    if (nbytes == 0) return true;
    if (node != gasnet_mynode()) return gasnete_shm_fill(node, dst, value, nbytes);
    memset(dst, value, nbytes);
    return true;
}

static void memset_end(uint64_t began, gasnet_node_t node, size_t nbytes)
{
    gasneti_trace_end(began, .kind = GASNETI_TRACE_memset, .peer = node, .bytes = nbytes);
}

void gasnete_memset(gasnet_node_t node, void *dst, int value, size_t nbytes)
{
    const uint64_t began = gasneti_trace_begin();
    gasnetc_counter_t counter = {0};
    if (!memset_local("gasnet_memset", node, dst, value, nbytes)) {
        memset_remote(node, dst, value, nbytes, &counter);
        gasnetc_wait(&counter);
    }
    memset_end(began, node, nbytes);
}

gasnet_handle_t gasnete_memset_nb(gasnet_node_t node, void *dst, int value, size_t nbytes)
{
    const uint64_t began = gasneti_trace_begin();
    gasnete_op_t *op = GASNET_INVALID_HANDLE;
    if (!memset_local("gasnet_memset_nb", node, dst, value, nbytes)) {
        op = gasnete_op_new(gasnete_self(), GASNETE_OP_HANDLE);
        memset_remote(node, dst, value, nbytes, &op->counter);
    }
    memset_end(began, node, nbytes);
    return op;
}

void gasnete_memset_nbi(gasnet_node_t node, void *dst, int value, size_t nbytes)
{
    const uint64_t began = gasneti_trace_begin();
    if (!memset_local("gasnet_memset_nbi", node, dst, value, nbytes))
        memset_remote(node, dst, value, nbytes, gasnete_self()->implicit[GASNETE_PUTS]);
    memset_end(began, node, nbytes);
}
