/* peer.h - the processes of this host that this one exchanges messages with, and their segments. */
#ifndef SOFTHCA_PEER_H
#define SOFTHCA_PEER_H

#include <sys/uio.h>

#include "other/base/hot.h"
#include "other/softhca/src/segment/lock.h"
#include "other/softhca/src/segment/rpc.h"
#include "other/softhca/src/segment/shm.h"

/* The host that an address belongs to. */
enum {
    /* this process through a mapping as another process has it: no direct pointers */
    SHCA_OUTSIDE = -2,
    SHCA_NOWHERE = -1,
    SHCA_HERE = 0 /* 1 and more: another host */
};
struct shca_destination {
    int host;
    uint32_t port;
};

struct shca_peer {
    struct shm_header *_Atomic h; /* mapped by peer_map.c once the segment is received */
    _Atomic uint64_t len;
    _Atomic bool attached, lost; /* attached: its segment is mapped; lost: it never will be */
    _Atomic bool awaited;        /* a sender has waited for the segment once */
    _Atomic bool unmappable;     /* mapping the peer's memory fails, as was reported */
    bool self;
    uint32_t slot;
    int refs; /* under shca.peer_lock */
    int sock;
    bool timed; /* timeouts are set on the socket */
    int memfd;  /* descriptor number in the owner of the segment; its file: */
    dev_t dev;
    ino_t ino;
    pid_t pid;
    _Atomic bool no_pvm;     /* the system refuses process_vm_* to this process */
    _Atomic bool registered; /* this process has a UD access word in the peer's header, see
                                ud_access_guard.c */
    struct shca_lock rpc;    /* one request at a time on sock */
    _Atomic(char *) arena;
    _Atomic uint64_t arena_len;
    struct shca_window *windows; /* all mappings of its arena, under rpc */
    uint64_t *channel_fd;        /* [SHCA_CHANNELS] id << 32 | fd, under rpc; made at first use */
    struct shca_peer *next;      /* list of all peers, under shca.peer_lock */
};

/* peer.c; get and put take shca.peer_lock */
struct shca_peer *shca_peer_get(int host, uint32_t slot);
void shca_peer_put(struct shca_peer *p);
bool shca_peer_dead_slow(struct shca_peer *p);
bool shca_peer_gone(struct shca_peer *p);
void shca_peers_in_child(void);
bool shca_peer_attached(struct shca_peer *p);
bool shca_peer_attach_within(struct shca_peer *p, int ms);
bool shca_peer_attach(struct shca_peer *p);
void shca_peer_ring(struct shca_peer *p);
void shca_peer_wake_sleeper(struct shca_peer *p);
void shca_peer_ring_slot(uint32_t slot);
int shca_peer_channel(struct shca_peer *p, uint32_t id);

/* peer_map.c */
int shca_peer_map_open(struct shca_peer *p);
bool shca_peer_map_tables(struct shca_peer *p, int fd, uint64_t end);
bool shca_peer_map_arena(struct shca_peer *p, int fd, uint64_t end);
bool shca_peer_map_more_tables(struct shca_peer *p, uint64_t end);
void shca_peer_map_drop(struct shca_peer *p);
void *shca_peer_map_more(struct shca_peer *p, uint64_t offset, uint64_t len);

/* The worker thread of this process: wakes it; wakes it to recover what a dead peer left. */
void shca_worker_wake(void);
void shca_worker_sweep(void);

/* rpc_client.c: requests to the RPC thread of a peer */
ssize_t shca_receive(int sock, struct iovec *iov, int n, int *fd, int flags);
void shca_rpc_ring(struct shca_peer *p);
int shca_rpc_memory(struct shca_peer *p);
int shca_rpc_channel(struct shca_peer *p, uint32_t id);
int shca_rpc_copy(struct shca_peer *p, bool write, uint64_t va, void *data, size_t len);
int shca_rpc_atomic(struct shca_peer *p, bool swap, uint64_t va, uint64_t a, uint64_t b,
                    uint64_t *old);

/* ud_access_guard.c */
void shca_ud_access_register(struct shca_peer *p);
void shca_ud_access_enter(struct shca_peer *p);
void shca_ud_access_leave(struct shca_peer *p);
void shca_ud_access_quiesce(void);

/* The address in this process of LEN bytes at OFFSET of the peer's tables and rings; NULL when they
 * cannot be mapped. */
static inline void *shca_peer_at(struct shca_peer *p, uint64_t offset, uint64_t len)
{
    if (offset + len > p->len && !shca_peer_map_more_tables(p, offset + len)) return NULL;
    return (char *)p->h + offset;
}

HOT bool shca_is_dead(const struct shm_header *h)
{
    return __atomic_load_n(&h->alive.__data.__lock, __ATOMIC_ACQUIRE) &
           0x40000000; /* FUTEX_OWNER_DIED */
}

static inline bool shca_peer_dead(const struct shca_peer *p)
{
    return shca_is_dead(p->h);
}

#endif
