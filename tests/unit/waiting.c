/* waiting.c - when a waiting thread polls and when it sleeps: core/progress/poll.c on the scripted
 * network, with a futex word that is only counted.
 *
 * The state machine alone is in sleepers.c, and so are sleeps in real time.
 */
#include "core/am/am.h"
#include "core/job/progress.h"
#include "core/progress/backoff.h"
#include "core/shm/messages.h"
#include "core/shm/wake.h"
#include "other/base/clock.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { LONGEST_US = 1000, MOST_STEPS = 1000, H_QUIET = 130 };

/* --- wake-ups --- */

static _Atomic uint32_t asleep;
_Atomic uint32_t *gasnetc_wakeup_asleep = &asleep;
bool gasnetc_wakeup_always = true;

static struct {
    unsigned sleeps, wakes, watches;
    uint32_t us; /* of the last sleep */
} seen;

uint32_t gasnetc_wakeup_arm(bool brief)
{
    (void)brief;
    return seen.wakes;
}

void gasnetc_wakeup_sleep(uint32_t rings, uint32_t us)
{
    (void)rings;
    seen.sleeps++;
    seen.us = us;
}

void gasnetc_wakeup_watch(void)
{
    seen.watches++;
    asleep = 1;
}

void gasnetc_wakeup_rank(uint32_t rank)
{
    (void)rank;
    seen.wakes++;
}

/* No shared-memory peer enters itself here. */
gasnetc_ring_t gasnetc_shm_door;
void gasnetc_shm_admit(void) {}

/* --- a job of two --- */

static unsigned handled;

static void on_quiet(gasnet_token_t token)
{
    (void)token;
    handled++;
}

static void begin(void)
{
    gasnet_handlerentry_t table[] = {{H_QUIET, (void (*)(void))on_quiet}};
    net_script_reset();
    unit_job_begin(&(unit_job_t){2, 0, 3, 2, 4096, 40});
    gasnetc_register_client(table, 1);
    gasnetc_set_waiting(2, LONGEST_US);
}

static void message_arrives(void)
{
    arrive(1, (message_t){.category = SHORT, .request = true, .handler = H_QUIET});
}

static void wait_ring(void)
{
    gasnetc_wait_woken(false);
}

/* Waits in vain until the thread has slept once more; returns the steps that took. */
static unsigned steps_to_sleep(void (*step)(void))
{
    const unsigned before = seen.sleeps;
    unsigned steps = 0;
    while (seen.sleeps == before && steps < MOST_STEPS) {
        step();
        steps++;
    }
    return steps;
}

static void sleeps(void)
{
    begin();
    steps_to_sleep(gasneti_wait_poll); /* the first empty poll of a thread counts for more */
    gasneti_wait_over();
    const unsigned first = steps_to_sleep(gasneti_wait_poll);
    check(first < MOST_STEPS && seen.us == 20,
          "a thread polls %u times in vain and sleeps 20 us: %u us", first, (unsigned)seen.us);
    const unsigned next = steps_to_sleep(gasneti_wait_poll);
    check(next < first && seen.us == 40, "then it sleeps sooner, and longer: after %u, %u us", next,
          (unsigned)seen.us);
    gasneti_wait_over();
    check(steps_to_sleep(gasneti_wait_poll) == first && seen.us == 20,
          "the next wait begins anew: %u us", (unsigned)seen.us);
    message_arrives();
    gasneti_wait_poll();
    check(steps_to_sleep(gasneti_wait_poll) == first && seen.us == 20,
          "and so does one in which a message has arrived: %u us", (unsigned)seen.us);
    gasneti_wait_over();
    check(steps_to_sleep(wait_ring) == first && seen.us == LONGEST_US / 4,
          "one that ends with a ring sleeps longer from the first: %u us", (unsigned)seen.us);
    gasneti_wait_over();
    unit_job_end();
}

/* Waits in vain until the thread has slept once more; returns how long it has waited, in us. */
static double us_to_sleep(double since)
{
    const unsigned before = seen.sleeps;
    for (int i = 0; i < 10000 && seen.sleeps == before; i++) steps_to_sleep(gasneti_wait_poll);
    return (gasneti_clock() - since) * 1e6;
}

/* Waits in a job where messages may arrive that wake no sleeper. */
static void silence(void)
{
    begin();
    gasnetc_wakeup_always = false;
    gasneti_wait_over();
    double since = gasneti_clock();
    const unsigned before = seen.sleeps;
    bool whole = true;
    for (int i = 0; i < 12; i++) {
        const double waited = us_to_sleep(since);
        whole = whole && waited / 8 / gasnetc_job.size >= seen.us;
    }
    check(whole && seen.sleeps == before + 12 && seen.us > 20,
          "12 sleeps, all in a row of processes an eighth of the wait: the last %u us",
          (unsigned)seen.us);
    message_arrives();
    since = gasneti_clock();
    gasneti_wait_poll();
    const double waited = us_to_sleep(since);
    check(waited / 8 / gasnetc_job.size >= GASNETC_BACKOFF_LEAST_US && seen.us == 20,
          "after a message the next sleep is as late and as short as the first: %u us",
          (unsigned)seen.us);
    gasnetc_wakeup_always = true;
    gasneti_wait_over();
    unit_job_end();
}

static void miss(void)
{
    gasneti_self()->lock_misses++;
}

/* A message that arrived before the thread armed may be found by another thread alone, which wakes
 * nobody if it had looked before. */
static void misses(void)
{
    begin();
    net_script.on_reap = miss;
    check(steps_to_sleep(gasneti_wait_poll) == MOST_STEPS,
          "a thread does not sleep while another one polls in its place");
    net_script.on_reap = NULL;
    check(steps_to_sleep(gasneti_wait_poll) < MOST_STEPS, "but after a poll of its own");
    gasneti_wait_over();
    unit_job_end();
}

/* The steps, while others get on, until a message that has arrived is handled. */
static unsigned steps_to_handler(void)
{
    const unsigned before = handled;
    unsigned steps = 0;
    while (handled == before && steps < MOST_STEPS) {
        gasnetc_wait_woken(true);
        steps++;
    }
    return steps;
}

/* Polls are skipped while the flag of the futex word is set, but not for long. */
static void watches(void)
{
    begin();
    gasnetc_set_waiting(1, LONGEST_US);
    asleep = 0;
    message_arrives();
    check(steps_to_handler() == 1 && seen.watches == 1, "a thread watches its flag and polls");
    message_arrives();
    check(steps_to_handler() == 17, "while nothing rings it polls at the seventeenth turn");
    message_arrives();
    asleep = 0;
    check(steps_to_handler() == 1 && asleep == 1,
          "after a ring it polls at once, and watches again");
    const unsigned before = seen.watches;
    gasnetc_wakeup_always = false;
    message_arrives();
    check(steps_to_handler() == 2 && seen.watches == before,
          "where not all that arrives rings it polls at every second turn");
    gasnetc_wakeup_always = true;
    gasnetc_set_waiting(2, LONGEST_US);
    message_arrives();
    check(steps_to_handler() == 1, "one that need not yield after each poll polls each time");
    asleep = 0;
    gasneti_wait_over();
    unit_job_end();
}

/* In SEQ no other thread of the process can sleep. */
static void own_rings(void)
{
    begin();
    seen.wakes = 0;
    asleep = 1;
    message_arrives();
    gasnetc_poll();
    asleep = 0;
    check(seen.wakes == 0, "a process of one thread does not ring for itself");
    unit_job_end();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    sleeps();
    silence();
    misses();
    own_rings();
    watches();
    return check_end();
}
