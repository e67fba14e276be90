/* rules_events.c - the rules of the events of an event dispatcher: their contents and streams,
 * dequeue against a reference, arming, resize, overflow. Each on a device under the test's control.
 *
 * The number in a name is a requirement (R) or a fault of uDAPL 2.1.10 (U); other/dapl/README.md
 * lists both.
 */
#include <string.h>

#include "other/dapl/tests/waiters.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { MANY_DEQUEUES = 20000 };
#else
enum { MANY_DEQUEUES = 1000000 };
#endif

static void contents(world_t *world)
{
    dapl_evd_t *evd =
        evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CR_FLAG, 8, NULL);
    dapl_evd_t *async = evd_of(world, DAT_EVD_ASYNC_FLAG, 8, NULL);
    dapl_work_t receive = {.flags = DAPL_WORK_RECEIVE,
                           .event.operation = DAT_DTO_RECEIVE,
                           .event.user_cookie.as_64 = 5};
    dapl_work_t bind = {
        .flags = DAPL_WORK_BIND, .rmr = (DAT_HANDLE)0x99, .event.user_cookie.as_64 = 6};
    DAT_EVENT event;
    memset(&event, 0xaa, sizeof event);
    complete(evd);
    dapl_evd_dequeue(evd, &event);
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
    check(event.event_number == DAT_DTO_COMPLETION_EVENT &&
              event.evd_handle == (DAT_EVD_HANDLE)evd && dto->user_cookie.as_64 == 77 &&
              dto->status == DAT_DTO_SUCCESS && dto->transfered_length == 10,
          "R8 R31 a completion as an event");
    check(dto->operation == DAT_DTO_SEND && dto->rmr_context == 0 &&
              dto->ep_handle == DAT_HANDLE_NULL,
          "U12 the fields of DAT 2.0 are filled in");
    mock_complete(evd, &receive, IBV_WC_SUCCESS);
    dapl_evd_dequeue(evd, &event);
    check(dto->operation == DAT_DTO_RECEIVE && dto->transfered_length == 64,
          "U12 a receive has its own length");
    mock_complete(evd, &plain, IBV_WC_REM_ACCESS_ERR);
    dapl_evd_dequeue(evd, &event);
    check(dto->status == DAT_DTO_ERR_REMOTE_ACCESS, "R8 the status of a failed transfer");
    mock_complete(evd, &bind, IBV_WC_SUCCESS);
    dapl_evd_dequeue(evd, &event);
    check(event.event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
              event.event_data.rmr_completion_event_data.rmr_handle == (DAT_HANDLE)0x99 &&
              event.event_data.rmr_completion_event_data.user_cookie.as_64 == 6,
          "R8 a bind as an event");
    DAT_EVENT request = {.event_number = DAT_CONNECTION_REQUEST_EVENT};
    request.event_data.cr_arrival_event_data.cr_handle = (DAT_CR_HANDLE)0x55;
    request.event_data.cr_arrival_event_data.truncate_flag = DAT_TRUE;
    dapl_evd_post(evd, &request);
    dapl_evd_dequeue(evd, &event);
    check(event.event_number == DAT_CONNECTION_REQUEST_EVENT &&
              event.evd_handle == (DAT_EVD_HANDLE)evd &&
              event.event_data.cr_arrival_event_data.truncate_flag == DAT_TRUE,
          "R8 U12 a connection request as an event, with the flag of truncation");

    mock_async(&world->device, DAT_ASYNC_ERROR_EVD_OVERFLOW, (DAT_HANDLE)evd,
               DAT_EVD_OVERFLOW_ERROR);
    mock_async(&world->device, DAT_ASYNC_ERROR_IA_CATASTROPHIC, DAT_HANDLE_NULL,
               DAT_IA_CATASTROPHIC_ERROR);
    DAT_ASYNCH_ERROR_EVENT_DATA *error = &event.event_data.asynch_error_event_data;
    check(dapl_evd_dequeue(async, &event) == DAT_SUCCESS &&
              event.event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW &&
              error->dat_handle == (DAT_HANDLE)evd && error->reason == DAT_EVD_OVERFLOW_ERROR,
          "R20 U10 U12 the overflow of a completion queue names the EVD and the reason");
    check(dapl_evd_dequeue(async, &event) == DAT_SUCCESS &&
              error->dat_handle == (DAT_HANDLE)world->ia,
          "R20 an unaffiliated event names the interface");
    check(empty(async) && empty(evd), "R20 ... once; the EVD still answers");
    dapl_evd_free(evd);
    dapl_evd_free(async);
}

static void streams(world_t *world)
{
    unsigned all = DAT_EVD_SOFTWARE_FLAG | (DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG);
    dapl_evd_t *evd = evd_of(world, all, 64, NULL);
    dapl_work_t bind = {.flags = DAPL_WORK_BIND}, works[8] = {0};
    DAT_EVENT event, request = {.event_number = DAT_CONNECTION_REQUEST_EVENT},
                     connection = {.event_number = DAT_CONNECTION_EVENT_PEER_REJECTED};
    int seen[5] = {0};
    bool ordered = true;
    for (uint64_t i = 0; i < 8; i++) {
        works[i].event.user_cookie.as_64 = i;
        mock_complete(evd, &works[i], IBV_WC_SUCCESS);
        mock_complete(evd, &bind, IBV_WC_SUCCESS);
        post_number(evd, i);
        request.event_data.cr_arrival_event_data.conn_qual = i;
        dapl_evd_post(evd, &request);
        connection.event_data.connect_event_data.private_data_size = (DAT_COUNT)i;
        dapl_evd_post(evd, &connection);
    }
    while (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) switch (event.event_number) {
        case DAT_DTO_COMPLETION_EVENT:
            ordered &= number_of(&event) == (uint64_t)seen[0]++;
            break;
        case DAT_RMR_BIND_COMPLETION_EVENT:
            seen[1]++;
            break;
        case DAT_SOFTWARE_EVENT:
            ordered &= number_of(&event) == (uint64_t)seen[2]++;
            break;
        case DAT_CONNECTION_REQUEST_EVENT:
            ordered &= event.event_data.cr_arrival_event_data.conn_qual == (DAT_CONN_QUAL)seen[3]++;
            break;
        default:
            ordered &= event.event_data.connect_event_data.private_data_size == seen[4]++;
            break;
        }
    check(ordered && seen[0] == 8 && seen[1] == 8 && seen[2] == 8 && seen[3] == 8 && seen[4] == 8,
          "R8 R34 five streams in one EVD: all events, each stream in order");
    check(dapl_evd_cq(evd) != NULL, "R9 an EVD of transfers owns a completion queue");
    dapl_evd_t *software = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 1, NULL);
    check(dapl_evd_cq(software) == NULL, "R9 one without owns none");
    dapl_evd_free(evd);
    dapl_evd_free(software);
}

static void vectors(world_t *world)
{
    int seen[4] = {0};
    for (int i = 0; i < 8; i++) {
        dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 8, NULL);
        seen[mock_of(evd)->vector]++;
        dapl_evd_free(evd);
    }
    check(seen[0] == 2 && seen[1] == 2 && seen[2] == 2 && seen[3] == 2,
          "R48 eight EVDs spread over four completion vectors");
}

/* Compares with counters of the events that each source gave and of those dequeued. */
static void model(world_t *world)
{
    dapl_cno_t *cno = cno_of(world);
    for (int round = 0; round < 40; round++) {
        dapl_evd_t *evd =
            evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 8, round & 1 ? cno : NULL);
        static dapl_work_t works[2000];
        uint64_t put[2] = {0}, got[2] = {0};
        for (int step = 0; step < 1000; step++) {
            DAT_EVENT event;
            DAT_COUNT nmore;
            uint64_t queued = put[0] + put[1] - got[0] - got[1];
            DAT_RETURN result = DAT_QUEUE_EMPTY;
            switch (check_below(5)) {
            case 0:
                works[put[0]].event.user_cookie.as_64 = put[0];
                mock_complete(evd, &works[put[0]++], IBV_WC_SUCCESS);
                break;
            case 1:
                result = post_number(evd, put[1]);
                check_each((result == DAT_SUCCESS) == (put[1] - got[1] < 8), "post at %d", step);
                put[1] += result == DAT_SUCCESS;
                continue;
            case 2:
                result = dapl_evd_wait(evd, 0, 1 + (int)check_below(3), &event, &nmore);
                if (result == DAT_SUCCESS)
                    check_each(nmore == (DAT_COUNT)queued - 1, "nmore %d", nmore);
                break;
            default:
                result = dapl_evd_dequeue(evd, &event);
                check_each((result == DAT_SUCCESS) == (queued > 0), "dequeue with %d", (int)queued);
                break;
            }
            if (result != DAT_SUCCESS) continue;
            int stream = event.event_number == DAT_SOFTWARE_EVENT;
            check_each(number_of(&event) == got[stream], "order");
            got[stream]++;
        }
        dapl_evd_free(evd);
    }
    dapl_cno_free(cno);
    check_all("R16 R17 R34 dequeue and wait against a reference queue");
}

/* ---- Completions of all kinds, in bursts, against a list of what must come out ---- */

enum kind { SEND, RECEIVE, FAILED, BIND, UNSIGNALLED, SUPPRESSED, INVALIDATING, KINDS };
enum { MIXED = 4000, IN_FLIGHT = 48 };

typedef struct mixture {
    dapl_evd_t *evd;
    dapl_link_t *link;
    dapl_work_queue_t *requests, *receives;
    enum kind due[MIXED], held[MIXED]; /* the events that must come, and receives that wait */
    uint64_t due_cookies[MIXED], held_cookies[MIXED];
    int first, last, nheld;
    bool open;
} mixture_t;

static void one_more(mixture_t *mix, uint64_t cookie)
{
    static const uint32_t flags[KINDS] = {0,
                                          DAPL_WORK_RECEIVE,
                                          0,
                                          DAPL_WORK_BIND,
                                          DAPL_WORK_UNSIGNALLED,
                                          DAPL_WORK_SUPPRESS,
                                          DAPL_WORK_RECEIVE};
    /* Most are plain, so that bursts of plain ones alone occur too. */
    enum kind kind = check_below(3) ? (enum kind)check_below(2) : (enum kind)check_below(KINDS);
    bool receives = kind == RECEIVE || kind == INVALIDATING;
    dapl_work_t *work = dapl_work_take(receives ? mix->receives : mix->requests);
    if (!work) return;
    work->link = mix->link;
    work->flags = flags[kind];
    work->rmr = (DAT_HANDLE)0x77;
    work->event = (DAT_DTO_COMPLETION_EVENT_DATA){
        .ep_handle = mix, .user_cookie.as_64 = cookie, .transfered_length = 10};
    mock_complete_full(mix->evd,
                       &(struct ibv_wc){
                           .wr_id = (uintptr_t)work,
                           .status = kind == FAILED ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS,
                           .byte_len = 64,
                           .wc_flags = kind == INVALIDATING ? IBV_WC_WITH_INV : 0,
                           .invalidated_rkey = 0x66,
                       });
    if (kind == SUPPRESSED) return;
    if (receives && !mix->open) {
        mix->held[mix->nheld] = kind;
        mix->held_cookies[mix->nheld++] = cookie;
    } else {
        mix->due[mix->last] = kind;
        mix->due_cookies[mix->last++] = cookie;
    }
}

/* Whether the event is the next one that is due. */
static bool is_due(mixture_t *mix, const DAT_EVENT *event)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
    const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind = &event->event_data.rmr_completion_event_data;
    if (mix->first == mix->last) return false;
    enum kind kind = mix->due[mix->first];
    uint64_t cookie = mix->due_cookies[mix->first++];
    if (event->evd_handle != (DAT_EVD_HANDLE)mix->evd) return false;
    if (kind == BIND)
        return event->event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
               bind->user_cookie.as_64 == cookie && bind->rmr_handle == (DAT_HANDLE)0x77 &&
               bind->status == DAT_RMR_BIND_SUCCESS;
    bool receives = kind == RECEIVE || kind == INVALIDATING;
    return event->event_number == DAT_DTO_COMPLETION_EVENT && dto->user_cookie.as_64 == cookie &&
           dto->ep_handle == (DAT_EP_HANDLE)mix &&
           dto->status == (kind == FAILED ? DAT_DTO_ERR_REMOTE_ACCESS : DAT_DTO_SUCCESS) &&
           dto->transfered_length == (receives ? 64u : 10u) &&
           dto->rmr_context == (kind == INVALIDATING ? 0x66u : 0u);
}

/* Receives that wait pass when the link opens; before, completions that the EVD has not polled are
 * polled, as the order of the two is that of the polls. */
static void open_mixture(mixture_t *mix)
{
    DAT_EVENT event;
    while (dapl_evd_dequeue(mix->evd, &event) == DAT_SUCCESS)
        check_each(is_due(mix, &event), "before the opening");
    dapl_link_open(mix->link);
    for (int i = 0; i < mix->nheld; i++) {
        mix->due[mix->last] = mix->held[i];
        mix->due_cookies[mix->last++] = mix->held_cookies[i];
    }
    mix->open = true;
}

static void mix_for(mixture_t *mix)
{
    DAT_EVENT event;
    DAT_COUNT nmore;
    for (uint64_t cookie = 0; cookie < MIXED;) {
        switch (check_below(4)) {
        case 0:
            for (uint32_t burst = 1 + check_below(24); burst && cookie < MIXED; burst--)
                one_more(mix, cookie++);
            break;
        case 1:
            if (dapl_evd_wait(mix->evd, 0, 1, &event, &nmore) == DAT_SUCCESS)
                check_each(is_due(mix, &event) && nmore == mix->last - mix->first, "wait");
            break;
        case 2:
            if (!mix->open && check_below(20) == 0) open_mixture(mix);
            break;
        default:
            for (uint32_t n = 1 + check_below(24); n; n--)
                if (dapl_evd_dequeue(mix->evd, &event) == DAT_SUCCESS)
                    check_each(is_due(mix, &event), "dequeue");
                else
                    check_each(mix->first == mix->last, "empty with %d events due",
                               mix->last - mix->first);
        }
    }
    if (!mix->open) open_mixture(mix);
    while (dapl_evd_dequeue(mix->evd, &event) == DAT_SUCCESS)
        check_each(is_due(mix, &event), "the rest");
    check_each(mix->first == mix->last, "%d events are missing", mix->last - mix->first);
    check_each(!dapl_work_used(mix->requests) && !dapl_work_used(mix->receives),
               "%d and %d records are not retired", dapl_work_used(mix->requests),
               dapl_work_used(mix->receives));
}

static void mixtures(world_t *world)
{
    static mixture_t mix;
    dapl_cno_t *cno = cno_of(world);
    for (int round = 0; round < 40; round++) {
        unsigned ring = round & 2 ? (unsigned)DAT_EVD_SOFTWARE_FLAG : 0;
        dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | ring,
                                 3 * IN_FLIGHT, round & 1 ? cno : NULL);
        dapl_link_attr_t attr = {.request = evd, .receive = evd, .receives = 4};
        mix = (mixture_t){.evd = evd};
        dapl_link_create(&attr, &mix.link);
        dapl_work_queue_create(IN_FLIGHT, &mix.requests);
        dapl_work_queue_create(IN_FLIGHT, &mix.receives);
        mix_for(&mix);
        dapl_link_free(mix.link);
        dapl_work_queue_free(mix.requests);
        dapl_work_queue_free(mix.receives);
        dapl_evd_free(evd);
    }
    dapl_cno_free(cno);
    check_all("R16 R21 R34 R43 U12 completions of all kinds in bursts, against a list");
}

static void arming(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 32, NULL);
    dapl_cno_t *cno = cno_of(world);
    for (int i = 0; i < MANY_DEQUEUES; i++) dequeue_all(evd);
    complete(evd);
    check(dequeue_all(evd) == 1 && dapl_evd_arms(evd) == 0, "R27 %d dequeues arm nothing",
          MANY_DEQUEUES);
    dapl_evd_modify_cno(evd, cno);
    check(dapl_evd_arms(evd) == 1, "R35 U3 a CNO that is attached later has the queue armed");
    for (int i = 0; i < 1000; i++) dequeue_all(evd);
    check(dapl_evd_arms(evd) == 1, "R27 ... once");
    complete(evd);
    check(told(cno, evd) && dapl_evd_arms(evd) == 1 && dequeue_all(evd) == 1 &&
              dapl_evd_arms(evd) == 2,
          "R35 the dequeue that finds it empty arms it again, for other threads that wait");
    mock_complete(evd, &plain, IBV_WC_REM_ACCESS_ERR);
    check(dequeue_all(evd) == 1 && !evd->long_way,
          "R44 after a failed transfer the next dequeue goes the short way again");
    dapl_evd_disable(evd);
    complete(evd);
    check(untriggered(cno), "R35 a disabled EVD triggers nothing");
    dapl_evd_enable(evd);
    check(told(cno, evd), "R35 enabling it with an event queued does");
    check(dequeue_all(evd) == 1, "R35 ... for an event that is there");
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

static void resizing(world_t *world)
{
    DAT_EVENT event;
    DAT_EVD_PARAM param;
    dapl_evd_t *evd = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 4, NULL);
    uint64_t put = 0, got = 0;
    while (post_number(evd, put) == DAT_SUCCESS) put++;
    const int lengths[] = {5, 7, 100, 64, 200, 16};
    for (size_t i = 0; i < 6; i++) {
        DAT_RETURN result = dapl_evd_resize(evd, lengths[i]);
        if (put - got > (uint64_t)lengths[i]) {
            check_each(result == ERR(DAT_INVALID_STATE, 0), "shrunk below what is queued");
            for (; put - got > 3 && dapl_evd_dequeue(evd, &event) == DAT_SUCCESS; got++)
                check_each(number_of(&event) == got, "order");
            result = dapl_evd_resize(evd, lengths[i]);
        }
        check_each(result == DAT_SUCCESS, "resize to %d: 0x%x", lengths[i], result);
        dapl_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
        check_each(param.evd_qlen >= lengths[i], "the length is reported");
        while (post_number(evd, put) == DAT_SUCCESS) put++;
        check_each(put - got >= (uint64_t)lengths[i], "%d events fit", (int)(put - got));
    }
    for (; dapl_evd_dequeue(evd, &event) == DAT_SUCCESS; got++)
        check_each(number_of(&event) == got, "order");
    check_each(got == put, "%d of %d came out", (int)got, (int)put);
    check_all("R36 R6 U6 growing and shrinking with events queued loses and reorders nothing");
    dapl_evd_free(evd);

    evd = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 8, NULL);
    mock_complete_many(evd, &plain, 5);
    dapl_evd_dequeue(evd, &event);
    check(dapl_evd_resize(evd, 50) == DAT_SUCCESS && dequeue_all(evd) == 4,
          "R36 U5 an EVD of transfers is resized");
    world->device.no_resize = true;
    dapl_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
    int before = param.evd_qlen;
    check(dapl_evd_resize(evd, 500) == ERR(DAT_NOT_IMPLEMENTED, 0),
          "R36 U5 a device that cannot says so");
    dapl_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
    complete(evd);
    post_number(evd, 1);
    check(param.evd_qlen == before && dequeue_all(evd) == 2, "R36 U6 ... and the EVD is unchanged");
    world->device.no_resize = false;
    dapl_evd_free(evd);
}

/* More completions than the queue has room for: none is lost, and no call is refused. */
static void overflow(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 4, NULL);
    DAT_EVENT event;
    DAT_COUNT nmore;
    mock_complete_many(evd, &plain, 1000);
    check(dapl_evd_wait(evd, 0, 1, &event, &nmore) == DAT_SUCCESS && dequeue_all(evd) == 999,
          "R20 U10 more completions than the EVD is long are dequeued, and the EVD answers");
    dapl_evd_free(evd);
}

int main(int argc, char **argv)
{
    world_t world;
    check_begin(argc, argv);
    for (mock_kind_t kind = MOCK_EDGE; kind <= MOCK_LEVEL; kind++) {
        world_open_with(&world, kind, false);
        contents(&world);
        streams(&world);
        vectors(&world);
        model(&world);
        mixtures(&world);
        world_close(&world);
    }
    world_open(&world);
    arming(&world);
    resizing(&world);
    overflow(&world);
    world_close(&world);
    return check_end();
}
