/* calls.c - each call of the event interface with each of its return codes, type and subtype; and
 * what queries say. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "other/dapl/tests/mock.h"

static void is(DAT_RETURN got, DAT_RETURN wanted, const char *what)
{
    if (!check(got == wanted, "%s", what)) check_note("0x%08x, not 0x%08x", got, wanted);
}

static DAT_RETURN create(world_t *world, int qlen, unsigned flags, dapl_cno_t *cno,
                         dapl_evd_t **evd)
{
    dapl_evd_attr_t attr = {
        .min_qlen = qlen, .flags = (DAT_EVD_FLAGS)flags, .cno = cno, .vector = -1};
    return dapl_evd_create(world->interface, &attr, evd);
}

static void creation(world_t *world)
{
    dapl_evd_t *evd;
    dapl_cno_t *cno = cno_of(world);
    is(create(world, 8, DAT_EVD_DTO_FLAG, cno, &evd), DAT_SUCCESS, "R1 evd_create");
    is(dapl_evd_free(evd), DAT_SUCCESS, "R1 evd_free");
    is(create(world, 0, DAT_EVD_DTO_FLAG, NULL, &evd), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
       "R1 evd_create: no length");
    is(create(world, 8, 0, NULL, &evd), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
       "R1 evd_create: no stream");
    is(create(world, 8, DAT_EVD_DTO_FLAG | DAT_EVD_ASYNC_FLAG, NULL, &evd),
       ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
       "R1 evd_create: asynchronous events beside completions");
    is(create(world, (1 << 20) + 1, DAT_EVD_DTO_FLAG, NULL, &evd),
       ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD),
       "R1 evd_create: longer than the interface allows");
    is(create(world, 8, DAT_EVD_DTO_FLAG, (dapl_cno_t *)world, &evd),
       ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), "R1 evd_create: no CNO");
    is(create(world, 8, 0x1f1 & ~DAT_EVD_ASYNC_FLAG, cno, &evd), DAT_SUCCESS,
       "R8 U17 an EVD of all five streams that merge: connections beside transfers");
    is(dapl_cno_free(cno), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE),
       "R1 cno_free: in use");
    is(dapl_evd_free(evd), DAT_SUCCESS, "R1 evd_free with a CNO");
    is(dapl_cno_free(cno), DAT_SUCCESS, "R1 cno_free");
    is(dapl_evd_free(NULL), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_free: no EVD");
    is(dapl_cno_free(NULL), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), "R1 cno_free: no CNO");

    evd = evd_of(world, DAT_EVD_DTO_FLAG, 8, NULL);
    is(dapl_evd_use(evd, 0), DAT_SUCCESS, "R1 a stream is added");
    is(dapl_evd_free(evd), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
       "R1 evd_free: a stream remains");
    dapl_evd_unuse(evd);
    is(dapl_evd_free(evd), DAT_SUCCESS, "R1 evd_free after its last stream");
}

static void queries(world_t *world)
{
    dapl_cno_t *cno = cno_of(world);
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 8, cno);
    DAT_EVD_PARAM param;
    is(dapl_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS, "R1 evd_query");
    check(param.ia_handle == world->ia && param.evd_qlen >= 8 &&
              param.cno_handle == (DAT_CNO_HANDLE)cno && param.evd_flags == DAT_EVD_DTO_FLAG,
          "R1 evd_query reports the interface, the length, the CNO and the streams");
    check(param.evd_state ==
              (DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE | DAT_EVD_STATE_CONFIG_THRESHOLD),
          "R1 evd_query reports all three bands of the state");
    is(dapl_evd_disable(evd), DAT_SUCCESS, "R1 evd_disable");
    is(dapl_evd_disable(evd), DAT_SUCCESS, "R1 evd_disable again");
    is(dapl_evd_set_unwaitable(evd), DAT_SUCCESS, "R1 evd_set_unwaitable");
    dapl_evd_use(evd, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
    dapl_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
    check(param.evd_state ==
              (DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE | DAT_EVD_STATE_CONFIG_SOLICITED),
          "R1 U11 the state after disable, set_unwaitable and a stream of solicited events");
    is(dapl_evd_use(evd, DAT_COMPLETION_UNSIGNALLED_FLAG),
       ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
       "U11 streams of different completion flags do not share an EVD");
    dapl_evd_unuse(evd);
    is(dapl_evd_enable(evd), DAT_SUCCESS, "R1 evd_enable");
    is(dapl_evd_clear_unwaitable(evd), DAT_SUCCESS, "R1 evd_clear_unwaitable");
    is(dapl_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
       "R1 evd_query: no param");
    is(dapl_evd_query(NULL, DAT_EVD_FIELD_ALL, &param),
       ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST), "R1 evd_query: no EVD");
    is(dapl_evd_enable(NULL), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_enable: no EVD");
    is(dapl_evd_disable(NULL), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_disable: no EVD");
    is(dapl_evd_set_unwaitable(NULL), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_set_unwaitable: no EVD");
    is(dapl_evd_clear_unwaitable(NULL), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_clear_unwaitable: no EVD");
    is(dapl_evd_modify_cno(NULL, cno), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_modify_cno: no EVD");
    is(dapl_evd_modify_cno(evd, (dapl_cno_t *)evd), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO),
       "R1 evd_modify_cno: no CNO");
    is(dapl_evd_modify_cno(evd, NULL), DAT_SUCCESS, "R1 evd_modify_cno: none");
    check(*(void **)evd == *(void **)cno && *(void **)evd,
          "the first word of each handle is the provider's");
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

static void waits(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 4, NULL);
    dapl_evd_t *dto = evd_of(world, DAT_EVD_DTO_FLAG, 4, NULL);
    DAT_EVENT event;
    DAT_COUNT nmore = -1;
    is(dapl_evd_wait(NULL, 0, 1, &event, &nmore),
       ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST), "R1 U14 evd_wait: no EVD");
    is(dapl_evd_wait(evd, 0, 0, &event, &nmore), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
       "R1 U14 evd_wait: threshold 0");
    is(dapl_evd_wait(evd, 0, 5, &event, &nmore), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
       "R1 U14 evd_wait: threshold over the length");
    is(dapl_evd_wait(evd, 0, 1, NULL, &nmore), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
       "R1 evd_wait: no event");
    is(dapl_evd_wait(evd, 0, 1, &event, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
       "R1 evd_wait: no nmore");
    is(dapl_evd_wait(evd, 0, 1, &event, &nmore), BARE(DAT_TIMEOUT_EXPIRED),
       "R1 U13 evd_wait: timeout, software");
    is(dapl_evd_wait(dto, 0, 1, &event, &nmore), BARE(DAT_TIMEOUT_EXPIRED),
       "R1 U13 evd_wait: timeout, transfers");
    is(dapl_evd_dequeue(evd, &event), BARE(DAT_QUEUE_EMPTY), "R1 U13 evd_dequeue: empty, software");
    is(dapl_evd_dequeue(dto, &event), BARE(DAT_QUEUE_EMPTY),
       "R1 U13 evd_dequeue: empty, transfers");
    is(dapl_evd_dequeue(NULL, &event), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_dequeue: no EVD");
    is(dapl_evd_dequeue(evd, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
       "R1 evd_dequeue: no event");
    dapl_evd_set_unwaitable(evd);
    is(dapl_evd_wait(evd, 0, 1, &event, &nmore),
       ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE), "R1 evd_wait: unwaitable");
    dapl_evd_clear_unwaitable(evd);

    for (uint64_t i = 1; i <= 4; i++) is(post_number(evd, i), DAT_SUCCESS, "R1 evd_post_se");
    is(post_number(evd, 5), ERR(DAT_QUEUE_FULL, 0),
       "R20 U10 evd_post_se: a full queue refuses the event");
    is(dapl_evd_wait(evd, 0, 4, &event, &nmore), DAT_SUCCESS, "R1 evd_wait");
    check(nmore == 3 && number_of(&event) == 1 && event.evd_handle == (DAT_EVD_HANDLE)evd,
          "R20 ... which alone is lost; nmore counts those left");
    is(dapl_evd_dequeue(evd, &event), DAT_SUCCESS, "R1 evd_dequeue");
    is(post_number(dto, 1), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
       "R1 evd_post_se: no software stream");
    is(post_number(NULL, 1), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_post_se: no EVD");
    is(dapl_evd_post_se(evd, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
       "R1 evd_post_se: no event");
    event.event_number = DAT_DTO_COMPLETION_EVENT;
    is(dapl_evd_post_se(evd, &event), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
       "R1 evd_post_se: another event");

    dapl_evd_use(dto, DAT_COMPLETION_UNSIGNALLED_FLAG);
    is(dapl_evd_wait(dto, 0, 2, &event, &nmore),
       ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY),
       "R1 evd_wait: threshold 2 where completions may be unsignalled");
    dapl_evd_unuse(dto);
    dapl_evd_use(dto, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
    is(dapl_evd_wait(dto, 0, 2, &event, &nmore),
       ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_SOLICITED),
       "R1 evd_wait: threshold 2 where receives must be solicited");
    dapl_evd_unuse(dto);

    is(dapl_evd_resize(evd, 16), DAT_SUCCESS, "R1 evd_resize");
    is(dapl_evd_resize(evd, 1), ERR(DAT_INVALID_STATE, 0), "R1 evd_resize: more events queued");
    is(dapl_evd_resize(evd, 0), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
       "R1 evd_resize: no length");
    is(dapl_evd_resize(evd, 1 << 21), ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD),
       "R1 evd_resize: too long");
    is(dapl_evd_resize(NULL, 1), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
       "R1 evd_resize: no EVD");
    dapl_evd_free(evd);
    dapl_evd_free(dto);
}

static void agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
    *(DAT_EVD_HANDLE *)instance = evd;
}

static void notification_objects(world_t *world)
{
    dapl_cno_t *cno = cno_of(world), *with_fd;
    dapl_evd_t *evd = (dapl_evd_t *)world;
    DAT_CNO_PARAM param;
    DAT_EVD_HANDLE told = NULL;
    DAT_FD fd = -1;
    is(dapl_cno_wait(cno, 0, &evd), BARE(DAT_QUEUE_EMPTY),
       "R4 cno_wait: the timeout is DAT_QUEUE_EMPTY");
    check(evd == NULL, "R4 ... with a null EVD");
    is(dapl_cno_wait(NULL, 0, &evd), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO),
       "R4 cno_wait: no CNO");
    is(dapl_cno_wait(cno, 0, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
       "R4 cno_wait: nothing to fill in");
    is(dapl_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS, "R4 cno_query");
    check(param.ia_handle == world->ia && param.proxy_type == DAT_PROXY_TYPE_NONE,
          "R4 ... no proxy");
    is(dapl_cno_query(cno, DAT_CNO_FIELD_ALL, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
       "R4 cno_query: no param");
    is(dapl_cno_query(NULL, DAT_CNO_FIELD_ALL, &param),
       ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), "R4 cno_query: no CNO");
    DAT_OS_WAIT_PROXY_AGENT set = {.instance_data = &told, .proxy_agent_func = agent};
    is(dapl_cno_modify_agent(cno, set), DAT_SUCCESS, "R4 cno_modify_agent");
    dapl_cno_query(cno, DAT_CNO_FIELD_ALL, &param);
    check(param.proxy_type == DAT_PROXY_TYPE_AGENT && param.proxy.agent.instance_data == &told,
          "R4 ... is reported");
    is(dapl_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS,
       "R4 cno_modify_agent: none");
    dapl_cno_query(cno, DAT_CNO_FIELD_ALL, &param);
    check(param.proxy_type == DAT_PROXY_TYPE_NONE, "R4 ... detaches it");
    is(dapl_cno_modify_agent(NULL, set), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO),
       "R4 cno_modify_agent: no CNO");
    is(dapl_cno_fd_create(world->interface, &fd, &with_fd), DAT_SUCCESS, "R51 U19 cno_fd_create");
    dapl_cno_query(with_fd, DAT_CNO_FIELD_ALL, &param);
    check(param.proxy_type == DAT_PROXY_TYPE_FD && param.proxy.fd == fd,
          "R51 ... the query reports the descriptor");
    is(dapl_cno_trigger(with_fd, &evd), BARE(DAT_QUEUE_EMPTY),
       "R51 U19 cno_trigger without a trigger");
    is(dapl_cno_modify_agent(with_fd, set), ERR(DAT_MODEL_NOT_SUPPORTED, 0),
       "R51 no agent beside the descriptor");
    is(dapl_cno_free(with_fd), DAT_SUCCESS, "R51 cno_free");
    is(dapl_cno_free(cno), DAT_SUCCESS, "R4 cno_free");
}

int main(int argc, char **argv)
{
    world_t world;
    check_begin(argc, argv);
    world_open(&world);
    creation(&world);
    queries(&world);
    waits(&world);
    notification_objects(&world);
    world_close(&world);
    return check_end();
}
