/* arrive.c - handles the events of the three queues (PO-3, PO-4, PO-7, PO-8).
 *
 * Called with the poll lock held.  Events of the SAFE queue release tickets, chunks and
 * descriptors, and deliver Replies, which are listed here until handlers may run.  Events of the AM
 * queue are taken one by one, each after the resources of its Reply are reserved.  Events of the
 * SYS queue are handled at once, except messages for the core.
 */
#include <stdlib.h>

#include "other/base/min.h"
#include "portals.h"

/* --- release of resources --- */

/* Handles the last event of the operation that holds the ticket. */
static void arrive_complete(net_slot_t *slot)
{
    gasnetc_sent(&slot->sent);
    net_portals_landed(slot);
}

/* The source of a Long's payload may be reused; a temporary descriptor of it is unlinked. */
static void arrive_payload_sent(net_slot_t *slot)
{
    ptl_handle_md_t temporary = slot->temporary;
    if (temporary != PTL_INVALID_HANDLE) {
        net_portals_unlink(temporary);
        net_portals_give_temporary();
        free(slot->copy);
    }
    arrive_complete(slot);
}

HOT void arrive_answer_used(net_answer_t *answer)
{
    if (GASNETC_THREADED) {
        if (atomic_fetch_sub_explicit(&answer->uses, 1, memory_order_acq_rel) > 1) return;
    } else {
        uint32_t uses = atomic_load_explicit(&answer->uses, memory_order_relaxed) - 1;
        atomic_store_explicit(&answer->uses, uses, memory_order_relaxed);
        if (uses) return;
    }
    gasneti_lock(&net_portals.lock);
    net_portals.tickets.count += answer->tickets;
    net_portals.temporaries += answer->temporary;
    net_portals_push_answer(answer);
    gasneti_unlock(&net_portals.lock);
}

void net_portals_answer_used(net_answer_t *answer)
{
    arrive_answer_used(answer);
}

/* Attaches a receive buffer again, after its last reference was dropped. */
static void arrive_attach_again(net_reqrb_t *buffer)
{
    net_portals_attach(buffer);
    atomic_fetch_sub_explicit(&net_portals.held, 1, memory_order_release);
}

/* Drops one reference to a receive buffer; the last one attaches the buffer again. */
HOT void arrive_reqrb_put(net_reqrb_t *buffer)
{
    if (reqrb_given_up(&buffer->use)) arrive_attach_again(buffer);
}

void net_portals_release(net_message_t *message)
{
    if (message->mark == NET_MARK_CHUNK) {
        uint32_t chunk = (uint32_t)((net_chunk_t *)message - net_portals.chunk);
        net_portals.chunk[chunk].request = false;
        net_portals_give(&net_portals.chunks, chunk);
        return;
    }
    net_answer_t *answer = (net_answer_t *)message;
    net_reqrb_t *buffer = answer->buffer;
    arrive_answer_used(answer); /* another thread may take the answer */
    if (buffer) arrive_reqrb_put(buffer);
}

/* --- identification of the sender --- */

/* Fatal unless the rank in the header data has the event's process id. */
static inline net_peer_t *arrive_sender(const ptl_event_t *event)
{
    const uint32_t rank = bits_source(event->hdr_data);
    net_peer_t *peer = rank <= net_portals_rest.peers ? net_portals_rest.peer[rank] : NULL;
    if (!peer || memcmp(&peer->id, &event->initiator, sizeof peer->id) != 0)
        gasneti_malformed(rank <= net_portals_rest.peers ? rank : 0, (uint32_t)event->mlength,
                          "source (rank and process id do not match)");
    return peer;
}

static net_slot_t *arrive_ticket(const ptl_event_t *event)
{
    uint32_t ticket = bits_ticket(event->match_bits);
    if (ticket >= net_portals.tickets.total)
        gasneti_fatal("Portals: an event names ticket %u of %u", ticket, net_portals.tickets.total);
    return &net_portals.slot[ticket];
}

/* --- Replies --- */

static net_chunk_t *arrive_reply_chunk(uint64_t place, const ptl_event_t *event)
{
    net_peer_t *peer = arrive_sender(event);
    uint64_t number = place / RECEIVE_CHUNK;
    if (place % RECEIVE_CHUNK || number >= net_portals.chunks.total ||
        !net_portals.chunk[number].request || net_portals.chunk[number].message.peer != peer)
        gasneti_malformed(peer->rank, (uint32_t)event->mlength,
                          "place (no Request awaits a Reply there)");
    return &net_portals.chunk[number];
}

static void arrive_reply_complete(net_chunk_t *chunk)
{
    if (!chunk->header || chunk->pair != chunk->data) return;
    chunk->next = NULL;
    *net_portals.last_reply = chunk;
    net_portals.last_reply = &chunk->next;
}

static void arrive_reply_header(const ptl_event_t *event)
{
    net_chunk_t *chunk = arrive_reply_chunk(event->offset, event);
    net_peer_t *peer = chunk->message.peer;
    if (chunk->header || event->mlength > RECEIVE_CHUNK ||
        !net_portals_credits_back(peer, bits_credits(event->hdr_data)))
        gasneti_malformed(peer->rank, (uint32_t)event->mlength, "credit byte of a Reply");
    chunk->message.data = net_portals.reqsb_memory + event->offset;
    chunk->message.length = (uint32_t)event->mlength;
    chunk->header = true;
    chunk->pair = bits_kind(event->match_bits) == BITS_HEADER;
    if (chunk->data && !chunk->pair)
        gasneti_malformed(peer->rank, (uint32_t)event->mlength, "payload (the message is no Long)");
    arrive_reply_complete(chunk);
}

static void arrive_reply_payload(const ptl_event_t *event)
{
    net_chunk_t *chunk = arrive_reply_chunk(bits_place(event->match_bits), event);
    if (chunk->data || (chunk->header && !chunk->pair))
        gasneti_malformed(chunk->message.peer->rank, (uint32_t)event->mlength,
                          "place (its payload has arrived before)");
    chunk->data = true;
    arrive_reply_complete(chunk);
}

static net_chunk_t *arrive_next_reply(void)
{
    net_chunk_t *chunk = net_portals.replies;
    net_portals.replies = chunk->next;
    if (!net_portals.replies) net_portals.last_reply = &net_portals.replies;
    return chunk;
}

unsigned net_portals_waiting(net_message_t **messages, unsigned budget, unsigned *systems)
{
    unsigned n = 0;
    while (net_portals.words_waiting && n < budget) {
        messages[n++] = &net_portals.words[net_portals.words_first].message;
        net_portals.words_first = (net_portals.words_first + 1) % net_portals.words_size;
        net_portals.words_waiting--;
        ++*systems;
    }
    while (net_portals.replies && n < budget) messages[n++] = &arrive_next_reply()->message;
    return n;
}

/* --- the SAFE queue --- */

/* Handles a failed event; releases nothing, since the job ends and the device may still access the
 * memory. */
static void arrive_failed(const ptl_event_t *event)
{
    if (event->type == PTL_EVENT_PUT_END) { /* of a Reply: the ticket belongs to the sender */
        net_portals_failed("receiving from", bits_source(event->hdr_data), PTL_NAL_FAILED);
        return;
    }
    enum bits_kind kind = bits_kind(event->match_bits);
    const net_peer_t *peer = arrive_ticket(event)->peer;
    net_portals_failed(kind == BITS_PUT   ? "a put to"
                       : kind == BITS_GET ? "a get from"
                                          : "an Active Message to",
                       peer ? peer->rank : net_portals.rank, PTL_NAL_FAILED);
}

void net_portals_chunk_ended(const net_slot_t *slot)
{
    if (slot->got) net_portals_copy_got(slot->bounce, slot->got);
    net_portals_give(&net_portals.chunks,
                     (uint32_t)((size_t)(slot->bounce - net_portals.reqsb_memory) / RECEIVE_CHUNK));
}

void net_portals_note_failed(const net_slot_t *slot)
{
    net_portals_failed(slot->got ? "a get from" : "a put to", slot->peer->rank, PTL_NAL_FAILED);
}

/* Tickets, a counter and a peer are stored once for all their operations.  The ticket of one that
 * has failed is released too, as the job ends. */
unsigned net_portals_noted_all(ptl_note_t *first)
{
    gasnetc_counter_t *counter = NULL;
    net_peer_t *peer = ((net_slot_t *)first)->peer;
    uint32_t reaped = 0, landed = 0, count = 0; /* operations of `counter`, of `peer`, and all */
    net_slot_t *slot = (net_slot_t *)first;
    for (ptl_note_t *note = first; note; note = note->next, count++) {
        slot = (net_slot_t *)note;
        if (slot->peer != peer) {
            net_portals_count_landed(peer, landed);
            peer = slot->peer;
            landed = 0;
        }
        landed++;
        if (note->fail != PTL_NI_OK) {
            net_portals_note_failed(slot);
            continue;
        }
        if (slot->bounce) net_portals_unbounce(slot);
        gasnetc_sent_end(&slot->sent);
        if (slot->sent.counter == counter) {
            reaped++;
        } else if (slot->sent.counter) {
            gasnetc_counter_reap(counter, reaped);
            counter = slot->sent.counter;
            reaped = 1;
        }
    }
    gasnetc_counter_reap(counter, reaped);
    net_portals_count_landed(peer, landed);
    net_portals_give_tickets((net_slot_t *)first, slot, count);
    return count;
}

/* Handles an event of ReqSB, of PutSB, which covers the same memory, or of the tickets. */
static void on_reqsb(const ptl_event_t *event)
{
    net_slot_t *slot;
    switch (event->type) {
    case PTL_EVENT_SEND_END:
        if (bits_kind(event->match_bits) != BITS_GET)
            net_portals_landed(arrive_ticket(event)); /* the chunk is kept for the Reply */
        break;
    case PTL_EVENT_ACK:
    case PTL_EVENT_REPLY_END:
        slot = arrive_ticket(event);
        net_portals_unbounce(slot);
        arrive_complete(slot);
        break;
    case PTL_EVENT_PUT_END:
        arrive_reply_header(event);
        break;
    default:
        break;
    }
}

/* Handles an event of RARSRC, PutSrc, or a temporary descriptor. */
static void on_user_memory(const ptl_event_t *event)
{
    switch (event->type) {
    case PTL_EVENT_SEND_END:
        if (bits_kind(event->match_bits) == BITS_DATA) arrive_payload_sent(arrive_ticket(event));
        break;
    case PTL_EVENT_ACK:
    case PTL_EVENT_REPLY_END:
        arrive_complete(arrive_ticket(event));
        break;
    case PTL_EVENT_PUT_END:
        arrive_reply_payload(event);
        break;
    default:
        break;
    }
}

static void on_rplsb(const ptl_event_t *event)
{
    if (event->type != PTL_EVENT_SEND_END) return;
    net_portals_landed(arrive_ticket(event));
    net_portals_answer_used(&net_portals.answer[event->offset / RECEIVE_CHUNK]);
}

static void __attribute__((noreturn, cold)) arrive_caught(const ptl_event_t *event)
{
    gasneti_fatal("the catch-basin holds a Request of %llu bytes from %s: flow control failed, and "
                  "the message is lost; %s",
                  (unsigned long long)event->rlength, gasneti_rank_name(arrive_sender(event)->rank),
                  net_portals.flow ? "do all ranks have the same GASNET_PORTAL_* variables?"
                                   : "set GASNET_PORTAL_FLOW_CONTROL=1, or raise "
                                     "GASNET_PORTAL_AMRECV_SPACE");
}

void net_portals_safe_event(const ptl_event_t *event)
{
    if (event->ni_fail_type != PTL_NI_OK) {
        arrive_failed(event);
        return;
    }
    switch ((enum net_role)(uintptr_t)event->md.user_ptr) {
    case NET_ROLE_REQSB:
    case NET_ROLE_TICKETS:
        on_reqsb(event);
        break;
    case NET_ROLE_SEGMENT:
    case NET_ROLE_TMPMD:
        on_user_memory(event);
        break;
    case NET_ROLE_RPLSB:
        on_rplsb(event);
        break;
    case NET_ROLE_CB:
        arrive_caught(event);
    default:
        break;
    }
}

/* --- the AM queue --- */

/* Fills the answer for a complete Request.  `data` points into `buffer` or, if that is NULL, into
 * the answer. */
HOT net_message_t *arrive_request_complete(net_answer_t *answer, net_peer_t *peer, uint32_t place,
                                           uint8_t credits, void *data, uint32_t length,
                                           net_reqrb_t *buffer)
{
    answer->message.peer = peer;
    answer->message.data = data;
    answer->message.length = length;
    answer->buffer = buffer;
    answer->place = place;
    answer->credits = credits;
    atomic_store_explicit(&answer->uses, 1, memory_order_relaxed);
    if (buffer) reqrb_filled(&buffer->use);
    return &answer->message;
}

static long_id_half_t *arrive_match_long(net_peer_t *peer, const ptl_event_t *event, bool is_header,
                                         bool *both)
{
    long_id_half_t *half;
    switch (long_ids_meet(&net_portals_rest.longs, peer->rank, bits_place(event->match_bits),
                          is_header, &half)) {
    case LONG_ID_FIRST:
        *both = false;
        return half;
    case LONG_ID_SECOND:
        *both = true;
        return half;
    case LONG_ID_TWICE:
        gasneti_malformed(peer->rank, (uint32_t)event->mlength, "place (it arrived twice)");
    case LONG_ID_MEMORY:
        break;
    }
    gasneti_fatal("out of memory for the header or payload of an AMLong");
}

/* Handles the payload of a Long Request, which was written to the segment. */
static net_message_t *arrive_long_payload(const ptl_event_t *event, net_answer_t *answer)
{
    bool both;
    net_peer_t *peer = arrive_sender(event);
    long_id_half_t *half = arrive_match_long(peer, event, false, &both);
    if (!both) return NULL;
    memcpy(answer->header, half->bytes, half->length);
    net_message_t *message =
        arrive_request_complete(answer, peer, bits_place(event->match_bits), half->credits,
                                answer->header, half->length, NULL);
    long_ids_done(&net_portals_rest.longs, half);
    return message;
}

/* Stores a copy of a header that arrives before its payload, and returns true.  False if the
 * payload has arrived. */
static bool arrive_store_header(net_peer_t *peer, const ptl_event_t *event, const void *data,
                                uint32_t length)
{
    bool both;
    if (length > LONG_ID_HEADER_MOST)
        gasneti_malformed(peer->rank, length, "length (of the header of a Long)");
    long_id_half_t *half = arrive_match_long(peer, event, true, &both);
    if (both) {
        long_ids_done(&net_portals_rest.longs, half);
        return false;
    }
    half->credits = bits_credits(event->hdr_data);
    half->length = length;
    memcpy(half->bytes, data, length);
    return true;
}

HOT net_message_t *arrive_request(const ptl_event_t *event, net_answer_t *answer)
{
    net_reqrb_t *buffer = event->md.user_ptr;
    net_peer_t *peer = arrive_sender(event);
    char *data = buffer->memory + event->offset;
    uint32_t length = (uint32_t)event->mlength, pad = bits_pad(event->hdr_data);
    uint8_t credits = bits_credits(event->hdr_data);
    if (pad > length || !net_portals_credits_valid(peer, credits))
        gasneti_malformed(peer->rank, length, "credit byte of a Request");
    length -= pad;
    if (bits_are(event->match_bits, BITS_HEADER, BITS_REQRB) &&
        arrive_store_header(peer, event, data, length))
        return NULL;
    return arrive_request_complete(answer, peer, bits_place(event->match_bits), credits, data,
                                   length, buffer);
}

/* Handles an UNLINK event, or a failure. */
static void arrive_no_message(const ptl_event_t *event)
{
    const bool payload = (uintptr_t)event->md.user_ptr == NET_ROLE_RARAM;
    if (event->type == PTL_EVENT_PUT_END) {
        net_portals_failed("receiving from", bits_source(event->hdr_data), PTL_NAL_FAILED);
    } else if (event->type == PTL_EVENT_UNLINK && !payload) { /* nothing is sent from RARAM */
        atomic_fetch_add_explicit(&net_portals.held, 1, memory_order_relaxed);
        arrive_reqrb_put(event->md.user_ptr);
    }
}

/* Returns the message that the event completes, which is in `answer`, or NULL. */
HOT net_message_t *arrive_am_event(const ptl_event_t *event, net_answer_t *answer)
{
    if (event->type != PTL_EVENT_PUT_END || event->ni_fail_type != PTL_NI_OK) {
        arrive_no_message(event);
        return NULL;
    }
    return (uintptr_t)event->md.user_ptr == NET_ROLE_RARAM ? arrive_long_payload(event, answer)
                                                           : arrive_request(event, answer);
}

/* Reserves the resources of a Reply, before the AM queue is polled (PO-4).  NULL if they are
 * exhausted. */
HOT net_answer_t *arrive_prepare(void)
{
    gasneti_lock(&net_portals.lock);
    net_answer_t *answer = net_portals.answers.free;
    if (answer && net_portals.tickets.count >= 2 && net_portals.temporaries) {
        net_portals.answers.free = answer->next;
        net_portals.answers.count--;
        net_portals.tickets.count -= 2;
        net_portals.temporaries--;
        answer->tickets = 2;
        answer->temporary = true;
    } else {
        answer = NULL;
    }
    gasneti_unlock(&net_portals.lock);
    return answer;
}

/* A Reply returns the credits of its Request before the handler returns and releases the receive
 * buffer.  So buffers that handlers hold are not covered by credits.  True while NET_SPARE such
 * buffers are held: no further Request is taken then. */
HOT bool arrive_holds_enough(void)
{
    return GASNETC_THREADED &&
           atomic_load_explicit(&net_portals.held, memory_order_acquire) >= NET_SPARE;
}

/* The next events of a queue, which stay in it until PtlEQDone; NULL: the queue is empty.  Any
 * other result is fatal. */
HOT const ptl_event_t *arrive_events(ptl_handle_eq_t queue, const char *name, ptl_size_t *count)
{
    const ptl_event_t *events;
    int result = PtlEQNext(queue, &events, count);
    if (result == PTL_OK) return events;
    if (result != PTL_EQ_EMPTY) net_portals_queue_failed(name, result);
    return NULL;
}

unsigned net_portals_requests(net_message_t **messages, unsigned n, unsigned budget)
{
    ptl_size_t left = net_portals.am_limit, there, done;
    net_answer_t *answer = net_portals.in_hand;
    do {
        const ptl_event_t *events = arrive_events(net_portals.am_eq, "AM", &there);
        if (!events) {
            net_portals.requests = 0;
            break;
        }
        /* An event completes no more than one message. */
        there =
            gasneti_min(gasneti_min(there, net_portals.requests), gasneti_min(left, budget - n));
        for (done = 0; done < there && !arrive_holds_enough(); done++) {
            if (!answer && !(answer = arrive_prepare())) break;
            net_message_t *message = arrive_am_event(&events[done], answer);
            if (!message) continue;
            messages[n++] = message;
            answer = NULL;
        }
        PtlEQDone(net_portals.am_eq, done);
        net_portals.requests -= done;
        left -= done;
    } while (done == there && left && net_portals.requests && n < budget);
    net_portals.in_hand = answer;
    return n;
}

/* --- the SYS queue --- */

static void arrive_words(net_peer_t *peer, uint32_t word0, uint32_t word1)
{
    if (net_portals.words_waiting == net_portals.words_size)
        gasneti_malformed(peer->rank, 0, "system message (more than may be outstanding)");
    uint32_t at = (net_portals.words_first + net_portals.words_waiting++) % net_portals.words_size;
    net_words_t *words = &net_portals.words[at];
    words->word[0] = word0;
    words->word[1] = word1;
    words->message = (net_message_t){
        .peer = peer, .data = words->word, .length = sizeof words->word, .system = true};
}

void net_portals_sys_event(const ptl_event_t *event)
{
    uint32_t word = (uint32_t)(event->match_bits >> 32);
    if (event->type == PTL_EVENT_ACK) {
        atomic_fetch_sub(&net_portals_rest.words_open, 1);
        return;
    }
    if (event->type != PTL_EVENT_PUT_END || event->ni_fail_type != PTL_NI_OK) return;
    net_peer_t *peer = arrive_sender(event);
    switch (bits_message(event->match_bits)) {
    case BITS_WORDS:
        arrive_words(peer, word, (uint32_t)event->hdr_data);
        break;
    case BITS_REVOKE:
        net_portals_revoked(peer, word);
        break;
    case BITS_RETURN:
        net_portals_returned(peer, word);
        break;
    default:
        gasneti_malformed(peer->rank, 0, "system message");
    }
}

/* Releases nothing: the core has copied the words. */
void net_release_system(net_message_t *message)
{
    (void)message;
}

unsigned net_portals_events(void)
{
    enum { SYS, SAFE, AM, QUEUES };
    const ptl_handle_eq_t queue[QUEUES] = {net_portals.sys_eq, net_portals.safe_eq,
                                           net_portals.am_eq};
    ptl_size_t there[QUEUES], count;
    const ptl_event_t *event;
    unsigned systems = 0, safe = 0;
    int result = PtlEQCount(queue, QUEUES, there);
    if (result != PTL_OK) {
        net_portals_queue_failed("SYS", result);
        return 0;
    }
    net_portals.requests = there[AM];
    net_portals.arrived = true;
    while (systems < there[SYS] && systems < net_portals.sys_limit &&
           (event = arrive_events(net_portals.sys_eq, "SYS", &count))) {
        net_portals_sys_event(event);
        PtlEQDone(net_portals.sys_eq, 1);
        systems++;
    }
    while (safe < there[SAFE] && safe < net_portals.safe_limit &&
           (event = arrive_events(net_portals.safe_eq, "SAFE", &count))) {
        net_portals_safe_event(event);
        PtlEQDone(net_portals.safe_eq, 1);
        safe++;
    }
    net_portals.left = systems < there[SYS] || safe < there[SAFE];
    return systems + safe;
}
