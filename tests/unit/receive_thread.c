/* receive_thread.c - when the receive thread wakes (IB-C8, IB-W3), in a time that only passes when
 * it sleeps or waits for a message.
 *
 * Messages arrive at moments of the script; a program that polls takes them itself, at once.
 */
#include "core/progress/receive_thread.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "core/job/progress.h"
#include "core/network.h"
#include "core/report.h"
#include "core/shm/messages.h"
#include "tests/unit/check.h"

enum { US = 1000, MS = 1000 * US, MOST = 200000 };

gasneti_thread_t gasneti_the_thread;
int32_t gasneti_my_handlers;
void *gasneti_my_extended;

static struct {
    long arrives[MOST]; /* in order */
    int count, taken, armed_at, slept;
    long now, computes_from; /* before that the program polls */
    long latest, last;       /* how long a message waited at most, and the last one */
    net_spare_t *spare;      /* of the thread */
    int other_spares;        /* polls with another one */
    sem_t done;
} world;

static void passes(long until)
{
    if (until > world.now) world.now = until;
    while (world.taken < world.count && world.arrives[world.taken] <= world.now &&
           world.arrives[world.taken] < world.computes_from)
        world.taken++;
}

static int arrived(void)
{
    int n = world.taken;
    while (n < world.count && world.arrives[n] <= world.now) n++;
    return n;
}

bool gasnetc_shm_has_sleeper(void)
{
    return false;
}

void gasnetc_shm_arm(void) {}
void gasnetc_shm_block(void) {}

unsigned net_rx_channels(void)
{
    return 1;
}

void net_arm(unsigned place)
{
    (void)place;
    world.armed_at = arrived();
}

/* A message that arrived before it was armed wakes no thread. */
void net_block(unsigned place)
{
    (void)place;
    if (world.armed_at == world.count) {
        sem_post(&world.done);
        pthread_exit(NULL);
    }
    passes(world.arrives[world.armed_at]);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    world.slept++;
    passes(world.now + wanted->tv_nsec);
    return 0;
}

void net_spare_own(net_spare_t *spare)
{
    *spare = (net_spare_t){.in_hand = true};
    world.spare = spare;
}

unsigned gasnetc_poll_blocking(net_spare_t *spare)
{
    if (spare != world.spare || !spare->in_hand) world.other_spares++;
    int from = world.taken;
    world.taken = arrived();
    if (from == world.taken) return 0;
    world.last = world.now - world.arrives[from];
    if (world.last > world.latest) world.latest = world.last;
    return (unsigned)(world.taken - from);
}

void gasneti_fatal(const char *format, ...)
{
    check(false, "%s", format);
    _Exit(1);
}

static void begin(void)
{
    world.count = world.taken = world.slept = 0;
    world.now = world.latest = world.last = world.computes_from = 0;
    gasneti_the_thread.counts.wakes = 0;
}

static void message(long at)
{
    world.arrives[world.count++] = at;
}

/* Until the last message has arrived. */
static uint64_t wakes(void)
{
    sem_init(&world.done, 0, 0);
    gasnetc_receive_thread_start();
    sem_wait(&world.done);
    sem_destroy(&world.done);
    return gasneti_the_thread.counts.wakes;
}

static void bursts(void)
{
    begin();
    for (int burst = 1; burst <= 100; burst++)
        for (int i = 0; i < 16; i++) message(burst * MS + i * US);
    uint64_t woken = wakes();
    check(woken == 100 && world.taken == 1600, "IB-W3 16 messages at a time wake it once: %d, %llu",
          world.taken, (unsigned long long)woken);
    check(world.latest <= 20 * US, "IB-C8 none waits for more than 20 us: %ld ns", world.latest);
}

static void stream(void)
{
    begin();
    for (int i = 1; i <= 100000; i++) message(i * US);
    uint64_t woken = wakes();
    check(woken <= 100000 / 20 && world.taken == 100000,
          "IB-W3 100000 messages without a pause wake it %llu times", (unsigned long long)woken);
}

static void polling(void)
{
    begin();
    world.computes_from = 1000 * MS;
    for (int i = 1; i <= 100000; i++) message(i * 10 * US);
    for (int i = 1; i <= 16; i++) message(1100 * MS + i * MS);
    uint64_t woken = wakes();
    check(woken <= 120 + 16,
          "IB-W3 a program that polls leaves it alone: 100000 messages, woken %llu times",
          (unsigned long long)woken);
    check(world.taken == world.count && world.latest <= 20 * MS,
          "IB-C8 when it computes the first message waits a little: %ld ns", world.latest);
    check(world.last == 20 * US, "IB-C8 and the others are served soon: %ld ns", world.last);
}

/* Messages that come before the thread is armed are found without a wake-up, and later ones are not
 * missed.
 */
static void early(void)
{
    begin();
    for (int i = 0; i < 3; i++) message(0);
    message(MS);
    uint64_t woken = wakes();
    check(woken == 1 && world.taken == 4 && world.latest <= 20 * US,
          "IB-C8 messages that were there first are served too");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    bursts();
    stream();
    polling();
    early();
    check(world.other_spares == 0, "IB-A4 every poll gets the spare that the thread began with");
    return check_end();
}
