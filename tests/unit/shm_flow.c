/* shm_flow.c - the flow control of core/shm/shm_flow.h between two shared-memory
 * peers, under random schedules.
 *
 * Both send Requests when they may. Messages are taken in order, are handled in any order of taken
 * ones, and are released late: in the order in which they were taken, or in any. At each Reply a
 * slot must be free; no slot is written before its message was released; a message is taken as it
 * was written. At the end no Request is unanswered and no message held, and as many Requests as
 * slots may be sent again.
 */
#include "core/shm/shm_flow.h"

#include <string.h>

#include "tests/unit/check.h"

enum { REQUESTS, REPLIES, RINGS };

/* A ring, its sender's end and its receiver's. */
typedef struct ring {
    amrdma_out_t out;
    amrdma_in_t in;
    amrdma_released_t released;
    uint64_t slot[AMRDMA_SLOTS]; /* trailers */
    bool busy[AMRDMA_SLOTS];     /* not released yet */
    struct {
        uint32_t number;
        bool handled; /* handled: the message may be released */
    } held[AMRDMA_SLOTS];
    uint32_t holds;
} ring_t;

/* The rings that are written to this side, and the state of its own Requests. */
typedef struct side {
    ring_t ring[RINGS];
    shm_flow_t flow;
    _Atomic uint32_t unanswered;
    uint64_t replies_due, refused, sent;
} side_t;

static side_t sides[2];
static uint32_t slots;
static bool in_order;

static void begin(uint32_t first)
{
    memset(sides, 0, sizeof sides);
    for (int s = 0; s < 2; s++)
        for (int r = 0; r < RINGS; r++) {
            ring_t *ring = &sides[s].ring[r];
            amrdma_in_init(&ring->in, slots, &ring->released, true);
            ring->out.slots = (uint16_t)slots;
            ring->out.sent = ring->in.freed = first;
            ring->out.freed = (uint16_t)first;
            ring->in.expected = first + 1;
            for (uint32_t i = 0; i < slots; i++) {
                ring->released.number[(first - i) & ring->in.mask] = first - i;
                ring->slot[(first - i) & ring->in.mask] = amrdma_trailer(first - i, 0, 8);
            }
            sides[s].flow.released = first;
        }
}

/* False: there is no room. */
static bool write_message(ring_t *ring)
{
    if (!amrdma_may_send(&ring->out)) amrdma_look(&ring->out, &ring->released);
    if (!amrdma_may_send(&ring->out)) return false;
    uint32_t number = amrdma_send(&ring->out), at = number & ring->in.mask;
    check_each(!ring->busy[at], "message %u is written over one that is not released", number);
    ring->busy[at] = true;
    ring->slot[at] = amrdma_trailer(number, 0, 8);
    return true;
}

/* As request_place in portals-conduit/pairs.c. */
static bool request(int from)
{
    side_t *here = &sides[from], *there = &sides[1 - from];
    ring_t *out = &there->ring[REQUESTS];
    const uint32_t before = (uint32_t)out->out.sent;
    if (!shm_flow_may_request(&here->flow, before, slots))
        shm_flow_look(&here->flow, &here->ring[REPLIES].in, in_order, &there->unanswered);
    check_each(shm_flow_is_sound(&here->flow, before, slots), "more is settled than was sent");
    const bool sent = shm_flow_may_request(&here->flow, before, slots) && write_message(out);
    here->sent += sent;
    here->refused += !sent;
    return sent;
}

static bool take(int to, int which)
{
    ring_t *ring = &sides[to].ring[which];
    if (!amrdma_is_next(&ring->in, ring->slot[ring->in.expected & ring->in.mask])) return false;
    check_each(ring->holds < slots, "more messages than slots");
    ring->held[ring->holds].handled = which == REPLIES; /* nothing follows */
    ring->held[ring->holds++].number = amrdma_take(&ring->in);
    return true;
}

/* The handler of a Request replies, or ends without. */
static bool handle(int at)
{
    side_t *here = &sides[at];
    ring_t *ring = &here->ring[REQUESTS];
    if (!ring->holds) return false;
    uint32_t i = check_below(ring->holds);
    if (ring->held[i].handled) return false;
    ring->held[i].handled = true;
    if (check_below(3) == 0)
        shm_flow_count_unanswered(&here->unanswered);
    else
        check_each(write_message(&sides[1 - at].ring[REPLIES]), "a Reply finds no slot");
    return true;
}

static bool release(int at, int which)
{
    ring_t *ring = &sides[at].ring[which];
    if (!ring->holds) return false;
    uint32_t i = in_order ? 0 : check_below(ring->holds);
    if (!ring->held[i].handled) return false;
    uint32_t number = ring->held[i].number;
    ring->busy[number & ring->in.mask] = false;
    amrdma_release(&ring->in, number, in_order);
    memmove(&ring->held[i], &ring->held[i + 1], (--ring->holds - i) * sizeof *ring->held);
    return true;
}

static bool step(int side, bool sends)
{
    switch (check_below(6)) {
    case 0:
        return sends && request(side);
    case 1:
        return handle(side);
    case 2:
        return take(side, REQUESTS);
    case 3:
        return take(side, REPLIES);
    case 4:
        return release(side, REQUESTS);
    default:
        return release(side, REPLIES);
    }
}

static void converse(uint32_t first)
{
    uint64_t sent = 0, refused = 0;
    for (int round = 0; round < 200; round++) {
        slots = 1u << check_below(6);
        in_order = check_below(2);
        begin(first);
        for (int i = 0; i < 4000; i++) step((int)check_below(2), true);
        for (int idle = 0; idle < 10000; idle++)
            if (step((int)check_below(2), false)) idle = 0;
        for (int s = 0; s < 2; s++) {
            sent += sides[s].sent;
            refused += sides[s].refused;
            uint32_t again = 0;
            while (again <= slots && request(s)) again++;
            check_each(again == slots, "all is settled: %u Requests of %u may be sent", again,
                       slots);
        }
    }
    check_each(sent > 10000 && refused > 1000, "%llu Requests, %llu refused: too few of either",
               (unsigned long long)sent, (unsigned long long)refused);
    check_all("each Reply finds a slot, and all Requests are settled at last (numbers from %u)",
              first);
}

/* A Reply that no Request awaits. */
static void unsound(void)
{
    slots = 4;
    in_order = true;
    begin(7);
    side_t *here = &sides[0], *there = &sides[1];
    request(0);
    shm_flow_count_unanswered(&there->unanswered);
    shm_flow_count_unanswered(&there->unanswered);
    shm_flow_look(&here->flow, &here->ring[REPLIES].in, in_order, &there->unanswered);
    check(!shm_flow_is_sound(&here->flow, (uint32_t)there->ring[REQUESTS].out.sent, slots),
          "a peer that settles more than was sent is found out");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    converse(0);
    converse(UINT32_MAX - 1000);
    unsound();
    return check_end();
}
