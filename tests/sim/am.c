/* am.c - Active Messages of whole jobs under random schedules: credits (IB-A1..A3, IB-R3, IB-R5),
 * and Longs over several queue pairs (IB-B5).
 *
 * Every node is the real engine.  Each Request is numbered; its handler must run once, after all of
 * its payload has come, and so must its Reply's.  job.h tells what is looked at meanwhile.
 */
#include "core/am/am.h"

#include <string.h>

#include "core/am/am_wire.h"
#include "core/ib/amrdma_choice.h"
#include "core/ib/srq_policy.h"
#include "gasnet.h"
#include "tests/sim/job.h"

enum { MOST_REQUESTS = 1 << 17, PARTNERS = 8, MOST_BYTES = 3000 };
enum { H_REQUEST = 130, H_REQUEST_BYTES, H_REPLY, H_REPLY_BYTES };

/* A Request, by number. */
static struct request {
    uint32_t from, to, nbytes;
    uint8_t handled, answered, replied;
} requests[MOST_REQUESTS];
static uint32_t made;

/* The traffic of the nodes in this schedule. */
static struct {
    uint32_t each;         /* Requests of a node */
    uint8_t answer;        /* percent of Requests that are replied to */
    uint8_t shorts, longs; /* percent; the rest are Mediums */
    uint32_t most_bytes;
    uint32_t pause; /* longest time between two Requests */
} traffic;
static uint32_t partners[SIM_NODES][PARTNERS], partner_count[SIM_NODES];
static uint32_t heard[SIM_NODES]; /* Requests handled by a node */

/* --- bytes, a function of the number --- */

static void fill(uint8_t *bytes, uint32_t nbytes, uint32_t number)
{
    for (uint32_t i = 0; i < nbytes; i++) bytes[i] = (uint8_t)(number * 7 + i + 1);
}

static bool right(const uint8_t *bytes, uint32_t nbytes, uint32_t number)
{
    for (uint32_t i = 0; i < nbytes; i++)
        if (bytes[i] != (uint8_t)(number * 7 + i + 1)) return false;
    return true;
}

/* In the segment or not. */
static uint8_t *make_source(uint32_t nbytes, uint32_t number)
{
    uint8_t *bytes = sim_chance(50) ? sim_alloc(nbytes) : sim_job_remote(nbytes);
    fill(bytes, nbytes, number);
    return bytes;
}

/* Makes new memory that a Long may be written to. */
static void *make_target(uint32_t nbytes)
{
    return memset(sim_job_remote(nbytes), 0xdd, nbytes);
}

static enum gasnetc_am_category choose_category(void)
{
    uint32_t dice = sim_below(100);
    if (dice < traffic.shorts) return GASNETC_AM_SHORT;
    return dice < traffic.shorts + traffic.longs ? GASNETC_AM_LONG : GASNETC_AM_MEDIUM;
}

/* --- handlers --- */

static const uint32_t REPLIED = 1u << 31; /* makes a Reply's bytes differ from its Request's */

static void answer(gasnet_token_t token, uint32_t number)
{
    gasnet_handlerarg_t arg = (gasnet_handlerarg_t)number;
    uint32_t nbytes = sim_below(traffic.most_bytes + 1);
    enum gasnetc_am_category category = choose_category();
    requests[number].answered = 1;
    if (category == GASNETC_AM_SHORT) {
        gasnetc_AMReplyShort(token, H_REPLY, 1, &arg);
        return;
    }
    uint8_t *bytes = make_source(nbytes, number | REPLIED);
    if (category == GASNETC_AM_MEDIUM)
        gasnetc_AMReplyMedium(token, H_REPLY_BYTES, bytes, nbytes, 1, &arg);
    else
        gasnetc_AMReplyLong(token, H_REPLY_BYTES, bytes, nbytes, make_target(nbytes), 1, &arg);
    memset(bytes, 0xaa, nbytes);
}

static void on_request(gasnet_token_t token, gasnet_handlerarg_t arg)
{
    uint32_t number = (uint32_t)arg, me = sim_job_me();
    gasnet_node_t from;
    gasnet_AMGetMsgSource(token, &from);
    sim_check(number < made && requests[number].to == me && requests[number].from == from, me,
              "Request %u is not for it", number);
    sim_check(!requests[number].handled++, me, "Request %u is handled twice", number);
    heard[me]++;
    if (sim_chance(traffic.answer)) answer(token, number);
}

static void on_request_bytes(gasnet_token_t token, void *bytes, size_t nbytes,
                             gasnet_handlerarg_t arg)
{
    uint32_t number = (uint32_t)arg, me = sim_job_me();
    sim_check(nbytes == requests[number].nbytes && right(bytes, (uint32_t)nbytes, number), me,
              "the handler of Request %u runs without its payload", number);
    on_request(token, arg);
    sim_check(right(bytes, (uint32_t)nbytes, number), me,
              "the payload of Request %u changes while its handler runs", number);
}

static void on_reply(gasnet_token_t token, gasnet_handlerarg_t arg)
{
    uint32_t number = (uint32_t)arg, me = sim_job_me();
    (void)token;
    sim_check(number < made && requests[number].from == me && requests[number].answered, me,
              "a Reply to Request %u, which is none", number);
    sim_check(!requests[number].replied++, me, "Request %u is replied to twice", number);
}

static void on_reply_bytes(gasnet_token_t token, void *bytes, size_t nbytes,
                           gasnet_handlerarg_t arg)
{
    sim_check(right(bytes, (uint32_t)nbytes, (uint32_t)arg | REPLIED), sim_job_me(),
              "the handler of the Reply to Request %d runs without its payload", arg);
    on_reply(token, arg);
}

static void register_handlers(void)
{
    gasnet_handlerentry_t table[] = {{H_REQUEST, (void (*)(void))on_request},
                                     {H_REQUEST_BYTES, (void (*)(void))on_request_bytes},
                                     {H_REPLY, (void (*)(void))on_reply},
                                     {H_REPLY_BYTES, (void (*)(void))on_reply_bytes}};
    gasnetc_register_client(table, 4);
}

/* --- Requests and their handlers --- */

static void request(uint32_t to)
{
    uint32_t me = sim_job_me(), number = made++, nbytes = sim_below(traffic.most_bytes + 1);
    enum gasnetc_am_category category = choose_category();
    gasnet_handlerarg_t arg = (gasnet_handlerarg_t)number;
    if (made == MOST_REQUESTS) sim_fail(me, "too many Requests in one schedule");
    if (category == GASNETC_AM_SHORT) nbytes = 0;
    requests[number] = (struct request){.from = me, .to = to, .nbytes = nbytes};
    sim_job_busy();
    if (category == GASNETC_AM_SHORT) {
        gasnetc_AMRequestShort((gasnet_node_t)to, H_REQUEST, 1, &arg);
        return;
    }
    uint8_t *bytes = make_source(nbytes, number);
    if (category == GASNETC_AM_MEDIUM) {
        gasnetc_AMRequestMedium((gasnet_node_t)to, H_REQUEST_BYTES, bytes, nbytes, 1, &arg);
    } else if (sim_chance(50)) {
        gasnetc_AMRequestLong((gasnet_node_t)to, H_REQUEST_BYTES, bytes, nbytes,
                              make_target(nbytes), 1, &arg);
    } else { /* the source must stay until the local completion */
        gasnetc_AMRequestLongAsync((gasnet_node_t)to, H_REQUEST_BYTES, bytes, nbytes,
                                   make_target(nbytes), 1, &arg);
        return;
    }
    memset(bytes, 0xaa, nbytes);
}

static void talk(uint32_t me)
{
    for (uint32_t i = 0; partner_count[me] && i < traffic.each; i++) {
        if (traffic.pause && sim_chance(30)) sim_sleep(sim_below(traffic.pause));
        request(partners[me][sim_below(partner_count[me])]);
        sim_job_busy();
        if (sim_chance(20)) gasnet_AMPoll();
    }
    sim_job_finish();
}

/* A ball of `window` Requests, which each two neighbours play to and fro. */
static uint32_t window, turns;

static void play(uint32_t me)
{
    for (uint32_t turn = 0; turn < turns; turn++) {
        if (turn % 2 == me % 2)
            for (uint32_t i = 0; i < window; i++) request(me ^ 1);
        else
            for (uint32_t all = heard[me] + window; heard[me] < all;) {
                gasnet_AMPoll();
                sim_check(heard[me] <= all, me, "hears more than was sent");
            }
        if (traffic.pause && sim_chance(20)) sim_sleep(sim_below(traffic.pause));
    }
    sim_job_finish();
}

/* Bursts to one partner after another. */
static void burst(uint32_t me)
{
    for (uint32_t i = 0; partner_count[me] && i < turns; i++) {
        uint32_t to = partners[me][sim_below(partner_count[me])];
        for (uint32_t k = 1 + sim_below(window); k > 0; k--) request(to);
        sim_job_busy();
        if (sim_chance(50)) gasnet_AMPoll();
        if (traffic.pause && sim_chance(30)) sim_sleep(sim_below(traffic.pause));
    }
    sim_job_finish();
}

/* --- schedules --- */

static void stall(const sim_message_t *m)
{
    sim_note(m->to, "stalls for %u", m->number);
    sim_stall(m->to, m->number);
}

static void stall_some(uint32_t nodes)
{
    for (uint32_t i = 0; i < nodes; i++)
        if (sim_chance(20))
            sim_after(sim_below(3000), stall,
                      &(sim_message_t){.to = i, .number = 1 + sim_below(5000), .device = 1});
}

static sim_job_t any_job(uint32_t nodes)
{
    uint16_t credits = (uint16_t)(1 + sim_below(sim_chance(70) ? 6 : 40));
    sim_job_t job = {.nodes = nodes,
                     .credits = credits,
                     .slack = (uint16_t)sim_below(credits + 2u),
                     .qps = 1 + sim_below(4),
                     .depth = 1 + sim_below(sim_chance(50) ? 4 : 40),
                     .spares = 1 + sim_below(4),
                     .bbufs = 2 + sim_below(4),
                     .inline_max = sim_chance(30) ? 0 : sim_below(600),
                     .ordered = sim_chance(80),
                     .connecting = sim_chance(50) ? 0 : 1 + sim_below(3000),
                     .bounce_limit = sim_below(3000),
                     .packed_limit = sim_below(2000)};
    if (sim_chance(50)) {
        job.ring_places = 1 + sim_below(sim_chance(50) ? 3 : nodes);
        job.ring_slots = 1u << sim_below(sim_chance(70) ? 3 : 6);
        job.ring_limit = 8 + sim_below(sim_chance(70) ? 200 : 2000);
        job.ring_cycle = 1 + sim_below(30);
        job.ring_in_order = sim_chance(50);
        /* A header by a store may overtake its payload, unless the sender waits for that. */
    }
    job.link = (sim_link_t){.least = 1 + sim_below(50)};
    job.link.most = job.link.least + sim_below(500);
    job.link.late = (uint8_t)sim_below(20);
    job.link.most_late = job.link.most + sim_below(5000);
    return job;
}

static void any_traffic(void)
{
    traffic.each = 1 + sim_below(25);
    traffic.answer = (uint8_t)(sim_chance(25) ? 0 : sim_chance(33) ? 100 : sim_below(101));
    traffic.shorts = (uint8_t)sim_below(101);
    traffic.longs = (uint8_t)sim_below(101u - traffic.shorts);
    traffic.most_bytes = sim_below(sim_chance(80) ? 200 : MOST_BYTES);
    traffic.pause = sim_chance(50) ? 0 : 1 + sim_below(2000);
}

static void begin(sim_job_t *job)
{
    made = 0;
    memset(heard, 0, job->nodes * sizeof *heard);
    memset(partner_count, 0, job->nodes * sizeof *partner_count);
    if (!job->reply_buffers) job->reply_buffers = job->credits * (job->nodes - 1);
    job->ring_places =
        amrdma_max_rings(job->ring_places, job->nodes - 1, job->credits, job->reply_buffers);
    sim_job_begin(job);
}

static void befriend(uint32_t a, uint32_t b)
{
    sim_job_introduce(a, b);
    if (partner_count[a] < PARTNERS) partners[a][partner_count[a]++] = b;
}

static void go(uint32_t nodes, void (*script)(uint32_t))
{
    for (uint32_t i = 0; i < nodes; i++)
        if (sim_job_peer(i, i)->segment.base) sim_job_script(i, script);
    stall_some(nodes);
    sim_job_run();
    for (uint32_t i = 0; i < made; i++) {
        sim_check(requests[i].handled, requests[i].to, "Request %u of node %u was never handled", i,
                  requests[i].from);
        sim_check(requests[i].replied == requests[i].answered, requests[i].from,
                  "the Reply to its Request %u never came", i);
    }
    sim_count("Requests", sim_job_sent.requests);
    sim_count("Replies", sim_job_sent.replies);
    sim_count("hidden Replies", sim_job_sent.hidden);
    sim_count("messages moved for want of a spare buffer", sim_job_sent.moved);
    sim_count("messages that went by rings", sim_job_sent.by_ring);
    sim_count("puts of Longs", sim_job_sent.puts);
}

static uint32_t any_nodes(void)
{
    return 2 + sim_below(sim_chance(90) ? 7 : 40);
}

static void ping_pong(void)
{
    uint32_t nodes = 2 * (1 + sim_below(3));
    sim_job_t job = any_job(nodes);
    if (job.credits < 2) job.credits = 2;
    if (job.slack < 1) job.slack = 1;
    uint16_t slack = job.slack < job.credits ? job.slack : job.credits - 1;
    begin(&job);
    any_traffic();
    traffic.answer = 0;
    window = 1 + sim_below(slack);
    turns = 2 + sim_below(40);
    for (uint32_t i = 0; i < nodes; i += 2) befriend(i, i + 1);
    go(nodes, play);
    sim_check(sim_job_sent.hidden == 0, 0, "%llu hidden Replies for %u Requests",
              (unsigned long long)sim_job_sent.hidden, made);
}

static void all_to_one(void)
{
    uint32_t nodes = any_nodes();
    sim_job_t job = any_job(nodes);
    begin(&job);
    any_traffic();
    for (uint32_t i = 1; i < nodes; i++) befriend(i, 0);
    go(nodes, talk);
}

static void anybody(void)
{
    uint32_t nodes = any_nodes();
    sim_job_t job = any_job(nodes);
    begin(&job);
    any_traffic();
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t k = 1 + sim_below(4); k > 0; k--) befriend(i, sim_below(nodes));
    go(nodes, talk);
}

static void neighbours(void)
{
    uint32_t nodes = any_nodes();
    sim_job_t job = any_job(nodes);
    begin(&job);
    any_traffic();
    for (uint32_t i = 0; i < nodes; i++) {
        befriend(i, (i + 1) % nodes);
        befriend(i, (i + nodes - 1) % nodes);
    }
    go(nodes, talk);
}

/* Two nodes send as fast as they can, with hardly any credit, queue or buffer. */
static void storm(void)
{
    sim_job_t job = any_job(2);
    job.credits = (uint16_t)(1 + sim_below(3));
    job.slack = (uint16_t)sim_below(4);
    job.depth = 1 + sim_below(3);
    begin(&job);
    any_traffic();
    traffic.each = 20 + sim_below(60);
    traffic.pause = 0;
    befriend(0, 1);
    befriend(1, 0);
    go(2, talk);
}

/* A peer with more credits than a message can carry, and a node so slow that it returns all of them
 * at once. */
static void wide(void)
{
    sim_job_t job = any_job(2);
    job.credits = (uint16_t)(250 + sim_below(300));
    job.slack = (uint16_t)sim_below(job.credits);
    job.depth = 600;
    begin(&job);
    any_traffic();
    traffic.each = 300 + sim_below(600);
    traffic.answer = (uint8_t)sim_below(10);
    traffic.most_bytes = 0;
    befriend(0, 1);
    if (sim_chance(30)) befriend(1, 0);
    go(2, talk);
}

/* Fewer buffers for Replies than credits: then, as in init.c, nothing may stay banked. */
static void few_buffers(void)
{
    uint32_t nodes = any_nodes();
    sim_job_t job = any_job(nodes);
    job.reply_buffers = 1 + sim_below(sim_chance(50) ? job.credits : job.credits * (nodes - 1u));
    job.slack = 0;
    begin(&job);
    any_traffic();
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t k = 1 + sim_below(PARTNERS); k > 0; k--) befriend(i, sim_below(nodes));
    go(nodes, talk);
}

/* Few receive buffers for Replies, and one node's bursts to many peers, some of which have a ring.
 * A peer with a ring must never keep a buffer that the others wait for. */
static void few_buffers_and_rings(void)
{
    uint32_t nodes = 5 + sim_below(PARTNERS - 3);
    sim_job_t job = any_job(nodes);
    job.credits = (uint16_t)(2 + sim_below(10));
    job.reply_buffers = job.credits * (2 + sim_below(nodes - 3)) + sim_below(job.credits);
    job.slack = 0;
    job.depth = 1 + sim_below(40);
    job.ring_places = nodes;
    job.ring_slots = 1u << (2 + sim_below(4));
    job.ring_limit = 16 + sim_below(100);
    job.ring_cycle = 1 + sim_below(30);
    job.ring_in_order = sim_chance(50);
    begin(&job);
    any_traffic();
    if (sim_chance(80)) traffic.answer = 0;
    traffic.most_bytes = sim_below(100);
    window = job.credits;
    turns = 20 + sim_below(80);
    for (uint32_t i = 1; i < nodes; i++) befriend(0, i);
    go(nodes, burst);
}

/* Longs alone, over queue pairs that overtake each other. */
static void longs(void)
{
    uint32_t nodes = 2 + sim_below(3);
    sim_job_t job = any_job(nodes);
    job.qps = 2 + sim_below(3);
    job.ordered = true;
    job.packed_limit = sim_below(40);
    begin(&job);
    any_traffic();
    traffic.shorts = 0;
    traffic.longs = 100;
    for (uint32_t i = 0; i < nodes; i++) befriend(i, sim_below(nodes));
    go(nodes, talk);
}

static void thousands(void)
{
    uint32_t nodes = 1000 + sim_below(1000);
    sim_job_t job = any_job(nodes);
    begin(&job);
    any_traffic();
    traffic.each = 1 + sim_below(6);
    traffic.most_bytes = sim_below(100);
    for (uint32_t i = 0; i < nodes; i++) {
        befriend(i, sim_below(nodes));
        befriend(i, (i + 1) % nodes);
        if (sim_chance(50)) befriend(i, 0);
    }
    go(nodes, talk);
}

/* Nodes with a shared receive queue, as srq_policy.h divides it at defaults. */
static void shared_queue(void)
{
    static const uint32_t sizes[] = {18, 32, 64, 250, 1000};
    uint32_t nodes = sizes[sim_below(sizeof sizes / sizeof *sizes)];
    sim_job_t job = any_job(nodes);
    const uint32_t peers = nodes - 1, buffers = net_ib_rbuf_default(peers);
    const net_ib_recv_plan_t plan =
        net_ib_recv_plan(1, peers, buffers, buffers, 20, 1, 32,
                         net_ib_credits_total(NET_IB_CREDITS_TOTAL_DEFAULT, 0, peers, 32));
    job.credits = (uint16_t)plan.credits;
    job.reply_buffers = plan.replies;
    job.shared = peers * plan.credits + plan.replies; /* the rest is for system messages */
    sim_check(job.shared + peers * NET_IB_SYS_RECVS <= plan.buffers, 0,
              "%u buffers are too few for %u peers", plan.buffers, peers);
    if (plan.replies < peers * plan.credits) job.slack = 0;
    job.depth = 64;
    begin(&job);
    any_traffic();
    traffic.each = 1 + sim_below(nodes > 100 ? 10 : 100);
    traffic.most_bytes = sim_below(100);
    traffic.pause = 0;
    for (uint32_t i = 1; i < nodes; i++) {
        befriend(i, 0);
        if (sim_chance(30)) befriend(i, sim_below(nodes));
    }
    go(nodes, talk);
}

int main(int argc, char **argv)
{
    const sim_scene_t scenes[] = {
        {"IB-A3 a Request/Request ping-pong costs no hidden Replies", ping_pong, 6000},
        {"IB-A1..A3 all to one: credits add up, no message without a buffer, all end", all_to_one,
         12000},
        {"IB-A1..A3 random partners", anybody, 12000},
        {"IB-A1..A3 nearest neighbours", neighbours, 12000},
        {"IB-A1..A3 storms in both directions with next to no room", storm, 12000},
        {"IB-A4 IB-R4 fewer buffers for Replies than credits", few_buffers, 12000},
        {"IB-A4 IB-R4 the same with bursts to many, some of which have a ring",
         few_buffers_and_rings, 2000},
        {"IB-A1..A3 more credits than a message can carry", wide, 300},
        {"IB-A7 IB-B5 Longs over several queue pairs: no handler before its payload", longs, 12000},
        {"IB-A1..A7 thousands of nodes", thousands, 12},
        {"IB-A8 all to one, which shares its buffers at defaults: no message finds none",
         shared_queue, 60},
    };
    register_handlers();
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
