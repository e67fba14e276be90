/* credits.h - AM flow control between two nodes, as a plain state machine (IB-A1..A3, IB-R3,
 * IB-R5).
 *
 * Every Request spends one credit of its sender; every Reply, explicit or hidden, brings it back.
 * A Request whose handler sent no Reply leaves its credit in the responder's bank, from where it
 * rides on the next message to that peer; when the bank exceeds the slack at the end of a poll, a
 * hidden Reply carries all of it.  No I/O, no lock: the engine calls these under the peer's lock.
 *
 * A slack of 0 is for receive buffers that are too few for all peers.  Then nothing is banked: each
 * Request has a Reply of its own, which uses up the buffer that was posted for it.  A Reply that
 * brought several credits, or a Request that brought one, would leave buffers behind (`room`) that
 * only its sender's next Replies can use, until there is none for anybody else.
 *
 * Invariant, for each direction between two nodes: credits at the sender + Requests on the way or
 * being handled, or without slack waiting for a hidden Reply + credits banked at the responder +
 * credits on the way back = M.
 */
#ifndef GASNETC_CREDITS_H
#define GASNETC_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gasnetc_credits {
    uint16_t available; /* Requests that may be sent now */
    uint16_t limit;     /* M */
    uint16_t lowest;    /* the least that `available` has been; only told, never acted on */
    uint16_t banked;    /* owed to the peer, not yet sent */
    uint16_t slack;     /* most that may stay banked */
    uint16_t room;      /* receive buffers here, posted for Replies that will not come: each credit
                           that came back riding on another message leaves one, and
                           each Reply that needed none */
} gasnetc_credits_t;

enum { GASNETC_CREDITS_PER_MESSAGE = 255 }; /* the header's field is a byte */

/* slack is reduced so that it stays below M: a peer never waits for credits that only we hold. */
static inline void gasnetc_credits_init(gasnetc_credits_t *c, uint16_t limit, uint16_t slack)
{
    c->available = c->limit = c->lowest = limit;
    c->banked = c->room = 0;
    if (slack >= limit) slack = limit - 1;
    c->slack = slack < GASNETC_CREDITS_PER_MESSAGE ? slack : GASNETC_CREDITS_PER_MESSAGE - 1;
}

/* Before a Request: false when no credit is left.  *needs_room says whether a receive buffer must
 * be posted for its Reply; if not, one was left over and is now taken. */
static inline bool gasnetc_credits_take(gasnetc_credits_t *c, bool *needs_room)
{
    /* One comparison in the usual case: fewer credits are left than ever before, or none. */
    if (__builtin_expect(c->available <= c->lowest, 0)) {
        if (c->available == 0) return false;
        c->lowest = c->available - 1;
    }
    c->available--;
    *needs_room = c->room == 0;
    if (!*needs_room) c->room--;
    return true;
}

/* The Request could not be sent after all. */
static inline void gasnetc_credits_untake(gasnetc_credits_t *c, bool needs_room)
{
    c->available++;
    if (!needs_room) c->room++;
}

/* A message arrived that carries `n` credits back; a Reply used up one receive buffer.  false if
 * that breaks the invariant (a broken peer), and then nothing has changed. */
static inline bool gasnetc_credits_return(gasnetc_credits_t *c, uint16_t n, bool reply)
{
    if (reply && n == 1) { /* the usual case of what follows */
        if (c->available == c->limit) return false;
        c->available++;
        return true;
    }
    if (n > c->limit - c->available || (reply && n == 0)) return false;
    c->available += n;
    c->room += (uint16_t)(n - reply);
    return true;
}

/* That Reply came without using up a receive buffer: the one posted for it is left over. */
static inline void gasnetc_credits_room_left(gasnetc_credits_t *c)
{
    c->room++;
}

/* Without slack: every Request has a Reply, hidden or not, with its own credit and no other. */
static inline bool gasnetc_credits_one_each(const gasnetc_credits_t *c)
{
    return c->slack == 0;
}

/* A Request was handled and not replied to; true when a hidden Reply is due. */
static inline bool gasnetc_credits_bank(gasnetc_credits_t *c)
{
    c->banked++;
    if (c->banked <= c->slack) return false;
    if (gasnetc_credits_one_each(c)) c->banked = 0; /* for no other message to carry */
    return true;
}

/* Of a hidden Reply that was due: false when another message has carried the credits meanwhile. */
static inline bool gasnetc_credits_overdue(const gasnetc_credits_t *c)
{
    return c->banked > c->slack || gasnetc_credits_one_each(c);
}

/* What a message about to leave for the peer carries, when `own` of it are its own and the rest is
 * banked.  Follow with gasnetc_credits_carried() when it has left. */
static inline uint8_t gasnetc_credits_carry(const gasnetc_credits_t *c, uint8_t own)
{
    unsigned all = c->banked + own;
    return (uint8_t)(all < GASNETC_CREDITS_PER_MESSAGE ? all : GASNETC_CREDITS_PER_MESSAGE);
}

static inline void gasnetc_credits_carried(gasnetc_credits_t *c, uint8_t carried, uint8_t own)
{
    c->banked -= (uint16_t)(carried - own);
}

#endif
