/* remote.c - requester and responder of queue pairs between two hosts, in a simulator:
 * connections break at every point, frames wait, queue pairs overtake each other, receives come
 * late, targets appear late and are lost, and a side ends.
 *
 * A story is a number of random steps with some kinds of mishap, then a time without any, after
 * which every WR must have ended. Each WR must have run once and in order, except that a READ may
 * run again.
 */
#include "other/softhca/src/tcp/remote.h"

#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

enum { PAIRS = 3, WRS = 60, PIPE = 24, MS = 1000000 };

struct wr {
    struct requester_wr is;
    bool posted, ran, answered, done;
    int status;
};

/* A direction of a QP pair: the requester on one side and the responder on the other. */
struct way {
    struct requester q;
    struct responder r;
    struct wr wr[WRS];
    uint32_t posted, done, run;
    uint32_t receives; /* at the target */
    uint32_t bytes;    /* of the running message */
    uint32_t bytes_back;
    uint64_t word; /* the word that atomics change */
    bool accepts, stopped;
    unsigned atomics;
};

/* The frame at the head arrives in pieces: GIVEN bytes of it have come, and TAKE is what the
 * responder does with them. */
struct pipe {
    struct wire_frame f[PIPE];
    unsigned n;
    uint32_t given;
    bool begun, take;
};

struct mishaps {
    bool cuts, rnr, absence;
};

static struct way ways[2][PAIRS]; /* [0]: requesters on side A */
static struct pipe pipes[2];      /* [0]: from A to B */
static bool connected[2];         /* as each side believes */
static uint64_t now, down_since;
static bool gone;
static struct mishaps may;
static const char *story;
static uint32_t start; /* the message number of each WR 0 */

static void look(void *owner, uint32_t msn, struct requester_wr *wr)
{
    struct way *w = owner;
    const uint32_t i = msn - start;
    check_each(i < WRS && w->wr[i].posted && i >= w->done, "%s: WR %u is asked for", story, i);
    *wr = w->wr[i % WRS].is;
}

static void begin_at(uint32_t first, const char *name, struct mishaps m, bool reliable,
                     uint32_t rnr_retry)
{
    start = first;
    memset(ways, 0, sizeof ways);
    memset(pipes, 0, sizeof pipes);
    connected[0] = connected[1] = true;
    now = 1;
    down_since = 0;
    gone = false;
    may = m;
    story = name;
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct way *w = &ways[i / PAIRS][i % PAIRS];
        w->q = (struct requester){.reliable = reliable,
                                  .life = 7,
                                  .max_fetches = 1 + check_below(WIRE_FETCHES),
                                  .timeout = 1000 * MS,
                                  .tries = 8,
                                  .rnr_retry = rnr_retry,
                                  .look = look,
                                  .owner = w};
        requester_start(&w->q);
        requester_stop(&w->q, start);
        w->r.reliable = reliable;
        responder_start(&w->r);
        w->accepts = !m.absence;
        w->receives = m.rnr ? 0 : WRS;
    }
}

static void begin(const char *name, struct mishaps m, bool reliable, uint32_t rnr_retry)
{
    begin_at(0, name, m, reliable, rnr_retry);
}

/* 0, or such that the WRs of a story pass the end of the numbers, or of their lower half. */
static uint32_t any_start(void)
{
    static const uint32_t ends[] = {0, UINT32_MAX, INT32_MAX};
    const uint32_t end = ends[check_below(3)];
    return end ? end - check_below(WRS) : 0;
}

static uint32_t any_length(void)
{
    static const uint32_t most[] = {1, 10, 1000, WIRE_CHUNK, WIRE_CHUNK + 1, 4 * WIRE_CHUNK};
    return check_below(most[check_below(6)]);
}

static void post(struct way *w)
{
    if (w->posted == WRS || w->stopped) return;
    struct wr *x = &w->wr[w->posted++];
    x->is.opcode = check_below(w->q.reliable ? WIRE_OPCODES : WIRE_READ);
    x->is.fence = check_below(4) == 0;
    x->is.length = x->is.opcode > WIRE_READ ? 8 : any_length();
    x->posted = true;
    requester_posted(&w->q, start + w->posted, now);
}

/* What stays behind the oldest WR is ahead of it 2^31 messages later. */
static void look_at_marks(const struct way *w)
{
    check_each(!wire_before(w->q.acked, w->q.una) && !wire_before(w->q.fetched, w->q.una),
               "%s: WR %u is the oldest, but marks are at %u and %u", story, w->q.una - start,
               w->q.acked - start, w->q.fetched - start);
    check_each(!w->q.rnr_tries || !wire_before(w->q.rnr_msn, w->q.una),
               "%s: WR %u is the oldest, but retries of %u are counted", story, w->q.una - start,
               w->q.rnr_msn - start);
}

static void reap(struct way *w)
{
    int status;
    while (!w->stopped && requester_done(&w->q, &status)) {
        struct wr *x = &w->wr[w->done++];
        x->done = true;
        x->status = status;
        if (status == IBV_WC_SUCCESS) {
            look_at_marks(w);
            check_each(x->ran || !w->q.reliable, "%s: WR %u ended before it ran", story,
                       w->done - 1);
            continue;
        }
        w->stopped = true;
        requester_stop(&w->q, start + w->posted);
    }
}

static bool needs_receive(const struct wr *x)
{
    return x->is.opcode <= WIRE_SEND_IMM || x->is.opcode == WIRE_WRITE_IMM;
}

/* Checks at the moment when a WR runs that it has overtaken no WR that it must not overtake. */
static void look_at_order(const struct way *w, uint32_t msn)
{
    unsigned unanswered = 0;
    for (uint32_t i = 0; i < msn; i++)
        unanswered += wire_is_fetch(w->wr[i].is.opcode) && !w->wr[i].answered;
    check_each(!w->wr[msn].is.fence || !unanswered, "%s: WR %u passes a READ in spite of its fence",
               story, msn);
    if (wire_is_fetch(w->wr[msn].is.opcode))
        check_each(unanswered < w->q.max_fetches, "%s: %u fetches at once", story, unanswered + 1);
}

static void ran_whole(struct way *w, uint32_t msn)
{
    struct wr *x = &w->wr[msn];
    check_each(!x->ran && (msn == w->run || (!w->q.reliable && msn > w->run)),
               "%s: WR %u runs, %u was expected", story, msn, w->run);
    check_each(w->bytes == x->is.length || wire_is_fetch(x->is.opcode), "%s: %u bytes of %u", story,
               w->bytes, x->is.length);
    look_at_order(w, msn);
    w->run = msn + 1;
    x->ran = true;
    if (needs_receive(x)) w->receives--;
    uint64_t old = 0;
    if (x->is.opcode > WIRE_READ) old = w->word++;
    enum responder_verdict v = responder_finish(&w->r, old);
    check_each(v != RESPONDER_BAD, "%s: there is room for an answer", story);
}

/* Answers for a target that does not exist and has no state: each frame is refused, unless the pipe
 * has no room for that. */
static bool nobody(const struct way *w, const struct wire_frame *f, struct pipe *back)
{
    if (w->accepts) return false;
    if (back->n < PIPE) responder_no_target(f, &back->f[back->n++]);
    return true;
}

/* The target's carrier, at the header of a frame: whether its payload is to be run. */
static bool begin_to_run(struct way *w, const struct wire_frame *f)
{
    enum responder_verdict v = responder_on_frame(&w->r, f);
    check_each(v != RESPONDER_BAD, "%s: message %u, type %u, is not what was expected", story,
               f->msn, f->type);
    if (v != RESPONDER_RUN) return false;
    if (f->type == WIRE_REQUEST) w->bytes = 0;
    if (!needs_receive(&w->wr[(f->msn - start) % WRS]) || w->receives > 0) return true;
    struct wire_nak nak = {.code = WIRE_RNR, .timer = 1 + check_below(20)};
    responder_refuse(&w->r, &nak);
    return false;
}

static void run(struct way *w, const struct wire_frame *f, uint32_t n)
{
    const uint32_t i = (f->msn - start) % WRS;
    check_each(w->bytes == w->r.at, "%s: bytes %u follow %u", story, w->r.at, w->bytes);
    w->bytes += n;
    if (wire_is_fetch(w->wr[i].is.opcode) || responder_ran(&w->r, n)) ran_whole(w, i);
}

static void hear_data(struct way *w, const struct wire_frame *f, uint32_t at, uint32_t n)
{
    uint32_t offset = f->type == WIRE_RESULT ? 0 : (uint32_t)f->value + at;
    if (f->type == WIRE_RESULT) n = 8;
    if (w->stopped || !requester_wants(&w->q, f->life, f->msn, offset, n)) return;
    check_each(offset == w->bytes_back, "%s: READ bytes %u follow %u", story, offset,
               w->bytes_back);
    w->bytes_back += n;
    if (f->type == WIRE_RESULT) {
        check_each(f->value == w->atomics, "%s: atomic %u found %llu", story, w->atomics,
                   (unsigned long long)f->value);
        w->atomics++;
    }
    const uint32_t i = f->msn - start;
    if (w->bytes_back == w->wr[i].is.length) {
        check_each(!w->wr[i].answered, "%s: fetch %u is answered once", story, i);
        w->wr[i].answered = true;
        w->bytes_back = 0;
    }
    requester_received(&w->q, n, now);
}

static bool begin_frame(struct way *w, const struct wire_frame *f, struct pipe *back)
{
    if (f->type <= WIRE_PROBE) return !nobody(w, f, back) && begin_to_run(w, f);
    if (f->type == WIRE_RESPONSE || f->type == WIRE_RESULT) return true;
    requester_on_frame(&w->q, f, now);
    return false;
}

/* The next piece of what is on its way to side TO. */
static void deliver(int to)
{
    struct pipe *p = &pipes[!to];
    if (p->n == 0 || !connected[to]) return;
    struct wire_frame f = p->f[0];
    struct way *w = &ways[f.type <= WIRE_PROBE ? !to : to][f.to];
    if (!p->begun) {
        p->begun = true;
        p->take = begin_frame(w, &f, &pipes[to]);
        p->given = 0;
    }
    uint32_t left = f.length - p->given, n = check_below(2) ? left : check_below(left + 1);
    if (p->take && f.type <= WIRE_PROBE)
        run(w, &f, n);
    else if (p->take)
        hear_data(w, &f, p->given, n);
    p->given += n;
    if (n == left) {
        memmove(p->f, p->f + 1, --p->n * sizeof *p->f);
        p->begun = false;
    }
    reap(w);
}

/* Side FROM puts a frame on the way, if it has one. */
static void transmit(int from)
{
    struct pipe *p = &pipes[from];
    struct wire_frame f;
    uint32_t i = check_below(PAIRS);
    if (p->n == PIPE || !connected[from]) return;
    struct way *mine = &ways[from][i], *theirs = &ways[!from][i];
    if (check_below(2) && responder_next(&theirs->r, &f)) {
        responder_sent(&theirs->r, &f);
    } else if (!mine->stopped && requester_next(&mine->q, now, &f)) {
        requester_sent(&mine->q, &f, now);
        reap(mine); /* an unreliable one has ended now */
    } else
        return;
    f.to = f.from = i;
    check_each(!wire_before(mine->q.next, mine->q.una) && !wire_before(mine->q.head, mine->q.next),
               "%s: una <= next <= head", story);
    if (connected[!from]) p->f[p->n++] = f; /* a frame without a connection is lost */
}

static void lose(int side)
{
    if (!connected[side]) return;
    connected[side] = false;
    if (!down_since) down_since = now;
    memset(pipes, 0, sizeof pipes);
    for (int i = 0; i < PAIRS; i++) {
        ways[side][i].bytes_back = 0;
        requester_lost(&ways[side][i].q);
        responder_lost(&ways[!side][i].r);
        reap(&ways[side][i]);
    }
}

static void connect_again(void)
{
    if (connected[0] && connected[1]) return;
    lose(0), lose(1); /* a side that has not noticed it yet does now */
    connected[0] = connected[1] = true;
    down_since = 0;
}

static void tick(void)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct way *w = &ways[i / PAIRS][i % PAIRS];
        if (w->stopped) continue;
        requester_tick(&w->q, now, down_since, gone);
        reap(w);
    }
}

static void step(bool calm)
{
    struct way *w = &ways[check_below(2)][check_below(PAIRS)];
    unsigned kind = check_below(1000);
    now += check_below(MS / 20);
    if (kind < 100) {
        post(w);
    } else if (kind < 500) {
        transmit(check_below(2));
    } else if (kind < 900) {
        deliver(check_below(2));
    } else if (kind < 920) {
        now += check_below(50 * MS);
        tick();
    } else if (kind < 950) {
        if (w->receives < WRS) {
            w->receives++;
            if (check_below(2)) w->r.ready_due = true;
        }
    } else if (kind < 960 && may.cuts && !calm) {
        lose(check_below(2));
    } else if (kind < 980) {
        connect_again();
    } else if (may.absence)
        w->accepts = true;
}

static bool all_ended(void)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        const struct way *w = &ways[i / PAIRS][i % PAIRS];
        if (w->done < w->posted && !w->stopped) return false;
    }
    return true;
}

static void finish(void)
{
    for (int i = 0; i < 2 * PAIRS; i++) ways[i / PAIRS][i % PAIRS].accepts = true;
    for (int i = 0; i < 200000 && !all_ended(); i++) step(true);
    check_each(all_ended(), "%s: all WRs end", story);
}

static void all_well(void)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        const struct way *w = &ways[i / PAIRS][i % PAIRS];
        check_each(!w->stopped, "%s: no WR fails (WR %u, status %d)", story, w->done - 1,
                   w->done ? w->wr[w->done - 1].status : 0);
        check_each(w->run == w->posted || !w->q.reliable, "%s: all WRs run", story);
    }
}

static void healthy(const char *name, struct mishaps m)
{
    for (int times = 0; times < 150; times++) {
        begin_at(any_start(), name, m, true, 7);
        for (unsigned i = 500 + check_below(4000); i > 0; i--) step(false);
        finish();
        all_well();
    }
    check_all("%s: every WR runs once, in order, and succeeds", name);
}

/* Messages may be lost, but none runs twice, out of order or in part. */
static void unreliable(void)
{
    for (int times = 0; times < 150; times++) {
        begin_at(any_start(), "unreliable", (struct mishaps){.cuts = true}, false, 7);
        for (unsigned i = 500 + check_below(4000); i > 0; i--) step(false);
        finish();
        for (int i = 0; i < 2 * PAIRS; i++)
            check_each(!ways[i / PAIRS][i % PAIRS].stopped, "unreliable: no WR fails");
    }
    check_all("unreliable: all end well, none runs twice or out of order");
}

/* Everything from the failed WR on is over; all before it ran and succeeded. */
static void look_at_failure(const struct way *w, int status)
{
    check_each(w->stopped && w->wr[w->done - 1].status == status, "%s: ends with status %d", story,
               status);
    for (uint32_t i = 0; i + 1 < w->done; i++)
        check_each(w->wr[i].status == IBV_WC_SUCCESS, "%s: WR %u before it succeeded", story, i);
}

static void quiet_until(struct way *w, uint64_t limit)
{
    while (!w->stopped && now < limit) {
        now += MS;
        tick();
        for (int k = 0; k < 40; k++) transmit(k & 1), deliver(k & 1);
    }
}

static void rnr_runs_out(void)
{
    struct way *w = &ways[0][0];
    for (uint32_t retry = 0; retry < 7; retry++) {
        begin("RNR", (struct mishaps){.rnr = true}, true, retry);
        while (w->posted < 20) post(w);
        quiet_until(w, 100000ull * MS);
        bool any = false;
        for (uint32_t i = 0; i < w->posted; i++) any |= needs_receive(&w->wr[i]);
        if (any) look_at_failure(w, IBV_WC_RNR_RETRY_EXC_ERR);
        check_each(!any || w->q.rnr_tries == retry + 1, "RNR: %u retries for %u", w->q.rnr_tries,
                   retry);
    }
    check_all("RNR retries are counted, and then the WR fails");
}

/* Retries are for each message anew. */
static void rnr_of_many(void)
{
    struct way *w = &ways[0][0];
    begin("RNR of many", (struct mishaps){.rnr = true}, true, 3);
    while (w->posted < 40) post(w);
    for (unsigned tries = 0; w->done < w->posted && !w->stopped;) {
        quiet_until(w, now + MS);
        if (w->q.rnr_tries == tries) continue;
        tries = w->q.rnr_tries;
        w->receives += tries == 3;
    }
    all_well();
    check_all("a message that got through sets the count of RNR retries back");
}

static void connection_stays_away(void)
{
    struct way *w = &ways[0][0];
    for (int times = 0; times < 100; times++) {
        begin("down", (struct mishaps){0}, true, 7);
        for (unsigned i = check_below(3000); i > 0; i--) step(false);
        w->q.timeout = (1 + check_below(100)) * MS;
        w->q.tries = 1 + check_below(8);
        lose(0);
        if (w->posted == WRS) continue;
        if (w->done == w->posted) now += check_below(20) * 100ull * MS; /* no QP waits meanwhile */
        uint64_t start = now, limit = w->q.timeout * w->q.tries;
        post(w);
        quiet_until(w, start + 100000ull * MS);
        look_at_failure(w, IBV_WC_RETRY_EXC_ERR);
        check_each(now - start >= limit && now - start < limit + 2 * MS,
                   "down: gives up after %llu of %llu ms", (unsigned long long)(now - start) / MS,
                   (unsigned long long)limit / MS);
    }
    check_all("without a connection the oldest WR fails after timeout x retries");
}

static void infinite_patience(void)
{
    struct way *w = &ways[0][0];
    begin("patient", (struct mishaps){0}, true, 7);
    w->q.timeout = 0;
    post(w);
    lose(0);
    for (int i = 0; i < 1000; i++) {
        now += 10000ull * MS;
        tick();
    }
    check_each(!w->stopped, "patient: it waits");
    finish();
    all_well();
    check_all("timeout 0 waits for ever");
}

static void death(void)
{
    for (int times = 0; times < 100; times++) {
        begin("death", (struct mishaps){.rnr = true}, true, 7);
        for (unsigned i = check_below(3000); i > 0; i--) step(false);
        lose(0);
        gone = true;
        tick();
        for (int i = 0; i < PAIRS; i++) {
            struct way *w = &ways[0][i];
            check_each(w->done == w->posted || w->stopped, "death: nothing waits");
            if (w->stopped) look_at_failure(w, IBV_WC_RETRY_EXC_ERR);
        }
    }
    check_all("a peer that ended ends what was sent to it at once");
}

static void nobody_comes(void)
{
    struct way *w = &ways[0][0];
    begin("nobody", (struct mishaps){.absence = true}, true, 7);
    while (w->posted < 5) post(w);
    uint64_t start = now;
    quiet_until(w, 100000ull * MS);
    look_at_failure(w, IBV_WC_RETRY_EXC_ERR);
    check_each(now - start >= 8000ull * MS && now - start < 8200ull * MS, "nobody: after %llu ms",
               (unsigned long long)(now - start) / MS);
    check_all("a target that never listens: RETRY_EXC_ERR after timeout x retries");
}

/* A QP that has sent 2^31 messages, none of which is acknowledged, as it is unreliable. */
static void unreliable_for_long(void)
{
    struct way *w = &ways[0][0];
    struct wire_frame f;
    int status;
    begin("long", (struct mishaps){0}, false, 7);
    post(w);
    requester_next(&w->q, now, &f);
    requester_skip(&w->q);
    check_each(requester_done(&w->q, &status) && w->q.una == 1, "a message is sent");
    const uint32_t since = w->q.una - w->q.acked;
    check_each(since == 0, "the mark of what was executed is left %u behind", since);
    check_all("an unreliable QP keeps no mark that its messages come round to");
}

/* The target has executed many atomics, and the connection breaks: the last ones are repeated. */
static void atomics_for_long(void)
{
    enum { LAST = WIRE_FETCHES - 1 };
    static const uint64_t before[] = {0, 1, 5, 1000, INT32_MAX, UINT32_MAX - 3, UINT32_MAX};
    for (unsigned k = 0; k < sizeof before / sizeof *before; k++) {
        struct responder r = {.reliable = true};
        struct wire_frame f = {
            .type = WIRE_REQUEST, .flags = WIRE_FIRST, .opcode = WIRE_ADD, .life = 7, .total = 8};
        struct wire_frame answer;
        for (uint32_t i = 0; i < LAST; i++, f.msn++) {
            check_each(responder_on_frame(&r, &f) == RESPONDER_RUN, "an atomic runs");
            if (i == 0) r.atomics = before[k];
            check_each(responder_finish(&r, 100 + i) == RESPONDER_DROP, "its answer is due");
            while (responder_next(&r, &answer)) responder_sent(&r, &answer);
        }
        /* An atomic of 2^32 messages ago, of which the result is still there. */
        r.saved[(before[k] - 1) % WIRE_FETCHES].msn = LAST - 1;
        responder_lost(&r);
        for (f.msn = 0; f.msn < LAST; f.msn++) {
            check_each(responder_on_frame(&r, &f) == RESPONDER_DROP,
                       "after %llu: atomic %u is not executed again", (unsigned long long)before[k],
                       f.msn);
            check_each(responder_next(&r, &answer) && answer.type == WIRE_RESULT &&
                           answer.value == 100 + f.msn,
                       "after %llu: atomic %u has its own result", (unsigned long long)before[k],
                       f.msn);
            responder_sent(&r, &answer);
        }
    }
    check_all("however many atomics were executed, a repeated one is answered and not executed");
}

/* The QP is absent twice, each time for less than the timeout, though longer together. */
static void absent_twice(void)
{
    struct way *w = &ways[0][0];
    begin("absent", (struct mishaps){.absence = true}, true, 7);
    for (int times = 0; times < 2; times++) {
        w->accepts = false;
        post(w);
        quiet_until(w, now + 5000ull * MS);
        w->accepts = true;
        quiet_until(w, now + 200ull * MS);
        check_each(w->done == w->posted, "absent: %u of %u done", w->done, w->posted);
    }
    all_well();
    check_all("patience with an absent target begins anew after each success");
}

/* The target says when it is ready: its timer need not be waited for. */
static void ready(void)
{
    struct way *w = &ways[0][0];
    begin("ready", (struct mishaps){0}, true, 7);
    post(w);
    w->wr[0].is = (struct requester_wr){.opcode = WIRE_SEND, .length = 10};
    w->receives = 0;
    quiet_until(w, now + 3 * MS);
    w->receives = 1;
    w->q.pause_until = now + 5000ull * MS;
    w->r.ready_due = true;
    quiet_until(w, now + 10 * MS);
    check_each(w->done == 1, "it is done");
    all_well();
    check_all("a target that is ready ends the pause");
}

/* Answers that are due are dropped with the connection: the requester asks again, and an old answer
 * would belong to no request. */
static void answers_end_with_the_connection(void)
{
    struct responder r = {.reliable = true};
    struct wire_frame f;
    struct wire_frame one = {
        .type = WIRE_REQUEST, .opcode = WIRE_SEND, .flags = WIRE_FIRST, .life = 7, .total = 8};
    responder_start(&r);
    check_each(responder_on_frame(&r, &one) == RESPONDER_RUN && responder_ran(&r, 8), "a request");
    responder_finish(&r, 0);
    check_each(responder_next(&r, &f) && f.type == WIRE_ACK, "an ACK is due");
    responder_lost(&r);
    check_each(!responder_next(&r, &f), "type %d is due after an ACK that is lost", f.type);
    one.msn = 1;
    check_each(responder_on_frame(&r, &one) == RESPONDER_RUN, "another request");
    responder_refuse(&r, &(struct wire_nak){.code = WIRE_ERROR});
    check_each(responder_next(&r, &f) && f.type == WIRE_NAK, "a NAK is due");
    r.ready_due = true;
    responder_lost(&r);
    check_each(!responder_next(&r, &f), "type %d is due after a NAK that is lost", f.type);
    check_all("no answer outlives its connection");
}

/* Tests that answers of a dishonest or broken peer do no harm. */
static void wrong_answers(void)
{
    struct way *w = &ways[0][0];
    struct wire_frame f;
    begin("wrong", (struct mishaps){0}, true, 7);
    for (int i = 0; i < 3; i++) post(w);
    for (int i = 0; i < 3; i++)
        w->wr[i].is = (struct requester_wr){.opcode = i < 2 ? WIRE_READ : WIRE_SEND, .length = 100};
    check_each(!requester_wants(&w->q, 7, 0, 0, 100), "nothing was sent yet");
    while (requester_next(&w->q, now, &f)) requester_sent(&w->q, &f, now);
    check_each(w->q.next == (w->q.max_fetches > 1 ? 3 : 1), "all are sent");
    check_each(!requester_wants(&w->q, 7, 1, 0, 100), "the answer to the second READ comes first");
    check_each(!requester_wants(&w->q, 7, 2, 0, 100), "a SEND is answered with data");
    check_each(!requester_wants(&w->q, 6, 0, 0, 100), "the answer is of another life");
    check_each(!requester_wants(&w->q, 7, 0, 10, 90), "it does not begin at the beginning");
    check_each(!requester_wants(&w->q, 7, 0, 0, 101), "it is too long");
    requester_on_frame(&w->q, &(struct wire_frame){.type = WIRE_ACK, .life = 7, .msn = 4}, now);
    requester_on_frame(&w->q, &(struct wire_frame){.type = WIRE_ACK, .life = 7, .msn = 0xffffffff},
                       now);
    requester_on_frame(&w->q, &(struct wire_frame){.type = WIRE_ACK, .life = 8, .msn = 3}, now);
    requester_on_frame(
        &w->q, &(struct wire_frame){.type = WIRE_NAK, .life = 7, .msn = 4, .value = 0xa03}, now);
    reap(w);
    check_each(w->done == 0 && w->q.acked == 0 && !w->q.failing, "nothing came of it");
    check_each(requester_wants(&w->q, 7, 0, 0, 100), "the right answer is wanted");
    w->r.reliable = true;
    f = (struct wire_frame){.type = WIRE_REQUEST, .flags = WIRE_FIRST, .life = 7};
    check_each(responder_on_frame(&w->r, &f) == RESPONDER_RUN, "a request is run");
    responder_finish(&w->r, 0);
    f.flags = 0, f.msn = 2;
    check_each(responder_on_frame(&w->r, &f) == RESPONDER_BAD, "the next but one is not");
    f.type = WIRE_DATA, f.msn = 1;
    check_each(responder_on_frame(&w->r, &f) == RESPONDER_BAD, "nor data of what did not begin");
    f.type = WIRE_REQUEST, f.total = 100, f.opcode = WIRE_READ;
    for (uint32_t i = 0; i <= WIRE_FETCHES; i++, f.msn++) {
        check_each(responder_on_frame(&w->r, &f) == RESPONDER_RUN, "READs are run");
        check_each((responder_finish(&w->r, 0) == RESPONDER_BAD) == (i == WIRE_FETCHES),
                   "up to the limit");
    }
    check_all("wrong answers and requests are not taken");
}

/* The target's QP begins a new life in the midst: frames for the old one are refused until
 * the requester begins again as well. */
static void frames_of_a_former_life(void)
{
    struct responder r = {.reliable = true};
    struct wire_frame f = {.type = WIRE_REQUEST, .flags = WIRE_FIRST, .life = 5, .msn = 3}, out;
    responder_start(&r);
    check_each(responder_on_frame(&r, &f) == RESPONDER_RUN, "the first frame is run");
    responder_finish(&r, 0);
    responder_start(&r);
    f.msn = 4, f.flags = 0;
    check_each(responder_on_frame(&r, &f) == RESPONDER_DROP, "in a new life a later one is not");
    check_each(responder_next(&r, &out) && out.type == WIRE_NAK && out.life == 5, "but refused");
    responder_sent(&r, &out);
    f.life = 6, f.msn = 0, f.flags = WIRE_FIRST;
    check_each(responder_on_frame(&r, &f) == RESPONDER_RUN, "a later life is served");
    f.life = 5;
    check_each(responder_on_frame(&r, &f) == RESPONDER_DROP, "the former not any more");
    check_all("lives of a QP are distinguished");
}

/* The status of a refusal reaches the WR it is about; the READ before it is answered. */
static void errors_wait_for_reads(void)
{
    struct way *w = &ways[0][0];
    begin("error", (struct mishaps){0}, true, 7);
    for (int i = 0; i < 3; i++) post(w);
    w->wr[0].is = (struct requester_wr){.opcode = WIRE_READ, .length = 3 * WIRE_CHUNK};
    w->wr[1].is = (struct requester_wr){.opcode = WIRE_WRITE, .length = 10};
    struct wire_frame f;
    while (requester_next(&w->q, now, &f)) {
        requester_sent(&w->q, &f, now);
        enum responder_verdict v = responder_on_frame(&w->r, &f);
        if (v != RESPONDER_RUN) continue;
        if (f.msn == 0) {
            w->wr[0].ran = true;
            responder_finish(&w->r, 0);
        } else {
            check_each(f.msn == 1, "what follows a refusal is not run");
            responder_refuse(
                &w->r, &(struct wire_nak){.code = WIRE_ERROR, .status = IBV_WC_REM_ACCESS_ERR});
        }
    }
    while (responder_next(&w->r, &f)) {
        responder_sent(&w->r, &f);
        if (begin_frame(w, &f, NULL)) hear_data(w, &f, 0, f.length);
        reap(w);
    }
    check_each(w->done == 2 && w->wr[0].status == IBV_WC_SUCCESS, "the READ succeeds");
    look_at_failure(w, IBV_WC_REM_ACCESS_ERR);
    check_all("an error ends the WR it is about, not the READ before it");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    healthy("calm", (struct mishaps){0});
    healthy("cuts", (struct mishaps){.cuts = true});
    healthy("RNR", (struct mishaps){.rnr = true});
    healthy("late targets", (struct mishaps){.absence = true});
    healthy("cuts, RNR and late targets", (struct mishaps){true, true, true});
    unreliable();
    unreliable_for_long();
    atomics_for_long();
    rnr_runs_out();
    rnr_of_many();
    connection_stays_away();
    infinite_patience();
    death();
    nobody_comes();
    absent_twice();
    ready();
    answers_end_with_the_connection();
    wrong_answers();
    frames_of_a_former_life();
    errors_wait_for_reads();
    return check_end();
}
