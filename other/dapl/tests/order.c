/* order.c - the order of an endpoint's events: connection, transfers, disconnection (R21, R22), on
 * one EVD and on several, with completions that the device delays or brings early. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "other/dapl/tests/mock.h"

/* The next calls of realloc that fail, in any thread (linked with --wrap=realloc). */
static _Atomic int refusals;
static _Atomic int refused;

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
    if (atomic_load(&refused) == atomic_load(&refusals)) return __real_realloc(memory, size);
    refused++;
    return NULL;
}

/* An endpoint: its EVDs, its queues, and the sentinels of its flush, which the test completes when
 * it likes. */
typedef struct endpoint {
    dapl_evd_t *request, *receive, *connection;
    dapl_link_t *link;
    dapl_work_queue_t *requests, *receives;
    dapl_work_t *sentinels[2];
    int wanted; /* sentinels; -1: the flush fails */
} endpoint_t;

static int flush(void *arg)
{
    endpoint_t *ep = arg;
    dapl_work_queue_t *const queues[] = {ep->requests, ep->receives};
    for (int i = 0; i < ep->wanted; i++) {
        ep->sentinels[i] = dapl_work_take(queues[i]);
        ep->sentinels[i]->link = ep->link;
        ep->sentinels[i]->flags = DAPL_WORK_SENTINEL;
    }
    return ep->wanted;
}

static void endpoint_open(endpoint_t *ep, dapl_evd_t *request, dapl_evd_t *receive,
                          dapl_evd_t *connection)
{
    *ep =
        (endpoint_t){.request = request, .receive = receive, .connection = connection, .wanted = 2};
    dapl_link_attr_t attr = {.ep_handle = (DAT_EP_HANDLE)ep,
                             .request = request,
                             .receive = receive,
                             .connection = connection,
                             .flush = flush,
                             .arg = ep,
                             .receives = 4};
    check_each(dapl_link_create(&attr, &ep->link) == DAT_SUCCESS, "link");
    dapl_work_queue_create(16, &ep->requests);
    dapl_work_queue_create(16, &ep->receives);
}

static void endpoint_close(endpoint_t *ep)
{
    dapl_link_free(ep->link);
    dapl_work_queue_free(ep->requests);
    dapl_work_queue_free(ep->receives);
}

static dapl_work_t *work_of(endpoint_t *ep, bool receive, uint64_t cookie)
{
    dapl_work_t *work = dapl_work_take(receive ? ep->receives : ep->requests);
    work->link = ep->link;
    work->flags = receive ? DAPL_WORK_RECEIVE : 0;
    work->event.operation = receive ? DAT_DTO_RECEIVE : DAT_DTO_SEND;
    work->event.user_cookie.as_64 = cookie;
    return work;
}

static void received(endpoint_t *ep, uint64_t cookie)
{
    mock_complete(ep->receive, work_of(ep, true, cookie), IBV_WC_SUCCESS);
}

static void sentinel(endpoint_t *ep, int which)
{
    mock_complete(which ? ep->receive : ep->request, ep->sentinels[which], IBV_WC_WR_FLUSH_ERR);
}

static bool next_is(dapl_evd_t *evd, unsigned number, uint64_t cookie)
{
    DAT_EVENT event;
    if (dapl_evd_dequeue(evd, &event) != DAT_SUCCESS) return number == 0;
    if ((unsigned)event.event_number != number) return false;
    return number != DAT_DTO_COMPLETION_EVENT || number_of(&event) == cookie;
}

enum {
    NONE = 0,
    DTO = DAT_DTO_COMPLETION_EVENT,
    UP = DAT_CONNECTION_EVENT_ESTABLISHED,
    DOWN = DAT_CONNECTION_EVENT_DISCONNECTED
};

/* Everything on one EVD. */
static void together(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, 64, NULL);
    endpoint_t ep;
    endpoint_open(&ep, evd, evd, evd);
    for (int round = 0; round < 3; round++) {
        received(&ep, 1);
        received(&ep, 2);
        check_each(next_is(evd, NONE, 0), "a receive came before its connection event");
        check_each(dapl_link_established(ep.link, 0, NULL) == DAT_SUCCESS, "established");
        received(&ep, 3);
        check_each(next_is(evd, UP, 0), "the connection event is not first");
        for (uint64_t i = 1; i <= 3; i++) check_each(next_is(evd, DTO, i), "receive %d", (int)i);
        mock_complete(evd, work_of(&ep, false, 4), IBV_WC_SUCCESS);
        dapl_work_t *late_receive = work_of(&ep, true, 5), *late_send = work_of(&ep, false, 6);
        check_each(dapl_link_disconnected(ep.link, DAT_CONNECTION_EVENT_DISCONNECTED) ==
                       DAT_SUCCESS,
                   "disconnected");
        mock_complete(evd, late_receive, IBV_WC_SUCCESS);
        if (round & 1) mock_complete(evd, late_send, IBV_WC_WR_FLUSH_ERR);
        sentinel(&ep, !(round & 1));
        check_each(next_is(evd, DTO, 4) && next_is(evd, DTO, 5), "before the last sentinel");
        if (round & 1) check_each(next_is(evd, DTO, 6), "before the last sentinel");
        check_each(next_is(evd, NONE, 0), "the disconnection came before the last sentinel");
        if (!(round & 1)) mock_complete(evd, late_send, IBV_WC_WR_FLUSH_ERR);
        sentinel(&ep, round & 1);
        if (!(round & 1))
            check_each(next_is(evd, DTO, 6),
                       "a transfer that failed comes before the disconnection");
        check_each(next_is(evd, DOWN, 0) && next_is(evd, NONE, 0), "the disconnection is last");
        check_each(dapl_work_used(ep.requests) == 0 && dapl_work_used(ep.receives) == 0,
                   "all work is retired");
        check_each(dapl_link_disconnected(ep.link, DAT_CONNECTION_EVENT_BROKEN) != DAT_SUCCESS,
                   "a second end");
        dapl_link_reset(ep.link);
    }
    check_all(
        "R21 R22 U17 one EVD: connection, transfers, disconnection, in each of three connections");
    check(dapl_evd_free(evd) == ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
          "R1 an EVD of a link is in use");

    /* A wait sees the events of the splice, and counts them. */
    DAT_EVENT event;
    DAT_COUNT nmore;
    received(&ep, 1);
    check(dapl_evd_wait(evd, 0, 1, &event, &nmore) == BARE(DAT_TIMEOUT_EXPIRED) && nmore == 0,
          "R21 what is held is not counted");
    dapl_link_established(ep.link, 0, NULL);
    check(dapl_evd_wait(evd, DAT_TIMEOUT_INFINITE, 2, &event, &nmore) == DAT_SUCCESS &&
              nmore == 1 && event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED,
          "R21 with the connection event it is");
    endpoint_close(&ep);
    dapl_evd_free(evd);
}

/* A connection ends, and all of it is queued. */
static void ends(endpoint_t *ep)
{
    DAT_EVENT event;
    DAT_COUNT nmore;
    dapl_link_disconnected(ep->link, DAT_CONNECTION_EVENT_DISCONNECTED);
    sentinel(ep, 0);
    sentinel(ep, 1);
    check_each(dapl_evd_wait(ep->connection, 0, 9, &event, &nmore) == BARE(DAT_TIMEOUT_EXPIRED),
               "all is queued");
}

/* The endpoint is reset, or freed, while events of its last connection are still queued. */
static void again(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, 64, NULL);
    endpoint_t ep;
    DAT_EVENT event;
    char data[7];
    endpoint_open(&ep, evd, evd, evd);
    dapl_link_established(ep.link, 0, NULL);
    check_each(next_is(evd, UP, 0), "the first connection");
    received(&ep, 1);
    ends(&ep);
    dapl_link_reset(ep.link);
    dapl_link_established(ep.link, sizeof data, data);
    check(next_is(evd, DTO, 1) && next_is(evd, DOWN, 0),
          "R16 R22 the end of a connection comes before the next one of the endpoint");
    const DAT_CONNECTION_EVENT_DATA *of = &event.event_data.connect_event_data;
    check(dapl_evd_dequeue(evd, &event) == DAT_SUCCESS && (unsigned)event.event_number == UP &&
              of->private_data == data && of->private_data_size == sizeof data,
          "R16 which has its private data");
    ends(&ep);
    endpoint_close(&ep);
    check(dapl_evd_dequeue(evd, &event) == DAT_SUCCESS && (unsigned)event.event_number == DOWN &&
              of->ep_handle == (DAT_EP_HANDLE)&ep,
          "R16 a disconnection that is queued survives its link");
    dapl_evd_free(evd);
}

/* Transfers, connections and receives on EVDs of their own. */
static void apart(world_t *world)
{
    dapl_evd_t *request = evd_of(world, DAT_EVD_DTO_FLAG, 64, NULL),
               *receive = evd_of(world, DAT_EVD_DTO_FLAG, 64, NULL);
    dapl_evd_t *connection = evd_of(world, DAT_EVD_CONNECTION_FLAG, 4, NULL);
    dapl_cno_t *cno = cno_of(world);
    endpoint_t ep;
    endpoint_open(&ep, request, receive, connection);
    received(&ep, 1);
    check(next_is(receive, NONE, 0) && next_is(connection, NONE, 0),
          "R21 early data is not visible");
    dapl_evd_modify_cno(receive, cno);
    dapl_link_established(ep.link, 0, NULL);
    dapl_evd_t *told;
    check(dapl_cno_wait(cno, DAT_TIMEOUT_INFINITE, &told) == DAT_SUCCESS && told == receive,
          "R21 it triggers the CNO when the connection event is queued");
    check(next_is(connection, UP, 0) && next_is(receive, DTO, 1), "R21 ... and is then visible");

    /* Nobody polls the EVDs of transfers. */
    mock_complete(request, work_of(&ep, false, 2), IBV_WC_SUCCESS);
    dapl_link_disconnected(ep.link, DAT_CONNECTION_EVENT_DISCONNECTED);
    check(next_is(connection, NONE, 0), "R22 no disconnection before the sentinels");
    received(&ep, 3);
    sentinel(&ep, 1);
    DAT_EVENT event;
    DAT_COUNT nmore;
    check(dapl_evd_wait(connection, 2000, 1, &event, &nmore) == BARE(DAT_TIMEOUT_EXPIRED),
          "R22 nor after one of two, U18 and a device that loses one keeps nobody busy");
    sentinel(&ep, 0);
    check(dapl_evd_wait(connection, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS &&
              event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
          "R22 it is queued once the last was seen, though nobody polls the other EVDs");
    check(mock_holds(request) == 0 && mock_holds(receive) == 0,
          "R22 every completion can be dequeued by then");
    check(next_is(request, DTO, 2) && next_is(receive, DTO, 3), "R22 ... and is");
    endpoint_close(&ep);
    dapl_evd_free(request);
    dapl_evd_free(receive);
    dapl_evd_free(connection);
    dapl_cno_free(cno);
}

/* The consumer of the transfers finds the sentinels behind several of them, in one poll. */
static void behind_others(world_t *world)
{
    dapl_evd_t *transfers = evd_of(world, DAT_EVD_DTO_FLAG, 64, NULL);
    dapl_evd_t *connection = evd_of(world, DAT_EVD_CONNECTION_FLAG, 4, NULL);
    for (int round = 0; round < 100; round++) {
        endpoint_t ep;
        DAT_EVENT event;
        DAT_COUNT nmore;
        endpoint_open(&ep, transfers, transfers, connection);
        dapl_link_open(ep.link);
        dapl_work_t *works[] = {work_of(&ep, true, 1), work_of(&ep, false, 2)};
        dapl_link_disconnected(ep.link, DAT_CONNECTION_EVENT_DISCONNECTED);
        for (int i = 0; i < 2; i++) mock_complete(transfers, works[i], IBV_WC_SUCCESS);
        for (int i = 0; i < 2; i++) sentinel(&ep, i);
        check_each(next_is(transfers, DTO, 1) && next_is(transfers, DTO, 2) &&
                       next_is(transfers, NONE, 0),
                   "the transfers");
        check_each(dapl_evd_wait(connection, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) ==
                           DAT_SUCCESS &&
                       event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
                   "the disconnection");
        endpoint_close(&ep);
    }
    check_all("R22 the disconnection is queued by whoever dequeues the transfers before it");
    dapl_evd_free(transfers);
    dapl_evd_free(connection);
}

/* The connection event shares the EVD of one queue, and the last sentinel comes on the other. */
static void half(world_t *world)
{
    dapl_evd_t *shared = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, 64, NULL);
    dapl_evd_t *receive = evd_of(world, DAT_EVD_DTO_FLAG, 64, NULL);
    endpoint_t ep;
    endpoint_open(&ep, shared, receive, shared);
    dapl_link_established(ep.link, 0, NULL);
    check(next_is(shared, UP, 0), "R21 connected");
    mock_complete(shared, work_of(&ep, false, 1), IBV_WC_SUCCESS);
    dapl_link_disconnected(ep.link, DAT_CONNECTION_EVENT_DISCONNECTED);
    sentinel(&ep, 0);
    sentinel(&ep, 1);
    check(next_is(receive, NONE, 0), "R22 the last sentinel is seen on the other EVD");
    check(next_is(shared, DTO, 1) && next_is(shared, DOWN, 0),
          "R22 the disconnection is behind the transfers");
    endpoint_close(&ep);
    dapl_evd_free(shared);
    dapl_evd_free(receive);
}

/* Tests that memory is short for the receives that were held. */
static void starved(world_t *world)
{
    enum { MANY = 500 };
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 2 * MANY, NULL);
    dapl_work_t *works = calloc(MANY, sizeof *works);
    endpoint_t ep;
    DAT_EVENT event;
    DAT_COUNT nmore;
    endpoint_open(&ep, NULL, evd, NULL);
    for (uint64_t i = 0; i < MANY; i++) {
        works[i] = (dapl_work_t){
            .link = ep.link, .flags = DAPL_WORK_RECEIVE, .event.user_cookie.as_64 = i};
        mock_complete(evd, &works[i], IBV_WC_SUCCESS);
    }
    check(next_is(evd, NONE, 0), "R21 many receives are held");
    refusals = refused + 3;
    dapl_link_open(ep.link);
    for (uint64_t i = 0; i < MANY; i++)
        check_each(dapl_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS &&
                       number_of(&event) == i,
                   "receive %d", (int)i);
    check_all("R21 ... and none is lost where there is no memory for them at first");
    check(refused == refusals, "R21 ... %d times", refused);
    endpoint_close(&ep);
    free(works);
    dapl_evd_free(evd);
}

/* Receives of several endpoints come from one shared queue, and name only the queue pair. */
static void shared_receives(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 64, NULL),
               *connection = evd_of(world, DAT_EVD_CONNECTION_FLAG, 8, NULL);
    static dapl_work_t works[4];
    endpoint_t eps[2];
    DAT_EVENT event;
    for (int i = 0; i < 2; i++) {
        eps[i] = (endpoint_t){.request = evd, .receive = evd, .wanted = 1};
        dapl_link_attr_t attr = {.ep_handle = (DAT_EP_HANDLE)&eps[i],
                                 .request = evd,
                                 .receive = evd,
                                 .connection = connection,
                                 .flush = flush,
                                 .arg = &eps[i],
                                 .receives = 4,
                                 .shared_receive = true,
                                 .qp_num = 100u + (unsigned)i};
        dapl_link_create(&attr, &eps[i].link);
        dapl_work_queue_create(4, &eps[i].requests);
    }
    for (int i = 0; i < 4; i++)
        works[i] =
            (dapl_work_t){.flags = DAPL_WORK_RECEIVE, .event.user_cookie.as_64 = (uint64_t)i};
    mock_complete_as(evd, &works[0], IBV_WC_SUCCESS, false, 101);
    mock_complete_as(evd, &works[1], IBV_WC_SUCCESS, false, 100);
    dapl_link_established(eps[0].link, 0, NULL);
    check(next_is(connection, UP, 0) && dapl_evd_dequeue(evd, &event) == DAT_SUCCESS &&
              number_of(&event) == 1 &&
              event.event_data.dto_completion_event_data.ep_handle == (DAT_EP_HANDLE)&eps[0],
          "R21 of a shared receive queue the receives of the connected endpoint pass");
    check(next_is(evd, NONE, 0), "R21 ... and no others");
    dapl_link_established(eps[1].link, 0, NULL);
    check(next_is(connection, UP, 0) && next_is(evd, DTO, 0), "R21 until it is connected too");
    mock_complete_as(evd, &works[2], IBV_WC_SUCCESS, false, 100);
    dapl_link_disconnected(eps[0].link, DAT_CONNECTION_EVENT_DISCONNECTED);
    check(next_is(connection, NONE, 0), "R22 the send queue's sentinel is awaited");
    mock_complete(evd, eps[0].sentinels[0], IBV_WC_WR_FLUSH_ERR);
    check(next_is(evd, DTO, 2) && next_is(evd, NONE, 0) && next_is(connection, DOWN, 0),
          "R22 the disconnection follows what the shared queue brought");
    for (int i = 0; i < 2; i++) {
        dapl_link_free(eps[i].link);
        dapl_work_queue_free(eps[i].requests);
    }
    dapl_evd_free(evd);
    dapl_evd_free(connection);
}

/* Nothing tells the end of the receives but the connection's end, which has the same EVD. */
static void shared_receives_alone(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, 64, NULL);
    dapl_work_t work = {.flags = DAPL_WORK_RECEIVE, .event.user_cookie.as_64 = 7};
    endpoint_t ep = {.receive = evd, .connection = evd};
    const dapl_link_attr_t attr = {.ep_handle = (DAT_EP_HANDLE)&ep,
                                   .receive = evd,
                                   .connection = evd,
                                   .flush = flush,
                                   .arg = &ep,
                                   .receives = 4,
                                   .shared_receive = true,
                                   .qp_num = 100};
    dapl_link_create(&attr, &ep.link);
    dapl_link_established(ep.link, 0, NULL);
    mock_complete_as(evd, &work, IBV_WC_SUCCESS, false, 100);
    dapl_link_disconnected(ep.link, DAT_CONNECTION_EVENT_DISCONNECTED);
    check(next_is(evd, UP, 0) && next_is(evd, DTO, 7) && next_is(evd, DOWN, 0),
          "R22 a receive of a shared queue precedes a disconnection without sentinels");
    dapl_link_free(ep.link);
    dapl_evd_free(evd);
}

/* Endings without a connection, without sentinels, and with a full queue. */
static void odd_ends(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 64, NULL);
    dapl_evd_t *connection =
        evd_of(world, DAT_EVD_CONNECTION_FLAG | DAT_EVD_SOFTWARE_FLAG, 2, NULL);
    endpoint_t ep;
    endpoint_open(&ep, evd, evd, connection);
    mock_complete(evd, work_of(&ep, true, 9), IBV_WC_WR_FLUSH_ERR);
    check(next_is(evd, DTO, 9), "R21 a receive that failed without a connection is not held");
    received(&ep, 10);
    check(next_is(evd, NONE, 0), "R21 one that succeeded is");
    ep.wanted = -1;
    dapl_link_disconnected(ep.link, DAT_CONNECTION_EVENT_BROKEN);
    check(next_is(evd, DTO, 10) && next_is(connection, DAT_CONNECTION_EVENT_BROKEN, 0),
          "R22 a connection that breaks before its event lets it go, and a failed flush ends at "
          "once");
    dapl_link_reset(ep.link);
    post_number(connection, 1);
    post_number(connection, 2);
    check(dapl_link_established(ep.link, 0, NULL) == ERR(DAT_QUEUE_FULL, 0),
          "R20 a full queue refuses the connection");
    DAT_EVENT event;
    dapl_evd_dequeue(connection, &event);
    check(dapl_link_established(ep.link, 0, NULL) == DAT_SUCCESS, "R20 ... and takes it later");
    dapl_link_disconnected(ep.link, DAT_CONNECTION_EVENT_DISCONNECTED);
    DAT_COUNT nmore;
    dapl_evd_dequeue(connection, &event);
    dapl_evd_dequeue(connection, &event);
    check(
        dapl_evd_wait(connection, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS &&
            event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
        "R20 R22 a disconnection that finds its queue full is queued as soon as there is a place");
    endpoint_close(&ep);
    dapl_evd_free(evd);
    dapl_evd_free(connection);
}

/* Every n-th send has a completion. */
static void every_nth(world_t *world)
{
    dapl_cno_t *cno = cno_of(world);
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 64, cno), *told;
    endpoint_t ep;
    endpoint_open(&ep, evd, NULL, NULL);
    int events = 0, wakes = 0;
    for (int i = 0; i < 4 * 100; i++) {
        dapl_work_t *work = work_of(&ep, false, (uint64_t)i);
        check_each(work != NULL, "no place for send %d", i);
        if (i % 4 != 3) continue; /* suppressed: the device gives no completion */
        mock_complete(evd, work, IBV_WC_SUCCESS);
        while (dapl_cno_wait(cno, 0, &told) == DAT_SUCCESS) wakes++;
        while (next_is(evd, DTO, (uint64_t)i) && dapl_work_used(ep.requests)) events++;
        check_each(dapl_work_used(ep.requests) == 0, "retired");
    }
    dapl_work_t *work = work_of(&ep, false, 1);
    work->flags = DAPL_WORK_SUPPRESS;
    mock_complete(evd, work, IBV_WC_SUCCESS);
    check_each(next_is(evd, NONE, 0) && dapl_work_used(ep.requests) == 0,
               "a suppressed success has an event");
    work = work_of(&ep, false, 2);
    work->flags = DAPL_WORK_SUPPRESS;
    mock_complete(evd, work, IBV_WC_RETRY_EXC_ERR);
    check_each(next_is(evd, DTO, 2), "a suppressed failure has none");
    dapl_work_t alone = {.flags = DAPL_WORK_SUPPRESS, .event.ep_handle = (DAT_EP_HANDLE)&ep};
    DAT_EVENT event;
    mock_complete(evd, &alone, IBV_WC_RETRY_EXC_ERR);
    check_each(dapl_evd_dequeue(evd, &event) == DAT_SUCCESS &&
                   event.event_data.dto_completion_event_data.ep_handle == (DAT_EP_HANDLE)&ep,
               "a failure without a link has another endpoint than its record");
    check_all("R43 one event for four sends, a suppressed one only if it fails");
    check(wakes == 100, "R43 one wake for each");
    check_note("%d wakes", wakes);
    endpoint_close(&ep);
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

int main(int argc, char **argv)
{
    world_t world;
    check_begin(argc, argv);
    for (mock_kind_t kind = MOCK_EDGE; kind <= MOCK_LEVEL; kind++) {
        world_open_with(&world, kind, false);
        together(&world);
        again(&world);
        apart(&world);
        behind_others(&world);
        half(&world);
        starved(&world);
        shared_receives(&world);
        shared_receives_alone(&world);
        odd_ends(&world);
        every_nth(&world);
        world_close(&world);
    }
    return check_end();
}
