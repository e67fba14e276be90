/* sample.c - which events are kept where there are very many; see trace.h.
 *
 * `cut` only grows and the sample only shrinks, so that what is kept in the end does not depend on
 * when it was read.
 */
#include <stdlib.h>
#include <string.h>

#include "other/launch/report/trace.h"

uint32_t trace_bucket(int64_t length)
{
    uint32_t power = 0;
    if (length < 1) return 0;
    while (length >> power > 1) power++;
    uint64_t quarter =
        power >= 2 ? (uint64_t)length >> (power - 2) : (uint64_t)length << (2 - power);
    return 1 + power * 4 + (uint32_t)(quarter & 3);
}

/* --- events that are not kept --- */

static uint32_t group_hash(const struct trace_group *group)
{
    uint32_t hash = group->rank;
    hash = hash * 2654435761u + (uint32_t)group->peer;
    hash = hash * 2654435761u + group->kind;
    hash = hash * 2654435761u + group->cause;
    hash = hash * 2654435761u + group->site;
    return hash ^ hash >> 15;
}

static bool group_equal(const struct trace_group *a, const struct trace_group *b)
{
    return a->rank == b->rank && a->peer == b->peer && a->kind == b->kind && a->cause == b->cause &&
           a->site == b->site;
}

/* The group of the same key, made if there is none; NULL: there are too many. */
static struct trace_group *group_find(struct trace *trace, const struct trace_group *key)
{
    enum { SLOTS = TRACE_GROUPS_MAX * 2 };
    if (!trace->group_slots) {
        trace->group_slots = trace_resize(NULL, SLOTS, sizeof *trace->group_slots);
        memset(trace->group_slots, 0, SLOTS * sizeof *trace->group_slots);
    }
    uint32_t at = group_hash(key) % SLOTS;
    for (; trace->group_slots[at]; at = (at + 1) % SLOTS)
        if (group_equal(&trace->groups[trace->group_slots[at] - 1], key))
            return &trace->groups[trace->group_slots[at] - 1];
    if (trace->group_count == TRACE_GROUPS_MAX) return NULL;
    if ((trace->group_count & (trace->group_count - 1)) == 0) /* powers of two */
        trace->groups = trace_resize(trace->groups, trace->group_count ? trace->group_count * 2 : 1,
                                     sizeof *trace->groups);
    trace->groups[trace->group_count] = *key;
    trace->group_slots[at] = ++trace->group_count;
    return &trace->groups[trace->group_count - 1];
}

/* A kind that is new since the last call has a row of zeros already: see kind_number. */
static void leave_out(struct trace *trace, struct trace_event *event)
{
    trace->left_out++;
    trace->buckets[event->kind][trace_bucket(event->length)]++;
    struct trace_group key = {.rank = trace->threads[event->thread].rank,
                              .kind = event->kind,
                              .cause = event->cause,
                              .site = event->site,
                              .peer = event->peer};
    struct trace_group *group = group_find(trace, &key);
    if (group) {
        group->events++;
        group->length += (uint64_t)event->length;
        if (event->bytes > 0) group->bytes += (uint64_t)event->bytes;
    } else {
        trace->uncounted++;
    }
    free(event->moment);
    event->moment = NULL;
}

/* --- events that are --- */

static bool is_kept(const struct trace *trace, const struct trace_event *event)
{
    return event->length >= trace->cut || event->draw >> (32 - trace->sampled) == 0;
}

bool trace_keeps(struct trace *trace, struct trace_event *event)
{
    if (!trace->sampled || is_kept(trace, event)) return true;
    leave_out(trace, event);
    return false;
}

static int compare_lengths(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* The length that at most `most` events reach. */
static int64_t find_cut(const struct trace *trace, size_t most)
{
    int64_t *lengths = trace_resize(NULL, trace->count, sizeof *lengths);
    for (size_t i = 0; i < trace->count; i++) lengths[i] = trace->events[i].length;
    qsort(lengths, trace->count, sizeof *lengths, compare_lengths);
    int64_t cut = lengths[most] + 1;
    free(lengths);
    return cut;
}

void trace_thin(struct trace *trace)
{
    size_t kept;
    int64_t cut = find_cut(trace, trace->most / 2);
    if (cut > trace->cut) trace->cut = cut;
    do {
        trace->sampled++;
        kept = 0;
        for (size_t i = 0; i < trace->count; i++) kept += is_kept(trace, &trace->events[i]);
    } while (kept > trace->most && trace->sampled < 31);
    kept = 0;
    for (size_t i = 0; i < trace->count; i++)
        if (trace_keeps(trace, &trace->events[i])) trace->events[kept++] = trace->events[i];
    trace->count = kept;
}
