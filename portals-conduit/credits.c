/* credits.c - runs the state machine of portals-conduit/lending.h: its lock and its system messages
 * (PO-9, PO-10, PO-14).
 *
 * Called when Requests and Replies are sent and received.  No credits are counted with
 * GASNET_PORTAL_FLOW_CONTROL=0.
 */
#include <stdio.h>

#include "core/params/params.h"
#include "portals.h"

bool net_portals_take_credits(net_peer_t *peer, unsigned cost, uint8_t *byte)
{
    *byte = (uint8_t)cost;
    if (!net_portals.flow) return true;
    gasneti_lock(&net_portals.lending_lock);
    bool taken =
        gasnetc_lending_take(&net_portals.lending, &peer->loan, cost, &peer->short_of, byte);
    if (taken) peer->short_of = 0;
    gasneti_unlock(&net_portals.lending_lock);
    return taken;
}

bool net_portals_credits_back(net_peer_t *peer, uint8_t byte)
{
    if (!net_portals.flow) return true;
    gasneti_lock(&net_portals.lending_lock);
    bool sound = gasnetc_lending_replied(&peer->loan, byte);
    gasneti_unlock(&net_portals.lending_lock);
    return sound;
}

uint8_t net_portals_answer_credits(net_peer_t *peer, uint8_t byte)
{
    if (!net_portals.flow) return byte;
    gasneti_lock(&net_portals.lending_lock);
    uint8_t answer = gasnetc_lending_answer(&net_portals.lending, &peer->loan, byte);
    bool bank_short = net_portals.lending.bank_short;
    gasneti_unlock(&net_portals.lending_lock);
    if (bank_short) net_portals_scavenge();
    return answer;
}

static gasnetc_loan_t *credits_loan_of(void *peers, uint32_t rank)
{
    net_peer_t *peer = ((net_peer_t *const *)peers)[rank];
    return peer ? &peer->loan : NULL;
}

void net_portals_scavenge(void)
{
    gasnetc_lending_ask_t asks[GASNETC_LENDING_ASKS_MOST];
    gasneti_lock(&net_portals.lending_lock);
    unsigned n = gasnetc_lending_choose(&net_portals.lending, net_portals_rest.peers + 1,
                                        credits_loan_of, net_portals_rest.peer, asks);
    gasneti_unlock(&net_portals.lending_lock);
    for (unsigned i = 0; i < n; i++)
        net_portals_system(net_portals_rest.peer[asks[i].rank], BITS_REVOKE, asks[i].epochs, 0);
}

void net_portals_revoked(net_peer_t *peer, uint32_t word)
{
    gasneti_lock(&net_portals.lending_lock);
    uint16_t back = gasnetc_lending_give_back(&net_portals.lending, &peer->loan, (uint16_t)word);
    uint16_t epochs = gasnetc_lending_epochs(&net_portals.lending, &peer->loan);
    gasneti_unlock(&net_portals.lending_lock);
    net_portals_system(peer, BITS_RETURN, back | (uint32_t)epochs << 16, 0);
}

void net_portals_returned(net_peer_t *peer, uint32_t word)
{
    gasneti_lock(&net_portals.lending_lock);
    bool sound = gasnetc_lending_gave_back(&net_portals.lending, &peer->loan, (uint16_t)word,
                                           (uint16_t)(word >> 16));
    gasneti_unlock(&net_portals.lending_lock);
    if (!sound) gasneti_malformed(peer->rank, 0, "number of returned credits");
}

/* --- GASNET_PORTAL_CREDIT_STATS (PO-14) --- */

static void credits_write_stats(FILE *out)
{
    const gasnetc_lending_t *l = &net_portals.lending;
    fprintf(out, "# rank %u: %u credits in the bank, %llu lent so far, %llu returned; epoch %llu\n",
            net_portals.rank, l->bank, (unsigned long long)l->lent, (unsigned long long)l->returned,
            (unsigned long long)l->epoch);
    fputs("# peer        lent    borrowed  in-use  most-used  stalls\n", out);
    for (uint32_t r = 0; r <= net_portals_rest.peers; r++) {
        const net_peer_t *peer = net_portals_rest.peer[r];
        if (!peer) continue;
        const gasnetc_loan_t *loan = &peer->loan;
        fprintf(out, "%6u %11u %11u %7u %10u %7u\n", r, loan->loan, loan->owned, loan->in_use,
                (unsigned)(loan->most > loan->most_then ? loan->most : loan->most_then),
                loan->stalls);
    }
}

void net_report_at_exit(void)
{
    if (!gasnetc_params.credit_stats || !net_portals_rest.open || !net_portals_rest.peers) return;
    char name[64];
    snprintf(name, sizeof name, "gasnet_credits.%u", net_portals.rank);
    FILE *out = fopen(name, "w");
    if (!out) {
        gasneti_warn("GASNET_PORTAL_CREDIT_STATS: cannot write %s; continuing without it", name);
        return;
    }
    gasneti_lock(&net_portals.lending_lock);
    credits_write_stats(out);
    gasneti_unlock(&net_portals.lending_lock);
    fclose(out);
}
