/* objects.h - the library's objects, one for each handle of a program, and the look-up of handles.
 *
 * The program must not destroy an object while another call uses it; no lock protects against that.
 * Counters of users are atomic; comments state the locks of other members.
 */
#ifndef VAPI_OBJECTS_H
#define VAPI_OBJECTS_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "public.h"

#pragma GCC visibility push(default)
#include "other/vapi/include/vapi_inline.h"
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

/* Reported limits: programs use them all at once, so they are lower than the device's.  */
enum { MOST_WRS = 16384, MOST_SGE = 30, MOST_CQE = 131071, MOST_MAPS = 32 };

struct vapi_watch; /* threads and handlers: event.c */

struct vapi_hca {
    uint32_t handle;
    struct ibv_context *verbs;
    char name[HCA_MAXNAME];
    struct ibv_device_attr attr;
    struct vapi_hca *next;
    unsigned gets;    /* protected by the lock of hca.c */
    unsigned objects; /* objects created from the HCA; atomic */
    struct vapi_watch *watch;
    pthread_mutex_t lock;      /* protects the members below */
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

/* How a program waits for completions of a CQ.  */
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

    /* Protects the arming; the last call is in effect.  Held while verbs is armed and while an
     * event is examined, so that no event is lost in between.  */
    pthread_mutex_t arming;
    bool each;             /* armed by VAPI_req_comp_notif: each event is reported */
    VAPI_cqe_num_t wanted; /* by EVAPI_req_ncomp_notif; 0: none, or reported */

    /* A ring of completions that were polled and are not delivered yet.  */
    pthread_mutex_t lock;
    bool careful; /* always polled under the lock, since EVAPI_peek_cq */
    VAPI_wc_desc_t *staged;
    size_t staged_room, staged_first, staged_count;
};

/* The send or receive queue of a QP: records of the work requests whose completions in verbs lack
 * information that VAPI reports.  Protected by its lock.  */
struct vapi_record {
    uint64_t id;
    uint64_t place; /* sequence number among all records of the queue, from 1 */
    struct vapi_lane *lane;
    struct vapi_srq *srq;
    struct vapi_record *next_free, *next_made; /* of records of a shared receive queue */
    bool unsignalled;
};

struct vapi_lane {
    pthread_mutex_t lock;
    struct vapi_record *records; /* a ring, allocated at first use */
    uint32_t depth;
    uint64_t entered, retired; /* sequence numbers */
    uint32_t silent;           /* unsignalled requests since the last signalled one */
    bool all;                  /* all requests have a record, because lists were posted */
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
    VAPI_qp_attr_mask_t set; /* attributes set since VAPI_RESET */
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
    pthread_mutex_t lock;            /* protects the free records */
    struct vapi_record *free, *made; /* records that are not posted, and all records */
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

/* A handle for `object` of `hca` (0: the object is an HCA); 0 if no slot is left.  */
uint32_t vapi_handle_new(enum vapi_kind kind, uint32_t hca, void *object);
void vapi_handle_free(uint32_t handle);
/* For fork: block the allocation of handles; continue it; invalidate all handles in the child.  */
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

/* The object of that kind if it is of the HCA with the handle `hca`, else NULL; *code is VAPI_OK,
 * or the error code of the invalid handle.  */
void *vapi_find(VAPI_hca_hndl_t hca, MT_ulong_ptr_t handle, enum vapi_kind kind, VAPI_ret_t *code);

/* --- errors.c --- */

/* The VAPI code for a result of verbs (an errno value, or -1 with errno); `invalid` for EINVAL.  */
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

/* Counts an object of a PD, which is an object of its HCA too; removes it.  */
static inline void vapi_pd_hold(struct vapi_pd *pd)
{
    vapi_hold(&pd->users);
    vapi_hold(&pd->hca->objects);
}

static inline void vapi_pd_drop(struct vapi_pd *pd)
{
    struct vapi_hca *hca = pd->hca;
    vapi_drop(&pd->users); /* the last user: the PD may be deallocated from here on */
    vapi_drop(&hca->objects);
}

/* --- functions of the other files --- */

/* hca.c: add to and remove from the `mr` list and the `qps` table.  */
void vapi_qp_enter(struct vapi_qp *qp);
void vapi_qp_leave(struct vapi_qp *qp);
/* Called with the HCA's lock, which keeps the queue pair from being destroyed.  */
struct vapi_qp *vapi_qp_by_number(struct vapi_hca *hca, uint32_t number);

/* poll.c: removes completions of that queue pair from the CQ; enables or disables the fast path. */
void vapi_cq_purge(struct vapi_cq *cq, uint32_t qp_number);
/* The number of waiting completions, up to n.  */
VAPI_cqe_num_t vapi_cq_waiting(struct vapi_cq *cq, VAPI_cqe_num_t n);

/* send_ring.c: records of work requests. */
void vapi_lane_init(struct vapi_lane *lane, uint32_t depth, bool is_recv);
void vapi_lane_reset(struct vapi_lane *lane);
void vapi_lane_destroy(struct vapi_lane *lane);
/* With the lane's lock: the wr_id for verbs; false if the queue is full.  */
bool vapi_lane_enter(struct vapi_lane *lane, uint64_t id, uint64_t tag, bool unsignalled,
                     uint64_t *wr_id);
/* With the lane's lock still held: undoes the last entry, which verbs refused.  */
void vapi_lane_undo(struct vapi_lane *lane, uint64_t wr_id, uint32_t silent);
/* Whether the record belongs to this queue.  */
bool vapi_lane_has(const struct vapi_lane *lane, const struct vapi_record *record);
/* Retires a record at its completion; false if the completion is not reported to the program.  */
bool vapi_record_done(struct vapi_record *record, bool success, uint64_t *id, uint32_t *freed);

/* post.c: enables or disables the fast path after a change of its conditions; with the send lane's
 * lock.  */
void vapi_qp_refresh(struct vapi_qp *qp);

/* av.c */
void vapi_to_ah_attr(const VAPI_ud_av_t *av, uint8_t port, struct ibv_ah_attr *attr);

/* event.c */
struct vapi_watch *vapi_watch_new(struct vapi_hca *hca);
void vapi_watch_end(struct vapi_watch *watch);
void vapi_watch_cq(struct vapi_cq *cq); /* adds a new CQ */
/* Prevents further binding of handlers; false if one is bound.  */
bool vapi_unwatch_cq(struct vapi_cq *cq);
void vapi_kick(struct vapi_cq *cq); /* makes the thread examine the CQ */

#endif
