/*
 * engine.h - the state of an interface, shared by the engine's files and by nobody else.
 *
 * One lock per interface guards tables, match entries, descriptors and operations.  Events are
 * deposited under it, in the same critical section in which their operation ceases to be pending.
 * Data are copied without it: a pending operation keeps its descriptor.  Calls down to the
 * transport are made without it.
 */
#ifndef PTLI_ENGINE_H
#define PTLI_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include "other/portals3/engine/match.h"
#include "other/portals3/engine/mutex.h"
#include "other/portals3/engine/pool.h"
#include "other/portals3/transport/transport.h"

enum {
    PTLI_TABLE_SIZE = 64,
    PTLI_ACCESS_SIZE = 8,
    PTLI_MAX_IOVECS = 1024,
    PTLI_MAX_GETPUT = 64,
    PTLI_MAX_OPERATIONS = 1 << 20,
    PTLI_CLOSE_REMOTES = 4 /* remote pieces that an operation holds without asking for memory */
};

struct ptli_eq {
    struct ptli_slot slot;
    struct ptli_engine *engine;
    bool ready;             /* its locks live as long as the interface, for who comes too late */
    struct ptli_mutex lock; /* ring, staged events, handler */
    ptl_event_t *ring;
    uint64_t size; /* a power of two; 0: the handler is told and nothing kept */
    /* Counts of all time; `taken` steps over what was lost. */
    _Atomic uint64_t posted, taken;
    _Atomic uint32_t looked; /* the engine's looks when PtlEQGet last found it empty */
    ptl_seq_t sequence;
    bool open;

    uint32_t users;    /* MDs that refer to it (engine's lock) */
    uint64_t promised; /* END events of matches already made (engine's lock) */

    ptl_eq_handler_t handler;
    pthread_mutex_t handling; /* one call at a time */
    ptl_event_t *staged;      /* deposited, the handler not yet told */
    uint64_t staged_first, staged_count, staged_size;
    _Atomic bool any_staged;
    struct ptli_eq *next_noisy; /* in engine->noisy (engine's lock) */
    bool noisy;
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
    ptl_md_t user; /* as given; threshold as it stands is in rules */
    struct ptli_rules rules;
    struct ptli_piece *pieces, one;
    uint32_t count;
    struct ptli_eq *eq;
    struct ptli_me *me;
    uint32_t pending;
    bool unlink;    /* when it goes inactive through an operation */
    bool doomed;    /* it has */
    bool published; /* stands as open in a list that peers may hold */
    struct ptli_md *next_dead;
    /* For fast_put_get.c, with its lock and the engine's. */
    bool plain;           /* one piece, never inactive, no START events, no handler: stands as it is
                             until it is shut */
    uint8_t tells;        /* PTLI_TELLS_... */
    uint32_t unsignalled; /* numbers of work requests with a bit of these make no completion */
};

struct ptli_table_entry {
    struct ptli_entry *first, *last;
    uint32_t count;
    bool published;    /* peers may hold its list */
    uint32_t changing; /* somebody is taking it back to change it */
    uint32_t epoch;
    uint32_t quiet; /* requests since it was last changed */
};

struct ptli_access {
    ptl_process_id_t match_id;
    ptl_uid_t uid;
    ptl_jid_t jid;
    ptl_pt_index_t pt_index;
};

/* What all events of an operation at one end have in common. */
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

/* What an operation still waits for.  While the transport owns its message or transfer it cannot
 * go. */
enum ptli_waits {
    PTLI_WAITS_MESSAGE = 1,
    PTLI_WAITS_TRANSFER = 2,
    PTLI_WAITS_ANSWER = 4,
    PTLI_WAITS_COPY = 8 /* the answer's data are being copied */
};

enum ptli_role {
    PTLI_ROLE_PUT, /* initiator */
    PTLI_ROLE_GET,
    PTLI_ROLE_GETPUT,
    PTLI_ROLE_TAKING, /* target: a long put is being read, then answered */
    PTLI_ROLE_GIVING, /* target: a reply is on its way */
    PTLI_ROLE_ANSWER  /* target: nothing but an answer */
};

/* A record of an operation.  md is held (pending) as long as it is not NULL. */
struct ptli_operation {
    struct ptli_slot slot;
    enum ptli_role role;
    unsigned int waits;
    enum ptli_status status;
    struct ptli_peer *peer;
    struct ptli_md
        *md; /* source of a put, destination of a get, at the target: the one that accepted */
    struct ptli_md *get_md; /* getput: destination */
    ptl_event_kind_t kind;  /* target: PUT_END, GET_END, GETPUT_END */
    bool is_long;           /* initiator: the answer frees the source */
    bool counts_send;       /* get, Cray's way: SEND events are due */
    bool fast;
    uint8_t answer; /* PTLI_ACK, PTLI_DONE once known */
    bool asks_ack;
    bool failure_told; /* by SEND_END; else the ACK tells of it */
    ptl_size_t answer_length;
    ptl_handle_md_t md_handle; /* of the source, for an ACK after it was let go */
    uint32_t md_serial;
    struct ptli_event_info info;
    ptl_size_t get_offset; /* getput: in get_md */
    struct ptli_message message;
    struct ptli_transfer transfer;
    struct ptli_piece bytes; /* piece around `small` or `more` */
    struct ptli_remote remotes[PTLI_CLOSE_REMOTES];
    unsigned char small[PTLI_MAX_GETPUT];
    void *more; /* from malloc: what is too much for the two above */
};

/* What the caller of a put or get asked for, with its checks behind it. */
struct ptli_asked {
    ptl_handle_md_t md;
    ptl_size_t offset, length;
    ptl_process_id_t target;
    ptl_pt_index_t pt;
    ptl_ac_index_t ac;
    ptl_match_bits_t match_bits;
    ptl_size_t remote_offset;
    ptl_hdr_data_t hdr_data;
    bool whole; /* of the MD: offset and length are not given */
};

struct ptli_engine {
    uint32_t interface;
    uint32_t generation;
    _Atomic(ptl_handle_ni_t) handle; /* PTL_INVALID_HANDLE: not open */
    struct ptli_transport *transport;
    ptl_ni_limits_t limits;
    struct ptli_peer self; /* stands for this process where a peer is asked for */
    bool cray_gets;        /* PTL_CRAY_GETS: gets log SEND events and count twice */

    struct ptli_mutex lock;
    struct ptli_pool mes, mds, eqs, operations;
    struct ptli_table_entry table[PTLI_TABLE_SIZE];
    struct ptli_access access[PTLI_ACCESS_SIZE];
    ptl_seq_t next_link;
    uint32_t tables_used, tables_most;
    ptl_sr_value_t drop_count, recv_count, send_count, fast_puts, fast_gets;
    ptl_sr_value_t drop_length, recv_length, send_length;
    ptl_nid_t fail_nid; /* PtlFailNid */
    unsigned int fail_left;
    struct ptli_eq *noisy; /* queues whose handler is to be told */
    _Atomic bool any_noisy;
    _Atomic(struct ptli_posting *) puts, gets; /* what fast_put_get.c posts by; NULL: not its way */
    _Atomic uint32_t looks;                    /* at the network, on behalf of PtlEQGet */
    struct ptli_md *dead; /* unlinked, their registration still to be released */

    /* Where threads sleep that wait for events. */
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
/* Any kind. */
struct ptli_engine *ptli_engine_any(ptl_handle_any_t handle, int invalid, int *error);
int ptli_not_initialised(void); /* PTL_NO_INIT or PTL_OK */

/* --- lock.c: the engine's lock and the chores that whoever lets go of it does --- */

static inline void ptli_lock(struct ptli_engine *engine)
{
    ptli_mutex_lock(&engine->lock);
}
void ptli_chores(struct ptli_engine *engine, bool handlers);
static inline bool ptli_has_chores(struct ptli_engine *engine)
{
    return __builtin_expect(engine->noisy || engine->dead, 0);
}
/* In a call of the program: handlers are left to the progress thread and to those who take events.
 */
static inline void ptli_unlock(struct ptli_engine *engine)
{
    bool chores = ptli_has_chores(engine);
    ptli_mutex_unlock(&engine->lock);
    if (chores) ptli_chores(engine, false);
}
/* In a call up: handlers run here. */
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
/* Something changed that the walk sees. */
void ptli_list_changed(struct ptli_engine *engine, ptl_pt_index_t pt);
/* Takes back what was published, if anything was: lets go of the lock meanwhile, so look again at
 * everything afterwards.  False: peers still hold it after the timeout. */
bool ptli_withdraw(struct ptli_engine *engine, ptl_pt_index_t pt, ptl_time_t timeout);
enum { PTLI_WITHDRAW_MS = 10000 };
static inline struct ptli_me *ptli_me_of(struct ptli_entry *entry)
{
    return (struct ptli_me *)((char *)entry - offsetof(struct ptli_me, entry));
}

/* --- me.c --- */

void ptli_me_free(struct ptli_engine *engine, struct ptli_me *me); /* its MD is gone */

/* --- md.c --- */

/* Holds an MD for an operation, and lets go of it; the last one that lets go of a doomed MD unlinks
 * it, with an event that tells of this operation. */
static inline void ptli_md_hold(struct ptli_md *md)
{
    md->pending++;
}
void ptli_md_release(struct ptli_engine *engine, struct ptli_md *md,
                     const struct ptli_event_info *info);
/* An operation counts against its threshold. */
void ptli_md_count(struct ptli_md *md);
/* It may have gone inactive through an operation. */
static inline void ptli_md_judge(struct ptli_md *md)
{
    if (md->rules.inactive && md->unlink) md->doomed = true;
}
/* Without operations that hold it: auto-unlinks it if it is doomed. */
void ptli_md_settle(struct ptli_engine *engine, struct ptli_md *md,
                    const struct ptli_event_info *info);
/* Detaches it and ends its handle; its memory is released by the chores. */
void ptli_md_free(struct ptli_engine *engine, struct ptli_md *md);
void ptli_md_bury(struct ptli_engine *engine, struct ptli_md *dead);
void ptli_regions_release(struct ptli_engine *engine, struct ptli_md *md); /* without the lock */
static inline struct ptli_span ptli_md_span(const struct ptli_md *md, ptl_size_t offset,
                                            ptl_size_t length)
{
    return (struct ptli_span){md->pieces, md->count, offset, length};
}
/* The remote list of a part, encoded: its length in bytes (to == NULL: only that). */
uint32_t ptli_md_remotes(const struct ptli_md *md, ptl_size_t offset, ptl_size_t length,
                         unsigned char *to);

/* --- eq.c --- */

/* Logs an event of an MD, if the MD wants events of that kind.  With the engine's lock. */
void ptli_log(struct ptli_engine *engine, struct ptli_md *md, ptl_event_kind_t kind,
              const struct ptli_event_info *info);
/* The END event of a match: promised, then kept by ptli_log of an END kind. */
void ptli_promise(struct ptli_md *md);
void ptli_keep_promise(struct ptli_md *md);
/* No event in it, and none promised.  With the engine's lock. */
bool ptli_eq_quiet(struct ptli_eq *eq);
/* Calls the handler for what is staged. */
void ptli_eq_tell(struct ptli_eq *eq);
void ptli_eq_close(struct ptli_eq *eq);
void ptli_ring_bell(struct ptli_engine *engine);

/* --- access.c --- */

bool ptli_access_fits(const struct ptli_engine *engine, ptl_ac_index_t ac, ptl_process_id_t id,
                      ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt);
void ptli_access_reset(struct ptli_engine *engine);

/* --- operation.c: records of operations, and how they end; all with the lock --- */

struct ptli_operation *ptli_operation_take(struct ptli_engine *engine, enum ptli_role role,
                                           struct ptli_peer *peer);
void ptli_operation_give(struct ptli_engine *engine, struct ptli_operation *operation);
/* Something it waited for has come: logs what is due, and frees it when nothing is left to wait
 * for. */
void ptli_operation_advance(struct ptli_engine *engine, struct ptli_operation *operation);
static inline uint64_t ptli_operation_id(const struct ptli_operation *operation)
{
    return (uint64_t)operation->slot.serial << 32 | operation->slot.index;
}
/* The initiator's record that an answer names, waiting for one from this peer; or NULL. */
struct ptli_operation *ptli_operation_find(struct ptli_engine *engine, uint64_t id,
                                           const struct ptli_peer *peer);
/* Hands its message (or transfer) down and looks at what became of it; without the lock. */
void ptli_operation_send(struct ptli_engine *engine, struct ptli_operation *operation, bool up);
void ptli_operation_transfer(struct ptli_engine *engine, struct ptli_operation *operation, bool up);
/* A reply to a get or getput has come: its mlength. */
void ptli_reply(struct ptli_engine *engine, struct ptli_operation *operation,
                const struct ptli_header *header, const void *data);
void ptli_answered(struct ptli_engine *engine, struct ptli_operation *operation, uint8_t answer,
                   ptl_size_t length);
/* How many answers have not left. */
uint32_t ptli_operations_owed(const struct ptli_engine *engine);

/* --- deliver.c: requests at the target --- */

struct ptli_match {
    struct ptli_md *md; /* NULL: dropped */
    ptl_size_t offset, mlength;
    ptl_seq_t link;
};
/* Judges a request, and does what acceptance does: with the lock. */
struct ptli_match ptli_match_request(struct ptli_engine *engine, const struct ptli_header *header,
                                     ptl_uid_t uid, ptl_jid_t jid, struct ptli_event_info *info);
/* Its data are in place: END event, and the MD let go. */
void ptli_match_end(struct ptli_engine *engine, struct ptli_md *md, ptl_event_kind_t kind,
                    struct ptli_event_info *info);
void ptli_drop(struct ptli_engine *engine, ptl_process_id_t from, ptl_size_t length,
               const char *why);
ptl_event_kind_t ptli_end_kind(uint8_t type);

/* --- fast_put_get.c: the fast path of what is simple --- */

/* Which holds PtlPut and PtlGet themselves; all else goes on in initiate.c: */
int ptli_put(struct ptli_asked *asked, ptl_ack_req_t ack);
int ptli_get(struct ptli_asked *asked);

/* What of an operation an MD's queue is told; bits in the item of its slot (verbs.h). */
enum { PTLI_TELLS_END = 4, PTLI_TELLS_ACK = 8 };
/* All with the engine's lock. */
void ptli_fast_ways(struct ptli_engine *engine); /* something changed on which they depend */
void ptli_fast_admit(struct ptli_engine *engine, struct ptli_md *md); /* it is made */
/* It is to be changed or to go.  False: operations hold it, which are hurried. */
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

const struct ptli_launch *ptli_launch_told(void);
void ptli_launch_reset(void);

#endif
