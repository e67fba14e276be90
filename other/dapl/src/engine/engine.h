/* engine.h - the objects of the event core, and the functions that its files call of one another.
 *
 * Access to fields: those under "role" belong to the thread that has the EVD's consumer role
 * (role.h); those under a mutex are named there; any thread may use atomics. No mutex and no role
 * is held when a CNO is triggered or an agent is called. Order of the mutexes: admin of an EVD,
 * mutex of a CNO, mutex of an interface.
 */
#ifndef DAPL_ENGINE_H
#define DAPL_ENGINE_H

#include <infiniband/verbs.h> /* struct ibv_wc; the core calls none of its functions */
#include <pthread.h>
#include <stdatomic.h>

#include "other/base/completion-queues/channel.h"
#include "other/base/completion-queues/os.h"
#include "other/dapl/include/dapl_events.h"
#include "other/dapl/src/engine/role.h"
#include "other/dapl/src/machine/evd_state.h"
#include "other/dapl/src/machine/order.h"
#include "other/dapl/src/machine/ring.h"

enum { EVD_MAGIC = 0x45564431, CNO_MAGIC = 0x434e4f31 };

/* The first fields of every object. */
typedef struct object {
    void *provider;
    uint32_t magic;
    dapl_interface_t *interface;
    struct object *next; /* of the interface's list, under its mutex */
} object_t;

enum { STAGED_AT_FIRST = 16 };

struct dapl_evd {
    object_t object;

    /* Role. Completions that were polled, and are events, are next[0 .. count), in `staged`. */
    _Alignas(64) role_t role;
    ring_t *ring;  /* NULL: completions alone */
    bool long_way; /* not the short way of dapl_evd_dequeue: there is a ring, or something odd is
                      staged */
    bool odd;      /* some of what is staged is not plain (is_plain of consume.c) */
    struct ibv_wc *staged, *next;
    int count, room;
    bool has_cno;   /* a CNO is attached: an EVD that is found empty may have to be armed */
    bool solicited; /* the completion queue is armed for solicited events and errors alone */
    dapl_channel_t channel;
    int (*poll)(void *cq, int n, struct ibv_wc *wc);
    const dapl_async_ops_t *async; /* NULL: no asynchronous events of the device */
    dapl_link_t *due;   /* links whose disconnection event is to be queued when the role is left */
    evd_wait_t *wait;   /* of the thread that waits, once it has blocked */
    uint64_t signals;   /* signalling completions that were polled */
    uint64_t notified;  /* number of `signals` that the CNO's consumer knows of */
    dapl_link_t *links; /* with shared receives */
    int moderation;     /* completions per event that the device was asked for */
    int last_threshold;

    /* Producers. */
    _Alignas(64) _Atomic uint32_t state; /* evd_state.h */
    _Atomic uint32_t triggering;         /* threads that use `cno` */
    _Atomic(dapl_cno_t *) cno;
    _Atomic(ring_t *)
        producers; /* the ring that takes events: the last of the chain that begins with `ring` */
    _Atomic uint64_t wake_at;  /* the sleeper wants to know when the ring has had so many events */
    _Atomic int wake;          /* descriptor that the waiter sleeps on; -1 until the first sleep */
    _Atomic uint32_t waits;    /* threads inside dapl_evd_wait */
    _Atomic uint32_t in_links; /* uses by links */

    pthread_mutex_t admin; /* membership in the CNO, and the fields below */
    bool unwatched; /* the CNO's set does not report its descriptor, for a waiter sleeps on it */
    int fd;         /* of the completion channel or the asynchronous events; -1: none */
    DAT_COUNT qlen;
    DAT_EVD_FLAGS flags;
    evd_config_t config;

    /* Under the mutex of the CNO. */
    uint32_t member; /* index in `members` of the CNO, counted from 1 */
    int pins;        /* threads of the CNO that use the EVD */
    bool dirty;      /* the notification was consumed, and the EVD may not be armed again */
};

typedef struct member {
    dapl_evd_t *evd; /* NULL: free */
    uint32_t generation;
} member_t;

struct dapl_cno {
    object_t object;
    int set;                         /* the descriptors of its EVDs, and `wake` under the key 0 */
    int wake;                        /* readable while triggered */
    bool fd_form;                    /* the program polls `set` */
    _Atomic(dapl_evd_t *) triggered; /* by the latest of them; NULL: untriggered */
    _Atomic uint32_t epoch;          /* changes when all waiters are released with no EVD */
    _Atomic uint32_t waiters[2];     /* by the last bit of the epoch at their entry */
    _Atomic bool shut;
    _Atomic bool has_agent;
    _Atomic int ndirty;
    _Atomic uint32_t calls; /* of agents that were taken: they run, or are about to */
    pthread_mutex_t mutex;
    member_t *members;
    uint32_t nmembers, room; /* attached EVDs, and entries of members */
    DAT_OS_WAIT_PROXY_AGENT agent;
    pthread_mutex_t releasing; /* one cno_release at a time */
    bool helped;               /* in the helper's set; under the mutex of the interface */
};

/* An agent that was taken from a CNO, to be called once; cno NULL: no agent. */
typedef struct taken {
    dapl_cno_t *cno;
    DAT_OS_WAIT_PROXY_AGENT agent;
} taken_t;

struct dapl_interface {
    dapl_interface_attr_t attr;
    pthread_mutex_t mutex;
    object_t *evds, *cnos;
    dapl_link_t *all_links;
    uint32_t next_vector;
    _Atomic bool shut;
    /* The helper: a thread that exists once an agent was set, or a flush did not end in time. */
    bool helper;
    bool stopping;
    pthread_t helper_thread;
    int helper_set, helper_wake;
    dapl_link_t *unfinished; /* flushes to be watched */
    dapl_link_t *watched;    /* the CNO that the helper uses now */
    dapl_cno_t *helping;     /* likewise */
};

struct dapl_link {
    dapl_link_attr_t attr;
    order_t order;
    struct ibv_wc *held; /* role of the receive EVD */
    int nheld, held_room;
    _Atomic bool late; /* the disconnection event is due, and its queue was full */
    DAT_EVENT_NUMBER number;
    dapl_link_t *next_due, *next_shared, *next_unfinished, *next_of_interface;
    bool unfinished;
};

static inline bool evd_valid(const dapl_evd_t *evd)
{
    return evd && evd->object.magic == EVD_MAGIC;
}
static inline bool cno_valid(const dapl_cno_t *cno)
{
    return cno && cno->object.magic == CNO_MAGIC;
}

/* ---- consume.c: with the role ---- */
/* Polls until an event was staged (true) or the completion queue is empty. */
bool evd_poll(dapl_evd_t *evd);
/* Takes the next event; false: no event is queued. */
bool evd_take(dapl_evd_t *evd, DAT_EVENT *event);
/* Polls until the completion queue is empty or `most` events are staged. */
void evd_drain(dapl_evd_t *evd, int most);
uint64_t evd_queued(const dapl_evd_t *evd);
void evd_arm(dapl_evd_t *evd);
/* Chooses the way of the next dequeue, after events were taken. */
static inline void evd_choose_way(dapl_evd_t *evd)
{
    evd->long_way = evd->ring || evd->odd;
}
/* Appends to the staged events; false: no memory. */
bool evd_stage(dapl_evd_t *evd, const struct ibv_wc *wc, int n);
/* Makes a connection event an entry that can be staged. */
void evd_connection_entry(struct ibv_wc *wc, const DAT_EVENT *event);
/* Whether a connection event of that endpoint is staged. */
bool evd_has_staged(const dapl_evd_t *evd, DAT_EP_HANDLE ep);
/* Leaves the role, and queues the disconnection events that have become due. */
void evd_leave(dapl_evd_t *evd);
void evd_return(dapl_evd_t *evd, uintptr_t before);

/* ---- post.c ---- */
/* Events were staged by another thread than the consumer: wakes the waiter or triggers the CNO. */
void evd_notice(dapl_evd_t *evd);
/* Wakes the sleeping waiter, if there is one. */
void evd_wake(dapl_evd_t *evd);
void evd_trigger(dapl_evd_t *evd);

/* ---- interface.c ---- */
void interface_add(dapl_interface_t *interface, object_t **list, object_t *object);
void interface_remove(dapl_interface_t *interface, object_t **list, object_t *object);

/* ---- evd.c ---- */
/* While a waiter sleeps on the descriptor the CNO's set does not report it. */
void evd_watch(dapl_evd_t *evd, bool watch);
/* If its events go to a CNO: arms, and triggers it for what is queued. */
void evd_renew(dapl_evd_t *evd);
/* Sets bits of the state, and wakes a waiter, which reads them. */
void evd_tell(dapl_evd_t *evd, uint32_t bits);
void evd_await_leave(dapl_evd_t *evd);

/* ---- cno.c ---- */
bool cno_attach(dapl_cno_t *cno, dapl_evd_t *evd, bool watch);
/* `freed`: the EVD is going away; if it is the last one, the waiters are released. */
void cno_detach(dapl_cno_t *cno, dapl_evd_t *evd, bool freed);
void cno_watch(dapl_cno_t *cno, dapl_evd_t *evd, bool watch);
/* Triggered by `evd`; the caller calls `agent` once it holds nothing. */
void cno_set_triggered(dapl_cno_t *cno, dapl_evd_t *evd, taken_t *agent);
void cno_release(dapl_cno_t *cno);

/* ---- agent.c ---- */
/* Takes the agent, if one is set, which is then detached. */
void cno_take_agent(dapl_cno_t *cno, taken_t *agent);
void agent_run(const taken_t *agent, dapl_evd_t *evd);
static inline void agent_call(const taken_t *agent, dapl_evd_t *evd)
{
    if (agent->cno) agent_run(agent, evd);
}

/* Waits for the calls of the CNO's agents in other threads. */
void agent_await_calls(dapl_cno_t *cno);
/* The CNO goes away, in a call of its agent perhaps. */
void agent_forget_cno(const dapl_cno_t *cno);

/* ---- cno_wait.c ---- */
/* Takes the notification that the set reported under `key`: the EVD, if it has news for the CNO.
 * `lent`: by the helper, which leaves the CNO triggered. The caller calls the agent. */
dapl_evd_t *cno_collect(dapl_cno_t *cno, uint64_t key, bool lent, taken_t *agent);
/* Arms the EVDs whose notifications were consumed; one that has news, else NULL. */
dapl_evd_t *cno_rearm(dapl_cno_t *cno, bool lent, taken_t *agent);

/* ---- helper.c ---- */
DAT_RETURN helper_watch_cno(dapl_cno_t *cno);
void helper_forget_cno(dapl_cno_t *cno);
DAT_RETURN helper_watch_link(dapl_link_t *link);
void helper_forget_link(dapl_link_t *link);
void helper_stop(dapl_interface_t *interface);

/* ---- link.c ---- */
/* Queues the disconnection event that is due; false: the queue has no room for it yet. */
bool link_finish(dapl_link_t *link);
dapl_interface_t *link_interface(const dapl_link_t *link);
/* Tries again to finish the disconnection: true when it is finished. */
bool link_progress(dapl_link_t *link);
/* Handles a completion of the link's work that is no plain event; true if it is to be staged now,
 * as *wc. */
bool link_admit(dapl_evd_t *evd, struct ibv_wc *wc, dapl_work_t *work);

#endif
