/* lending.c - the credits that nodes lend each other (PO-9, PO-10, PO-17), for up to 10,000 nodes
 * and the patterns that programs have: neighbours, trees, all to one, at random, and ones that
 * shift.
 *
 * The engine is that of portals-conduit (credits.c, through lending_engine.h). A node computes,
 * sends a burst, waits where credits are missing and serves its own Requests meanwhile. Requests
 * are put into a chain of receive buffers as by libportals; one that finds no room has reached the
 * catch-basin. After each step: credits are conserved, between every two nodes and at every lender.
 */
#include "portals-conduit/lending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/chart.h"
#include "tests/sim/lending_engine.h"
#include "tests/sim/sim.h"

enum {
    CREDIT = 256, /* bytes */
    CHUNK = 1024, /* the largest Request */
    FLOOR = CHUNK / CREDIT,
    BUFFERS_MOST = 16,
    PARTNERS = 8,
    AT_ONCE = 8,  /* Requests served per poll */
    WINDOWS = 30, /* of time, to see when credits move */
};

typedef struct pair {
    uint32_t peer; /* + 1; 0 = none */
    gasnetc_loan_t loan;
    uint32_t coming, leaving; /* credits of ours on their way to the peer, and back */
} pair_t;

typedef struct request {
    struct request *next;
    uint32_t from;
    uint8_t byte, buffer;
} request_t;

typedef struct node {
    gasnetc_lending_t lending;
    uint64_t owed; /* the sum of all loans */
    pair_t *pairs; /* of peers met so far: a hash table */
    uint32_t pair_count, pair_space;

    struct {
        uint32_t used, unserved;
    } buffers[BUFFERS_MOST];
    uint8_t chain[BUFFERS_MOST], chained; /* indices of the linked buffers, in order */
    request_t *first, **last;
    uint32_t requests;

    uint32_t bursts, sent; /* still to do; of this one */
    uint32_t to, cost;
    unsigned short_of;
    uint32_t unanswered;
    uint64_t stalls;
    bool turn_due, waits;
} node_t;

typedef struct pattern {
    const char *name;
    uint32_t (*target)(uint32_t node, uint32_t burst, uint32_t number);
    bool is_static;
} pattern_t;

static struct {
    const pattern_t *pattern;
    uint32_t nodes, buffers, chunks, each;
    uint32_t burst; /* Requests per partner before a node computes again */
    uint32_t side;  /* of the torus */
    uint32_t phase; /* bursts between shifts */
    uint32_t cost_most;
    bool waits_for_replies; /* before it computes again */
    uint64_t think, served, expected, system_messages;
    uint64_t moved[WINDOWS]; /* credits that changed hands, by the share of Requests served */
} job;
static node_t nodes[SIM_NODES];

/* The data of a run that the report shows, at SAMPLES moments. */
enum { SAMPLES = 240, SHOWN = 9 };
static struct {
    bool wanted;
    uint32_t taken, peers[SHOWN], peer_count;
    double loans[SHOWN][SAMPLES], bank[SAMPLES], moved[SAMPLES], waits[SAMPLES];
    double waits_if_even[SAMPLES];
    uint64_t moved_before, stalls_before;
} seen;
static const sim_link_t link = {.least = 5, .most = 40, .late = 2, .most_late = 400};

/* --- pairs --- */

static pair_t *slot(pair_t *pairs, uint32_t space, uint32_t peer)
{
    uint32_t i = peer * 2654435761U & (space - 1);
    while (pairs[i].peer && pairs[i].peer != peer + 1) i = (i + 1) & (space - 1);
    return &pairs[i];
}

static void more_space(node_t *n)
{
    uint32_t space = n->pair_space ? 2 * n->pair_space : 16;
    pair_t *pairs = sim_alloc(space * sizeof *pairs);
    memset(pairs, 0, space * sizeof *pairs);
    for (uint32_t i = 0; i < n->pair_space; i++)
        if (n->pairs[i].peer) *slot(pairs, space, n->pairs[i].peer - 1) = n->pairs[i];
    n->pairs = pairs;
    n->pair_space = space;
}

/* Valid until the next call for the same node. */
static pair_t *pair(uint32_t me, uint32_t peer)
{
    node_t *n = &nodes[me];
    if (2 * n->pair_count >= n->pair_space) more_space(n);
    pair_t *p = slot(n->pairs, n->pair_space, peer);
    if (!p->peer) {
        *p = (pair_t){.peer = peer + 1};
        gasnetc_loan_init(&p->loan, (uint16_t)job.each);
        n->pair_count++;
    }
    return p;
}

gasnetc_lending_t *engine_lending(uint32_t node)
{
    return &nodes[node].lending;
}

gasnetc_loan_t *engine_loan(uint32_t node, uint32_t peer, bool meet)
{
    const node_t *n = &nodes[node];
    if (meet) return &pair(node, peer)->loan;
    pair_t *p = n->pair_space ? slot(n->pairs, n->pair_space, peer) : NULL;
    return p && p->peer ? &p->loan : NULL;
}

static uint32_t total(void)
{
    return (job.buffers - 1) * (job.chunks - 1) * FLOOR;
}

/* Checks that all that `lender` has lent to `borrower` is accounted for. */
static void conserved(uint32_t lender, uint32_t borrower)
{
    const node_t *n = &nodes[lender];
    const pair_t *p = pair(lender, borrower);
    const gasnetc_loan_t *b = &pair(borrower, lender)->loan;
    sim_concerns(borrower);
    sim_check(p->loan.loan == b->owned + p->coming + p->leaving, lender,
              "lends %u to %u, who has %u, and %u and %u are on their way", p->loan.loan, borrower,
              b->owned, p->coming, p->leaving);
    sim_check(p->loan.loan >= n->lending.floor && p->loan.loan <= n->lending.ceiling, lender,
              "lends %u", p->loan.loan);
    sim_check(b->in_use <= b->owned, borrower, "uses %u credits of %u", b->in_use, b->owned);
    sim_check(n->lending.bank + n->owed == total(), lender, "has %u in the bank and %lu lent of %u",
              n->lending.bank, (unsigned long)n->owed, total());
}

/* --- receive buffers --- */

/* Puts a Request of `bytes` bytes into a receive buffer, whose index it returns. */
static uint8_t land(uint32_t me, uint32_t bytes)
{
    node_t *n = &nodes[me];
    sim_check(n->chained > 0, me, "has no receive buffer left: the catch-basin");
    uint8_t b = n->chain[0];
    n->buffers[b].used += bytes;
    n->buffers[b].unserved++;
    if (job.chunks * CHUNK - n->buffers[b].used < CHUNK)
        memmove(n->chain, n->chain + 1, --n->chained);
    return b;
}

static void serve_from(node_t *n, uint8_t b)
{
    n->buffers[b].unserved--;
    if (n->buffers[b].unserved > 0 || job.chunks * CHUNK - n->buffers[b].used >= CHUNK) return;
    n->buffers[b].used = 0;
    n->chain[n->chained++] = b;
}

/* --- messages --- */

static sim_action_t take_turn, hear_reply, hear_asked, hear_gave;

static void turn_soon(uint32_t me, uint64_t delay)
{
    if (nodes[me].turn_due) return;
    nodes[me].turn_due = true;
    sim_after(delay, take_turn, &(sim_message_t){.to = me});
}

static void moves(uint64_t credits)
{
    job.moved[job.served * WINDOWS / (job.expected + 1)] += credits;
}

static uint64_t stalls(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < job.nodes; i++) sum += nodes[i].stalls;
    return sum;
}

/* Node 0 as a lender, and the whole job since the last sample. */
static void sample(void)
{
    uint32_t t = seen.taken;
    if (t == SAMPLES) return;
    uint64_t moved = 0, waits = stalls();
    for (uint32_t i = 0; i < job.nodes; i++)
        moved += nodes[i].lending.lent + nodes[i].lending.returned;
    for (uint32_t i = 0; i < nodes[0].pair_space && seen.peer_count < SHOWN; i++) {
        const pair_t *p = &nodes[0].pairs[i];
        bool known = !p->peer || p->loan.loan <= job.each;
        for (uint32_t k = 0; k < seen.peer_count; k++) known |= seen.peers[k] == p->peer - 1;
        if (!known) seen.peers[seen.peer_count++] = p->peer - 1;
    }
    for (uint32_t k = 0; k < SHOWN; k++)
        seen.loans[k][t] = k < seen.peer_count ? pair(0, seen.peers[k])->loan.loan : job.each;
    seen.bank[t] = nodes[0].lending.bank;
    seen.moved[t] = (double)(moved - seen.moved_before);
    seen.waits[t] = (double)(waits - seen.stalls_before);
    seen.moved_before = moved;
    seen.stalls_before = waits;
    seen.taken++;
}

static void hear_request(const sim_message_t *m)
{
    node_t *n = &nodes[m->to];
    sim_check(engine_valid(m->to, m->from, (uint8_t)m->kind), m->to, "hears a Request with byte %x",
              m->kind);
    request_t *r = sim_alloc(sizeof *r);
    *r = (request_t){.from = m->from, .byte = (uint8_t)m->kind, .buffer = land(m->to, m->number)};
    *n->last = r;
    n->last = &r->next;
    n->requests++;
    if (n->waits) turn_soon(m->to, 1);
}

static void serve(uint32_t me, const request_t *r)
{
    node_t *n = &nodes[me];
    serve_from(n, r->buffer);
    uint16_t before = pair(me, r->from)->loan.loan;
    uint8_t byte = engine_answer(me, r->from, r->byte);
    pair_t *p = pair(me, r->from);
    uint32_t more = (uint32_t)p->loan.loan - before;
    p->coming += more;
    n->owed += more;
    if (more) moves(more);
    job.served++;
    if (seen.wanted && job.served * SAMPLES / (job.expected + 1) >= seen.taken) sample();
    sim_note(me, "replies %x to %u, loan %u, bank %u", byte, r->from, p->loan.loan,
             n->lending.bank);
    sim_send(&link, hear_reply, &(sim_message_t){.from = me, .to = r->from, .kind = byte});
    conserved(me, r->from);
}

static void hear_reply(const sim_message_t *m)
{
    node_t *n = &nodes[m->to];
    pair(m->from, m->to)->coming -= m->kind >> 4 & GASNETC_LENDING_MORE_MOST;
    sim_check(engine_replied(m->to, m->from, (uint8_t)m->kind), m->to,
              "cannot believe a Reply with byte %x from %u", m->kind, m->from);
    conserved(m->from, m->to);
    n->unanswered--;
    if (n->waits) turn_soon(m->to, 1);
}

void engine_sends(uint32_t from, uint32_t to, bool revoke, uint32_t word)
{
    sim_note(from, "%s %u: %x", revoke ? "asks" : "gives credits back to", to, word);
    job.system_messages++;
    if (!revoke) pair(to, from)->leaving += word & UINT16_MAX;
    sim_send(&link, revoke ? hear_asked : hear_gave,
             &(sim_message_t){.from = from, .to = to, .number = word});
}

static void hear_asked(const sim_message_t *m)
{
    engine_hear(m->to, m->from, true, m->number);
    conserved(m->from, m->to);
}

static void hear_gave(const sim_message_t *m)
{
    const uint32_t back = m->number & UINT16_MAX;
    engine_hear(m->to, m->from, false, m->number);
    pair(m->to, m->from)->leaving -= back;
    nodes[m->to].owed -= back;
    if (back) moves(back);
    conserved(m->to, m->from);
}

/* --- a node's script --- */

static void next_request(uint32_t me)
{
    node_t *n = &nodes[me];
    n->to = job.pattern->target(me, n->bursts, n->sent);
    n->cost = 1 + (me + n->sent) % job.cost_most;
}

/* Sends until the burst is over or credits are missing. */
static void send_some(uint32_t me)
{
    node_t *n = &nodes[me];
    for (; n->sent < job.burst; n->sent++, next_request(me)) {
        if (n->to == me) continue;
        uint8_t byte;
        bool first = n->short_of == 0;
        if (!engine_take(me, n->to, n->cost, &n->short_of, &byte)) {
            n->stalls += first;
            sim_note(me, "is %u short for %u", n->short_of, n->to);
            return;
        }
        n->unanswered++;
        uint32_t bytes = n->cost * CREDIT - 8 * sim_below(CREDIT / 8 + 1);
        sim_send(&link, hear_request,
                 &(sim_message_t){.from = me, .to = n->to, .kind = byte, .number = bytes});
        conserved(n->to, me);
    }
}

static void take_turn(const sim_message_t *m)
{
    uint32_t me = m->to;
    node_t *n = &nodes[me];
    n->turn_due = n->waits = false;
    for (unsigned i = 0; i < AT_ONCE && n->requests > 0; i++, n->requests--) {
        request_t *r = n->first;
        n->first = r->next;
        if (!n->first) n->last = &n->first;
        serve(me, r);
    }
    if (n->bursts > 0) send_some(me);
    if (n->bursts > 0 && n->sent == job.burst && (n->unanswered == 0 || !job.waits_for_replies)) {
        n->bursts--;
        n->sent = 0;
        next_request(me);
        turn_soon(me, 1 + sim_below((uint32_t)(2 * job.think)));
    } else if (n->requests > 0) {
        turn_soon(me, 5);
    } else {
        n->waits = true;
    }
}

/* --- patterns --- */

static uint32_t neighbour(uint32_t node, uint32_t burst, uint32_t number)
{
    (void)burst;
    uint32_t s = job.side, step[] = {1, s, s * s};
    uint32_t away = step[number / 2 % 3];
    return number & 1 ? (node + away) % job.nodes
                      : (node + job.nodes - away % job.nodes) % job.nodes;
}

static uint32_t in_tree(uint32_t node, uint32_t burst, uint32_t number)
{
    (void)burst;
    uint32_t parent = node ? (node - 1) / 2 : 0, child = 2 * node + number % 3;
    return number % 3 > 0 && child < job.nodes ? child : parent;
}

static uint32_t to_one(uint32_t node, uint32_t burst, uint32_t number)
{
    (void)node, (void)burst, (void)number;
    return 0;
}

static uint32_t anybody(uint32_t node, uint32_t burst, uint32_t number)
{
    (void)node, (void)burst, (void)number;
    return sim_below(job.nodes);
}

static uint32_t shifting(uint32_t node, uint32_t burst, uint32_t number)
{
    uint32_t phase = burst / job.phase;
    return (node + 1 + phase * PARTNERS + number % PARTNERS) % job.nodes;
}

static const pattern_t neighbours = {"Nearest neighbours", neighbour, true},
                       tree = {"A tree", in_tree, true}, all_to_one = {"All to one", to_one, true},
                       at_random = {"At random", anybody, false},
                       shifts = {"A pattern that shifts", shifting, false};

/* --- schedules --- */

static void begin_node(uint32_t i, uint32_t bursts, uint32_t epoch, bool dynamic)
{
    node_t *n = &nodes[i];
    *n = (node_t){.last = &n->first, .bursts = bursts, .chained = (uint8_t)job.buffers};
    for (uint8_t b = 0; b < job.buffers; b++) n->chain[b] = b;
    n->owed = (uint64_t)job.each * (job.nodes - 1);
    uint16_t ceiling = job.each > 400 ? (uint16_t)job.each : 400;
    sim_check(gasnetc_lending_init(&n->lending, total(), job.nodes - 1, (uint16_t)job.each, FLOOR,
                                   ceiling, epoch, dynamic),
              i, "cannot lend %u to each of %u out of %u", job.each, job.nodes, total());
    next_request(i);
    turn_soon(i, sim_below((uint32_t)(2 * job.think)));
}

/* All nodes send all messages, all are answered, and each credit is with its owner or borrower. */
static void run(uint32_t bursts, uint32_t epoch, bool dynamic)
{
    job.served = job.system_messages = 0;
    job.expected = (uint64_t)job.nodes * bursts * job.burst;
    memset(job.moved, 0, sizeof job.moved);
    sim_nodes(job.nodes);
    engine_begin(job.nodes, (uint16_t)job.each);
    for (uint32_t i = 0; i < job.nodes; i++) begin_node(i, bursts, epoch, dynamic);
    sim_run();
    for (uint32_t i = 0; i < job.nodes; i++) {
        sim_concerns(nodes[i].to);
        sim_check(nodes[i].bursts == 0 && nodes[i].unanswered == 0, i,
                  "never ends: %u bursts to go, %u Requests unanswered, next to %u",
                  nodes[i].bursts, nodes[i].unanswered, nodes[i].to);
        sim_check(nodes[i].lending.asking == 0, i, "still asks");
    }
}

/* Buffers for `each` credits per peer and a bank of about `bank`. */
static void sized(uint32_t n, uint32_t each, uint32_t bank)
{
    job.nodes = n;
    job.each = each;
    uint32_t wanted = each * (n - 1) + bank;
    job.buffers = sim_between(2, 8);
    job.chunks = 2 + wanted / (FLOOR * (job.buffers - 1));
}

static void pattern(const pattern_t *p, uint32_t burst)
{
    job.pattern = p;
    job.burst = burst;
    job.cost_most = sim_chance(70) ? FLOOR : 1;
    job.think = sim_between(10, 2000);
    job.waits_for_replies = sim_chance(70);
    job.phase = 40;
    job.side = 1;
    while (job.side * job.side * job.side < job.nodes) job.side++;
}

/* Counts credits that moved while the pattern does not change any more and all still take part in
 * it. */
static uint64_t moved_late(void)
{
    uint64_t sum = 0;
    for (unsigned w = WINDOWS / 2; w < 4 * WINDOWS / 5; w++) sum += job.moved[w];
    return sum;
}

/* Waits of the same program with the same memory, divided evenly at the start and never moved. */
static uint64_t stalls_if_even(uint32_t bursts)
{
    uint32_t each = job.each;
    job.each = total() / (job.nodes - 1);
    run(bursts, 1024, false);
    job.each = each;
    sim_check(job.system_messages == 0 && moved_late() == 0, 0, "moves credits though told not to");
    return stalls();
}

static void compare(uint32_t bursts, uint32_t epoch)
{
    uint64_t even = stalls_if_even(bursts);
    run(bursts, epoch, true);
    sim_count("waits with even shares", even);
    sim_count("waits with lending", stalls());
    sim_check(2 * stalls() <= even, 0, "%s: %lu Requests had to wait, %lu with even shares",
              job.pattern->name, (unsigned long)stalls(), (unsigned long)even);
}

/* Jobs in which the Requests that all partners of a node can have on their way at once fit into
 * what it may lend. */
static void fitting(void)
{
    pattern(sim_chance(50) ? &neighbours : &tree, 6 * sim_between(4, 12));
    sized(sim_between(20, 80), sim_between(FLOOR, 8), job.burst * FLOOR * 2);
    pattern(job.pattern, job.burst);
    job.waits_for_replies = true;
}

static void settles(void)
{
    fitting();
    run(sim_between(60, 150), 32U << sim_below(6), true);
    sim_check(moved_late() == 0, 0, "%s: %lu credits still move", job.pattern->name,
              (unsigned long)moved_late());
    sim_check(job.system_messages == 0, 0, "%lu system messages though the bank had enough",
              (unsigned long)job.system_messages);
}

/* Far more is wanted than there is: credits that go to and fro would help nobody. */
static void does_not_swing(void)
{
    static const pattern_t *const all[] = {&neighbours, &tree, &all_to_one};
    sized(sim_between(8, 64), sim_between(FLOOR, 8), sim_below(300));
    pattern(all[sim_below(3)], 6 * sim_between(4, 12));
    run(sim_between(60, 150), 1024, true);
    uint64_t requests = job.served * 3 / 10; /* in the same time */
    sim_count("Requests where too few are left", requests);
    sim_count("credits moved meanwhile", moved_late());
    sim_check(moved_late() * 4 <= requests, 0, "%s: %lu credits move within %lu Requests",
              job.pattern->name, (unsigned long)moved_late(), (unsigned long)requests);
    sim_check(job.system_messages * 12 <= job.served, 0, "%lu system messages, %lu Requests",
              (unsigned long)job.system_messages, (unsigned long)job.served);
}

static void goes_where_needed(void)
{
    fitting();
    sized(sim_between(100, 300), 6, 2 * job.burst);
    pattern(job.pattern, 72);
    job.cost_most = FLOOR;
    job.waits_for_replies = true;
    compare(60, 256U << sim_below(3));
}

static void follows(void)
{
    sized(sim_between(100, 300), 6, 100);
    pattern(&shifts, 8 * PARTNERS);
    job.cost_most = FLOOR;
    compare(4 * job.phase, 256);
}

/* Every setting at its limits; all nodes must reach the end. */
static void at_the_limits(void)
{
    static const pattern_t *const all[] = {&neighbours, &tree, &all_to_one, &at_random, &shifts};
    sized(sim_between(2, 40), sim_between(FLOOR, 6), sim_below(40));
    pattern(all[sim_below(5)], sim_between(1, 40));
    run(sim_between(1, 60), 1 + sim_below(sim_chance(50) ? 8 : 1024), sim_chance(90));
}

/* Credits moved late, but before the first nodes end, in thousandths of all that moved. */
static uint64_t still_moving(void)
{
    uint64_t all = 0, late = 0;
    for (unsigned w = 0; w < WINDOWS; w++) {
        all += job.moved[w];
        if (w >= 2 * WINDOWS / 3 && w < 9 * WINDOWS / 10) late += job.moved[w];
    }
    return all ? late * 1000 / all : 0;
}

/* Sets the figures of the original code: six credits each, and 20,000 for nodes that
 * communicate. */
static void of_size(uint32_t n, const pattern_t *p, uint32_t burst)
{
    sized(n, 6, n < 5000 ? 2 * n : 20000);
    pattern(p, burst);
}

/* Runs patterns whose nodes keep their partners, or change them once: credits reach a fixed state
 * or follow, and fewer Requests wait than with even shares. */
static void lasting(uint32_t n, const pattern_t *p, uint32_t bursts, uint32_t burst, bool even)
{
    of_size(n, p, burst);
    job.cost_most = FLOOR;
    job.waits_for_replies = true;
    job.phase = bursts / 2;
    if (even)
        compare(bursts, 1024);
    else
        run(bursts, 1024, true);
    if (p->is_static)
        sim_check(still_moving() == 0, 0, "%s, %u nodes: %lu of 1000 credits move late", p->name, n,
                  (unsigned long)still_moving());
}

static void passing(uint32_t n, const pattern_t *p, uint32_t bursts)
{
    of_size(n, p, 24);
    run(bursts, 1024, true);
    sim_check(job.system_messages * 12 <= job.served, 0, "%s: %lu system messages", p->name,
              (unsigned long)job.system_messages);
    sim_count("Requests without lasting partners", job.served);
    sim_count("their system messages", job.system_messages);
}

static void each_pattern(uint32_t n)
{
    lasting(n, &neighbours, 24, 24, true);
    lasting(n, &tree, 24, 24, true);
    lasting(n, &shifts, 24, 24, true);
    passing(n, &all_to_one, 6);
    passing(n, &at_random, 6);
}

static void sixty_four(void)
{
    each_pattern(64);
}

static void thousand(void)
{
    each_pattern(1024);
}

static void ten_thousand(void)
{
    lasting(10000, &neighbours, 16, 16, true);
    lasting(10000, &tree, 16, 16, false);
    lasting(10000, &shifts, 12, 16, false);
    passing(10000, &all_to_one, 6);
    passing(10000, &at_random, 2);
}

/* --- the report --- */

/* Runs the same job with even shares of the same memory, and samples its waits, to be shown
 * beside. */
static uint64_t sampled_even(uint32_t bursts)
{
    memset(&seen, 0, sizeof seen);
    seen.wanted = true;
    uint64_t even = stalls_if_even(bursts);
    double waits[SAMPLES];
    memcpy(waits, seen.waits, sizeof waits);
    memset(&seen, 0, sizeof seen);
    memcpy(seen.waits_if_even, waits, sizeof waits);
    return even;
}

static void show(const char *caption, uint64_t even)
{
    chart_line_t lines[SHOWN + 1];
    static char names[SHOWN][24];
    for (uint32_t k = 0; k < seen.peer_count; k++) {
        snprintf(names[k], sizeof names[k], "node %u", seen.peers[k]);
        lines[k] = (chart_line_t){names[k], seen.loans[k]};
    }
    chart_text("h2", "%s, %u nodes", job.pattern->name, job.nodes);
    chart_text("p",
               "%s Each node may lend %u credits; each peer begins with %u. Of %llu Requests %llu "
               "had to wait; with even shares of the same memory, %llu. %llu system messages.",
               caption, total(), job.each, (unsigned long long)job.served,
               (unsigned long long)stalls(), (unsigned long long)even,
               (unsigned long long)job.system_messages);
    if (seen.peer_count)
        chart_draw("Credits that node 0 has lent to those who got more", lines, seen.peer_count,
                   seen.taken);
    chart_draw("Credits in the bank of node 0: what it could still lend",
               &(chart_line_t){"bank", seen.bank}, 1, seen.taken);
    chart_draw("Credits that changed hands, among all nodes, from one point to the next",
               &(chart_line_t){"credits moved", seen.moved}, 1, seen.taken);
    chart_draw("Requests that had to wait, at all nodes, from one point to the next",
               (chart_line_t[]){{"credits are lent", seen.waits},
                                {"even shares of the same memory", seen.waits_if_even}},
               2, seen.taken);
}

/* A row of the table: a large job, without a picture. */
static void row(const pattern_t *p, uint32_t n)
{
    uint32_t bursts = p == &at_random && n > 5000 ? 2 : 16;
    of_size(n, p, 24);
    job.cost_most = FLOOR;
    job.waits_for_replies = true;
    job.phase = bursts / 2;
    uint64_t even = stalls_if_even(bursts);
    run(bursts, 1024, true);
    chart_text("tr", "<td>%s<td>%u<td>%llu<td>%llu<td>%llu<td>%llu<td>%.1f %%", p->name, n,
               (unsigned long long)job.served, (unsigned long long)stalls(),
               (unsigned long long)even, (unsigned long long)job.system_messages,
               (double)still_moving() / 10);
}

static void table(void)
{
    static const pattern_t *const all[] = {&neighbours, &tree, &all_to_one, &at_random, &shifts};
    static const uint32_t sizes[] = {64, 1024, 10000};
    chart_text("h2", "All patterns, up to 10,000 nodes");
    chart_text(
        "p",
        "In each of these jobs credits were conserved at every step, nobody had less than %d "
        "from anybody, no Request found the receive space full, and all came to their end: "
        "otherwise this page would not have been written.",
        FLOOR);
    chart_open("table");
    chart_text("tr",
               "<th>pattern<th>nodes<th>Requests<th>waited<th>with even shares<th>system messages"
               "<th>credits that moved late");
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) row(all[i], sizes[k]);
    chart_close("table");
    chart_text(
        "p", "Late is the seventh to ninth tenth of the job; of all that moved in it. The pattern "
             "that shifts does so once, in the middle. Where no partner is better than another, or "
             "all want the same one, lending cannot help: there it must do little harm.");
}

static void report(void)
{
    static const struct {
        const pattern_t *pattern;
        uint32_t nodes;
        const char *caption;
    } runs[] = {
        {&neighbours, 64, "Six partners each: they get what they need, and it stays with them."},
        {&neighbours, 1024, "The same in a larger job."},
        {&tree, 64, "Parents and children."},
        {&all_to_one, 64,
         "Nobody can be given enough: credits move ever more rarely, as it helps nobody."},
        {&at_random, 64, "No partner is better than another."},
        {&shifts, 64, "New partners now and then: credits are asked back and follow."},
    };
    chart_begin(getenv("TEST_REPORT"), "Credits over time");
    chart_text(
        "p",
        "A Request may be sent only if its target has space to receive it. That space is counted "
        "in credits of %d bytes. Each node has one stock of them for all peers: everybody is "
        "lent a few in the beginning, and the rest lies in its bank. A sender that had to wait "
        "for credits is lent more; when the bank is empty, those who used theirs least are asked "
        "by system messages to give some back.",
        CREDIT);
    chart_text("p",
               "These are simulated jobs that run the library's own state machine for it "
               "and its engine (lending.h and credits.c of portals-conduit). Each node computes, "
               "sends a burst of Requests, and waits for the "
               "Replies. Good is: credits stop moving where partners stay the same, they follow "
               "where partners change, and fewer Requests wait than if the same memory had been "
               "shared out evenly. In the pictures the axis from left to right is the part of all "
               "Requests that has been served.");
    table();
    for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
        uint32_t bursts = runs[i].nodes > 100 ? 60 : 160;
        sized(runs[i].nodes, 6, runs[i].pattern == &shifts ? 100 : 800);
        pattern(runs[i].pattern, 72);
        job.cost_most = FLOOR;
        job.waits_for_replies = true;
        job.phase = 40;
        uint64_t even = sampled_even(bursts);
        seen.wanted = true;
        run(bursts, 512, true);
        show(runs[i].caption, even);
    }
    chart_end();
}

static const sim_scene_t scenes[] = {
    {"nothing is lost and no node waits for ever, whatever the settings", at_the_limits, 800},
    {"static patterns settle: then no credit moves", settles, 30},
    {"credits do not swing where too few are left", does_not_swing, 30},
    {"the nodes that send get them: at most half the waits of even shares", goes_where_needed, 4},
    {"and again when the pattern shifts", follows, 3},
    {"64 nodes, each pattern: static ones settle, shifting ones follow", sixty_four, 3},
    {"1,024 nodes likewise", thousand, 1},
    {"10,000 nodes likewise", ten_thousand, 1},
};

int main(int argc, char **argv)
{
    if (getenv("TEST_REPORT"))
        return sim_main(argc, argv, (sim_scene_t[]){{"the report is written", report, 1}}, 1);
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
