/* dapl_events.h - the event objects of DAT 2.0: event dispatchers (EVD) and notification objects
 * (CNO), over verbs completion queues.
 *
 * A dapl_evd_t * or dapl_cno_t * is also the DAT handle: its first word is the `provider` of the
 * interface (the DAT_PROVIDER table, if libdat2 calls). Calls return what the dat_ call of the same
 * name returns. DAT_QUEUE_EMPTY, DAT_TIMEOUT_EXPIRED and DAT_INTERRUPTED_CALL are bare types; all
 * other failures have DAT_CLASS_ERROR and, where DAT defines one, a subtype. Unless a comment says
 * otherwise, a call may be made by any thread, beside any other call on the same object except the
 * one that frees it.
 */
#ifndef DAPL_EVENTS_H
#define DAPL_EVENTS_H

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl_cq.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct dapl_interface dapl_interface_t; /* the event side of one opened interface adapter */
typedef struct dapl_evd dapl_evd_t;
typedef struct dapl_cno dapl_cno_t;
typedef struct dapl_link dapl_link_t; /* the order of the events of one endpoint */

/* ---- Return codes, which the DAT headers cannot compose ---- */

#define DAPL_ERROR(type, subtype)                                                                  \
    ((DAT_RETURN)((DAT_UINT32)DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(subtype)))

/* ---- The interface to the device; that of its completion queues is in dapl_cq.h ---- */

/* Asynchronous events of the device, one at a time, in DAT's form: 1 with *event (event_number, and
 * the affected handle as DAT_HANDLE_NULL for the interface adapter itself), 0 if no event is left,
 * or -errno. */
typedef struct dapl_async_ops {
    int (*take)(void *device, DAT_EVENT *event);
    int (*fd)(void *device);
} dapl_async_ops_t;

/* ---- The interface adapter ---- */

typedef struct dapl_interface_attr {
    void *provider;          /* first word of every object made here */
    DAT_IA_HANDLE ia_handle; /* reported by queries and unaffiliated asynchronous events */
    void *device;            /* first argument of the calls below */
    const dapl_cq_ops_t *cq; /* NULL: no EVD may have DAT_EVD_DTO_FLAG or DAT_EVD_RMR_BIND_FLAG */
    const dapl_async_ops_t *async; /* NULL: asynchronous events come by dapl_evd_post alone */
    int max_evd_qlen;              /* 0: no limit */
    int vectors;                   /* completion vectors, over which EVDs spread; 0 is taken as 1 */
    bool span;                     /* CNOs of the interface accept EVDs of other interfaces that
                                      have `span` set */
} dapl_interface_attr_t;

DAT_RETURN dapl_interface_open(const dapl_interface_attr_t *attr, dapl_interface_t **interface);

/* Ends every wait on its objects: EVD waiters return DAT_ABORT, CNO waiters DAT_SUCCESS with a null
 * EVD, as does each agent; waits that begin later do the same. Returns when the waiters have left.
 */
void dapl_interface_shut(dapl_interface_t *interface);

/* Frees the links, EVDs and CNOs that remain, in this order, after a shut. No other call may be in
 * progress. */
void dapl_interface_close(dapl_interface_t *interface);

/* ---- Event dispatchers ---- */

typedef struct dapl_evd_attr {
    DAT_COUNT min_qlen;
    DAT_EVD_FLAGS flags;
    dapl_cno_t *cno; /* or NULL */
    int vector;      /* completion vector; -1: the next one */
    bool shared;     /* several threads will dequeue: take the lock from the start (see
                        dapl_evd_dequeue) */
} dapl_evd_attr_t;

/* Enabled and waitable. DAT_INVALID_PARAMETER: ARG2 min_qlen <= 0, ARG4 the flags are no streams,
 * or asynchronous events with those of a completion queue. DAT_INSUFFICIENT_RESOURCES: TEVD
 * min_qlen exceeds max_evd_qlen, MEMORY. DAT_INVALID_HANDLE CNO: a CNO of another interface (see
 * `span`). */
DAT_RETURN dapl_evd_create(dapl_interface_t *interface, const dapl_evd_attr_t *attr,
                           dapl_evd_t **evd);

/* A blocked waiter returns DAT_ABORT and the call returns after it has left. DAT_INVALID_STATE
 * EVD_IN_USE: a link, or a stream of dapl_evd_use, remains. Not beside another call on the EVD but
 * that wait, and calls in an agent of its CNO: it returns after these, unless an agent calls it. */
DAT_RETURN dapl_evd_free(dapl_evd_t *evd);

/* All three bands of the state are reported. Not beside dapl_evd_modify_cno. ARG3: param is null.
 */
DAT_RETURN dapl_evd_query(dapl_evd_t *evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);

/* The next event, or DAT_QUEUE_EMPTY (bare). DAT_INVALID_STATE EVD_WAITER: a blocked waiter owns
 * the EVD. The thread that dequeues first owns the EVD and takes no lock; when a second thread
 * dequeues or waits, the EVD changes for good to a lock of one word. A contended call waits for
 * that lock, and is never empty by it. */
DAT_RETURN dapl_evd_dequeue(dapl_evd_t *evd, DAT_EVENT *event);

/* Returns one event and in *nmore the events left. It returns at once if `threshold` events are
 * queued, else when a signalling event makes them so many. `microseconds` is DAT_TIMEOUT_INFINITE,
 * 0 to look without waiting, or a bound on the whole call. *nmore is also set with
 * DAT_TIMEOUT_EXPIRED and DAT_INTERRUPTED_CALL, which dequeue nothing. DAT_INVALID_PARAMETER: ARG3
 * threshold, ARG4 event, ARG5 nmore. DAT_INVALID_STATE: EVD_WAITER, EVD_UNWAITABLE, or
 * EVD_CONFIG_NOTIFY or _SOLICITED where the threshold must be 1. */
DAT_RETURN dapl_evd_wait(dapl_evd_t *evd, DAT_TIMEOUT microseconds, DAT_COUNT threshold,
                         DAT_EVENT *event, DAT_COUNT *nmore);

/* dapl_evd_wait with a timeout in nanoseconds; negative: infinite. */
DAT_RETURN dapl_evd_wait_ns(dapl_evd_t *evd, int64_t nanoseconds, DAT_COUNT threshold,
                            DAT_EVENT *event, DAT_COUNT *nmore);

/* A software event. ARG1: the EVD has no software stream. ARG2: null, or no DAT_SOFTWARE_EVENT.
 * DAT_QUEUE_FULL: it was not queued. */
DAT_RETURN dapl_evd_post_se(dapl_evd_t *evd, const DAT_EVENT *event);

/* For producers of connection requests, connection events without a link (a rejection) and
 * asynchronous events: any event, by any thread; evd_handle is filled in at the dequeue.
 * Signalling. DAT_QUEUE_FULL: it was not queued. */
DAT_RETURN dapl_evd_post(dapl_evd_t *evd, const DAT_EVENT *event);

/* Enables or disables that events of the EVD trigger the CNO; waiters are not affected. Enabling
 * triggers it if events are queued. */
DAT_RETURN dapl_evd_enable(dapl_evd_t *evd);
DAT_RETURN dapl_evd_disable(dapl_evd_t *evd);

/* Whether dapl_evd_wait is allowed. Setting it ends a wait in progress with DAT_INVALID_STATE
 * EVD_UNWAITABLE. */
DAT_RETURN dapl_evd_set_unwaitable(dapl_evd_t *evd);
DAT_RETURN dapl_evd_clear_unwaitable(dapl_evd_t *evd);

/* After the call returns, events trigger the new CNO and not the old one; NULL detaches. Events
 * that are queued trigger the new one. Two threads must not call it for one EVD at the same time.
 */
DAT_RETURN dapl_evd_modify_cno(dapl_evd_t *evd, dapl_cno_t *cno);

/* Producers may continue, and no event is lost; on failure nothing has changed.
 * DAT_INVALID_PARAMETER ARG2. DAT_INVALID_STATE: more events queued, or EVD_WAITER.
 * DAT_INSUFFICIENT_RESOURCES: TEVD or MEMORY. DAT_NOT_IMPLEMENTED: the device cannot resize. Not
 * beside another resize of this EVD. */
DAT_RETURN dapl_evd_resize(dapl_evd_t *evd, DAT_COUNT min_qlen);

/* For the creation of endpoints: one more stream feeds the EVD. `flags` are the endpoint's
 * completion flags of this stream if it is of DTOs, else 0. All streams of DTOs must agree on
 * UNSIGNALLED and SOLICITED_WAIT; neither goes with another stream. DAT_INVALID_PARAMETER if not.
 */
DAT_RETURN dapl_evd_use(dapl_evd_t *evd, DAT_COMPLETION_FLAGS flags);
void dapl_evd_unuse(dapl_evd_t *evd);

/* The completion queue that `create` of dapl_cq_ops_t returned; NULL if the EVD has none. */
void *dapl_evd_cq(dapl_evd_t *evd);

/* How often the completion queue was armed, for tests and statistics. */
uint64_t dapl_evd_arms(dapl_evd_t *evd);

/* ---- Notification objects ---- */

/* agent.proxy_agent_func may be NULL. */
DAT_RETURN dapl_cno_create(dapl_interface_t *interface, DAT_OS_WAIT_PROXY_AGENT agent,
                           dapl_cno_t **cno);

/* The form with a file descriptor, which is readable from a trigger until dapl_cno_trigger (or a
 * wait) has consumed it; it may be given to poll, select, epoll or io_uring, and is closed by
 * dapl_cno_free. */
DAT_RETURN dapl_cno_fd_create(dapl_interface_t *interface, DAT_FD *fd, dapl_cno_t **cno);

/* DAT_INVALID_STATE CNO_IN_USE: an EVD refers to it, or a thread waits. Returns after calls of its
 * agent in other threads. */
DAT_RETURN dapl_cno_free(dapl_cno_t *cno);

DAT_RETURN dapl_cno_query(dapl_cno_t *cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param);

/* The agent is called once, at the next change from untriggered to triggered, by whichever thread
 * caused or found it, with no lock held; it is then detached. It may call anything, this call
 * included. An agent that was called already may run on after it was replaced. */
DAT_RETURN dapl_cno_modify_agent(dapl_cno_t *cno, DAT_OS_WAIT_PROXY_AGENT agent);

/* Returns an EVD that triggered. It is a hint: the EVD may be empty, and others may have events.
 * After the timeout: DAT_QUEUE_EMPTY (bare) with a null EVD. DAT_SUCCESS with a null EVD: the last
 * EVD of the CNO was freed, or the interface is shut. */
DAT_RETURN dapl_cno_wait(dapl_cno_t *cno, DAT_TIMEOUT microseconds, dapl_evd_t **evd);
DAT_RETURN dapl_cno_wait_ns(dapl_cno_t *cno, int64_t nanoseconds, dapl_evd_t **evd);

/* Consumes the trigger without waiting: the latest EVD, or DAT_QUEUE_EMPTY with a null EVD. */
DAT_RETURN dapl_cno_trigger(dapl_cno_t *cno, dapl_evd_t **evd);

/* ---- Posted work: what the wr_id of a work request points to ---- */

enum {
    DAPL_WORK_SUPPRESS =
        1, /* no event if it succeeds; the completion only retires it and those before it */
    DAPL_WORK_UNSIGNALLED = 2, /* the event is queued, but wakes no waiter and triggers no CNO
                                  (an error always does) */
    DAPL_WORK_RECEIVE = 4,     /* a receive: held back until the endpoint is connected */
    DAPL_WORK_BIND = 8,        /* a DAT_RMR_BIND_COMPLETION_EVENT */
    DAPL_WORK_SENTINEL = 16    /* posted by the `flush` of a link; no event */
};

typedef struct dapl_work_queue dapl_work_queue_t;

typedef struct dapl_work {
    dapl_link_t *link;
    dapl_work_queue_t
        *queue; /* set by dapl_work_take; NULL: no queue, as for a shared receive queue */
    DAT_DTO_COMPLETION_EVENT_DATA
    event;          /* of its success; the length of a receive comes from the completion. Of a bind
                     * the cookie counts. */
    DAT_HANDLE rmr; /* of a bind */
    uint32_t position;
    uint32_t flags;
} dapl_work_t;

/* A ring of records for one send queue or one receive queue. One thread at a time takes; the
 * consumer of the EVD retires. A completion retires all records that were taken before its own. */
DAT_RETURN dapl_work_queue_create(int length, dapl_work_queue_t **queue);
void dapl_work_queue_free(dapl_work_queue_t *queue);
/* The next record, to be filled in and posted with its address as wr_id; NULL if all are in use. */
dapl_work_t *dapl_work_take(dapl_work_queue_t *queue);
/* Returns the record that was taken last, when the post has failed. */
void dapl_work_untake(dapl_work_queue_t *queue, dapl_work_t *work);
/* Records in use. */
int dapl_work_used(const dapl_work_queue_t *queue);

/* ---- Links: connection event, then transfers, then disconnection ---- */

typedef struct dapl_link_attr {
    DAT_EP_HANDLE ep_handle;
    dapl_evd_t *request, *receive, *connection; /* any may be NULL, and any may be the same */
    /* Moves the queue pair to the error state and posts a work request with DAPL_WORK_SENTINEL to
     * each of its queues. Returns how many, or -errno. Called by the thread of
     * dapl_link_disconnected. */
    int (*flush)(void *arg);
    void *arg;
    bool shared_receive; /* receives come from a shared receive queue: their dapl_work_t has no
                          * link, and is found by `qp_num`. dapl_link_disconnected is called after
                          * the event that the queue pair has consumed its last work request. */
    uint32_t qp_num;
    int receives; /* the most receives that can be posted, the bound of those held back */
} dapl_link_attr_t;

/* Until it is connected, completed receives of the endpoint are held back. Each EVD counts as used.
 */
DAT_RETURN dapl_link_create(const dapl_link_attr_t *attr, dapl_link_t **link);

/* Drops what is held back. No completion of the endpoint's work may come after, and none of its
 * events may be queued. */
void dapl_link_free(dapl_link_t *link);

/* Queues DAT_CONNECTION_EVENT_ESTABLISHED, then lets the receives pass. The private data stays the
 * caller's. DAT_QUEUE_FULL: nothing has happened. */
DAT_RETURN dapl_link_established(dapl_link_t *link, DAT_COUNT private_data_size,
                                 DAT_PVOID private_data);

/* Lets the receives pass without an event: for an endpoint that is used without a connection event.
 */
void dapl_link_open(dapl_link_t *link);

/* The connection ended: calls `flush`, and queues `number` (DAT_CONNECTION_EVENT_DISCONNECTED or
 * _BROKEN) when every completion before the sentinels can be dequeued, even if no thread polls
 * those EVDs. Once for each connection. */
DAT_RETURN dapl_link_disconnected(dapl_link_t *link, DAT_EVENT_NUMBER number);

/* Back to unconnected, after the disconnection was queued. */
void dapl_link_reset(dapl_link_t *link);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
