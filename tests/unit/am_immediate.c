/* am_immediate.c - immediate messages and lent buffers on the scripted network: a refusal changes
 * nothing, and the same message sent again arrives once.
 *
 * Rank 0 of 3 is the engine; rank 1 is played by the test.
 */
#include <string.h>

#include "core/am/am.h"
#include "core/am/lent.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/rdma/bounce.h"
#include "core/rdma/buffers.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 256 << 10, INLINE = 72, H_SILENT = 200, H_ORDER, H_REPLIED };

static uint8_t source[SEGMENT];
static unsigned runs;
static void (*order)(gasnet_token_t token); /* what H_ORDER does */

static void on_silent(gasnet_token_t token)
{
    (void)token;
    runs++;
}

static void on_order(gasnet_token_t token, int32_t arg)
{
    (void)arg;
    order(token);
}

static gasnetc_credits_t *credits(void)
{
    return &gasnetc_peers[1].credits;
}

static unsigned ams(void)
{
    return net_script_count(NET_SCRIPT_AM);
}

static unsigned puts_posted(void)
{
    return net_script_count(NET_SCRIPT_PUT);
}

static void begin(uint16_t number, uint16_t slack)
{
    gasnet_handlerentry_t table[] = {{H_SILENT, (void (*)(void))on_silent},
                                     {H_ORDER, (void (*)(void))on_order},
                                     {H_REPLIED, (void (*)(void))on_silent}};
    unit_job_begin(&(unit_job_t){3, 0, number, slack, SEGMENT, 40});
    gasnetc_params.packedlong_limit = 4016;
    gasnetc_params.bounce_limit = 65536;
    gasnetc_register_client(table, 3);
    check_fill(source, sizeof source);
    runs = 0;
}

static void request(unsigned handler)
{
    arrive(1, (message_t){.request = 1, .numargs = handler == H_ORDER, .handler = handler});
}

/* One credit is banked, and one receive buffer left over: both go with the next Request. */
static void bank_and_surplus(void)
{
    gasnet_AMRequestShort0(1, 128);
    gasnet_AMRequestShort0(1, 128);
    arrive(1, (message_t){.numargs = 0, .handler = H_REPLIED, .credits = 2});
    gasnet_AMPoll();
    request(H_SILENT);
    gasnet_AMPoll();
    if (credits()->banked != 1 || credits()->surplus != 1)
        check_note("banked %u, surplus %u", credits()->banked, credits()->surplus);
    net_script_forget();
    runs = 0;
}

/* --- what a refusal must not change --- */

typedef struct state {
    unsigned available, banked, surplus, ams, puts, free_bbufs, runs, polls, waiting, longs;
} state_t;

static state_t state_now(void)
{
    const gasnetc_counts_t *counts = &gasneti_self()->counts;
    return (state_t){.available = credits()->available,
                     .banked = credits()->banked,
                     .surplus = credits()->surplus,
                     .ams = ams(),
                     .puts = puts_posted(),
                     .free_bbufs = unit_free_bbufs(),
                     .runs = runs,
                     .polls = net_script.polls,
                     .waiting = net_script_waiting(),
                     .longs = (unsigned)counts->longs_packed + (unsigned)counts->longs_unpacked};
}

static bool unchanged(state_t before, const char *what, const char *why)
{
    const state_t now = state_now();
    return check_each(!memcmp(&before, &now, sizeof now),
                      "%s, %s: credits %u to %u, banked %u to %u, surplus %u to %u, messages %u to "
                      "%u, puts %u to %u, bbufs %u to %u, handlers %u to %u, polls %u to %u",
                      what, why, before.available, now.available, before.banked, now.banked,
                      before.surplus, now.surplus, before.ams, now.ams, before.puts, now.puts,
                      before.free_bbufs, now.free_bbufs, before.runs, now.runs, before.polls,
                      now.polls);
}

/* --- each message, refused for each reason --- */

/* A message, and what it needs. */
static const struct form {
    const char *name;
    uint8_t category;
    int numargs;
    size_t nbytes;
    bool needs_bbuf, puts;
} forms[] = {
    {"Short", GASNETC_AM_SHORT, 3, 0, false, false},
    {"inlined Medium", GASNETC_AM_MEDIUM, 1, 20, false, false},
    {"Medium", GASNETC_AM_MEDIUM, 16, 1000, true, false},
    {"empty Long", GASNETC_AM_LONG, 1, 0, false, false},
    {"inlined Long", GASNETC_AM_LONG, 0, 20, false, false},
    {"packed Long", GASNETC_AM_LONG, 1, 4000, true, false},
    {"Long", GASNETC_AM_LONG, 1, 20000, false, true},
    {"Long with 16 arguments", GASNETC_AM_LONG, 16, 20000, true, true},
    {"Long that is not copied", GASNETC_AM_LONG, 1, 100000, false, true},
};

static const int32_t arguments[16] = {100, 101, 102, 103, 104, 105, 106, 107,
                                      108, 109, 110, 111, 112, 113, 114, 115};

static gasnetc_outgoing_t outgoing(const struct form *form)
{
    return (gasnetc_outgoing_t){.category = form->category,
                                .handler = 130,
                                .numargs = form->numargs,
                                .args = arguments,
                                .src = form->nbytes ? unit_segment(0) + 64 : NULL,
                                .nbytes = form->nbytes,
                                .dst = unit_segment(1) + 8};
}

/* The message as it leaves, with the credits that it returns. */
static bool left(const net_script_event_t *event, const struct form *form, bool is_request,
                 unsigned returned)
{
    uint8_t bytes[5000];
    const bool carried = form->category == GASNETC_AM_MEDIUM || (form->nbytes && !form->puts);
    const bool is_long = form->category == GASNETC_AM_LONG;
    const message_t m = {.category = form->category,
                         .request = is_request,
                         .numargs = (unsigned)form->numargs,
                         .handler = 130,
                         .credits = returned,
                         .flags = is_long && carried ? PACKED : 0,
                         .payload = carried ? unit_segment(0) + 64 : NULL,
                         .nbytes = (uint32_t)form->nbytes,
                         .dst = is_long ? (uintptr_t)unit_segment(1) + 8 : 0};
    const size_t length = compose(&m, bytes);
    return event->length == length && !memcmp(event->bytes, bytes, length);
}

enum reason { NO_CREDIT, BUSY, CONNECTING, NO_REPLY_BUF, NO_BBUF, UNREADY, REASONS };
static const char *const reason_names[] = {"no credit",        "no send slot",
                                           "being connected",  "no receive buffer for the Reply",
                                           "no bounce buffer", "not connected"};
static void *taken[UNIT_BBUFS];
static uint16_t hidden;

static void arrange(enum reason reason)
{
    static const enum net_result results[] = {
        [BUSY] = NET_BUSY, [CONNECTING] = NET_CONNECTING, [NO_REPLY_BUF] = NET_NO_REPLY_BUF};
    hidden = credits()->available;
    if (reason == NO_CREDIT) credits()->available = 0;
    if (reason == NO_BBUF)
        for (int i = 0; i < UNIT_BBUFS; i++) taken[i] = gasnetc_bbuf_try();
    if (reason == UNREADY) net_script.unready = true;
    if (reason == BUSY || reason == CONNECTING || reason == NO_REPLY_BUF) {
        net_script.refused_ams = 1;
        net_script.refused_as = results[reason];
    }
}

static void undo(enum reason reason)
{
    if (reason == NO_CREDIT) credits()->available = hidden;
    if (reason == NO_BBUF)
        for (int i = 0; i < UNIT_BBUFS; i++) gasnetc_bbuf_free(taken[i]);
    net_script.unready = false;
    net_script.refused_ams = 0;
}

/* Whether the reason stands in the way of the message.  Once the payload is put, the message waits
 * for a send slot. */
static bool refuses(enum reason reason, const struct form *form, bool is_request)
{
    switch (reason) {
    case NO_CREDIT:
        return is_request;
    case NO_BBUF:
        return form->needs_bbuf;
    case UNREADY:
        return form->puts;
    case NO_REPLY_BUF:
        return is_request && !form->puts;
    default:
        return !form->puts;
    }
}

static gasnetc_counter_t counter;
static const gasnetc_sending_t immediate = {GASNETC_LONG, NULL, true};
static const gasnetc_sending_t immediate_event = {GASNETC_LONG_EVENT, &counter, true};

static void complete_all(void)
{
    net_script_complete(UINT32_MAX);
    gasnetc_reap();
}

static void refused_request(const struct form *form, enum reason reason, gasnetc_sending_t how)
{
    begin(8, 4);
    memcpy(unit_segment(0), source, SEGMENT);
    bank_and_surplus();
    counter = (gasnetc_counter_t){0};
    request(H_SILENT); /* waits for a poll */
    const gasnetc_outgoing_t am = outgoing(form);
    arrange(reason);
    const state_t before = state_now();
    const bool sent = gasnetc_am_request(1, &am, how);
    if (check_each(!sent, "%s, %s: not refused", form->name, reason_names[reason]))
        unchanged(before, form->name, reason_names[reason]);
    check_each(counter.issued == counter.reaped, "%s: its event counts a refused one", form->name);
    char zero[64] = {0};
    check_each(!memcmp(unit_segment(1) + 8, zero, sizeof zero), "%s is written", form->name);
    undo(reason);
    check_each(gasnetc_am_request(1, &am, how), "%s is refused without a reason", form->name);
    complete_all();
    check_each(ams() == 1 && left(net_script_get_event(NET_SCRIPT_AM, 0), form, true, 1) &&
                   !net_script_get_event(NET_SCRIPT_AM, 0)->wants_reply,
               "%s, %s: the second try sends something else", form->name, reason_names[reason]);
    check_each(credits()->available == before.available - (reason != NO_CREDIT) +
                                           (reason == NO_CREDIT ? hidden - 1 : 0),
               "%s: credits", form->name);
    check_each(credits()->surplus == 0 && credits()->banked == 0, "%s: banked", form->name);
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%s: a bbuf is kept", form->name);
    check_each(counter.issued == counter.reaped, "%s: its event does not end", form->name);
    check_each(net_script_waiting() == 1 && runs == 0, "%s runs a handler", form->name);
    if (form->puts)
        check_each(!memcmp(unit_segment(1) + 8, unit_segment(0) + 64, form->nbytes),
                   "%s: the payload", form->name);
    unit_job_end();
}

static void refused_requests(void)
{
    for (int r = 0; r < REASONS; r++) {
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            if (!refuses(r, &forms[i], true)) continue;
            refused_request(&forms[i], r, immediate);
            if (forms[i].category == GASNETC_AM_LONG)
                refused_request(&forms[i], r, immediate_event);
        }
        check_all("an immediate Request, %s: refused, and nothing is changed", reason_names[r]);
    }
}

/* --- Replies --- */

static const struct form *form_now;
static enum reason reason_now;

static void reply_refused(gasnet_token_t token)
{
    const gasnetc_outgoing_t am = outgoing(form_now);
    arrange(reason_now);
    const state_t before = state_now();
    check_each(!gasnetc_am_reply(token, &am, immediate), "%s, %s: not refused", form_now->name,
               reason_names[reason_now]);
    unchanged(before, form_now->name, reason_names[reason_now]);
    undo(reason_now);
    check_each(gasnetc_am_reply(token, &am, immediate), "%s: refused", form_now->name);
    check_each(((gasnetc_token_t *)token)->answer == GASNETC_ANSWERED, "%s", form_now->name);
}

/* Is refused, and is content with that. */
static void reply_given_up(gasnet_token_t token)
{
    const gasnetc_outgoing_t am = outgoing(form_now);
    arrange(reason_now);
    check_each(!gasnetc_am_reply(token, &am, immediate), "%s: not refused", form_now->name);
    undo(reason_now);
}

static void refused_reply(const struct form *form, enum reason reason)
{
    form_now = form;
    reason_now = reason;
    for (unsigned slack = 0; slack < 3; slack += 2) {
        begin(8, (uint16_t)slack);
        order = reply_refused;
        request(H_ORDER);
        gasnet_AMPoll();
        complete_all();
        check_each(ams() == 1 && left(net_script_get_event(NET_SCRIPT_AM, 0), form, false, 1),
                   "%s, %s: %u messages", form->name, reason_names[reason], ams());
        check_each(credits()->banked == 0 && unit_free_bbufs() == UNIT_BBUFS, "%s", form->name);
        order = reply_given_up;
        request(H_ORDER);
        gasnet_AMPoll();
        complete_all();
        check_each(slack ? ams() == 1 && credits()->banked == 1
                         : ams() == 2 && net_script_get_event(NET_SCRIPT_AM, 1)->bytes[3] == HIDDEN,
                   "%s, %s: the credit of a Request that is not replied to", form->name,
                   reason_names[reason]);
        unit_job_end();
    }
}

static void refused_replies(void)
{
    for (int r = 0; r < REASONS; r++) {
        if (r == NO_CREDIT || r == NO_REPLY_BUF) continue;
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            if (refuses(r, &forms[i], false)) refused_reply(&forms[i], r);
        check_all("an immediate Reply, %s: refused, and the token can reply", reason_names[r]);
    }
}

/* --- a Long whose payload is put first --- */

static unsigned credits_at_put;
static void on_reap_of_payload(void)
{
    if (puts_posted() && !ams()) credits_at_put = credits()->available;
    net_script_complete(1);
}

static void payload_first(bool ordered)
{
    static const struct form form = {"Long", GASNETC_AM_LONG, 16, 20000, true, true};
    net_script.caps.ordered = ordered;
    begin(8, 4);
    memcpy(unit_segment(0), source, SEGMENT);
    bank_and_surplus();
    net_script.hold = true;
    net_script.on_reap = on_reap_of_payload;
    net_script.refused_ams = 5;
    net_script.refused_as = NET_BUSY;
    credits_at_put = 99;
    request(H_SILENT);
    counter = (gasnetc_counter_t){0};
    const gasnetc_outgoing_t am = outgoing(&form);
    const unsigned polls = net_script.polls;
    check_each(gasnetc_am_request(1, &am, immediate), "refused");
    check_each(net_script.refused_ams == 0 && ams() == 1 && puts_posted() == 5, "%u puts, %u ams",
               puts_posted(), ams());
    check_each(net_script.polls == polls && runs == 0, "a handler has run");
    check_each(credits_at_put == 7, "the credit is taken after the payload is put");
    const net_script_event_t *sent = net_script_get_event(NET_SCRIPT_AM, 0);
    for (int i = 0; i < 5; i++) {
        const net_script_event_t *put = net_script_get_event(NET_SCRIPT_PUT, i);
        check_each(put->number < sent->number, "the message overtakes");
        check_each(ordered || put->complete, "the message is sent before the payload is there");
    }
    complete_all();
    check_each(left(sent, &form, true, 1) && unit_free_bbufs() == UNIT_BBUFS &&
                   credits()->available == 7 && credits()->surplus == 0,
               "the message");
    check_each(!memcmp(unit_segment(1) + 8, unit_segment(0) + 64, form.nbytes), "the payload");
    check_all("an immediate Long on a network %s order: credit, payload, then the message, which "
              "waits for a send slot and runs no handler",
              ordered ? "with" : "without");
    unit_job_end();
}

static void complete_one(void)
{
    net_script_complete(1);
}

/* The payload is copied, and there is one bounce buffer: others hold the rest. */
static void one_bbuf(void)
{
    static const struct form form = {"Long", GASNETC_AM_LONG, 16, 20000, true, true};
    begin(8, 4);
    memcpy(unit_segment(0), source, SEGMENT);
    for (int i = 0; i < UNIT_BBUFS - 1; i++) taken[i] = gasnetc_bbuf_try();
    net_script.hold = true;
    net_script.on_reap = complete_one;
    const gasnetc_outgoing_t am = outgoing(&form);
    check(gasnetc_am_request(1, &am, immediate) && ams() == 1 && puts_posted() == 5,
          "an immediate Long needs one bounce buffer at a time");
    complete_all();
    for (int i = 0; i < UNIT_BBUFS - 1; i++) gasnetc_bbuf_free(taken[i]);
    check(unit_free_bbufs() == UNIT_BBUFS, "and gives it back");
    unit_job_end();
}

/* --- the event of a Long's source --- */

static void source_event(bool ordered, size_t nbytes, bool in_segment, bool immediately)
{
    static const char *const where[] = {"outside", "in"};
    net_script.caps.ordered = ordered;
    begin(8, 4);
    char *from = in_segment ? unit_segment(0) + 64 : (char *)source + 64;
    memcpy(unit_segment(0), source, SEGMENT);
    uint8_t before[100000];
    memcpy(before, from, nbytes);
    counter = (gasnetc_counter_t){0};
    const gasnetc_outgoing_t am = {.category = GASNETC_AM_LONG,
                                   .handler = 130,
                                   .src = from,
                                   .nbytes = nbytes,
                                   .dst = unit_segment(1) + 8};
    net_script.hold = true;
    if (!ordered) net_script.on_reap = complete_one;
    gasnetc_am_request(1, &am, (gasnetc_sending_t){GASNETC_LONG_EVENT, &counter, immediately});
    const bool put = nbytes > 4016;
    const bool pending = put && ordered;
    check_each(gasnetc_counter_done(&counter) == !pending, "%zu bytes %s the segment: %s", nbytes,
               where[in_segment], pending ? "complete early" : "not complete on return");
    if (gasnetc_counter_done(&counter)) memset(from, 0x5a, nbytes);
    while (net_script_in_flight()) {
        unsigned left_to_put = 0;
        for (unsigned i = 0; i < puts_posted(); i++)
            left_to_put += !net_script_get_event(NET_SCRIPT_PUT, (int)i)->complete;
        check_each(gasnetc_counter_done(&counter) == !left_to_put, "%zu bytes, %u puts in flight",
                   nbytes, left_to_put);
        net_script_complete(1);
        gasnetc_reap();
    }
    check_each(gasnetc_counter_done(&counter), "%zu bytes: never complete", nbytes);
    const net_script_event_t *sent = net_script_get_event(NET_SCRIPT_AM, -1);
    const void *arrived = put ? (void *)(unit_segment(1) + 8) : sent->bytes + sent->length - nbytes;
    check_each(ams() == 1 && !memcmp(arrived, before, nbytes), "%zu bytes: wrong", nbytes);
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%zu bytes: a bbuf is kept", nbytes);
    unit_job_end();
}

static void source_events(void)
{
    static const size_t sizes[] = {0, 20, 4016, 4017, 20000, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 8; way++) source_event(way & 1, sizes[i], way & 2, way & 4);
    check_all("a Long's event is complete when its source may be written again");
}

/* --- lent buffers --- */

static void fill_lent(char *payload, size_t nbytes)
{
    memcpy(payload, source, nbytes);
}

static bool lent_left(const net_script_event_t *event, bool is_request, unsigned numargs,
                      size_t nbytes, unsigned returned)
{
    uint8_t bytes[5000];
    const size_t length = compose(&(message_t){.category = GASNETC_AM_MEDIUM,
                                               .request = is_request,
                                               .numargs = numargs,
                                               .handler = 130,
                                               .credits = returned,
                                               .payload = source,
                                               .nbytes = (uint32_t)nbytes},
                                  bytes);
    return event->length == length && !memcmp(event->bytes, bytes, length);
}

static void lent_request(unsigned numargs, size_t size, size_t nbytes)
{
    gasnetc_lent_t lent;
    begin(8, 4);
    bank_and_surplus();
    request(H_SILENT);
    state_t before = state_now();
    char *payload = gasnetc_lend(&lent, &gasnetc_peers[1], NULL, numargs, true);
    check_each(payload && (uintptr_t)payload % 8 == 0, "no buffer, or not aligned");
    check_each(credits()->available == before.available - 1 && credits()->banked == 0 &&
                   credits()->surplus == 0 && unit_free_bbufs() == UNIT_BBUFS - 1,
               "a lent buffer has the credit, and what the message returns");
    gasnetc_take_back(&lent);
    unchanged(before, "a lent buffer", "taken back");
    payload = gasnetc_lend(&lent, &gasnetc_peers[1], NULL, numargs, true);
    fill_lent(payload, size);
    static const enum net_result whys[] = {NET_BUSY, NET_NO_REPLY_BUF, NET_CONNECTING};
    for (int i = 0; i < 3; i++) {
        net_script.refused_ams = 1;
        net_script.refused_as = whys[i];
        check_each(!gasnetc_send_lent(&lent, 131, size, arguments, true), "not refused");
    }
    check_each(ams() == 0 && runs == 0 && net_script_waiting() == 1, "a refused one is sent");
    fill_lent(payload, size);
    check_each(gasnetc_send_lent(&lent, 130, nbytes, arguments, true), "refused");
    complete_all();
    check_each(ams() == 1 &&
                   lent_left(net_script_get_event(NET_SCRIPT_AM, 0), true, numargs, nbytes, 1) &&
                   !net_script_get_event(NET_SCRIPT_AM, 0)->wants_reply,
               "%zu of %zu bytes: wrong", nbytes, size);
    check_each(unit_free_bbufs() == UNIT_BBUFS && credits()->available == before.available - 1,
               "a lent buffer is kept");
    /* Refused, and taken back. */
    before = state_now();
    payload = gasnetc_lend(&lent, &gasnetc_peers[1], NULL, numargs, false);
    fill_lent(payload, size);
    net_script.refused_ams = 1;
    check_each(!gasnetc_send_lent(&lent, 130, size, arguments, true), "not refused");
    gasnetc_take_back(&lent);
    unchanged(before, "a lent buffer", "refused and taken back");
    unit_job_end();
}

static void lent_requests(void)
{
    for (unsigned numargs = 0; numargs <= 16; numargs += 4) {
        static const size_t sizes[] = {0, 8, 64, 65, 1000, 4024};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            lent_request(numargs, sizes[i], sizes[i]);
            lent_request(numargs, sizes[i], sizes[i] / 2);
            lent_request(numargs, sizes[i], 0);
        }
    }
    check_all("a lent buffer: taken back, refused, sent with fewer bytes");
}

static void lent_refused(void)
{
    static const struct form medium = {"lent buffer", GASNETC_AM_MEDIUM, 1, 1000, true, false};
    for (int r = 0; r < REASONS; r++) {
        if (r == BUSY || r == CONNECTING || r == NO_REPLY_BUF) continue;
        gasnetc_lent_t lent;
        begin(8, 4);
        bank_and_surplus();
        arrange(r);
        const state_t before = state_now();
        check_each(!gasnetc_lend(&lent, &gasnetc_peers[1], NULL, 1, true), "lent");
        unchanged(before, medium.name, reason_names[r]);
        undo(r);
        unit_job_end();
    }
    check_all("a buffer that cannot be lent now, and nothing is changed");
}

static unsigned turns;
static void bring_credit(void)
{
    if (++turns == 4) arrive(1, (message_t){.handler = H_REPLIED, .credits = 1});
}

static void lent_waits(void)
{
    gasnetc_lent_t lent;
    begin(2, 1);
    gasnet_AMRequestShort0(1, 128);
    gasnet_AMRequestShort0(1, 128);
    turns = 0;
    net_script.on_arrivals = bring_credit;
    char *payload = gasnetc_lend(&lent, &gasnetc_peers[1], NULL, 0, false);
    check_each(payload && turns == 4 && runs == 1, "no credit");
    net_script.on_arrivals = NULL;
    fill_lent(payload, 1000);
    net_script.refused_ams = 3;
    net_script.refused_as = NET_NO_REPLY_BUF;
    request(H_SILENT);
    check_each(gasnetc_send_lent(&lent, 130, 1000, NULL, false), "refused");
    check_each(runs == 2 && ams() == 3, "a wait for the peer runs handlers");
    complete_all();
    unit_job_end();
    check_all("a lent buffer waits for a credit, and its message for what the peer has to give");
}

static gasnetc_lent_t lent_here;
static void reply_lent(gasnet_token_t opaque)
{
    gasnetc_token_t *token = opaque;
    const state_t before = state_now();
    char *payload = gasnetc_lend(&lent_here, token->peer, token, 2, true);
    check_each(payload, "not lent");
    gasnetc_take_back(&lent_here);
    unchanged(before, "a Reply's lent buffer", "taken back");
    payload = gasnetc_lend(&lent_here, token->peer, token, 2, false);
    fill_lent(payload, form_now->nbytes);
    net_script.refused_ams = 1;
    net_script.refused_as = NET_BUSY;
    check_each(!gasnetc_send_lent(&lent_here, 130, form_now->nbytes, arguments, true), "sent");
    net_script.refused_ams = 3;
    check_each(gasnetc_send_lent(&lent_here, 130, form_now->nbytes, arguments, false), "refused");
    token->answer = GASNETC_ANSWERED;
}

static void lent_replies(void)
{
    static const struct form replied[] = {{"", GASNETC_AM_MEDIUM, 2, 20, false, false},
                                          {"", GASNETC_AM_MEDIUM, 2, 1000, true, false}};
    for (int i = 0; i < 4; i++) {
        form_now = &replied[i & 1];
        begin(8, (uint16_t)(i & 2));
        order = reply_lent;
        request(H_SILENT);
        gasnet_AMPoll();
        complete_all();
        net_script_forget();
        request(H_ORDER);
        request(H_SILENT);
        const unsigned polls = net_script.polls;
        gasnet_AMPoll();
        complete_all();
        check_each(net_script.polls == polls + 1, "a Reply polls");
        check_each(lent_left(net_script_get_event(NET_SCRIPT_AM, 0), false, 2, form_now->nbytes,
                             i & 2 ? 2 : 1),
                   "slack %d: wrong", i & 2);
        check_each(ams() == (i & 2 ? 1u : 2u), "slack %d: %u messages", i & 2, ams());
        check_each(unit_free_bbufs() == UNIT_BBUFS, "kept");
        unit_job_end();
    }
    check_all("a lent buffer for a Reply has the Request's credit, and only reaps");
}

/* While a thread has a lent buffer, which returns all credits that the peer has lent, other threads
 * serve Requests. */
static void lent_credits_back(void)
{
    gasnetc_lent_t lent;
    begin(3, 2);
    for (int i = 0; i < 2; i++) request(H_SILENT);
    gasnet_AMPoll();
    gasnetc_lend(&lent, &gasnetc_peers[1], NULL, 0, true);
    request(H_SILENT);
    gasnetc_poll();
    check(ams() == 0 && credits()->banked == 1, "a lent buffer keeps the credits to be returned");
    gasnetc_take_back(&lent);
    check(ams() == 1 && net_script_get_event(NET_SCRIPT_AM, 0)->bytes[3] == HIDDEN &&
              net_script_get_event(NET_SCRIPT_AM, 0)->bytes[2] == 3 && credits()->banked == 0,
          "and when it is taken back, a hidden Reply returns them if they are more than the slack");
    complete_all();
    unit_job_end();
}

/* --- to this rank itself --- */

static void to_self(void)
{
    begin(8, 4);
    request(H_SILENT);
    const unsigned polls = net_script.polls;
    const gasnetc_outgoing_t am = {.category = GASNETC_AM_SHORT, .handler = H_SILENT};
    check(gasnetc_am_request(0, &am, immediate) && runs == 1 && net_script.polls == polls,
          "an immediate Request to this rank itself runs its own handler alone");
    gasnetc_am_request(0, &am, (gasnetc_sending_t){GASNETC_LONG, NULL, false});
    check(runs == 3, "another one polls too");
    unit_job_end();
}

/* --- whether a Request may be sent --- */

static void may_request(void)
{
    begin(1, 0);
    check_each(gasnetc_may_request(0) && gasnetc_may_request(1), "refused");
    gasnet_AMRequestShort0(1, 128);
    check_each(gasnetc_may_request(0) && !gasnetc_may_request(1) && gasnetc_may_request(2),
               "the wrong peer");
    check_all("the first question of an immediate Request: a credit of its peer");
    unit_job_end();
}

int main(int argc, char **argv)
{
    net_script_reset();
    check_begin(argc, argv);
    refused_requests();
    refused_replies();
    payload_first(true);
    payload_first(false);
    one_bbuf();
    source_events();
    lent_requests();
    lent_refused();
    lent_waits();
    lent_replies();
    lent_credits_back();
    to_self();
    may_request();
    return check_end();
}
