/* channel.h - the notifications of one completion queue. An EVD has one, and so has each queue of a
 * set (channel_set.h).
 *
 * One thread at a time calls these: the consumer of the EVD, or the thread that sleeps on the set.
 */
#ifndef DAPL_CHANNEL_H
#define DAPL_CHANNEL_H

#include <stdint.h>

#include "other/base/completion-queues/dapl_cq.h"

typedef struct dapl_channel {
    const dapl_cq_ops_t *ops;
    void *cq; /* NULL: none */
    bool armed;
    unsigned unacknowledged;
    uint64_t arms;
} dapl_channel_t;

static inline void dapl_channel_arm(dapl_channel_t *channel, bool solicited_only)
{
    channel->armed = true;
    channel->arms++;
    channel->ops->arm(channel->cq, solicited_only);
}

/* Acknowledges all events that were taken. */
static inline void dapl_channel_acknowledge(dapl_channel_t *channel)
{
    if (channel->unacknowledged) channel->ops->acknowledge(channel->cq, channel->unacknowledged);
    channel->unacknowledged = 0;
}

/* Takes the event of the channel; false: there was none. */
static inline bool dapl_channel_take(dapl_channel_t *channel)
{
    enum { ACKNOWLEDGE_AFTER = 64 }; /* an acknowledgement takes a mutex */
    if (channel->ops->take_event(channel->cq) <= 0) return false;
    channel->armed = false;
    if (++channel->unacknowledged >= ACKNOWLEDGE_AFTER) dapl_channel_acknowledge(channel);
    return true;
}

/* A completion queue cannot be destroyed while events of its channel are not acknowledged. */
static inline void dapl_channel_settle(dapl_channel_t *channel)
{
    while (dapl_channel_take(channel)) {
    }
    dapl_channel_acknowledge(channel);
}

#endif
