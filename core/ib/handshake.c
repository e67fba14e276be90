/* handshake.c - the state machine of handshake.h, see there for the story, and the bytes it sends.
 *
 * Pure: run by the engine in connect_on_demand.c, by tests/unit and by tests/sim.
 */
#include "core/ib/handshake.h"

#include <string.h>

typedef net_ib_handshake_t handshake_t;
typedef net_ib_patience_t patience_t;

static unsigned send(handshake_t *h)
{
    h->flags = (uint8_t)((h->joined ? NET_IB_HAVE : 0) | (h->open ? 0 : NET_IB_ASK));
    return NET_IB_SEND;
}

/* Repetitions begin anew. */
static void wait_from(handshake_t *h, double now, const patience_t *patience)
{
    h->waiting = true;
    h->since = now;
    h->interval = patience->first;
    h->next = now + h->interval;
}

unsigned net_ib_handshake_want(handshake_t *h, double now, const patience_t *patience)
{
    if (h->wanted) return 0;
    h->wanted = true;
    if (h->open) return 0;
    unsigned actions = h->made ? 0 : NET_IB_MAKE;
    h->made = true;
    /* Where the peer began, this end has asked already, and asks again in time. */
    if (!h->waiting) actions |= send(h);
    wait_from(h, now, patience);
    return actions;
}

unsigned net_ib_handshake_hear(handshake_t *h, uint8_t flags, double now,
                               const patience_t *patience)
{
    unsigned actions = 0;
    /* Nobody has what was not made: a stranger. */
    if ((flags & NET_IB_HAVE) && !h->made) return 0;
    if (!h->made) actions |= NET_IB_MAKE;
    if (!h->joined) actions |= NET_IB_JOIN;
    if ((flags & NET_IB_HAVE) && !h->open) actions |= NET_IB_OPEN;
    h->made = h->joined = true;
    h->open = h->open || (flags & NET_IB_HAVE);
    if (flags & NET_IB_ASK) actions |= send(h);
    if (h->open)
        h->waiting = false;
    else
        wait_from(h, now, patience);
    return actions;
}

unsigned net_ib_handshake_tick(handshake_t *h, double now, const patience_t *patience)
{
    if (!h->waiting || now < h->next) return 0;
    if (now - h->since >= patience->give_up) {
        h->waiting = false;
        return h->wanted ? NET_IB_FAIL : 0;
    }
    h->interval = 2 * h->interval < patience->longest ? 2 * h->interval : patience->longest;
    h->next = now + h->interval;
    if (h->repeated < UINT8_MAX) h->repeated++;
    return send(h);
}

/* --- on the wire --- */

enum { MAGIC = 0x474e4853, VERSION = 2 };

void net_ib_greeting_init(net_ib_greeting_t *greeting, uint32_t rank, uint32_t qps)
{
    *greeting =
        (net_ib_greeting_t){.magic = MAGIC, .version = VERSION, .rank = rank, .qps = (uint16_t)qps};
}

const char *net_ib_greeting_parse(const void *bytes, size_t length, uint32_t ranks,
                                  net_ib_greeting_t *greeting)
{
    if (length < net_ib_greeting_size(0)) return "length (shorter than a greeting)";
    memset(greeting, 0, sizeof *greeting);
    memcpy(greeting, bytes, length < sizeof *greeting ? length : sizeof *greeting);
    if (greeting->magic != MAGIC) return "magic number";
    if (greeting->version != VERSION) return "version";
    if (greeting->rank >= ranks) return "rank";
    if (greeting->flags & ~(NET_IB_HAVE | NET_IB_ASK)) return "flags";
    if (greeting->qps < 1 || greeting->qps > NET_IB_GREETING_QPS) return "number of queue pairs";
    if (length != net_ib_greeting_size(greeting->qps)) return "length";
    for (uint32_t i = 0; i < greeting->qps; i++)
        if (greeting->qp_number[i] > 0xffffff) return "queue pair number";
    return NULL;
}
