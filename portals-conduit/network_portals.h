/* network_portals.h - portals-conduit's implementation of core/network.h: types and hot calls.
 *
 * Included by core/network.h alone.  Portals has no connections and posts no receives.  Each
 * operation in flight holds a ticket, whose number is in the match bits of all its events.  Data
 * that must not change meanwhile is in chunks of two buffers, one for Requests and bounced
 * transfers, one for Replies.  README.md describes how the calls map to descriptors and event
 * queues.
 */
#pragma once

#include <portals3.h>
#include <portals3_ext.h>
#include <string.h>

#define NET_HAS_LONG
#define NET_HAS_ARRIVED

#include "bits.h"
#include "core/network_defaults.h"
#include "core/report.h"
#include "long_id.h"
#include "portals-conduit/lending.h"
#include "receive_space.h"
#include "reqrb.h"
#include "stock.h"

#define NET_BUFFERS          1
#define NET_HAS_FLOW_CONTROL 1

enum {
    NET_STACK_MESSAGE = RECEIVE_CHUNK,
    NET_DELIVER_MAX = 64,
    NET_PAIRS_LONGS = 1,
    NET_REAP_TELLS = 1,
    NET_SPARE =
        GASNETC_THREADED ? 2 : 1, /* receive buffers beyond those that the credits can fill */
    NET_TICKET_DATA = 64,         /* longest get whose destination region is in its ticket */
    NET_BUFFER_PUT = RECEIVE_CHUNK,
    NET_BUFFER_GET = RECEIVE_CHUNK - sizeof(void *), /* the destination is in front of the data */
    NET_CHECK_EVERY = 1024, /* polls without an event between two checks for broken connections */
};

enum { NET_PT_SEGMENT = 38, NET_PT_AM = 39, NET_AC = 0 };

/* The role of a descriptor, stored as its user_ptr; the user_ptr of a receive buffer is its
 * net_reqrb_t instead. */
enum net_role {
    NET_ROLE_SEGMENT = 1, /* RARSRC: local side inside the segment, payload of Long Replies */
    NET_ROLE_RARAM,
    NET_ROLE_TMPMD,
    NET_ROLE_REQSB,
    NET_ROLE_RPLSB,
    NET_ROLE_REQRB,
    NET_ROLE_CB,
    NET_ROLE_SYS,
    NET_ROLE_TICKETS, /* the memory of all tickets: bounced gets */
};

/* Valid if size is not 0.  `md` is the local descriptor of gets and payloads, RARSRC or a temporary
 * one; `put` that of puts, PutSrc in the segment, which logs no SEND_END. */
struct net_region {
    char *start;
    size_t size;
    ptl_handle_md_t md, put, rar, raram;
    uint64_t selector; /* valid if `remote`; as in net_key */
    bool remote;
};

/* `selector`: the match bits of a region's entry, with the number of a BITS_MORE entry as place. */
struct net_key {
    uint64_t base;
    uint64_t selector;
};

struct net_peer {
    uint32_t rank;
    ptl_process_id_t id;
    ptl_path_t segment, am; /* paths to both table entries; NULL: not known yet */
    gasnetc_loan_t loan;
    unsigned short_of; /* credits that the stalled Request lacks, or 0 */
    uint64_t puts, gets, put_bytes, get_bytes, puts_not_inlined;
    _Atomic uint32_t launched; /* under the peer's lock */
    _Atomic uint32_t landed;   /* under the poll lock */
    uint32_t in_flight_most;   /* before an operation landed; under the poll lock */
};

struct net_spare {
    char unused;
};

/* A ticket, and the operation that holds it. */
typedef struct net_slot {
    ptl_note_t note; /* first; note.next of a free ticket is the next free ticket */
    char *bounce;    /* buffer of a bounced put or get: a chunk, or `destination`; else NULL */
    union {
        uint32_t got;              /* length of a get; 0: a put */
        ptl_handle_md_t temporary; /* of a Long's payload, or PTL_INVALID_HANDLE */
    };
    gasnetc_sent_t sent;
    net_peer_t *peer;
    union {
        char destination[sizeof(void *) + NET_TICKET_DATA]; /* destination region of a short get */
        struct {
            const void *to;
            const net_region_t *local;
        } direct;   /* destination of a get into a region */
        void *copy; /* with `temporary`: the payload, if its source has no descriptor; or NULL */
    };
} net_slot_t;

/* The mark of a message in a chunk of ReqSB; a message without it is in an answer. */
enum { NET_MARK_CHUNK = 1 };

/* A chunk of ReqSB.  The chunk of a Request is the receive buffer of its Reply. */
typedef struct net_chunk {
    net_message_t message; /* first: the Reply */
    struct net_chunk *next;
    bool request;      /* awaits a Reply, or holds one */
    bool header, data; /* halves of the Reply that have arrived */
    bool pair;         /* the Reply has two halves */
} net_chunk_t;

typedef struct net_reqrb {
    reqrb_t use;
    char *memory;
} net_reqrb_t;

/* The resources of one Reply: a chunk of RplSB and tickets; also the Request while it is handled.
 */
typedef struct net_answer {
    net_message_t message;   /* first: the Request; all but peer, data and length is always 0 */
    struct net_answer *next; /* the next free answer */
    net_reqrb_t *buffer;     /* holds the Request; NULL: `header` does */
    uint32_t place;          /* offset of the Request's chunk at its sender */
    uint8_t credits;         /* credit byte of the Request */
    uint8_t tickets;         /* reserved */
    bool temporary;          /* a ticket for a temporary descriptor is reserved */
    _Atomic uint32_t uses;   /* references: the handler's, and the Reply's until it is sent */
    _Alignas(8) char header[LONG_ID_HEADER_MOST];
} net_answer_t;

/* All answers.  The answer released last is taken first. */
typedef struct net_answers {
    net_answer_t *free;
    uint32_t count, total; /* free answers; all answers */
} net_answers_t;

/* A system message for the core. */
typedef struct net_words {
    net_message_t message; /* first */
    uint64_t word[2];
} net_words_t;

/* All tickets.  The ticket released last is taken first.  Reserving a ticket only reduces `count`;
 * the ticket is chosen when it is needed. */
typedef struct net_tickets {
    net_slot_t *free;      /* free tickets, reserved or not */
    uint32_t count, total; /* free tickets that are not reserved; all tickets */
} net_tickets_t;

/* State of the process. */
struct net_portals {
    ptl_handle_ni_t ni;
    ptl_handle_eq_t safe_eq, am_eq, sys_eq;
    ptl_handle_md_t reqsb, putsb, rplsb, sys_md, slots_md;
    char *reqsb_memory, *rplsb_memory;

    gasneti_lock_t lock; /* protects the stocks and `temporaries` */
    net_tickets_t tickets;
    stock_t chunks;
    net_answers_t answers;
    uint32_t temporaries, temporaries_most; /* tickets left, and in total */
    net_slot_t *slot;
    net_chunk_t *chunk;
    net_answer_t *answer;

    bool flow; /* credits are counted */
    gasneti_lock_t lending_lock;
    gasnetc_lending_t lending;

    /* Protected by the poll lock. */
    net_answer_t *in_hand;              /* reserved resources of the next Reply, or NULL */
    net_chunk_t *replies, **last_reply; /* arrived, not handled yet */
    uint32_t words_first, words_waiting, words_size;
    net_words_t *words;
    unsigned safe_limit, am_limit, sys_limit;
    uint32_t rank;
    uint32_t empty_rounds;
    uint64_t news;         /* of PtlPoll: changes when an event is logged */
    bool arrived;          /* a poll left events that `news` does not show */
    ptl_size_t requests;   /* events of the AM queue that net_reap has seen */
    _Atomic uint32_t held; /* receive buffers that are full, and still referenced by handlers */
    bool sleeps;           /* the receive thread exists */
    bool left;             /* net_reap stopped at a limit */
    _Atomic bool waiting;  /* the last poll stopped at a limit or for lack of resources: the receive
                              thread polls again soon */
};
#pragma GCC visibility push(hidden)
extern struct net_portals net_portals;

/* Reports a failure, naming operation, peer, cause and remedy; the next poll ends the job. */
void net_portals_failed(const char *what, uint32_t rank, int error);
/* Start a put or get with events.  False: no chunk is free for a put. */
bool net_portals_put(net_slot_t *slot, uint64_t dst, const net_key_t *key, const void *src,
                     const net_region_t *local, size_t length);
void net_portals_get(const net_slot_t *slot, uint64_t src, const net_key_t *key);
/* Posts a get whose destination region is a chunk; no resource is held before. */
enum net_result net_portals_get_by_chunk(net_peer_t *peer, void *dst, uint64_t src,
                                         const net_key_t *key, size_t length,
                                         gasnetc_counter_t *counter);
/* A put or get that was bounced through a chunk is complete. */
void net_portals_chunk_ended(const net_slot_t *slot);
/* An operation without events has failed. */
void net_portals_note_failed(const net_slot_t *slot);
/* Ends the puts and gets of a list of notes; returns their number. */
unsigned net_portals_noted_all(ptl_note_t *first);
/* Handles events of the SYS and SAFE queues, and counts events of the AM queue. */
unsigned net_portals_events(void);
/* Handle one event of the SAFE or SYS queue. */
void net_portals_safe_event(const ptl_event_t *event);
void net_portals_sys_event(const ptl_event_t *event);
/* A queue has lost events, or cannot be read; fatal. */
void net_portals_queue_failed(const char *queue, int error);
/* Memory that peers reach is about to be deregistered. */
void net_portals_withdrawn(void);
/* Called after NET_CHECK_EVERY polls without an event: ends the job if a connection broke, or a
 * peer has used memory that was deregistered. */
void net_portals_check_connections(void);
/* Attaches an unreferenced receive buffer at the end of the chain. */
void net_portals_attach(net_reqrb_t *buffer);
/* Asks peers to return credits, while the bank is short. */
void net_portals_scavenge(void);
/* The cases of net_am. */
enum net_result net_portals_request(net_peer_t *peer, void *data, size_t length);
enum net_result net_portals_reply(net_peer_t *peer, const void *data, size_t length,
                                  net_answer_t *answer);
#pragma GCC visibility pop

/* --- tickets and stocks --- */

/* Takes one of the reserved tickets; the lock is held.  */
HOT net_slot_t *net_portals_pop_ticket(void)
{
    net_slot_t *slot = net_portals.tickets.free;
    net_portals.tickets.free = (net_slot_t *)slot->note.next;
    return slot;
}

HOT void net_portals_push_ticket(net_slot_t *slot)
{
    slot->note.next = (ptl_note_t *)net_portals.tickets.free;
    net_portals.tickets.free = slot;
    net_portals.tickets.count++;
}

/* Takes a ticket; NULL: no ticket is free. */
HOT net_slot_t *net_portals_take_ticket(void)
{
    net_slot_t *slot = NULL;
    gasneti_lock(&net_portals.lock);
    if (net_portals.tickets.count > 0) {
        net_portals.tickets.count--;
        slot = net_portals_pop_ticket();
    }
    gasneti_unlock(&net_portals.lock);
    return slot;
}

/* Takes one of the tickets that the caller has reserved. */
static inline net_slot_t *net_portals_reserved_ticket(void)
{
    gasneti_lock(&net_portals.lock);
    net_slot_t *slot = net_portals_pop_ticket();
    gasneti_unlock(&net_portals.lock);
    return slot;
}

HOT void net_portals_unreserve(uint32_t tickets)
{
    gasneti_lock(&net_portals.lock);
    net_portals.tickets.count += tickets;
    gasneti_unlock(&net_portals.lock);
}

HOT void net_portals_give_ticket(net_slot_t *slot)
{
    gasneti_lock(&net_portals.lock);
    net_portals_push_ticket(slot);
    gasneti_unlock(&net_portals.lock);
}

/* Releases tickets that form a list, as free ones do. */
HOT void net_portals_give_tickets(net_slot_t *first, net_slot_t *last, uint32_t count)
{
    gasneti_lock(&net_portals.lock);
    last->note.next = (ptl_note_t *)net_portals.tickets.free;
    net_portals.tickets.free = first;
    net_portals.tickets.count += count;
    gasneti_unlock(&net_portals.lock);
}

HOT void net_portals_push_answer(net_answer_t *answer)
{
    answer->next = net_portals.answers.free;
    net_portals.answers.free = answer;
    net_portals.answers.count++;
}

/* The number of a ticket in match bits. */
static inline uint32_t net_portals_ticket_number(const net_slot_t *slot)
{
    return (uint32_t)(slot - net_portals.slot);
}

static inline uint32_t net_portals_take(stock_t *stock)
{
    gasneti_lock(&net_portals.lock);
    uint32_t number = stock_take(stock);
    gasneti_unlock(&net_portals.lock);
    return number;
}

static inline void net_portals_give(stock_t *stock, uint32_t number)
{
    gasneti_lock(&net_portals.lock);
    stock_give(stock, number);
    gasneti_unlock(&net_portals.lock);
}

/* Reserves `tickets` tickets, and takes a chunk: all or none. */
HOT enum net_result net_portals_reserve(uint32_t tickets, uint32_t *chunk)
{
    enum net_result result = NET_BUSY;
    gasneti_lock(&net_portals.lock);
    if (net_portals.tickets.count >= tickets) {
        *chunk = stock_take(&net_portals.chunks);
        result = *chunk == STOCK_NONE ? NET_NO_SEND_BUF : NET_POSTED;
        if (result == NET_POSTED) net_portals.tickets.count -= tickets;
    }
    gasneti_unlock(&net_portals.lock);
    return result;
}

static inline char *net_portals_chunk(uint32_t number)
{
    return net_portals.reqsb_memory + (size_t)number * RECEIVE_CHUNK;
}

/* Counts an operation in flight.  The caller holds the peer's lock. */
HOT void net_portals_launch(net_peer_t *peer, net_slot_t *slot, const gasnetc_sent_t *sent)
{
    slot->peer = peer;
    /* The core has no buffers with this network, so `sent` never asks for a copy. */
    slot->sent.counter = sent->counter;
    slot->sent.held = sent->held;
    gasnetc_sent_copy_pin(&slot->sent, sent);
    const uint32_t launched = atomic_load_explicit(&peer->launched, memory_order_relaxed);
    atomic_store_explicit(&peer->launched, launched + 1, memory_order_relaxed);
}

/* Counts `count` operations as complete.  The caller holds the poll lock. */
HOT void net_portals_count_landed(net_peer_t *peer, uint32_t count)
{
    const uint32_t landed = atomic_load_explicit(&peer->landed, memory_order_relaxed);
    const uint32_t now = atomic_load_explicit(&peer->launched, memory_order_relaxed) - landed;
    if (now > peer->in_flight_most) peer->in_flight_most = now;
    atomic_store_explicit(&peer->landed, landed + count, memory_order_relaxed);
}

/* Counts an operation as complete, and releases its ticket.  The caller holds the poll lock. */
HOT void net_portals_landed(net_slot_t *slot)
{
    net_portals_count_landed(slot->peer, 1);
    net_portals_give_ticket(slot);
}

/* --- posting --- */

/* Puts without events, if libportals can: it copies short data at once, so no chunk is needed. */
HOT enum net_result net_put(net_peer_t *peer, uint64_t dst, const net_key_t *key, const void *src,
                            const net_region_t *local, size_t length, enum net_order order,
                            const gasnetc_sent_t *sent)
{
    net_slot_t *slot = net_portals_take_ticket();
    (void)order; /* caps.ordered is false */
    if (!slot) return NET_BUSY;
    net_portals_launch(peer, slot, sent);
    slot->bounce = NULL;
    slot->got = 0;
    if (local) slot->note.md = local->put;
    const int started =
        local ? PtlPutNoted(peer->segment, src, length, key->selector, dst - key->base, &slot->note)
              : PtlPutBytesNoted(peer->segment, src, length, key->selector, dst - key->base,
                                 &slot->note);
    if (started != PTL_OK && !net_portals_put(slot, dst, key, src, local, length))
        return NET_NO_SEND_BUF;
    peer->puts++;
    peer->put_bytes += length;
    peer->puts_not_inlined += local != NULL;
    return NET_POSTED;
}

/* Starts a get to `to`, in memory of the descriptor `md`; `bounce`: of net_portals_bounce, or NULL.
 */
HOT enum net_result net_portals_start_get(net_peer_t *peer, net_slot_t *slot, void *to,
                                          char *bounce, ptl_handle_md_t md, uint64_t src,
                                          const net_key_t *key, size_t length,
                                          const gasnetc_sent_t *sent)
{
    net_portals_launch(peer, slot, sent);
    slot->bounce = bounce;
    slot->got = (uint32_t)length;
    slot->note.md = md;
    peer->gets++;
    peer->get_bytes += length;
    if (PtlGetNoted(peer->segment, to, length, key->selector, src - key->base, &slot->note) !=
        PTL_OK)
        net_portals_get(slot, src, key);
    return NET_POSTED;
}

/* Prepares a get to `bounce`: writes the final destination there, and returns the address behind
 * it, for the data (PO-13). */
HOT char *net_portals_bounce(char *bounce, void *dst)
{
    memcpy(bounce, &dst, sizeof dst);
    return bounce + sizeof dst;
}

/* Gets to a region, or, for memory that has no descriptor, to the ticket or a chunk. */
HOT enum net_result net_get(net_peer_t *peer, void *dst, const net_region_t *local, uint64_t src,
                            const net_key_t *key, size_t length, const gasnetc_sent_t *sent)
{
    if (!local && length > NET_TICKET_DATA)
        return net_portals_get_by_chunk(peer, dst, src, key, length, sent->counter);
    net_slot_t *slot = net_portals_take_ticket();
    if (!slot) return NET_BUSY;
    if (!local) {
        char *to = net_portals_bounce(slot->destination, dst);
        return net_portals_start_get(peer, slot, to, slot->destination, net_portals.slots_md, src,
                                     key, length, sent);
    }
    slot->direct.to = dst;
    slot->direct.local = local;
    return net_portals_start_get(peer, slot, dst, NULL, local->md, src, key, length, sent);
}

HOT enum net_result net_am(net_peer_t *peer, void *data, const net_region_t *local, size_t length,
                           bool wants_reply, net_message_t *answers, const gasnetc_sent_t *sent)
{
    (void)local, (void)wants_reply, (void)sent; /* data is copied at the call */
    return answers ? net_portals_reply(peer, data, length, (net_answer_t *)answers)
                   : net_portals_request(peer, data, length);
}

enum net_result net_portals_long(net_peer_t *peer, void *header, size_t length,
                                 const net_payload_t *payload, net_message_t *answers,
                                 const gasnetc_sent_t *sent);

static inline enum net_result net_long(net_peer_t *peer, void *header, size_t length,
                                       const net_payload_t *payload, net_message_t *answers,
                                       const gasnetc_sent_t *sent)
{
    return net_portals_long(peer, header, length, payload, answers, sent);
}

/* --- reaping --- */

/* Copies a complete bounced get to its destination, whose address is in front of the data. */
HOT void net_portals_copy_got(const char *bounced, size_t length)
{
    void *to;
    memcpy(&to, bounced, sizeof to);
    if ((uintptr_t)to < GASNETC_FIRST_PAGE)
        gasnetc_copy_nowhere(to, length);
    else if (length == 8)
        memcpy(to, bounced + sizeof to, 8);
    else
        memcpy(to, bounced + sizeof to, length);
}

/* Ends the use of the buffer of a bounced put or get. */
HOT void net_portals_unbounce(const net_slot_t *slot)
{
    if (slot->bounce == slot->destination)
        net_portals_copy_got(slot->destination, slot->got);
    else
        net_portals_chunk_ended(slot);
}

/* Ends a put or get that was posted without events. */
HOT void net_portals_noted(net_slot_t *slot)
{
    if (slot->note.fail != PTL_NI_OK) {
        net_portals_note_failed(slot);
        return;
    }
    if (slot->bounce) net_portals_unbounce(slot);
    gasnetc_sent(&slot->sent);
    net_portals_landed(slot);
}

HOT unsigned net_reap(void)
{
    ptl_note_t *note;
    unsigned reaped = 0;
    const int result = PtlPoll(net_portals.ni, &net_portals.news, &note);
    if (note && note->next) {
        reaped = net_portals_noted_all(note);
    } else if (note) {
        net_portals_noted((net_slot_t *)note);
        reaped = 1;
    }
    /* If events were left, `arrived` is set too. */
    if ((result != PTL_EQ_EMPTY || net_portals.arrived) &&
        (result != PTL_EQ_EMPTY || net_portals.left))
        reaped += net_portals_events();
    if (reaped == 0 && ++net_portals.empty_rounds % NET_CHECK_EVERY == 0)
        net_portals_check_connections();
    return reaped;
}

/* Takes messages from the SAFE and SYS queues that await their handlers; in arrive.c. */
unsigned net_portals_waiting(net_message_t **messages, unsigned budget, unsigned *systems);
/* Takes messages from the AM queue: adds them to the `n` messages, up to `budget`, and returns the
 * number of all. */
unsigned net_portals_requests(net_message_t **messages, unsigned n, unsigned budget);

static inline bool net_arrived(void)
{
    return net_portals.arrived;
}

HOT unsigned net_arrivals(net_message_t **messages, unsigned budget, unsigned *systems)
{
    unsigned n = 0;
    if (!net_portals.arrived) return 0;
    if (net_portals.replies || net_portals.words_waiting)
        n = net_portals_waiting(messages, budget, systems);
    if (net_portals.requests) n = net_portals_requests(messages, n, budget);
    net_portals.arrived = net_portals.left || net_portals.requests || net_portals.replies ||
                          net_portals.words_waiting;
    if (net_portals.sleeps)
        atomic_store_explicit(&net_portals.waiting, net_portals.requests || net_portals.left,
                              memory_order_relaxed);
    return n;
}

/* --- receive space --- */

/* Posts nothing: the credits guarantee receive space. */
static inline net_message_t *net_refill(net_message_t *message, net_spare_t *spare)
{
    (void)spare;
    return message;
}

void net_portals_release(net_message_t *message);

static inline void net_release(net_message_t *message, net_spare_t *spare)
{
    (void)spare;
    net_portals_release(message);
}

static inline void net_spare_back(net_spare_t *spare)
{
    (void)spare;
}

static inline void net_spare_keep(net_spare_t *spare)
{
    (void)spare;
}
