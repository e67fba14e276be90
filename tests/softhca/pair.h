/* pair.h - two processes joined by a connected QP: the stage on which each rule is tested.
 *
 * A test is one function, run in two processes at once: side A usually acts and side B is acted
 * upon. The sides set up the same objects, tell each other their addresses, and may meet.
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
    bool neighbours;       /* in a crowd: ranks 0 and 1 are on one host; else each second is */
    bool no_connect;       /* leave the QP in INIT */
    bool no_channel;       /* CQs without */
    int send_wr, recv_wr, cqe;
    int srq_wr;               /* receive from a shared queue of that size */
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

/* PAIR_NETNS lists files of network namespaces, or PAIR_HOSTS values of SOFTHCA_HOST: with one of
 * them in the environment the sides are on two hosts, side A on the first. */
bool sides_are_far(void);
/* Cut this process's connections to other hosts; how many. */
int cut_connections(void);
/* Let this process be on host N, counted from 0; before it does anything else. */
void go_to_host(int n);

/* Run TEST in two fresh processes; true when both end well within the time allowed. */
bool run_pair(test_function *test, const struct options *o);
/* The same for one process. */
bool run_alone(void (*test)(void));

/* One failed check ends the side with a line that says where. */
#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b)   check_equal((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)
void check_that(bool ok, const char *what, const char *file, int line);
void check_equal(long long a, long long b, const char *what, const char *file, int line);

struct ibv_context *open_named(const char *name);
void open_device(struct side *s);
void make_qp(struct side *s); /* and its queues */
void add_qp(struct side *s);  /* one more on the same queues, in s->qp */
/* Side S with one more QP, on the same queues and connected as well. */
struct side another_qp(struct side *s);
void connect_qp(struct side *s, const struct address *to);
void connect_by(struct side *s, uint32_t qpn, const struct ibv_ah_attr *way);
void tear_down(struct side *s);
void meet(struct side *s); /* both sides have come here */
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
/* Awaits an asynchronous event, returns its kind. */
enum ibv_event_type await_event(struct side *s);
bool event_waits(struct side *s);
enum ibv_qp_state state_of(struct side *s);
void await_end_of(pid_t pid); /* of a process that is no child of ours */
/* From here on stderr is a file; said() gives what is in it. */
void listen_to_stderr(void);
const char *said(void);
long resident(void); /* KiB of memory that this process has */
void fill(char *p, size_t n, uint32_t seed);
bool filled(const char *p, size_t n, uint32_t seed);

#endif
