/* network.h - the contract: everything the core may ask of a network.
 *
 * A network is one folder.  It supplies a header `network_*.h`, which this file includes at its end
 * through the conduit's conduit_network.h and which defines the types below and the calls marked
 * HOT as static inline functions, so that the core compiles against them and not through pointers;
 * the other calls are ordinary functions. A network knows nothing of handlers, handles or exit, and
 * of credits only how many to make room for.  It may use core/lock.h, core/clock.h,
 * core/completion.h, core/report.h, core/params/params.h and the bootstrap, and nothing else of the
 * core.
 *
 * Who may call what, and under which lock
 *   - Calls that take a peer (except net_connect) are made with that peer's lock held; two threads
 *     never post to one peer at once, but several may post to different peers.
 *   - net_reap, net_drain and net_arrivals are made with the poll lock held; one thread reaps at a
 *     time, while others may post.
 *   - net_accept and net_release are made with no lock held, for different messages at once.
 *   - net_open ... net_meet and net_close are made by one thread while no other is inside.
 * In SEQ and PARSYNC libraries the locks are empty and all of this is trivially so.
 *
 * No call blocks, except those of start-up.  A call that finds no room answers NET_BUSY (or
 * NET_NO_REPLY_BUF, or NET_CONNECTING) and has changed nothing; the caller reaps and tries again,
 * after a nap where a peer is being connected.  A network that loses a peer or its device calls
 * gasneti_failed with the operation, the peer and the cause in words, and goes on as if all were
 * well, but never completes what failed: while a job ends peers disappear, and only the core knows.
 *
 * To write a fourth network: copy the list of functions below into a folder, begin with net_open
 * and net_am, and run tests/unit (which has such a network, driven by a script).
 */
#ifndef GASNETC_NETWORK_H
#define GASNETC_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"
#include "core/lock.h"

/* Supplied by the network's header:
 *   net_peer_t    what the network keeps per peer; begins with `uint32_t rank`.  Lives inside the
 *                 core's own record of the peer, zeroed before net_address.
 *   net_region_t  a registered range of local memory; zeroed means "none".
 *   net_key_t     what a peer must know to reach such a range: plain bytes, no pointers.
 *   net_spare_t   receive space in hand during one poll; zeroed means "none".
 * And what differs so much that the core is compiled differently, as constants:
 *   NET_STACK_MESSAGE  AMs up to this length are built on the sender's stack, if they are inlined.
 *   NET_DELIVER_MAX    most messages that one poll takes.
 *   NET_BUFFERS        1: it has send buffers of its own, so the core has none.  Every AM, and a
 *                      put of one word, is inlined whatever caps.inline_max says; a get of at
 *                      most caps.get_inline_max needs no local region.
 *   NET_HAS_FLOW_CONTROL
 *                      1: it bounds Requests itself (NET_NO_CREDIT), and the core's credits stand
 *                      idle.  Then every Request is answered, at once if its handler has not, and
 *                      the answer names it: it goes where room was kept for it.
 *   NET_PAIRS_LONGS    1: its net_long is called, and it delivers a Long when header and payload
 *                      are there, in whatever order they come.
 */
typedef struct net_peer net_peer_t;
typedef struct net_region net_region_t;
typedef struct net_key net_key_t;
typedef struct net_spare net_spare_t;

/* NET_NO_REPLY_BUF: there is no receive space for the answer; NET_NO_CREDIT: the peer may have none
 * for the Request; NET_CONNECTING: the peer was never used before and is being connected; otherwise
 * all are as NET_BUSY. */
enum net_result { NET_POSTED, NET_BUSY, NET_NO_REPLY_BUF, NET_NO_CREDIT, NET_CONNECTING };

/* Which transfers keep their order.  A put NET_BEFORE_AM has arrived when the AM has arrived that
 * is posted to the same peer after it (if caps.ordered); NET_UNORDERED leaves the way to the
 * network. */
enum net_order { NET_UNORDERED, NET_BEFORE_AM };

/* What the network tells about itself; filled by net_open. */
struct net_caps {
    char device[256];      /* one line for people: which device carries the job */
    size_t inline_max;     /* largest put or AM that is inlined at the call; 0 = none */
    size_t get_inline_max; /* largest get without a local region; 0 = none */
    size_t transfer_max;   /* largest single put or get */
    uint32_t am_max;       /* largest AM message, header included: the receive buffer's size */
    size_t region_max;     /* largest range one net_register takes (a power of two) or SIZE_MAX */
    unsigned descriptors;  /* open files that connecting all peers takes */
    bool pays_for_pinning; /* registered memory counts against RLIMIT_MEMLOCK */
    uint32_t credits;      /* Requests in flight from a peer that net_connect makes room for */
    bool ordered;          /* NET_BEFORE_AM is kept */
    char early[160];       /* why peers cannot be connected when first used; "" if they can */
};

/* One AM that has arrived: the network's own record, which begins with these fields.  `data` is
 * 8-byte aligned; all of it stays valid until net_release. */
typedef struct net_message {
    net_peer_t *peer;
    void *data;
    uint32_t length;
    bool system;     /* from net_sys: data is uint64_t[2] */
    bool kept_space; /* it used up no receive space: what was made for it is still there */
    uint8_t mark;    /* the network's own */
} net_message_t;

/* --- start-up and end --- */

/* Opens devices and everything that does not depend on a peer; `peers` is the number of other
 * processes.  Fatal, naming device, limit and remedy, when the job cannot run on what it finds. */
void net_open(uint32_t peers, struct net_caps *caps);

/* Either all processes connect all their peers at start-up, by net_address and net_connect: */

/* Bytes of the opaque address that this process hands to each of its peers: not the same everywhere
 * if processes have different devices. */
size_t net_address_size(void);

/* Makes the local end for `peer` and writes its address (for that peer alone) into `address`. */
void net_address(net_peer_t *peer, void *address);

/* Joins the local end with the peer's, whose address is `address`.  After a job-wide barrier both
 * may send.  Must also have made room for what the peer may send first. */
void net_connect(net_peer_t *peer, const void *address);

/* Or, where caps.early is "" on all of them, a peer is connected when it is first used, by
 * whichever of the two comes first.  The one who posts finds NET_CONNECTING meanwhile; the other
 * needs not be inside the library: */

/* What all peers must know of this process, the same for each; as long as net_contact_size. */
size_t net_contact_size(void);
void net_contact(void *contact);

/* A peer, and what it must be known by; for each before net_meet. */
void net_expect(net_peer_t *peer, const void *contact);

/* From now on peers may be used; they may have used this process before, which is no harm. */
void net_meet(void);

/* Quiesces, then frees.  Safe after a partial net_open, and when peers are gone. */
void net_close(void);

/* --- memory --- */

/* Page-aligned zeroed memory of the kind the network reaches fastest; NULL with errno when there is
 * none.  Not yet registered; pages are not touched. */
void *net_alloc(size_t size);
void net_free(void *memory);

/* Registers [start, start+size) for local use and, if `remote`, for puts and gets by peers.
 * false with errno set when refused (ENOMEM: a limit; EFAULT: not mapped; EAGAIN: when other
 * transfers have ended there will be room); region is then zeroed.
 * size is at most caps.region_max.  May be called at any time, by any thread. */
bool net_register(void *start, size_t size, bool remote, net_region_t *region);
void net_deregister(net_region_t *region);

/* The key that lets peers reach a region registered with `remote`. */
net_key_t net_key(const net_region_t *region);

/* Says in one sentence why a net_register of `size` bytes most likely failed with `error`: the
 * limit that bound it, its value, and the remedy. */
void net_explain_register(int error, size_t size, char *text, size_t text_size);

/* --- posting (HOT; the peer's lock is held) --- */

/* Writes length bytes from `src` to the peer's address `dst` under `key`.  `local` is the region
 * that holds src, or NULL to capture the bytes at the call (length <= caps.inline_max).
 * 1 <= length <= caps.transfer_max; neither side crosses a region.  When the transfer is complete
 * at the target, the network calls gasnetc_sent from net_reap with its copy of *sent. */
static inline enum net_result net_put(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                      const void *src, const net_region_t *local, size_t length,
                                      enum net_order order, const gasnetc_sent_t *sent);

/* Reads length bytes from the peer's `src` into `dst` inside `local`. */
static inline enum net_result net_get(net_peer_t *peer, void *dst, const net_region_t *local,
                                      uint64_t src, const net_key_t *key, size_t length,
                                      const gasnetc_sent_t *sent);

/* Sends one AM of length <= caps.am_max.  `local` as for net_put.  With `wants_reply` the receive
 * space for the answer is secured first, or where peers share it, its place among them.  `answers`
 * is the Request that this one replies to, not yet released, or NULL; networks without
 * NET_HAS_FLOW_CONTROL are never told.  The peer has room: the core's credits see to it, or
 * NET_HAS_FLOW_CONTROL.  The network may write behind the message: up to NET_AM_TAIL bytes beyond a
 * multiple of 8, but not beyond am_max. */
enum { NET_AM_TAIL = 8 };
static inline enum net_result net_am(net_peer_t *peer, void *data, const net_region_t *local,
                                     size_t length, bool wants_reply, net_message_t *answers,
                                     const gasnetc_sent_t *sent);

/* A Long's payload, as it is put to the peer's address `dst`; `local` NULL: src lies outside this
 * node's segment. */
typedef struct net_payload {
    uint64_t dst;
    const net_key_t *key;
    const void *src;
    const net_region_t *local;
    size_t length;
} net_payload_t;

/* NET_PAIRS_LONGS alone: the AM `header` of `length` bytes, which is inlined, and its payload.
 * gasnetc_sent is called when the source may be written again.  Other networks include
 * core/network_unpaired.h, so that the core's call compiles and links at every optimisation. */
static inline enum net_result net_long(net_peer_t *peer, void *header, size_t length,
                                       const net_payload_t *payload, net_message_t *answers,
                                       const gasnetc_sent_t *sent);

/* Sends two words, each of 32 bits, out of band: needs no credit; room is kept for three such
 * messages per peer and direction, whatever else is in flight.  Not hot. */
enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1);

/* --- reaping (HOT; the poll lock is held) --- */

/* Completes what has been sent: calls gasnetc_sent for each.  Frees room, runs nothing else; legal
 * while a handler is running.  Returns how many it found. */
static inline unsigned net_reap(void);

/* True if nothing that was posted is unreaped; no lock held, and only a hint while others post. Not
 * hot. */
bool net_quiet(void);

/* A handler waits for room to send.  Where peers share receive space, what has arrived is taken out
 * of their way, for net_arrivals to find later; elsewhere there is nothing to do.  Not hot. */
static inline void net_drain(void);

/* Takes at most `budget` arrived messages; fills `messages`, returns how many, and adds to *systems
 * how many of them are from net_sys. */
static inline unsigned net_arrivals(net_message_t **messages, unsigned budget, unsigned *systems);

/* --- counters (not hot; no lock held, by any thread: what is told may be a moment old) --- */

struct net_peer_counts {
    uint64_t puts, put_bytes, gets, get_bytes;     /* posted, failed ones too */
    uint64_t puts_not_inlined;                     /* net_put with a local region */
    uint64_t by_ring;                              /* messages that needed no receive buffer */
    uint64_t rings;                                /* in our memory, for the peer to write to */
    uint64_t in_flight;                            /* posted and not reaped */
    uint64_t in_flight_most;                       /* the most that one queue has had */
    uint64_t credits, credits_now, credits_lowest; /* with NET_HAS_FLOW_CONTROL */
};
void net_peer_counts(const net_peer_t *peer, struct net_peer_counts *counts);

struct net_counts {
    uint64_t registrations;         /* made since net_open */
    uint64_t spares_out;            /* messages that were moved because no spare was left */
    uint64_t shared;                /* receive buffers that all peers share; 0: each has its own */
    uint64_t drained;               /* messages that net_drain took */
    uint64_t connections;           /* peers that messages can go to */
    uint64_t buffers, buffers_most; /* with NET_BUFFERS: there are, most in use at once */
};
void net_counts(struct net_counts *counts);

/* At an end in good order, in every library and before net_close: writes what the user asked the
 * network itself to tell. */
void net_report_at_exit(void);

/* --- sleeping (not hot; no lock held; if GASNET_RCV_THREAD was set at net_open) --- */

/* Places where messages arrive, each with a thread that sleeps there. */
unsigned net_rx_channels(void);

/* From now on a message that arrives there ends net_block; what has arrived before does not. */
void net_arm(unsigned place);

/* Sleeps in the kernel until a message has arrived there since net_arm, all before having been
 * polled; or for a moment, if the network has kept some back. */
void net_block(unsigned place);

/* --- receive space (no lock held) --- */

/* Before a Request's handler runs: room equal to the message's is given to the peer again, unless
 * it kept its space.  If no buffer is spare, the message moves to ordinary memory and its own
 * buffer is given back at once; the message to go on with is returned.  `spare` is used before the
 * common pool. */
static inline net_message_t *net_refill(net_message_t *message, net_spare_t *spare);

/* After the handler: the message's space may be used again, first by `spare`. */
static inline void net_release(net_message_t *message, net_spare_t *spare);

/* The same for a message from net_sys.  Not hot. */
void net_release_system(net_message_t *message);

/* At the end of a poll: what is left in hand goes back to the common pool. */
static inline void net_spare_back(net_spare_t *spare);

#include "conduit_network.h"

#endif
