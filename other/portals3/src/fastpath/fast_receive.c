/* fast_receive.c - short puts that have arrived, from the completions of a round to the events that
 * the engine logs.
 *
 * Takes the completions one behind the other in a run (short_put.h), and adds their receives to the
 * batch that is posted again.  Every other message, and one that the engine refuses, is left to
 * verbs_receive.c.
 */
#include "other/portals3/src/fastpath/short_put.h"
#include "other/portals3/src/transport/verbs.h"

static inline bool is_message(const struct ibv_wc *wc)
{
    return wc->wr_id & 1 && wc->status == IBV_WC_SUCCESS;
}

/* The transport field of the header of the last message that the peer has sent. It covers those of
 * the messages before. */
static inline uint64_t received_news(const struct ibv_wc *last)
{
    return ptli_wire_64(ptli_verbs_receive_bytes(last), PTLI_AT_TRANSPORT);
}

static inline bool has_news(const struct ptli_node *node, const struct ibv_wc *last)
{
    return received_news(last) != node->seen;
}

int ptli_verbs_fast_received(struct ptli_verbs *v, const struct ibv_wc *wc, int count)
{
    struct ptli_short_run run;
    struct ptli_node *node = NULL;
    uint32_t number = ~wc->qp_num;
    int left = count;
    /* No run: held messages are offered to the engine before new ones. */
    if (v->held || v->closing) return 0;
    ptli_short_begin(&run, v->face.engine);
    for (; left && is_message(wc); left--, wc++) {
        if (wc->qp_num != number) {
            struct ptli_conn *conn = ptli_verbs_conn_of(v, wc->qp_num);
            /* News is taken with a lock, which no run can acquire.  */
            if (!conn || (node && has_news(node, wc - 1))) break;
            ptli_verbs_conn_heard(conn);
            number = wc->qp_num;
            node = conn->node;
            ptli_short_from(&run, &node->face);
        }
        if (!ptli_short_take(&run, &node->face, ptli_verbs_receive_bytes(wc), wc->byte_len)) break;
        ptli_verbs_count_taken(node);
        ptli_verbs_batch(v, ptli_verbs_receive_bytes(wc));
    }
    ptli_short_end(&run);
    const int taken = count - left;
    if (taken && has_news(node, wc - 1)) ptli_verbs_take_news(node, received_news(wc - 1), false);
    ptli_verbs_post_batch(v);
    return taken;
}
