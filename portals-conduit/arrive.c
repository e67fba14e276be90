/* arrive.c - what events mean (PO-3, PO-4, PO-7, PO-8).
 *
 * The poll lock is held.  Events of the SAFE queue give tickets, chunks and descriptors back, and
 * bring Replies, which wait here until handlers may run; those of the AM queue are taken one by
 * one, each with the means to answer it in hand; those of the SYS queue are acted upon at once
 * unless they are for the core.
 */
#include "portals.h"

/* --- giving back --- */

static void ticket_back(uint32_t ticket)
{
    net_peer_t *peer = net_portals.slot[ticket].peer;
    if (GASNETC_THREADED)
        atomic_fetch_sub_explicit(&peer->in_flight, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&peer->in_flight,
                              atomic_load_explicit(&peer->in_flight, memory_order_relaxed) - 1,
                              memory_order_relaxed);
    net_portals_give(&net_portals.tickets, ticket);
}

/* The last event of what is in flight under the ticket. */
static void complete(uint32_t ticket)
{
    gasnetc_sent(&net_portals.slot[ticket].sent);
    ticket_back(ticket);
}

/* The source of a Long's payload may be written again; its own descriptor goes. */
static void payload_sent(uint32_t ticket)
{
    ptl_handle_md_t temporary = net_portals.slot[ticket].temporary;
    if (temporary != PTL_INVALID_HANDLE) {
        net_portals_unlink(temporary);
        net_portals_give_temporary();
    }
    complete(ticket);
}

void net_portals_answer_used(net_answer_t *answer)
{
    if (GASNETC_THREADED) {
        if (atomic_fetch_sub_explicit(&answer->uses, 1, memory_order_acq_rel) > 1) return;
    } else {
        uint32_t uses = atomic_load_explicit(&answer->uses, memory_order_relaxed) - 1;
        atomic_store_explicit(&answer->uses, uses, memory_order_relaxed);
        if (uses) return;
    }
    gasneti_lock(&net_portals.lock);
    while (answer->tickets) stock_give(&net_portals.tickets, answer->ticket[--answer->tickets]);
    if (answer->temporary) net_portals.temporaries++;
    stock_give(&net_portals.answers, (uint32_t)(answer - net_portals.answer));
    gasneti_unlock(&net_portals.lock);
}

/* One use of a receive buffer ends. */
static void give_up(net_reqrb_t *buffer)
{
    if (!reqrb_given_up(&buffer->use)) return;
    net_portals_attach(buffer);
    atomic_fetch_sub_explicit(&net_portals.held, 1, memory_order_release);
}

void net_portals_release(net_message_t *message)
{
    /* In bytes: pointers into two arrays have no distance in elements. */
    uintptr_t offset = (uintptr_t)message - (uintptr_t)net_portals.chunk;
    if (offset < (uintptr_t)net_portals.chunks.total * sizeof(net_chunk_t)) {
        uint32_t chunk = (uint32_t)(offset / sizeof(net_chunk_t));
        net_portals.chunk[chunk].request = false;
        net_portals_give(&net_portals.chunks, chunk);
        return;
    }
    net_answer_t *answer = (net_answer_t *)message;
    if (answer->buffer) give_up(answer->buffer);
    net_portals_answer_used(answer);
}

bool net_portals_prepare(void)
{
    uint32_t number = STOCK_NONE;
    gasneti_lock(&net_portals.lock);
    if (net_portals.tickets.count >= 2 && net_portals.temporaries)
        number = stock_take(&net_portals.answers);
    if (number != STOCK_NONE) {
        net_answer_t *answer = &net_portals.answer[number];
        answer->ticket[0] = stock_take(&net_portals.tickets);
        answer->ticket[1] = stock_take(&net_portals.tickets);
        answer->tickets = 2;
        answer->temporary = true;
        net_portals.temporaries--;
        net_portals.in_hand = answer;
    }
    gasneti_unlock(&net_portals.lock);
    return number != STOCK_NONE;
}

/* --- who --- */

net_peer_t *net_portals_peer(uint32_t rank, ptl_process_id_t id, size_t length)
{
    net_peer_t *peer = rank <= net_portals_rest.peers ? net_portals_rest.peer[rank] : NULL;
    if (!peer || peer->id.nid != id.nid || peer->id.pid != id.pid)
        gasneti_malformed(rank <= net_portals_rest.peers ? rank : 0, (uint32_t)length,
                          "source (it is not who it says)");
    return peer;
}

static net_peer_t *sender(const ptl_event_t *event)
{
    return net_portals_peer(bits_source(event->hdr_data), event->initiator, event->mlength);
}

static uint32_t checked_ticket(const ptl_event_t *event)
{
    uint32_t ticket = bits_ticket(event->match_bits);
    if (ticket >= net_portals.tickets.total)
        gasneti_fatal("Portals: an event names ticket %u of %u", ticket, net_portals.tickets.total);
    return ticket;
}

/* --- Replies --- */

static net_chunk_t *chunk_awaited(uint64_t place, const ptl_event_t *event)
{
    net_peer_t *peer = sender(event);
    uint64_t number = place / PLAN_CHUNK;
    if (place % PLAN_CHUNK || number >= net_portals.chunks.total ||
        !net_portals.chunk[number].request || net_portals.chunk[number].message.peer != peer)
        gasneti_malformed(peer->rank, (uint32_t)event->mlength, "place (nothing waits there)");
    return &net_portals.chunk[number];
}

static void reply_is_there(net_chunk_t *chunk)
{
    if (!chunk->header || chunk->pair != chunk->data) return;
    chunk->next = NULL;
    *net_portals.last_reply = chunk;
    net_portals.last_reply = &chunk->next;
}

static void reply_header(const ptl_event_t *event)
{
    net_chunk_t *chunk = chunk_awaited(event->offset, event);
    net_peer_t *peer = chunk->message.peer;
    if (chunk->header || event->mlength > PLAN_CHUNK ||
        !net_portals_credits_back(peer, bits_credits(event->hdr_data)))
        gasneti_malformed(peer->rank, (uint32_t)event->mlength, "credit byte of a Reply");
    chunk->message.data = net_portals.reqsb_memory + event->offset;
    chunk->message.length = (uint32_t)event->mlength;
    chunk->header = true;
    chunk->pair = bits_kind(event->match_bits) == BITS_HEADER;
    if (chunk->data && !chunk->pair)
        gasneti_malformed(peer->rank, (uint32_t)event->mlength, "payload (of no Long)");
    reply_is_there(chunk);
}

static void reply_payload(const ptl_event_t *event)
{
    net_chunk_t *chunk = chunk_awaited(bits_place(event->match_bits), event);
    if (chunk->data || (chunk->header && !chunk->pair))
        gasneti_malformed(chunk->message.peer->rank, (uint32_t)event->mlength,
                          "place (its payload is there)");
    chunk->data = true;
    reply_is_there(chunk);
}

static net_chunk_t *next_reply(void)
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
    while (net_portals.replies && n < budget) messages[n++] = &next_reply()->message;
    return n;
}

/* --- the SAFE queue --- */

/* What it holds stays held: the job ends, and the device may still look at it. */
static void failed(const ptl_event_t *event)
{
    if (event->type == PTL_EVENT_PUT_END) { /* a Reply's: with a ticket of its sender */
        net_portals_failed("receiving from", bits_source(event->hdr_data), PTL_NAL_FAILED);
        return;
    }
    enum bits_kind kind = bits_kind(event->match_bits);
    uint32_t ticket = checked_ticket(event);
    const net_peer_t *peer = net_portals.slot[ticket].peer;
    net_portals_failed(kind == BITS_PUT   ? "a put to"
                       : kind == BITS_GET ? "a get from"
                                          : "an Active Message to",
                       peer ? peer->rank : net_portals.rank, PTL_NAL_FAILED);
}

static void chunk_back(uint64_t place)
{
    net_portals_give(&net_portals.chunks, (uint32_t)(place / PLAN_CHUNK));
}

/* A bounced get has landed behind the address where its bytes belong. */
static void landed(const ptl_event_t *event)
{
    uint32_t place = bits_place(event->match_bits);
    const char *bounced = net_portals.reqsb_memory + place;
    void *to;
    memcpy(&to, bounced, sizeof to);
    if (__builtin_expect((uintptr_t)to < GASNETC_FIRST_PAGE, 0)) {
        gasnetc_copy_nowhere(to, event->mlength);
        chunk_back(place);
        return;
    }
    memcpy(to, bounced + sizeof to, event->mlength);
    chunk_back(place);
}

/* Or PutSB, which is the same memory. */
static void on_reqsb(const ptl_event_t *event)
{
    switch (event->type) {
    case PTL_EVENT_SEND_END:
        if (bits_kind(event->match_bits) != BITS_GET)
            ticket_back(checked_ticket(event)); /* the chunk waits for the Reply */
        break;
    case PTL_EVENT_ACK:
        chunk_back(bits_place(event->match_bits));
        complete(checked_ticket(event));
        break;
    case PTL_EVENT_REPLY_END:
        landed(event);
        complete(checked_ticket(event));
        break;
    case PTL_EVENT_PUT_END:
        reply_header(event);
        break;
    default:
        break;
    }
}

/* RARSRC, PutSrc, or a temporary descriptor. */
static void on_user_memory(const ptl_event_t *event)
{
    switch (event->type) {
    case PTL_EVENT_SEND_END:
        if (bits_kind(event->match_bits) == BITS_DATA) payload_sent(checked_ticket(event));
        break;
    case PTL_EVENT_ACK:
    case PTL_EVENT_REPLY_END:
        complete(checked_ticket(event));
        break;
    case PTL_EVENT_PUT_END:
        reply_payload(event);
        break;
    default:
        break;
    }
}

static void on_rplsb(const ptl_event_t *event)
{
    if (event->type != PTL_EVENT_SEND_END) return;
    ticket_back(checked_ticket(event));
    net_portals_answer_used(&net_portals.answer[event->offset / PLAN_CHUNK]);
}

static void __attribute__((noreturn, cold)) caught(const ptl_event_t *event)
{
    gasneti_fatal("the catch-basin holds a Request of %llu bytes from %s: flow control failed, and "
                  "the message is lost; %s",
                  (unsigned long long)event->rlength, gasneti_rank_name(sender(event)->rank),
                  net_portals.flow ? "do all ranks have the same GASNET_PORTAL_* variables?"
                                   : "set GASNET_PORTAL_FLOW_CONTROL=1, or raise "
                                     "GASNET_PORTAL_AMRECV_SPACE");
}

void net_portals_safe_event(const ptl_event_t *event)
{
    if (__builtin_expect(event->ni_fail_type != PTL_NI_OK, 0)) {
        failed(event);
        return;
    }
    switch ((enum net_role)(uintptr_t)event->md.user_ptr) {
    case NET_ROLE_REQSB:
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
        caught(event);
    default:
        break;
    }
}

/* --- the AM queue --- */

/* A Request is whole: `data` is where it lies, in `buffer` or, if that is NULL, in the answer. */
static net_message_t *request_is_there(net_peer_t *peer, uint32_t place, uint8_t credits,
                                       void *data, uint32_t length, net_reqrb_t *buffer)
{
    net_answer_t *answer = net_portals.in_hand;
    net_portals.in_hand = NULL;
    answer->message = (net_message_t){.peer = peer, .data = data, .length = length};
    answer->buffer = buffer;
    answer->place = place;
    answer->credits = credits;
    atomic_store_explicit(&answer->uses, 1, memory_order_relaxed);
    if (buffer) reqrb_filled(&buffer->use);
    return &answer->message;
}

static long_id_half_t *meet(net_peer_t *peer, const ptl_event_t *event, bool is_header, bool *both)
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
        gasneti_malformed(peer->rank, (uint32_t)event->mlength, "place (it came twice)");
    case LONG_ID_MEMORY:
        break;
    }
    gasneti_fatal("out of memory for half an AMLong");
}

/* The payload of a Long Request lies in the segment. */
static net_message_t *long_payload(const ptl_event_t *event)
{
    bool both;
    net_peer_t *peer = sender(event);
    long_id_half_t *half = meet(peer, event, false, &both);
    if (!both) return NULL;
    char *header = net_portals.in_hand->header;
    memcpy(header, half->bytes, half->length);
    net_message_t *message = request_is_there(peer, bits_place(event->match_bits), half->credits,
                                              header, half->length, NULL);
    long_ids_done(&net_portals_rest.longs, half);
    return message;
}

/* A header that comes before its payload waits as a copy. */
static bool header_waits(net_peer_t *peer, const ptl_event_t *event, const void *data,
                         uint32_t length)
{
    bool both;
    if (length > LONG_ID_HEADER_MOST)
        gasneti_malformed(peer->rank, length, "length (of the header of a Long)");
    long_id_half_t *half = meet(peer, event, true, &both);
    if (both) {
        long_ids_done(&net_portals_rest.longs, half);
        return false;
    }
    half->credits = bits_credits(event->hdr_data);
    half->length = length;
    memcpy(half->bytes, data, length);
    return true;
}

static net_message_t *request(const ptl_event_t *event, net_reqrb_t *buffer)
{
    net_peer_t *peer = sender(event);
    char *data = buffer->memory + event->offset;
    uint32_t length = (uint32_t)event->mlength, pad = bits_pad(event->hdr_data);
    uint8_t credits = bits_credits(event->hdr_data);
    if (pad > length || !net_portals_credits_valid(peer, credits))
        gasneti_malformed(peer->rank, length, "credit byte of a Request");
    length -= pad;
    if (bits_kind(event->match_bits) == BITS_HEADER && header_waits(peer, event, data, length))
        return NULL;
    return request_is_there(peer, bits_place(event->match_bits), credits, data, length, buffer);
}

net_message_t *net_portals_am_event(const ptl_event_t *event)
{
    bool payload = (uintptr_t)event->md.user_ptr == NET_ROLE_RARAM;
    net_reqrb_t *buffer = event->md.user_ptr;
    if (__builtin_expect(event->type == PTL_EVENT_UNLINK, 0)) {
        if (payload) return NULL;
        atomic_fetch_add_explicit(&net_portals.held, 1, memory_order_relaxed);
        give_up(buffer);
        return NULL;
    }
    if (event->type != PTL_EVENT_PUT_END) return NULL; /* RARAM is the source of nothing */
    if (__builtin_expect(event->ni_fail_type != PTL_NI_OK, 0)) {
        net_portals_failed("receiving from", bits_source(event->hdr_data), PTL_NAL_FAILED);
        return NULL;
    }
    return payload ? long_payload(event) : request(event, buffer);
}

/* --- the SYS queue --- */

static void words_for_core(net_peer_t *peer, uint32_t word0, uint32_t word1)
{
    if (net_portals.words_waiting == net_portals.words_size)
        gasneti_malformed(peer->rank, 0, "system message (there are too many)");
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
    net_peer_t *peer = sender(event);
    switch (bits_message(event->match_bits)) {
    case BITS_WORDS:
        words_for_core(peer, word, (uint32_t)event->hdr_data);
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

/* The core has copied it. */
void net_release_system(net_message_t *message)
{
    (void)message;
}
