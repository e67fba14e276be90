/* object.h - the private side of the device: verbs objects, peers, and who offers which call.
 *
 * Lock order: shca.lock, then a QP's send lock, its receive lock, then a CQ's lock, an SRQ's, and
 * shca.peer_lock. The answering thread (server.c) takes none of these, because a peer may wait for
 * it while holding its own.
 */
#ifndef SOFTHCA_OBJECT_H
#define SOFTHCA_OBJECT_H

#include "shm.h"
#include "ask.h"
#include "inventory.h"
#include "lock.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Opcodes as bits. Those of IBV_QP_EX_WITH_... are the same. */
enum {
    SHCA_SENDS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
    SHCA_WRITES = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM,
    SHCA_FETCHES =
        1 << IBV_WR_RDMA_READ | 1 << IBV_WR_ATOMIC_CMP_AND_SWP | 1 << IBV_WR_ATOMIC_FETCH_AND_ADD,
    SHCA_WINDOWS = 1 << IBV_WR_BIND_MW | 1 << IBV_WR_LOCAL_INV | 1 << IBV_WR_SEND_WITH_INV
};
#define SHCA_NO_DEADLINE (~0ull)
#define SHCA_EXPORT      __attribute__((visibility("default")))

struct shca_qp;
struct shca_injector; /* inject.h */
struct shca_hold;

/* Vendor libraries compare fields that lie behind ibv_device: let them read zeros. */
struct shca_device {
    struct ibv_device base;
    char verbs_device_tail[512];
    uint32_t index;
    const struct shca_device_model *model;
    _Atomic uint32_t used[SHCA_KINDS];
    _Atomic bool gone;
};

struct shca_context {
    struct verbs_context v;
    struct shca_event *events, **events_end; /* under v.context.mutex */
    bool inherited;                          /* of the parent, in the child of a fork */
    bool removed;                            /* with its device */
    struct shca_context *next;               /* of these */
};

struct shca_pd {
    struct ibv_pd base;
    uint32_t id;
    _Atomic int users;
    struct ibv_pd *of; /* a parent domain: what it stands for */
    struct ibv_td *td;
};

struct shca_mr {
    struct ibv_mr base;
    uint64_t verbs_mr_tail[4]; /* providers read past ibv_mr */
    struct shm_mr *s;
    struct shca_mw *windows; /* over it, see mw.c */
};

struct shca_mw {
    struct ibv_mw base;
    struct shm_mr *s;
    struct shca_mr *over; /* bound over it, once */
    struct shca_mw *next; /* of these */
};

struct shca_channel {
    struct ibv_comp_channel base;
    uint32_t id;         /* generation and index, so that a peer never rings a successor */
    struct shca_cq *cqs; /* under shca.channel_lock, like the list itself */
};

struct shca_cq {
    union {
        struct ibv_cq base;
        struct ibv_cq_ex ex;
    };
    struct shm_cq *s;
    struct shm_ring *_Atomic ring;
    uint32_t index;
    struct shca_lock lock;     /* consumers */
    _Atomic uint32_t empty;    /* polls in a row that found nothing; threads may miscount */
    _Atomic uint32_t patience; /* how many of them until the core is offered to others */
    _Atomic int users;
    uint32_t ev_consumed, ev_given; /* under channel_lock */
    uint32_t async_given;
    _Atomic bool overflow_told;
    struct shca_cq *channel_next;
    struct shca_hold *hold; /* when there are faults */
    struct ibv_wc ex_wc;    /* the completion ibv_start_poll/next_poll stand on */
};

struct shca_peer {
    struct shm_header *_Atomic h; /* what view.c has mapped, once we have met */
    _Atomic uint64_t len;
    _Atomic bool met, lost; /* its segment is here; it never will be */
    _Atomic bool awaited;   /* a sender has waited for it */
    _Atomic bool unseen;    /* this process lacks what it takes to look into it: said why */
    bool self;
    uint32_t slot;
    int refs; /* under shca.peer_lock */
    int sock;
    bool patient; /* the socket waits */
    int memfd;    /* as its owner calls it; its file is this one: */
    dev_t dev;
    ino_t ino;
    pid_t pid;
    _Atomic bool no_pvm;     /* process_vm_* refused: ask the owner's thread */
    _Atomic bool registered; /* as a guest there, see guest.c */
    struct shca_lock rpc;    /* one question at a time on sock */
    _Atomic(char *) arena;
    _Atomic uint64_t arena_len;
    struct shca_window *windows; /* all mappings of its arena, under rpc */
    uint64_t *channel_fd;        /* [SHCA_CHANNELS] id << 32 | fd, under rpc; made at first use */
    struct shca_peer *next;      /* of all, under shca.peer_lock */
};

/* A send WR that could not run at once. */
struct shca_wqe {
    struct ibv_send_wr wr;
    struct ibv_sge sge[]; /* then the inline bytes */
};

struct shca_srq {
    struct ibv_srq base;
    enum ibv_srq_type type; /* these four complete libibverbs' verbs_srq */
    struct ibv_xrcd *xrcd;
    struct ibv_cq *cq;
    uint32_t srq_num;
    struct shm_srq *s;
    uint32_t index, size, max_sge;
    struct shca_lock lock;
    _Atomic int users; /* QPs */
    uint32_t async_given;
    struct shca_srq *next; /* list of all */
    uint32_t n_unused, unused[];
};

/* Where an address leads. */
enum {
    SHCA_OUTSIDE = -2, /* this host, and this process too as others see it: no pointer into it */
    SHCA_NOWHERE = -1,
    SHCA_HERE = 0 /* those above are other hosts, counted from 1 */
};
struct shca_place {
    int host;
    uint32_t port;
};

struct shca_ah {
    struct ibv_ah base;
    uint32_t port; /* it starts from */
    struct shca_place place;
    struct shm_route route;
    bool global;
    struct ibv_grh grh; /* but for its length; zero when not global */
};

/* The way from a queue pair to the entry of the one it sends to. */
struct shca_link {
    struct shca_peer *peer;     /* whose segment it is in; NULL when it is in none we can see: */
    struct shca_remote *remote; /* it is on another host, or, when NULL too, nowhere */
    struct shm_qp *t;           /* NULL until we have met the peer */
    struct shca_peer *home;   /* whose QP it is: the same, but inside a message to an XRC target */
    struct shca_peer **peers; /* [SHCA_SLOTS] others that messages of the QP went to, or NULL */
    uint32_t from, to;        /* QP numbers */
    uint32_t aim;             /* the port there that the address leads to */
    uint64_t speaks;          /* the word that the target must be listening to, or SHCA_MUTE */
    struct shm_route route;
    const struct shca_tear *tear; /* how a fault writes the message that runs, or NULL */
    uint32_t active;              /* last even value left in t->active */
    uint32_t prod; /* t->rq_prod when last looked at: its line moves with every receive */
    uint32_t qkey; /* of a datagram */
    uint8_t type;  /* of the QP that sends */
    bool reliable; /* what becomes of a message is reported back */
    bool grh;      /* the 40 bytes before a datagram are a header */
};

struct shca_qp {
    union {
        struct ibv_qp base;
        struct ibv_qp_ex ex;
    };
    uint32_t comp_mask; /* these two complete libibverbs' verbs_qp */
    void *verbs_qp_tail;
    struct shm_qp *s;
    struct shca_link link;
    struct shca_cq *send_cq, *recv_cq;
    struct shca_srq *srq;  /* where it receives, unless it has a ring of its own */
    struct ibv_xrcd *xrcd; /* of an XRC target */
    bool own_srq;          /* a UD QP's own queue is of that kind: many send to it */
    uint32_t opcodes;      /* bits: what it may send */
    uint32_t index;
    uint32_t port; /* from INIT on */

    struct shca_injector *faults; /* when there are any */

    struct shca_lock sq;
    uint32_t sq_size, sq_mask, sq_stride, max_send_sge, max_inline;
    uint32_t sq_head;         /* WRs accepted */
    uint32_t sq_exec;         /* WRs executed; the rest wait in sq_ring */
    _Atomic uint32_t sq_done; /* freed by polled completions */
    bool sig_all;
    char *sq_ring;
    size_t sq_bytes;  /* of the ring */
    bool waiting;     /* linked in the list of QPs with waiting WRs */
    int waits_for;    /* why: SHCA_NOT_READY or the like */
    uint64_t give_up; /* CLOCK_MONOTONIC ns; 0 = never, or SHCA_NO_DEADLINE */
    uint64_t look_at; /* when to ask the system whether the peer lives */
    struct shca_qp *wait_next;

    struct shca_lock rq;
    uint32_t rq_size, max_recv_sge;
    _Atomic uint32_t rq_done; /* freed by polled completions */
    uint32_t rq_flushed;

    struct ibv_qp_attr attr;
    struct ibv_qp_cap cap;
    uint32_t async_given;
    bool last_receive_told;
    int opened;                /* how often, besides being created: an XRC target */
    struct shca_peer *foreign; /* of another process: this is but a handle */
    struct shca_qp *next;      /* list of all QPs */
    struct shca_batch *batch;  /* ibv_wr_* calls between wr_start and wr_complete */
};

/* This process as peers know it. */
struct shca_process {
    struct shm_header *_Atomic h; /* NULL until the first open */
    struct shca_peer me;
    uint32_t slot;
    pthread_mutex_t lock;      /* tables of objects */
    pthread_mutex_t peer_lock; /* table of peers */
    pthread_mutex_t channel_lock;
    struct shca_qp *qps;
    struct shca_qp *_Atomic qp[SHCA_QPS]; /* these and srq: read by who polls, without a lock */
    struct shca_cq *cq[SHCA_CQS];
    struct shca_srq *srqs;
    struct shca_srq *_Atomic srq[SHCA_SRQS];
    struct shca_channel *channel[SHCA_CHANNELS];
    struct shca_peer *peer[SHCA_SLOTS];
    struct shca_peer *peers; /* all there are; some are not in the table any more */
    _Atomic int waiting;     /* QPs with waiting WRs */
};
extern struct shca_process shca;

static inline struct shca_context *shca_context(struct ibv_context *c)
{
    return (struct shca_context *)((char *)c - offsetof(struct shca_context, v.context));
}
static inline struct shca_device *shca_device(const struct ibv_context *c)
{
    return (struct shca_device *)c->device;
}
static inline struct shca_qp *shca_qp(struct ibv_qp *q)
{
    return (struct shca_qp *)q;
}
/* The QP of this process that a completion names.  Another thread may have made it: what it did
 * before is seen, though the completion came by way of another process. */
static inline struct shca_qp *shca_qp_numbered(uint32_t qpn)
{
    return atomic_load_explicit(&shca.qp[shm_qpn_index(qpn)], memory_order_acquire);
}
static inline struct shca_cq *shca_cq(struct ibv_cq *c)
{
    return (struct shca_cq *)c;
}
static inline struct shca_srq *shca_srq(struct ibv_srq *q)
{
    return (struct shca_srq *)q;
}
static inline struct shca_ah *shca_ah(struct ibv_ah *a)
{
    return (struct shca_ah *)a;
}
static inline struct shca_pd *shca_pd(struct ibv_pd *p)
{
    return (struct shca_pd *)p;
}
static inline struct shca_mr *shca_mr(struct ibv_mr *m)
{
    return (struct shca_mr *)m;
}
static inline uint32_t shca_power_of_two(uint32_t n)
{
    uint32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* real.c: the libibverbs below us */
void *shca_real(const char *name);
int shca_unsupported(void); /* sets errno, returns EOPNOTSUPP */
void shca_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void shca_say_of_peer(const char *format, ...) __attribute__((format(printf, 1, 2)));
void shca_trouble_in_child(void);

/* fork.c */
void shca_watch_forks(void);
void shca_bury(struct shca_context *c);

/* inject.c, see inject.h */
void shca_inject_in_child(void);

/* beside.c */
bool shca_enabled(void);
struct ibv_device **shca_list(int *num);
bool shca_list_free(struct ibv_device **list);
void shca_beside_in_child(void);

/* device.c */
bool shca_is_device(const struct ibv_device *d);
bool shca_owns(const void *object);
struct ibv_context *shca_open(struct ibv_device *d);
int shca_close(struct ibv_context *c);
bool shca_dead(const void *object);
void shca_contexts_in_child(void);
void shca_device_remove(struct shca_device *d);
void shca_raise_on_device(const struct shca_device *d, const struct ibv_async_event *e);

/* query.c */
int shca_query_device(struct ibv_context *c, struct ibv_device_attr *attr);
int shca_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
                         struct ibv_device_attr_ex *attr, size_t size);
int shca_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t size);
int shca_query_gid(struct ibv_context *c, uint32_t number, int index, union ibv_gid *gid);
int shca_query_pkey(struct ibv_context *c, uint32_t number, int index, uint16_t *pkey);
int shca_pkey_index(struct ibv_context *c, uint32_t number, uint16_t pkey);

/* port.c: devices, their ports, their limits. A port is a shm_port(), a number 1, 2 ... */
extern struct shca_device shca_devices[SHCA_DEVICES];
const struct shca_inventory *shca_inventory(void);
const struct shca_port_model *shca_port_model(uint32_t port);
bool shca_port_exists(uint32_t number);
enum ibv_port_state shca_port_state(uint32_t port);
void shca_port_set(uint32_t port, enum ibv_port_state state);
void shca_port_retune(void);           /* all QPs */
void shca_qp_tune(struct shca_qp *qp); /* send lock held */
int shca_take(struct ibv_context *c, enum shca_kind kind);
void shca_give(struct ibv_context *c, enum shca_kind kind);
void shca_ports_in_child(void);

/* address.c: what LIDs and GIDs there are, where they lead */
uint64_t shca_guid(uint32_t device); /* network order */
uint16_t shca_lid(uint32_t port);
void shca_gid(uint32_t port, uint32_t index, union ibv_gid *gid);
struct shca_place shca_place_of(const struct ibv_ah_attr *ah);
struct shm_route shca_route(uint32_t from_port, const struct ibv_ah_attr *ah);
bool shca_lids_suffice(void); /* says so when not */

/* segment.c, extent.c */
int shca_start(void);                   /* idempotent: segment, slot, threads; errno value */
uint64_t shca_heap_alloc(size_t bytes); /* offset, 0 = full */
void shca_heap_free(uint64_t offset);
int shca_no_room(uint32_t entries); /* says so; ENOMEM */
void *shca_arena_alloc(size_t bytes);
bool shca_arena_free(void *block);
void shca_start_hold(void); /* while the program forks */
void shca_start_release(void);
void shca_segment_in_child(void);
uint64_t shca_map_offset(const void *addr, size_t len); /* or SHCA_NOT_MAPPED */

/* registry.c */
int shca_claim_slot(uint32_t *slot); /* a listening socket, or -1 */
enum { SHCA_NO_SOCKET = -2 };
int shca_connect_slot(uint32_t slot);

/* peer.c; get and put take shca.peer_lock */
struct shca_peer *shca_peer_get(int host, uint32_t slot);
void shca_peer_put(struct shca_peer *p);
bool shca_peer_dead_slow(struct shca_peer *p);
bool shca_peer_gone(struct shca_peer *p);
void shca_peers_in_child(void);
bool shca_peer_met(struct shca_peer *p);
bool shca_peer_meet(struct shca_peer *p, int ms);
bool shca_peer_await(struct shca_peer *p);
void shca_peer_ring(struct shca_peer *p);
void shca_peer_ring_slot(uint32_t slot);
int shca_peer_channel(struct shca_peer *p, uint32_t id);

/* view.c */
int shca_view_borrow(struct shca_peer *p);
bool shca_view_tables(struct shca_peer *p, int fd, uint64_t end);
bool shca_view_arena(struct shca_peer *p, int fd, uint64_t end);
bool shca_view_more(struct shca_peer *p, uint64_t end);
void shca_view_drop(struct shca_peer *p);
void *shca_peer_map_more(struct shca_peer *p, uint64_t offset, uint64_t len);

/* server.c: the answering thread */
int shca_server_start(int listener);
bool shca_guest(uint32_t slot);
void shca_server_hold(void); /* while the program forks */
void shca_server_release(void);
void shca_server_in_child(void);

/* ask.c: the questions peers may put to it */
ssize_t shca_receive(int sock, struct iovec *iov, int n, int *fd, int flags);
void shca_tell_ring(struct shca_peer *p);
int shca_ask_memory(struct shca_peer *p);
int shca_ask_channel(struct shca_peer *p, uint32_t id);
int shca_ask_copy(struct shca_peer *p, bool write, uint64_t va, void *data, size_t len);
int shca_ask_atomic(struct shca_peer *p, bool swap, uint64_t va, uint64_t a, uint64_t b,
                    uint64_t *old);

/* guest.c */
void shca_guest_register(struct shca_peer *p);
void shca_guest_enter(struct shca_peer *p);
void shca_guest_leave(struct shca_peer *p);
void shca_guests_quiesce(void);

/* thread.c */
int shca_thread(void *(*run)(void *));

/* service.c: the working thread */
int shca_service_start(void);
void shca_service_poke(void);
void shca_service_sweep(void);                  /* a peer died: finish what it left half done */
void shca_service_wait_for(struct shca_qp *qp); /* send lock held */
void shca_service_drop(struct shca_qp *qp);
void shca_service_progress(void);     /* also called by poll_cq */
void shca_service_progress_now(void); /* not while another thread does it */
void shca_service_in_child(void);
uint64_t shca_now(void);

/* mr.c */
struct ibv_pd *shca_alloc_pd(struct ibv_context *c);
int shca_dealloc_pd(struct ibv_pd *pd);
struct ibv_mr *shca_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, unsigned acc);
int shca_dereg_mr(struct ibv_mr *mr);
int shca_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t len,
                  unsigned access);
int shca_mr_take(struct ibv_context *c, uint32_t *index);
void shca_mr_give(struct ibv_context *c, uint32_t index);
void shca_mr_in_child(void);
bool shca_is_writable(const void *addr, size_t len); /* writable.c */
void shca_writable_in_child(void);

/* mw.c */
struct ibv_mw *shca_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int shca_dealloc_mw(struct ibv_mw *mw);
int shca_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int shca_mw_run(struct shca_qp *qp, const struct ibv_send_wr *wr); /* send lock held */
bool shca_mw_invalidate(struct shm_header *h, uint32_t rkey, uint32_t pd, uint32_t qpn);
bool shca_mr_has_windows(struct shca_mr *mr);
struct shm_mr *shca_mw_find(const struct shca_link *l, uint32_t key, uint64_t addr, uint64_t len,
                            unsigned need);
void shca_mw_in_child(void);

/* cq.c */
struct ibv_cq *shca_create_cq(struct ibv_context *c, int cqe, void *context,
                              struct ibv_comp_channel *channel, int vector);
int shca_destroy_cq(struct ibv_cq *cq);
int shca_resize_cq(struct ibv_cq *cq, int cqe); /* cq_resize.c */
int shca_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int shca_req_notify(struct ibv_cq *cq, int solicited_only);
bool shca_cq_push(struct shca_peer *owner, uint32_t cq, const struct shm_cqe *e);
bool shca_cqe_of(const struct shm_cqe *e, uint32_t qpn, const struct shca_srq *q);
void shca_cq_forget(struct shca_cq *cq, uint32_t qpn, const struct shca_srq *q);
void shca_cq_unmark(struct shca_cq *cq, const struct shca_srq *q, uint64_t *slots);
bool shca_cq_take(struct shca_cq *cq, struct shm_cqe *e); /* lock held */
void shca_cq_to_wc(const struct shm_cqe *e, struct ibv_wc *wc);
void shca_cq_drop(const struct shm_cqe *e); /* nobody will see it */
int shca_cq_nothing(struct shca_cq *cq);
uint32_t shca_cq_received(struct shca_cq *cq, uint32_t qpn, const _Atomic uint32_t *polled);
bool shca_cq_unstick(struct shca_cq *cq);
struct ibv_cq_ex *shca_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr);
void shca_cq_ex_in_child(struct shca_cq *cq);
void shca_cq_notify(struct shca_peer *owner, struct shm_cq *cq, bool solicited);

/* event.c */
struct ibv_comp_channel *shca_create_channel(struct ibv_context *c);
int shca_destroy_channel(struct ibv_comp_channel *channel);
int shca_channel_fd(uint32_t id);
void shca_channel_add(struct shca_cq *cq);
void shca_channel_remove(struct shca_cq *cq);
int shca_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context);
void shca_ack_cq_events(struct ibv_cq *cq, unsigned n);
void shca_raise(struct ibv_context *c, const struct ibv_async_event *e);
int shca_get_async_event(struct ibv_context *c, struct ibv_async_event *e);
void shca_ack_async_event(struct ibv_async_event *e);
void shca_forget_events(struct ibv_context *c, const void *object);

/* ah.c */
struct ibv_ah *shca_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a);
int shca_destroy_ah(struct ibv_ah *ah);
int shca_init_ah_from_wc(struct ibv_context *c, uint8_t number, struct ibv_wc *wc,
                         struct ibv_grh *grh, struct ibv_ah_attr *a);
struct ibv_ah *shca_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                      uint8_t number);
bool shca_datagram_link(struct shca_link *l, struct shca_qp *qp, const struct shca_ah *ah,
                        uint32_t to, uint32_t qkey);
struct shca_peer *shca_peer_for(struct shca_link *l, int host, uint32_t number);
void shca_forget_peers(struct shca_link *l);

/* domain.c */
struct ibv_td *shca_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *a);
int shca_dealloc_td(struct ibv_td *td);
struct ibv_pd *shca_alloc_parent_domain(struct ibv_context *c,
                                        struct ibv_parent_domain_init_attr *a);
void shca_end_parent_domain(struct shca_pd *pd);
int shca_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *a);
int shca_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                   struct ibv_sge *sge, uint32_t n);

/* xrc.c */
struct ibv_xrcd *shca_open_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *a);
int shca_close_xrcd(struct ibv_xrcd *xrcd);
uint64_t shca_xrcd_use(struct ibv_xrcd *xrcd, int n); /* n more users; what peers know it by */
struct ibv_srq *shca_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *a);
void shca_leave_xrcd(struct shca_srq *q);
int shca_get_srq_num(struct ibv_srq *srq, uint32_t *number);
struct ibv_qp *shca_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *a);
bool shca_close_qp(struct shca_qp *qp);
void shca_xrc_in_child(void);

/* qp.c, state.c, transition.c */
struct ibv_qp *shca_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *shca_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
int shca_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int shca_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                  struct ibv_qp_init_attr *init);
int shca_destroy_qp(struct ibv_qp *qp);
void shca_qp_quiesce(struct shca_qp *qp);
void shca_quiesce(void); /* shca.lock held */
void shca_qp_reset(struct shca_qp *qp);
void shca_qp_to_error(struct shca_qp *qp); /* send lock held */
void shca_qp_to_send_error(struct shca_qp *qp);
bool shca_transition_allowed(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
                             int mask);
int shca_qp_ex_ops(struct shca_qp *qp);
void shca_qp_ex_in_child(struct shca_qp *qp);

/* srq.c, claim.c */
struct ibv_srq *shca_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a);
int shca_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *a, int mask);
int shca_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a);
int shca_destroy_srq(struct ibv_srq *srq);
int shca_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct shca_srq *shca_srq_new(struct ibv_pd *pd, uint32_t size, uint32_t max_sge, bool hidden);
void shca_srq_delete(struct shca_srq *q);
int shca_srq_post(struct shca_srq *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
void shca_srq_done(struct shca_srq *q, uint32_t slot);
void shca_srq_clear(struct shca_srq *q);
void shca_srq_attend(struct shca_srq *q, bool deaths);
struct shm_slot *shca_srq_claim(struct shca_peer *owner, struct shm_srq *q, bool wait,
                                uint32_t *index);
void shca_srq_return(struct shca_peer *owner, struct shm_srq *q, uint32_t slot);

/* send.c, recv.c */
int shca_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
uint64_t shca_retry_ns(struct shca_qp *qp, int reason);
void shca_send_flush(struct shca_qp *qp);
struct ibv_send_wr *shca_send_wr(struct shca_qp *qp, uint32_t index);
void shca_send_end(struct shca_qp *qp, int status); /* of the oldest WR; send lock held */
void shca_send_resume(struct shca_qp *qp);          /* send lock held */
int shca_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
void shca_recv_flush(struct shca_qp *qp);

/* deliver.c: the initiator's half of a WR, checked against its own tables */
struct shca_gather {
    struct iovec iov[1 + SHCA_MAX_SGE]; /* a datagram begins with its GRH */
    int n;
    uint64_t total;
};
int shca_gather(struct shca_qp *qp, const struct ibv_send_wr *wr, struct shca_gather *g);
int shca_deliver(struct shca_qp *qp, const struct ibv_send_wr *wr);

/* Memory of a target. */
struct shca_piece {
    void *direct; /* where this process sees it, or NULL */
    uint64_t va;  /* where its owner sees it */
    size_t len;
};

/* The receive that a message uses up. */
struct shca_receive {
    struct shm_rwr *r;
    uint32_t data; /* from r to its SHCA_INLINE_RECV bytes */
    uint32_t index, pd;
    uint32_t srq; /* 1 + index, 0 when it is the QP's own */
};

/* respond.c: the responder's half, checked against the target's tables by whoever carries it */
enum {
    SHCA_NOT_READY = -1,
    SHCA_NOBODY = -2,
    SHCA_STALLED = -3, /* these two by a fault */
    SHCA_DROPPED = -4,
    SHCA_REMOTE = -5, /* for another carrier */
    SHCA_NOT_MET = -6 /* nobody, for the time being */
};
void shca_link(struct shca_link *l, struct shca_place place, enum ibv_qp_type from_type,
               uint32_t from, uint32_t to);
bool shca_link_up(struct shca_link *l);
int shca_respond(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g);
/* A message that a carrier has not at once. MOVE moves bytes at AT, as many as it can, between it
 * and the pieces it is given, and AT on by their number; 0 or an errno value. */
struct shca_part {
    uint64_t at, total;
    struct shca_receive *receive; /* kept between the pieces; r = NULL: none is claimed */
    int (*move)(struct shca_part *p, const struct shca_piece *piece, int n);
};
int shca_respond_part(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_part *p,
                      size_t n);
void shca_respond_drop(struct shca_link *l, struct shca_receive *x);

/* carry.c, far.c, tcp.c: queue pairs whose other end is on another host, see far.h */
int shca_tcp_listen(uint32_t slot);
int shca_far_start(void);
void shca_tcp_hold(void);
void shca_tcp_release(void);
void shca_tcp_in_child(void);
int shca_carry_bind(struct shca_qp *qp, struct shca_place place);
void shca_carry_drop(struct shca_qp *qp);
uint32_t shca_carry_number(const struct shca_remote *r); /* of the other process, for faults */
void shca_carry_tune(struct shca_qp *qp);                /* these four: send lock held */
void shca_carry_push(struct shca_qp *qp);                /* something was posted */
void shca_carry_stop(struct shca_qp *qp);                /* all was flushed */
void shca_carry_receive(struct shca_qp *qp); /* a receive was posted that a sender waits for */

/* datagram.c */
int shca_carry_datagram(const struct shca_link *l, struct shca_place place,
                        const struct ibv_send_wr *wr, const struct shca_gather *g);

/* move.c */
int shca_move(struct shca_peer *p, bool write, struct iovec *local, int n_local,
              const struct shca_piece *remote, int n_remote);

/* The state that counts; base.state is a copy for the program. */
static inline enum ibv_qp_state shca_state(const struct shca_qp *qp)
{
    return atomic_load_explicit(&qp->s->state, memory_order_acquire);
}

/* Where LEN bytes at OFFSET of the peer's tables and rings are seen; NULL when they cannot be. */
static inline void *shca_peer_at(struct shca_peer *p, uint64_t offset, uint64_t len)
{
    if (offset + len > p->len && !shca_view_more(p, offset + len)) return NULL;
    return (char *)p->h + offset;
}

static inline bool shca_peer_dead(const struct shca_peer *p)
{
    return __atomic_load_n(&p->h->alive.__data.__lock, __ATOMIC_ACQUIRE) &
           0x40000000; /* FUTEX_OWNER_DIED */
}

#endif
