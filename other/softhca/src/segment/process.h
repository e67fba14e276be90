/* process.h - the state of this process: its segment, its tables of objects, its peers.
 *
 * Lock order: shca.lock, then a QP's send lock, its receive lock, then a CQ's lock, an SRQ's, and
 * shca.peer_lock. The targets of connected QPs change under shca.lock. The RPC thread
 * (rpc_server.c) takes none of these, because a peer may wait for its reply while holding its own.
 */
#ifndef SOFTHCA_PROCESS_H
#define SOFTHCA_PROCESS_H

#include "other/softhca/src/segment/peer.h"

struct shca_qp;
struct shca_cq;
struct shca_srq;
struct shca_channel;

/* The state of this process. */
struct shca_process {
    struct shm_header *_Atomic h; /* NULL until the first open */
    struct shca_peer me;
    uint32_t slot;
    pthread_mutex_t lock;      /* tables of objects */
    pthread_mutex_t peer_lock; /* table of peers */
    pthread_mutex_t channel_lock;
    struct shca_qp *qps;
    struct shca_qp *_Atomic qp[SHCA_QPS]; /* as srq: ibv_poll_cq() takes no lock */
    struct shca_cq *cq[SHCA_CQS];
    struct shca_srq *srqs;
    struct shca_srq *_Atomic srq[SHCA_SRQS];
    struct shca_channel *channel[SHCA_CHANNELS];
    struct shca_peer *peer[SHCA_SLOTS];
    struct shca_peer *peers;       /* all peers; replaced ones are no longer in the table */
    _Atomic int waiting;           /* QPs with waiting WRs */
    void (*wake)(uint32_t number); /* from softhca_sleeper() */
    _Atomic bool sweep_due;        /* a peer died: the worker thread recovers what it left */
};
extern struct shca_process shca;

#endif
