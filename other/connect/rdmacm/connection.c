/* connection.c - the state machine of connection.h.  Pure: tests/unit/rdmacm.c runs it without a
 * network. */
#include "other/connect/rdmacm/connection.h"

static unsigned attempt(rdmacm_connection_t *l)
{
    l->state = RDMACM_RESOLVING;
    return RDMACM_RESOLVE;
}

static unsigned connection_give_up(rdmacm_connection_t *l)
{
    l->state = RDMACM_FAILED;
    return RDMACM_GIVE_UP;
}

static bool attempting(const rdmacm_connection_t *l)
{
    return l->state == RDMACM_RESOLVING || l->state == RDMACM_ROUTING || l->state == RDMACM_CALLING;
}

unsigned rdmacm_want(rdmacm_connection_t *l, double now, const rdmacm_times_t *times)
{
    l->wanted = true;
    if (l->state == RDMACM_FAILED) return RDMACM_GIVE_UP;
    if (l->state != RDMACM_NONE) return 0;
    l->since = now;
    l->interval = times->first;
    return attempt(l);
}

static unsigned connection_step(rdmacm_connection_t *l, enum rdmacm_state from,
                                enum rdmacm_state to, unsigned actions)
{
    if (l->state != from) return 0;
    l->state = to;
    return actions;
}

unsigned rdmacm_resolved(rdmacm_connection_t *l)
{
    return connection_step(l, RDMACM_RESOLVING, RDMACM_ROUTING, RDMACM_ROUTE);
}

unsigned rdmacm_routed(rdmacm_connection_t *l)
{
    return connection_step(l, RDMACM_ROUTING, RDMACM_CALLING, RDMACM_CALL);
}

unsigned rdmacm_answered(rdmacm_connection_t *l)
{
    return connection_step(l, RDMACM_CALLING, RDMACM_CONNECTED, RDMACM_ESTABLISH | RDMACM_OPEN);
}

unsigned rdmacm_requested(rdmacm_connection_t *l)
{
    const bool own = attempting(l);
    if (l->state != RDMACM_NONE && l->state != RDMACM_WAITING && !(own && !l->lower))
        return RDMACM_REJECT;
    l->state = RDMACM_ACCEPTED;
    return (own ? RDMACM_ABANDON : 0u) | RDMACM_ACCEPT;
}

unsigned rdmacm_established(rdmacm_connection_t *l)
{
    if (l->state == RDMACM_CALLING) return rdmacm_answered(l);
    return connection_step(l, RDMACM_ACCEPTED, RDMACM_CONNECTED, RDMACM_OPEN);
}

unsigned rdmacm_failed(rdmacm_connection_t *l, bool crossed, double now,
                       const rdmacm_times_t *times)
{
    if (l->state == RDMACM_ACCEPTED) {
        const unsigned actions = connection_give_up(l);
        return l->wanted ? actions : 0;
    }
    if (!attempting(l)) return 0;
    if (now - l->since >= times->give_up) return RDMACM_ABANDON | connection_give_up(l);
    l->state = RDMACM_WAITING;
    l->next = now + (crossed ? times->longest : l->interval);
    l->interval = 2 * l->interval < times->longest ? 2 * l->interval : times->longest;
    return RDMACM_ABANDON;
}

double rdmacm_due(const rdmacm_connection_t *l, const rdmacm_times_t *times)
{
    const double last = l->since + times->give_up;
    if (l->state == RDMACM_WAITING) return l->next < last ? l->next : last;
    return attempting(l) ? last : -1;
}

unsigned rdmacm_tick(rdmacm_connection_t *l, double now, const rdmacm_times_t *times)
{
    const double due = rdmacm_due(l, times);
    if (due < 0 || now < due) return 0;
    const unsigned abandon = attempting(l) ? RDMACM_ABANDON : 0u;
    if (now - l->since >= times->give_up) return abandon | connection_give_up(l);
    return attempt(l);
}
