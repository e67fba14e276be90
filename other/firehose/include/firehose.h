/* firehose.h - a cache of memory registrations, of this process and of its peers.
 *
 * A transfer by RDMA needs both of its ends registered with the device.  This library registers
 * memory when it is first used and keeps it registered, within pools of fixed size.  A region of a
 * peer's memory is reached by a firehose, which the peer is asked for once and which is kept.
 *
 * The caller gives the library callbacks that register memory and that carry messages; README.md
 * describes the protocol.  Several instances may exist in one process.
 *
 * Unless it is said otherwise a function may be called by several threads at once if there are
 * callbacks for the lock, and not from a callback.
 */
#ifndef FIREHOSE_H
#define FIREHOSE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- pools --- */

/* Bytes and numbers of regions, equal on all nodes. */
typedef struct firehose_sizes {
    uint64_t m, r;                     /* of this node's memory that peers may hold */
    uint64_t maxvictim_m, maxvictim_r; /* of the memory that this node's transfers use at one
                                          time */
    uint64_t max_region;               /* bytes of one region, a multiple of the page size */
} firehose_sizes_t;

#define FIREHOSE_UNSET UINT64_MAX

/* The limits and settings that sizes follow from. FIREHOSE_UNSET: no limit, or not set. */
typedef struct firehose_limits {
    uint64_t page;                     /* bytes */
    uint64_t memlock;                  /* RLIMIT_MEMLOCK, bytes */
    uint64_t host_memory;              /* bytes; three quarters may be registered */
    uint64_t device_memory;            /* bytes that the device registers, for all processes */
    uint64_t device_regions;           /* regions that the device registers, for all processes */
    uint64_t device_region;            /* bytes of one region */
    uint64_t present, present_regions; /* registered by this process in other ways */
    uint32_t processes;                /* on this host, at least 1 */
    uint32_t nodes;                    /* in the job; 1: no firehoses to peers are needed */
    uint64_t main_pool;                /* m where nothing says otherwise; FIREHOSE_UNSET: 75 % */
    uint64_t m, maxvictim_m, r, maxvictim_r, max_region; /* settings of the user */
    const char *prefix; /* of the settings' names, "GASNET_FIREHOSE_" */
} firehose_limits_t;

/* Computes sizes.  Returns 0; or -1 and in `text` a sentence that names the two values which
 * contradict each other. */
int firehose_compute_sizes(const firehose_limits_t *limits, firehose_sizes_t *sizes, char *text,
                           size_t text_size);

/* --- an instance --- */

typedef struct firehose firehose_t;

/* Whether memory was registered. */
typedef enum firehose_outcome {
    FIREHOSE_PINNED,
    FIREHOSE_REFUSED, /* for want of memory or objects: unused regions are deregistered first */
    FIREHOSE_INVALID  /* the memory does not exist or may not be written: not tried again */
} firehose_outcome_t;

/* Called without the lock, in any thread that is in a call which may register or send. */
typedef struct firehose_callbacks {
    void *context; /* the first argument of each */
    /* Registers whole pages, and fills `key`, of key_size bytes. */
    firehose_outcome_t (*pin)(void *context, uintptr_t addr, size_t len, void *key);
    void (*unpin)(void *context, uintptr_t addr, size_t len, void *key);
    /* Sends a message to a peer, whose firehose_receive gets it: once, and in any order.  The bytes
     * are the caller's again on return.  0: not at the moment.  A reply must not need anything of
     * the peer to be sent; it is the answer to one request, which may be sent as an own message. */
    int (*send_request)(void *context, uint32_t peer, const void *bytes, size_t size);
    int (*send_reply)(void *context, uint32_t peer, const void *bytes, size_t size);
    /* Data that rode on a request has arrived; `addr` is where the request for memory began, which
     * is registered now.  May be NULL if none is sent. */
    void (*data)(void *context, uint32_t peer, uintptr_t addr, const void *data, size_t size);
    /* Makes progress on the network, while firehose_local_pin waits.  May call firehose_poll. */
    void (*progress)(void *context);
    /* A lock that is not recursive; lock and unlock are NULL where one thread calls. */
    void (*lock)(void *context);
    void (*unlock)(void *context);
} firehose_callbacks_t;

/* Memory that the caller registers, for the life of the instance. */
typedef struct firehose_prepinned {
    uintptr_t addr; /* whole pages, of any length */
    size_t len;
    const void *key; /* key_size bytes, copied */
} firehose_prepinned_t;

typedef struct firehose_config {
    firehose_sizes_t sizes;
    uint64_t page;
    uint32_t nodes; /* 1: firehose_remote_pin and the like are not called */
    size_t key_size;
    size_t max_message; /* bytes that send_request and send_reply take */
    size_t max_data;    /* bytes that ride on a request, for one region; 0: none */
    const firehose_prepinned_t *prepinned;
    uint32_t prepinned_count;
    firehose_callbacks_t callbacks;
} firehose_config_t;

/* Limits and numbers of an instance. */
typedef struct firehose_info {
    uint64_t max_local, max_remote;   /* bytes that one call may pin, if they begin anywhere */
    uint64_t local_regions;           /* regions that this node can have registered */
    uint64_t remote_regions_per_peer; /* firehoses to each peer */
    uint64_t remote_bytes_per_peer;
} firehose_info_t;

/* NULL, with errno ENOMEM, or EINVAL for sizes that firehose_compute_sizes does not return or a
 * max_message that holds no region.  `info` may be NULL. */
firehose_t *firehose_init(const firehose_config_t *config, firehose_info_t *info);

/* Deregisters what is registered, if `unpin` is not 0, and frees the instance.  No thread may be in
 * another call, and nothing may be in use. */
void firehose_fini(firehose_t *fh, int unpin);

/* --- pinning --- */

/* Memory that is pinned until firehose_release: at least what was asked for, in whole pages. */
typedef struct firehose_request {
    uintptr_t addr;
    size_t len;
    const void *key; /* key_size bytes, valid until firehose_release */
    uint32_t peer;   /* FIREHOSE_LOCAL: memory of this process */
    uint32_t region; /* of the library */
} firehose_request_t;

#define FIREHOSE_LOCAL UINT32_MAX

/* Pins memory of this process; `len` is at least 1 and at most max_local. Waits, with the callback
 * `progress`, while other transfers use the whole pool, or the memory is being registered. Waiting
 * threads are served in their order. Returns 0; -1 with errno ENOMEM if the system refuses to
 * register the memory though nothing is left to be deregistered, EFAULT if the memory does not
 * exist, EINVAL for a wrong length. A thread that has pinned memory before may wait in this call
 * only if `progress` will release that memory. */
int firehose_local_pin(firehose_t *fh, uintptr_t addr, size_t len, firehose_request_t *request);

/* Pins memory that is registered already: 1, or 0 if it is not, or cannot be at the moment.  Never
 * waits, registers or sends. */
int firehose_try_local_pin(firehose_t *fh, uintptr_t addr, size_t len, firehose_request_t *request);

/* Pins, as firehose_try_local_pin does, the region that covers the first registered byte of the
 * range; `request` then is that region, which may begin after `addr` and end before its end. */
int firehose_partial_local_pin(firehose_t *fh, uintptr_t addr, size_t len,
                               firehose_request_t *request);

/* The result of a firehose_remote_pin. */
typedef enum firehose_result {
    FIREHOSE_OK,
    FIREHOSE_OK_DATA_RODE, /* FIREHOSE_OK, and the peer's callback has got the data */
    FIREHOSE_DENIED,       /* the peer's system refuses to register the memory, or it does not
                              exist */
    FIREHOSE_DEAD          /* firehose_peer_died */
} firehose_result_t;

typedef struct firehose_remote_args {
    int return_if_pinned; /* not 0: a region that is held is returned, and nothing is called */
    /* Called when memory is pinned, or will not be, from firehose_poll.  `request`, which is copied
     * if it is to be kept, is NULL unless the result is OK. */
    void (*completion)(void *context, const firehose_request_t *request, firehose_result_t result);
    /* Writes data that is to ride on a request, and returns how many bytes: at most max_data.  May
     * be NULL.  Called with the lock held: must not allocate or free memory.  Not called if no
     * request needs to be sent, or if it has no room. */
    size_t (*data)(void *context, void *buffer);
    void *context;
} firehose_remote_args_t;

/* Pins memory of a peer, of at most max_remote bytes.  Returns 1 if `return_if_pinned` and it is
 * pinned now; 0: `completion` will be called, in the order of the calls for those that have to
 * wait; -1 with errno EINVAL or ENOMEM.  Where a transfer needs both ends pinned: the remote one
 * first. */
int firehose_remote_pin(firehose_t *fh, uint32_t peer, uintptr_t addr, size_t len,
                        const firehose_remote_args_t *args, firehose_request_t *request);

/* As firehose_try_local_pin and firehose_partial_local_pin, by what this process knows. */
int firehose_try_remote_pin(firehose_t *fh, uint32_t peer, uintptr_t addr, size_t len,
                            firehose_request_t *request);
int firehose_partial_remote_pin(firehose_t *fh, uint32_t peer, uintptr_t addr, size_t len,
                                firehose_request_t *request);

/* Ends each request once.  May be called in a handler of messages: sends and registers nothing. */
void firehose_release(firehose_t *fh, const firehose_request_t *requests, size_t count);

/* --- progress --- */

/* Registers, deregisters, sends and completes what is to be.  Must be called from time to time, and
 * after firehose_receive; not in a handler of messages.  Returns whether it did anything. */
int firehose_poll(firehose_t *fh);

/* Whether firehose_poll has something left to do, now or when others have acted. */
int firehose_busy(firehose_t *fh);

/* A message of a peer has arrived.  May be called in a handler: only notes what is to be done.
 * Returns NULL, or what is wrong with the message; the connection of the two is of no use then. */
const char *firehose_receive(firehose_t *fh, uint32_t peer, const void *bytes, size_t size);

/* The peer has ended, and no message of it will arrive any more. */
void firehose_peer_died(firehose_t *fh, uint32_t peer);

/* Notes that the program unmaps memory, or is about to. From now on no call finds a registration of
 * the memory; registrations that exist are deregistered by firehose_poll, those in use or held by
 * peers when they have been released. Allocates nothing. Returns firehose_stale. */
size_t firehose_invalidate(firehose_t *fh, uintptr_t addr, size_t len);

/* The number of registrations of unmapped memory that still exist, in this process or as firehoses
 * of peers. */
size_t firehose_stale(firehose_t *fh);

/* --- counters --- */

typedef struct firehose_counters {
    uint64_t local_hits, local_misses;   /* of this node's memory, for transfers and for peers */
    uint64_t remote_hits, remote_misses; /* of peers' memory */
    uint64_t registrations, evictions, refusals;
    uint64_t firehoses_moved, requests;
    uint64_t bytes, regions, most_bytes, most_regions; /* registered, now and at most */
} firehose_counters_t;

void firehose_get_counters(firehose_t *fh, firehose_counters_t *counters);

/* Why firehose_local_pin returned -1 last, for a message to the user. */
const char *firehose_error(firehose_t *fh);

#ifdef __cplusplus
}
#endif

#endif
