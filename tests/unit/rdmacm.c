/* rdmacm.c - other/connect/rdmacm: the steps of its state machine, its private data, its words for
 * failures, and many random pairs over a model of a connection manager.
 */
#include <errno.h>
#include <string.h>

#include "other/connect/rdmacm/connection.h"
#include "other/connect/rdmacm/failure.h"
#include "other/connect/rdmacm/greeting.h"
#include "tests/unit/check.h"

static const rdmacm_times_t times = {.first = 0.02, .longest = 0.5, .give_up = 60};

static unsigned below(unsigned n)
{
    return (unsigned)(check_random() % n);
}

static void expect(unsigned actions, unsigned expected, const char *what)
{
    if (!check(actions == expected, "%s", what)) check_note("actions %#x", actions);
}

/* --- step by step --- */

static void calls(void)
{
    rdmacm_connection_t a = {.lower = true}, b = {.lower = false};
    expect(rdmacm_want(&a, 0, &times), RDMACM_RESOLVE,
           "an end that wants to send resolves the address");
    expect(rdmacm_want(&a, 1, &times), 0, "wanting twice is wanting once");
    expect(rdmacm_routed(&a), 0, "an event that does not fit has no effect");
    expect(rdmacm_resolved(&a), RDMACM_ROUTE, "then the route");
    expect(rdmacm_routed(&a), RDMACM_CALL, "then it calls");
    expect(rdmacm_requested(&b), RDMACM_ACCEPT, "an idle end accepts");
    expect(rdmacm_want(&b, 1, &times), 0, "and does not call when it wants to send meanwhile");
    expect(rdmacm_answered(&a), RDMACM_ESTABLISH | RDMACM_OPEN, "the answer opens the calling end");
    expect(rdmacm_established(&b), RDMACM_OPEN, "the confirmation the other");
    expect(rdmacm_requested(&b), RDMACM_REJECT, "a request to an open end is refused");
    check(rdmacm_due(&a, &times) < 0 && rdmacm_due(&b, &times) < 0, "nothing is due");
    rdmacm_connection_t c = {.state = RDMACM_CALLING};
    expect(rdmacm_established(&c), RDMACM_ESTABLISH | RDMACM_OPEN,
           "a manager may connect the queue pair itself");
}

static void collides(void)
{
    rdmacm_connection_t low = {.lower = true}, high = {.lower = false};
    rdmacm_want(&low, 0, &times);
    rdmacm_want(&high, 0, &times);
    expect(rdmacm_requested(&low), RDMACM_REJECT, "both call: the lower end refuses");
    expect(rdmacm_requested(&high), RDMACM_ABANDON | RDMACM_ACCEPT,
           "and the higher abandons its attempt and accepts");
    rdmacm_connection_t other = {.lower = false};
    rdmacm_want(&other, 0, &times);
    expect(rdmacm_failed(&other, true, 0, &times), RDMACM_ABANDON,
           "the higher end may be refused before the request arrives");
    expect(rdmacm_tick(&other, 0.1, &times), 0, "it waits");
    expect(rdmacm_requested(&other), RDMACM_ACCEPT, "and accepts");
}

static void retries(void)
{
    rdmacm_connection_t a = {.lower = true};
    double now = 0, interval = times.first;
    rdmacm_want(&a, now, &times);
    for (int i = 0; i < 10; i++) {
        check_each(rdmacm_failed(&a, false, now, &times) == RDMACM_ABANDON, "a failure");
        check_each(rdmacm_due(&a, &times) == now + interval, "interval %g", interval);
        check_each(rdmacm_tick(&a, now + interval / 2, &times) == 0, "too early");
        now += interval;
        check_each(rdmacm_tick(&a, now, &times) == RDMACM_RESOLVE, "again");
        interval = 2 * interval < times.longest ? 2 * interval : times.longest;
    }
    check_all("attempts are repeated at growing intervals");
    expect(rdmacm_tick(&a, times.give_up, &times), RDMACM_ABANDON | RDMACM_GIVE_UP,
           "an attempt without an end is given up");
    expect(rdmacm_resolved(&a), 0, "after which its events have no effect");
    expect(rdmacm_want(&a, 61, &times), RDMACM_GIVE_UP, "and wanting again reports it again");
    a = (rdmacm_connection_t){.lower = true};
    rdmacm_want(&a, 0, &times);
    expect(rdmacm_failed(&a, false, 60, &times), RDMACM_ABANDON | RDMACM_GIVE_UP,
           "so is a failure at the end of the time");
    rdmacm_connection_t b = {.lower = true};
    rdmacm_requested(&b);
    expect(rdmacm_failed(&b, false, 0, &times), 0,
           "an accepted connection fails: silently, if unwanted");
    expect(rdmacm_want(&b, 0, &times), RDMACM_GIVE_UP, "and aloud when it is wanted");
    b = (rdmacm_connection_t){.lower = true};
    rdmacm_requested(&b);
    rdmacm_want(&b, 0, &times);
    expect(rdmacm_failed(&b, false, 0, &times), RDMACM_GIVE_UP, "or if it was wanted before");
}

/* --- random pairs --- */

enum { EVENTS = 64 };

typedef struct happening {
    int to;      /* which end */
    int attempt; /* the attempt that it is of */
    enum { RESOLVED, ROUTED, REQUEST, ANSWERED, ESTABLISHED, REFUSED, BROKEN } kind;
} happening_t;

typedef struct end {
    rdmacm_connection_t connection;
    int attempt; /* the own one, or the accepted one; 0: none */
    bool open;
} end_t;

static struct {
    end_t end[2];
    happening_t list[EVENTS];
    int count, attempts, losses;
    double now;
} model;

static void happens(int to, int attempt, int kind)
{
    check_each(model.count < EVENTS, "too many events");
    if (model.count < EVENTS) model.list[model.count++] = (happening_t){to, attempt, kind};
}

/* Makes the result of a step of an attempt arrive, or, while losses are left, its failure. */
static void result(int to, int attempt, int kind)
{
    const bool lost = model.losses > 0 && below(3) == 0;
    model.losses -= lost;
    happens(to, attempt, lost ? BROKEN : kind);
}

/* As the ids of an attempt are destroyed: none of its events arrives any more, at neither end if
 * the peer has not accepted it. */
static void forget(int attempt)
{
    int left = 0;
    for (int i = 0; i < model.count; i++)
        if (model.list[i].attempt != attempt) model.list[left++] = model.list[i];
    model.count = left;
}

static void perform(int self, unsigned actions, int request)
{
    end_t *e = &model.end[self];
    if (actions & RDMACM_ABANDON) {
        check_each(model.end[!self].attempt != e->attempt,
                   "what the peer has accepted is abandoned");
        forget(e->attempt);
        e->attempt = 0;
    }
    if (actions & RDMACM_RESOLVE) result(self, e->attempt = ++model.attempts, RESOLVED);
    if (actions & RDMACM_ROUTE) result(self, e->attempt, ROUTED);
    if (actions & RDMACM_CALL) {
        const bool lost = model.losses > 0 && below(3) == 0;
        model.losses -= lost;
        happens(lost ? self : !self, e->attempt, lost ? BROKEN : REQUEST);
    }
    if (actions & RDMACM_ACCEPT) {
        e->attempt = request;
        happens(!self, request, ANSWERED);
    }
    if (actions & RDMACM_REJECT) happens(!self, request, REFUSED);
    if (actions & RDMACM_ESTABLISH) happens(!self, e->attempt, ESTABLISHED);
    if (actions & RDMACM_OPEN) e->open = true;
    check_each(!(actions & RDMACM_GIVE_UP), "given up");
}

static void next_happening(void)
{
    const int i = (int)below((unsigned)model.count);
    const happening_t h = model.list[i];
    end_t *e = &model.end[h.to];
    model.list[i] = model.list[--model.count];
    if (h.kind == REQUEST) {
        perform(h.to, rdmacm_requested(&e->connection), h.attempt);
        return;
    }
    if (e->attempt != h.attempt) return;
    unsigned actions = 0;
    if (h.kind == RESOLVED) actions = rdmacm_resolved(&e->connection);
    if (h.kind == ROUTED) actions = rdmacm_routed(&e->connection);
    if (h.kind == ANSWERED) actions = rdmacm_answered(&e->connection);
    if (h.kind == ESTABLISHED) actions = rdmacm_established(&e->connection);
    if (h.kind == REFUSED || h.kind == BROKEN)
        actions = rdmacm_failed(&e->connection, h.kind == REFUSED, model.now, &times);
    perform(h.to, actions, 0);
}

static void random_pair(void)
{
    memset(&model, 0, sizeof model);
    model.end[0].connection.lower = true;
    model.losses = (int)below(6);
    const unsigned wanting = 1 + below(3);
    unsigned wants = 0;
    for (int steps = 0; steps < 1000 && !(model.end[0].open && model.end[1].open); steps++) {
        const int self = (int)below(2);
        if (wanting >> self & ~wants >> self & 1) {
            wants |= 1u << self;
            perform(self, rdmacm_want(&model.end[self].connection, model.now, &times), 0);
        } else if (model.count && below(4)) {
            next_happening();
        } else {
            model.now += 0.01;
            perform(self, rdmacm_tick(&model.end[self].connection, model.now, &times), 0);
        }
    }
    check_each(model.end[0].open && model.end[1].open, "both ends are open");
    check_each(model.end[0].attempt == model.end[1].attempt, "by the same connection");
}

/* --- private data and words --- */

static void greets(void)
{
    uint8_t bytes[56] = {0}, changed[56];
    const rdmacm_greeting_t sent = {
        .key = 0x0123456789abcdef, .from = 7, .to = 3, .word = RDMACM_HELLO};
    rdmacm_greeting_t got;
    rdmacm_greeting_encode(&sent, bytes);
    check(!rdmacm_greeting_parse(bytes, sizeof bytes, sent.key, 3, 8, &got) && got.from == 7 &&
              got.to == 3 && got.word == RDMACM_HELLO,
          "a greeting is understood, with padding behind it");
    static const struct {
        int at;
        uint8_t value;
        const char *field;
    } faults[] = {{0, 1, "protocol number"},
                  {4, 2, "version"},
                  {5, 0, "word"},
                  {5, 3, "word"},
                  {8, 0, "key"},
                  {16, 8, "sender's rank"},
                  {16, 3, "sender's rank"},
                  {20, 4, "receiver's rank"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        memcpy(changed, bytes, sizeof bytes);
        changed[faults[i].at] = faults[i].value;
        const char *field = rdmacm_greeting_parse(changed, sizeof changed, sent.key, 3, 8, &got);
        check_each(field && !strcmp(field, faults[i].field), "byte %d", faults[i].at);
    }
    check_each(rdmacm_greeting_parse(bytes, RDMACM_GREETING - 1, sent.key, 3, 8, &got) != NULL,
               "short");
    check_each(rdmacm_greeting_parse(NULL, 0, sent.key, 3, 8, &got) != NULL, "none");
    check_all("a wrong field is named");
}

static void explains(void)
{
    char text[128];
    rdmacm_failure_text(RDMA_CM_EVENT_REJECTED, 8, text, sizeof text);
    check(strstr(text, "refuses") && strstr(text, "no process listens"),
          "a reason of InfiniBand: %s", text);
    rdmacm_failure_text(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, text, sizeof text);
    check(strstr(text, "refuses") && strstr(text, strerror(ECONNREFUSED)), "an errno: %s", text);
    rdmacm_failure_text(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, text, sizeof text);
    check(strstr(text, "address") && strstr(text, strerror(ETIMEDOUT)), "an errno: %s", text);
    rdmacm_failure_text(RDMA_CM_EVENT_REJECTED, 99, text, sizeof text);
    check(strstr(text, "status 99"), "an unknown reason: %s", text);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    calls();
    collides();
    retries();
    for (int i = 0; i < 20000; i++) random_pair();
    check_all("random pairs connect, once");
    greets();
    explains();
    return check_end();
}
