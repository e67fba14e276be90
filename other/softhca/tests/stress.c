/* stress.c - several processes, connected all to all, execute random operations; every message,
 * read-back and atomic is checked against a model that both ends can compute.
 *
 * Usage: softhca_stress [SECONDS [SEED]]. Odd processes receive from a shared queue, half of them
 * use ordinary memory. SGE lists, inline data, immediates, late receives, sleeping on the channel.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"

enum { MOST = 4, DEPTH = 32, SLOT = 2048 };
/* The buffer: counter | a window for each writer | read-back area | send slots | receive slot */
enum {
    WINDOWS = 4096,
    BACK = WINDOWS + MOST * 8192,
    LANDING = BACK + MOST * 8192,
    OUT = LANDING + MOST * 8192,
    IN = OUT + MOST * DEPTH * SLOT,
    ADDED = IN + MOST * DEPTH * SLOT
};

static int processes = MOST;
static unsigned seed, seconds;

/* Memory shared by all processes. */
static struct board {
    struct address at[MOST][MOST]; /* [of][towards] */
    _Atomic uint64_t sent[MOST][MOST], added[MOST][MOST];
    _Atomic int arrived;
    _Atomic bool failed;
} * board;

struct line { /* to one other process */
    struct ibv_qp *qp;
    uint64_t sent, done, got, posted;
    uint64_t reads, read_back; /* WRITE and READ of the same memory: started, checked */
    uint64_t adds, added;
};

struct storm {
    struct side s;
    int me;
    unsigned random;
    struct line line[MOST];
    bool busy[DEPTH]; /* slots of the shared queue */
};

static unsigned any(struct storm *t, unsigned below)
{
    return rand_r(&t->random) % below;
}

static void barrier_at(int times)
{
    board->arrived++;
    while (board->arrived < times * processes) {
        if (board->failed) _exit(1);
        sched_yield();
    }
}

static bool uses_srq(int process)
{
    return process & 1;
}

/* The length, content and kind of message N. */
static unsigned model(uint64_t n, int from, int to)
{
    unsigned r = (unsigned)(n * 2654435761u) ^ seed ^ (unsigned)(from * 31 + to);
    return rand_r(&r);
}
static uint32_t length_of(uint64_t n, int from, int to)
{
    static const uint32_t most[] = {8, 20, 64, 256, 257, SLOT};
    unsigned m = model(n, from, to);
    return m / 8 % most[m % 6] + 1;
}

/* Splits LEN bytes at ADDR into up to three pieces. */
static int cut(struct storm *t, struct ibv_sge *sge, char *addr, uint32_t len)
{
    int n = 0;
    while (len > 0) {
        uint32_t part = n == 2 || any(t, 2) ? len : any(t, len) + 1;
        sge[n++] = (struct ibv_sge){(uintptr_t)addr, part, t->s.mr->lkey};
        addr += part;
        len -= part;
    }
    return n;
}

static void post_slot(struct storm *t, struct line *l, uint32_t slot)
{
    struct ibv_sge sge[3];
    struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = sge}, *bad;
    wr.num_sge = cut(t, sge, t->s.buf + IN + slot * SLOT, SLOT);
    CHECK_EQ(uses_srq(t->me) ? ibv_post_srq_recv(t->s.srq, &wr, &bad)
                             : ibv_post_recv(l->qp, &wr, &bad),
             0);
}

/* Posts some receives. Those of a shared queue complete in any order. */
static void offer(struct storm *t, int peer)
{
    struct line *l = &t->line[peer];
    for (unsigned n = any(t, 8); n > 0; n--) {
        uint32_t slot = (uint32_t)(peer * DEPTH + l->posted % DEPTH);
        if (uses_srq(t->me)) {
            slot = 0;
            while (slot < DEPTH && t->busy[slot]) slot++;
            if (slot == DEPTH) return;
            t->busy[slot] = true;
        } else if (l->posted - l->got == DEPTH)
            return;
        l->posted++;
        post_slot(t, l, slot);
    }
}

/* wr_id: the kind of operation, and the other process. */
enum { A_SEND, A_READ, AN_ADD };
static uint64_t id_of(int what, int peer)
{
    return (uint64_t)what << 8 | (unsigned)peer;
}

static void post_one(struct storm *t, int peer, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    CHECK_EQ(ibv_post_send(t->line[peer].qp, wr, &bad), 0);
}

static void send_to(struct storm *t, int peer)
{
    struct line *l = &t->line[peer];
    uint32_t len = length_of(l->sent, t->me, peer);
    char *from = t->s.buf + OUT + (peer * DEPTH + l->sent % DEPTH) * SLOT;
    struct ibv_sge sge[3];
    struct ibv_send_wr wr = {.wr_id = id_of(A_SEND, peer),
                             .sg_list = sge,
                             .send_flags = IBV_SEND_SIGNALED,
                             .opcode = model(l->sent, t->me, peer) & 64 ? IBV_WR_SEND_WITH_IMM
                                                                        : IBV_WR_SEND,
                             .imm_data = (uint32_t)l->sent};
    fill(from, len, (uint32_t)l->sent + t->me);
    wr.num_sge = cut(t, sge, from, len);
    if (len <= 128 && any(t, 2)) wr.send_flags |= IBV_SEND_INLINE;
    post_one(t, peer, &wr);
    if (wr.send_flags & IBV_SEND_INLINE) memset(from, 0, len); /* the post has read it */
    l->sent++;
}

static void write_and_read(struct storm *t, int peer)
{
    struct line *l = &t->line[peer];
    const struct address *to = &board->at[peer][t->me];
    uint32_t len = any(t, 8192) + 1;
    char *mine = t->s.buf + BACK + peer * 8192;
    struct ibv_sge sge[3];
    struct ibv_send_wr wr = {.sg_list = sge, .opcode = IBV_WR_RDMA_WRITE};
    wr.wr.rdma.remote_addr = to->addr + WINDOWS + t->me * 8192;
    wr.wr.rdma.rkey = to->rkey;
    fill(mine, len, (uint32_t)l->reads);
    wr.num_sge = cut(t, sge, mine, len);
    post_one(t, peer, &wr);
    char *landing = t->s.buf + LANDING + peer * 8192;
    memset(landing, 0, len);
    wr.opcode = IBV_WR_RDMA_READ;
    wr.num_sge = cut(t, sge, landing, len);
    wr.wr_id = id_of(A_READ, peer) | (uint64_t)len << 32;
    wr.send_flags = IBV_SEND_SIGNALED;
    post_one(t, peer, &wr);
    l->reads++;
}

static void add_one(struct storm *t, int peer)
{
    const struct address *to = &board->at[peer][t->me];
    struct ibv_sge sge = {(uintptr_t)t->s.buf + ADDED + peer * 8, 8, t->s.mr->lkey};
    struct ibv_send_wr wr = {.wr_id = id_of(AN_ADD, peer),
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                             .send_flags = IBV_SEND_SIGNALED};
    wr.wr.atomic.remote_addr = to->addr;
    wr.wr.atomic.rkey = to->rkey;
    wr.wr.atomic.compare_add = 1;
    post_one(t, peer, &wr);
    t->line[peer].adds++;
}

static void poll_sends(struct storm *t)
{
    struct ibv_wc wc[8];
    int n = ibv_poll_cq(t->s.scq, 8, wc);
    CHECK(n >= 0);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
        int peer = wc[i].wr_id & 255, what = wc[i].wr_id >> 8 & 255;
        struct line *l = &t->line[peer];
        CHECK_EQ(wc[i].qp_num, l->qp->qp_num);
        if (what == A_SEND) l->done++;
        if (what == AN_ADD) l->added++;
        if (what != A_READ) continue;
        CHECK(filled(t->s.buf + LANDING + peer * 8192, wc[i].wr_id >> 32, (uint32_t)l->read_back));
        l->read_back++;
    }
}

static int line_of(struct storm *t, uint32_t qpn)
{
    for (int i = 0; i < processes; i++)
        if (t->line[i].qp->qp_num == qpn) return i;
    CHECK(!"a completion of a queue pair of ours");
    return 0;
}

static void poll_receives(struct storm *t)
{
    struct ibv_wc wc[4];
    int n = ibv_poll_cq(t->s.rcq, (int)any(t, 4) + 1, wc);
    CHECK(n >= 0);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
        int from = line_of(t, wc[i].qp_num);
        struct line *l = &t->line[from];
        uint32_t len = length_of(l->got, from, t->me);
        bool imm = model(l->got, from, t->me) & 64;
        CHECK_EQ(wc[i].byte_len, len);
        CHECK_EQ(!!(wc[i].wc_flags & IBV_WC_WITH_IMM), imm);
        if (imm) CHECK_EQ(wc[i].imm_data, (uint32_t)l->got);
        CHECK(filled(t->s.buf + IN + wc[i].wr_id * SLOT, len, (uint32_t)l->got + from));
        l->got++;
        if (uses_srq(t->me)) t->busy[wc[i].wr_id] = false;
    }
}

/* A sleeping process is woken: arm, poll again, and only then wait. */
static void sleep_a_little(struct storm *t)
{
    struct pollfd f = {.fd = t->s.channel->fd, .events = POLLIN};
    struct ibv_cq *cq;
    void *context;
    CHECK_EQ(ibv_req_notify_cq(t->s.rcq, 0), 0);
    poll_receives(t);
    if (poll(&f, 1, 1) != 1) return;
    CHECK_EQ(ibv_get_cq_event(t->s.channel, &cq, &context), 0);
    ibv_ack_cq_events(cq, 1);
}

static void make_lines(struct storm *t)
{
    struct side *s = &t->s;
    s->o.ordinary = t->me & 2;
    open_device(s);
    s->scq = ibv_create_cq(s->ctx, 4096, s, s->channel, 0);
    s->rcq = ibv_create_cq(s->ctx, 4096, s, s->channel, 0);
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = DEPTH, .max_sge = 3}};
    s->srq = uses_srq(t->me) ? ibv_create_srq(s->pd, &shared) : NULL;
    CHECK(s->scq && s->rcq && (s->srq || !uses_srq(t->me)));
    struct ibv_qp_init_attr init = {.send_cq = s->scq,
                                    .recv_cq = s->rcq,
                                    .srq = s->srq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 128,
                                            .max_recv_wr = DEPTH,
                                            .max_send_sge = 3,
                                            .max_recv_sge = 3,
                                            .max_inline_data = 128}};
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
                            .port_num = 1,
                            .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                               IBV_ACCESS_REMOTE_ATOMIC};
    struct ibv_port_attr port;
    CHECK_EQ(ibv_query_port(s->ctx, 1, &port), 0);
    for (int i = 0; i < processes; i++) {
        t->line[i].qp = ibv_create_qp(s->pd, &init);
        CHECK(t->line[i].qp != NULL);
        CHECK_EQ(
            ibv_modify_qp(t->line[i].qp, &a,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            0);
        board->at[t->me][i] = (struct address){.qpn = t->line[i].qp->qp_num,
                                               .rkey = s->mr->rkey,
                                               .lid = port.lid,
                                               .addr = (uintptr_t)s->buf};
    }
    barrier_at(1);
    for (int i = 0; i < processes; i++) {
        s->qp = t->line[i].qp;
        connect_qp(s, &board->at[i][t->me]);
    }
    barrier_at(2);
}

static void tear_lines_down(struct storm *t)
{
    for (int i = 0; i < processes; i++) CHECK_EQ(ibv_destroy_qp(t->line[i].qp), 0);
    if (t->s.srq) CHECK_EQ(ibv_destroy_srq(t->s.srq), 0);
    CHECK_EQ(ibv_destroy_cq(t->s.scq), 0);
    CHECK_EQ(ibv_destroy_cq(t->s.rcq), 0);
    CHECK_EQ(ibv_dereg_mr(t->s.mr), 0);
    CHECK_EQ(ibv_dealloc_pd(t->s.pd), 0);
}

static void act(struct storm *t)
{
    int peer = (int)any(t, processes);
    struct line *l = &t->line[peer];
    unsigned r = any(t, 1000);
    if (r < 300)
        offer(t, peer);
    else if (r < 700) {
        if (l->sent - l->done < DEPTH) send_to(t, peer);
    } else if (r < 760) {
        if (l->reads == l->read_back) write_and_read(t, peer);
    } else if (r < 820) {
        if (l->adds - l->added < 8) add_one(t, peer);
    } else if (r < 825)
        sleep_a_little(t);
    else if (r < 827)
        usleep(any(t, 300));
}

static bool all_came(struct storm *t)
{
    for (int i = 0; i < processes; i++) {
        struct line *l = &t->line[i];
        if (l->done < l->sent || l->read_back < l->reads || l->added < l->adds ||
            l->got < board->sent[i][t->me])
            return false;
    }
    return true;
}

static void random_operations(int me)
{
    struct storm t = {.me = me, .random = seed * 8 + (unsigned)me};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(seconds + 60);
    make_lines(&t);
    time_t end = time(NULL) + seconds;
    while (time(NULL) < end) {
        act(&t);
        poll_sends(&t);
        poll_receives(&t);
    }
    uint64_t total = 0, adds = 0;
    for (int i = 0; i < processes; i++) {
        board->sent[me][i] = t.line[i].sent;
        board->added[me][i] = t.line[i].adds;
        total += t.line[i].sent;
    }
    board->arrived++;
    while (board->arrived < 3 * processes || !all_came(&t)) {
        CHECK(!board->failed);
        for (int i = 0; i < processes; i++) offer(&t, i);
        poll_sends(&t);
        poll_receives(&t);
    }
    barrier_at(4);
    for (int i = 0; i < processes; i++) adds += board->added[i][me];
    CHECK_EQ(__atomic_load_n((uint64_t *)t.s.buf, __ATOMIC_ACQUIRE), adds);
    printf("# process %d: %llu messages sent, %llu atomics came\n", me, (unsigned long long)total,
           (unsigned long long)adds);
    tear_lines_down(&t);
    barrier_at(5);
}

int main(int argc, char **argv)
{
    seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
    seed =
        argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : (unsigned)time(NULL) ^ (unsigned)getpid();
    printf("# seed %u\n", seed);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) return 1;
    fflush(stdout);
    for (int i = 0; i < processes; i++)
        if (fork() == 0) {
            random_operations(i);
            exit(0);
        }
    bool ok = true;
    for (int i = 0, status; i < processes; i++) {
        if (wait(&status) < 0 || status != 0) ok = false;
        if (!ok) board->failed = true;
    }
    check(ok, "%d processes, each with each, random operations (seed %u)", processes, seed);
    return check_end();
}
