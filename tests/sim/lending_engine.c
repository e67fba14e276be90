/* lending_engine.c - see lending_engine.h. */
#include "tests/sim/lending_engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/params/params.h"
#include "portals-conduit/portals.h"
#include "tests/sim/sim.h"

struct net_portals net_portals;
struct net_portals_rest net_portals_rest;
gasnetc_params_t gasnetc_params;

/* The peers that a call may look at: the one that it is about, and those that are examined. */
static struct {
    uint32_t me;
    unsigned count;
    net_peer_t peer[1 + GASNETC_LENDING_EXAMINED_MOST];
    net_peer_t *by_rank[SIM_NODES];
} entered;

void engine_begin(uint32_t nodes, uint16_t each)
{
    memset(&entered, 0, sizeof entered);
    net_portals = (struct net_portals){.flow = true};
    net_portals_rest.peers = nodes - 1;
    net_portals_rest.each = each;
    net_portals_rest.peer = entered.by_rank;
}

static net_peer_t *enter_peer(uint32_t rank)
{
    if (entered.by_rank[rank]) return entered.by_rank[rank];
    net_peer_t *peer = &entered.peer[entered.count++];
    const gasnetc_loan_t *loan = engine_loan(entered.me, rank, false);
    memset(peer, 0, sizeof *peer);
    peer->rank = rank;
    if (loan)
        peer->loan = *loan;
    else
        gasnetc_loan_init(&peer->loan, net_portals_rest.each);
    return entered.by_rank[rank] = peer;
}

static net_peer_t *enter(uint32_t me, uint32_t peer)
{
    entered.me = net_portals.rank = me;
    entered.count = 0;
    net_portals.lending = *engine_lending(me);
    return enter_peer(peer);
}

/* The ranks that the engine examines when its bank is short, round robin. */
static void enter_examined(void)
{
    const uint32_t ranks = net_portals_rest.peers + 1;
    for (uint32_t i = 1; i <= GASNETC_LENDING_EXAMINED_MOST && i <= ranks; i++) {
        const uint32_t rank = (net_portals.lending.examined + i) % ranks;
        if (rank != entered.me) enter_peer(rank);
    }
}

static void leave(void)
{
    gasnetc_loan_t first;
    memset(&first, 0, sizeof first);
    gasnetc_loan_init(&first, net_portals_rest.each);
    *engine_lending(entered.me) = net_portals.lending;
    for (unsigned i = 0; i < entered.count; i++) {
        const net_peer_t *peer = &entered.peer[i];
        const bool same = memcmp(&peer->loan, &first, sizeof first) == 0;
        gasnetc_loan_t *loan = engine_loan(entered.me, peer->rank, !same);
        if (loan) *loan = peer->loan;
        entered.by_rank[peer->rank] = NULL;
    }
}

bool engine_take(uint32_t me, uint32_t rank, unsigned cost, unsigned *short_of, uint8_t *byte)
{
    net_peer_t *peer = enter(me, rank);
    peer->short_of = *short_of;
    const bool taken = net_portals_take_credits(peer, cost, byte);
    *short_of = peer->short_of;
    leave();
    return taken;
}

bool engine_valid(uint32_t me, uint32_t rank, uint8_t byte)
{
    const bool valid = net_portals_credits_valid(enter(me, rank), byte);
    leave();
    return valid;
}

/* Only a Request that asks for more makes the bank short. */
uint8_t engine_answer(uint32_t me, uint32_t rank, uint8_t byte)
{
    net_peer_t *peer = enter(me, rank);
    const bool asks = byte >> 4 & GASNETC_LENDING_MORE_MOST;
    if (asks || net_portals.lending.bank_short) enter_examined();
    const uint8_t answer = net_portals_answer_credits(peer, byte);
    leave();
    return answer;
}

bool engine_replied(uint32_t me, uint32_t rank, uint8_t byte)
{
    const bool sound = net_portals_credits_back(enter(me, rank), byte);
    leave();
    return sound;
}

void engine_hear(uint32_t me, uint32_t rank, bool revoke, uint32_t word)
{
    net_peer_t *peer = enter(me, rank);
    if (revoke)
        net_portals_revoked(peer, word);
    else
        net_portals_returned(peer, word);
    leave();
}

/* --- functions that the engine calls --- */

bool net_portals_system(net_peer_t *peer, enum bits_message message, uint32_t word, uint32_t more)
{
    (void)more;
    engine_sends(entered.me, peer->rank, message == BITS_REVOKE, word);
    return true;
}

void gasneti_fatal(const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    sim_fail(entered.me, "fatal error: %s", text);
}

void gasneti_warn(const char *format, ...)
{
    gasneti_fatal("%s", format);
}

const char *gasneti_rank_name(uint32_t rank)
{
    static char name[32];
    snprintf(name, sizeof name, "rank %u", rank);
    return name;
}
