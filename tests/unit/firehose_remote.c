/* firehose_remote.c - the calls of other/firehose for memory of peers, on a scripted network: what
 * is held, moved, waited for, denied and taken back; and messages that no library sends.
 */
#include <errno.h>
#include <string.h>

#include "other/firehose/wire.h"
#include "tests/unit/check.h"
#include "tests/unit/firehose_script.h"

typedef struct result {
    firehose_request_t q;
    int how, order; /* -1: not yet */
} result_t;
static int finished;

static void completion(void *context, const firehose_request_t *q, firehose_result_t how)
{
    result_t *r = context;
    check_each(!node->locked && (q != NULL) == (how <= FIREHOSE_OK_DATA_RODE), "completed once");
    if (q) r->q = *q;
    r->how = (int)how;
    r->order = finished++;
}

static size_t make_data(void *context, void *buffer)
{
    (void)context;
    memcpy(buffer, "cargo", 6);
    return 6;
}

static int remote(result_t *r, uint32_t peer, unsigned first, unsigned pages)
{
    *r = (result_t){.how = -1, .order = -1};
    const firehose_remote_args_t args = {
        .return_if_pinned = 1, .completion = completion, .context = r};
    return firehose_remote_pin(node->fh, peer, page(first), (size_t)pages * PAGE, &args, &r->q);
}

static void remote_use(uint32_t peer, unsigned first, unsigned pages)
{
    result_t r;
    if (!remote(&r, peer, first, pages)) settle();
    firehose_release(node->fh, &r.q, 1);
}

static bool is_held(uint32_t peer, unsigned first, unsigned pages)
{
    firehose_request_t q;
    if (!firehose_try_remote_pin(node->fh, peer, page(first), (size_t)pages * PAGE, &q))
        return false;
    firehose_release(node->fh, &q, 1);
    return true;
}

static void remote_hits(void)
{
    result_t r, s;
    firehose_request_t q;
    firehose_info_t info = script_begin(3, 6, 2);
    check(info.remote_regions_per_peer == 3 && info.remote_bytes_per_peer == 3 * REGION,
          "each peer has a share");
    check(remote(&r, 1, 0, 1) == 0 && r.how == -1, "a region that is not held is asked for");
    check(remote(&s, 1, 0, 1) == 0, "by the first who wants it");
    settle();
    check(r.how == FIREHOSE_OK && s.how == FIREHOSE_OK && r.order < s.order && r.q.peer == 1 &&
              r.q.addr == page(0) && node[1].made == 1 && !memcmp(r.q.key, (int[]){0}, sizeof(int)),
          "the peer registers it and tells its key, and all who want it get it in order");
    firehose_release(node->fh, (firehose_request_t[]){r.q, s.q}, 2);
    check(remote(&r, 1, 0, 1) == 1 && !is_held(2, 0, 1), "then it is a hit, at this peer");
    firehose_release(node->fh, &r.q, 1);
    check(firehose_partial_remote_pin(node->fh, 1, page(0) - PAGE, 3 * PAGE, &q) &&
              q.addr == page(0),
          "also as a part");
    firehose_release(node->fh, &q, 1);
    for (unsigned i = 1; i < 4; i++) remote_use(1, 10 * i, 4);
    check(!is_held(1, 0, 1) && is_held(1, 10, 4) && is_held(1, 30, 4),
          "the one used least recently moves");
    check(node[1].made == 4 && node[1].dropped == 0, "the peer keeps it registered");
    remote_use(1, 0, 1);
    check(node[1].made == 4, "and need not register it again");
    errno = 0;
    check(remote(&r, 3, 0, 1) == -1 && errno == EINVAL && remote(&r, 1, 0, 5) == -1,
          "no such peer, too large a region");
    script_end("firehoses");
}

static void borders(void)
{
    result_t r;
    script_begin(2, 3, 3);
    node[0].border = node[1].border = page(2);
    use(0, 2);
    use(2, 1);
    check(is_cached(2, 1) && node->made == 2,
          "memory of another kind beside it is registered alone");
    remote_use(1, 0, 2);
    remote_use(1, 2, 1);
    check(is_held(1, 2, 1), "also at a peer");
    remote(&r, 1, 1, 2);
    settle();
    check(r.how == FIREHOSE_DENIED, "but not both as one");
    script_end("borders");
}

static void remote_batches(void)
{
    result_t r[6];
    firehose_counters_t counters;
    script_begin(3, 6, 2);
    finished = 0;
    for (unsigned i = 0; i < 6; i++) remote(&r[i], 1, 10 * i, 4);
    firehose_poll(node->fh);
    check(sent == 1, "one request for all that have room");
    settle();
    for (unsigned i = 0; i < 3; i++) check_each(r[i].order == (int)i, "%u is served in order", i);
    check_all("those are served in order");
    check(r[3].how == -1 && !is_held(1, 0, 4), "others wait, and others behind them");
    finished = 0;
    for (unsigned i = 0; i < 3; i++) firehose_release(node->fh, &r[i].q, 1);
    check(sent == 0, "a release sends nothing, so that handlers may call it");
    settle();
    check(r[3].order == 0 && r[4].order == 1 && r[5].order == 2, "then they are served in order");
    firehose_get_counters(node->fh, &counters);
    check(counters.requests == 2 && counters.firehoses_moved == 3, "by one request more");
    for (unsigned i = 3; i < 6; i++) firehose_release(node->fh, &r[i].q, 1);
    script_end("batches");
}

/* Tests firehose_busy, by which a caller that may sleep learns whether firehose_poll would do
 * something. */
static void busy(void)
{
    result_t r;
    script_begin(2, 2, 2);
    check(!firehose_busy(node->fh), "without operations there is nothing to do");
    remote(&r, 1, 0, 4);
    check(firehose_busy(node->fh), "a pin that waits for its request is something to do");
    firehose_poll(node->fh);
    check(!firehose_busy(node->fh) && sent == 1, "once that is sent the peer is to act");
    deliver(0);
    check(firehose_busy(node[1].fh), "a request that arrived is something to do");
    for (int i = 0; i < 2 && firehose_busy(node[1].fh); i++) firehose_poll(node[1].fh);
    check(!firehose_busy(node[1].fh) && sent == 1, "until it is answered");
    deliver(0);
    check(firehose_busy(node->fh) && r.how == -1, "a completion that is due is something to do");
    firehose_poll(node->fh);
    check(!firehose_busy(node->fh) && r.how == FIREHOSE_OK, "until it was called");
    firehose_release(node->fh, &r.q, 1);
    script_end("what there is to do");
}

static void remote_data(void)
{
    result_t r = {.how = -1};
    const firehose_remote_args_t args = {
        .completion = completion, .data = make_data, .context = &r};
    script_begin(2, 2, 2);
    firehose_remote_pin(node->fh, 1, page(0), PAGE, &args, &r.q);
    node->busy = true;
    settle();
    check(sent == 0 && r.how == -1, "a request waits for the network");
    node->busy = false;
    settle();
    check(r.how == FIREHOSE_OK_DATA_RODE && !strcmp(node[1].data, "cargo"), "data rides on it");
    firehose_release(node->fh, &r.q, 1);
    firehose_remote_pin(node->fh, 1, page(0), PAGE, &args, &r.q);
    settle();
    check(r.how == FIREHOSE_OK, "but not where no request is needed");
    firehose_release(node->fh, &r.q, 1);
    script_end("data that rides");
    script_begin_with(2, 2, 2, 0);
    firehose_remote_pin(node->fh, 1, page(0), PAGE, &args, &r.q);
    settle();
    check(r.how == FIREHOSE_OK && !*node[1].data, "nor where there is no room for any");
    firehose_release(node->fh, &r.q, 1);
    script_end("no room for data");
}

static void remote_denials(void)
{
    result_t r, s;
    script_begin(3, 6, 2);
    node[1].limit = REGION;
    remote_use(1, 0, 4);
    remote_use(1, 10, 4);
    check(is_held(1, 10, 4) && !is_held(1, 0, 4),
          "a peer that is refused memory gets another firehose back first");
    remote(&r, 1, 10, 4);
    remote(&s, 1, 20, 4);
    settle();
    check(s.how == -1, "or waits for one that is in use");
    firehose_release(node->fh, &r.q, 1);
    settle();
    check(s.how == FIREHOSE_OK, "which is released");
    firehose_release(node->fh, &s.q, 1);
    node[2].limit = 0;
    remote(&r, 2, 0, 1);
    settle();
    check(r.how == FIREHOSE_DENIED, "one that can register nothing says so");
    firehose_peer_died(node->fh, 1);
    remote(&r, 1, 0, 1);
    settle();
    check(r.how == FIREHOSE_DEAD && !is_held(1, 20, 4), "a peer that died has nothing");
    script_end("denials");
}

static void deaths(void)
{
    result_t r, s;
    script_begin(3, 6, 2);
    remote_use(1, 0, 4);
    remote(&r, 1, 0, 4);
    remote(&s, 1, 10, 4);
    firehose_poll(node->fh);
    deliver(0);
    firehose_peer_died(node[1].fh, 0);
    settle();
    check(sent == 0 && s.how == -1, "who has died is not answered");
    check(firehose_invalidate(node[1].fh, page(0), PAGE) == 1, "what it held is free");
    firehose_poll(node[1].fh);
    check(firehose_stale(node[1].fh) == 0, "and may be deregistered");
    firehose_peer_died(node->fh, 1);
    settle();
    check(s.how == FIREHOSE_DEAD, "who waits for the dead is told");
    firehose_release(node->fh, &r.q, 1);
    script_end("deaths");
}

/* Messages and requests of the dead are among others. */
static void deaths_in_queues(void)
{
    result_t r, s;
    script_begin(3, 6, 2);
    node->busy = true;
    remote(&r, 1, 0, 4);
    remote(&s, 2, 0, 4);
    for (unsigned i = 0; i < 3; i++) firehose_poll(node->fh);
    firehose_peer_died(node->fh, 1);
    node->busy = false;
    settle();
    check(r.how == FIREHOSE_DEAD && s.how == FIREHOSE_OK, "messages to others are sent");
    firehose_release(node->fh, &s.q, 1);
    remote(&s, 2, 10, 4);
    settle();
    check(s.how == FIREHOSE_OK, "also later ones");
    firehose_release(node->fh, &s.q, 1);
    node[2].busy = true;
    remote(&s, 2, 20, 4);
    firehose_poll(node->fh);
    deliver(0);
    uint8_t bytes[64];
    fh_message_t m;
    fh_compose(&m, FH_REQUEST, 0, 1, bytes);
    fh_put_pin(&m, 0, &(fh_pin_t){page(40), 4, 0});
    check(!firehose_receive(node[2].fh, 1, bytes, fh_composed(&m, 0, bytes)), "two ask one peer");
    firehose_peer_died(node[2].fh, 1);
    node[2].busy = false;
    settle();
    check(s.how == FIREHOSE_OK && node[2].made == 3, "and the one that lives is answered");
    firehose_release(node->fh, &s.q, 1);
    script_end("deaths in queues");
}

static void revocations(void)
{
    result_t r;
    script_begin(2, 3, 2);
    remote_use(1, 0, 4);
    remote(&r, 1, 10, 4);
    settle();
    check(firehose_invalidate(node[1].fh, page(0), 20 * PAGE) == 2, "memory that a peer holds");
    settle();
    check(!is_held(1, 0, 4) && !is_held(1, 10, 4), "the peer is told, and finds it no more");
    check(firehose_stale(node[1].fh) == 1 && node[1].bytes == REGION,
          "what it does not use is deregistered");
    firehose_release(node->fh, &r.q, 1);
    settle();
    check(firehose_stale(node[1].fh) == 0 && node[1].bytes == 0, "and later what it used");
    /* The revocation overtakes the answer. */
    remote(&r, 1, 0, 4);
    firehose_poll(node->fh);
    deliver(0);
    firehose_poll(node[1].fh);
    firehose_invalidate(node[1].fh, page(0), PAGE);
    firehose_poll(node[1].fh);
    check(sent == 2 && node[1].made == 3, "an answer and a revocation are on their way");
    deliver(1);
    settle();
    check(r.how == FIREHOSE_OK && node[1].made == 4 && firehose_stale(node[1].fh) == 0,
          "a region revoked before it was there is asked for again");
    firehose_release(node->fh, &r.q, 1);
    script_end("revocations");
}

/* --- messages that no library sends --- */

static const char *receive(enum fh_kind kind, uint32_t tokens, uint32_t pins, size_t extra)
{
    uint8_t bytes[512] = {0};
    fh_message_t m;
    fh_compose(&m, kind, tokens, pins, bytes);
    for (uint32_t i = 0; i < tokens; i++) fh_put_token(&m, i, 1);
    for (uint32_t i = 0; i < pins; i++) fh_put_pin(&m, i, &(fh_pin_t){page(8 * i), 4, 0});
    const size_t size = fh_composed(&m, extra, bytes);
    return firehose_receive(node->fh, 1, bytes, size);
}

static void wrong_messages(void)
{
    script_begin(2, 3, 2);
    const char *const wrong[] = {
        firehose_receive(node->fh, 1, "FH", 2),
        firehose_receive(node->fh, 1, "HF\1\1\0\0\0\0\0\0\0\0", 12),
        firehose_receive(node->fh, 1, "FH\1\11\0\0\0\0\0\0\0\0", 12),
        firehose_receive(node->fh, 1, "FH\1\1\1\0\0\0\0\0\0\0", 12),
        firehose_receive(node->fh, 9, "FH\1\1\0\0\0\0\0\0\0\0", 12),
        receive(FH_REQUEST, 1, 0, 0),
        receive(FH_REQUEST, 0, 1, 5),
        receive(FH_REPLY, 0, 1, sizeof(int)),
        receive(FH_REPLY, 0, 0, 0),
        receive(FH_REVOKE, 1, 1, 0),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_each(wrong[i] && *wrong[i], "message %zu is taken", i);
    check_all("messages that no peer sends are refused in words");
    uint8_t bytes[64];
    fh_message_t m;
    fh_compose(&m, FH_REQUEST, 0, 1, bytes);
    fh_put_pin(&m, 0, &(fh_pin_t){page(0) + 1, 1, 0});
    check(firehose_receive(node->fh, 1, bytes, fh_composed(&m, 0, bytes)) != NULL, "half a page");
    check(!receive(FH_REQUEST, 0, 1, 0) && receive(FH_REQUEST, 0, 1, 0),
          "a second request before the answer is one of them");
    check(!receive(FH_REVOKE, 3, 0, 0), "a token that is not held may be revoked: it has crossed");
    script_end("wrong messages");
}

void remote_memory(void)
{
    remote_hits();
    borders();
    remote_batches();
    busy();
    remote_data();
    remote_denials();
    deaths();
    deaths_in_queues();
    revocations();
    wrong_messages();
}
