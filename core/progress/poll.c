/* poll.c - the poll engine: reaps completions, takes arrivals, runs handlers, advances the barrier.
 *
 * One thread at a time reaps, under the poll lock; a thread that finds the lock taken returns,
 * since the other thread completes its operations too.  Handlers run after the lock is released.  A
 * poll that finds messages in a ring serves these alone; after TURN messages a poll looks at the
 * queues too.
 */
#include <limits.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "core/am/am_deliver.h"
#include "core/am/context.h"
#include "core/am/system_am.h"
#include "core/job/ending.h"
#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/progress/backoff.h"
#include "core/rdma/buffers.h"
#include "core/rdma/remote.h"
#include "core/report.h"
#include "core/shm/messages.h"
#include "core/shm/wake.h"
#include "core/trace/trace.h"
#include "other/base/clock.h"
#include "other/base/hot.h"
#include "other/base/stacks.h"
#include "other/base/uncancelled.h"

/* The poll lock is held until gasnetc_poll_open, and always in a job of one process: the attempt to
 * take it fails then, so that polls of a library with locks need no other test of whether they may
 * look at the network. */
static gasneti_lock_t poll_lock = GASNETI_LOCK_HELD;
gasnetc_counts_t gasnetc_poll_counts; /* of events under the poll lock */
/* So many that a thread which spins calls idle() some times in a second. */
enum { SPINS_MOST = 1 << 18 };
static _Atomic unsigned spins_before_yield = SPINS_MOST;
/* What this thread's polls have found, in one word that a poll with events clears.  Not a field of
 * the thread's record, of which an empty poll needs nothing else.  The initial value makes the
 * first empty poll exceed any limit, so that a thread that only polls gets its record on the slow
 * path. */
typedef union idle_count {
    struct {
        uint32_t polls;  /* in a row that found nothing, since the last call of idle() */
        uint32_t rounds; /* calls of idle() since a poll found something */
    } of;
    uint64_t both;
} idle_count_t;
static GASNETI_OF_THREAD idle_count_t idle_count = {.of = {.polls = UINT_MAX - 1}};
static GASNETI_OF_THREAD unsigned idle_rounds; /* calls of idle() by this thread */

static _Atomic uint32_t longest_sleep_us; /* of waiting threads; 0: a thread only yields */
static GASNETI_OF_THREAD gasnetc_backoff_t backoff;
static GASNETI_OF_THREAD uint32_t armed_at;
static GASNETI_OF_THREAD uint32_t misses_at_arm; /* lock_misses */

void gasnetc_poll_open(void)
{
    gasneti_unlock(&poll_lock);
}

static inline unsigned spins(void)
{
    return atomic_load_explicit(&spins_before_yield, memory_order_relaxed);
}

static inline uint32_t longest_sleep(void)
{
    return atomic_load_explicit(&longest_sleep_us, memory_order_relaxed);
}

/* True, with the poll lock held, if this thread may look at the network.  False: another thread
 * polls, or the network is not open, or not used. */
HOT bool may_look(void)
{
    if (!GASNETC_THREADED && gasnetc_job.size <= 1) return false;
    return gasneti_trylock(&poll_lock);
}

void gasnetc_set_waiting(unsigned polls, uint32_t sleep_us)
{
    atomic_store_explicit(&spins_before_yield, polls, memory_order_relaxed);
    atomic_store_explicit(&longest_sleep_us, sleep_us, memory_order_relaxed);
}

/* Another thread polls, and completes this thread's operations too; it may need this processor. */
static __attribute__((cold)) void yield_to_poller(void)
{
    enum { TURNS = 4 };
    if (++gasneti_self()->lock_misses % TURNS == 0) sched_yield();
}

/* Notes since when the polls of this thread have found nothing, once that has lasted for some
 * rounds: short waits do without the clock. */
static void note_idle(void)
{
    enum { SHORT_ROUNDS = 4 };
    gasneti_idle_t *record = &gasneti_self()->idle;
    idle_count.of.polls = 0;
    if (idle_count.of.rounds < UINT32_MAX) idle_count.of.rounds++;
    if (idle_count.of.rounds == SHORT_ROUNDS) record->since_ms = gasneti_clock_coarse_ms();
    record->rounds = idle_count.of.rounds < SHORT_ROUNDS ? 0 : record->rounds + 1;
}

static void idle(void)
{
    note_idle();
    idle_rounds++;
    if (GASNETI_ONE_THREAD) gasneti_note_thread();
    gasneti_stacks_tell();
    gasnetc_retire_regions(); /* unmapped memory is deregistered without traffic too */
    sched_yield();
}

static inline int pending(void)
{
    return atomic_load_explicit(&gasnetc_exit_pending, memory_order_relaxed);
}

static inline bool progress_due(void)
{
    return atomic_load_explicit(&gasnete_progress_due, memory_order_relaxed);
}

/* The rare part of found, kept out of polls that find nothing. */
static void found_for_others(void)
{
    gasnetc_retire_regions();
    gasnetc_wakeup_own();
}

/* Called when this thread has found an event: wakes threads that sleep and may wait for it. */
static inline void found(void)
{
    if (GASNETC_THREADED)
        found_for_others();
    else
        gasnetc_retire_regions();
}

/* Does what is due at the end of each poll.  `work`: the work of the Extended API too, which is due
 * in each poll while a barrier goes on. */
HOT void act_if_due(bool work)
{
    const int end = pending();
    if (end | (work & progress_due())) {
        if (end) gasnetc_exit_act();
        if (!end || (work && progress_due())) gasnete_progress(true);
    }
    remote_progress();
}

/* The end of a poll that has looked at the queues, and has found `count` events. */
HOT void finish(unsigned count, bool work)
{
    act_if_due(work);
    if (count) {
        idle_count.both = 0;
        found();
    } else if (++idle_count.of.polls >= spins()) {
        idle();
    }
}

/* Takes the messages that have arrived, releases the poll lock, and serves the messages; returns
 * their number.  Called after net_reap with the poll lock held. */
HOT unsigned serve_taken(net_spare_t *kept)
{
    net_message_t *messages[GASNETC_DELIVER_MAX];
    unsigned systems = 0;
    const unsigned n = net_arrivals(messages, GASNETC_DELIVER_MAX, &systems);
    gasneti_unlock(&poll_lock);
    if (n) gasnetc_deliver(messages, n, systems, kept);
    return n;
}

static unsigned serve_apart(net_spare_t *kept)
{
    return serve_taken(kept);
}

/* net_reap, then serve_taken.  Where net_reap shows that no message has arrived (NET_REAP_TELLS),
 * the poll does without serve_taken and its array.  Releases the poll lock. */
HOT unsigned serve_arrivals(unsigned *reaped, net_spare_t *kept)
{
    *reaped = net_reap();
    if (!NET_REAP_TELLS) return serve_taken(kept);
    if (net_arrived()) return serve_apart(kept);
    gasneti_unlock(&poll_lock);
    return 0;
}

/* Polls look at the queues at least once in TURN messages from rings.  `until_turn`: messages that
 * may be taken from rings before that; under the poll lock. */
enum { TURN = 16 };
static int until_turn = TURN - 1;

/* Starts the count again, before a poll looks at the queues; poll lock held. */
static void begin_turn(void)
{
    until_turn = TURN - 1;
}

/* A ring in which a message is ready, or NULL, but never the door; poll lock held. */
static gasnetc_ring_t *ring_ready(void)
{
    gasnetc_ring_t *ring = gasnetc_ring_ready();
    while (ring && gasnetc_shm_is_door(ring)) {
        gasnetc_shm_admit();
        ring = gasnetc_ring_ready();
    }
    return ring;
}

/* Serves the message that was taken from the ring, and those behind it; returns as serve_ring.
 */
static bool serve_several(gasnetc_ring_t *ring, net_message_t *message)
{
    enum { MOST = NET_DELIVER_MAX / 2 };
    gasnetc_peer_t *peer = gasnetc_peer_of(message->peer);
    const unsigned more = gasnetc_ring_take_more(ring, MOST - 1);
    unsigned left = 1 + more;
    bool overdue = false;
    const bool turn = (until_turn -= (int)more) < 0;
    gasnetc_ring_end(ring);
    gasneti_unlock(&poll_lock);
    while (left--) {
        if (overdue && flow_one_reply_each(peer)) {
            gasnetc_send_hidden_reply(peer, NULL);
            overdue = false;
        }
        overdue |= gasnetc_deliver_from_ring(message);
        message = gasnetc_ring_after(message);
    }
    if (overdue) gasnetc_send_hidden_reply(peer, NULL);
    return turn;
}

/* Takes messages from the ring, releases the poll lock, and serves the messages; the caller has
 * counted the first one in until_turn.  True if the poll is to look at the queues too.  One message
 * is the usual case, and takes no loop. */
HOT bool serve_ring(gasnetc_ring_t *ring)
{
    net_message_t *message = gasnetc_ring_take(ring);
    if (gasnetc_ring_more(ring)) return serve_several(ring, message);
    gasnetc_ring_end(ring);
    gasneti_unlock(&poll_lock);
    if (gasnetc_deliver_from_ring(message))
        gasnetc_send_hidden_reply(gasnetc_peer_of(message->peer), NULL);
    return false;
}

/* --- the poll of a client ends with one of these, which return GASNET_OK --- */

/* The poll of a thread that may not look at the network: the job has one process, gasnet_init was
 * not called, or another thread polls. */
static int poll_nothing(bool work)
{
    if (gasnetc_job.size > 1)
        yield_to_poller();
    else if (gasnetc_job.size == 0)
        gasnetc_require_attached("gasnet_AMPoll, or another call that polls,");
    finish(0, work);
    return GASNET_OK;
}

/* The poll that looks at the queues.  Called with the poll lock held, which this and the next
 * functions release. */
static int poll_arrivals(void)
{
    unsigned reaped;
    const unsigned n = serve_arrivals(&reaped, NULL);
    finish(n + reaped, true);
    return GASNET_OK;
}

/* For callers off the hot path: serves the ring, if one is given, and then the queues; returns 0 if
 * there were no messages. */
static unsigned poll_all(gasnetc_ring_t *ring, unsigned *reaped, net_spare_t *kept)
{
    if (ring) {
        until_turn--;
        serve_ring(ring);
        gasneti_lock(&poll_lock);
    }
    begin_turn();
    return serve_arrivals(reaped, kept) + (ring != NULL);
}

/* The poll that looks at the queues after the message in the ring, or, if `ring` is NULL, after
 * messages that were served already. */
static int poll_turn(gasnetc_ring_t *ring)
{
    unsigned reaped;
    if (ring) until_turn++; /* poll_all counts the message */
    poll_all(ring, &reaped, NULL);
    finish(1, true);
    return GASNET_OK;
}

/* The poll that finds the door open. */
static int poll_door(void)
{
    unsigned reaped;
    const unsigned n = poll_all(ring_ready(), &reaped, NULL);
    finish(n + reaped, true);
    return GASNET_OK;
}

/* The poll that serves a ring, or the door.  Retired registrations wait for a poll that looks at
 * the queues. */
static int poll_ring(gasnetc_ring_t *ring)
{
    if (gasnetc_shm_is_door(ring)) return poll_door();
    if (--until_turn < 0) return poll_turn(ring);
    if (serve_ring(ring) && gasneti_trylock(&poll_lock)) return poll_turn(NULL);
    act_if_due(true);
    idle_count.both = 0;
    if (GASNETC_THREADED) gasnetc_wakeup_own();
    return GASNET_OK;
}

HOT int poll_once(void)
{
    if (!may_look()) return poll_nothing(true);
    gasnetc_ring_t *ring = gasnetc_ring_ready();
    return ring ? poll_ring(ring) : poll_arrivals();
}

void gasnetc_poll(void)
{
    poll_once();
}

static void poll_traced(void)
{
    if (gasneti_trace_within()) {
        poll_once();
        return;
    }
    gasneti_trace_step(GASNETI_TRACE_FOR_TRANSFERS, GASNETI_TRACE_NO_PEER);
    poll_once();
    gasneti_trace_stepped(NULL, __builtin_return_address(0));
}

void (*gasnetc_poll_in_wait)(void) = gasnetc_poll;

void gasnetc_trace_waits(void)
{
    gasnetc_poll_in_wait = poll_traced;
}

void gasnetc_poll_backlog(void)
{
    enum { MOST = 32 };
    for (unsigned polls = 0; polls < MOST; polls++) {
        const unsigned rounds = idle_rounds;
        poll_once();
        if (idle_count.of.polls || idle_rounds != rounds) break;
    }
}

/* The call may be a part of a poll that has found events (act_if_due), so it is not counted as an
 * idle poll. */
void gasnetc_poll_stalled(void)
{
    const unsigned rounds = idle_rounds;
    if (may_look()) {
        unsigned reaped;
        const unsigned n = poll_all(ring_ready(), &reaped, NULL);
        finish(n + reaped, false);
    } else {
        poll_nothing(false);
    }
    idle_rounds = rounds;
}

unsigned gasnetc_poll_blocking(net_spare_t *spare)
{
    unsigned reaped;
    gasneti_lock(&poll_lock);
    const unsigned n = poll_all(ring_ready(), &reaped, spare);
    gasnetc_retire_regions();
    if (pending()) gasnetc_exit_act();
    if (atomic_load(&gasnete_progress_due)) gasnete_progress(false);
    remote_progress();
    if (GASNETC_THREADED && n + reaped) found();
    return n;
}

void gasnetc_reap(void)
{
    if (pending() == GASNETC_EXIT_FAILURE) gasnetc_exit_act();
    gasnetc_poll_sends();
}

void gasnetc_poll_sends(void)
{
    if (!gasneti_trylock(&poll_lock)) {
        sched_yield();
        return;
    }
    unsigned reaped = net_reap();
    gasneti_unlock(&poll_lock);
    gasnetc_retire_regions();
    if (!reaped) sched_yield();
}

/* The limit of the next sleep, in us.  If messages may arrive that wake nobody, sleeping delays
 * them by at most an eighth of the wait, even a message that passes through all processes, each of
 * which sleeps. */
static uint32_t sleep_limit(void)
{
    static GASNETI_OF_THREAD double since; /* start of the wait; 0: the thread does not sleep yet */
    const uint32_t longest = longest_sleep();
    if (gasnetc_wakeup_always) return longest;
    if (backoff.fruitless < GASNETC_BACKOFF_PATIENCE) {
        since = 0;
        return longest;
    }
    const double now = gasneti_clock();
    if (since == 0) since = now;
    const double share_us = (now - since) * 1e6 / 8 / gasnetc_job.size;
    return share_us < longest ? (uint32_t)share_us : longest;
}

/* Called when the thread has polled for a while, and yielded, and found nothing: arms or sleeps. It
 * sleeps only if every poll since it armed has looked at the network; a poll that found the poll
 * lock taken has not. */
static void wait_more(uint32_t first_us)
{
    const uint32_t misses = gasneti_self()->lock_misses;
    switch (gasnetc_backoff_next(&backoff, first_us, sleep_limit())) {
    case GASNETC_BACKOFF_GO_ON:
        break;
    case GASNETC_BACKOFF_ARM:
        armed_at = gasnetc_wakeup_arm(backoff.brief);
        misses_at_arm = misses;
        break;
    case GASNETC_BACKOFF_SLEEP:
        if (misses != misses_at_arm) {
            gasnetc_backoff_not_yet(&backoff);
            misses_at_arm = misses;
        } else if (!pending()) {
            gasnetc_wakeup_sleep(armed_at, backoff.us);
        }
        break;
    }
}

static inline void wait_step(uint32_t first_us)
{
    const unsigned rounds = idle_rounds;
    gasnetc_poll();
    if (longest_sleep() == 0) return;
    if (idle_rounds != rounds)
        wait_more(first_us);
    else if (idle_count.of.polls == 0)
        gasneti_wait_over();
}

void gasneti_wait_poll(void)
{
    enum { FIRST_US = 20 };
    const bool traced = gasneti_trace_on && !gasneti_trace_within();
    if (traced) gasneti_trace_step(GASNETI_TRACE_FOR_CONDITION, GASNETI_TRACE_NO_PEER);
    wait_step(FIRST_US);
    if (traced) gasneti_trace_stepped(__builtin_return_address(0), NULL);
}

/* True if the thread may yield without a poll: no peer has woken this process since its last poll,
 * and that was not long ago.  Among so many processes the memory that a poll looks at has left the
 * caches, so that a poll costs as much as the turn of another process. */
static bool may_skip_poll(void)
{
    enum { MOST = 16 };
    static GASNETI_OF_THREAD unsigned skipped;
    const unsigned most = !gasnetc_wakeup_always ? 1 : gasnetc_wakeup_quiet() ? MOST : 0;
    if (skipped < most) {
        skipped++;
        return true;
    }
    skipped = 0;
    if (gasnetc_wakeup_always) gasnetc_wakeup_watch();
    return false;
}

void gasnetc_wait_woken(bool others_got_on)
{
    const bool yields = spins() == 1; /* waiting threads yield after each poll */
    if (yields && others_got_on && gasnetc_backoff_others_got_on(&backoff) && may_skip_poll())
        sched_yield();
    else
        wait_step(longest_sleep() / 4);
}

static _Atomic uint32_t waits_over; /* a count of two threads at once may be lost */

uint32_t gasnetc_waits_over(void)
{
    return atomic_load_explicit(&waits_over, memory_order_relaxed);
}

void gasneti_wait_over(void)
{
    const uint32_t before = atomic_load_explicit(&waits_over, memory_order_relaxed);
    atomic_store_explicit(&waits_over, before + 1, memory_order_relaxed);
    idle_count.both = 0;
    gasnetc_backoff_found(&backoff);
}

/* Sleeps 50 us to 2 ms: leaves the processors to the threads that connect peers, in this process
 * and in others. */
void gasnetc_pause(unsigned attempt)
{
    GASNETI_UNCANCELLED;
    const struct timespec moment = {.tv_nsec = attempt < 20 ? 50000L << attempt / 4 : 2000000L};
    nanosleep(&moment, NULL);
}

static enum gasneti_stall stall_of(enum net_result result)
{
    return result == NET_CONNECTING     ? GASNETI_STALL_CONNECTION
           : result == NET_NO_CREDIT    ? GASNETI_STALL_CREDIT
           : result == NET_NO_REPLY_BUF ? GASNETI_STALL_REPLY_BUFFER
                                        : GASNETI_STALL_SLOT;
}

static enum gasneti_trace_for traced_as(enum net_result result)
{
    return result == NET_CONNECTING     ? GASNETI_TRACE_FOR_CONNECTION
           : result == NET_NO_CREDIT    ? GASNETI_TRACE_FOR_CREDIT
           : result == NET_NO_REPLY_BUF ? GASNETI_TRACE_FOR_REPLY_BUFFER
                                        : GASNETI_TRACE_FOR_SLOT;
}

void gasnetc_stall_at(const gasnetc_peer_t *peer, enum net_result result, bool in_handler)
{
    static GASNETI_OF_THREAD const gasnetc_peer_t *last;
    static GASNETI_OF_THREAD unsigned attempts;
    gasneti_note_stall(stall_of(result), peer->net.rank);
    if (result == NET_CONNECTING) {
        attempts = peer == last ? attempts + 1 : 0;
        last = peer;
        gasnetc_pause(attempts);
    }
    if (GASNETI_ONE_THREAD) gasneti_note_thread();
    if (gasneti_trace_on) gasneti_trace_step(traced_as(result), peer->net.rank);
    gasnetc_stall(in_handler);
    if (gasneti_trace_on) gasneti_trace_stepped(NULL, NULL);
}

void gasnetc_stall_bbuf(bool in_handler)
{
    gasneti_self()->counts.stalls_bounce++;
    gasneti_note_stall(GASNETI_STALL_BOUNCE_BUFFER, GASNETI_STALL_OF_NO_PEER);
    if (gasneti_trace_on)
        gasneti_trace_step(GASNETI_TRACE_FOR_BOUNCE_BUFFER, GASNETI_TRACE_NO_PEER);
    gasnetc_stall(in_handler);
    if (gasneti_trace_on) gasneti_trace_stepped(NULL, NULL);
}

/* One step of waiting at the end of a job, where many processes may share a processor: yields,
 * later sleeps. */
static void wait_ending(void)
{
    GASNETI_UNCANCELLED;
    static atomic_uint calls;
    /* 0.2 ms to 10 ms, growing with the number of processes on the host. */
    const uint32_t here = gasnetc_job.host_size < 256 ? gasnetc_job.host_size : 256;
    const struct timespec moment = {.tv_nsec = 200 * 1000 + here * 40 * 1000L};
    if (atomic_fetch_add(&calls, 1) < 100)
        sched_yield();
    else
        nanosleep(&moment, NULL);
}

void gasnetc_poll_ending(void)
{
    net_message_t *messages[GASNETC_DELIVER_MAX], *by_ring = NULL;
    unsigned reaped = 0, systems = 0, n = 0;
    if (may_look()) {
        gasnetc_ring_t *ring = ring_ready();
        if (ring) {
            by_ring = gasnetc_ring_take(ring);
            gasnetc_ring_end(ring);
        }
        reaped = net_reap();
        n = net_arrivals(messages, GASNETC_DELIVER_MAX, &systems);
        gasneti_unlock(&poll_lock);
    }
    if (by_ring) gasnetc_ring_release(by_ring);
    gasnetc_drop(messages, n);
    if (n + reaped == 0 && !by_ring) wait_ending();
}

int gasnetc_AMPoll(void)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_AMPoll");
    return poll_once();
}

/* Threads that no peer wakes, as those that wait for memory which a shared-memory peer writes, wake
 * by themselves, which takes some 5 us each time: together below a hundredth of the host's
 * processors, unless sleeps were too long then. */
uint32_t gasnetc_longest_sleep(void)
{
    enum { SHORTEST_US = 1000, LONGEST_US = 20000 };
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t us =
        SHORTEST_US * (uint64_t)gasnetc_job.host_size / (processors > 0 ? (uint64_t)processors : 1);
    if (us < SHORTEST_US) return SHORTEST_US;
    return us < LONGEST_US ? (uint32_t)us : LONGEST_US;
}

int gasnetc_set_waitmode(int mode)
{
    switch (mode) {
    case GASNET_WAIT_SPIN:
        gasnetc_set_waiting(SPINS_MOST, 0);
        return GASNET_OK;
    case GASNET_WAIT_SPINBLOCK:
        gasnetc_set_waiting(1000, gasnetc_longest_sleep());
        return GASNET_OK;
    case GASNET_WAIT_BLOCK:
        gasnetc_set_waiting(1, gasnetc_longest_sleep());
        return GASNET_OK;
    }
    return GASNET_ERR_BAD_ARG;
}
