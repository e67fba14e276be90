/* greeting.c - the state machine of greeting.h, see there for the story, and the bytes it sends.
 *
 * Pure: run by verbs_address.c and verbs_link.c, by tests/unit and by tests/sim.
 */
#include "other/portals3/transport/greeting.h"

#include <string.h>

static unsigned greet(ptli_greet_t *g)
{
    g->ask = !g->open;
    return PTLI_GREET_SEND;
}

/* Repetitions begin anew. */
static void wait_from(ptli_greet_t *g, double now, const ptli_patience_t *patience)
{
    g->waiting = true;
    g->since = now;
    g->interval = patience->first;
    g->next = now + g->interval;
}

static unsigned make(ptli_greet_t *g, uint64_t stamp)
{
    g->last = stamp > g->last ? stamp : g->last + 1;
    g->mine = g->last;
    return PTLI_GREET_MAKE;
}

unsigned ptli_greet_broken(ptli_greet_t *g)
{
    unsigned actions = g->mine ? PTLI_GREET_DROP : 0;
    uint64_t dead = g->theirs > g->dead ? g->theirs : g->dead;
    *g = (ptli_greet_t){.last = g->last, .dead = dead};
    return actions;
}

static unsigned give_up(ptli_greet_t *g)
{
    bool wanted = g->wanted;
    return ptli_greet_broken(g) | (wanted ? PTLI_GREET_FAIL : 0);
}

unsigned ptli_greet_want(ptli_greet_t *g, ptli_moment_t at, const ptli_patience_t *patience)
{
    if (g->wanted || g->open) {
        g->wanted = true;
        return 0;
    }
    g->wanted = true;
    unsigned actions = g->mine ? 0 : make(g, at.stamp);
    /* Where the peer began, this end has asked already, and asks again in time. */
    if (!g->waiting) actions |= greet(g);
    wait_from(g, at.now, patience);
    return actions;
}

unsigned ptli_greet_hear(ptli_greet_t *g, uint64_t mine, uint64_t yours, bool ask, ptli_moment_t at,
                         const ptli_patience_t *patience)
{
    unsigned actions = 0;
    bool wanted = g->wanted;
    if (mine < g->theirs || mine < g->dead) return 0; /* it was late */
    if ((g->theirs && mine > g->theirs) || (mine == g->dead && g->mine && yours == g->mine)) {
        /* What the old queue pair leads to is no more; or the peer has joined this one to one of
         * its own that an earlier one was joined to, and both must begin anew. */
        actions = ptli_greet_broken(g);
        g->wanted = wanted;
    }
    /* The sender is joined to something that is no more, and must be told what there is now. */
    bool stale = (yours && yours != g->mine) || mine == g->dead;
    if (!g->mine && stale && !ask && !wanted) return actions;
    if (!g->mine) actions |= make(g, at.stamp);
    if (!stale && !g->theirs) {
        g->theirs = mine;
        actions |= PTLI_GREET_JOIN;
    }
    if (!stale && yours && !g->open) {
        g->open = true;
        actions |= PTLI_GREET_OPEN;
    }
    if (ask || (actions & PTLI_GREET_DROP)) actions |= greet(g);
    if (g->open)
        g->waiting = false;
    else
        wait_from(g, at.now, patience);
    return actions;
}

unsigned ptli_greet_refused(ptli_greet_t *g, double now, const ptli_patience_t *patience)
{
    return g->waiting && now - g->since >= patience->refused ? give_up(g) : 0;
}

unsigned ptli_greet_tick(ptli_greet_t *g, double now, const ptli_patience_t *patience)
{
    if (!g->waiting || now < g->next) return 0;
    if (now - g->since >= patience->silent) return give_up(g);
    g->interval = 2 * g->interval < patience->longest ? 2 * g->interval : patience->longest;
    g->next = now + g->interval;
    return greet(g);
}

/* --- on the wire --- */

enum { MAGIC = 0x33335450, VERSION = 1, MOST_NUMBER = 0xffffff };

void ptli_greeting_init(ptli_greeting_t *greeting)
{
    *greeting = (ptli_greeting_t){.magic = MAGIC, .version = VERSION};
}

const char *ptli_greeting_parse(const void *bytes, size_t length, ptli_greeting_t *greeting)
{
    if (length != sizeof *greeting) return "length";
    memcpy(greeting, bytes, sizeof *greeting);
    if (greeting->magic != MAGIC) return "magic number";
    if (greeting->version != VERSION) return "version";
    if (greeting->flags & ~PTLI_GREETING_ASK) return "flags";
    if (!greeting->mine) return "stamp";
    if (greeting->mtu < 1 || greeting->mtu > 5) return "MTU";
    if (greeting->qp_number > MOST_NUMBER) return "queue pair number";
    if (greeting->psn > MOST_NUMBER) return "packet sequence number";
    if (!greeting->window) return "window";
    return NULL;
}
