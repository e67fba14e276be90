/* transfer_am.c - puts and gets by Active Messages alone: the portable reference (IB-E, item 5).
 *
 * Replaces RDMA in libraries whose network has no more than the Core API.  A put is a Medium, which
 * copies its source at the call, or a number of Longs; a get is a number of Shorts, each answered
 * by a Medium or Long Reply.  Each message of an operation is counted in its counter when it is
 * sent and when it is acknowledged, so a wait ends when the last handler has run.  Only client
 * calls send Requests: handlers reply, and never wait.
 */
#include "extended-ref/transfer_am.h"

#include <string.h>

#define PAIR(pointer) gasnete_high(pointer), gasnete_low(pointer)

/* Bytes of the longest Long Reply: the handler that sends it does not return until its source may
 * be reused.  */
enum { LONG_REPLY_PIECE = 1 << 20 };

static size_t transfer_am_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- puts --- */

/* The source of a bulk put must not change until the operation is complete, which is the rule of
 * LongAsync.  */
static inline void transfer_am_put(gasnet_node_t node, char *dst, const void *src, size_t nbytes,
                                   gasnetc_counter_t *counter, bool bulk)
{
    char *from = (char *)(uintptr_t)src;
    if (nbytes == 0) return;
    gasnete_check_segment(node, dst, nbytes, "a put");
    if (nbytes <= gasnet_AMMaxMedium()) {
        counter->issued++;
        gasnet_AMRequestMedium4(node, GASNETE_H_PUT, from, nbytes, PAIR(dst), PAIR(counter));
        return;
    }
    for (size_t done = 0, piece; done < nbytes; done += piece) {
        piece = transfer_am_min(nbytes - done, gasnet_AMMaxLongRequest());
        counter->issued++;
        if (bulk)
            gasnet_AMRequestLongAsync2(node, GASNETE_H_PUT_LONG, from + done, piece, dst + done,
                                       PAIR(counter));
        else
            gasnet_AMRequestLong2(node, GASNETE_H_PUT_LONG, from + done, piece, dst + done,
                                  PAIR(counter));
    }
}

void gasnete_transfer_put(gasnet_node_t node, void *dst, const void *src, size_t nbytes,
                          gasnetc_counter_t *counter)
{
    transfer_am_put(node, dst, src, nbytes, counter, false);
}

void gasnete_transfer_put_bulk(gasnet_node_t node, void *dst, const void *src, size_t nbytes,
                               gasnetc_counter_t *counter)
{
    transfer_am_put(node, dst, src, nbytes, counter, true);
}

void gasnete_put_handler(gasnet_token_t token, void *bytes, size_t nbytes,
                         gasnet_handlerarg_t dst_high, gasnet_handlerarg_t dst_low,
                         gasnet_handlerarg_t counter_high, gasnet_handlerarg_t counter_low)
{
    void *dst = gasnete_pointer(dst_high, dst_low);
    gasnete_check_requested(token, dst, nbytes, "a put");
    memcpy(dst, bytes, nbytes);
    gasnet_AMReplyShort2(token, GASNETE_H_DONE, counter_high, counter_low);
}

void gasnete_put_long_handler(gasnet_token_t token, void *dst, size_t nbytes,
                              gasnet_handlerarg_t counter_high, gasnet_handlerarg_t counter_low)
{
    (void)dst;
    (void)nbytes;
    gasnet_AMReplyShort2(token, GASNETE_H_DONE, counter_high, counter_low);
}

/* --- gets --- */

/* Long Replies hold more than Mediums, but can only write to this node's segment.  */
void gasnete_transfer_get(gasnet_node_t node, void *dst, const void *src, size_t nbytes,
                          gasnetc_counter_t *counter)
{
    if (nbytes == 0) return;
    gasnete_check_segment(node, src, nbytes, "a get");
    bool by_long =
        nbytes > gasnet_AMMaxMedium() && gasnete_in_segment(gasnet_mynode(), dst, nbytes);
    size_t most =
        by_long ? transfer_am_min(gasnet_AMMaxLongReply(), LONG_REPLY_PIECE) : gasnet_AMMaxMedium();
    gasnet_handler_t handler = by_long ? GASNETE_H_GET_LONG : GASNETE_H_GET;
    for (size_t done = 0, piece; done < nbytes; done += piece) {
        piece = transfer_am_min(nbytes - done, most);
        counter->issued++;
        gasnet_AMRequestShort7(node, handler, PAIR((const char *)src + done),
                               (gasnet_handlerarg_t)piece, PAIR((char *)dst + done), PAIR(counter));
    }
}

void gasnete_get_handler(gasnet_token_t token, gasnet_handlerarg_t src_high,
                         gasnet_handlerarg_t src_low, gasnet_handlerarg_t nbytes,
                         gasnet_handlerarg_t dst_high, gasnet_handlerarg_t dst_low,
                         gasnet_handlerarg_t counter_high, gasnet_handlerarg_t counter_low)
{
    void *src = gasnete_pointer(src_high, src_low);
    gasnete_check_requested(token, src, (uint32_t)nbytes, "a get");
    gasnet_AMReplyMedium4(token, GASNETE_H_GOT, src, (uint32_t)nbytes, dst_high, dst_low,
                          counter_high, counter_low);
}

void gasnete_get_long_handler(gasnet_token_t token, gasnet_handlerarg_t src_high,
                              gasnet_handlerarg_t src_low, gasnet_handlerarg_t nbytes,
                              gasnet_handlerarg_t dst_high, gasnet_handlerarg_t dst_low,
                              gasnet_handlerarg_t counter_high, gasnet_handlerarg_t counter_low)
{
    void *src = gasnete_pointer(src_high, src_low);
    gasnete_check_requested(token, src, (uint32_t)nbytes, "a get");
    gasnet_AMReplyLong2(token, GASNETE_H_GOT_LONG, src, (uint32_t)nbytes,
                        gasnete_pointer(dst_high, dst_low), counter_high, counter_low);
}

void gasnete_got_handler(gasnet_token_t token, void *bytes, size_t nbytes,
                         gasnet_handlerarg_t dst_high, gasnet_handlerarg_t dst_low,
                         gasnet_handlerarg_t counter_high, gasnet_handlerarg_t counter_low)
{
    memcpy(gasnete_pointer(dst_high, dst_low), bytes, nbytes);
    gasnete_done_handler(token, counter_high, counter_low);
}

void gasnete_got_long_handler(gasnet_token_t token, void *dst, size_t nbytes,
                              gasnet_handlerarg_t counter_high, gasnet_handlerarg_t counter_low)
{
    (void)dst;
    (void)nbytes;
    gasnete_done_handler(token, counter_high, counter_low);
}
