/* send.c - sends Active Messages and system messages, and puts and gets with events (PO-5, PO-6,
 * PO-7, PO-9).
 *
 * A Request acquires a ticket, a chunk that also receives its Reply, and credits: all of them or
 * none.  A Reply uses a chunk and tickets that were reserved before its Request was taken from the
 * queue, so it never fails for lack of resources.
 */
#include <errno.h>
#include <stdlib.h>

#include "other/base/mapped.h"
#include "portals.h"

/* Looks up the path to a table entry of the peer, for later operations without events. */
static void send_find_path(const net_peer_t *peer, ptl_pt_index_t entry, ptl_path_t *path)
{
    if (!*path && PtlPathOpen(net_portals.ni, peer->id, entry, path) != PTL_OK) *path = NULL;
}

static void send_put(const char *what, net_peer_t *peer, ptl_handle_md_t md, uint64_t offset,
                     size_t length, ptl_pt_index_t entry, uint64_t bits, uint64_t there,
                     uint64_t header)
{
    if (entry == NET_PT_AM) send_find_path(peer, entry, &peer->am);
    int error = PtlPutRegion(md, offset, length, PTL_NO_ACK_REQ, peer->id, entry, NET_AC, bits,
                             there, header);
    if (error != PTL_OK) net_portals_failed(what, peer->rank, error);
}

/* Sends a message without events, whose resources may be reused at once.  False: send_put must send
 * it.  */
static inline bool send_bytes(const net_peer_t *peer, const void *data, size_t length,
                              uint64_t bits, uint64_t there, uint64_t header)
{
    return PtlPutBytes(peer->am, data, length, bits, there, header) == PTL_OK;
}

/* Length of a Request in the receive buffer, where each begins at a multiple of 8. */
static inline size_t send_padded(size_t length)
{
    return (length + 7) & ~(size_t)7;
}

static inline uint64_t send_header(uint8_t credits, size_t length, size_t sent)
{
    return bits_header(net_portals.rank, credits, (unsigned)(sent - length));
}

/* --- Requests --- */

/* The resources of a Request; the tickets are reserved. */
typedef struct means {
    uint32_t chunk;
    uint8_t tickets; /* two for a Long, whose payload is an operation of its own */
    uint8_t credits;
} send_means_t;

static void send_release(const send_means_t *means)
{
    gasneti_lock(&net_portals.lock);
    net_portals.tickets.count += means->tickets;
    stock_give(&net_portals.chunks, means->chunk);
    gasneti_unlock(&net_portals.lock);
}

HOT enum net_result send_acquire(net_peer_t *peer, size_t length, bool pair, send_means_t *means)
{
    means->tickets = 1 + pair;
    const enum net_result result = net_portals_reserve(means->tickets, &means->chunk);
    if (result != NET_POSTED) return result == NET_NO_SEND_BUF ? NET_NO_REPLY_BUF : result;
    if (net_portals_take_credits(peer, receive_cost(length) + pair, &means->credits))
        return NET_POSTED;
    send_release(means);
    return NET_NO_CREDIT;
}

/* Sends a Request from the chunk that will receive the Reply. */
static void send_from_chunk(net_peer_t *peer, const void *data, size_t length,
                            const send_means_t *means, enum bits_kind kind)
{
    static const gasnetc_sent_t nothing;
    uint32_t place = means->chunk * RECEIVE_CHUNK;
    net_slot_t *ticket = net_portals_reserved_ticket();
    memcpy(net_portals_chunk(means->chunk), data, length);
    net_portals_launch(peer, ticket, &nothing);
    send_put("an Active Message to", peer, net_portals.reqsb, place, send_padded(length), NET_PT_AM,
             bits_pack(place, net_portals_ticket_number(ticket), kind, BITS_REQRB), 0,
             send_header(means->credits, length, send_padded(length)));
}

/* Sends a Request, or the header of a Long.  `data` is followed by room for the padding. */
HOT void send_request(net_peer_t *peer, char *data, size_t length, const send_means_t *means,
                      enum bits_kind kind)
{
    net_chunk_t *chunk = &net_portals.chunk[means->chunk];
    size_t sent = send_padded(length);
    chunk->message.peer = peer;
    chunk->request = true;
    chunk->header = chunk->data = chunk->pair = false;
    for (size_t i = length; i < sent; i++) data[i] = 0;
    if (send_bytes(peer, data, sent, bits_pack(means->chunk * RECEIVE_CHUNK, 0, kind, BITS_REQRB),
                   0, send_header(means->credits, length, sent)))
        net_portals_unreserve(1);
    else
        send_from_chunk(peer, data, length, means, kind);
}

enum net_result net_portals_request(net_peer_t *peer, void *data, size_t length)
{
    send_means_t means;
    enum net_result result = send_acquire(peer, length, false, &means);
    if (result == NET_POSTED) send_request(peer, data, length, &means, BITS_AM);
    return result;
}

/* --- Replies --- */

/* Sends a Reply from the chunk of RplSB that was reserved for it. */
static void send_from_reserve(net_peer_t *peer, const void *data, size_t length,
                              net_answer_t *answer, enum bits_kind kind, uint64_t header)
{
    static const gasnetc_sent_t nothing;
    uint32_t place = (uint32_t)(answer - net_portals.answer) * RECEIVE_CHUNK;
    net_slot_t *ticket = net_portals_reserved_ticket();
    answer->tickets--;
    atomic_store_explicit(&answer->uses, 2, memory_order_relaxed);
    memcpy(net_portals.rplsb_memory + place, data, length);
    net_portals_launch(peer, ticket, &nothing);
    send_put("a Reply to", peer, net_portals.rplsb, place, length, NET_PT_AM,
             bits_pack(answer->place, net_portals_ticket_number(ticket), kind, BITS_REQSB),
             answer->place, header);
}

HOT void send_reply(net_peer_t *peer, const void *data, size_t length, net_answer_t *answer,
                    enum bits_kind kind)
{
    uint64_t header =
        send_header(net_portals_answer_credits(peer, answer->credits), length, length);
    if (!send_bytes(peer, data, length, bits_pack(answer->place, 0, kind, BITS_REQSB),
                    answer->place, header))
        send_from_reserve(peer, data, length, answer, kind, header);
}

enum net_result net_portals_reply(net_peer_t *peer, const void *data, size_t length,
                                  net_answer_t *answer)
{
    send_reply(peer, data, length, answer, BITS_AM);
    return NET_POSTED;
}

/* --- Longs --- */

/* A temporary descriptor of a copy of the payload, if no device can access its source, but this
 * process can; else invalid, with errno. */
static ptl_handle_md_t send_copy(const net_payload_t *payload, void **copy)
{
    if (gasneti_mapped(payload->src, payload->length, false) == GASNETI_UNMAPPED) {
        errno = EFAULT;
        return PTL_INVALID_HANDLE;
    }
    *copy = malloc(payload->length);
    if (!*copy) gasneti_fatal("out of memory for a payload of %zu bytes", payload->length);
    memcpy(*copy, payload->src, payload->length);
    return net_portals_temporary(*copy, payload->length);
}

/* Makes a temporary descriptor of a payload outside the segment, or of a copy if that memory cannot
 * be registered; its ticket is taken already.  The end of the operation in `slot` frees both. */
static ptl_handle_md_t send_temporary(const net_payload_t *payload, net_slot_t *slot)
{
    slot->copy = NULL;
    ptl_handle_md_t md = net_portals_temporary(payload->src, payload->length);
    if (md == PTL_INVALID_HANDLE && errno == EFAULT) md = send_copy(payload, &slot->copy);
    if (md == PTL_INVALID_HANDLE) {
        char why[300];
        net_explain_register(errno, payload->length, why, sizeof why);
        gasneti_fatal("cannot register %zu bytes at %p for a transfer: %s", payload->length,
                      payload->src, why);
    }
    return md;
}

static void send_payload(net_peer_t *peer, const net_payload_t *payload, uint32_t place,
                         enum bits_selector selector, const gasnetc_sent_t *sent)
{
    net_slot_t *ticket = net_portals_reserved_ticket();
    ptl_handle_md_t md = payload->local ? payload->local->md : send_temporary(payload, ticket);
    uint64_t offset =
        payload->local ? (uint64_t)((const char *)payload->src - payload->local->start) : 0;
    peer->puts++;
    peer->put_bytes += payload->length;
    peer->puts_not_inlined++;
    net_portals_launch(peer, ticket, sent);
    ticket->temporary = payload->local ? PTL_INVALID_HANDLE : md;
    send_put("the payload of an Active Message to", peer, md, offset, payload->length,
             NET_PT_SEGMENT,
             bits_pack(place, net_portals_ticket_number(ticket), BITS_DATA, selector),
             payload->dst - payload->key->base, bits_header(net_portals.rank, 0, 0));
}

/* The payload uses the second ticket and, outside the segment, the one for a temporary descriptor.
 */
static enum net_result send_long_reply(net_peer_t *peer, const void *header, size_t length,
                                       const net_payload_t *payload, net_answer_t *answer,
                                       const gasnetc_sent_t *sent)
{
    if (!payload->local) answer->temporary = false;
    answer->tickets--;
    send_payload(peer, payload, answer->place, BITS_RARSRC, sent);
    send_reply(peer, header, length, answer, BITS_HEADER);
    return NET_POSTED;
}

enum net_result net_portals_long(net_peer_t *peer, void *header, size_t length,
                                 const net_payload_t *payload, net_message_t *answers,
                                 const gasnetc_sent_t *sent)
{
    send_means_t means;
    if (answers)
        return send_long_reply(peer, header, length, payload, (net_answer_t *)answers, sent);
    if (!payload->local && !net_portals_take_temporary()) return NET_BUSY;
    enum net_result result = send_acquire(peer, length, true, &means);
    if (result != NET_POSTED) {
        if (!payload->local) net_portals_give_temporary();
        return result;
    }
    send_payload(peer, payload, means.chunk * RECEIVE_CHUNK, BITS_RARAM, sent);
    send_request(peer, header, length, &means, BITS_HEADER);
    return NET_POSTED;
}

/* --- puts and gets with events --- */

static uint64_t send_bits(const net_slot_t *slot, enum bits_kind kind, const net_key_t *key)
{
    return key->selector | bits_pack(0, net_portals_ticket_number(slot), kind, 0);
}

/* Starts a put.  Short data are sent from a chunk, without events if the path to the peer is known.
 */
bool net_portals_put(net_slot_t *slot, uint64_t dst, const net_key_t *key, const void *src,
                     const net_region_t *local, size_t length)
{
    net_peer_t *peer = slot->peer;
    ptl_handle_md_t md = local ? local->put : net_portals.putsb;
    const char *start = local ? local->start : net_portals.reqsb_memory;
    send_find_path(peer, NET_PT_SEGMENT, &peer->segment);
    if (!local) {
        const uint32_t chunk = net_portals_take(&net_portals.chunks);
        if (chunk == STOCK_NONE) {
            slot->peer->launched--; /* undoes net_portals_launch */
            net_portals_give_ticket(slot);
            return false;
        }
        slot->bounce = net_portals_chunk(chunk);
        src = memcpy(slot->bounce, src, length);
        slot->note.md = md;
        if (PtlPutNoted(peer->segment, src, length, key->selector, dst - key->base, &slot->note) ==
            PTL_OK)
            return true;
    }
    int error =
        PtlPutRegion(md, (uint64_t)((const char *)src - start), length, PTL_ACK_REQ, peer->id,
                     NET_PT_SEGMENT, NET_AC, send_bits(slot, BITS_PUT, key), dst - key->base, 0);
    if (error != PTL_OK) net_portals_failed("a put to", peer->rank, error);
    return true;
}

void net_portals_get(const net_slot_t *slot, uint64_t src, const net_key_t *key)
{
    net_peer_t *peer = slot->peer;
    const char *start = !slot->bounce                       ? slot->direct.local->start
                        : slot->bounce == slot->destination ? (const char *)net_portals.slot
                                                            : net_portals.reqsb_memory;
    const char *to = slot->bounce ? slot->bounce + sizeof(void *) : slot->direct.to;
    send_find_path(peer, NET_PT_SEGMENT, &peer->segment);
    int error =
        PtlGetRegion(slot->note.md, (uint64_t)(to - start), slot->got, peer->id, NET_PT_SEGMENT,
                     NET_AC, send_bits(slot, BITS_GET, key), src - key->base);
    if (error != PTL_OK) net_portals_failed("a get from", peer->rank, error);
}

enum net_result net_portals_get_by_chunk(net_peer_t *peer, void *dst, uint64_t src,
                                         const net_key_t *key, size_t length,
                                         gasnetc_counter_t *counter)
{
    uint32_t chunk;
    const enum net_result result = net_portals_reserve(1, &chunk);
    if (result != NET_POSTED) return result;
    char *bounce = net_portals_chunk(chunk), *to = net_portals_bounce(bounce, dst);
    return net_portals_start_get(peer, net_portals_reserved_ticket(), to, bounce, net_portals.reqsb,
                                 src, key, length, &(gasnetc_sent_t){.counter = counter});
}

/* --- system messages --- */

bool net_portals_system(net_peer_t *peer, enum bits_message message, uint32_t word, uint32_t more)
{
    int error =
        PtlPutRegion(net_portals.sys_md, 0, 0, message == BITS_WORDS ? PTL_ACK_REQ : PTL_NO_ACK_REQ,
                     peer->id, NET_PT_AM, NET_AC, bits_system(message, word), 0,
                     bits_system_header(net_portals.rank, more));
    if (error != PTL_OK) net_portals_failed("a system message to", peer->rank, error);
    return error == PTL_OK;
}

enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    atomic_fetch_add(&net_portals_rest.words_open, 1);
    if (!net_portals_system(peer, BITS_WORDS, (uint32_t)word0, (uint32_t)word1))
        atomic_fetch_sub(&net_portals_rest.words_open, 1); /* no acknowledgement will arrive */
    return NET_POSTED;
}

/* True when the process may exit: its system messages are acknowledged, and libportals has sent all
 * answers that peers wait for. */
bool net_quiet(void)
{
    ptl_sr_value_t answers;
    if (atomic_load(&net_portals_rest.words_open) != 0) return false;
    return PtlNIStatus(net_portals.ni, PTL_SR_ANSWERS, &answers) != PTL_OK || answers == 0;
}
