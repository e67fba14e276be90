/* handshake.c - the state machine of handshake.h.  Pure: tests/unit, tests/fuzz and tests/sim run
 * it without a network.
 */
#include "other/connect/handshake/handshake.h"

/* The interval between repetitions begins anew. */
static void wait_from(handshake_t *h, double now, const handshake_times_t *times)
{
    h->waiting = true;
    h->since = now;
    h->interval = times->first;
    h->next = now + h->interval;
}

static unsigned handshake_make(handshake_t *h, uint64_t stamp)
{
    h->last = stamp > h->last ? stamp : h->last + 1;
    h->mine = h->last;
    return HANDSHAKE_MAKE;
}

handshake_message_t handshake_message(const handshake_t *h)
{
    return (handshake_message_t){.mine = h->mine, .yours = h->theirs, .ask = !h->open};
}

unsigned handshake_reset(handshake_t *h)
{
    const unsigned actions = h->mine ? HANDSHAKE_DROP : 0;
    const uint64_t dead = h->theirs > h->dead ? h->theirs : h->dead;
    *h = (handshake_t){.last = h->last, .dead = dead};
    return actions;
}

unsigned handshake_want(handshake_t *h, handshake_moment_t at, const handshake_times_t *times)
{
    const bool was_wanted = h->wanted;
    h->wanted = true;
    if (was_wanted || h->open) return 0;
    unsigned actions = h->mine ? 0 : handshake_make(h, at.stamp);
    /* While waiting, a message has been sent already and will be repeated. */
    if (!h->waiting) actions |= HANDSHAKE_SEND;
    wait_from(h, at.now, times);
    return actions;
}

/* The message proves that the queue pair leads nowhere: the peer has a later one, or has connected
 * its dropped one to the present one here.  In the latter case both ends must begin anew. */
static bool leads_nowhere(const handshake_t *h, const handshake_message_t *m)
{
    return (h->theirs && m->mine > h->theirs) ||
           (h->mine && m->mine == h->dead && m->yours == h->mine);
}

unsigned handshake_receive(handshake_t *h, const handshake_message_t *m, handshake_moment_t at,
                           const handshake_times_t *times)
{
    if (m->mine < h->theirs || m->mine < h->dead) return 0; /* delayed: of an earlier queue pair */
    unsigned actions = 0;
    const bool wanted = h->wanted;
    if (leads_nowhere(h, m)) {
        actions = handshake_reset(h);
        h->wanted = wanted;
    }
    /* The peer's queue pair cannot be connected to; it learns of the present one by an answer. */
    const bool stale = (m->yours && m->yours != h->mine) || m->mine == h->dead;
    if (!h->mine && stale && !m->ask && !wanted) return actions;
    if (!h->mine) actions |= handshake_make(h, at.stamp);
    if (!stale && !h->theirs) {
        h->theirs = m->mine;
        actions |= HANDSHAKE_JOIN;
    }
    if (!stale && m->yours && !h->open) {
        h->open = true;
        actions |= HANDSHAKE_OPEN;
    }
    if (m->ask || (actions & HANDSHAKE_DROP)) actions |= HANDSHAKE_SEND;
    if (h->open)
        h->waiting = false;
    else
        wait_from(h, at.now, times);
    return actions;
}

static unsigned handshake_give_up(handshake_t *h)
{
    h->waiting = false;
    return HANDSHAKE_SILENT;
}

unsigned handshake_refused(handshake_t *h, double now, double least)
{
    return h->waiting && now - h->since >= least ? handshake_give_up(h) : 0;
}

unsigned handshake_tick(handshake_t *h, double now, const handshake_times_t *times)
{
    if (!h->waiting || now < h->next) return 0;
    if (now - h->since >= times->give_up) return handshake_give_up(h);
    h->interval = 2 * h->interval < times->longest ? 2 * h->interval : times->longest;
    h->next = now + h->interval;
    return HANDSHAKE_SEND;
}
