/* am_flow.c - the real AM engine of one node against model peers, under random traffic (IB-A1..A4).
 *
 * Both sides send Requests of every category and answer some of them; the network is busy now and
 * then, completes late, moves messages.  Each message must arrive once and whole; a receive buffer
 * must wait for each; credits must add up; no rank may wait for ever.
 */
#include <stdlib.h>

#include "core/am/am.h"
#include "core/am/am_wire.h"
#include "core/job/progress.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/am_parse.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { PEERS = 2, SEGMENT = 64 << 10, MOST_REQUESTS = 20000, LONG_SLOT = 5000 };
enum { H_SHORT = 130, H_PAYLOAD, H_REPLY_SHORT, H_REPLY_PAYLOAD };

/* The state of a model peer: the other end of one connection. */
typedef struct model {
    gasnetc_credits_t credits;
    unsigned seen;     /* of the network's AM events, looked at */
    unsigned unread;   /* AMs for this peer, not looked at (kept by scanning) */
    unsigned sent;     /* Requests of its own */
    unsigned replies;  /* to them */
    unsigned handled;  /* Requests of the core's */
    unsigned answered; /* of these */
} model_t;

static model_t models[PEERS + 1]; /* by rank; 0 is the core */
static uint16_t limit;
static unsigned delivered, answered, requests, replies; /* at the core: theirs, its own */
static bool answering;                                  /* a Reply is being sent */
static unsigned slack_percent;

/* --- payloads: a function of the sequence number, so that a mixed-up one shows --- */

static uint32_t length_of(uint32_t sequence)
{
    uint32_t n = sequence * 2654435761u >> 8;
    return n % 3 == 0 ? n % 4025 : n % 90;
}

static void fill(uint8_t *bytes, uint32_t sequence)
{
    for (uint32_t i = 0, n = length_of(sequence); i < n; i++)
        bytes[i] = (uint8_t)(sequence * 7 + i);
}

static bool right(const uint8_t *bytes, size_t nbytes, uint32_t sequence)
{
    if (nbytes != length_of(sequence)) return false;
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != (uint8_t)(sequence * 7 + i)) return false;
    return true;
}

/* --- the core's handlers --- */

static void reply(gasnet_token_t token, uint32_t sequence)
{
    static uint8_t bytes[LONG_SLOT];
    gasnet_node_t from;
    unsigned reaps = net_script.polls;
    gasnet_AMGetMsgSource(token, &from);
    answering = true;
    answered++;
    switch (check_below(3)) {
    case 0:
        gasnet_AMReplyShort1(token, H_REPLY_SHORT, (int32_t)sequence);
        break;
    case 1:
        fill(bytes, sequence);
        gasnet_AMReplyMedium1(token, H_REPLY_PAYLOAD, bytes, length_of(sequence),
                              (int32_t)sequence);
        break;
    default:
        fill(bytes, sequence);
        gasnet_AMReplyLong1(token, H_REPLY_PAYLOAD, bytes, length_of(sequence),
                            unit_segment(from) + LONG_SLOT, (int32_t)sequence);
    }
    answering = false;
    check_each(reaps == net_script.polls, "a Reply took arrivals");
}

static void on_request_short(gasnet_token_t token, int32_t sequence)
{
    check_each(!answering, "a handler runs inside a Reply");
    delivered++;
    if (check_below(100) >= slack_percent) reply(token, (uint32_t)sequence);
}

static void on_request_payload(gasnet_token_t token, void *bytes, size_t nbytes, int32_t sequence)
{
    check_each(right(bytes, nbytes, (uint32_t)sequence), "payload %d is damaged", sequence);
    on_request_short(token, sequence);
    check_each(right(bytes, nbytes, (uint32_t)sequence), "payload %d is overwritten", sequence);
}

static void on_reply_short(gasnet_token_t token, int32_t sequence)
{
    (void)token;
    (void)sequence;
    check_each(!answering, "a handler runs inside a Reply");
    replies++;
}

static void on_reply_payload(gasnet_token_t token, void *bytes, size_t nbytes, int32_t sequence)
{
    check_each(right(bytes, nbytes, (uint32_t)sequence), "Reply %d is damaged", sequence);
    on_reply_short(token, sequence);
}

/* --- the model peers --- */

/* A message to the core; Longs land behind the first slot of its segment. */
static uint8_t carry(model_t *model, uint8_t own)
{
    uint8_t carried = gasnetc_credits_piggyback(&model->credits, own);
    return carried;
}

static void model_send(uint32_t rank, bool request, bool hidden, uint32_t sequence, uint8_t credits)
{
    uint8_t bytes[LONG_SLOT];
    int32_t arg = (int32_t)sequence;
    unsigned category = hidden ? SHORT : check_below(3);
    message_t m = {.category = category,
                   .request = request,
                   .numargs = !hidden,
                   .args = &arg,
                   .credits = credits,
                   .flags = hidden ? HIDDEN : 0};
    if (category != SHORT) {
        fill(bytes, sequence);
        m.payload = bytes;
        m.nbytes = length_of(sequence);
    }
    if (category == LONG) {
        m.flags = PACKED;
        m.dst = (uintptr_t)unit_segment(0) + rank * LONG_SLOT;
        if (m.nbytes > 4016) m.category = MEDIUM, m.flags = 0;
    }
    m.handler = request ? (category == SHORT ? H_SHORT : H_PAYLOAD)
                        : (category == SHORT ? H_REPLY_SHORT : H_REPLY_PAYLOAD);
    arrive(rank, m);
}

static void model_request(uint32_t rank)
{
    model_t *model = &models[rank];
    bool needs_recv;
    if (!gasnetc_credits_take(&model->credits, &needs_recv)) return;
    model_send(rank, true, false, model->sent++, carry(model, 0));
}

static void model_receive(uint32_t rank, const net_script_event_t *event)
{
    model_t *model = &models[rank];
    gasnetc_am_t am;
    const char *wrong = am_parse(event->bytes, event->length, &am);
    check_each(!wrong, "the core sent a bad %s", wrong ? wrong : "");
    if (wrong) return;
    if (am.credits || !am.request)
        check_each(gasnetc_credits_return(&model->credits, am.credits, !am.request),
                   "the core returns %u credits that are not due", am.credits);
    const uint8_t *payload = am.packed || am.category == GASNETC_AM_MEDIUM
                                 ? gasnetc_am_payload(&am, event->bytes)
                                 : (void *)(uintptr_t)am.dst;
    uint32_t first = am.numargs ? (uint32_t)*gasnetc_am_args(&am, event->bytes) : 0;
    if (!am.hidden && am.category != GASNETC_AM_SHORT)
        check_each(right(payload, am.nbytes, first), "the core's %s %d is damaged",
                   am.request ? "Request" : "Reply", (int)first);
    if (!am.request) {
        if (!am.hidden) model->replies++;
        return;
    }
    model->handled++;
    if (check_below(100) >= slack_percent) {
        model->answered++;
        model_send(rank, false, false, first, carry(model, 1));
        return;
    }
    if (gasnetc_credits_bank(&model->credits))
        model_send(rank, false, true, 0, carry(model, gasnetc_credits_one_each(&model->credits)));
}

/* The next AM for this peer, if any. */
static bool model_step(uint32_t rank)
{
    model_t *model = &models[rank];
    unsigned total = net_script_count(NET_SCRIPT_AM);
    while (model->seen < total) {
        const net_script_event_t *event = net_script_get_event(NET_SCRIPT_AM, (int)model->seen++);
        if (event->rank != rank) continue;
        model_receive(rank, event);
        return true;
    }
    return false;
}

static void during_reap(void)
{
    net_script_complete(check_below(4));
    if (check_below(20) == 0) net_script.busy = check_below(4);
    net_script.no_spare = check_below(4) == 0;
}

static void during_arrivals(void)
{
    uint32_t rank = 1 + check_below(PEERS);
    if (check_below(2)) model_step(rank);
    if (check_below(3) == 0 && models[rank].sent < MOST_REQUESTS) model_request(rank);
}

/* --- the schedule --- */

static void core_request(void)
{
    static uint8_t bytes[LONG_SLOT];
    uint32_t sequence = requests++;
    gasnet_node_t to = (gasnet_node_t)(1 + check_below(PEERS));
    fill(bytes, sequence);
    switch (check_below(3)) {
    case 0:
        gasnet_AMRequestShort1(to, H_SHORT, (int32_t)sequence);
        return;
    case 1:
        gasnet_AMRequestMedium1(to, H_PAYLOAD, bytes, length_of(sequence), (int32_t)sequence);
        return;
    default:
        gasnet_AMRequestLong1(to, H_PAYLOAD, bytes, length_of(sequence), unit_segment(to),
                              (int32_t)sequence);
    }
}

static bool quiet(void)
{
    for (uint32_t r = 1; r <= PEERS; r++)
        if (model_step(r)) return false;
    return !net_script_waiting() && !net_script_in_flight();
}

/* Everything is at rest: each message was handled once, each credit is somewhere. */
static void look(void)
{
    unsigned sent = 0, handled = 0, their_replies = 0, their_answers = 0;
    for (uint32_t r = 1; r <= PEERS; r++) {
        const model_t *m = &models[r];
        const gasnetc_credits_t *mine = &gasnetc_peers[r].credits;
        sent += m->sent, handled += m->handled;
        their_replies += m->replies, their_answers += m->answered;
        check_each(mine->available + m->credits.banked == limit, "%u of our credits, M %u",
                   mine->available + m->credits.banked, limit);
        check_each(m->credits.available + mine->banked == limit, "%u of their credits, M %u",
                   m->credits.available + mine->banked, limit);
        check_each(limit + net_script.fewest[r] >= 0, "%d buffers short", -net_script.fewest[r]);
        check_each(net_script.most_posted[r] <= limit, "M %u, and %d buffers for Replies", limit,
                   net_script.most_posted[r]);
        int expected = mine->surplus + limit - mine->available;
        check_each(net_script.buffers[r] == expected, "%d buffers posted for Replies, %d expected",
                   net_script.buffers[r], expected);
    }
    check_each(handled == requests && delivered == sent, "Requests: %u of %u, %u of %u arrived",
               handled, requests, delivered, sent);
    check_each(replies == their_answers && their_replies == answered,
               "Replies: %u of %u, %u of %u arrived", replies, their_answers, their_replies,
               answered);
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%u bbufs are free", unit_free_bbufs());
}

static void round_of(unsigned steps)
{
    gasnet_handlerentry_t table[] = {{H_SHORT, (void (*)(void))on_request_short},
                                     {H_PAYLOAD, (void (*)(void))on_request_payload},
                                     {H_REPLY_SHORT, (void (*)(void))on_reply_short},
                                     {H_REPLY_PAYLOAD, (void (*)(void))on_reply_payload}};
    limit = (uint16_t)(1 + check_below(check_below(3) ? 6 : 40));
    uint16_t slack = (uint16_t)check_below(limit + 2u);
    slack_percent = check_below(101);
    net_script_reset();
    net_script.caps.inline_max = check_below(3) ? check_below(600) : 0;
    unit_job_begin(&(unit_job_t){PEERS + 1, 0, limit, slack, SEGMENT, 40});
    gasnetc_register_client(table, 4);
    delivered = answered = requests = replies = 0;
    for (uint32_t r = 1; r <= PEERS; r++) {
        models[r] = (model_t){0};
        gasnetc_credits_init(&models[r].credits, limit, slack);
    }
    net_script.hold = true;
    net_script.on_reap = during_reap;
    net_script.on_arrivals = during_arrivals;
    for (unsigned i = 0; i < steps; i++) {
        if (check_below(3))
            core_request();
        else
            gasnet_AMPoll();
    }
    net_script.on_arrivals = NULL;
    while (!quiet()) gasnet_AMPoll();
    look();
    unit_job_end();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    for (int i = 0; i < 60; i++) round_of(20 + check_below(200));
    check_all("IB-A1..A4 random traffic: each message once and whole, a buffer for each, credits "
              "add up");
    return check_end();
}
