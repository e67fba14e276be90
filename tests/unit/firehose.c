/* firehose.c - the calls of other/firehose, on a scripted network: what is registered, evicted,
 * moved, waited for, denied and taken back; and the sizes of pools.
 */
#include "other/firehose/include/firehose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "other/firehose/wire.h"
#include "tests/unit/check.h"

enum { PAGE = 4096, REGION = 4 * PAGE, MOST = 64, LETTERS = 64, NODES = 3 };
static const uintptr_t base = 1 << 20;

/* --- the script: what each node has registered, and messages on their way --- */

typedef struct letter {
    uint32_t from, to;
    size_t size;
    uint8_t bytes[1024];
} letter_t;

static struct node {
    firehose_t *fh;
    struct {
        uintptr_t addr;
        size_t len;
    } pins[MOST];
    size_t bytes, limit; /* registered; what the system allows */
    uintptr_t border;    /* of two kinds of memory, which are not registered as one */
    unsigned made, dropped, progress;
    bool locked, busy;
    firehose_request_t held; /* a region that the callback `progress` releases */
    bool holds;
    char data[64];
} node[NODES];
static letter_t letters[LETTERS];
static unsigned sent;

static void lock(void *context)
{
    struct node *n = context;
    check_each(!n->locked, "the lock is acquired twice");
    n->locked = true;
}

static void unlock(void *context)
{
    ((struct node *)context)->locked = false;
}

static firehose_outcome_t pin(void *context, uintptr_t addr, size_t len, void *key)
{
    struct node *n = context;
    unsigned i = 0;
    check_each(!n->locked && addr % PAGE == 0 && len % PAGE == 0, "pages are registered, unlocked");
    if (addr < base || (addr < n->border && n->border < addr + len)) return FIREHOSE_INVALID;
    if (n->bytes + len > n->limit) return FIREHOSE_REFUSED;
    while (n->pins[i].len) i++;
    n->pins[i].addr = addr;
    n->pins[i].len = len;
    n->bytes += len;
    n->made++;
    memcpy(key, &i, sizeof i);
    return FIREHOSE_PINNED;
}

static void unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    struct node *n = context;
    unsigned i;
    memcpy(&i, key, sizeof i);
    check_each(!n->locked && n->pins[i].addr == addr && n->pins[i].len == len,
               "what is deregistered was registered");
    n->pins[i].len = 0;
    n->bytes -= len;
    n->dropped++;
}

static int send(void *context, uint32_t peer, const void *bytes, size_t size)
{
    struct node *n = context;
    check_each(!n->locked && sent < LETTERS && size <= sizeof letters->bytes, "sent unlocked");
    if (n->busy) return 0;
    letters[sent] = (letter_t){.from = (uint32_t)(n - node), .to = peer, .size = size};
    memcpy(letters[sent++].bytes, bytes, size);
    return 1;
}

static void data(void *context, uint32_t peer, uintptr_t addr, const void *bytes, size_t size)
{
    struct node *n = context;
    (void)peer;
    (void)addr;
    memcpy(n->data, bytes, size);
}

static void progress(void *context)
{
    struct node *n = context;
    n->progress++;
    if (n->holds && n->progress > 2) {
        n->holds = false;
        firehose_release(n->fh, &n->held, 1);
    }
}

static void deliver(unsigned i)
{
    const letter_t letter = letters[i];
    memmove(&letters[i], &letters[i + 1], (--sent - i) * sizeof *letters);
    const char *wrong =
        firehose_receive(node[letter.to].fh, letter.from, letter.bytes, letter.size);
    check_each(!wrong, "received: %s", wrong);
}

/* Until nothing happens any more. */
static void settle(void)
{
    bool any = true;
    while (any) {
        any = false;
        for (unsigned i = 0; i < NODES; i++)
            if (node[i].fh) any |= firehose_poll(node[i].fh) != 0;
        while (sent) {
            deliver(0);
            any = true;
        }
    }
}

/* Pools of so many regions; the share of each of two peers is half of `held`. */
static firehose_info_t begin_with(unsigned nodes, unsigned held, unsigned used, size_t max_data)
{
    firehose_info_t info = {0};
    memset(node, 0, sizeof node);
    sent = 0;
    static const int key = MOST - 1;
    const firehose_prepinned_t segment = {base + 1000 * PAGE, 100 * PAGE, &key};
    for (unsigned i = 0; i < nodes; i++) {
        node[i].limit = SIZE_MAX / 2;
        const firehose_config_t config = {
            .sizes = {(uint64_t)held * REGION, held, (uint64_t)used * REGION, used, REGION},
            .page = PAGE,
            .nodes = nodes,
            .key_size = sizeof key,
            .max_message = sizeof letters->bytes,
            .max_data = max_data,
            .prepinned = &segment,
            .prepinned_count = 1,
            .callbacks = {&node[i], pin, unpin, send, send, data, progress, lock, unlock}};
        node[i].fh = firehose_init(&config, &info);
    }
    return info;
}

static firehose_info_t begin(unsigned nodes, unsigned held, unsigned used)
{
    return begin_with(nodes, held, used, sizeof node->data);
}

static void end(const char *what)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (!node[i].fh) continue;
        firehose_fini(node[i].fh, 1);
        check_each(node[i].bytes == 0, "node %u deregisters all in the end", i);
    }
    check_all("%s: the lock is kept, and all is deregistered in the end", what);
}

static uintptr_t page(unsigned n)
{
    return base + (uintptr_t)n * PAGE;
}

/* --- memory of this process --- */

static firehose_request_t local(unsigned first, unsigned pages)
{
    firehose_request_t q = {0};
    if (firehose_local_pin(node->fh, page(first), (size_t)pages * PAGE, &q)) q.len = 0;
    return q;
}

static void use(unsigned first, unsigned pages)
{
    const firehose_request_t q = local(first, pages);
    firehose_release(node->fh, &q, 1);
}

static bool is_cached(unsigned first, unsigned pages)
{
    firehose_request_t q;
    if (!firehose_try_local_pin(node->fh, page(first), (size_t)pages * PAGE, &q)) return false;
    firehose_release(node->fh, &q, 1);
    return true;
}

static void local_hits(void)
{
    firehose_request_t q, p;
    const firehose_info_t info = begin(1, 0, 6);
    check(info.max_local == REGION - PAGE && info.local_regions == 6 && info.max_remote == 0,
          "the caller learns the limits");
    q = local(0, 1);
    check(node->made == 1 && q.addr == page(0) && q.len == PAGE && q.peer == FIREHOSE_LOCAL,
          "a page is registered when it is used first");
    check(firehose_try_local_pin(node->fh, page(0) + 7, 9, &p) && p.key == q.key,
          "and found while it is in use");
    firehose_release(node->fh, (firehose_request_t[]){q, p}, 2);
    use(0, 1);
    check(node->made == 1 && is_cached(0, 1), "and when it is not");
    check(!firehose_try_local_pin(node->fh, page(0), PAGE + 1, &q), "but not more than it is");
    use(1, 1);
    check(node->made == 2 && is_cached(0, 2), "a neighbour makes one region of both");
    firehose_poll(node->fh);
    check(node->bytes == 2 * PAGE, "and the first is deregistered");
    use(2, 3);
    check(is_cached(0, 2) && is_cached(2, 3) && !is_cached(0, 3),
          "but no larger than regions may be");
    check(firehose_partial_local_pin(node->fh, page(0) - 8 * PAGE, 20 * PAGE, &q) &&
              q.addr == page(0),
          "a part of a range: the first that is registered");
    firehose_release(node->fh, &q, 1);
    firehose_invalidate(node->fh, page(0), PAGE);
    firehose_poll(node->fh);
    check(firehose_stale(node->fh) == 0, "whose use has ended");
    use(0, 2);
    check(!firehose_partial_local_pin(node->fh, page(20), 20 * PAGE, &q), "or none");
    check(firehose_try_local_pin(node->fh, page(1010), 50 * PAGE, &q) && q.len == 100 * PAGE,
          "what the caller has registered is found");
    firehose_release(node->fh, &q, 1);
    check(firehose_invalidate(node->fh, page(1010), PAGE) == 0 &&
              firehose_try_local_pin(node->fh, page(1010), PAGE, &q),
          "also where the program gives it back, which it may not");
    firehose_release(node->fh, &q, 1);
    use(51, 1);
    use(50, 1);
    check(is_cached(50, 2), "a neighbour above is joined as well");
    errno = 0;
    check(firehose_local_pin(node->fh, page(0), REGION + 1, &q) == -1 && errno == EINVAL,
          "too much at once is refused");
    errno = 0;
    check(firehose_local_pin(node->fh, 0, 1, &q) == -1 && errno == EFAULT &&
              strstr(firehose_error(node->fh), "no such memory"),
          "so is memory that is not there");
    check(is_cached(0, 2) && is_cached(2, 3), "and nothing else suffers");
    end("hits");
}

static void local_evictions(void)
{
    firehose_request_t q[3];
    begin(1, 0, 3);
    for (unsigned i = 0; i < 3; i++) use(10 * i, 4);
    use(0, 4);
    use(30, 4);
    check(is_cached(0, 4) && !is_cached(10, 4) && is_cached(20, 4) && is_cached(30, 4),
          "the region that was not used for longest is evicted");
    check(node->bytes == 3 * REGION, "before another is registered");
    for (unsigned i = 0; i < 3; i++) q[i] = local(40 + 10 * i, 4);
    check(!is_cached(30, 4) && node->bytes == 3 * REGION, "all that is cached is in use");
    check(!firehose_try_local_pin(node->fh, page(0), 1, &q[0]), "there is no room");
    node->held = q[1];
    node->holds = true;
    node->progress = 0;
    use(70, 4);
    check(node->progress > 2 && is_cached(70, 4) && !is_cached(50, 4),
          "who waits makes progress, and gets the room that is released");
    firehose_release(node->fh, &q[0], 1);
    firehose_release(node->fh, &q[2], 1);
    end("evictions");
}

static void local_refusals(void)
{
    firehose_request_t q[2];
    begin(1, 0, 6);
    node->limit = 2 * REGION;
    for (unsigned i = 0; i < 6; i++) use(10 * i, 4);
    firehose_counters_t counters;
    firehose_get_counters(node->fh, &counters);
    check(node->made == 6 && counters.registrations == 6 && counters.refusals == 1 &&
              counters.evictions == 4 && counters.most_bytes == 2 * REGION,
          "a refusal shrinks the pool: registrations go on, and are not refused again");
    q[0] = local(0, 4);
    q[1] = local(10, 4);
    node->held = q[0];
    node->holds = true;
    node->progress = 0;
    use(20, 4);
    check(node->progress > 2 && is_cached(20, 4), "where all is in use, it waits for a release");
    firehose_release(node->fh, &q[1], 1);
    node->limit = 0;
    errno = 0;
    check(firehose_local_pin(node->fh, page(30), 1, q) == -1 && errno == ENOMEM &&
              strstr(firehose_error(node->fh), "refuses to register the 4096 bytes"),
          "where nothing is left to evict, it fails in words");
    node->limit = SIZE_MAX / 2;
    for (unsigned i = 0; i < 2000; i++) use(10 * (i % 7), 4);
    firehose_get_counters(node->fh, &counters);
    check(counters.most_bytes == 6 * REGION, "the pool grows again when nothing is refused");
    end("refusals");
}

static void local_invalid(void)
{
    begin(1, 0, 6);
    use(0, 2);
    use(10, 2);
    const firehose_request_t q = local(20, 2);
    check(firehose_invalidate(node->fh, page(30), PAGE) == 0, "memory that was never registered");
    check(firehose_invalidate(node->fh, page(1), PAGE) == 1 && !is_cached(0, 1) && is_cached(10, 2),
          "memory given back is not found, the rest is");
    firehose_poll(node->fh);
    check(firehose_stale(node->fh) == 0 && node->bytes == 4 * PAGE, "and is deregistered");
    check(firehose_invalidate(node->fh, page(0), 100 * PAGE) == 2 && !is_cached(20, 2),
          "also what is in use is not found");
    use(20, 2);
    firehose_poll(node->fh);
    check(firehose_stale(node->fh) == 1 && is_cached(20, 2) && node->bytes == 4 * PAGE,
          "new memory there is registered beside it");
    firehose_release(node->fh, &q, 1);
    firehose_poll(node->fh);
    check(firehose_stale(node->fh) == 0 && node->bytes == 2 * PAGE && is_cached(20, 2),
          "and the old one goes when it is released");
    end("memory given back");
}

/* --- memory of peers --- */

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
    firehose_info_t info = begin(3, 6, 2);
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
    end("firehoses");
}

static void borders(void)
{
    result_t r;
    begin(2, 3, 3);
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
    end("borders");
}

static void remote_batches(void)
{
    result_t r[6];
    firehose_counters_t counters;
    begin(3, 6, 2);
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
    end("batches");
}

/* Tests firehose_busy, by which a caller that may sleep learns whether firehose_poll would do
 * something. */
static void busy(void)
{
    result_t r;
    begin(2, 2, 2);
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
    end("what there is to do");
}

static void remote_data(void)
{
    result_t r = {.how = -1};
    const firehose_remote_args_t args = {
        .completion = completion, .data = make_data, .context = &r};
    begin(2, 2, 2);
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
    end("data that rides");
    begin_with(2, 2, 2, 0);
    firehose_remote_pin(node->fh, 1, page(0), PAGE, &args, &r.q);
    settle();
    check(r.how == FIREHOSE_OK && !*node[1].data, "nor where there is no room for any");
    firehose_release(node->fh, &r.q, 1);
    end("no room for data");
}

static void remote_denials(void)
{
    result_t r, s;
    begin(3, 6, 2);
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
    end("denials");
}

static void deaths(void)
{
    result_t r, s;
    begin(3, 6, 2);
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
    end("deaths");
}

/* Messages and requests of the dead are among others. */
static void deaths_in_queues(void)
{
    result_t r, s;
    begin(3, 6, 2);
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
    end("deaths in queues");
}

static void revocations(void)
{
    result_t r;
    begin(2, 3, 2);
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
    end("revocations");
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
    begin(2, 3, 2);
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
    end("wrong messages");
}

/* --- pools --- */

enum { MB = 1 << 20 };

static firehose_limits_t limits(uint32_t nodes)
{
    return (firehose_limits_t){.page = PAGE,
                               .memlock = FIREHOSE_UNSET,
                               .host_memory = 4096ull * MB,
                               .device_memory = FIREHOSE_UNSET,
                               .device_regions = FIREHOSE_UNSET,
                               .device_region = FIREHOSE_UNSET,
                               .processes = 1,
                               .nodes = nodes,
                               .main_pool = FIREHOSE_UNSET,
                               .m = FIREHOSE_UNSET,
                               .maxvictim_m = FIREHOSE_UNSET,
                               .r = FIREHOSE_UNSET,
                               .maxvictim_r = FIREHOSE_UNSET,
                               .max_region = FIREHOSE_UNSET,
                               .prefix = "GASNET_FIREHOSE_"};
}

static void sizes(const char *name, firehose_limits_t in, uint64_t m, uint64_t victims, uint64_t r,
                  uint64_t victims_r, uint64_t region)
{
    firehose_sizes_t out = {0};
    char text[512] = "";
    const int failed = firehose_compute_sizes(&in, &out, text, sizeof text);
    if (!check(!failed && out.m == m && out.maxvictim_m == victims && out.r == r &&
                   out.maxvictim_r == victims_r && out.max_region == region,
               "%s", name))
        check_note("%d %s m %ju v %ju r %ju vr %ju region %ju", failed, text, (uintmax_t)out.m,
                   (uintmax_t)out.maxvictim_m, (uintmax_t)out.r, (uintmax_t)out.maxvictim_r,
                   (uintmax_t)out.max_region);
}

static void contradicts(firehose_limits_t in, const char *one, const char *two)
{
    firehose_sizes_t out;
    char text[512] = "";
    const int failed = firehose_compute_sizes(&in, &out, text, sizeof text);
    if (!check(failed && strstr(text, one) && strstr(text, two), "%s against %s", one, two))
        check_note("%d %s", failed, text);
}

static void pool_sizes(void)
{
    const uint64_t region = 128 << 10;
    firehose_limits_t in = limits(4);
    sizes("three quarters of the host's memory, in quarters", in, 2304ull * MB, 768 * MB, 18432,
          6144, region);
    in.processes = 2;
    sizes("the host's memory is shared by its processes", in, 1152 * MB, 384 * MB, 9216, 3072,
          region);
    in.memlock = 64 * MB;
    in.present = 16 * MB;
    sizes("RLIMIT_MEMLOCK, less what is registered already", in, 36 * MB, 12 * MB, 288, 96, region);
    in.main_pool = 4 * MB;
    sizes("a small main pool, the rest for this process", in, 4 * MB, 44 * MB, 32, 352, region);
    in.main_pool = FIREHOSE_UNSET;
    in.maxvictim_m = 8 * MB;
    sizes("MAXVICTIM_M leaves the rest", in, 40 * MB, 8 * MB, 320, 64, region);
    in.m = 8 * MB;
    in.r = 10;
    in.maxvictim_r = 1000;
    sizes("both are set; R only less than it would be", in, 8 * MB, 8 * MB, 10, 64, region);
    in = limits(1);
    sizes("alone in the job: no firehoses", in, 0, 3072ull * MB, 0, 24576, region);
    in.m = 3 * MB;
    in.r = 10;
    sizes("R14: M that no peer needs leaves the rest to this process", in, 0, 3069ull * MB, 0,
          24552, region);
    in.maxvictim_m = 2 * MB;
    sizes("R14: MAXVICTIM_M is not more for it", in, 0, 2 * MB, 0, 16, region);
    in.maxvictim_r = INT64_MAX;
    sizes("R14: MAXVICTIM_R is truncated to what fits", in, 0, 2 * MB, 0, 16, region);
    in.device_regions = 10;
    sizes("R14: and to the regions of the device", in, 0, 2 * MB, 0, 10, region);
    in.device_regions = FIREHOSE_UNSET;
    in.memlock = 4 * MB;
    contradicts(in, "GASNET_FIREHOSE_M (3 MB)", "GASNET_FIREHOSE_MAXVICTIM_M (2 MB)");
    in = limits(1001);
    in.memlock = 32 * MB;
    sizes("many peers: regions become smaller", in, 24 * MB, 8 * MB, 1024, 341, 6 * PAGE);
    in = limits(4);
    in.device_regions = 1000;
    sizes("few regions are shared like memory", in, 2304ull * MB, 768 * MB, 750, 250, region);

    in = limits(4);
    in.memlock = 64 * MB;
    in.m = in.maxvictim_m = 40 * MB;
    contradicts(in, "GASNET_FIREHOSE_M (40 MB)", "GASNET_FIREHOSE_MAXVICTIM_M (40 MB)");
    in.m = 80 * MB;
    contradicts(in, "GASNET_FIREHOSE_M (80 MB)", "RLIMIT_MEMLOCK");
    in = limits(1000);
    in.m = MB;
    in.max_region = 128 << 10;
    contradicts(in, "GASNET_FIREHOSE_M (1 MB)", "GASNET_FIREHOSE_MAXREGION_SIZE (128 KB)");
    in = limits(4);
    in.max_region = PAGE + 1;
    contradicts(in, "GASNET_FIREHOSE_MAXREGION_SIZE (4097 bytes)", "page size (4 KB)");
    in.max_region = 4 * MB;
    in.device_region = MB;
    contradicts(in, "GASNET_FIREHOSE_MAXREGION_SIZE (4 MB)", "in one region (1 MB)");
    in.maxvictim_m = 2 * MB;
    in.device_region = FIREHOSE_UNSET;
    contradicts(in, "GASNET_FIREHOSE_MAXVICTIM_M (2 MB)", "GASNET_FIREHOSE_MAXREGION_SIZE (4 MB)");
    in = limits(4);
    in.device_regions = 20;
    in.r = in.maxvictim_r = 15;
    sizes("R14: both are truncated where the device has fewer regions", in, 2304ull * MB, 768 * MB,
          10, 10, region);
    in.r = INT64_MAX;
    in.maxvictim_r = FIREHOSE_UNSET;
    sizes("R14: R alone gets what there is", in, 2304ull * MB, 768 * MB, 19, 1, region);
    in.r = 2;
    contradicts(in, "GASNET_FIREHOSE_R (2)", "3 peers");
    in = limits(4);
    in.memlock = 4 * MB;
    in.present = 4 * MB;
    contradicts(in, "RLIMIT_MEMLOCK", "4 MB are registered already");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    local_hits();
    local_evictions();
    local_refusals();
    local_invalid();
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
    pool_sizes();
    return check_end();
}
