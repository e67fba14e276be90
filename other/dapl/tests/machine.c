/* machine.c - the state machines of other/dapl/src/machine: the ring against a reference queue and
 * in each order of its atomic steps, the order of an endpoint's events, the records of posted work,
 * when a wait is satisfied. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "other/base/completion-queues/os.h"
#include "other/dapl/src/machine/evd_state.h"
#include "other/dapl/src/machine/order.h"
#include "other/dapl/src/machine/ring.h"
#include "other/dapl/src/machine/work_queue.h"
#include "tests/unit/check.h"

/* ---- The ring ---- */

static DAT_EVENT numbered(uint64_t number)
{
    DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
    event.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)number;
    return event;
}

static uint64_t taken(ring_t **ring)
{
    ring_slot_t *slot = ring_first(*ring);
    while (!slot && ring_over(*ring)) {
        *ring = atomic_load(&(*ring)->next);
        slot = ring_first(*ring);
    }
    if (!slot) return UINT64_MAX;
    uint64_t number = (uintptr_t)slot->data.software_event_data.pointer;
    ring_release(*ring, slot);
    return number;
}

static uint64_t queued(const ring_t *ring)
{
    uint64_t n = 0;
    for (; ring; ring = atomic_load(&ring->next)) n += ring_queued(ring);
    return n;
}

/* Puts, takes and resizes by chance; the reference is a pair of counters. */
static void ring_model(void)
{
    for (int round = 0; round < 300; round++) {
        ring_t *last = ring_create(1 + check_below(9), NULL), *first = last;
        uint64_t put = 0, got = 0;
        for (int step = 0; step < 500; step++) {
            uint32_t kind = check_below(100);
            if (kind < 48) {
                DAT_EVENT event = numbered(put);
                uint64_t position;
                bool full = ring_queued(last) == ring_length(last);
                ring_put_t result = ring_put(last, &event, &position);
                check_each(result == (full ? RING_FULL : RING_PUT), "put %d of a ring full: %d",
                           result, full);
                if (result == RING_PUT) put++;
            } else if (kind < 98) {
                uint64_t number = taken(&first);
                check_each(number == (got < put ? got : UINT64_MAX), "took %llu, not %llu",
                           (unsigned long long)number, (unsigned long long)got);
                if (number != UINT64_MAX) got++;
            } else {
                ring_t *next = ring_create(1 + check_below(20), last);
                ring_seal(last, next);
                DAT_EVENT event = numbered(0);
                uint64_t position;
                check_each(ring_put(last, &event, &position) == RING_MOVED,
                           "a sealed ring takes an event");
                last = next;
            }
            check_each(queued(first) == put - got, "queued");
        }
        ring_free(last);
    }
    check_all("R16 R34 R36 R47 the ring is a queue, through every change of its length");
}

/* Two producers and the consumer, each claim and each publication a step of its own: in every
 * interleaving the consumer takes both events, in the order of the claims, and never before their
 * publication. */
static void claim_by_hand(ring_t *ring, uint64_t *at)
{
    *at = atomic_fetch_add(&ring->tail, 1);
}

static void publish_by_hand(ring_t *ring, uint64_t at, uint64_t number)
{
    ring_slot_t *slot = &ring->slots[at & ring->mask];
    slot->data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)number;
    atomic_store(&slot->sequence, at + 1);
}

static void interleave(unsigned schedule)
{
    ring_t *ring = ring_create(2, NULL);
    uint64_t at[2] = {0}, next = 0;
    int step[2] = {0}, published = 0;
    for (int i = 0; i < 10; i++, schedule /= 3) {
        unsigned who = schedule % 3;
        if (who < 2 && step[who] == 0) {
            claim_by_hand(ring, &at[who]);
            step[who] = 1;
        } else if (who < 2 && step[who] == 1) {
            publish_by_hand(ring, at[who], at[who]);
            step[who] = 2;
            published++;
        } else if (who == 2) {
            ring_slot_t *slot = ring_first(ring);
            if (slot) {
                check_each((uintptr_t)slot->data.software_event_data.pointer == next,
                           "out of order");
                ring_release(ring, slot);
                next++;
            } else {
                bool head_incomplete = ring_queued(ring) > 0;
                check_each(published == (int)next || head_incomplete,
                           "a published event is not seen");
            }
        }
    }
    ring_free(ring);
}

static void ring_interleavings(void)
{
    for (unsigned schedule = 0; schedule < 59049; schedule++) interleave(schedule);
    check_all("R34 R50 producers and consumer of the ring in all 59049 orders of ten steps");
}

/* ---- Going to sleep: all interleavings of a waiter and a producer ---- */

enum { SLEEPER_STEPS = 4, PRODUCER_STEPS = 3 };

/* The protocol of post.c and evd_wait.c as steps. Sleeper: look, say that it sleeps, look again,
 * sleep. Producer: put, look at the state, wake. Whatever the order, a sleeper that sleeps on is
 * impossible once the put is done. */
static bool sleeps_on(unsigned order, bool second_look)
{
    bool event = false, sleeping = false, woken = false, saw = false, asleep = false,
         producer_saw = false;
    int sleeper = 0, producer = 0;
    for (int i = 0; i < SLEEPER_STEPS + PRODUCER_STEPS; i++) {
        if (order >> i & 1) switch (producer++) {
            case 0:
                event = true;
                break;
            case 1:
                producer_saw = sleeping;
                break;
            case 2:
                woken = producer_saw;
                break;
            }
        else
            switch (sleeper++) {
            case 0:
                saw = event;
                break;
            case 1:
                sleeping = true;
                break;
            case 2:
                saw = saw || (second_look && event);
                break;
            case 3:
                asleep = !saw;
                break;
            }
    }
    return asleep && !woken;
}

static void sleeping(void)
{
    int lost = 0, lost_without = 0;
    for (unsigned order = 0; order < 1u << (SLEEPER_STEPS + PRODUCER_STEPS); order++) {
        if (__builtin_popcount(order) != PRODUCER_STEPS) continue;
        lost += sleeps_on(order, true);
        lost_without += sleeps_on(order, false);
    }
    check(lost == 0, "R24 no order of a post and of going to sleep loses the wake-up");
    check(lost_without > 0,
          "R24 ... and the model finds the loss where the second look is left out");
}

/* ---- When a wait is satisfied ---- */

static void thresholds(void)
{
    evd_wait_t wait = {.threshold = 3};
    check(!evd_wait_enough(&wait, 2) && evd_wait_enough(&wait, 3),
          "R17 at the entry any `threshold` events are enough");
    wait.blocked = true;
    check(!evd_wait_enough(&wait, 5), "R15 a blocked wait needs a signalling event");
    evd_wait_signal(&wait, 2);
    check(!evd_wait_enough(&wait, 5), "R15 ... whose arrival makes the queue that long");
    evd_wait_signal(&wait, 4);
    evd_wait_signal(&wait, 1);
    check(evd_wait_enough(&wait, 5), "R15 ... and then returns");
}

static void states(void)
{
    check(evd_may_wait(0) == DAT_SUCCESS, "R37 an EVD without a waiter may be waited on");
    check(DAT_GET_SUBTYPE(evd_may_wait(EVD_WAITER)) == DAT_INVALID_STATE_EVD_WAITER,
          "R12 R37 one waiter");
    check(DAT_GET_TYPE(evd_may_wait(EVD_DEAD | EVD_WAITER)) == DAT_ABORT, "R37 none if it is dead");
    check(evd_must_leave(EVD_WAITER | EVD_SLEEPING) == DAT_SUCCESS &&
              DAT_GET_TYPE(evd_must_leave(EVD_WAITER | EVD_DEAD)) == DAT_ABORT &&
              DAT_GET_SUBTYPE(evd_must_leave(EVD_WAITER | EVD_UNWAITABLE)) ==
                  DAT_INVALID_STATE_EVD_UNWAITABLE,
          "R37 what ends a wait");
    check(evd_notifies(0) && !evd_notifies(EVD_WAITER) && !evd_notifies(EVD_DISABLED),
          "R11 R35 events trigger the CNO where nobody waits and the EVD is enabled");
    evd_config_t config = {0};
    check(evd_config_add(&config, DAT_EVD_DTO_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG) &&
              !evd_config_add(&config, DAT_EVD_DTO_FLAG, 0) &&
              evd_configured(&config) == DAT_EVD_STATE_CONFIG_SOLICITED,
          "U11 streams of one EVD agree on the completion flags");
    evd_config_t merged = {0};
    check(!evd_config_add(&merged, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
                          DAT_COMPLETION_SOLICITED_WAIT_FLAG) &&
              evd_config_add(&merged, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
                             DAT_COMPLETION_EVD_THRESHOLD_FLAG),
          "R8 a merged EVD has no solicited receives");
}

/* ---- The order of an endpoint's events ---- */

/* Every order in which the flush's end and its sentinels come: the event is due exactly once, at
 * the last. */
static void orders(void)
{
    for (int n = 0; n <= 4; n++)
        for (int early = 0; early <= n; early++) {
            order_t order = {0};
            int due = 0;
            check_each(order_holds(&order, true, 0) && !order_holds(&order, false, 0) &&
                           order_holds(&order, false, 1),
                       "held before the connection");
            check_each(order_open(&order) && !order_open(&order) && !order_may_hold(&order, 0),
                       "opened once");
            check_each(order_flush(&order) && !order_flush(&order), "flushed once");
            for (int i = 0; i < early; i++) due += order_seen(&order);
            check_each(!due, "due before the flush is over");
            due += order_expected(&order, n);
            check_each(due == (early == n), "due %d after %d of %d sentinels", due, early, n);
            for (int i = early; i < n; i++) due += order_seen(&order);
            check_each(due == 1 && order_is(&order, ORDER_DOWN), "due %d times", due);
            order_reset(&order);
            check_each(order_holds(&order, true, 0), "held again after the reset");
        }
    check_all("R21 R22 holding, opening, flushing with 0 to 4 sentinels in each order");
}

/* ---- Posted work ---- */

static void work(void)
{
    dapl_work_queue_t *queue;
    check(DAT_GET_TYPE(dapl_work_queue_create(0, &queue)) == DAT_INVALID_PARAMETER,
          "R43 a queue of no work");
    check(dapl_work_queue_create(6, &queue) == DAT_SUCCESS, "R43 a queue of six");
    dapl_work_t *works[7];
    queue->head = queue->retired =
        UINT32_MAX - 52; /* in one lap, works[2] is before the wrap and works[4] behind it */
    for (int lap = 0; lap < 20; lap++) {
        for (int i = 0; i < 7; i++) works[i] = dapl_work_take(queue);
        check_each(works[5] && !works[6], "more than six");
        dapl_work_untake(queue, works[5]);
        check_each(dapl_work_used(queue) == 5, "one is given back");
        work_staged(queue);
        work_silent(queue, works[4]);
        check_each(dapl_work_used(queue) == 5, "the event of an earlier one is not dequeued");
        work_dequeued(queue, works[2]);
        check_each(dapl_work_used(queue) == 0, "all retired by the last completion");
    }
    check_all("R43 one completion retires all work before it, when its event is dequeued");
    dapl_work_queue_free(queue);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    ring_model();
    ring_interleavings();
    sleeping();
    thresholds();
    states();
    orders();
    work();
    return check_end();
}
