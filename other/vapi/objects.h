/* objects.h - what the library keeps for each thing that a program has a handle of, and how handles
 * lead there.
 *
 * Objects are the program's to destroy and are not destroyed while it uses them; that is all that
 * guards them.  Counters of users are atomic; the rest of an object is guarded as told with it.
 */
#ifndef VAPI_OBJECTS_H
#define VAPI_OBJECTS_H

#include "public.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include "include/vapi_inline.h"
#pragma GCC visibility pop

enum vapi_kind {
    KIND_HCA = 1,
    KIND_PD,
    KIND_AV,
    KIND_CQ,
    KIND_QP,
    KIND_SRQ,
    KIND_MR,
    KIND_MW,
    KIND_FMR
};

/* Limits that programs take for what will work, all at once: more is not promised. */
enum { MOST_WRS = 16384, MOST_SGE = 30, MOST_CQE = 131071, MOST_MAPS = 32 };

struct vapi_watch; /* threads and handlers: event.c */

struct vapi_hca {
    uint32_t handle;
    struct ibv_context *verbs;
    char name[HCA_MAXNAME];
    struct ibv_device_attr attr;
    struct vapi_hca *next;
    unsigned gets;    /* under the lock of hca.c */
    unsigned objects; /* made from it; atomic */
    struct vapi_watch *watch;
    pthread_mutex_t lock;      /* of what follows */
    struct vapi_qp *qps[1024]; /* by number */
    struct vapi_mr *mrs;
};

struct vapi_pd {
    uint32_t handle;
    struct vapi_hca *hca;
    struct ibv_pd *verbs;
    unsigned users;
};

struct vapi_av {
    uint32_t handle;
    struct vapi_pd *pd;
    struct ibv_ah *verbs;
    VAPI_ud_av_t av;
};

/* What a CQ is waited for with. */
enum vapi_waiting { WAIT_NONE, WAIT_HANDLER, WAIT_BLOCK };

struct vapi_cq {
    uint32_t handle;
    struct vapi_hca *hca;
    struct ibv_cq *verbs;
    struct ibv_comp_channel *channel;
    unsigned users; /* queues that complete here; atomic */
    int resizing;   /* atomic */
    void *priv;
    int unblock_fd; /* -1 until the first WAIT_BLOCK */

    /* Under the watch's lock (event.c). */
    enum vapi_waiting waiting;
    bool watched, kicked;
    VAPI_completion_event_handler_t handler;
    void *handler_data;
    struct vapi_cq *next_watched;

    /* Of arming, of which the last call counts.  Held while verbs is armed for it, and while an
     * event is looked at: so none is lost between two. */
    pthread_mutex_t arming;
    bool each;             /* armed by VAPI_req_comp_notif: the program hears of each event */
    VAPI_cqe_num_t wanted; /* else by EVAPI_req_ncomp_notif; 0 for none, or when they were there */

    /* Completions taken off verbs and not delivered yet, in order, a ring. */
    pthread_mutex_t lock;
    bool careful; /* polled under the lock for good: see peek */
    VAPI_wc_desc_t *staged;
    size_t staged_room, staged_first, staged_count;
};

/* One queue of a QP, as far as the library keeps records of work requests: only of those that
 * verbs' completions do not tell enough of.  Under its lock. */
struct vapi_record {
    uint64_t id;
    uint64_t place; /* among all that have a record, counted from 1 */
    struct vapi_lane *lane;
    struct vapi_srq *srq;
    struct vapi_record *next_free, *next_made; /* of a shared queue's */
    bool unsignalled;
};

struct vapi_lane {
    pthread_mutex_t lock;
    struct vapi_record *records; /* a ring, made at the first need */
    uint32_t depth;
    uint64_t entered, retired; /* places */
    uint32_t silent;           /* unsignalled ones since the last that is not */
    bool all;                  /* everything has a record: lists were posted */
    bool is_recv;
};

struct vapi_qp {
    uint32_t handle;
    struct vapi_hca *hca;
    struct vapi_pd *pd;
    struct vapi_cq *send_cq, *recv_cq;
    struct vapi_srq *srq;
    struct ibv_qp *verbs;
    struct vapi_qp *next_by_number;
    VAPI_qp_init_attr_t init;
    VAPI_qp_cap_t cap;
    VAPI_qp_attr_mask_t set; /* attributes that were set since VAPI_RESET */
    VAPI_qp_attr_t attr;     /* their values */
    int modifying;           /* atomic */
    uint32_t state;          /* as the program set it; atomic */
    unsigned groups;         /* multicast groups it is in; atomic */
    void *priv;
    struct vapi_lane send, recv;
};

struct vapi_srq {
    uint32_t handle;
    struct vapi_pd *pd;
    struct ibv_srq *verbs;
    unsigned users;
    VAPI_srq_attr_t attr;
    pthread_mutex_t lock;            /* of the free records */
    struct vapi_record *free, *made; /* all that are not posted, and all */
};

struct vapi_mr {
    uint32_t handle;
    struct vapi_pd *pd;
    struct ibv_mr *verbs;
    VAPI_mr_t mr;
    unsigned windows; /* bound to it; atomic */
    struct vapi_mr *next, **link;
};

struct vapi_mw {
    uint32_t handle;
    struct vapi_pd *pd;
    struct ibv_mw *verbs;
    struct vapi_mr *bound;
};

struct vapi_fmr {
    uint32_t handle;
    struct vapi_pd *pd;
    EVAPI_fmr_t properties;
    pthread_mutex_t lock;
    struct ibv_mr **maps;
    uint32_t count;
};

/* --- slots.c --- */

/* A handle for `object`, which is of `hca` (0: is one itself); 0 when there are no more. */
uint32_t vapi_handle_new(enum vapi_kind kind, uint32_t hca, void *object);
void vapi_handle_free(uint32_t handle);
/* Of a fork: none is given or taken while it happens, and none is left in the child. */
void vapi_handles_hold(void);
void vapi_handles_go_on(void);
void vapi_handles_forget(void);
/* The object, or NULL when the handle is not one of this kind. */
void *vapi_object(MT_ulong_ptr_t handle, enum vapi_kind kind);

/* The HCA, or NULL. */
static inline struct vapi_hca *vapi_hca(VAPI_hca_hndl_t hca)
{
    return vapi_object(hca, KIND_HCA);
}

/* The object of that kind if it is of `hca`, else NULL. */
static inline void *vapi_object_of(const struct vapi_hca *hca, MT_ulong_ptr_t handle,
                                   enum vapi_kind kind)
{
    void *object = vapi_object(handle, kind);
    return object && vapi_slot_of(handle)->hca == hca->handle ? object : NULL;
}

/* The CQ or QP of those handles, or which of them is none. */
static inline VAPI_ret_t vapi_find_cq(VAPI_hca_hndl_t handle, VAPI_cq_hndl_t cq,
                                      struct vapi_cq **found)
{
    struct vapi_hca *hca = vapi_hca(handle);
    *found = hca ? vapi_object_of(hca, cq, KIND_CQ) : NULL;
    return *found ? VAPI_OK : hca ? VAPI_EINVAL_CQ_HNDL : VAPI_EINVAL_HCA_HNDL;
}

static inline VAPI_ret_t vapi_find_qp(VAPI_hca_hndl_t handle, VAPI_qp_hndl_t qp,
                                      struct vapi_qp **found)
{
    struct vapi_hca *hca = vapi_hca(handle);
    *found = hca ? vapi_object_of(hca, qp, KIND_QP) : NULL;
    return *found ? VAPI_OK : hca ? VAPI_EINVAL_QP_HNDL : VAPI_EINVAL_HCA_HNDL;
}

/* --- errors.c --- */

/* What verbs returned (a number of errno's, or -1 with errno) as a code; `invalid` for EINVAL. */
VAPI_ret_t vapi_error(int error, VAPI_ret_t invalid);

/* --- counters of users --- */

static inline void vapi_hold(unsigned *users)
{
    __atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
}

static inline void vapi_drop(unsigned *users)
{
    __atomic_sub_fetch(users, 1, __ATOMIC_RELEASE);
}

static inline bool vapi_held(const unsigned *users)
{
    return __atomic_load_n(users, __ATOMIC_ACQUIRE) != 0;
}

/* --- between the rooms --- */

/* hca.c: of the `mr` list and the `qps` table. */
void vapi_qp_enter(struct vapi_qp *qp);
void vapi_qp_leave(struct vapi_qp *qp);
/* With the HCA's lock held, without which the queue pair may go. */
struct vapi_qp *vapi_qp_by_number(struct vapi_hca *hca, uint32_t number);

/* poll.c: takes completions of that queue pair off the CQ; opens or shuts the short way. */
void vapi_cq_purge(struct vapi_cq *cq, uint32_t qp_number);
/* How many completions wait, up to n. */
VAPI_cqe_num_t vapi_cq_waiting(struct vapi_cq *cq, VAPI_cqe_num_t n);

/* send_ring.c: records of work requests. */
void vapi_lane_init(struct vapi_lane *lane, uint32_t depth, bool is_recv);
void vapi_lane_reset(struct vapi_lane *lane);
void vapi_lane_destroy(struct vapi_lane *lane);
/* With the lane locked: what verbs is to know the work request by; false when there is no room. */
bool vapi_lane_enter(struct vapi_lane *lane, uint64_t id, uint64_t tag, bool unsignalled,
                     uint64_t *wr_id);
/* With the lane still locked: verbs has refused what was entered last. */
void vapi_lane_undo(struct vapi_lane *lane, uint64_t wr_id, uint32_t silent);
/* Whether the record is one of this queue's. */
bool vapi_lane_has(const struct vapi_lane *lane, const struct vapi_record *record);
/* The completion of a record: false when the program is not told of it. */
bool vapi_record_done(struct vapi_record *record, bool success, uint64_t *id, uint32_t *freed);

/* post.c: whether the short way is open, after anything changed that it depends on; the send lane
 * is locked. */
void vapi_qp_refresh(struct vapi_qp *qp);

/* av.c */
void vapi_to_ah_attr(const VAPI_ud_av_t *av, uint8_t port, struct ibv_ah_attr *attr);

/* event.c */
struct vapi_watch *vapi_watch_new(struct vapi_hca *hca);
void vapi_watch_end(struct vapi_watch *watch);
void vapi_watch_cq(struct vapi_cq *cq); /* a new one */
/* Binds nothing more to it; false when something is bound. */
bool vapi_unwatch_cq(struct vapi_cq *cq);
void vapi_kick(struct vapi_cq *cq); /* have the thread look at it */

#endif
