/* spy.h - the calls of a program to the verbs device: devices, queue pairs and their attributes,
 * completion queues, registrations, and every work request.
 *
 * spy.c stands before the device by symbol interposition. It uses nothing that the library reports
 * itself. It can hold completions back until the library waits for them, and so find the most work
 * requests that the library keeps in flight.
 */
#ifndef TEST_SPY_H
#define TEST_SPY_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPY_OPENS = 16, SPY_QPS = 256, SPY_CQS = 64, SPY_REGIONS = 4096, SPY_POSTS = 65536 };

struct spy_qp {
    struct ibv_qp *qp;
    struct ibv_cq *send_cq;
    uint32_t send_depth, recv_depth, inline_max;
    uint8_t port, timeout, retries, reads_served, reads_begun;
    uint16_t pkey_index;
    int gid_index, traffic_class; /* of its path; -1: that has no GRH */
    bool shares;                  /* a receive queue */
    uint32_t in_flight, most;     /* posted and not polled; most since spy_reset */
};

struct spy_region {
    uintptr_t start;
    size_t length;
    bool remote;
};

/* A work request, as posted. */
struct spy_post {
    uint32_t qp; /* index in spy.qp */
    enum ibv_wr_opcode opcode;
    bool is_inline;
    uintptr_t local;
    uint64_t remote;
    uint32_t length;
};

struct spy {
    int opens, qps, cqs, srqs, regions;
    char open[SPY_OPENS][64]; /* names of the devices */
    struct spy_qp qp[SPY_QPS];
    struct {
        struct ibv_cq *cq;
        int depth;
    } cq[SPY_CQS];
    uint32_t srq_depth[SPY_CQS];
    struct spy_region region[SPY_REGIONS]; /* every one that was ever made */
    /* since spy_reset */
    int posts;
    struct spy_post post[SPY_POSTS];
    uint32_t in_flight, most;
    int receives;           /* work requests posted to receive queues */
    uintptr_t last_receive; /* buffer of the last of them */
    /* While it is set no completion of what was sent is seen, until the library has looked for one
     * so often, without posting anything, that it must be waiting; then on_stall is called, once.
     */
    bool hold;
    void (*on_stall)(void);
    unsigned idle; /* looks since the last post */
};
extern struct spy spy;

void spy_reset(void);

#endif
