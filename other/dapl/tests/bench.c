/* bench.c - measurements of event objects for bench.sh: those of other/dapl through
 * its provider, those of stock uDAPL, and bare verbs, on the same device.
 *
 *   dapl wake KIND PATH N        N wakes of a thread that sleeps on PATH, evd or cno; prints the
 *                                median in nanoseconds, then voluntary switches of the process
 *                                without the producer
 *   dapl trace KIND PATH N       the same between two calls of getsid, and prints the producer's
 *                                thread
 *   dapl count KIND OPERATION N  N times OPERATION within counted()
 *   dapl memory KIND N           bytes of heap, descriptors and threads of N EVDs of 256 events
 *
 * KIND is the name of an IA, `own` or `stock`, or `bare`. A producer sends a message of 8 bytes
 * over a queue pair of this process; receives complete on the EVD that is measured. Stock uDAPL
 * connects its endpoints itself. The provider of other/dapl cannot yet: its EVD gets the
 * completions of a queue pair that is connected here.
 */
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "other/dapl/include/dapl_verbs.h"
#include "tests/descriptors.h"

enum { RECEIVES = 32, QLEN = 256, SIZE = 8, GAP_NS = 60000, SIGNAL_EVERY = 8 };

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) fprintf(stderr, "dapl: line %d: %s\n", __LINE__, #condition), exit(1);   \
    } while (0)
#define DAT(call) MUST((call) == DAT_SUCCESS)

static enum { OWN, STOCK, BARE } kind;
static const char *const kinds[] = {"own", "stock", "bare"};

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_CNO_HANDLE cno;
static DAT_EVD_HANDLE evd; /* the EVD that is measured */

static struct ibv_context *context; /* of own and bare */
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq, *send_cq;
static struct ibv_qp *from, *to;
static struct ibv_mr *mr;
static dapl_link_t *link_to;
static dapl_work_queue_t *ring, *sends; /* of the receives, and of the requests that complete */

static DAT_EP_HANDLE from_ep, to_ep; /* of stock */
static DAT_EVD_HANDLE sent_evd;      /* of own too */
static DAT_LMR_CONTEXT key;
static DAT_RMR_CONTEXT remote;

static char buffer[4096] __attribute__((aligned(4096)));
static unsigned sent;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* ---- A queue pair on the completion queue of an EVD, or on one of its own ---- */

static void connect_qp(struct ibv_qp *qp, const struct ibv_qp *peer)
{
    struct ibv_port_attr port;
    MUST(ibv_query_port(context, 1, &port) == 0);
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    MUST(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                                .path_mtu = port.active_mtu,
                                .dest_qp_num = peer->qp_num,
                                .min_rnr_timer = 12,
                                .ah_attr = {.dlid = port.lid, .port_num = 1}};
    MUST(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
    MUST(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static struct ibv_qp *make_qp(struct ibv_cq *receives)
{
    struct ibv_qp_init_attr attr = {.send_cq = send_cq,
                                    .recv_cq = receives,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 2 * SIGNAL_EVERY,
                                            .max_recv_wr = RECEIVES,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    MUST(qp);
    return qp;
}

static void open_pair(void)
{
    pd = ibv_alloc_pd(context);
    if (!send_cq) send_cq = ibv_create_cq(context, 4 * SIGNAL_EVERY, NULL, NULL, 0);
    MUST(pd && send_cq);
    mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    MUST(mr);
    from = make_qp(send_cq);
    to = make_qp(cq);
    connect_qp(from, to);
    connect_qp(to, from);
}

static void open_bare(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    MUST(list && list[0]);
    context = ibv_open_device(list[0]);
    MUST(context);
    ibv_free_device_list(list);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, QLEN, NULL, channel, 0);
    MUST(channel && cq);
    open_pair();
}

/* ---- Both providers ---- */

static void open_ia(void)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT(dat_ia_open((char *)(uintptr_t)kinds[kind], 8, &async, &ia));
    DAT(dat_pz_create(ia, &pz));
}

static DAT_EVD_HANDLE make_evd(DAT_EVD_FLAGS flags, DAT_CNO_HANDLE with)
{
    DAT_EVD_HANDLE made;
    DAT(dat_evd_create(ia, QLEN, with, flags, &made));
    return made;
}

static void await(DAT_EVD_HANDLE at, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
    DAT_COUNT more;
    DAT(dat_evd_wait(at, 10000000, 1, event, &more));
    MUST(event->event_number == number);
}

static DAT_EP_HANDLE make_ep(DAT_EVD_HANDLE receive, DAT_EVD_HANDLE request,
                             DAT_EVD_HANDLE connection)
{
    DAT_EP_HANDLE ep;
    DAT_EP_PARAM param;
    DAT(dat_ep_create(ia, pz, receive, request, connection, NULL, &ep));
    DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    DAT(dat_ep_free(ep));
    param.ep_attr.max_recv_dtos = RECEIVES;
    DAT(dat_ep_create(ia, pz, receive, request, connection, &param.ep_attr, &ep));
    return ep;
}

static void connect_stock(void)
{
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    DAT_IA_ATTR attr;
    DAT_LMR_HANDLE lmr;
    DAT_VLEN size;
    DAT_VADDR address;
    DAT_CONN_QUAL qualifier = 20000 + (DAT_CONN_QUAL)getpid() % 20000;
    DAT_EVD_HANDLE requests = make_evd(DAT_EVD_CR_FLAG, NULL),
                   active = make_evd(DAT_EVD_CONNECTION_FLAG, NULL);
    DAT_EVD_HANDLE passive = make_evd(DAT_EVD_CONNECTION_FLAG, NULL),
                   unused = make_evd(DAT_EVD_DTO_FLAG, NULL);
    DAT(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
    DAT(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = buffer},
                       sizeof buffer, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &key,
                       &remote, &size, &address));
    from_ep = make_ep(unused, sent_evd, active);
    to_ep = make_ep(evd, unused, passive);
    DAT(dat_psp_create(ia, qualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp));
    DAT(dat_ep_connect(from_ep, attr.ia_address_ptr, qualifier, 10000000, 0, NULL,
                       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    await(requests, DAT_CONNECTION_REQUEST_EVENT, &event);
    DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, to_ep, 0, NULL));
    await(active, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    await(passive, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static void connect_own(void)
{
    cq = dapl_verbs_cq_of(evd);
    send_cq = dapl_verbs_cq_of(sent_evd);
    context = cq->context;
    open_pair();
    dapl_link_attr_t attr = {.receive = evd, .receives = RECEIVES};
    DAT(dapl_link_create(&attr, &link_to));
    DAT(dapl_work_queue_create(RECEIVES, &ring));
    DAT(dapl_work_queue_create(SIGNAL_EVERY, &sends));
    dapl_link_open(link_to);
}

static void post_receive(void)
{
    struct ibv_recv_wr *bad, wr = {.num_sge = 1};
    if (kind == STOCK) {
        DAT_LMR_TRIPLET segment = {(DAT_VADDR)(uintptr_t)buffer, SIZE, key};
        DAT(dat_ep_post_recv(to_ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1},
                             DAT_COMPLETION_DEFAULT_FLAG));
        return;
    }
    struct ibv_sge sge = {(uintptr_t)buffer, SIZE, mr->lkey};
    wr.sg_list = &sge;
    if (kind == OWN) {
        dapl_work_t *work = dapl_work_take(ring);
        MUST(work);
        work->link = link_to;
        work->event =
            (DAT_DTO_COMPLETION_EVENT_DATA){.user_cookie.as_64 = 1, .operation = DAT_DTO_RECEIVE};
        work->flags = DAPL_WORK_RECEIVE;
        wr.wr_id = (uintptr_t)work;
    }
    MUST(!ibv_post_recv(to, &wr, &bad));
}

static void post_stock(bool write, bool signalled)
{
    DAT_LMR_TRIPLET segment = {(DAT_VADDR)(uintptr_t)buffer + 2048, SIZE, key};
    const DAT_DTO_COOKIE cookie = {.as_64 = 1};
    DAT_COMPLETION_FLAGS flags =
        signalled ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG;
    const DAT_RMR_TRIPLET there = {(DAT_VADDR)(uintptr_t)buffer + 1024, SIZE, remote};
    if (write)
        DAT(dat_ep_post_rdma_write(from_ep, 1, &segment, cookie, &there, flags));
    else
        DAT(dat_ep_post_send(from_ep, 1, &segment, cookie, flags));
}

static uint64_t send_record(bool write)
{
    dapl_work_t *work = dapl_work_take(sends);
    MUST(work);
    work->link = link_to;
    work->event = (DAT_DTO_COMPLETION_EVENT_DATA){
        .user_cookie.as_64 = 1,
        .transfered_length = SIZE,
        .operation = write ? DAT_DTO_RDMA_WRITE : DAT_DTO_SEND,
    };
    work->flags = 0;
    return (uintptr_t)work;
}

/* A send, or a write of as many bytes. */
static void post_request(bool write, bool signalled)
{
    if (kind == STOCK) {
        post_stock(write, signalled);
        return;
    }
    struct ibv_sge sge = {(uintptr_t)buffer + 2048, SIZE, mr->lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = kind == OWN && signalled ? send_record(write) : 0,
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
                                   .send_flags = signalled ? IBV_SEND_SIGNALED : 0,
                                   .wr.rdma = {(uintptr_t)buffer + 1024, mr->rkey}};
    MUST(!ibv_post_send(from, &wr, &bad));
}

static bool request_done(void)
{
    DAT_EVENT event;
    struct ibv_wc wc;
    return kind == BARE ? ibv_poll_cq(send_cq, 1, &wc) == 1
                        : dat_evd_dequeue(sent_evd, &event) == DAT_SUCCESS;
}

/* Every eighth is signalled, and its completion taken.  */
static void post_send(void)
{
    bool signalled = ++sent % SIGNAL_EVERY == 0;
    post_request(false, signalled);
    while (signalled && !request_done()) sched_yield();
}

static void open_all(bool with_cno, DAT_EVD_FLAGS flags)
{
    if (kind == BARE)
        open_bare();
    else {
        open_ia();
        if (with_cno) DAT(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
        evd = make_evd(flags, cno);
        if (!(flags & DAT_EVD_DTO_FLAG)) return;
        sent_evd = make_evd(DAT_EVD_DTO_FLAG, NULL);
        if (kind == OWN) connect_own();
        if (kind == STOCK) connect_stock();
    }
    for (int at = 0; at < RECEIVES; at++) post_receive();
}

/* ---- Waking ---- */

static atomic_int ready; /* the wake that the waiter is about to wait for */
static _Atomic int64_t stamp;
static atomic_long producer_switches;
static int wakes;

static long switches(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return usage.ru_nvcsw;
}

static void pin(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set); /* a wish */
}

static void *produce(void *print)
{
    pin(1);
    if (print) fprintf(stderr, "producer %ld\n", syscall(SYS_gettid));
    long before = switches(RUSAGE_THREAD);
    for (int wake = 1; wake <= wakes; wake++) {
        while (atomic_load(&ready) < wake) __builtin_ia32_pause();
        int64_t until = now() + GAP_NS;
        while (now() < until) __builtin_ia32_pause();
        atomic_store(&stamp, now());
        post_send();
    }
    atomic_store(&producer_switches, switches(RUSAGE_THREAD) - before);
    return NULL;
}

static void wait_bare(void)
{
    struct ibv_wc wc;
    while (ibv_poll_cq(cq, 1, &wc) == 0) {
        void *of;
        struct ibv_cq *fired;
        struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
        MUST(!ibv_req_notify_cq(cq, 0));
        if (ibv_poll_cq(cq, 1, &wc)) return;
        MUST(poll(&fd, 1, -1) == 1);
        MUST(!ibv_get_cq_event(channel, &fired, &of));
        ibv_ack_cq_events(cq, 1);
    }
}

static void wait_once(void)
{
    DAT_EVENT event;
    DAT_COUNT more;
    DAT_EVD_HANDLE triggered;
    if (kind == BARE)
        wait_bare();
    else if (!cno)
        DAT(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
    else
        while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
            DAT(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &triggered));
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void wake(const char *path, bool trace)
{
    pthread_t producer;
    int64_t *latency = calloc((size_t)wakes, sizeof *latency);
    open_all(strcmp(path, "cno") == 0, DAT_EVD_DTO_FLAG);
    pin(0);
    MUST(latency && pthread_create(&producer, NULL, produce, trace ? &ready : NULL) == 0);
    long before = switches(RUSAGE_SELF);
    if (trace) getsid(0);
    for (int at = 0; at < wakes; at++) {
        atomic_store(&ready, at + 1);
        wait_once();
        latency[at] = now() - atomic_load(&stamp);
        post_receive();
    }
    if (trace) getsid(0);
    long after = switches(RUSAGE_SELF);
    pthread_join(producer, NULL);
    long other = after - before - atomic_load(&producer_switches);
    qsort(latency, (size_t)wakes, sizeof *latency, by_value);
    printf("%ld %.3f\n", (long)latency[wakes / 2], (double)other / wakes);
    free(latency);
}

/* ---- Instructions ---- */

enum operation { NOTHING, DEQUEUE, DEQUEUE_SENT, POST };

__attribute__((noinline)) static DAT_RETURN counted(enum operation operation, DAT_EVENT *event)
{
    switch (operation) {
    case DEQUEUE:
        return dat_evd_dequeue(evd, event);
    case DEQUEUE_SENT:
        return dat_evd_dequeue(sent_evd, event);
    case POST:
        return dat_evd_post_se(evd, event);
    default:
        return DAT_SUCCESS;
    }
}

static bool is(const char *operation, const char *name)
{
    return strcmp(operation, name) == 0;
}

/* Messages arrive, `burst` before the first dequeue. */
static void count_receives(int burst)
{
    DAT_EVENT got;
    for (int at = 0; at < burst; at++) post_send();
    for (int at = 0; at < burst; at++) DAT(counted(DEQUEUE, &got));
    for (int at = 0; at < burst; at++) post_receive();
}

static void count_requests(bool write)
{
    DAT_EVENT got;
    post_request(write, true);
    DAT(counted(DEQUEUE_SENT, &got));
    if (write) return;
    DAT(dat_evd_dequeue(evd, &got));
    post_receive();
}

static void count_posts(bool dequeues)
{
    DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT}, got;
    if (dequeues) {
        DAT(dat_evd_post_se(evd, &event));
        DAT(counted(DEQUEUE, &got));
    } else {
        DAT(counted(POST, &event));
        DAT(dat_evd_dequeue(evd, &got));
    }
}

static void count(const char *operation, int n)
{
    DAT_EVENT got;
    bool software = is(operation, "software") || is(operation, "post");
    int burst = is(operation, "burst") ? 16 : 1;
    open_all(false, software ? DAT_EVD_SOFTWARE_FLAG : DAT_EVD_DTO_FLAG);
    for (int done = 0; done < n; done += burst) {
        if (is(operation, "nothing"))
            counted(NOTHING, &got);
        else if (is(operation, "empty"))
            MUST(DAT_GET_TYPE(counted(DEQUEUE, &got)) == DAT_QUEUE_EMPTY);
        else if (software)
            count_posts(is(operation, "software"));
        else if (is(operation, "send") || is(operation, "write"))
            count_requests(is(operation, "write"));
        else
            count_receives(burst);
    }
}

/* ---- Memory ---- */

static int threads(void)
{
    int found = 0;
    char line[128];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "Threads: %d", &found);
    if (status) fclose(status);
    return found;
}

static void memory(int n)
{
    open_all(false, DAT_EVD_DTO_FLAG); /* with what all EVDs share */
    struct mallinfo2 before = mallinfo2();
    int descriptors = count_descriptors(), running = threads();
    for (int at = 0; at < n; at++) {
        if (kind != BARE)
            make_evd(DAT_EVD_DTO_FLAG, NULL);
        else {
            struct ibv_comp_channel *own = ibv_create_comp_channel(context);
            MUST(own && ibv_create_cq(context, QLEN, NULL, own, 0));
        }
    }
    struct mallinfo2 after = mallinfo2();
    size_t bytes = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
    printf("%zu %.2f %d\n", bytes / (size_t)n, (double)(count_descriptors() - descriptors) / n,
           threads() - running);
}

int main(int argc, char **argv)
{
    MUST(argc >= 4);
    while (strcmp(argv[2], kinds[kind]) != 0) MUST(++kind <= BARE);
    int n = wakes = atoi(argv[argc - 1]);
    if (strcmp(argv[1], "memory") == 0)
        memory(n);
    else if (strcmp(argv[1], "count") == 0)
        count(argv[3], n);
    else
        wake(argv[3], strcmp(argv[1], "trace") == 0);
    return 0;
}
