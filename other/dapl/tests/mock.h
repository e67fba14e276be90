/* mock.h - a device under the test's control: completion queues and asynchronous events of
 * dapl_events.h without verbs, and what the programs of this folder share.
 *
 * It asserts what a real device demands: one thread at a time polls, arms and takes events of a
 * queue, and a queue is destroyed with all events acknowledged. A broken rule ends the program.
 */
#ifndef DAPL_MOCK_H
#define DAPL_MOCK_H

#include <infiniband/verbs.h>
#include <pthread.h>

#include "other/dapl/src/engine/engine.h"
#include "tests/unit/check.h"

typedef struct mock_cq {
    pthread_mutex_t mutex;
    struct ibv_wc *wc;
    int first, last, room, entries;
    int armed;   /* 0, 1 any, 2 solicited */
    bool polled; /* since the last arming */
    int fd;      /* a counter of events, one at a time */
    int vector;
    unsigned taken, acknowledged;
    _Atomic int busy;
    _Atomic unsigned polls, arms, events;
    int moderate_count, since_event;
    struct mock_device *device;
    dapl_evd_t *evd;
} mock_cq_t;

/* The habits of a device. */
typedef enum mock_kind {
    MOCK_EDGE,  /* only a completion after the arming makes an event */
    MOCK_LEVEL, /* completions that are in the queue at the arming make an event, too */
    MOCK_ODD,   /* as MOCK_EDGE; two events for one arming, which is lost if no thread polled since
                 * the last
                 */
    MOCK_KINDS
} mock_kind_t;

typedef struct mock_device {
    dapl_cq_ops_t cq;
    mock_kind_t kind;
    bool no_resize;
    pthread_mutex_t mutex;
    DAT_EVENT async[64];
    int async_first, async_last;
    int async_fd;
} mock_device_t;

extern const dapl_async_ops_t mock_async_ops;

/* An interface over a mock device, with a device of its own. */
typedef struct world {
    mock_device_t device;
    dapl_interface_t *interface;
    DAT_IA_HANDLE ia;
} world_t;
void world_open(world_t *world);
void world_open_with(world_t *world, mock_kind_t kind, bool moderate);
const char *mock_kind_name(mock_kind_t kind);
void world_close(world_t *world);

mock_cq_t *mock_of(dapl_evd_t *evd);
/* A completion for `work`, with the channel's event if the queue is armed. */
void mock_complete(dapl_evd_t *evd, dapl_work_t *work, enum ibv_wc_status status);
void mock_complete_as(dapl_evd_t *evd, dapl_work_t *work, enum ibv_wc_status status, bool solicited,
                      uint32_t qp_num);
/* With all that a completion may say. */
void mock_complete_full(dapl_evd_t *evd, const struct ibv_wc *wc);
void mock_complete_many(dapl_evd_t *evd, dapl_work_t *work, int n);
/* Completions that were not polled. */
int mock_holds(dapl_evd_t *evd);
void mock_async(mock_device_t *device, DAT_EVENT_NUMBER number, DAT_HANDLE handle, int reason);

/* EVDs and CNOs whose creation must succeed. */
dapl_evd_t *evd_of(world_t *world, unsigned flags, int qlen, dapl_cno_t *cno);
dapl_cno_t *cno_of(world_t *world);
/* A software event with this number in its pointer. */
DAT_RETURN post_number(dapl_evd_t *evd, uint64_t number);
uint64_t number_of(const DAT_EVENT *event);

/* A thread; `join` awaits its end. */
typedef struct thread {
    pthread_t id;
} thread_t;
void thread_begin(thread_t *thread, void *(*run)(void *), void *arg);
void thread_join(thread_t *thread);
/* Until the EVD's waiter has looked for the last time before its sleep; until so many threads wait
 * on the CNO. */
void await_asleep(dapl_evd_t *evd);
void await_waiters(dapl_cno_t *cno, uint32_t n);

#define BARE(type) ((DAT_RETURN)(type))
#define ERR(type, subtype)                                                                         \
    ((DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(subtype))

#endif
