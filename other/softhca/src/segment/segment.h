/* segment.h - the segment, the peers that map it, and requests to them. */
#ifndef SOFTHCA_SEGMENT_ROOM_H
#define SOFTHCA_SEGMENT_ROOM_H

#include "other/softhca/src/objects/qp.h"
#include "other/base/hot.h"

/* segment.c, extent.c */
/* Once: makes the segment, claims a slot, starts the threads; 0 or an errno value. */
int shca_start(void);
uint64_t shca_heap_alloc(size_t bytes); /* offset, 0 = full */
void shca_heap_free(uint64_t offset);
int shca_no_room(uint32_t entries); /* reports it; returns ENOMEM */
void *shca_arena_alloc(size_t bytes);
bool shca_arena_free(void *block);
void shca_start_lock(void); /* around fork() */
void shca_start_unlock(void);
void shca_segment_in_child(void);
uint64_t shca_map_offset(const void *addr, size_t len); /* or SHCA_NOT_MAPPED */

/* registry.c */
int shca_claim_slot(uint32_t *slot); /* returns a listening socket, or -1 */
enum { SHCA_NO_SOCKET = -2 };
int shca_connect_slot(uint32_t slot);

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

/* rpc_server.c: the RPC thread */
int shca_rpc_server_start(int listener);
bool shca_slot_attached(uint32_t slot);
void shca_rpc_server_lock(void); /* around fork() */
void shca_rpc_server_unlock(void);
void shca_rpc_server_in_child(void);

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
