/* schedule.c - many schedules of each scene, their seeds, and the report of one that fails.
 *
 * Nothing is kept of a schedule while it runs: one that fails is run again with the same seed, and
 * the notes of that second run are printed.  It must fail at the same step, or it is no simulation.
 */
#include "tests/sim/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/sim.h"

enum { NOTES = 1 << 14, NOTE = 120, LAST_STEPS = 16, COUNTS = 16 };

static struct {
    const char *program;
    uint64_t seed; /* of the first schedule */
    uint64_t rounds;
    const char *scenes;
    unsigned bad, done;
} run;

static struct {
    uint64_t seed, state;
    bool failed;
    uint32_t node, other;
    bool has_other;
    uint64_t when;
    char why[512];
    jmp_buf out;
} schedule;

bool sim_noting;
static struct note {
    uint32_t node;
    uint64_t when;
    char text[NOTE];
} * notes;
static uint64_t noted;

static struct {
    const char *what;
    uint64_t n;
} counts[COUNTS];

/* --- randomness, counts --- */

static uint64_t random64(void)
{
    uint64_t x = schedule.state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint32_t sim_below(uint32_t bound)
{
    return (uint32_t)((random64() >> 32) * bound >> 32);
}

uint32_t sim_between(uint32_t least, uint32_t most)
{
    return least + sim_below(most - least + 1);
}

bool sim_chance(unsigned percent)
{
    return sim_below(100) < percent;
}

void sim_count(const char *what, uint64_t n)
{
    size_t i = 0;
    while (counts[i].what && strcmp(counts[i].what, what) != 0) i++;
    if (i == COUNTS - 1) abort();
    counts[i].what = what;
    counts[i].n += n;
}

/* --- failures --- */

bool schedule_has_failed(void)
{
    return schedule.failed;
}

void schedule_abandon(void)
{
    longjmp(schedule.out, 1);
}

void sim_concerns(uint32_t other)
{
    schedule.other = other;
    schedule.has_other = true;
}

void sim_fail(uint32_t node, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(schedule.why, sizeof schedule.why, format, list);
    va_end(list);
    schedule.failed = true;
    schedule.node = node;
    schedule.when = sim_now();
    sim_in_script_give_up();
}

void sim_keep_note(uint32_t node, const char *format, ...)
{
    if (!notes && !(notes = calloc(NOTES, sizeof *notes))) abort();
    struct note *note = &notes[noted++ % NOTES];
    note->node = node;
    note->when = sim_now();
    va_list list;
    va_start(list, format);
    vsnprintf(note->text, sizeof note->text, format, list);
    va_end(list);
}

/* The last notes of the nodes concerned, oldest first. */
static void print_steps(void)
{
    uint64_t oldest = noted > NOTES ? noted - NOTES : 0, first = noted;
    for (unsigned found = 0; first > oldest && found < LAST_STEPS;) {
        uint32_t n = notes[--first % NOTES].node;
        found += n == schedule.node || (schedule.has_other && n == schedule.other);
    }
    for (uint64_t i = first; i < noted; i++) {
        const struct note *note = &notes[i % NOTES];
        if (note->node == schedule.node || (schedule.has_other && note->node == schedule.other))
            printf("#   %8llu  node %u %s\n", (unsigned long long)note->when, note->node,
                   note->text);
    }
}

/* --- running schedules --- */

static bool passes(const sim_scene_t *scene, uint64_t seed)
{
    schedule.seed = schedule.state = seed;
    schedule.failed = schedule.has_other = false;
    if (setjmp(schedule.out) == 0) scene->run();
    return !schedule.failed;
}

static void tell(const sim_scene_t *scene, unsigned number, uint64_t seed)
{
    char why[sizeof schedule.why];
    memcpy(why, schedule.why, sizeof why);
    uint64_t when = schedule.when;
    noted = 0;
    sim_noting = true;
    bool again = !passes(scene, seed);
    sim_noting = false;
    printf("# at %llu, node %u: %s\n", (unsigned long long)when, schedule.node, why);
    if (!again || when != schedule.when || strcmp(why, schedule.why) != 0)
        printf("# and it does NOT fail so when it is run again: %s\n",
               again ? schedule.why : "it passes");
    print_steps();
    printf("# repeat: TEST_SEED=%llu TEST_ROUNDS=1 TEST_SCENES=%u %s\n", (unsigned long long)seed,
           number, run.program);
}

static bool selected(unsigned number)
{
    char list[256], name[16];
    if (!run.scenes || !*run.scenes) return true;
    snprintf(list, sizeof list, " %s ", run.scenes);
    snprintf(name, sizeof name, " %u ", number);
    return strstr(list, name) != NULL;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_scene(const sim_scene_t *scene, unsigned number, uint64_t rounds)
{
    double start = seconds();
    uint64_t i = 0;
    memset(counts, 0, sizeof counts);
    while (i < rounds && passes(scene, run.seed + i)) i++;
    printf("%sok %u - %s: %llu schedules\n", i == rounds ? "" : "not ", ++run.done, scene->name,
           (unsigned long long)i);
    if (i < rounds) {
        run.bad++;
        tell(scene, number, run.seed + i);
    }
    for (size_t c = 0; counts[c].what; c++)
        printf("#   %llu %s\n", (unsigned long long)counts[c].n, counts[c].what);
    printf("#   %.1f s\n", seconds() - start);
    fflush(stdout);
}

int sim_main(int argc, char **argv, const sim_scene_t *scenes, size_t count)
{
    const char *seed = argc > 1 ? argv[1] : getenv("TEST_SEED"), *rounds = getenv("TEST_ROUNDS");
    uint64_t all = 0;
    run.program = argv[0];
    run.scenes = getenv("TEST_SCENES");
    run.seed = seed ? strtoull(seed, NULL, 0)
                    : ((uint64_t)time(NULL) * 1000003u + (uint64_t)getpid()) << 24;
    uint64_t part = rounds && *rounds == '/' ? strtoull(rounds + 1, NULL, 0) : 0;
    run.rounds = rounds && !part ? strtoull(rounds, NULL, 0) : 0;
    printf("# TEST_SEED=%llu\n", (unsigned long long)run.seed);
    for (unsigned i = 0; i < count; i++)
        if (selected(i + 1)) all += scenes[i].rounds;
    for (unsigned i = 0; i < count; i++) {
        if (!selected(i + 1)) continue;
        uint64_t share = scenes[i].rounds;
        if (run.rounds) share = (share * run.rounds + all - 1) / all;
        if (part) share = (share + part - 1) / part;
        run_scene(&scenes[i], i + 1, share);
    }
    printf("1..%u\n", run.done);
    if (run.bad) printf("# %u of %u scenes failed\n", run.bad, run.done);
    return run.bad || !run.done;
}
