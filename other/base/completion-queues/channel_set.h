/* channel_set.h - one thread sleeps for the completion queues of several devices: the notification
 * object of programs that poll their queues themselves.
 *
 * A channel set is to a CNO what a completion queue is to an EVD: without events, triggers, agents
 * and DAT headers. The receive thread of ibv-conduit sleeps on a channel set. The thread arms the
 * set, polls all queues until they are empty, and sleeps: a completion that comes after the arming
 * ends the sleep.
 */
#ifndef DAPL_CHANNEL_SET_H
#define DAPL_CHANNEL_SET_H

#include "other/base/completion-queues/channel.h"

/* A set that is all 0 has no queue, and no descriptor. */
typedef struct dapl_channel_set {
    dapl_channel_t *channels;
    uint32_t count;
    int set, wake;
} dapl_channel_set_t;

/* Adds a queue, before any thread sleeps; 0 or -errno. */
int dapl_set_add(dapl_channel_set_t *set, const dapl_cq_ops_t *ops, void *cq);

/* Closes the set; to be called before its queues are destroyed. */
void dapl_set_close(dapl_channel_set_t *set);

/* From now on a completion of any queue ends dapl_set_sleep. Arms the queues whose last
 * notification was taken. */
void dapl_set_arm(dapl_channel_set_t *set);

/* Returns after a completion, after dapl_set_wake, or after `nanoseconds` (negative: no limit); or
 * early. Takes the notifications of all queues that have one. */
void dapl_set_sleep(dapl_channel_set_t *set, int64_t nanoseconds);

/* Ends that sleep, or the next. By any thread. */
void dapl_set_wake(dapl_channel_set_t *set);

#endif
