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

#include "other/dapl/dapl_events.h"

struct dapl_work_queue {
    uint32_t mask;
    uint32_t length;
    _Atomic uint32_t head;                 /* of the poster */
    _Alignas(64) _Atomic uint32_t retired; /* of the consumer: all before this position */
    uint32_t staged;                       /* completions seen, whose events are not dequeued */
    uint32_t completed;                    /* the position of the last completion seen */
    _Alignas(64) dapl_work_t works[];
};

/* The completion of `work` was seen; it will have an event if `event`. */
static inline void work_seen(dapl_work_queue_t *queue, const dapl_work_t *work, bool event)
{
    queue->completed = work->position;
    if (event)
        queue->staged++;
    else if (!queue->staged)
        atomic_store_explicit(&queue->retired, work->position + 1, memory_order_release);
}

/* The event of `work` was dequeued. */
static inline void work_dequeued(dapl_work_queue_t *queue, const dapl_work_t *work)
{
    uint32_t last = --queue->staged ? work->position : queue->completed;
    atomic_store_explicit(&queue->retired, last + 1, memory_order_release);
}

#endif
