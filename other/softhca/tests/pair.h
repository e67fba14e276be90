/* pair.h - two processes joined by a connected QP, for the tests of the rules.
 *
 * A test is one function, run in two processes at once: side A usually initiates and side B is the
 * target. The sides create the same objects, exchange their addresses, and may synchronise.
 */
#ifndef SOFTHCA_TEST_PAIR_H
#define SOFTHCA_TEST_PAIR_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { BUFFER = 1 << 20, QKEY = 0x1234567 };

struct address {
    uint32_t qpn, rkey;
    uint16_t lid;
    uint64_t addr;
};

struct options {
    enum ibv_qp_type type; /* 0: RC */
    bool ordinary;         /* buffer from mmap instead of softhca_alloc */
    bool neighbours; /* in a crowd: ranks 0 and 1 are on one host; otherwise hosts alternate */
    bool no_connect; /* leave the QP in INIT */
    bool no_channel; /* CQs without a channel */
    int send_wr, recv_wr, cqe;
    int srq_wr;               /* receive from a shared queue of this size */
    int mr_access, qp_access; /* -1: none; 0: everything */
    int rnr_retry, retry_cnt, timeout, min_rnr_timer;
    int rd_atomic;          /* as initiator and responder; -1: none */
    const char *env[4];     /* NAME=VALUE, for both sides; they are processes 0 and 1 */
    int device[2], port[2]; /* of A and of B; port 0 means 1 */
};

struct side {
    bool is_a;
    int wire; /* to the other side */
    pid_t other;
    struct options o;
    int port; /* of the QP */
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *scq, *rcq; /* on the channel, both */
    struct ibv_srq *srq;
    struct ibv_qp *qp;
    struct ibv_ah *ah; /* to the other side, for UD */
    struct ibv_mr *mr;
    char *buf;
    struct address mine, its;
};

typedef void test_function(struct side *s);

/* PAIR_DEVICE names a device that A and B use instead of the software device, to try the rules on a
 * real one. */

/* PAIR_NETNS lists files of network namespaces, PAIR_HOSTS values of SOFTHCA_HOST: if either is set
 * the sides are on two hosts, side A on the first. */
bool sides_are_remote(void);
/* Closes the TCP connections of this process; returns their number. */
int cut_connections(void);
/* Moves this process to host N, counted from 0; call it first. */
void go_to_host(int n);

/* Runs TEST in two fresh processes; true when both succeed within the time allowed. */
bool run_pair(test_function *test, const struct options *o);
/* Runs TEST in a fresh process; true when it succeeds within the time allowed. */
bool run_alone(void (*test)(void));

/* A failed check ends the side with a message that names the line. */
#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b)   check_equal((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)
void check_that(bool ok, const char *what, const char *file, int line);
void check_equal(long long a, long long b, const char *what, const char *file, int line);

struct ibv_context *open_named(const char *name);
void open_device(struct side *s);
void make_qp(struct side *s); /* makes the QP and its queues */
void add_qp(struct side *s);  /* makes one more QP on the same queues, in s->qp */
/* Adds one more QP to side S, on the same queues and connected as well. */
struct side another_qp(struct side *s);
void connect_qp(struct side *s, const struct address *to);
void connect_by(struct side *s, uint32_t qpn, const struct ibv_ah_attr *way);
void tear_down(struct side *s);
void meet(struct side *s); /* barrier of both sides */
void tell(struct side *s, const void *data, size_t n);
void hear(struct side *s, void *data, size_t n);

int post_recv(struct side *s, uint64_t id, size_t at, uint32_t len);
int post_recv_wr(struct side *s, struct ibv_recv_wr *wr);
/* A WR from buffer offset AT; fields can be changed before post(). */
struct ibv_send_wr *make_wr(struct side *s, enum ibv_wr_opcode op, uint64_t id, size_t at,
                            uint32_t len, size_t remote_at);
int post(struct side *s, struct ibv_send_wr *wr);
struct ibv_wc await(struct ibv_cq *cq); /* polls */
struct ibv_wc await_sleeping(struct side *s, struct ibv_cq *cq);
void expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status);
void expect_nothing(struct ibv_cq *cq);
/* Waits for an asynchronous event; returns its type. */
enum ibv_event_type await_event(struct side *s);
bool event_waits(struct side *s);
enum ibv_qp_state state_of(struct side *s);
void await_end_of(pid_t pid); /* of a process that is not a child */
/* Redirects stderr to a file; said() returns its content. */
void listen_to_stderr(void);
const char *said(void);
long resident(void); /* Memory of this process, KiB. */
void fill(char *p, size_t n, uint32_t seed);
bool filled(const char *p, size_t n, uint32_t seed);

#endif
