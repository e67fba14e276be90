/* waiters.h - functions of the programs of rules: threads that wait, plain completions, and the
 * content of an EVD or a CNO.
 */
#ifndef DAPL_WAITERS_H
#define DAPL_WAITERS_H

#include "other/dapl/tests/mock.h"

static const DAT_TIMEOUT forever = DAT_TIMEOUT_INFINITE;

extern dapl_work_t plain; /* a send of 10 bytes with the cookie 77 */
void complete(dapl_evd_t *evd);

bool empty(dapl_evd_t *evd);
int dequeue_all(dapl_evd_t *evd);

/* Whether a wait without a timeout returns this EVD; nothing. */
bool told(dapl_cno_t *cno, dapl_evd_t *wanted);
bool untriggered(dapl_cno_t *cno);
/* Consumes triggers until the CNO is untriggered. */
void calm(dapl_cno_t *cno);

/* A thread that waits on an EVD, or on a CNO. */
typedef struct waiter {
    thread_t thread;
    dapl_evd_t *evd;
    dapl_cno_t *cno;
    int threshold;
    int64_t timeout; /* nanoseconds */
    DAT_EVENT event;
    DAT_COUNT nmore;
    dapl_evd_t *told;
    _Atomic bool over;
    DAT_RETURN result;
} waiter_t;
/* Starts the thread of a waiter, whose fields `evd` or `cno`, `threshold` and `timeout` are set. */
void waiter_begin(waiter_t *waiter);
/* begin_wait and begin_cno_wait return once the thread is asleep; `waiters`: of the CNO, with this
 * one. */
void begin_wait(waiter_t *waiter, dapl_evd_t *evd, int threshold);
void begin_cno_wait(waiter_t *waiter, dapl_cno_t *cno, uint32_t waiters);
DAT_RETURN end_wait(waiter_t *waiter);

#endif
