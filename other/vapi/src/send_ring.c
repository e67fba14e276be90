/* send_ring.c - records of the work requests of one queue, for those whose completions in verbs
 * lack information.
 *
 * Most work requests have no record: their wr_id is the program's id, and their completion frees
 * one entry of the queue.  These have a record: an unsignalled request; the signalled one after it,
 * whose completion frees all entries; one whose id uses the two bits that mark records; and all
 * requests of a queue to which lists are posted, which must know its free space.  poll.c retires
 * records; they complete in the order in which they were entered.
 */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

void vapi_lane_init(struct vapi_lane *lane, uint32_t depth, bool is_recv)
{
    memset(lane, 0, sizeof *lane);
    pthread_mutex_init(&lane->lock, NULL);
    lane->depth = depth;
    lane->is_recv = is_recv;
}

/* All posted requests were dropped.  */
void vapi_lane_reset(struct vapi_lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->retired = lane->entered;
    lane->silent = 0;
    pthread_mutex_unlock(&lane->lock);
}

void vapi_lane_destroy(struct vapi_lane *lane)
{
    free(lane->records);
    pthread_mutex_destroy(&lane->lock);
}

static struct vapi_record *enter_record(struct vapi_lane *lane)
{
    if (!lane->records) {
        struct vapi_record *made = calloc(lane->depth, sizeof *made);
        __atomic_store_n(&lane->records, made, __ATOMIC_RELEASE); /* vapi_lane_has has no lock */
    }
    if (!lane->records || lane->entered - lane->retired >= lane->depth) return NULL;
    struct vapi_record *record = &lane->records[lane->entered % lane->depth];
    record->place = ++lane->entered;
    record->lane = lane;
    return record;
}

bool vapi_lane_enter(struct vapi_lane *lane, uint64_t id, uint64_t tag, bool unsignalled,
                     uint64_t *wr_id)
{
    if (!unsignalled && !lane->silent && !lane->all && id >> 62 == 0) {
        *wr_id = id | tag;
        return true;
    }
    struct vapi_record *record = enter_record(lane);
    if (!record) return false;
    record->id = id;
    record->unsignalled = unsignalled;
    lane->silent = unsignalled ? lane->silent + 1 : 0;
    *wr_id = VAPI_ID_TRACKED | (uintptr_t)record;
    return true;
}

void vapi_lane_undo(struct vapi_lane *lane, uint64_t wr_id, uint32_t silent)
{
    if ((wr_id & VAPI_ID_RECEIVE) == VAPI_ID_TRACKED) lane->entered--;
    lane->silent = silent;
}

bool vapi_lane_has(const struct vapi_lane *lane, const struct vapi_record *record)
{
    const uintptr_t first = (uintptr_t)__atomic_load_n(&lane->records, __ATOMIC_ACQUIRE);
    const uintptr_t place = (uintptr_t)record;
    return first && place >= first && place < first + lane->depth * sizeof *record;
}

/* Records of a shared receive queue complete in any order, and have no lane.  */
static void srq_record_done(struct vapi_record *record)
{
    struct vapi_srq *srq = record->srq;
    pthread_mutex_lock(&srq->lock);
    record->next_free = srq->free;
    srq->free = record;
    pthread_mutex_unlock(&srq->lock);
}

bool vapi_record_done(struct vapi_record *record, bool success, uint64_t *id, uint32_t *freed)
{
    struct vapi_lane *lane = record->lane;
    *id = record->id;
    *freed = 1;
    if (!lane) {
        srq_record_done(record);
        return true;
    }
    bool told = true;
    pthread_mutex_lock(&lane->lock);
    if (success && lane->is_recv && record->unsignalled)
        told = false; /* the next reported completion frees its entry */
    else {
        /* Two polling threads may arrive out of order; then the later record has freed both
         * entries.  */
        *freed = record->place > lane->retired ? (uint32_t)(record->place - lane->retired) : 0;
        lane->retired += *freed;
    }
    pthread_mutex_unlock(&lane->lock);
    return told;
}
