/* credits.h - AM flow control between two ranks, as a plain state machine (IB-A1..A3, IB-R3,
 * IB-R5).
 *
 * Every Request takes one credit of its sender; its Reply, explicit or hidden, returns the credit.
 * If the handler of a Request sends no Reply, the responder banks the credit and piggybacks it on
 * its next message to that peer.  When more credits are banked than the slack at the end of a poll,
 * a hidden Reply returns them all.  No I/O, no lock: the engine holds the peer's lock.
 *
 * A slack of 0 is for jobs with too few receive buffers for all peers.  Then no credits are banked:
 * each Request has a Reply of its own, which consumes the buffer that was posted for it.  A Reply
 * that returned several credits, or a Request that returned one, would leave posted buffers
 * (`surplus`) that only Replies of the same peer can consume, until none is left for other peers.
 *
 * Invariant, for each direction between two ranks: credits available at the sender + Requests in
 * flight, being handled, or (without slack) waiting for a hidden Reply + credits banked at the
 * responder + returned credits in flight = M.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct gasnetc_credits {
    uint16_t available; /* Requests that may be sent now */
    uint16_t limit;     /* M */
    uint16_t lowest;    /* the minimum of `available` so far; only for reports */
    uint16_t banked;    /* credits of the peer, not returned yet */
    uint16_t slack;     /* the most that may stay banked */
    uint16_t surplus; /* local receive buffers, posted for Replies that will not arrive: each credit
                         piggybacked on another message leaves one, and so does each Reply that
                         consumed none */
} gasnetc_credits_t;

enum { GASNETC_CREDITS_PER_MESSAGE = 255 }; /* the header's field is a byte */

/* Reduces slack to less than M (`limit`): otherwise a peer could wait for credits that are all
 * banked by this rank. */
static inline void gasnetc_credits_init(gasnetc_credits_t *c, uint16_t limit, uint16_t slack)
{
    c->available = c->limit = c->lowest = limit;
    c->banked = c->surplus = 0;
    if (slack >= limit) slack = limit - 1;
    c->slack = slack < GASNETC_CREDITS_PER_MESSAGE ? slack : GASNETC_CREDITS_PER_MESSAGE - 1;
}

/* Takes the credit for a Request; false when no credit is available.  *needs_recv: a receive buffer
 * must be posted for the Reply; else the Reply uses one of `surplus`. */
static inline bool gasnetc_credits_take(gasnetc_credits_t *c, bool *needs_recv)
{
    /* One comparison in the usual case covers two: a new minimum, and no credit. */
    if (c->available <= c->lowest) {
        if (c->available == 0) return false;
        c->lowest = c->available - 1;
    }
    c->available--;
    *needs_recv = c->surplus == 0;
    if (!*needs_recv) c->surplus--;
    return true;
}

/* True if gasnetc_credits_take would find a credit. */
static inline bool gasnetc_credits_any(const gasnetc_credits_t *c)
{
    return c->available != 0;
}

/* Undoes gasnetc_credits_take: the Request was not sent. */
static inline void gasnetc_credits_untake(gasnetc_credits_t *c, bool needs_recv)
{
    c->available++;
    if (!needs_recv) c->surplus++;
}

/* A message arrived that returns `n` credits; a Reply consumed one receive buffer.  False, with
 * nothing changed, if that violates the invariant. */
static inline bool gasnetc_credits_return(gasnetc_credits_t *c, uint32_t n, bool reply)
{
    if (reply && n == 1) { /* the usual case */
        if (c->available == c->limit) return false;
        c->available++;
        return true;
    }
    if (n > (uint32_t)(c->limit - c->available) || (reply && n == 0)) return false;
    c->available += n;
    c->surplus += (uint16_t)(n - reply);
    return true;
}

/* A Reply consumed no receive buffer: the buffer posted for it is still posted. */
static inline void gasnetc_credits_recv_kept(gasnetc_credits_t *c)
{
    c->surplus++;
}

/* True without slack: every Request has a Reply, explicit or hidden, that returns exactly its
 * credit. */
static inline bool gasnetc_credits_one_each(const gasnetc_credits_t *c)
{
    return c->slack == 0;
}

/* The handler of a Request sent no Reply; true when a hidden Reply is due. */
static inline bool gasnetc_credits_bank(gasnetc_credits_t *c)
{
    c->banked++;
    if (c->banked <= c->slack) return false;
    if (gasnetc_credits_one_each(c)) c->banked = 0; /* no other message may return it */
    return true;
}

/* A hidden Reply was due: false when other messages have returned the credits meanwhile. */
static inline bool gasnetc_credits_overdue(const gasnetc_credits_t *c)
{
    return c->banked > c->slack || gasnetc_credits_one_each(c);
}

/* Takes the credits that the next message to the peer returns: `own` for the Request that the
 * message answers, and the banked ones. */
static inline uint8_t gasnetc_credits_piggyback(gasnetc_credits_t *c, uint8_t own)
{
    if (c->banked == 0) return own; /* the usual case */
    const unsigned all = c->banked + own;
    c->banked = 0;
    if (all <= GASNETC_CREDITS_PER_MESSAGE) return (uint8_t)all;
    c->banked = (uint16_t)(all - GASNETC_CREDITS_PER_MESSAGE);
    return GASNETC_CREDITS_PER_MESSAGE;
}

/* Undoes gasnetc_credits_piggyback: the message was not sent. */
static inline void gasnetc_credits_unpiggyback(gasnetc_credits_t *c, uint8_t credits, uint8_t own)
{
    c->banked += (uint16_t)(credits - own);
}
