/* work_queue.h - the records of posted work requests of one queue: a ring, in order of posting.
 * Pure.
 *
 * One thread at a time takes (the poster), one at a time stages and retires (the consumer of the
 * EVD). A record is retired when its event is dequeued, and with it all that were posted before,
 * for which no completion comes.
 */
#ifndef DAPL_WORK_QUEUE_H
#define DAPL_WORK_QUEUE_H

#include <stdatomic.h>

#include "other/dapl/include/dapl_events.h"

struct dapl_work_queue {
    uint32_t mask;
    uint32_t length;
    _Atomic uint32_t head;        /* of the poster */
    _Alignas(64) uint32_t staged; /* of the consumer: completions seen, whose events are not
                                     dequeued */
    _Atomic uint32_t retired;     /* all before this position */
    uint32_t quiet;               /* the position of the last completion seen without an event, */
    bool quiet_waits;             /* which is to be retired behind the staged ones */
    _Alignas(64) dapl_work_t works[];
};

static inline void work_retire(dapl_work_queue_t *queue, uint32_t position)
{
    atomic_store_explicit(&queue->retired, position + 1, memory_order_release);
}

/* A completion was seen that will have an event. */
static inline void work_staged(dapl_work_queue_t *queue)
{
    queue->staged++;
}

/* The completion of `work` was seen, and has no event. */
static inline void work_silent(dapl_work_queue_t *queue, const dapl_work_t *work)
{
    queue->quiet = work->position;
    queue->quiet_waits = queue->staged > 0;
    if (!queue->staged) work_retire(queue, work->position);
}

/* The event of `work` was dequeued. */
static inline void work_dequeued(dapl_work_queue_t *queue, const dapl_work_t *work)
{
    uint32_t last = work->position;
    if (!--queue->staged && queue->quiet_waits) {
        if ((int32_t)(queue->quiet - last) > 0) last = queue->quiet;
        queue->quiet_waits = false;
    }
    work_retire(queue, last);
}

#endif
