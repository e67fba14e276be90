/* manager.c - the connection manager of the device (softhca_rdmacm): its events, what it refuses,
 * and what an iWARP queue pair may do. Both ends are in one process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"
#include "tests/descriptors.h"
#include "tests/gate.h"

/* The call of librdmacm's NAME. */
#define CM(name) ((__typeof__(&rdma_##name))softhca_rdmacm("rdma_" #name))

struct end {
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr, *sink; /* of the same memory; the latter may be written by peers */
    char *memory;
};

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static struct sockaddr_in address;

static void begin(const char *devices)
{
    setenv("SOFTHCA_DEVICES", devices, 1);
    channel = CM(create_event_channel)();
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    CHECK(channel && !CM(create_id)(channel, &listener, NULL, RDMA_PS_TCP));
    CHECK(!CM(bind_addr)(listener, (struct sockaddr *)&address) && !CM(listen)(listener, 4));
    address.sin_port = CM(get_src_port)(listener);
    CHECK(address.sin_port != 0 && listener->verbs && listener->port_num == 1);
}

/* The next event, which must be this one. */
static struct rdma_cm_event *next_event(enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event;
    CHECK(!CM(get_cm_event)(channel, &event));
    CHECK_EQ(event->event, type);
    return event;
}

static void pass(enum rdma_cm_event_type type)
{
    CM(ack_cm_event)(next_event(type));
}

static void make(struct end *e)
{
    struct ibv_context *c = e->id->verbs;
    e->pd = ibv_alloc_pd(c);
    e->cq = ibv_create_cq(c, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {
        .send_cq = e->cq,
        .recv_cq = e->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 1}};
    CHECK((e->qp = ibv_create_qp(e->pd, &init)) != NULL);
    e->memory = calloc(1, 4096);
    e->mr = ibv_reg_mr(e->pd, e->memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    e->sink = ibv_reg_mr(e->pd, e->memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    CHECK(e->mr && e->sink);
}

static void step(struct end *e, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask;
    CHECK(!CM(init_qp_attr)(e->id, &attr, &mask));
    CHECK_EQ(ibv_modify_qp(e->qp, &attr, mask), 0);
}

static struct rdma_conn_param parameters(const struct end *e, const char *text)
{
    return (struct rdma_conn_param){.private_data = text,
                                    .private_data_len = (uint8_t)(strlen(text) + 1),
                                    .responder_resources = 4,
                                    .initiator_depth = 4,
                                    .qp_num = e->qp ? e->qp->qp_num : 0};
}

static void call(struct end *e)
{
    CHECK(!CM(create_id)(channel, &e->id, e, RDMA_PS_TCP));
    CHECK(!CM(resolve_addr)(e->id, NULL, (struct sockaddr *)&address, 1000));
    pass(RDMA_CM_EVENT_ADDR_RESOLVED);
    CHECK(!CM(resolve_route)(e->id, 1000));
    pass(RDMA_CM_EVENT_ROUTE_RESOLVED);
    make(e);
    step(e, IBV_QPS_INIT);
    struct rdma_conn_param p = parameters(e, "hello");
    CHECK(!CM(connect)(e->id, &p));
}

static void requested(struct end *e)
{
    struct rdma_cm_event *event = next_event(RDMA_CM_EVENT_CONNECT_REQUEST);
    CHECK(event->listen_id == listener && event->id->verbs == listener->verbs);
    CHECK(!strcmp(event->param.conn.private_data, "hello"));
    e->id = event->id;
    CM(ack_cm_event)(event);
}

static void offer(struct end *e)
{
    struct ibv_sge sge = {.addr = (uintptr_t)e->memory, .length = 64, .lkey = e->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    CHECK_EQ(ibv_post_recv(e->qp, &wr, &bad), 0);
}

/* Connects A, which calls, to B, which has a receive posted. */
static void join_ends(struct end *a, struct end *b, bool iwarp)
{
    call(a);
    requested(b);
    make(b);
    step(b, IBV_QPS_INIT);
    offer(b);
    if (!iwarp) step(b, IBV_QPS_RTR), step(b, IBV_QPS_RTS);
    struct rdma_conn_param p = parameters(b, "welcome");
    CHECK(!CM(accept)(b->id, &p));
    if (iwarp) {
        pass(RDMA_CM_EVENT_ESTABLISHED); /* of each end, in any order */
        pass(RDMA_CM_EVENT_ESTABLISHED);
        return;
    }
    struct rdma_cm_event *event = next_event(RDMA_CM_EVENT_CONNECT_RESPONSE);
    CHECK(event->id == a->id && !strcmp(event->param.conn.private_data, "welcome"));
    CM(ack_cm_event)(event);
    step(a, IBV_QPS_RTR);
    step(a, IBV_QPS_RTS);
    CHECK(!CM(establish)(a->id));
    pass(RDMA_CM_EVENT_ESTABLISHED);
}

static int submit(struct end *e, enum ibv_wr_opcode opcode, const struct end *to, uint32_t lkey,
                  int pieces)
{
    struct ibv_sge sge[2] = {{.addr = (uintptr_t)e->memory, .length = 8, .lkey = lkey},
                             {.addr = (uintptr_t)e->memory + 8, .length = 8, .lkey = lkey}};
    struct ibv_send_wr wr = {.sg_list = sge,
                             .num_sge = pieces,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    wr.wr.rdma.remote_addr = (uintptr_t)to->memory;
    wr.wr.rdma.rkey = to->mr->rkey;
    return ibv_post_send(e->qp, &wr, &bad);
}

static int reap(struct end *e)
{
    struct ibv_wc wc;
    int n;
    while ((n = ibv_poll_cq(e->cq, 1, &wc)) == 0) continue;
    CHECK_EQ(n, 1);
    return wc.status;
}

static void connects(const char *devices)
{
    struct end a = {NULL}, b = {NULL};
    begin(devices);
    join_ends(&a, &b, false);
    CHECK_EQ(submit(&a, IBV_WR_SEND, &b, a.mr->lkey, 1), 0);
    CHECK_EQ(reap(&a), IBV_WC_SUCCESS);
    CHECK_EQ(reap(&b), IBV_WC_SUCCESS);
}

static void connects_infiniband(void)
{
    connects("1");
}

static void connects_roce(void)
{
    connects("1;link=ethernet");
}

static void iwarp_keeps_its_rules(void)
{
    struct end a = {NULL}, b = {NULL};
    begin("1;transport=iwarp");
    join_ends(&a, &b, true);
    offer(&a);
    CHECK_EQ(submit(&b, IBV_WR_SEND, &a, b.mr->lkey, 1), EINVAL); /* the end that connected sends
                                                                     first */
    CHECK_EQ(submit(&a, IBV_WR_SEND_WITH_IMM, &b, a.mr->lkey, 1), EINVAL);
    CHECK_EQ(submit(&a, IBV_WR_RDMA_WRITE_WITH_IMM, &b, a.mr->lkey, 1), EINVAL);
    CHECK_EQ(submit(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, &b, a.mr->lkey, 1), EINVAL);
    CHECK_EQ(submit(&a, IBV_WR_SEND, &b, a.mr->lkey, 1), 0);
    CHECK_EQ(reap(&a), IBV_WC_SUCCESS);
    CHECK_EQ(reap(&b), IBV_WC_SUCCESS);
    CHECK_EQ(submit(&b, IBV_WR_SEND, &a, b.mr->lkey, 1), 0);
    CHECK_EQ(reap(&b), IBV_WC_SUCCESS);
    CHECK_EQ(reap(&a), IBV_WC_SUCCESS);
    CHECK_EQ(submit(&a, IBV_WR_RDMA_READ, &b, a.sink->lkey, 1), 0);
    CHECK_EQ(reap(&a), IBV_WC_SUCCESS);
    CHECK_EQ(submit(&a, IBV_WR_RDMA_READ, &b, a.sink->lkey, 2), EINVAL);
}

static void iwarp_reads_into_what_peers_may_write(void)
{
    struct end a = {NULL}, b = {NULL};
    struct ibv_device_attr attr;
    begin("1;transport=iwarp");
    join_ends(&a, &b, true);
    CHECK(!ibv_query_device(a.id->verbs, &attr) && attr.max_sge_rd == 1);
    CHECK_EQ(submit(&a, IBV_WR_RDMA_READ, &b, a.mr->lkey, 1), 0);
    CHECK_EQ(reap(&a), IBV_WC_LOC_PROT_ERR);
}

static void refuses(const char *devices, int by_program, int nobody)
{
    struct end a = {NULL}, b = {NULL}, c = {NULL};
    begin(devices);
    call(&a);
    requested(&b);
    CHECK(!CM(reject)(b.id, "no", 3));
    struct rdma_cm_event *event = next_event(RDMA_CM_EVENT_REJECTED);
    CHECK(event->id == a.id && !strcmp(event->param.conn.private_data, "no"));
    CHECK_EQ(event->status, by_program);
    CM(ack_cm_event)(event);
    CM(destroy_id)(listener);
    call(&c);
    event = next_event(RDMA_CM_EVENT_REJECTED);
    CHECK_EQ(event->status, nobody);
    CM(ack_cm_event)(event);
}

static void refuses_as_infiniband(void)
{
    refuses("1", 28, 8);
}

static void refuses_as_iwarp(void)
{
    refuses("1;transport=iwarp", -ECONNREFUSED, -ECONNREFUSED);
}

static int dial(const void *bytes, size_t length)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(!connect(fd, (struct sockaddr *)&address, sizeof address));
    CHECK_EQ(send(fd, bytes, length, 0), (long long)length);
    return fd;
}

static int take_event(void *event)
{
    return CM(get_cm_event)(channel, event);
}

static void events_are_awaited(void)
{
    struct end a = {NULL};
    struct gate_worker waiter;
    struct rdma_cm_event *event;
    begin("1");
    gate_begin(&waiter, &event, take_event);
    CHECK(gate_sleeps(&waiter));
    CHECK(!CM(create_id)(channel, &a.id, NULL, RDMA_PS_TCP));
    CHECK(!CM(resolve_addr)(a.id, NULL, (struct sockaddr *)&address, 1000));
    CHECK_EQ(gate_end(&waiter), 0);
    CHECK_EQ(event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
    CM(ack_cm_event)(event);
    CHECK_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
    CHECK(CM(get_cm_event)(channel, &event) == -1 && errno == EAGAIN);
}

static void channels_leave_nothing(void)
{
    begin("1");
    const int before = count_descriptors();
    CM(destroy_event_channel)(CM(create_event_channel)());
    CHECK_EQ(count_descriptors(), before);
}

/* Anybody may connect by TCP: what is no request, or not yet one, raises no event. */
static void strangers_are_ignored(void)
{
    struct end a = {NULL}, b = {NULL};
    static const char junk[4096] = {1, 2, 3};
    begin("1");
    const int silent = dial(junk, 1), loud = dial(junk, sizeof junk), brief = dial(junk, 10);
    close(brief);
    join_ends(&a, &b, false);
    char byte;
    CHECK(recv(loud, &byte, 1, 0) <= 0); /* the connection was closed */
    close(silent);
    close(loud);
}

/* Tests silent connections: the latest are kept, until the listener goes. */
static void silent_strangers_are_few(void)
{
    enum { STRANGERS = 200, KEPT = 64 };
    struct end a = {NULL}, b = {NULL};
    struct rdma_cm_event *event;
    int stranger[STRANGERS];
    begin("1");
    const int before = count_descriptors(), flags = fcntl(channel->fd, F_GETFL);
    CHECK_EQ(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
    for (int i = 0; i < STRANGERS; i++) {
        stranger[i] = dial("x", 1);
        CHECK(CM(get_cm_event)(channel, &event) == -1 && errno == EAGAIN);
    }
    CHECK_EQ(count_descriptors(), before + STRANGERS + KEPT);
    CHECK_EQ(fcntl(channel->fd, F_SETFL, flags), 0);
    join_ends(&a, &b, false);
    const int with_both = count_descriptors();
    CHECK(!CM(destroy_id)(listener));
    /* KEPT - 1 were kept, as the request came by a connection too; and the listener has a
     * descriptor. */
    CHECK_EQ(count_descriptors(), with_both - (KEPT - 1) - 1);
    for (int i = 0; i < STRANGERS; i++) close(stranger[i]);
}

static void wrong_order_is_refused(void)
{
    struct end a = {NULL};
    begin("1");
    CHECK(!CM(create_id)(channel, &a.id, NULL, RDMA_PS_TCP));
    struct rdma_conn_param p = parameters(&a, "hello");
    CHECK(CM(resolve_route)(a.id, 1000) && errno == EINVAL);
    CHECK(CM(connect)(a.id, &p) && errno == EINVAL);
    CHECK(CM(accept)(a.id, &p) && errno == EINVAL);
    CHECK(CM(reject)(a.id, NULL, 0) && errno == EINVAL);
    CHECK(CM(establish)(a.id) && errno == EINVAL);
    struct sockaddr_in other = {.sin_family = AF_INET, .sin_addr = {htonl(0xc0000201)}};
    CHECK(CM(bind_addr)(a.id, (struct sockaddr *)&other) && errno == EADDRNOTAVAIL);
    CHECK(!softhca_rdmacm("rdma_create_ep"));
    call(&a);
    p.private_data_len = 57;
    CHECK(CM(connect)(a.id, &p) && errno == EINVAL); /* a second time */
}

void manager_rules(void)
{
    check(run_alone(connects_infiniband), "the connection manager connects queue pairs");
    check(run_alone(connects_roce), "and those of RoCE, by their GIDs");
    check(
        run_alone(iwarp_keeps_its_rules),
        "iWARP: the calling end sends first; no immediate data, no atomics, reads into one piece");
    check(run_alone(iwarp_reads_into_what_peers_may_write),
          "iWARP: memory that is read into may be written by peers");
    check(run_alone(refuses_as_infiniband), "a refusal has InfiniBand's reason, and private data");
    check(run_alone(refuses_as_iwarp), "on iWARP an errno");
    check(run_alone(events_are_awaited), "an event is awaited, unless the channel does not block");
    check(run_alone(channels_leave_nothing), "a channel leaves no descriptor behind");
    check(run_alone(strangers_are_ignored), "TCP connections that are no requests are closed");
    check(run_alone(silent_strangers_are_few), "few that say nothing are kept");
    check(run_alone(wrong_order_is_refused), "calls in the wrong order are EINVAL");
}
