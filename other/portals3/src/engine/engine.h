/*
 * engine.h - the state of an interface, private to the files of the engine and the fast path.
 *
 * One lock per interface protects tables, match entries, descriptors and operations.  Events are
 * deposited with the lock held, in the critical section in which their operation ceases to be
 * pending.  Data are copied (but for short puts at the target), and the transport is called,
 * without the lock: a pending operation holds a reference to its descriptor.
 */
#ifndef PTLI_ENGINE_H
#define PTLI_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "other/portals3/src/base/mutex.h"
#include "other/portals3/src/engine/match.h"
#include "other/portals3/src/engine/pool.h"
#include "other/portals3/src/transport/transport.h"

enum {
    PTLI_TABLE_SIZE = 64,
    PTLI_ACCESS_SIZE = 8,
    PTLI_MAX_IOVECS = 1024,
    PTLI_MAX_GETPUT = 64,
    PTLI_MAX_OPERATIONS = 1 << 20,
    PTLI_CLOSE_REMOTES = 4 /* remote pieces that an operation stores without allocation */
};

struct ptli_eq {
    struct ptli_slot slot;
    struct ptli_engine *engine;
    bool ready; /* the locks are initialised; they stay valid until the interface is closed, for
                   late callers */
    struct ptli_mutex lock; /* protects ring, staged events and handler */
    ptl_event_t *ring;
    uint64_t size; /* a power of two; 0: events are passed to the handler and not stored */
    /* Totals; `taken` includes events that were overwritten.  */
    _Atomic uint64_t posted, taken;
    uint64_t news;           /* events logged, also before the queue was reused */
    _Atomic uint32_t looked; /* engine->looks when PtlEQGet last found the queue empty */
    ptl_seq_t sequence;
    bool open;

    uint32_t users;    /* MDs that use the queue (engine's lock) */
    uint64_t ends_due; /* END events still to come of requests that have matched (engine's lock) */

    ptl_eq_handler_t handler;
    pthread_mutex_t handling; /* serialises the calls of the handler */
    ptl_event_t *staged;      /* deposited, not passed to the handler yet */
    uint64_t staged_first, staged_count, staged_size;
    _Atomic bool any_staged;
    struct ptli_eq *next_staged_eq; /* in engine->staged_eqs (engine's lock) */
    bool in_staged_eqs;
};

struct ptli_me {
    struct ptli_slot slot;
    struct ptli_entry entry;
    ptl_pt_index_t pt_index;
    bool unlink;
    struct ptli_md *md;
};

struct ptli_md {
    struct ptli_slot slot;
    ptl_md_t user; /* as given by the caller; the current threshold is in rules */
    struct ptli_rules rules;
    struct ptli_piece *pieces, one;
    uint32_t count;
    struct ptli_eq *eq;
    struct ptli_me *me;
    uint32_t pending;
    bool unlink;     /* unlink the MD when an operation makes it inactive */
    bool unlink_due; /* inactive, and to be unlinked when pending is 0 */
    bool published;  /* open in a published list that peers may hold */
    bool brief;      /* for puts, active, without threshold, in one piece; of a put one event is
                        logged, in a queue without a handler */
    struct ptli_md *next_dead;
    /* For fast_put_get.c; protected by the posting lock and the engine's.  */
    bool plain;           /* one piece, never inactive, no START events, no handler: stands as it is
                             until it is shut */
    uint8_t logs;         /* PTLI_LOGS_... */
    uint32_t unsignalled; /* a work request whose number has a bit of this mask is unsignalled */
};

struct ptli_table_entry {
    struct ptli_entry *first, *last;
    uint32_t count;
    bool published;    /* peers may hold its list */
    uint32_t changing; /* number of calls that are revoking the list to change it */
    uint32_t epoch;
    uint32_t quiet; /* requests since the last change */
};

struct ptli_access {
    ptl_process_id_t match_id;
    ptl_uid_t uid;
    ptl_jid_t jid;
    ptl_pt_index_t pt_index;
};

/* The data common to all events of an operation in one process.  */
struct ptli_event_info {
    ptl_process_id_t initiator;
    ptl_uid_t uid;
    ptl_jid_t jid;
    ptl_pt_index_t pt_index;
    ptl_match_bits_t match_bits;
    ptl_hdr_data_t hdr_data;
    ptl_size_t rlength, mlength, offset;
    ptl_seq_t link;
    ptl_ni_fail_t fail;
};

/* Events that an operation waits for, a mask.  Its record cannot be freed while the transport uses
 * its message or transfer.  */
enum ptli_waits {
    PTLI_WAITS_MESSAGE = 1,
    PTLI_WAITS_TRANSFER = 2,
    PTLI_WAITS_ANSWER = 4,
    PTLI_WAITS_COPY = 8 /* the data of the answer are being copied */
};

enum ptli_role {
    PTLI_ROLE_PUT, /* initiator */
    PTLI_ROLE_GET,
    PTLI_ROLE_GETPUT,
    PTLI_ROLE_TAKING, /* target: the data of a long put are read, then it is answered */
    PTLI_ROLE_GIVING, /* target: a reply is being sent */
    PTLI_ROLE_ANSWER  /* target: an answer without data */
};

/* The record of an operation.  While md is not NULL the operation holds a reference to it
 * (pending).  */
struct ptli_operation {
    struct ptli_slot slot;
    enum ptli_role role;
    unsigned int waits;
    enum ptli_status status;
    struct ptli_peer *peer;
    struct ptli_md *md; /* source of a put, destination of a get; target: the MD that accepted */
    struct ptli_md *get_md; /* getput: destination */
    ptl_event_kind_t kind;  /* target: PUT_END, GET_END, GETPUT_END */
    bool is_long;           /* initiator: the source may be reused after the answer */
    bool counts_send;       /* get with PTL_CRAY_GETS: log SEND events */
    bool fast;
    uint8_t answer; /* PTLI_ACK, PTLI_DONE once known */
    bool asks_ack;
    bool failure_logged; /* by SEND_END; otherwise the ACK reports the failure */
    ptl_size_t answer_length;
    ptl_handle_md_t md_handle; /* of the source, for an ACK after md was released */
    uint32_t md_serial;
    struct ptli_event_info info;
    ptl_size_t get_offset; /* getput: in get_md */
    struct ptli_message message;
    struct ptli_transfer transfer;
    struct ptli_piece bytes; /* piece around `small` or `more` */
    struct ptli_remote remotes[PTLI_CLOSE_REMOTES];
    unsigned char small[PTLI_MAX_GETPUT];
    void *more; /* from malloc, for more data than remotes and small hold */
};

/* The checked arguments of a put or get.  */
struct ptli_asked {
    ptl_handle_md_t md;
    ptl_size_t offset, length;
    ptl_process_id_t target;
    ptl_pt_index_t pt;
    ptl_ac_index_t ac;
    ptl_match_bits_t match_bits;
    ptl_size_t remote_offset;
    ptl_hdr_data_t hdr_data;
    bool whole; /* transfer the whole MD: offset and length are not set */
};

struct ptli_engine {
    uint32_t interface;
    uint32_t generation;
    _Atomic(ptl_handle_ni_t) handle; /* PTL_INVALID_HANDLE: not open */
    struct ptli_transport *transport;
    ptl_ni_limits_t limits;
    struct ptli_peer self; /* this process as a peer */
    bool cray_gets;        /* PTL_CRAY_GETS: gets log SEND events and count twice */

    struct ptli_mutex lock;
    struct ptli_pool mes, mds, eqs, operations;
    struct ptli_table_entry table[PTLI_TABLE_SIZE];
    struct ptli_access access[PTLI_ACCESS_SIZE];
    uint32_t access_state; /* changes with these; not 0 */
    ptl_seq_t next_link;
    uint32_t tables_used, tables_most;
    ptl_sr_value_t drop_count, recv_count, send_count, fast_puts, fast_gets;
    ptl_sr_value_t drop_length, recv_length, send_length;
    ptl_nid_t fail_nid; /* PtlFailNid */
    unsigned int fail_left;
    struct ptli_eq *staged_eqs; /* queues with staged events */
    _Atomic bool any_staged_eq;
    _Atomic(struct ptli_posting *) puts, gets; /* for fast_put_get.c; NULL: no fast path */
    _Atomic(struct ptli_verbs *) polls;        /* for path.c; NULL: not open, or no paths */
    _Atomic uint32_t looks;                    /* polls of the network by PtlEQGet */
    _Atomic uint64_t news;                     /* changes with each event of any queue */
    struct ptli_md *dead; /* unlinked MDs whose registration is still to be released */

    /* Threads that wait for events sleep on this condition variable.  */
    pthread_mutex_t bell_lock;
    pthread_cond_t bell;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t inside; /* calls that may sleep */
    _Atomic bool closing;
};

/* --- ni.c --- */

extern struct ptli_engine ptli_engines[PTLI_INTERFACES] __attribute__((visibility("hidden")));
/* The open interface of a handle of any kind, or NULL: *error is PTL_NO_INIT or `invalid`. */
struct ptli_engine *ptli_engine_of(ptl_handle_any_t handle, enum ptli_kind kind, int invalid,
                                   int *error);
/* The open interface of a handle whose kind is not known, or NULL: *error is PTL_NO_INIT or
 * `invalid`. */
struct ptli_engine *ptli_engine_any(ptl_handle_any_t handle, int invalid, int *error);
int ptli_not_initialised(void); /* PTL_NO_INIT or PTL_OK */

/* --- lock.c: the engine's lock, and the deferred work of the thread that releases it --- */

static inline void ptli_lock(struct ptli_engine *engine)
{
    ptli_mutex_lock(&engine->lock);
}
void ptli_chores(struct ptli_engine *engine, bool handlers);
static inline bool ptli_has_chores(struct ptli_engine *engine)
{
    return (engine->staged_eqs || engine->dead);
}
/* Releases the lock in a call of the program: handlers are left to the progress thread and to calls
 * that take events.  */
static inline void ptli_unlock(struct ptli_engine *engine)
{
    bool chores = ptli_has_chores(engine);
    ptli_mutex_unlock(&engine->lock);
    if (chores) ptli_chores(engine, false);
}
/* Releases the lock in a call from the transport, and calls the handlers.  */
static inline void ptli_unlock_up(struct ptli_engine *engine)
{
    bool chores = ptli_has_chores(engine);
    ptli_mutex_unlock(&engine->lock);
    if (chores) ptli_chores(engine, true);
}

/* --- table.c: lists of table entries; all with the lock --- */

void ptli_list_add(struct ptli_engine *engine, struct ptli_me *me, struct ptli_me *base,
                   ptl_ins_pos_t pos);
void ptli_list_remove(struct ptli_engine *engine, struct ptli_me *me);
/* The list changed in a way that affects matching.  */
void ptli_list_changed(struct ptli_engine *engine, ptl_pt_index_t pt);
/* Revokes the published lists of the table entry, if there are any.  Releases the lock meanwhile,
 * so the caller must check all state again.  False: peers still hold a list after the timeout (ms).
 * */
bool ptli_withdraw(struct ptli_engine *engine, ptl_pt_index_t pt, ptl_time_t timeout);
enum { PTLI_WITHDRAW_MS = 10000 };
static inline struct ptli_me *ptli_me_of(struct ptli_entry *entry)
{
    return (struct ptli_me *)((char *)entry - offsetof(struct ptli_me, entry));
}

/* --- me.c --- */

void ptli_me_free(struct ptli_engine *engine, struct ptli_me *me); /* the MD must be freed before */

/* --- md.c --- */

/* Acquire and release a reference to an MD for an operation.  The release of the last reference to
 * an MD with unlink_due unlinks it, with an event of this operation.  */
static inline void ptli_md_hold(struct ptli_md *md)
{
    md->pending++;
}
void ptli_md_release(struct ptli_engine *engine, struct ptli_md *md,
                     const struct ptli_event_info *info);
static inline struct ptli_md *ptli_md_of(struct ptli_rules *rules)
{
    return (struct ptli_md *)((char *)rules - offsetof(struct ptli_md, rules));
}
/* To be called after an operation, which may have made the MD inactive.  */
static inline void ptli_md_judge(struct ptli_md *md)
{
    if (!md->rules.inactive) return;
    md->brief = false;
    if (md->unlink) md->unlink_due = true;
}
/* Counts an operation against the MD's threshold.  */
static inline void ptli_md_count(struct ptli_md *md)
{
    ptli_rules_count(&md->rules);
    ptli_md_judge(md);
}
/* Unlinks an MD with unlink_due to which no operation holds a reference.  */
void ptli_md_settle(struct ptli_engine *engine, struct ptli_md *md,
                    const struct ptli_event_info *info);
/* Detaches the MD and invalidates its handle; the deferred work releases its memory.  */
void ptli_md_free(struct ptli_engine *engine, struct ptli_md *md);
void ptli_md_recycle(struct ptli_engine *engine, struct ptli_md *dead);
void ptli_regions_release(struct ptli_engine *engine, struct ptli_md *md); /* without the lock */
static inline struct ptli_span ptli_md_span(const struct ptli_md *md, ptl_size_t offset,
                                            ptl_size_t length)
{
    return (struct ptli_span){md->pieces, md->count, offset, length};
}
/* Encodes the remote list of a part of the MD; returns its length in bytes.  With to == NULL only
 * the length.  */
uint32_t ptli_md_remotes(const struct ptli_md *md, ptl_size_t offset, ptl_size_t length,
                         unsigned char *to);

/* --- eq.c --- */

/* Logs an event of an MD, if the MD wants events of that kind.  With the engine's lock. */
void ptli_log(struct ptli_engine *engine, struct ptli_md *md, ptl_event_kind_t kind,
              const struct ptli_event_info *info);
/* Count an END event that a match will log, until it is logged.  */
static inline void ptli_end_due(struct ptli_md *md)
{
    if (md->eq) md->eq->ends_due++;
}
static inline void ptli_end_logged(struct ptli_md *md)
{
    if (md->eq) md->eq->ends_due--;
}
/* True if the queue is empty and no END event of a match is still to come.  With the engine's lock.
 */
bool ptli_eq_quiet(struct ptli_eq *eq);
static inline bool ptli_wants_start(const struct ptli_md *md)
{
    return md->eq && !(md->user.options & PTL_MD_EVENT_START_DISABLE);
}
static inline void ptli_log_start(struct ptli_engine *engine, struct ptli_md *md,
                                  ptl_event_kind_t kind, const struct ptli_event_info *info)
{
    if (ptli_wants_start(md)) ptli_log(engine, md, kind, info);
}
/* An event was logged.  With the queue's lock; no number is stored twice.  */
static inline void ptli_eq_news(struct ptli_eq *eq)
{
    atomic_store_explicit(&eq->engine->news, ++eq->news << 16 | eq->slot.index,
                          memory_order_release);
}
/* Calls the handler for the staged events.  */
void ptli_eq_call_handler(struct ptli_eq *eq);
void ptli_eq_close(struct ptli_eq *eq);
void ptli_wake_sleepers(struct ptli_engine *engine);

/* --- access.c --- */

static inline bool ptli_access_fits(const struct ptli_engine *engine, ptl_ac_index_t ac,
                                    ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid,
                                    ptl_pt_index_t pt)
{
    const struct ptli_access *entry = &engine->access[ac];
    return ptli_id_fits(entry->match_id, id) && (entry->uid == PTL_UID_ANY || entry->uid == uid) &&
           (entry->jid == PTL_JID_ANY || entry->jid == jid) &&
           (entry->pt_index == PTL_PT_INDEX_ANY || entry->pt_index == pt);
}
void ptli_access_reset(struct ptli_engine *engine);

/* --- operation.c: records of operations, and how they end; all with the lock --- */

struct ptli_operation *ptli_operation_take(struct ptli_engine *engine, enum ptli_role role,
                                           struct ptli_peer *peer);
void ptli_operation_give(struct ptli_engine *engine, struct ptli_operation *operation);
/* To be called when an event that the operation waited for has happened: logs the events that are
 * due, and frees the record if it waits for no other.  */
void ptli_operation_advance(struct ptli_engine *engine, struct ptli_operation *operation);
static inline uint64_t ptli_operation_id(const struct ptli_operation *operation)
{
    return (uint64_t)operation->slot.serial << 32 | operation->slot.index;
}
/* The initiator's record with that id, if it waits for an answer of this peer; or NULL.  */
struct ptli_operation *ptli_operation_find(struct ptli_engine *engine, uint64_t id,
                                           const struct ptli_peer *peer);
/* Pass the operation's message or transfer to the transport and handle the result; without the
 * lock.  */
void ptli_operation_send(struct ptli_engine *engine, struct ptli_operation *operation, bool up);
void ptli_operation_transfer(struct ptli_engine *engine, struct ptli_operation *operation, bool up);
/* A reply to a get or getput has arrived.  */
void ptli_reply(struct ptli_engine *engine, struct ptli_operation *operation,
                const struct ptli_header *header, const void *data);
void ptli_answered(struct ptli_engine *engine, struct ptli_operation *operation, uint8_t answer,
                   ptl_size_t length);
/* The number of answers that have not been sent.  */
uint32_t ptli_operations_unanswered(const struct ptli_engine *engine);

/* --- deliver.c: requests at the target --- */

struct ptli_match {
    struct ptli_md *md; /* NULL: dropped */
    ptl_size_t offset, mlength;
    ptl_seq_t link;
};
/* Matches a request and updates the MD that accepts it; with the lock.  */
struct ptli_match ptli_match_request(struct ptli_engine *engine, const struct ptli_header *header,
                                     ptl_uid_t uid, ptl_jid_t jid, struct ptli_event_info *info);
/* Logs the END event, after all data were written, and releases the MD. */
void ptli_match_end(struct ptli_engine *engine, struct ptli_md *md, ptl_event_kind_t kind,
                    struct ptli_event_info *info);
void ptli_drop(struct ptli_engine *engine, ptl_process_id_t from, ptl_size_t length,
               const char *why);
ptl_event_kind_t ptli_end_kind(uint8_t type);
/* Judges the first short put of a peer, and each put whose source or target entry differs from that
 * of the put before; for short_put.h, with the lock. False: it is no such put, or refused; then
 * nothing was done. */
bool ptli_short_admit(struct ptli_engine *engine, struct ptli_peer *peer,
                      const unsigned char *bytes);
/* A short put that was admitted, whatever takes it, or if nothing does.  */
void ptli_short_any(struct ptli_engine *engine, struct ptli_peer *peer, const unsigned char *bytes);

/* --- fastpath/fast_put_get.c --- */

/* PtlPut and PtlGet are in fast_put_get.c; initiate.c does the operations that cannot use the fast
 * path: */
int ptli_put(struct ptli_asked *asked, ptl_ack_req_t ack);
int ptli_get(struct ptli_asked *asked);

/* The events to log for an operation on the fast path; bits in the item of its slot (verbs.h).  */
enum { PTLI_LOGS_END = 4, PTLI_LOGS_ACK = 8 };
/* All with the engine's lock. */
void ptli_fast_ways(struct ptli_engine *engine); /* a condition of the fast path changed */
void ptli_fast_admit(struct ptli_engine *engine, struct ptli_md *md); /* after the MD is created */
/* Before the MD is changed or freed.  False: operations on the fast path still use it; their
 * completion is requested.  */
bool ptli_fast_shut(struct ptli_engine *engine, struct ptli_md *md);
uint32_t ptli_fast_under_way(struct ptli_engine *engine, const struct ptli_md *md);
struct ptli_fast_counts ptli_fast_counts(struct ptli_engine *engine);

/* --- self.c: operations of a process with itself --- */

void ptli_self_put(struct ptli_engine *engine, struct ptli_operation *operation,
                   const struct ptli_header *header);
void ptli_self_get(struct ptli_engine *engine, struct ptli_operation *operation,
                   const struct ptli_header *header);
void ptli_self_getput(struct ptli_engine *engine, struct ptli_operation *operation,
                      const struct ptli_header *header);

/* --- rankmap.c --- */

const struct ptli_launch *ptli_launch_given(void);
void ptli_launch_reset(void);

#endif
