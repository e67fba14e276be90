/* waiters.c - functions of the programs of rules: threads that wait, and plain completions. */
#include "other/dapl/tests/waiters.h"

dapl_work_t plain = {
    .event.operation = DAT_DTO_SEND, .event.transfered_length = 10, .event.user_cookie.as_64 = 77};

void complete(dapl_evd_t *evd)
{
    mock_complete(evd, &plain, IBV_WC_SUCCESS);
}

bool empty(dapl_evd_t *evd)
{
    DAT_EVENT event;
    return dapl_evd_dequeue(evd, &event) == BARE(DAT_QUEUE_EMPTY);
}

int dequeue_all(dapl_evd_t *evd)
{
    DAT_EVENT event;
    int n = 0;
    while (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) n++;
    return n;
}

static void *run_waiter(void *arg)
{
    waiter_t *waiter = arg;
    waiter->result = waiter->cno ? dapl_cno_wait_ns(waiter->cno, waiter->timeout, &waiter->told)
                                 : dapl_evd_wait_ns(waiter->evd, waiter->timeout, waiter->threshold,
                                                    &waiter->event, &waiter->nmore);
    atomic_store(&waiter->over, true);
    return NULL;
}

void waiter_begin(waiter_t *waiter)
{
    thread_begin(&waiter->thread, run_waiter, waiter);
}

void begin_wait(waiter_t *waiter, dapl_evd_t *evd, int threshold)
{
    *waiter = (waiter_t){.evd = evd, .threshold = threshold, .timeout = -1, .nmore = -1};
    waiter_begin(waiter);
    await_asleep(evd);
}

void begin_cno_wait(waiter_t *waiter, dapl_cno_t *cno, uint32_t waiters)
{
    *waiter = (waiter_t){.cno = cno, .timeout = -1};
    waiter_begin(waiter);
    await_waiters(cno, waiters);
}

DAT_RETURN end_wait(waiter_t *waiter)
{
    thread_join(&waiter->thread);
    return waiter->result;
}

bool told(dapl_cno_t *cno, dapl_evd_t *wanted)
{
    dapl_evd_t *evd;
    return dapl_cno_wait(cno, 0, &evd) == DAT_SUCCESS && evd == wanted;
}

bool untriggered(dapl_cno_t *cno)
{
    dapl_evd_t *evd;
    return dapl_cno_wait(cno, 0, &evd) == BARE(DAT_QUEUE_EMPTY);
}

void calm(dapl_cno_t *cno)
{
    dapl_evd_t *evd;
    while (dapl_cno_wait(cno, 0, &evd) == DAT_SUCCESS) {
    }
}
