/* network.h - the contract between the core and a network: the calls that every network implements.
 *
 * A network is one folder.  Its header `network_*.h` defines the types below and, as static inline
 * functions, the calls marked HOT, so that the core calls them without function pointers.  This
 * file includes that header at its end, through the conduit's conduit_network.h.  The other calls
 * are ordinary functions.  A network does not know of handlers, handles or exit; of credits it
 * knows only how many receive buffers to post.  Of the core it may use core/lock.h,
 * core/completion.h, core/report.h, core/log.h, core/params/params.h, core/job/rank.h,
 * core/job/secret.h, core/job/host_addresses.h, the bootstrap, core/network_*.h and core/rings, and
 * no other header of core (tests/arrows.sh).
 *
 * Locks and threads
 *   - The core holds a peer's lock when it makes a call that takes the peer (except net_connect):
 *     two threads never post to one peer at once, but several may post to different peers.
 *   - It holds the poll lock for net_reap and net_arrivals: one thread
 *     reaps at a time, and others may post meanwhile.
 *   - It holds no lock for net_refill and net_release...; several threads may be in them at once,
 *     for different messages.
 *   - One thread calls net_open ... net_start and net_close, while no other is in the library.
 * In SEQ and PARSYNC libraries the locks are empty.
 *
 * No call blocks, except at start-up.  A call that finds no resources returns NET_BUSY (or
 * NET_NO_REPLY_BUF, NET_NO_CREDIT or NET_CONNECTING) and has changed nothing; the caller reaps and
 * tries again, after a sleep if the peer is being connected.  A network that loses a peer or its
 * device calls gasneti_failed with the operation, the peer and the cause in words.  It continues as
 * usual, but does not complete the operation: peers disappear while a job ends, and only the core
 * knows whether the job ends.
 *
 * doc/porting.md has the order in which to write the calls of a new network; tests/unit/script is
 * an example.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"
#include "core/lock.h"
#include "other/base/hot.h"

/* Supplied by the network's header:
 *   net_peer_t    the network's record of a peer; begins with `uint32_t rank`.  It is part of the
 *                 core's record of the peer, and zeroed before net_address.
 *   net_region_t  a registered range of local memory; zeroed: no range.
 *   net_key_t     the remote key of such a range: plain bytes, no pointers.
 *   net_spare_t   the spare receive buffer of one poll, or of the receive thread; zeroed: none.
 * Constants:
 *   NET_STACK_MESSAGE  AMs up to this length are built on the sender's stack, if they are inlined.
 *   NET_DELIVER_MAX    the most messages that one poll takes.
 *   NET_PAIRS_LONGS    1: the core calls net_long, and the network delivers a Long when header and
 *                      payload have arrived, in either order.
 *   NET_REAP_TELLS     1: after net_reap the network knows whether net_arrivals may find messages.
 * Macros, 0 or 1:
 *   NET_BUFFERS        (core/rdma/bounce.h) 1: the network has send buffers of its own, and the
 *                      core has none.  Every AM, and a put of one word, is inlined whatever
 *                      caps.inline_max is; a get of at most caps.get_inline_max needs no region,
 *                      and one of at most NET_TICKET_DATA bytes no buffer either.  Constants
 *                      NET_BUFFER_PUT and NET_BUFFER_GET: a put of at most so much is inlined, and
 *                      a get needs no region, whatever these caps are, which the user may lower.
 *   NET_HAS_FLOW_CONTROL
 *                      (core/am/flow.h) 1: the network bounds Requests itself (NET_NO_CREDIT), and
 *                      the core's credits are unused.  Every Request from net_arrivals is answered,
 *                      by the core if its handler has sent no Reply, and the answer names the
 *                      Request: the network reserved space for it.
 */
typedef struct net_peer net_peer_t;
typedef struct net_region net_region_t;
typedef struct net_key net_key_t;
typedef struct net_spare net_spare_t;

/* NET_COPIED, from net_am alone: sent, and complete at once; gasnetc_sent is not called.  NET_BUSY:
 * no resources.  Callers treat the following three like NET_BUSY, but for counters and sleeps:
 * NET_NO_REPLY_BUF: no receive buffer for the Reply; NET_NO_CREDIT: the peer may have none for the
 * Request; NET_CONNECTING: the peer is used for the first time and is being connected.
 * NET_NO_SEND_BUF, with NET_BUFFERS: an inlined put, or a get without a region, found no buffer of
 * the network, which may be held until a peer replies: the caller registers the memory instead. */
enum net_result {
    NET_POSTED,
    NET_COPIED,
    NET_BUSY,
    NET_NO_REPLY_BUF,
    NET_NO_CREDIT,
    NET_CONNECTING,
    NET_NO_SEND_BUF,
};

/* The order of a put.  NET_BEFORE_AM: if caps.ordered, the put has arrived when an AM arrives that
 * was posted to the same peer after it.  NET_UNORDERED: the network may choose any queue pair. */
enum net_order { NET_UNORDERED, NET_BEFORE_AM };

/* What net_atomic is atomic with respect to: NET_NO_ATOMICS, there is none; NET_ADAPTER_ATOMICS,
 * every net_atomic on the same word, of whatever rank; NET_GLOBAL_ATOMICS, also the atomics of
 * processors. */
enum net_atomics { NET_NO_ATOMICS, NET_ADAPTER_ATOMICS, NET_GLOBAL_ATOMICS };

/* Properties of the network; filled by net_open. */
struct net_caps {
    char device[256];      /* one line of text: the device that the job uses */
    size_t inline_max;     /* largest put or AM that is inlined at the call; 0 = none */
    size_t get_inline_max; /* largest get without a local region; 0 = none */
    size_t transfer_max;   /* largest single put or get */
    size_t copy_put_max;   /* a bulk put of at most so much from outside the segment is copied */
    size_t copy_get_max;   /* a get of at most so much to outside the segment is copied */
    uint32_t put_list_max; /* most pieces of net_put_list, at most NET_LIST_MOST; 0: no lists */
    uint32_t get_list_max; /* most pieces of net_get_list; 0: no lists */
    enum net_atomics atomics;
    uint32_t am_max;   /* largest AM message, header included: the receive buffer's size */
    size_t region_max; /* largest range one net_register takes (a power of two) or SIZE_MAX */
    uint64_t regions;  /* most regions that the device registers, for all processes; 0: unknown */
    unsigned descriptors; /* file descriptors that connections to all peers take */
    uint64_t pinnable; /* bytes that net_register takes in all, beyond the network's own memory and
                          a reserve; 0: no limit is known */
    char pinnable_by[160]; /* the limit that bounds `pinnable`, with its value */
    uint32_t credits;      /* Requests in flight from a peer for which net_connect posts buffers */
    uint32_t replies; /* Replies in flight from all peers together for which there are buffers */
    char plain[320];  /* for -v: features that the device lacks, as ", no inline sends" */
    bool ordered;     /* NET_BEFORE_AM is observed */
    char unreachable[64]; /* why a peer that shares no memory cannot be reached; "" if it can */
    char early[160];      /* why peers cannot be connected at first use; "" if they can */
};

/* One message that has arrived: the network's record of it begins with these fields.  `data` is
 * 8-byte aligned; all of it is valid until net_release. */
typedef struct net_message {
    net_peer_t *peer;
    void *data;
    uint32_t length;
    bool system;      /* from net_sys: data is uint64_t[2] */
    bool kept_buffer; /* consumed no receive buffer: the one posted for it is still posted */
    uint8_t mark;     /* used by the network, or by core/shm in its own messages */
} net_message_t;

/* --- start-up and end --- */

/* Opens the devices and makes everything that does not depend on a peer; `peers` is the number of
 * other processes.  Fatal, naming device, limit and remedy, when the job cannot run. */
void net_open(uint32_t peers, struct net_caps *caps);

/* Connections at start-up: all processes connect to all their peers, by net_address and
 * net_connect. */

/* Bytes of the opaque address that this process sends to each of its peers.  Processes with
 * different devices have addresses of different sizes. */
size_t net_address_size(void);

/* Makes the local end of the connection to `peer` and writes its address, which is for that peer
 * alone, to `address`. */
void net_address(net_peer_t *peer, void *address);

/* Connects the local end to the peer's, whose address is `address`, and posts receive buffers for
 * what the peer may send first.  After a job-wide barrier both may send. */
void net_connect(net_peer_t *peer, const void *address);

/* Connections at first use, if caps.early is "" in all processes: two peers are connected when
 * either posts to the other for the first time.  The posting process gets NET_CONNECTING meanwhile;
 * the other process need not be in the library. */

/* The contact address of this process, the same for all peers, of net_contact_size bytes. */
size_t net_contact_size(void);
void net_contact(void *contact);

/* Sets the contact address of a peer; for each peer before net_start. */
void net_set_contact(net_peer_t *peer, const void *contact);

/* From now on this process may post to its peers.  Peers may have posted to it before. */
void net_start(void);

/* Stops all traffic, then frees.  Safe after a partial net_open, and when peers have ended. */
void net_close(void);

/* --- memory --- */

/* Allocates page-aligned zeroed memory of the kind that is fastest for the network; NULL with errno
 * set when that fails.  The memory is not registered yet; pages are not touched. */
void *net_alloc(size_t size);
void net_free(void *memory);

/* The use of a registered range: NET_SOURCE, puts from it, also if it is mapped read-only;
 * NET_LOCAL, puts from it and gets into it; NET_REMOTE, also puts and gets by peers; NET_SEGMENT,
 * also the payload of Longs; NET_READABLE, in SEGMENT_LARGE and _EVERYTHING alone, puts from it and
 * gets by peers, also if it is mapped read-only. */
enum net_access { NET_LOCAL, NET_REMOTE, NET_SEGMENT, NET_SOURCE, NET_READABLE };

/* Registers [start, start+size).  size is at most caps.region_max.  False with errno set when
 * refused (ENOMEM: a limit; EFAULT: not mapped, not writable, or not to be pinned; EAGAIN: try
 * again when other transfers have completed); region is then zeroed.  Any thread may call it at any
 * time. */
bool net_register(void *start, size_t size, enum net_access access, net_region_t *region);
void net_deregister(net_region_t *region);

/* The key by which peers access a region that was registered with NET_REMOTE or more. */
net_key_t net_key(const net_region_t *region);

/* Writes one sentence: why a net_register of `size` bytes most likely failed with `error`, with the
 * limit, its value, and the remedy. */
void net_explain_register(int error, size_t size, char *text, size_t text_size);

/* --- posting (HOT; the peer's lock is held) --- */

/* Writes length bytes from `src` to the peer's address `dst` under `key`.  `local` is the region
 * that contains src, or NULL to send the bytes inline: they are copied at the call (length <=
 * caps.inline_max). 1 <= length <= caps.transfer_max; neither side crosses the end of a region.
 * When the transfer is complete at the target, the network calls gasnetc_sent from net_reap with
 * its copy of *sent. */
static inline enum net_result net_put(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                      const void *src, const net_region_t *local, size_t length,
                                      enum net_order order, const gasnetc_sent_t *sent);

/* Reads length bytes from the peer's `src` into `dst` inside `local`. */
static inline enum net_result net_get(net_peer_t *peer, void *dst, const net_region_t *local,
                                      uint64_t src, const net_key_t *key, size_t length,
                                      const gasnetc_sent_t *sent);

/* A piece of local memory, not empty, inside `local`. */
enum { NET_LIST_MOST = 32 };
typedef struct net_piece {
    void *at;
    size_t length;
    const net_region_t *local;
} net_piece_t;

/* net_put with NET_UNORDERED from `count` pieces of `nbytes` altogether, and net_get into such
 * pieces; count is at most caps.put_list_max or caps.get_list_max.  The default has no
 * lists (NET_HAS_LISTS, core/network_defaults.h). */
static inline enum net_result net_put_list(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                           const net_piece_t *pieces, uint32_t count, size_t nbytes,
                                           const gasnetc_sent_t *sent);
static inline enum net_result net_get_list(net_peer_t *peer, const net_piece_t *pieces,
                                           uint32_t count, uint64_t src, const net_key_t *key,
                                           size_t nbytes, const gasnetc_sent_t *sent);

/* An operation on a word.  NET_FETCH_ADD: the word becomes word + operand; NET_COMPARE_SWAP: it
 * becomes `swap` if it is `operand`. */
typedef struct net_atomic {
    enum net_atomic_kind { NET_FETCH_ADD, NET_COMPARE_SWAP } kind;
    uint64_t operand, swap;
} net_atomic_t;

/* Executes the operation on the 8 bytes at the peer's `at`, which are aligned and were registered
 * with NET_REMOTE or NET_SEGMENT, and stores at `earlier`, aligned and inside `local`, what they
 * were.  The peer may be this rank.  Completion
 * and results are those of net_get.  The default is for networks whose caps.atomics is
 * NET_NO_ATOMICS (NET_HAS_ATOMICS). */
static inline enum net_result net_atomic(net_peer_t *peer, const net_atomic_t *atomic, uint64_t at,
                                         const net_key_t *key, uint64_t *earlier,
                                         const net_region_t *local, const gasnetc_sent_t *sent);

/* True if the peer is connected.  False: a post to it would return NET_CONNECTING, and the
 * connection has been begun.  The
 * default is for networks that connect all peers at start-up, or post to peers that are not
 * connected (NET_HAS_READY). */
static inline bool net_ready(net_peer_t *peer);

/* Sends one AM of length <= caps.am_max.  `local` as for net_put.  With `wants_reply` the network
 * first posts a receive buffer for the Reply, or reserves one where peers share them.  `answers` is
 * the Request that this Reply answers, not yet released; NULL for a Request, and always without
 * NET_HAS_FLOW_CONTROL.  The peer has a receive buffer for the message: the core's credits
 * guarantee it, or the network's own.  The network may write behind the message: up to NET_AM_TAIL
 * bytes beyond a multiple of 8, but not beyond am_max. */
enum { NET_AM_TAIL = 8 };
static inline enum net_result net_am(net_peer_t *peer, void *data, const net_region_t *local,
                                     size_t length, bool wants_reply, net_message_t *answers,
                                     const gasnetc_sent_t *sent);

/* The payload of a Long, to be put to the peer's address `dst`.  `local` NULL: src is outside this
 * rank's segment. */
typedef struct net_payload {
    uint64_t dst;
    const net_key_t *key;
    const void *src;
    const net_region_t *local;
    size_t length;
} net_payload_t;

/* With NET_PAIRS_LONGS alone: sends the AM `header` of `length` bytes, which is inlined, and its
 * payload.  gasnetc_sent is called when the source may be written again.  Others
 * have the default (NET_HAS_LONG). */
static inline enum net_result net_long(net_peer_t *peer, void *header, size_t length,
                                       const net_payload_t *payload, net_message_t *answers,
                                       const gasnetc_sent_t *sent);

/* Sends two words, each of 32 bits, out of band: needs no credit.  Three such messages per peer and
 * direction always find buffers, whatever else is in flight.  Not hot. */
enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1);

/* --- reaping (HOT; the poll lock is held) --- */

/* Takes completions of what was sent, and calls gasnetc_sent for each.  Runs no handler, and may be
 * called while one is running.  Returns the number of completions. */
static inline unsigned net_reap(void);

/* True if all posted operations are reaped.  No lock held, and only a hint while other threads
 * post.  Not hot. */
bool net_quiet(void);

/* Called after net_reap: true if net_arrivals may find a message, and must be called; with
 * NET_REAP_TELLS alone.  Others have the default (NET_HAS_ARRIVED). */
static inline bool net_arrived(void);

/* Takes at most `budget` messages that have arrived into `messages`, other than by rings of
 * core/rings, and returns their number; adds to *systems the number of those from net_sys. */
static inline unsigned net_arrivals(net_message_t **messages, unsigned budget, unsigned *systems);

/* --- counters (not hot; any thread, no lock held: values may be slightly old) --- */

struct net_peer_counts {
    uint64_t puts, put_bytes, gets, get_bytes; /* posted, failed ones too */
    uint64_t puts_not_inlined;                 /* net_put with a local region */
    uint64_t by_ring;        /* messages written into a ring of core/rings in the peer's memory */
    uint64_t rings;          /* rings in local memory, written by the peer */
    uint64_t in_flight;      /* posted and not reaped */
    uint64_t in_flight_most; /* the most on one queue at once */
    uint64_t credits, credits_now, credits_lowest; /* with NET_HAS_FLOW_CONTROL */
};
void net_peer_counts(const net_peer_t *peer, struct net_peer_counts *counts);

struct net_counts {
    uint64_t registrations; /* made since net_open */
    uint64_t spares_out;    /* messages that were moved because no spare was left */
    uint64_t shared;        /* receive buffers that all peers share; 0: each peer has its own */
    uint64_t connections;   /* connected peers */
    uint64_t buffers, buffers_most; /* with NET_BUFFERS: number of buffers, most in use at once */
};
void net_counts(struct net_counts *counts);

/* Writes the reports that the user requested of the network itself, at an orderly exit before
 * net_close. */
void net_report_at_exit(void);

/* --- sleeping (not hot; no lock held).  Channels: if GASNET_RCV_THREAD was set at net_open --- */

/* The number of receive channels; a thread sleeps on each.  A channel may serve several devices. */
unsigned net_rx_channels(void);

/* From now on a message that arrives on the channel ends net_block; earlier messages may not. */
void net_arm(unsigned channel);

/* Sleeps in the kernel until a message arrives on the channel after net_arm; the caller has polled
 * in between.  Sleeps only briefly if the network holds messages back. */
void net_block(unsigned channel);

/* For waiting threads that do not sleep in net_block: returns a word that such threads set to 1 +
 * their rank.  The next message that arrives in this process, or completion that another thread
 * takes, sets the word to 0 and calls `wake` with the rank.  The call may be made by the sending
 * process, if that is on this host and has called net_sleeper too.  NULL: arrivals wake no thread.
 * Called once, after net_open. */
_Atomic uint32_t *net_sleeper(void (*wake)(uint32_t rank));

/* --- receive buffers (no lock held) --- */

/* Called before a Request's handler runs: posts a receive buffer to replace the message's, unless
 * kept_buffer.  It takes `spare` before the common pool.  If no buffer is spare, it copies the
 * message to ordinary memory and posts the message's own buffer again.  Returns the message to use
 * from then on. */
static inline net_message_t *net_refill(net_message_t *message, net_spare_t *spare);

/* Called after the handler: frees the message's buffer, to `spare` first. */
static inline void net_release(net_message_t *message, net_spare_t *spare);

/* Releases a message from net_sys.  Not hot. */
void net_release_system(net_message_t *message);

/* Called at the end of a poll: returns the spare to the common pool. */
static inline void net_spare_back(net_spare_t *spare);

/* Called at the start of a receive thread, which keeps its spare from poll to poll, so that its
 * Requests do not use the common pool: acquires the spare, where buffers belong to threads.  Not
 * hot. */
void net_spare_own(net_spare_t *spare);

/* Called at the end of a receive thread's polls: keeps one buffer, and returns any other to the
 * common pool. */
static inline void net_spare_keep(net_spare_t *spare);

#include "conduit_network.h"

#if !defined NET_BUFFERS || !defined NET_HAS_FLOW_CONTROL
#error "the network's header defines NET_BUFFERS and NET_HAS_FLOW_CONTROL, each as 0 or 1"
#endif
