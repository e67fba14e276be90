/* system_messages.c - system messages in both directions: posting them, and releasing those that
 * have arrived.
 *
 * Called by the exit engine (net_sys) and by the delivery (net_release_system).  A system message
 * needs no credit: its send ring and its receive buffers serve no other messages.
 */
#include "core/ib/system_messages.h"

#include "core/ib/connect.h"

/* Where the device does not inline: takes a receive buffer that holds the words until the send has
 * completed.  The buffer is not returned to the free list, since a job ends only once, and a
 * connection begins once. */
static net_recv_t *take_bounce_buffer(void)
{
    net_recv_t *bounce = net_ib_recv_pop();
    if (!bounce) bounce = net_ib_recv_more();
    if (!bounce && net_ib.shared) bounce = net_ib_recv_make(1); /* a shared pool has few spares */
    return bounce;
}

/* Posts a send of words to which the slot belongs. */
static enum net_result post_words(net_qp_t *qp, net_slot_t *slot, const uint64_t *words,
                                  size_t count)
{
    const size_t length = count * sizeof *words;
    hca_local_t local = {.data = words, .length = (uint32_t)length};
    local.inlined = net_ib.inline_max >= length;
    if (!local.inlined) {
        net_recv_t *bounce = take_bounce_buffer();
        if (!bounce) return NET_NO_REPLY_BUF;
        local.data = memcpy(bounce->message.data, words, length);
        local.lkey = bounce->region->lkey[qp->local_hca];
    }
    if (net_ib.total_limited) atomic_fetch_add(&net_ib.in_flight, 1);
    net_ib_enqueue(&qp->system, slot, NET_OP_SYS, &(gasnetc_sent_t){.counter = NULL});
    hca_send_t send;
    hca_send_init(&send, (uintptr_t)&qp->system);
    send.wr.imm_data = (uint32_t)NET_IB_SYSTEM;
    int error = hca_post(qp->qp, &send, net_ib.wordy ? HCA_SEND : HCA_SEND_IMM, local);
    if (error) net_ib_post_failed(qp, "a system message", error);
    return NET_POSTED;
}

enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    const uint64_t words[3] = {NET_IB_WORD_SYSTEM, word0, word1};
    net_qp_t *qp = peer->am;
    net_slot_t *slot = net_ib_send_ring_slot(&qp->system);
    if (!slot) return net_ib_busy(peer, qp);
    return net_ib.wordy ? post_words(qp, slot, words, 3) : post_words(qp, slot, words + 1, 2);
}

/* --- iWARP --- */

void net_ib_send_first(net_qp_t *qp)
{
    const uint64_t word = NET_IB_WORD_FIRST;
    post_words(qp, net_ib_first_slot(&qp->system), &word, 1);
}

bool net_ib_is_system(const net_message_t *message)
{
    const uint8_t *first = message->data;
    return message->system ||
           (net_ib.wordy && message->length && *first == (uint8_t)NET_IB_WORD_SYSTEM);
}

/* Decodes the word in front of a message; true if the message is for the core. */
static bool decode_word(net_message_t *message, unsigned *systems)
{
    uint64_t word = 0;
    char *data = message->data;
    if (message->length >= sizeof word) memcpy(&word, data, sizeof word);
    if (word == NET_IB_WORD_SYSTEM) {
        message->length -= (uint32_t)sizeof word;
        memmove(data, data + sizeof word, message->length);
        message->system = true;
        ++*systems;
    } else if (word == NET_IB_WORD_FIRST) {
        net_ib_open_qps(message->peer);
        net_release_system(message);
        return false;
    }
    return true;
}

unsigned net_ib_decode_words(net_message_t **messages, unsigned count, unsigned *systems)
{
    unsigned left = 0;
    for (unsigned i = 0; i < count; i++)
        if (decode_word(messages[i], systems)) messages[left++] = messages[i];
    return left;
}

/* Posts the receive buffer again: as many as were set aside stay posted. */
void net_release_system(net_message_t *message)
{
    net_recv_t *recv = (net_recv_t *)message;
    message->system = false;
    if (net_ib.shared) {
        net_spare_t spare = {NULL};
        message->mark |= NET_IB_REQUEST; /* not a Reply, the release of which is counted */
        net_ib_release_settled(recv, &spare);
        net_spare_back(&spare);
    } else {
        net_ib_recv_post(message->peer, recv->qp, recv);
    }
}
