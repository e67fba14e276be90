/* inject.c - rules about injected faults: each has its effect on the selected messages only, and
 * the same seed gives the same run.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"

static void write_8(struct side *s, uint64_t id)
{
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, id, 0, 8, 4096)), 0);
}

static void send_8(struct side *s, uint64_t id)
{
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, id, 0, 8, 0)), 0);
}

static void find_nothing(struct ibv_cq *cq, int times)
{
    while (times-- > 0) expect_nothing(cq);
}

/* Checks that one poll returns exactly the completions of `ids`, in this order. */
static void find_ids(struct ibv_cq *cq, int n, const uint64_t *ids)
{
    struct ibv_wc wc[16];
    CHECK_EQ(ibv_poll_cq(cq, 16, wc), n);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
        CHECK_EQ(wc[i].wr_id, ids[i]);
    }
}
#define FIND(cq, n, ...) find_ids(cq, n, (const uint64_t[]){__VA_ARGS__})

/* --- completions held back --- */

/* hold:process=0,op=write,polls=100 */
static void held_by_polls(struct side *s)
{
    if (s->is_a) {
        strcpy(s->buf, "arrived");
        write_8(s, 1);
        find_nothing(s->scq, 50);
        meet(s); /* only the completion is late */
        find_nothing(s->scq, 50);
        FIND(s->scq, 1, 1);
    } else {
        meet(s);
        CHECK(!strcmp(s->buf + 4096, "arrived"));
        write_8(s, 1); /* completions of process B are not held */
        FIND(s->scq, 1, 1);
    }
    meet(s);
}

/* Tests that later completions of a queue pair stay behind a held one, and those of other queue
 * pairs do not. */
static void held_in_order(struct side *s)
{
    struct side two = another_qp(s);
    if (s->is_a) {
        write_8(s, 1);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 2, 0, 8, 4096)), 0);
        CHECK_EQ(post(&two, make_wr(&two, IBV_WR_RDMA_READ, 3, 0, 8, 4096)), 0);
        FIND(s->scq, 1, 3);
        find_nothing(s->scq, 100);
        FIND(s->scq, 2, 1, 2);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(two.qp), 0);
}

/* hold:process=0,qp=2,polls=5 */
static void held_on_one_qp(struct side *s)
{
    struct side two = another_qp(s);
    if (s->is_a) {
        write_8(&two, 2);
        write_8(s, 1);
        FIND(s->scq, 1, 1);
        find_nothing(s->scq, 5);
        FIND(s->scq, 1, 2);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(two.qp), 0);
}

/* hold:process=0,gather=4 */
static void held_until_gathered(struct side *s)
{
    if (s->is_a) {
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 3; i++) write_8(s, i);
            find_nothing(s->scq, 20);
            write_8(s, 3);
            FIND(s->scq, 4, 0, 1, 2, 3);
        }
        write_8(s, 9); /* no further completion: it is released in the end */
        find_nothing(s->scq, 1000);
        FIND(s->scq, 1, 9);
    }
    meet(s);
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

/* hold:process=0,us=20000 */
static void held_for_a_time(struct side *s)
{
    if (s->is_a) {
        uint64_t start = now_us();
        write_8(s, 1);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK(now_us() - start >= 20000);
        start = now_us();
        write_8(s, 2);
        CHECK_EQ(await_sleeping(s, s->scq).wr_id, 2);
        CHECK(now_us() - start >= 20000);
    }
    meet(s);
}

/* hold:polls=1000000: a program asleep on its channel gets it all the same. Repeated so often that
 * the limit of 10 seconds would exceed the time of the test. */
static void held_for_a_sleeper(struct side *s)
{
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(post_recv(s, 7, 0, 64), 0);
        meet(s);
        send_8(s, 1);
        CHECK_EQ(await_sleeping(s, s->scq).wr_id, 1);
        CHECK_EQ(await_sleeping(s, s->rcq).wr_id, 7);
        meet(s);
    }
}

/* hold:process=1,op=recv,polls=10. The receive counts as in use until then. */
static void held_receives(struct side *s)
{
    if (s->is_a) {
        meet(s);
        memcpy(s->buf, "payload", 8);
        send_8(s, 1);
        FIND(s->scq, 1, 1);
        meet(s);
    } else {
        for (int i = 0; i < 4; i++) CHECK_EQ(post_recv(s, i, 64 * (size_t)i, 64), 0);
        meet(s);
        meet(s);
        find_nothing(s->rcq, 10);
        CHECK_EQ(post_recv(s, 4, 0, 64), ENOMEM);
        FIND(s->rcq, 1, 0);
        CHECK(!strcmp(s->buf, "payload"));
        CHECK_EQ(post_recv(s, 4, 0, 64), 0);
    }
    meet(s);
}

/* hold:process=0,polls=3: until then the send queue is full. */
static void held_fills_the_send_queue(struct side *s)
{
    if (s->is_a) {
        for (int i = 0; i < 4; i++) write_8(s, i);
        find_nothing(s->scq, 3);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 4, 0, 8, 4096)), ENOMEM);
        FIND(s->scq, 4, 0, 1, 2, 3);
        write_8(s, 4);
    }
    meet(s);
}

static void to_state(struct side *s, enum ibv_qp_state state)
{
    struct ibv_qp_attr a = {.qp_state = state};
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
}

/* hold:polls=10: destroying a QP drops held completions; breaking it delivers them once. */
static void held_of_a_qp_that_goes(struct side *s)
{
    struct side two = another_qp(s);
    for (int i = 0; i < 3; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        write_8(&two, 8);
        send_8(s, 1);
        find_nothing(s->scq, 2);
        CHECK_EQ(ibv_destroy_qp(two.qp), 0);
        find_nothing(s->scq, 8);
        FIND(s->scq, 1, 1);
        meet(s);
    } else {
        meet(s);
        find_nothing(s->rcq, 2);
        to_state(s, IBV_QPS_ERR);
        expect(s->rcq, 0, IBV_WC_SUCCESS);
        for (int i = 1; i < 3; i++) expect(s->rcq, i, IBV_WC_WR_FLUSH_ERR);
        find_nothing(s->rcq, 100);
        CHECK_EQ(ibv_destroy_qp(two.qp), 0);
    }
    meet(s);
}

/* --- messages that wait or are lost --- */

static bool arrived(struct side *s, size_t at)
{
    return __atomic_load_n(s->buf + at, __ATOMIC_ACQUIRE) == 'x';
}

/* stall:process=0,qp=1,at=2,polls=7: later messages of QP 2 overtake it. */
static void stalled_by_polls(struct side *s)
{
    struct side two = another_qp(s);
    s->buf[0] = 'x';
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 1, 101)), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 0, 1, 102)), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 3, 0, 1, 103)), 0);
        CHECK_EQ(post(&two, make_wr(&two, IBV_WR_RDMA_WRITE, 4, 0, 1, 104)), 0);
        FIND(s->scq, 2, 1, 4);
        find_nothing(s->scq, 6);
        meet(s);
        meet(s);
        find_nothing(s->scq, 1);
        FIND(s->scq, 2, 2, 3);
        meet(s);
    } else {
        meet(s);
        CHECK(arrived(s, 101) && !arrived(s, 102) && !arrived(s, 103) && arrived(s, 104));
        meet(s);
        meet(s);
        CHECK(arrived(s, 102) && arrived(s, 103));
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(two.qp), 0);
}

/* stall:process=0,qp=1,messages=3 */
static void stalled_by_messages(struct side *s)
{
    struct side two = another_qp(s);
    if (s->is_a) {
        write_8(s, 1);
        write_8(&two, 2);
        write_8(&two, 3);
        FIND(s->scq, 2, 2, 3);
        find_nothing(s->scq, 50);
        write_8(&two, 4);
        FIND(s->scq, 2, 4, 1);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(two.qp), 0);
}

/* stall:process=0,polls=1000000: a program asleep on its channel is woken. */
static void stalled_for_a_sleeper(struct side *s)
{
    for (int i = 0; s->is_a && i < 10; i++) {
        write_8(s, i);
        CHECK_EQ(await_sleeping(s, s->scq).wr_id, i);
    }
    meet(s);
}

static void sends(struct side *s, int good, enum ibv_wc_status end)
{
    for (int i = 0; i < 8; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        for (int i = 0; i < good; i++) {
            send_8(s, i);
            expect(s->scq, i, IBV_WC_SUCCESS);
        }
        if (end != IBV_WC_SUCCESS) {
            send_8(s, good);
            expect(s->scq, good, end);
        }
    } else
        for (int i = 0; i < good; i++) expect(s->rcq, i, IBV_WC_SUCCESS);
    meet(s);
    if (!s->is_a) expect_nothing(s->rcq);
}

static void all_arrive(struct side *s)
{
    sends(s, 8, IBV_WC_SUCCESS);
}
static void third_is_not_taken(struct side *s)
{
    sends(s, 2, IBV_WC_RNR_RETRY_EXC_ERR);
}
static void third_is_lost(struct side *s)
{
    sends(s, 2, IBV_WC_RETRY_EXC_ERR);
}

/* lose:process=0,at=2, or rnr: no error on an unreliable service. */
static void second_is_lost_without_error(struct side *s)
{
    for (int i = 0; i < 4; i++) CHECK_EQ(post_recv(s, i, 0, 256), 0);
    meet(s);
    for (int i = 0; s->is_a && i < 3; i++) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND_WITH_IMM, i, 0, 8, 0);
        wr->imm_data = i;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, i, IBV_WC_SUCCESS);
    }
    meet(s);
    for (uint32_t i = 0; !s->is_a && i < 3; i += 2) {
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(wc.imm_data, i);
    }
    expect_nothing(s->rcq);
    meet(s);
}

/* Faults on a QP without a target. */
static void target_is_absent(struct side *s)
{
    struct address nobody = {.qpn = 0x001001, .lid = s->its.lid};
    connect_qp(s, &nobody);
    send_8(s, 1);
    expect(s->scq, 1, IBV_WC_RETRY_EXC_ERR);
    meet(s);
}

/* A WRITE uses no receive, so rnr does not apply. */
static void writes_need_no_receiver(struct side *s)
{
    if (s->is_a)
        for (int i = 0; i < 5; i++) {
            write_8(s, i);
            expect(s->scq, i, IBV_WC_SUCCESS);
        }
    meet(s);
}

/* cut:process=0,peer=1,after=3, on any QP; both directions, also for new QPs. */
static void cut_off(struct side *s)
{
    struct side two = another_qp(s);
    if (s->is_a) {
        write_8(s, 1);
        write_8(&two, 2);
        write_8(s, 3);
        FIND(s->scq, 3, 1, 2, 3);
        write_8(&two, 4);
        expect(s->scq, 4, IBV_WC_RETRY_EXC_ERR);
    }
    meet(s);
    if (!s->is_a) {
        write_8(s, 5);
        expect(s->scq, 5, IBV_WC_RETRY_EXC_ERR);
    }
    meet(s);
    struct side three = another_qp(s);
    write_8(&three, 6);
    expect(s->scq, 6, IBV_WC_RETRY_EXC_ERR);
    meet(s);
    CHECK_EQ(ibv_destroy_qp(two.qp), 0);
    CHECK_EQ(ibv_destroy_qp(three.qp), 0);
}

/* --- ports and devices --- */

static enum ibv_port_state port_state(struct side *s)
{
    struct ibv_port_attr a;
    CHECK_EQ(ibv_query_port(s->ctx, s->port, &a), 0);
    return a.state;
}

static void expect_port_event(struct side *s, enum ibv_event_type type)
{
    struct ibv_async_event e;
    CHECK_EQ(ibv_get_async_event(s->ctx, &e), 0);
    ibv_ack_async_event(&e);
    CHECK_EQ(e.event_type, type);
    CHECK_EQ(e.element.port_num, s->port);
}

/* port-down at A's third message, port-up at the fourth; the third waits for it. */
static void port_goes_and_comes(struct side *s)
{
    if (s->is_a) {
        write_8(s, 1);
        write_8(s, 2);
        CHECK_EQ(port_state(s), IBV_PORT_ACTIVE);
        write_8(s, 3);
        CHECK_EQ(port_state(s), IBV_PORT_DOWN);
        expect_port_event(s, IBV_EVENT_PORT_ERR);
        FIND(s->scq, 2, 1, 2);
        find_nothing(s->scq, 100);
        meet(s); /* no message of B is answered */
        meet(s);
        write_8(s, 4);
        CHECK_EQ(port_state(s), IBV_PORT_ACTIVE);
        expect_port_event(s, IBV_EVENT_PORT_ACTIVE);
        expect(s->scq, 3, IBV_WC_SUCCESS);
        expect(s->scq, 4, IBV_WC_SUCCESS);
        meet(s);
    } else {
        meet(s);
        CHECK_EQ(port_state(s), IBV_PORT_ACTIVE); /* the port state is per process */
        write_8(s, 1);
        find_nothing(s->scq, 100);
        meet(s);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        meet(s);
    }
}

/* remove:process=1,at=2 */
static void device_is_removed(struct side *s)
{
    if (s->is_a) {
        meet(s);
        write_8(s, 1);
        expect(s->scq, 1, IBV_WC_RETRY_EXC_ERR);
        meet(s);
        return;
    }
    struct ibv_wc wc;
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    struct ibv_qp_attr qa = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .send_cq = s->scq, .recv_cq = s->rcq};
    write_8(s, 1);
    expect(s->scq, 1, IBV_WC_SUCCESS);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 0, 8, 0)), EIO);
    CHECK_EQ(await_event(s), IBV_EVENT_DEVICE_FATAL);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 3, 0, 8, 0)), EIO);
    CHECK_EQ(post_recv(s, 1, 0, 8), EIO);
    CHECK(ibv_poll_cq(s->scq, 1, &wc) < 0);
    CHECK_EQ(ibv_req_notify_cq(s->scq, 0), EIO);
    CHECK_EQ(ibv_query_device(s->ctx, &attr), EIO);
    CHECK_EQ(ibv_query_port(s->ctx, 1, &port), EIO);
    CHECK_EQ(ibv_modify_qp(s->qp, &qa, IBV_QP_STATE), EIO);
    CHECK_EQ(ibv_query_qp(s->qp, &qa, IBV_QP_STATE, &init), EIO);
    CHECK(!ibv_alloc_pd(s->ctx) && errno == EIO);
    CHECK(!ibv_reg_mr(s->pd, s->buf, 8, 0) && errno == EIO);
    CHECK(!ibv_create_cq(s->ctx, 1, NULL, NULL, 0) && errno == EIO);
    CHECK(!ibv_create_comp_channel(s->ctx) && errno == EIO);
    CHECK(!ibv_create_qp(s->pd, &init) && errno == EIO);
    CHECK(!open_named("softhca0") && errno == EIO);
    CHECK_EQ(ibv_destroy_qp(s->qp), EIO);
    CHECK_EQ(ibv_destroy_cq(s->scq), EIO);
    CHECK_EQ(ibv_dereg_mr(s->mr), EIO);
    CHECK_EQ(ibv_dealloc_pd(s->pd), EIO);
    CHECK_EQ(ibv_destroy_comp_channel(s->channel), EIO);
    CHECK_EQ(ibv_close_device(s->ctx), 0);
    meet(s);
    meet(s);
    _exit(0);
}

/* overflow:process=0,cq=1,at=3 */
static void cq_overflows(struct side *s)
{
    if (s->is_a) {
        for (int i = 0; i < 5; i++) write_8(s, i);
        FIND(s->scq, 2, 0, 1);
        CHECK_EQ(await_event(s), IBV_EVENT_CQ_ERR);
        CHECK_EQ(await_event(s), IBV_EVENT_QP_FATAL);
        struct ibv_wc wc;
        CHECK_EQ(ibv_poll_cq(s->scq, 1, &wc), -1);
    }
    meet(s);
}

/* --- objects that cannot be created --- */

static void creations_fail(void)
{
    setenv("SOFTHCA_FAULTS",
           "enomem:what=mr,every=3;enomem:what=qp,at=2;enomem:what=cq,at=1;enomem:what=pd,after=1",
           1);
    struct ibv_context *c = open_named("softhca0");
    static char memory[4096];
    struct ibv_pd *pd = ibv_alloc_pd(c);
    CHECK(pd != NULL);
    for (int i = 0; i < 3; i++) CHECK(!ibv_alloc_pd(c) && errno == ENOMEM);
    for (int i = 1; i < 10; i++) {
        errno = 0;
        struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof memory, 0);
        CHECK(i % 3 ? mr != NULL : !mr && errno == ENOMEM);
        CHECK(!mr || ibv_dereg_mr(mr) == 0);
    }
    CHECK(!ibv_create_cq(c, 4, NULL, NULL, 0) && errno == ENOMEM);
    struct ibv_cq *cq = ibv_create_cq(c, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1}};
    CHECK(cq && ibv_create_qp(pd, &init));
    CHECK(!ibv_create_qp(pd, &init) && errno == ENOMEM);
    CHECK(ibv_create_qp(pd, &init) != NULL);
}

/* --- processes --- */

/* kill:process=1,at=4 */
static void killed_at_the_fourth(struct side *s)
{
    for (int i = 0; i < 8; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (!s->is_a)
        for (int i = 0;; i++) {
            send_8(s, i);
            await(s->scq);
        }
    for (int i = 0; i < 3; i++) expect(s->rcq, i, IBV_WC_SUCCESS);
    char c;
    CHECK(read(s->wire, &c, 1) == 0); /* the process is dead */
    expect_nothing(s->rcq);
}

static char state_of_process(pid_t pid)
{
    char path[40], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    return strrchr(text, ')')[2];
}

/* stop:process=1,at=3 */
static void stopped_at_the_third(struct side *s)
{
    for (int i = 0; i < 8; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        while (state_of_process(s->other) != 'T') sched_yield();
        FIND(s->rcq, 2, 0, 1);
        find_nothing(s->rcq, 100);
        CHECK_EQ(kill(s->other, SIGCONT), 0);
        for (int i = 2; i < 5; i++) expect(s->rcq, i, IBV_WC_SUCCESS);
    } else
        for (int i = 0; i < 5; i++) send_8(s, i);
    meet(s);
}

static void no_number(void)
{
    setenv("SOFTHCA_FAULTS", "kill:process=0,at=1", 1);
    unsetenv("SOFTHCA_PROCESS");
    listen_to_stderr();
    CHECK(open_named("softhca0") != NULL);
    char wanted[200];
    snprintf(wanted, sizeof wanted,
             "softhca: SOFTHCA_FAULTS names processes, but this one (pid %d) has no number: set "
             "SOFTHCA_PROCESS\n",
             (int)getpid());
    CHECK(!strcmp(said(), wanted));
}

static void rank_of_a_launcher(void)
{
    setenv("SOFTHCA_FAULTS", "seed=99;kill:process=6,at=1", 1);
    unsetenv("SOFTHCA_PROCESS");
    setenv("OMPI_COMM_WORLD_RANK", "6", 1);
    listen_to_stderr();
    CHECK(open_named("softhca0") != NULL);
    char wanted[100];
    snprintf(wanted, sizeof wanted, "softhca: faults are injected: seed=99, process 6 (pid %d)\n",
             (int)getpid());
    CHECK(!strcmp(said(), wanted));
}

static void number_by_the_program(void)
{
    setenv("SOFTHCA_FAULTS", "kill:process=4,at=1", 1);
    setenv("OMPI_COMM_WORLD_RANK", "6", 1);
    unsetenv("SOFTHCA_PROCESS");
    softhca_number(4);
    listen_to_stderr();
    CHECK(open_named("softhca0") != NULL);
    CHECK(strstr(said(), "process 4 (pid"));
}

/* --- repeated runs --- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    return (h ^ x) * 0x100000001b3ull;
}

/* Two QPs send alternately, with completions that come late, early, or behind others. The
 * completions and the reports of faults at A are hashed; the parent compares the hashes. */
static int report_to;
static void a_run(struct side *s)
{
    struct side two = another_qp(s);
    uint64_t h = 1;
    if (s->is_a) {
        listen_to_stderr();
        for (int i = 0; i < 400; i++) {
            struct side *x = i % 3 ? s : &two;
            write_8(x, i);
            struct ibv_wc wc[4];
            int n = ibv_poll_cq(s->scq, 4, wc);
            h = mix(h, n);
            for (int j = 0; j < n; j++) h = mix(h, wc[j].wr_id);
        }
        CHECK(strstr(said(), "softhca: fault in process 0: hold, qp "));
        CHECK(strstr(said(), "softhca: fault in process 0: stall, qp "));
        for (const char *t = said(); *t; t++) h = mix(h, *t);
        CHECK(write(report_to, &h, sizeof h) == sizeof h);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(two.qp), 0);
}

static uint64_t run_with(unsigned long long seed)
{
    char text[120];
    int fd[2];
    uint64_t h = 0;
    snprintf(text, sizeof text,
             "SOFTHCA_FAULTS=log;seed=%llu;hold:process=0,chance=1/"
             "5,polls=9;stall:process=0,qp=2,chance=1/9,polls=5",
             seed);
    struct options o = {.env = {text}, .send_wr = 1024};
    CHECK(pipe(fd) == 0);
    report_to = fd[1];
    bool ok = run_pair(a_run, &o);
    close(fd[1]);
    if (read(fd[0], &h, sizeof h) != sizeof h || !ok) h = 0;
    close(fd[0]);
    return h;
}

static void same_seed_same_run(void)
{
    unsigned long long seed = (unsigned long long)time(NULL);
    printf("# seed %llu\n", seed);
    fflush(stdout);
    uint64_t first = run_with(seed), again = run_with(seed), other = run_with(seed + 1);
    check(first && first == again, "the same seed gives the same run");
    check(other && other != first, "another seed gives another");
}

/* Most of these require immediate execution, as on one host. */
static bool holds_between_hosts(test_function *test)
{
    return test == all_arrive || test == third_is_not_taken || test == third_is_lost ||
           test == writes_need_no_receiver || test == device_is_removed ||
           test == killed_at_the_fourth || test == held_for_a_time;
}

void inject_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        const char *faults;
        struct options o;
    } pairs[] = {
        {"hold by polls: the data is there, the completion is not",
         held_by_polls,
         "hold:process=0,op=write,polls=100",
         {0}},
        {"hold keeps the order of a queue",
         held_in_order,
         "hold:process=0,op=write,polls=100",
         {0}},
        {"hold on one QP", held_on_one_qp, "hold:process=0,qp=2,polls=5", {0}},
        {"hold until some have gathered", held_until_gathered, "hold:process=0,gather=4", {0}},
        {"hold for a time", held_for_a_time, "hold:process=0,us=20000", {0}},
        {"hold does not starve a sleeping thread", held_for_a_sleeper, "hold:polls=1000000", {0}},
        {"hold receives", held_receives, "hold:process=1,op=recv,polls=10", {.recv_wr = 4}},
        {"hold fills the send queue",
         held_fills_the_send_queue,
         "hold:process=0,polls=3",
         {.send_wr = 4}},
        {"hold, and the QP goes", held_of_a_qp_that_goes, "hold:polls=10", {0}},
        {"stall by polls: one QP waits, another overtakes it",
         stalled_by_polls,
         "stall:process=0,qp=1,at=2,polls=7",
         {0}},
        {"stall by messages of others",
         stalled_by_messages,
         "stall:process=0,qp=1,messages=3",
         {0}},
        {"stall does not starve a sleeping thread",
         stalled_for_a_sleeper,
         "stall:process=0,polls=1000000",
         {0}},
        {"rnr within the retries: all arrive",
         all_arrive,
         "rnr:process=0,every=2,retries=2",
         {.rnr_retry = 2, .min_rnr_timer = 1}},
        {"rnr with endless retries: all arrive",
         all_arrive,
         "rnr:process=0,retries=20",
         {.min_rnr_timer = 1}},
        {"rnr beyond the retries: RNR_RETRY_EXC_ERR",
         third_is_not_taken,
         "rnr:process=0,at=3,retries=3",
         {.rnr_retry = 2, .min_rnr_timer = 1}},
        {"rnr is nothing to a WRITE",
         writes_need_no_receiver,
         "rnr:process=0,retries=all",
         {.rnr_retry = 1, .min_rnr_timer = 1}},
        {"lose within the retries: all arrive",
         all_arrive,
         "lose:process=0,every=2,retries=3",
         {.timeout = 1, .retry_cnt = 3}},
        {"lose beyond the retries: RETRY_EXC_ERR",
         third_is_lost,
         "lose:process=0,peer=1,at=3",
         {.timeout = 1, .retry_cnt = 3}},
        {"lose towards another peer: all arrive",
         all_arrive,
         "lose:process=0,peer=0+2",
         {.timeout = 1, .retry_cnt = 3}},
        {"lose over UC: neither side is notified",
         second_is_lost_without_error,
         "lose:process=0,at=2",
         {.type = IBV_QPT_UC}},
        {"lose over UD: neither side is notified",
         second_is_lost_without_error,
         "lose:process=0,at=2,retries=1",
         {.type = IBV_QPT_UD}},
        {"rnr over UD: neither side is notified",
         second_is_lost_without_error,
         "rnr:process=0,at=2",
         {.type = IBV_QPT_UD}},
        {"rnr, hold and cut of a QP that leads nowhere",
         target_is_absent,
         "rnr;hold:peer=1,polls=1;cut:peer=1",
         {.no_connect = true, .timeout = 8, .retry_cnt = 1, .min_rnr_timer = 1}},
        {"cut: nothing passes in either direction",
         cut_off,
         "cut:process=0,peer=1,after=3",
         {.timeout = 8, .retry_cnt = 1}},
        {"port-down and port-up: events, and what waits goes on",
         port_goes_and_comes,
         "port-down:process=0,port=softhca0/1,at=3;port-up:process=0,port=softhca0/1,at=4",
         {.timeout = 20}},
        {"remove: DEVICE_FATAL, every verb fails, peers time out",
         device_is_removed,
         "remove:process=1,at=2",
         {.timeout = 8, .retry_cnt = 1}},
        {"overflow of a CQ", cq_overflows, "overflow:process=0,cq=1,at=3", {0}},
        {"kill at a message", killed_at_the_fourth, "kill:process=1,at=4", {0}},
        {"stop at a message", stopped_at_the_third, "stop:process=1,at=3", {0}},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[200];
        struct options o = pairs[i].o;
        if (sides_are_remote() && !holds_between_hosts(pairs[i].run)) continue;
        snprintf(text, sizeof text, "SOFTHCA_FAULTS=%s", pairs[i].faults);
        o.env[0] = text;
        check(run_pair(pairs[i].run, &o), "%s", pairs[i].name);
    }
    check(run_alone(creations_fail), "enomem at the n-th, at every n-th, after the n-th");
    check(run_alone(no_number), "a process without a number is reported");
    check(run_alone(rank_of_a_launcher), "a launcher's rank is the number; the seed is printed");
    check(run_alone(number_by_the_program), "softhca_number() is the number rather");
    if (!sides_are_remote()) same_seed_same_run();
}
