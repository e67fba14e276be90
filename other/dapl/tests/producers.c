/* producers.c - functions of the programs of races: see producers.h. */
#include "other/dapl/tests/producers.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

world_t world;

void spin(uint64_t *seed, uint32_t most)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    for (volatile uint32_t i = (uint32_t)(*seed >> 33) % most; i; i--) {
    }
    if (!(*seed >> 60)) sched_yield();
}

static void *produce(void *arg)
{
    side_t *side = arg;
    for (int i = 0; i < side->n; i++) {
        while (side->gone && i - atomic_load(side->gone) >= 16) sched_yield();
        spin(&side->seed, 300);
        bool software = side->kinds == 2 || (side->kinds == 3 && side->seed >> 50 & 1);
        if (!software)
            mock_complete(side->evd, &plain, IBV_WC_SUCCESS);
        else
            while (post_number(side->evd, (uint64_t)i) != DAT_SUCCESS) sched_yield();
        side->done++;
    }
    return NULL;
}

void begin_producer(side_t *side, dapl_evd_t *evd, int n, int kinds, _Atomic int *gone)
{
    *side = (side_t){.evd = evd, .n = n, .kinds = kinds, .gone = gone, .seed = check_random()};
    thread_begin(&side->thread, produce, side);
}

static void ignore(int signal)
{
    (void)signal;
}

void interrupt_by_signals(void)
{
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGUSR1, &action, NULL);
}

int race_rounds(int argc, char **argv, void (*races)(void))
{
    enum { ROUND_BOUND = 300 }; /* seconds */
    const char *wish = getenv("TEST_ROUNDS");
    const int rounds = wish && atoi(wish) > 1 ? atoi(wish) : 1;
    check_begin(argc, argv);
    for (int round = 0; round < rounds; round++)
        for (mock_kind_t kind = MOCK_EDGE; kind < MOCK_KINDS; kind++) {
            if (round) alarm(ROUND_BOUND);
            world_open_with(&world, kind, false);
            check_note("a device of the kind %s", mock_kind_name(kind));
            races();
            world_close(&world);
        }
    return check_end();
}
