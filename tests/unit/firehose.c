/* firehose.c - the calls of other/firehose for memory of this process, on a scripted network: what
 * is registered, found, evicted, refused and taken back.  firehose_remote.c tests those for memory
 * of peers.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/check.h"
#include "tests/unit/firehose_script.h"

static void local_hits(void)
{
    firehose_request_t q, p;
    const firehose_info_t info = script_begin(1, 0, 6);
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
    script_end("hits");
}

static void local_evictions(void)
{
    firehose_request_t q[3];
    script_begin(1, 0, 3);
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
    script_end("evictions");
}

static void local_refusals(void)
{
    firehose_request_t q[2];
    script_begin(1, 0, 6);
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
    script_end("refusals");
}

static void local_invalid(void)
{
    script_begin(1, 0, 6);
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
    script_end("memory given back");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    local_hits();
    local_evictions();
    local_refusals();
    local_invalid();
    remote_memory();
    return check_end();
}
