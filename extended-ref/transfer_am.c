/* transfer_am.c - puts and gets by Active Messages alone: the portable reference (IB-E, item 5).
 *
 * Replaces RDMA in libraries whose network has no more than the Core API, and in smp-conduit, where
 * it reaches segments that ranks have not mapped.  A put is a number of Mediums, which copy their
 * source at the call, or of Longs, which reach the attached segment alone; a get is a number of
 * Shorts, each answered by a Medium or Long Reply.  Each message of an operation is counted in its
 * counter when it is sent and when it is acknowledged, so a wait ends when the last handler has
 * run.  A Reply has the number of its operation (outstanding.h).  Only client calls send Requests:
 * handlers reply, and never wait.
 */
#include "extended-ref/transfer_am.h"

#include <string.h>

#include "core/report.h"
#include "extended-ref/barrier/barrier.h"
#include "other/base/min.h"

/* Bytes of the longest Long Reply: its handler does not return until the source may be reused.  */
enum { LONG_REPLY_PIECE = 1 << 20 };

/* --- puts --- */

/* Puts to any memory, which the handler writes. */
static void transfer_am_put_mediums(gasnet_node_t node, char *dst, char *from, size_t nbytes,
                                    gasnetc_counter_t *counter)
{
    for (size_t done = 0, piece; done < nbytes; done += piece) {
        piece = gasneti_min(nbytes - done, gasnet_AMMaxMedium());
        const uint64_t number = gasnete_expect(GASNETE_REPLY_DONE, node, NULL, 0, counter);
        gasnetc_AMRequestMedium(
            node, GASNETE_H_PUT, from + done, piece,
            GASNETE_ARGS(GASNETE_WORD((uintptr_t)dst + done), GASNETE_WORD(number)));
    }
}

/* Puts by LongAsync if `bulk`: the source of a bulk put must not change until the operation is
 * complete, which is the rule of LongAsync.  */
static inline void transfer_am_put(gasnet_node_t node, char *dst, const void *src, size_t nbytes,
                                   gasnetc_counter_t *counter, bool bulk)
{
    char *from = (char *)(uintptr_t)src;
    if (nbytes == 0) return;
    gasnete_check_segment(node, dst, nbytes, "a put");
    if (nbytes <= gasnet_AMMaxMedium() || !gasnete_in_segment(node, dst, nbytes)) {
        transfer_am_put_mediums(node, dst, from, nbytes, counter);
        return;
    }
    for (size_t done = 0, piece; done < nbytes; done += piece) {
        piece = gasneti_min(nbytes - done, gasnet_AMMaxLongRequest());
        uint64_t number = gasnete_expect(GASNETE_REPLY_DONE, node, NULL, 0, counter);
        (bulk ? gasnetc_AMRequestLongAsync
              : gasnetc_AMRequestLong)(node, GASNETE_H_PUT_LONG, from + done, piece, dst + done,
                                       GASNETE_ARGS(GASNETE_WORD(number)));
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
                         gasnet_handlerarg_t number_high, gasnet_handlerarg_t number_low)
{
    void *dst = gasnete_pointer(dst_high, dst_low);
    gasnete_check_requested(token, dst, nbytes, "a put");
    memcpy(dst, bytes, nbytes);
    gasnetc_AMReplyShort(token, GASNETE_H_DONE, GASNETE_ARGS(number_high, number_low));
}

void gasnete_put_long_handler(gasnet_token_t token, void *dst, size_t nbytes,
                              gasnet_handlerarg_t number_high, gasnet_handlerarg_t number_low)
{
    (void)dst;
    (void)nbytes;
    gasnetc_AMReplyShort(token, GASNETE_H_DONE, GASNETE_ARGS(number_high, number_low));
}

/* --- gets --- */

/* Gets by Long Replies where possible: they hold more than Mediums, but can only write to this
 * rank's segment, to the address in the Request.  */
void gasnete_transfer_get(gasnet_node_t node, void *dst, const void *src, size_t nbytes,
                          gasnetc_counter_t *counter)
{
    if (nbytes == 0) return;
    gasnete_check_segment(node, src, nbytes, "a get");
    bool by_long =
        nbytes > gasnet_AMMaxMedium() && gasnete_in_segment(gasnet_mynode(), dst, nbytes);
    size_t most =
        by_long ? gasneti_min(gasnet_AMMaxLongReply(), LONG_REPLY_PIECE) : gasnet_AMMaxMedium();
    enum gasnete_reply reply = by_long ? GASNETE_REPLY_GOT_LONG : GASNETE_REPLY_GOT;
    for (size_t done = 0, piece; done < nbytes; done += piece) {
        piece = gasneti_min(nbytes - done, most);
        const char *from = (const char *)src + done;
        char *to = (char *)dst + done;
        uint64_t number = gasnete_expect(reply, node, to, piece, counter);
        if (by_long)
            gasnetc_AMRequestShort(node, GASNETE_H_GET_LONG,
                                   GASNETE_ARGS(GASNETE_WORD((uintptr_t)from),
                                                (gasnet_handlerarg_t)piece, GASNETE_WORD(number),
                                                GASNETE_WORD((uintptr_t)to)));
        else
            gasnetc_AMRequestShort(node, GASNETE_H_GET,
                                   GASNETE_ARGS(GASNETE_WORD((uintptr_t)from),
                                                (gasnet_handlerarg_t)piece, GASNETE_WORD(number)));
    }
}

/* The source of a get, checked.  `most`: bytes of the longest Reply.  */
static void *transfer_am_source(gasnet_token_t token, gasnet_handlerarg_t src_high,
                                gasnet_handlerarg_t src_low, size_t nbytes, size_t most)
{
    void *src = gasnete_pointer(src_high, src_low);
    gasnet_node_t from = 0;
    gasnete_check_requested(token, src, nbytes, "a get");
    gasnet_AMGetMsgSource(token, &from);
    if (nbytes > most)
        gasneti_fatal("%s asks for a get of %zu bytes in one Reply, which has at most %zu; do all "
                      "ranks run the same program and library?",
                      gasneti_rank_name(from), nbytes, most);
    return src;
}

void gasnete_get_handler(gasnet_token_t token, gasnet_handlerarg_t src_high,
                         gasnet_handlerarg_t src_low, gasnet_handlerarg_t nbytes,
                         gasnet_handlerarg_t number_high, gasnet_handlerarg_t number_low)
{
    size_t length = (uint32_t)nbytes;
    void *src = transfer_am_source(token, src_high, src_low, length, gasnet_AMMaxMedium());
    gasnetc_AMReplyMedium(token, GASNETE_H_GOT, src, length, GASNETE_ARGS(number_high, number_low));
}

void gasnete_get_long_handler(gasnet_token_t token, gasnet_handlerarg_t src_high,
                              gasnet_handlerarg_t src_low, gasnet_handlerarg_t nbytes,
                              gasnet_handlerarg_t number_high, gasnet_handlerarg_t number_low,
                              gasnet_handlerarg_t dst_high, gasnet_handlerarg_t dst_low)
{
    size_t length = (uint32_t)nbytes;
    void *src = transfer_am_source(token, src_high, src_low, length, gasnet_AMMaxLongReply());
    gasnetc_AMReplyLong(token, GASNETE_H_GOT_LONG, src, length, gasnete_pointer(dst_high, dst_low),
                        GASNETE_ARGS(number_high, number_low));
}

void gasnete_got_handler(gasnet_token_t token, void *bytes, size_t nbytes,
                         gasnet_handlerarg_t number_high, gasnet_handlerarg_t number_low)
{
    const gasnete_operation_t operation =
        gasnete_expected(token, GASNETE_REPLY_GOT, number_high, number_low, nbytes);
    memcpy(operation.memory, bytes, nbytes);
    gasnetc_counter_ack(operation.counter);
}

void gasnete_got_long_handler(gasnet_token_t token, void *dst, size_t nbytes,
                              gasnet_handlerarg_t number_high, gasnet_handlerarg_t number_low)
{
    const gasnete_operation_t operation =
        gasnete_expected(token, GASNETE_REPLY_GOT_LONG, number_high, number_low, nbytes);
    if (dst != operation.memory) gasnete_wrong_reply(token, "destination");
    gasnetc_counter_ack(operation.counter);
}

const gasnete_barrier_puts_t *gasnete_barrier_by_puts(uint8_t rounds)
{
    (void)rounds;
    return NULL;
}
