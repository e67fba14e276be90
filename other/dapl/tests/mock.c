/* mock.c - a device under the test's control: see mock.h. */
#include "other/dapl/tests/mock.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void must(bool ok, const char *what)
{
    if (ok) return;
    printf("Bail out! the mock device: %s\n", what);
    fflush(stdout);
    abort();
}

/* ---- Completion queues ---- */

static void enter(mock_cq_t *cq)
{
    must(atomic_exchange(&cq->busy, 1) == 0, "R26 two threads use one completion queue");
}
static void leave(mock_cq_t *cq)
{
    atomic_store(&cq->busy, 0);
}

static int mock_create(void *device, dapl_evd_t *evd, int vector, int *entries, void **made)
{
    mock_cq_t *cq = calloc(1, sizeof *cq);
    must(cq != NULL, "memory");
    cq->vector = vector;
    cq->device = device;
    pthread_mutex_init(&cq->mutex, NULL);
    cq->room = 256;
    cq->wc = malloc((size_t)cq->room * sizeof *cq->wc);
    cq->entries = *entries;
    cq->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);
    cq->evd = evd;
    cq->moderate_count = 1;
    must(cq->wc && cq->fd >= 0, "memory");
    *made = cq;
    return 0;
}

static int mock_destroy(void *arg)
{
    mock_cq_t *cq = arg;
    must(cq->taken == cq->acknowledged,
         "a queue is destroyed with events that are not acknowledged");
    close(cq->fd);
    pthread_mutex_destroy(&cq->mutex);
    free(cq->wc);
    free(cq);
    return 0;
}

static int mock_poll(void *arg, int n, struct ibv_wc *wc)
{
    mock_cq_t *cq = arg;
    enter(cq);
    cq->polls++;
    pthread_mutex_lock(&cq->mutex);
    cq->polled = true;
    int there = cq->last - cq->first;
    if (n > there) n = there;
    memcpy(wc, cq->wc + cq->first, (size_t)n * sizeof *wc);
    cq->first += n;
    if (cq->first == cq->last) cq->first = cq->last = 0;
    pthread_mutex_unlock(&cq->mutex);
    leave(cq);
    return n;
}

static void make_event(mock_cq_t *cq)
{
    const uint64_t events = cq->device->kind == MOCK_ODD ? 2 : 1;
    cq->armed = 0;
    cq->since_event = 0;
    cq->events += (unsigned)events;
    must(write(cq->fd, &events, sizeof events) == sizeof events, "event");
}

static int mock_arm(void *arg, bool solicited_only)
{
    mock_cq_t *cq = arg;
    enter(cq);
    pthread_mutex_lock(&cq->mutex);
    if (cq->device->kind != MOCK_ODD || cq->polled || !cq->arms) cq->armed = solicited_only ? 2 : 1;
    cq->arms++;
    cq->polled = false;
    if (cq->device->kind == MOCK_LEVEL && cq->last > cq->first) make_event(cq);
    pthread_mutex_unlock(&cq->mutex);
    leave(cq);
    return 0;
}

static int mock_take(void *arg)
{
    mock_cq_t *cq = arg;
    uint64_t one;
    enter(cq);
    int took = read(cq->fd, &one, sizeof one) == sizeof one;
    if (took) cq->taken++;
    leave(cq);
    return took;
}

static void mock_acknowledge(void *arg, unsigned events)
{
    ((mock_cq_t *)arg)->acknowledged += events;
}
static int mock_fd(void *arg)
{
    return ((mock_cq_t *)arg)->fd;
}

static int mock_resize(void *arg, int *entries)
{
    mock_cq_t *cq = arg;
    if (cq->device->no_resize) return -EOPNOTSUPP;
    pthread_mutex_lock(&cq->mutex);
    bool fits = cq->last - cq->first <= *entries;
    if (fits) cq->entries = *entries;
    pthread_mutex_unlock(&cq->mutex);
    return fits ? 0 : -EBUSY;
}

static int mock_moderate(void *arg, int count, int microseconds)
{
    (void)microseconds;
    ((mock_cq_t *)arg)->moderate_count = count;
    return 0;
}

static const dapl_cq_ops_t ops = {mock_create, mock_destroy, mock_poll,
                                  mock_arm,    mock_take,    mock_acknowledge,
                                  mock_fd,     mock_resize,  mock_moderate};

mock_cq_t *mock_of(dapl_evd_t *evd)
{
    return dapl_evd_cq(evd);
}

static void complete(mock_cq_t *cq, const struct ibv_wc *wc, bool solicited)
{
    pthread_mutex_lock(&cq->mutex);
    if (cq->last == cq->room) {
        memmove(cq->wc, cq->wc + cq->first, (size_t)(cq->last - cq->first) * sizeof *cq->wc);
        cq->last -= cq->first;
        cq->first = 0;
    }
    if (cq->last > cq->room / 2) {
        cq->room *= 2;
        cq->wc = realloc(cq->wc, (size_t)cq->room * sizeof *cq->wc);
        must(cq->wc && cq->room <= 1 << 20, "too many completions");
    }
    cq->wc[cq->last++] = *wc;
    cq->since_event++;
    bool counts = cq->armed == 1 || (cq->armed == 2 && (solicited || wc->status != IBV_WC_SUCCESS));
    if (counts && cq->since_event >= cq->moderate_count) make_event(cq);
    pthread_mutex_unlock(&cq->mutex);
}

void mock_complete_full(dapl_evd_t *evd, const struct ibv_wc *wc)
{
    complete(mock_of(evd), wc, false);
}

void mock_complete_as(dapl_evd_t *evd, dapl_work_t *work, enum ibv_wc_status status, bool solicited,
                      uint32_t qp_num)
{
    complete(mock_of(evd),
             &(struct ibv_wc){.wr_id = (uintptr_t)work,
                              .status = status,
                              .byte_len = 64,
                              .qp_num = qp_num,
                              .opcode = IBV_WC_SEND},
             solicited);
}

void mock_complete(dapl_evd_t *evd, dapl_work_t *work, enum ibv_wc_status status)
{
    mock_complete_as(evd, work, status, false, 0);
}

void mock_complete_many(dapl_evd_t *evd, dapl_work_t *work, int n)
{
    while (n-- > 0) mock_complete(evd, work, IBV_WC_SUCCESS);
    /* The period of a device that counts: an event is late, and not left out. */
    mock_cq_t *cq = mock_of(evd);
    pthread_mutex_lock(&cq->mutex);
    if (cq->armed == 1 && cq->since_event && cq->last > cq->first) make_event(cq);
    pthread_mutex_unlock(&cq->mutex);
}

int mock_holds(dapl_evd_t *evd)
{
    mock_cq_t *cq = mock_of(evd);
    pthread_mutex_lock(&cq->mutex);
    int n = cq->last - cq->first;
    pthread_mutex_unlock(&cq->mutex);
    return n;
}

/* ---- Asynchronous events ---- */

void mock_async(mock_device_t *device, DAT_EVENT_NUMBER number, DAT_HANDLE handle, int reason)
{
    uint64_t one = 1;
    pthread_mutex_lock(&device->mutex);
    DAT_EVENT *event = &device->async[device->async_last++ % 64];
    event->event_number = number;
    event->event_data.asynch_error_event_data.dat_handle = handle;
    event->event_data.asynch_error_event_data.reason = reason;
    must(write(device->async_fd, &one, sizeof one) == sizeof one, "event");
    pthread_mutex_unlock(&device->mutex);
}

static int async_take(void *arg, DAT_EVENT *event)
{
    mock_device_t *device = arg;
    uint64_t one;
    int took = 0;
    pthread_mutex_lock(&device->mutex);
    if (read(device->async_fd, &one, sizeof one) == sizeof one) {
        *event = device->async[device->async_first++ % 64];
        took = 1;
    }
    pthread_mutex_unlock(&device->mutex);
    return took;
}

static int async_fd(void *arg)
{
    return ((mock_device_t *)arg)->async_fd;
}

const dapl_async_ops_t mock_async_ops = {.take = async_take, .fd = async_fd};

/* ---- The world ---- */

static int provider_table;

const char *mock_kind_name(mock_kind_t kind)
{
    static const char *const names[MOCK_KINDS] = {"edge", "level", "odd"};
    return names[kind];
}

void world_open_with(world_t *world, mock_kind_t kind, bool moderate)
{
    memset(world, 0, sizeof *world);
    world->device.kind = kind;
    world->device.cq = ops;
    if (!moderate) world->device.cq.moderate = NULL;
    pthread_mutex_init(&world->device.mutex, NULL);
    world->device.async_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);
    world->ia = (DAT_IA_HANDLE)(uintptr_t)7;
    dapl_interface_attr_t attr = {.provider = &provider_table,
                                  .ia_handle = world->ia,
                                  .device = &world->device,
                                  .cq = &world->device.cq,
                                  .async = &mock_async_ops,
                                  .max_evd_qlen = 1 << 20,
                                  .vectors = 4,
                                  .span = true};
    must(dapl_interface_open(&attr, &world->interface) == DAT_SUCCESS, "interface");
}

void world_open(world_t *world)
{
    world_open_with(world, MOCK_EDGE, false);
}

void world_close(world_t *world)
{
    dapl_interface_close(world->interface);
    close(world->device.async_fd);
    pthread_mutex_destroy(&world->device.mutex);
}

dapl_evd_t *evd_of(world_t *world, unsigned flags, int qlen, dapl_cno_t *cno)
{
    dapl_evd_t *evd = NULL;
    dapl_evd_attr_t attr = {
        .min_qlen = qlen, .flags = (DAT_EVD_FLAGS)flags, .cno = cno, .vector = -1};
    DAT_RETURN result = dapl_evd_create(world->interface, &attr, &evd);
    if (result != DAT_SUCCESS) printf("# evd_create: 0x%x\n", result);
    must(result == DAT_SUCCESS, "an EVD cannot be created");
    return evd;
}

dapl_cno_t *cno_of(world_t *world)
{
    dapl_cno_t *cno = NULL;
    must(dapl_cno_create(world->interface, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno) == DAT_SUCCESS,
         "a CNO cannot be created");
    return cno;
}

DAT_RETURN post_number(dapl_evd_t *evd, uint64_t number)
{
    DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
    event.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)number;
    return dapl_evd_post_se(evd, &event);
}

uint64_t number_of(const DAT_EVENT *event)
{
    if (event->event_number == DAT_SOFTWARE_EVENT)
        return (uintptr_t)event->event_data.software_event_data.pointer;
    return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

/* ---- Threads ---- */

void thread_begin(thread_t *thread, void *(*run)(void *), void *arg)
{
    must(pthread_create(&thread->id, NULL, run, arg) == 0, "a thread cannot be created");
}

void thread_join(thread_t *thread)
{
    pthread_join(thread->id, NULL);
}

void await_asleep(dapl_evd_t *evd)
{
    while (!(atomic_load(&evd->state) & EVD_SLEEPING)) sched_yield();
}

void await_waiters(dapl_cno_t *cno, uint32_t n)
{
    while (atomic_load(&cno->waiters[0]) + atomic_load(&cno->waiters[1]) < n) sched_yield();
}
