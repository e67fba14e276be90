/* tally.c - the values of all counters at one moment: read from the records, or derived.
 *
 * Called only by reports, at any time, by any thread.  Takes no lock and changes nothing.
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/am/flow.h"
#include "core/job/job.h"
#include "core/job/thread.h"
#include "core/rdma/bounce.h"
#include "core/rdma/firehose.h"
#include "core/shm/messages.h"
#include "core/stats/stats.h"

/* For functions that read counters which other threads write meanwhile.  Aligned words are read
 * atomically, and no reader needs two of them to be consistent. */
#define READS_WHILE_WRITTEN __attribute__((no_sanitize("thread")))

const gasnetc_counter_row_t gasnetc_counter_rows[GASNETC_COUNTERS] = {
#define COUNTER(name, letter, scope, source, fold, unit, help)                                     \
    {#name, letter, GASNETC_SCOPE_##scope, GASNETC_FOLD_##fold, unit},
#include "core/counters/counters.def"
#undef COUNTER
};

/* whole - parts; 0 if other threads have counted a part already, but not the whole. */
static uint64_t rest(uint64_t whole, uint64_t parts)
{
    return whole > parts ? whole - parts : 0;
}

/* Reads the counters that are kept per peer. */
READS_WHILE_WRITTEN static void read_peer(const gasnetc_peer_t *peer, uint64_t *value)
{
#define READ_PEER_COUNTED(name) value[GASNETC_COUNT_##name] = peer->counts->name;
#define READ_PEER_FOUND(name)
#define READ_PROCESS_COUNTED(name)
#define READ_PROCESS_FOUND(name)
#define COUNTER(name, letter, scope, source, ...) READ_##scope##_##source(name)
#include "core/counters/counters.def"
#undef COUNTER
    value[GASNETC_COUNT_credits] = peer->credits.limit;
    value[GASNETC_COUNT_credits_now] = peer->credits.available;
    value[GASNETC_COUNT_credits_lowest] = peer->credits.lowest;
    value[GASNETC_COUNT_banked_now] = peer->credits.banked;
}

/* Adds one record of the process. */
READS_WHILE_WRITTEN static void add_counts(const gasnetc_counts_t *counts, uint64_t *value)
{
#undef READ_PEER_COUNTED
#undef READ_PROCESS_COUNTED
#define READ_PEER_COUNTED(name)
#define READ_PROCESS_COUNTED(name)                value[GASNETC_COUNT_##name] += counts->name;
#define COUNTER(name, letter, scope, source, ...) READ_##scope##_##source(name)
#include "core/counters/counters.def"
#undef COUNTER
}

/* The peer's tally; returns the number of puts to it that were not inlined. */
static uint64_t tally_peer(uint32_t node, gasnetc_tally_t *tally)
{
    uint64_t *v = tally->value;
    const gasnetc_peer_t *peer = &gasnetc_peers[node];
    struct net_peer_counts net = {0};
    *tally = (gasnetc_tally_t){{0}};
    read_peer(peer, v);
    net_peer_counts(&peer->net, &net);
    gasnetc_shm_counts(peer, &net);
    uint64_t replies = v[GASNETC_COUNT_replies_short] + v[GASNETC_COUNT_replies_medium] +
                       v[GASNETC_COUNT_replies_long];
    /* Every Request was replied to, or its credit was banked. */
    v[GASNETC_COUNT_got_requests] = replies + v[GASNETC_COUNT_banked];
    v[GASNETC_COUNT_am_by_ring] = net.by_ring;
    v[GASNETC_COUNT_rings] = net.rings;
    v[GASNETC_COUNT_puts] = net.puts;
    v[GASNETC_COUNT_put_bytes] = net.put_bytes;
    v[GASNETC_COUNT_gets] = net.gets;
    v[GASNETC_COUNT_get_bytes] = net.get_bytes;
    v[GASNETC_COUNT_puts_inline] = rest(v[GASNETC_COUNT_puts], net.puts_not_inlined);
    v[GASNETC_COUNT_in_flight_now] = net.in_flight;
    v[GASNETC_COUNT_in_flight_most] = net.in_flight_most;
    flow_tally(v, &net);
    return net.puts_not_inlined;
}

void gasnetc_tally_peer(uint32_t node, gasnetc_tally_t *tally)
{
    tally_peer(node, tally);
}

static void fold(uint64_t *into, uint64_t value, enum gasnetc_counter_fold how, bool first)
{
    if (how == GASNETC_FOLD_SUM)
        *into += value;
    else if (first || (how == GASNETC_FOLD_MOST ? value > *into : value < *into))
        *into = value;
}

void gasnetc_tally_process(gasnetc_tally_t *tally)
{
    uint64_t *v = tally->value, not_inlined = 0;
    bool first = true;
    *tally = (gasnetc_tally_t){{0}};
    for (uint32_t node = 0; node < gasnetc_job.size; node++) {
        gasnetc_tally_t one;
        if (node == gasnetc_job.rank) continue;
        not_inlined += tally_peer(node, &one);
        for (int i = 0; i < GASNETC_COUNTERS; i++)
            fold(&v[i], one.value[i], gasnetc_counter_rows[i].fold, first);
        first = false;
    }
    add_counts(&gasnetc_poll_counts, v);
    for (const gasneti_thread_t *thread = gasneti_all_threads(); thread; thread = thread->made_next)
        add_counts(&thread->counts, v);
    v[GASNETC_COUNT_got_requests_short] =
        rest(v[GASNETC_COUNT_got_requests],
             v[GASNETC_COUNT_got_requests_medium] + v[GASNETC_COUNT_got_requests_long]);
    v[GASNETC_COUNT_puts_zero_copy] = rest(not_inlined, v[GASNETC_COUNT_puts_bounced]);
    struct net_counts net = {0};
    net_counts(&net);
    v[GASNETC_COUNT_registrations] = net.registrations;
    v[GASNETC_COUNT_spares_out] = net.spares_out;
    bounce_counts(&net, &v[GASNETC_COUNT_bounce_buffers], &v[GASNETC_COUNT_bounce_most]);
    gasnetc_cache_counts_t cache;
    gasnetc_cache_counts(&cache);
    v[GASNETC_COUNT_cache_hits] = cache.firehose.local_hits;
    v[GASNETC_COUNT_cache_misses] = cache.firehose.local_misses;
    v[GASNETC_COUNT_cache_evictions] = cache.firehose.evictions;
    v[GASNETC_COUNT_cache_refusals] = cache.firehose.refusals;
    v[GASNETC_COUNT_cache_bytes] = cache.firehose.bytes;
    v[GASNETC_COUNT_cache_bytes_most] = cache.firehose.most_bytes;
    v[GASNETC_COUNT_cache_time] = cache.microseconds;
    v[GASNETC_COUNT_shared_buffers] = net.shared;
    v[GASNETC_COUNT_connections] = net.connections;
}

/* --- one line --- */

typedef struct line {
    char *text;
    size_t size, used;
} line_t;

static void add(line_t *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(line_t *line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line->text + line->used, line->size - line->used, format, list);
    va_end(list);
    if (n > 0) line->used += (size_t)n;
    if (line->used >= line->size) line->used = line->size - 1;
}

/* Appends the first peers with operations in flight or Requests not replied to. */
static void add_peers(line_t *line)
{
    enum { MOST = 4 };
    unsigned found = 0;
    for (uint32_t node = 0; node < gasnetc_job.size; node++) {
        gasnetc_tally_t tally;
        const uint64_t *v = tally.value;
        if (node == gasnetc_job.rank) continue;
        gasnetc_tally_peer(node, &tally);
        uint64_t unanswered = v[GASNETC_COUNT_credits] - v[GASNETC_COUNT_credits_now];
        if (!v[GASNETC_COUNT_in_flight_now] && !unanswered) continue;
        if (found++ == MOST) {
            add(line, " and others");
            return;
        }
        add(line, "%s rank %u: %llu in flight, %llu of %llu credits out", found == 1 ? ";" : ",",
            node, (unsigned long long)v[GASNETC_COUNT_in_flight_now],
            (unsigned long long)unanswered, (unsigned long long)v[GASNETC_COUNT_credits]);
    }
}

void gasnetc_counts_summary(char *text, size_t size)
{
    gasnetc_tally_t tally;
    line_t line = {text, size, 0};
    text[0] = 0;
    if (!gasnetc_peers || gasnetc_phase != GASNETC_RUNNING) return;
    gasnetc_tally_process(&tally);
    const uint64_t *v = tally.value;
    uint64_t requests = v[GASNETC_COUNT_requests_short] + v[GASNETC_COUNT_requests_medium] +
                        v[GASNETC_COUNT_requests_long];
    if (!(requests + v[GASNETC_COUNT_got_requests] + v[GASNETC_COUNT_puts] + v[GASNETC_COUNT_gets]))
        return;
    add(&line, "%llu puts, %llu gets, %llu Requests sent, %llu handled; waits for credits %llu, ",
        (unsigned long long)v[GASNETC_COUNT_puts], (unsigned long long)v[GASNETC_COUNT_gets],
        (unsigned long long)requests, (unsigned long long)v[GASNETC_COUNT_got_requests],
        (unsigned long long)v[GASNETC_COUNT_stalls_credits]);
    add(&line, "send slots %llu, bounce buffers %llu",
        (unsigned long long)v[GASNETC_COUNT_stalls_slots],
        (unsigned long long)v[GASNETC_COUNT_stalls_bounce]);
    add_peers(&line);
}
