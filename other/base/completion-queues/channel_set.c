/* channel_set.c - one thread sleeps for the completion queues of several devices: see
 * channel_set.h. The keys of the set's descriptors are the indices of the queues, counted from 1,
 * and 0 for `wake`.
 */
#include "other/base/completion-queues/channel_set.h"

#include <errno.h>
#include <stdlib.h>

#include "other/base/completion-queues/os.h"

static void channel_set_release(dapl_channel_set_t *set)
{
    free(set->channels);
    dapl_os_close(set->wake);
    dapl_os_close(set->set);
    *set = (dapl_channel_set_t){.count = 0};
}

static int open_set(dapl_channel_set_t *set)
{
    set->set = dapl_os_set_open();
    set->wake = dapl_os_wake_open();
    if (set->set < 0 || set->wake < 0) return set->set < 0 ? set->set : set->wake;
    return dapl_os_set_add(set->set, set->wake, 0, true);
}

int dapl_set_add(dapl_channel_set_t *set, const dapl_cq_ops_t *ops, void *cq)
{
    dapl_channel_t *channels = realloc(set->channels, (set->count + 1) * sizeof *channels);
    if (!channels) return -ENOMEM;
    set->channels = channels;
    int error = set->count ? 0 : open_set(set);
    if (!error) error = dapl_os_set_add(set->set, ops->fd(cq), set->count + 1, true);
    if (!error)
        channels[set->count++] = (dapl_channel_t){.ops = ops, .cq = cq};
    else if (!set->count)
        channel_set_release(set);
    return error;
}

void dapl_set_close(dapl_channel_set_t *set)
{
    if (!set->count) return;
    for (uint32_t i = 0; i < set->count; i++) dapl_channel_settle(&set->channels[i]);
    channel_set_release(set);
}

void dapl_set_arm(dapl_channel_set_t *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (!set->channels[i].armed) dapl_channel_arm(&set->channels[i], false);
}

void dapl_set_sleep(dapl_channel_set_t *set, int64_t nanoseconds)
{
    uint64_t keys[DAPL_OS_AT_ONCE];
    int n = dapl_os_set_sleep(set->set, dapl_os_deadline(nanoseconds), keys, DAPL_OS_AT_ONCE);
    for (int i = 0; i < n; i++) {
        if (keys[i])
            dapl_channel_take(&set->channels[keys[i] - 1]);
        else
            dapl_os_clear(set->wake);
    }
}

void dapl_set_wake(dapl_channel_set_t *set)
{
    dapl_os_wake(set->wake);
}
