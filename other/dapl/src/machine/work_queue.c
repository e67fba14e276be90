/* work_queue.c - the records of posted work requests: see work_queue.h. */
#include "other/dapl/src/machine/work_queue.h"

#include <stdlib.h>
#include <string.h>

DAT_RETURN dapl_work_queue_create(int length, dapl_work_queue_t **queue)
{
    uint32_t slots = 1;
    if (length < 1) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    while (slots < (uint32_t)length) slots *= 2;
    size_t size = (sizeof **queue + slots * sizeof(dapl_work_t) + 63) / 64 * 64;
    dapl_work_queue_t *made = aligned_alloc(64, size);
    if (!made) return DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
    memset(made, 0, size);
    made->mask = slots - 1;
    made->length = (uint32_t)length;
    *queue = made;
    return DAT_SUCCESS;
}

void dapl_work_queue_free(dapl_work_queue_t *queue)
{
    free(queue);
}

dapl_work_t *dapl_work_take(dapl_work_queue_t *queue)
{
    uint32_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    uint32_t retired = atomic_load_explicit(&queue->retired, memory_order_acquire);
    if (head - retired >= queue->length) return NULL;
    dapl_work_t *work = &queue->works[head & queue->mask];
    work->queue = queue;
    work->position = head;
    atomic_store_explicit(&queue->head, head + 1, memory_order_relaxed);
    return work;
}

void dapl_work_untake(dapl_work_queue_t *queue, dapl_work_t *work)
{
    atomic_store_explicit(&queue->head, work->position, memory_order_relaxed);
}

int dapl_work_used(const dapl_work_queue_t *queue)
{
    return (int)(atomic_load_explicit(&queue->head, memory_order_relaxed) -
                 atomic_load_explicit(&queue->retired, memory_order_acquire));
}
