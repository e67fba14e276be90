/* am_engine.c - the AM engine step by step on the scripted network (IB-A1..A7): what a call sends,
 * what it does while it cannot, and in which order an arrival is served.
 *
 * Rank 0 of 3 is the engine; rank 1 is played by the test.
 */
#include <stdlib.h>

#include "core/am/am.h"
#include "core/job/ending.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 256 << 10, H_SILENT = 200, H_ANSWER, H_PAYLOAD, H_REPLIED };

/* The arguments of the last handler, and the orders for the next one. */
static struct {
    unsigned runs, reply_runs, depth, deepest, nested;
    gasnet_node_t from;
    void *buffer;
    size_t nbytes;
    int32_t arg;
    uint8_t bytes[4096];
    size_t reply_bytes; /* of a Medium Reply; 0: a Short one */
    bool expect_moved;
} saw;
static uint8_t source[SEGMENT];

static void enter(gasnet_token_t token)
{
    gasnet_AMGetMsgSource(token, &saw.from);
    saw.nested += saw.depth++ > 0;
    net_script_note(1);
}

static void on_silent(gasnet_token_t token)
{
    enter(token);
    saw.runs++;
    saw.depth--;
}

static void on_answer(gasnet_token_t token, int32_t arg)
{
    enter(token);
    saw.runs++;
    saw.arg = arg;
    if (saw.reply_bytes)
        gasnet_AMReplyMedium1(token, H_PAYLOAD, source, saw.reply_bytes, arg);
    else
        gasnet_AMReplyShort1(token, H_REPLIED, arg);
    net_script_note(2);
    saw.depth--;
}

static void on_payload(gasnet_token_t token, void *buffer, size_t nbytes, int32_t arg)
{
    enter(token);
    saw.runs++;
    saw.buffer = buffer;
    saw.nbytes = nbytes;
    saw.arg = arg;
    if (nbytes <= sizeof saw.bytes) memcpy(saw.bytes, buffer, nbytes);
    saw.depth--;
}

static void on_replied(gasnet_token_t token, int32_t arg)
{
    enter(token);
    saw.reply_runs++;
    saw.arg = arg;
    saw.depth--;
}

static void begin(uint16_t credits, uint16_t slack)
{
    static const gasnet_handlerentry_t handlers[] = {{H_SILENT, (void (*)(void))on_silent},
                                                     {H_ANSWER, (void (*)(void))on_answer},
                                                     {H_PAYLOAD, (void (*)(void))on_payload},
                                                     {H_REPLIED, (void (*)(void))on_replied}};
    gasnet_handlerentry_t table[4];
    memcpy(table, handlers, sizeof table);
    unit_job_begin(&(unit_job_t){3, 0, credits, slack, SEGMENT, 40});
    gasnetc_register_client(table, 4);
    memset(&saw, 0, sizeof saw);
}

static void end(void)
{
    gasnetc_params.packedlong_limit = 4016;
    gasnetc_params.bounce_limit = 65536;
    unit_job_end();
}

static gasnetc_credits_t *credits(void)
{
    return &gasnetc_peers[1].credits;
}

static const net_script_event_t *am(int n)
{
    return net_script_get_event(NET_SCRIPT_AM, n);
}

static unsigned ams(void)
{
    return net_script_count(NET_SCRIPT_AM);
}

static void replies(unsigned handler, unsigned returned, unsigned flags)
{
    arrive(1,
           (message_t){.numargs = !flags, .handler = handler, .credits = returned, .flags = flags});
}

static void request(unsigned handler, unsigned returned)
{
    arrive(1, (message_t){.request = 1,
                          .numargs = handler == H_ANSWER,
                          .handler = handler,
                          .credits = returned});
}

/* --- sent messages --- */

static bool is(const net_script_event_t *event, message_t m)
{
    uint8_t bytes[5000];
    size_t length = compose(&m, bytes);
    return event->length == length && !memcmp(event->bytes, bytes, length);
}

static void formats(void)
{
    int32_t args[16];
    for (int i = 0; i < 16; i++) args[i] = 100 + i;
    begin(100, 1);
    for (unsigned n = 0; n <= 16; n++) {
        gasnetc_AMRequestShort(1, 255, (int)n, args);
        check_each(is(am(-1), (message_t){.request = 1, .numargs = n, .handler = 255}),
                   "a Short with %u arguments", n);
        gasnetc_AMRequestMedium(1, 128, source, 33, (int)n, args);
        check_each(is(am(-1), (message_t){.category = MEDIUM,
                                          .request = 1,
                                          .numargs = n,
                                          .handler = 128,
                                          .payload = source,
                                          .nbytes = 33}),
                   "a Medium with %u arguments", n);
        gasnetc_AMRequestLong(2, 128, source, 9, unit_segment(2) + 3, (int)n, args);
        check_each(is(am(-1), (message_t){.category = LONG,
                                          .request = 1,
                                          .numargs = n,
                                          .handler = 128,
                                          .flags = PACKED,
                                          .payload = source,
                                          .nbytes = 9,
                                          .dst = (uintptr_t)unit_segment(2) + 3}),
                   "a packed Long with %u arguments", n);
    }
    check_all("IB-A7 each category with 0..16 arguments leaves in the format of am_wire.h");
    gasnet_AMRequestShort(1, 130, 3, 100, 101, 102);
    check(is(am(-1), (message_t){.request = 1, .numargs = 3, .handler = 130}),
          "IB-A7 the call with a run-time count sends the same");
    net_script_reap();
    check(unit_free_bbufs() == UNIT_BBUFS, "IB-R6 sent messages give their bbufs back");
    end();
}

static void inline_or_bbuf(void)
{
    begin(100, 1);
    gasnet_AMRequestMedium0(1, 128, source, 64);
    check(am(-1)->region == 0 && am(-1)->length == 72,
          "IB-P3 a message of inline_max bytes is inlined at the call");
    gasnet_AMRequestMedium0(1, 128, source, 65);
    check(am(-1)->region == gasnetc_bbuf_region.id, "IB-P3 a larger one leaves from a bbuf");
    check_each(gasnet_AMMaxMedium() == 4024, "AMMaxMedium is %zu", gasnet_AMMaxMedium());
    int32_t args[16] = {0};
    gasnetc_AMRequestMedium(1, 128, source, 4024, 16, args);
    check_each(am(-1)->length == 4096, "it is %zu bytes", am(-1)->length);
    check_all("IB-A7 a Medium of 4024 bytes with 16 arguments fills a 4 KB buffer");
    end();
    net_script.caps.inline_max = 0;
    begin(100, 0);
    gasnet_AMRequestShort0(1, 128);
    check(am(-1)->region == gasnetc_bbuf_region.id, "IB-P3 without inline sends all use bbufs");
    request(H_SILENT, 0);
    gasnet_AMPoll();
    check(is(am(-1), (message_t){.credits = 1, .flags = HIDDEN}) &&
              am(-1)->region == gasnetc_bbuf_region.id,
          "IB-P3 hidden Replies too");
    gasnet_AMPoll();
    check(unit_free_bbufs() == UNIT_BBUFS, "IB-R6 and give them back");
    end();
}

/* --- messages of words, of the library's own --- */

enum { H_WORDS = 90, H_WORDS_BACK };

static uint64_t words_seen[GASNETC_WORDS];

static void on_words(gasnet_token_t token, const uint64_t *words)
{
    gasnetc_words_t reply;
    for (unsigned i = 0; i < GASNETC_WORDS; i++) words_seen[i] = gasnetc_word(words, i);
    reply.word[0] = words_seen[0];
    reply.word[1] = words_seen[GASNETC_WORDS - 1];
    gasnetc_reply_words(token, H_WORDS_BACK, &reply, 2);
}

static void on_words_back(gasnet_token_t token, const uint64_t *words)
{
    (void)token;
    for (unsigned i = 0; i < 2; i++) words_seen[i] = gasnetc_word(words, i);
}

/* Sends a Request of words, and answers one; `inlined`: from where the words were written. */
static void words_sent(bool inlined)
{
    const uint64_t numbers[GASNETC_WORDS] = {1, UINT64_C(2) << 40, 3, UINT64_MAX, 5};
    int32_t args[2 * GASNETC_WORDS];
    gasnetc_words_t request_of_words;
    net_script.caps.inline_max = inlined ? 72 : 0;
    begin(100, 0);
    memcpy(args, numbers, sizeof args);
    memcpy(request_of_words.word, numbers, sizeof numbers);
    gasnetc_request_words(1, H_WORDS, &request_of_words, GASNETC_WORDS);
    message_t asked = {.request = 1, .numargs = 10, .handler = H_WORDS, .args = args};
    check(is(am(-1), asked) && (am(-1)->region == 0) == inlined,
          "a Request of words is a Short, %s", inlined ? "inlined" : "in a bbuf");
    arrive(1, (message_t){.numargs = 4, .handler = H_WORDS_BACK, .credits = 1, .args = args});
    gasnet_AMPoll();
    check(words_seen[0] == numbers[0] && words_seen[1] == numbers[1],
          "the handler of a Reply gets its words");
    arrive(1, asked);
    gasnet_AMPoll();
    check(!memcmp(words_seen, numbers, sizeof numbers), "and that of a Request");
    memcpy(args + 2, &numbers[GASNETC_WORDS - 1], 8);
    check(
        is(am(-1), (message_t){.numargs = 4, .handler = H_WORDS_BACK, .credits = 1, .args = args}),
        "which answers with words");
    end();
}

static void words(void)
{
    static const gasnetc_internal_t list[] = {
        GASNETC_INTERNAL_WORDS_REQUEST(H_WORDS, GASNETC_WORDS, on_words),
        GASNETC_INTERNAL_WORDS_REPLY(H_WORDS_BACK, 2, on_words_back),
        {0}};
    gasnetc_register_internal(list);
    words_sent(false);
    words_sent(true);
}

/* --- credits --- */

static void reply_at_fourth_turn(void)
{
    static unsigned turns;
    if (++turns == 4) replies(H_REPLIED, 1, 0);
}

static void credits_run_dry(void)
{
    begin(2, 1);
    gasnet_AMRequestShort0(1, 128);
    gasnet_AMRequestShort0(1, 128);
    check(ams() == 2 && credits()->available == 0 && net_script.polls == 0,
          "IB-A1 M Requests leave without a poll");
    check(am(0)->wants_reply && am(1)->wants_reply, "IB-A1 each with room for its Reply");
    net_script.on_arrivals = reply_at_fourth_turn;
    gasnet_AMRequestShort0(1, 129);
    check(net_script.polls == 4 && saw.reply_runs == 1 && ams() == 3,
          "IB-A1 the next one polls until a Reply arrives, whose handler runs");
    check(credits()->available == 0, "IB-A1 and spends the credit that it brought");
    gasnet_AMRequestShort0(2, 129);
    check(net_script.polls == 4, "IB-A1 other peers are not held up");
    end();
}

static void banking(void)
{
    begin(8, 2);
    request(H_SILENT, 0);
    request(H_SILENT, 0);
    gasnet_AMPoll();
    check(saw.runs == 2 && ams() == 0 && credits()->banked == 2,
          "IB-R5 Requests without a Reply bank their credits up to the slack");
    request(H_SILENT, 0);
    gasnet_AMPoll();
    check(ams() == 1 && is(am(0), (message_t){.credits = 3, .flags = HIDDEN}) &&
              !am(0)->wants_reply && credits()->banked == 0,
          "IB-A2 one more, and a hidden Reply brings all of them back");
    request(H_SILENT, 0);
    gasnet_AMPoll();
    gasnet_AMRequestShort0(1, 128);
    check(ams() == 2 && am(1)->bytes[2] == 1 && credits()->banked == 0,
          "IB-A3 a banked credit rides on the next Request");
    request(H_SILENT, 0);
    request(H_ANSWER, 0);
    gasnet_AMPoll();
    check(ams() == 3 && is(am(2), (message_t){.numargs = 1, .handler = H_REPLIED, .credits = 2}),
          "IB-A3 and on the next Reply, beside that one's own");
    replies(0, 1, HIDDEN);
    unsigned runs = saw.runs + saw.reply_runs;
    gasnet_AMPoll();
    check(credits()->available == 8 && saw.runs + saw.reply_runs == runs,
          "IB-A2 a hidden Reply that arrives brings credits and runs no handler");
    end();
}

static void no_slack(void)
{
    begin(8, 0);
    for (int i = 0; i < 3; i++) request(H_SILENT, 0);
    gasnet_AMPoll();
    bool alone = true;
    for (int i = 0; i < 3 && i < (int)ams(); i++)
        alone = alone && is(am(i), (message_t){.credits = 1, .flags = HIDDEN});
    check(ams() == 3 && alone && credits()->banked == 0,
          "IB-R5 IB-A2 without slack each of a poll's Requests has a hidden Reply of its own");
    end();
}

static void left_over_room(void)
{
    begin(4, 1);
    gasnet_AMRequestShort0(1, 128);
    gasnet_AMRequestShort0(1, 128);
    replies(H_REPLIED, 2, 0);
    gasnet_AMPoll();
    gasnet_AMRequestShort0(1, 128);
    gasnet_AMRequestShort0(1, 128);
    check(!am(2)->wants_reply && am(3)->wants_reply,
          "IB-A3 a Reply that brings two credits leaves a buffer, which the next Request uses");
    end();
}

/* Another thread may bank more credits while a hidden Reply waits for room: the header's byte must
 * hold them.
 */
static void much_banked(void)
{
    begin(600, 254);
    credits()->available = 0;
    credits()->banked = 455;
    gasnetc_send_hidden_reply(&gasnetc_peers[1], NULL);
    unsigned left = credits()->banked, rode = am(0)->bytes[2];
    check(rode + left == 455, "IB-A2 a hidden Reply never loses credits that came meanwhile");
    if (rode + left != 455) check_note("455 became %u, with %u left banked", rode, left);
    end();
}

/* --- a busy network --- */

static void busy_request(void)
{
    begin(4, 1);
    net_script.busy = 3;
    request(H_SILENT, 0);
    gasnet_AMRequestShort0(1, 128);
    check(saw.runs == 1,
          "IB-R1 a Request that waits takes arrivals by polling, and leaves none behind");
    end();
    begin(4, 1);
    net_script.busy = 3;
    request(H_ANSWER, 0);
    gasnet_AMRequestShort0(1, 128);
    check(net_script.busy_answers == 3 && net_script.polls >= 1 && saw.runs == 1,
          "IB-R1 a Request that finds the network busy polls, running handlers");
    check(ams() == 2 && credits()->available == 3 && credits()->surplus == 0,
          "IB-A1 and has spent one credit when it is sent at last");
    end();
}

static void busy_reply(void)
{
    begin(4, 1);
    saw.reply_bytes = 3000;
    request(H_ANSWER, 0);
    request(H_SILENT, 0);
    net_script.busy = 5;
    gasnet_AMPoll();
    check(saw.runs == 2 && saw.nested == 0 && net_script.busy_answers == 5,
          "IB-A6 a Reply that finds the network busy runs no handler");
    check(net_script.polls == 1 && net_script.reaps >= 6,
          "IB-A6 it only reaps, and takes no arrivals");
    end();
}

/* The script's memory is zero until it is written to. */
static void untouched_bbufs(void)
{
    static const char zero[GASNETC_BBUF_SIZE];
    unsigned taken = 0;
    begin(8, 0);
    for (char *bbuf; (bbuf = gasnetc_bbuf_try()); taken++)
        check_each(!memcmp(bbuf, zero, sizeof zero), "bbuf %u holds something", taken);
    check_all("IB-R6 start-up touches no bbuf");
    check(taken == UNIT_BBUFS, "IB-R6 and each can be had");
    end();
}

static void hold_all_bbufs(void)
{
    for (int i = 0; i < UNIT_BBUFS; i++) gasnet_AMRequestMedium0(1, 128, source, 1000);
}

static void complete_at_third_reap(void)
{
    static unsigned reaps;
    if (++reaps % 3 == 0) net_script_complete(1);
}

static void no_bbuf(void)
{
    begin(100, 1);
    net_script.hold = true;
    hold_all_bbufs();
    check(unit_free_bbufs() == 0 && net_script.reaps == 0, "IB-R6 all bbufs are in flight");
    net_script.on_reap = complete_at_third_reap;
    gasnet_AMRequestMedium0(1, 128, source, 1000);
    check(ams() == UNIT_BBUFS + 1 && net_script.polls == 3,
          "IB-R6 the next Medium polls until one comes back");
    unsigned polls = net_script.polls;
    saw.reply_bytes = 1000;
    request(H_ANSWER, 0);
    request(H_SILENT, 0);
    gasnet_AMPoll();
    check(saw.runs == 2 && saw.nested == 0 && net_script.polls == polls + 1,
          "IB-A6 a Reply reaps until one comes back, and runs no handler");
    end();
}

/* --- what arrives --- */

static unsigned where(enum net_script_kind kind, int n)
{
    return net_script_get_event(kind, n)->number;
}

static void order_of_service(void)
{
    begin(4, 1);
    request(H_ANSWER, 0);
    gasnet_AMPoll();
    check(saw.from == 1 && saw.arg == 100 && saw.depth == 0, "IB-A2 a Request runs its handler");
    check(where(NET_SCRIPT_REFILL, 0) < where(NET_SCRIPT_NOTE, 0),
          "IB-A4 the replacement buffer is posted before the handler runs");
    check(where(NET_SCRIPT_NOTE, 0) < where(NET_SCRIPT_AM, 0) &&
              where(NET_SCRIPT_NOTE, 1) < where(NET_SCRIPT_RELEASE, 0),
          "IB-A4 the message's own is given back after the handler");
    gasnet_AMRequestShort0(1, 128);
    net_script_forget();
    replies(H_REPLIED, 1, 0);
    gasnet_AMPoll();
    check(net_script_count(NET_SCRIPT_REFILL) == 0 && net_script_count(NET_SCRIPT_RELEASE) == 1 &&
              saw.reply_runs == 1,
          "IB-A1 a Reply's buffer is not replaced");
    check(gasneti_handler_depth() == 0, "IB-A6 no handler is left open");
    end();
}

static void bounded_poll(void)
{
    begin(40, 39);
    for (int i = 0; i < 30; i++) request(H_SILENT, 0);
    gasnet_AMPoll();
    check(saw.runs > 0 && saw.runs < 30, "IB-A4 one poll serves a bounded number of messages");
    while (net_script_waiting()) gasnet_AMPoll();
    check(saw.runs == 30, "IB-A4 and the next ones the rest");
    end();
}

static void one_spare_per_poll(void)
{
    begin(8, 1);
    for (int i = 0; i < 8; i++) request(i % 3 == 2 ? H_ANSWER : H_SILENT, 0);
    gasnet_AMPoll();
    check(saw.runs == 8 && net_script.pool_turns == 2,
          "IB-A4 one poll turns to the pool of spares at most twice, whatever it serves");
    if (net_script.pool_turns != 2) check_note("%u times", net_script.pool_turns);
    unsigned hidden = 0;
    for (unsigned i = 0; i < ams(); i++) hidden += am((int)i)->bytes[3] == HIDDEN;
    check(hidden == 1,
          "IB-A2 and with slack a single hidden Reply answers a peer's Requests of one poll");
    end();
}

/* The receive thread's polls. */
static void spare_kept(void)
{
    net_spare_t spare = {.in_hand = true};
    begin(8, 1);
    for (int poll = 0; poll < 4; poll++) {
        for (int i = 0; i < 5; i++) request(i % 3 == 2 ? H_ANSWER : H_SILENT, 0);
        gasnetc_poll_blocking(&spare);
    }
    check(saw.runs == 20 && net_script.pool_turns == 0 && spare.in_hand,
          "IB-A4 a thread that keeps its spare never turns to the pool: %u times",
          net_script.pool_turns);
    end();
}

static void medium_arrives(bool no_spare)
{
    begin(4, 1);
    check_fill(source, 4024);
    for (uint32_t nbytes = 0; nbytes <= 4024; nbytes += nbytes < 20 ? 1 : 143) {
        int32_t arg = (int32_t)nbytes - 7;
        net_script.no_spare = no_spare;
        arrive(1, (message_t){.category = MEDIUM,
                              .request = 1,
                              .numargs = 1,
                              .args = &arg,
                              .handler = H_PAYLOAD,
                              .payload = source,
                              .nbytes = nbytes});
        gasnet_AMPoll();
        check_each(saw.nbytes == nbytes && saw.arg == arg && !memcmp(saw.bytes, source, nbytes),
                   "%u bytes", nbytes);
        check_each((uintptr_t)saw.buffer % 8 == 0, "%u bytes at %p", nbytes, saw.buffer);
    }
    check_all(no_spare ? "IB-R7 a message copied for want of a spare buffer is delivered whole"
                       : "IB-A7 Mediums arrive whole and 8-byte aligned");
    end();
}

static void system_arrives(void)
{
    begin(4, 1);
    uint64_t words[2] = {4, 77};
    net_script_arrive_system(2, words, sizeof words);
    gasnet_AMPoll();
    check(unit_system_message.count == 1 && unit_system_message.from == 2 &&
              unit_system_message.word0 == 4 && unit_system_message.word1 == 77 &&
              net_script_count(NET_SCRIPT_RELEASE) == 1 && credits()->available == 4,
          "IB-A5 system messages reach the exit engine and cost no credit");
    net_script_arrive_system(1, words, sizeof words);
    request(H_SILENT, 0);
    gasnetc_poll_ending();
    check(unit_system_message.count == 2 && saw.runs == 0 &&
              net_script_count(NET_SCRIPT_RELEASE) == 3,
          "IB-X2 while the job ends they are served, and Active Messages dropped");
    gasnetc_phase = GASNETC_BEFORE_ATTACH;
    net_script_arrive_system(2, words, sizeof words);
    gasnetc_poll();
    check(unit_system_message.count == 3 && net_script_count(NET_SCRIPT_RELEASE) == 4,
          "IB-A5 they are served between init and attach too");
    net_script_arrive_system(2, words, sizeof words);
    gasnetc_poll_ending();
    check(unit_system_message.count == 4, "IB-A5 IB-X2 and if the job ends then");
    end();
}

/* --- Longs --- */

static void long_sent(void)
{
    begin(100, 1);
    check_fill(source, sizeof source);
    char *dst = unit_segment(1) + 1000;
    gasnet_AMRequestLong0(1, 128, source, 4016, dst);
    check(ams() == 1 && net_script_count(NET_SCRIPT_PUT) == 0 && am(0)->length == 4032,
          "IB-P4 a Long of the packed limit travels behind its header");
    gasnet_AMRequestLong0(1, 128, source, 4017, dst);
    check(ams() == 2 && net_script_count(NET_SCRIPT_PUT) == 1 &&
              where(NET_SCRIPT_PUT, -1) < where(NET_SCRIPT_AM, -1),
          "IB-A7 the payload of a larger one goes ahead of the message");
    check(net_script_get_event(NET_SCRIPT_PUT, -1)->order == NET_BEFORE_AM,
          "IB-A7 by a way on which the message cannot overtake it");
    check(is(am(1), (message_t){.category = LONG,
                                .request = 1,
                                .handler = 128,
                                .nbytes = 4017,
                                .dst = (uintptr_t)dst}),
          "IB-A7 which tells its length and place");
    net_script_reap();
    check(!memcmp(dst, source, 4017), "IB-A7 and it arrives whole");
    gasnetc_params.packedlong_limit = 0;
    gasnet_AMRequestLong0(1, 128, source, 1, dst);
    check(net_script_count(NET_SCRIPT_PUT) == 2 && am(-1)->length == 16,
          "IB-P4 with a packed limit of 0 none is packed");
    gasnet_AMRequestLong0(1, 128, (void *)3, 0, (void *)5);
    check(net_script_count(NET_SCRIPT_PUT) == 2 &&
              is(am(-1), (message_t){.category = LONG, .request = 1, .handler = 128, .dst = 5}),
          "IB-A7 an empty one may have any addresses");
    end();
}

static void long_source(void)
{
    begin(100, 1);
    char *mine = unit_segment(0), *dst = unit_segment(1);
    check_fill(mine, 200000);
    memcpy(source, mine, 200000);
    net_script.hold = true;
    gasnet_AMRequestLong0(1, 128, mine, 40000, dst);
    memset(mine, 0, 40000);
    check(net_script.reaps == 0, "IB-P5 a Long of at most the bounce limit does not wait");
    net_script.hold = false;
    net_script_complete(UINT32_MAX);
    net_script_reap();
    check(!memcmp(dst, source, 40000), "IB-E1 and its source is free when the call returns");
    net_script.hold = true;
    net_script.on_reap = complete_at_third_reap;
    gasnet_AMRequestLong0(1, 128, mine + 50000, 100000, dst);
    check(net_script_get_event(NET_SCRIPT_PUT, -1)->complete &&
              net_script_get_event(NET_SCRIPT_PUT, -1)->local == mine + 50000,
          "IB-P5 a larger one is not copied, and returns when its payload is there");
    check(!memcmp(dst, source + 50000, 100000), "IB-P5 whole");
    net_script.on_reap = NULL;
    unsigned reaps = net_script.reaps;
    gasnet_AMRequestLongAsync0(1, 128, mine + 50000, 100000, dst);
    check(net_script.reaps == reaps && !net_script_get_event(NET_SCRIPT_PUT, -1)->complete,
          "IB-E1 LongAsync waits for nothing");
    net_script_complete(UINT32_MAX);
    net_script_reap();
    end();
}

static void long_arrives(void)
{
    begin(8, 7);
    char *mine = unit_segment(0);
    check_fill(source, sizeof source);
    uint64_t edge = (uintptr_t)mine + SEGMENT - 500;
    message_t m = {.category = LONG,
                   .request = 1,
                   .numargs = 1,
                   .handler = H_PAYLOAD,
                   .flags = PACKED,
                   .payload = source,
                   .nbytes = 500,
                   .dst = edge};
    arrive(1, m);
    gasnet_AMPoll();
    check(saw.buffer == mine + SEGMENT - 500 && saw.nbytes == 500 && saw.arg == 100 &&
              !memcmp(saw.buffer, source, 500),
          "IB-A7 a packed Long is put in its place, up to the segment's end");
    memcpy(mine + 8, source + 600, 5000);
    arrive(1, (message_t){.category = LONG,
                          .request = 1,
                          .numargs = 1,
                          .handler = H_PAYLOAD,
                          .nbytes = 5000,
                          .dst = (uintptr_t)mine + 8});
    gasnet_AMPoll();
    check(saw.buffer == mine + 8 && saw.nbytes == 5000 && !memcmp(mine + 8, source + 600, 5000),
          "IB-A7 an unpacked one is only announced");
    arrive(1,
           (message_t){
               .category = LONG, .request = 1, .numargs = 1, .handler = H_PAYLOAD, .dst = 12345});
    gasnet_AMPoll();
    check(saw.nbytes == 0 && saw.runs == 3, "IB-A7 an empty one may have any address");
    end();
}

static void on_long_reply(gasnet_token_t token)
{
    gasnet_AMReplyLong0(token, H_PAYLOAD, unit_segment(0), 100000, unit_segment(1) + 7);
}

static void long_replied(void)
{
    begin(8, 0);
    gasnetc_register_client((gasnet_handlerentry_t[]){{210, (void (*)(void))on_long_reply}}, 1);
    net_script.hold = true;
    net_script.on_reap = complete_at_third_reap;
    check_fill(unit_segment(0), 100000);
    request(210, 0);
    request(H_SILENT, 0);
    gasnet_AMPoll();
    check(net_script.polls == 1 && net_script_get_event(NET_SCRIPT_PUT, 0)->complete &&
              am(0)->bytes[2] == 1 && saw.runs == 1,
          "IB-A6 a large Long Reply reaps until its payload is there, and runs no handler");
    check(!memcmp(unit_segment(0), unit_segment(1) + 7, 100000), "IB-A7 and it arrives whole");
    end();
}

static unsigned acted;

void gasnetc_exit_act(void)
{
    acted++;
}

/* A signal handler, or the exit engine, has set it. */
static void end_pending(void)
{
    begin(8, 0);
    gasnetc_exit_pending = GASNETC_EXIT_CALLED;
    gasnet_AMPoll();
    unsigned client = acted;
    gasnetc_poll();
    unsigned own = acted;
    gasnetc_poll_blocking(NULL);
    unsigned thread = acted;
    gasnetc_reap();
    unsigned reap = acted;
    gasnetc_exit_pending = GASNETC_EXIT_FAILURE;
    gasnetc_reap();
    unsigned failed = acted;
    gasnetc_exit_pending = 0;
    gasnet_AMPoll();
    check(client == 1 && own == 2 && thread == 3, "each kind of poll acts upon a pending end");
    check(reap == thread && failed == reap + 1 && acted == failed,
          "a wait that runs no handler acts only upon a failure");
    end();
}

int main(int argc, char **argv)
{
    net_script_reset();
    check_begin(argc, argv);
    formats();
    inline_or_bbuf();
    words();
    credits_run_dry();
    banking();
    no_slack();
    left_over_room();
    much_banked();
    busy_request();
    busy_reply();
    untouched_bbufs();
    no_bbuf();
    order_of_service();
    bounded_poll();
    one_spare_per_poll();
    spare_kept();
    medium_arrives(false);
    medium_arrives(true);
    system_arrives();
    long_sent();
    long_source();
    long_arrives();
    long_replied();
    end_pending();
    return check_end();
}
