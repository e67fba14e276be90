/* barrier_images.c - images that meet in the barriers of several ranks, in random order, against
 * the rules applied to all of them at once.
 *
 * Runs extended-ref/barrier/calls.c; the barrier of the ranks is played here.  Phases with and
 * without images are mixed: in one without, the first image of each rank takes part alone.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/am/context.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/report.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/team.h"
#include "gasnet.h"
#include "gasnet_coll.h"
#include "tests/unit/check.h"

enum { MOST_RANKS = 4, MOST_IMAGES = 5, PHASES = 60 };

typedef struct image {
    uint32_t phase; /* of its next notify, or of the one it is in */
    bool inside;
} image_t;
typedef struct rank {
    gasnete_team_t team;
    gasnete_barrier_t barrier;
    gasnete_barrier_image_t own[MOST_IMAGES];
    image_t images[MOST_IMAGES];
    uint32_t entered, left; /* phases of the ranks' barrier */
    bool opening;           /* the rank has notified, and is about to be inside */
} rank_t;
static rank_t ranks[MOST_RANKS];
static uint32_t count, all_images;
static bool with_images[PHASES];
static gasnete_barrier_value_t joined[PHASES]; /* of the ranks that notified */
static gasnete_barrier_value_t rule[PHASES];   /* of the images that notified */
static uint32_t entered[PHASES];               /* images */
static uint32_t the_image;                     /* which calls */

/* --- what calls.c calls --- */

gasnet_team_handle_t gasnete_coll_team_all;
gasneti_lock_t gasnete_coll_lock;
gasnete_barrier_t gasnete_barrier_job;

void gasneti_fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("*** FATAL ERROR: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

uint32_t gasnete_coll_local_image(const char *call)
{
    (void)call;
    return the_image;
}

void gasnete_coll_check_team(const char *call, const gasnete_team_t *team)
{
    (void)call, (void)team;
}

void gasnetc_check_may_communicate(const char *call)
{
    (void)call;
}

void gasnete_coll_check_none(const char *call)
{
    (void)call;
}

void gasnetc_poll(void) {}
void gasnetc_poll_backlog(void) {}
void gasneti_wait_poll(void) {}
void gasneti_wait_over(void) {}
void gasnete_barrier_advance(gasnete_barrier_t *barrier)
{
    (void)barrier;
}

static rank_t *rank_of(gasnete_barrier_t *barrier)
{
    return (rank_t *)(void *)((char *)barrier - offsetof(rank_t, barrier));
}

void gasnete_barrier_open(gasnete_barrier_t *barrier, gasnete_barrier_value_t mine)
{
    rank_t *rank = rank_of(barrier);
    check_each(rank->entered == rank->left && !rank->opening, "a rank notifies twice");
    joined[rank->entered] = gasnete_barrier_join(joined[rank->entered], mine);
    rank->opening = true;
}

int gasnete_barrier_end(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected)
{
    rank_t *rank = rank_of(barrier);
    if (rank->entered == rank->left) return GASNET_ERR_NOT_INIT;
    for (uint32_t n = 0; n < count; n++)
        if (ranks[n].entered <= rank->left) return GASNET_ERR_NOT_READY;
    barrier->result = joined[rank->left++];
    return gasnete_barrier_join(barrier->result, expected).kind == GASNETE_BARRIER_MISMATCH
               ? GASNET_ERR_BARRIER_MISMATCH
               : GASNET_OK;
}

int gasnete_barrier_look(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected)
{
    const int status = gasnete_barrier_end(barrier, expected);
    return status == GASNET_ERR_NOT_INIT ? GASNET_ERR_NOT_READY : status; /* opening */
}

int gasnete_barrier_close(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected)
{
    return gasnete_barrier_look(barrier, expected);
}

int gasnete_barrier_last(gasnete_barrier_t *barrier, int *id)
{
    *id = barrier->result.id;
    return barrier->result.kind != GASNETE_BARRIER_NAMED;
}

/* --- the images --- */

static void any_arguments(int *id, int *flags)
{
    *id = check_below(8) == 0;
    *flags = check_below(12) == 0  ? GASNET_BARRIERFLAG_MISMATCH
             : check_below(2) == 0 ? GASNET_BARRIERFLAG_ANONYMOUS
                                   : 0;
}

/* Skips the phases that the image takes no part in. */
static void skip(image_t *image, bool first)
{
    while (!first && image->phase < PHASES && !with_images[image->phase]) image->phase++;
}

static void notify(rank_t *rank, image_t *image)
{
    const uint32_t phase = image->phase;
    int id, flags;
    any_arguments(&id, &flags);
    rule[phase] = gasnete_barrier_join(rule[phase], gasnete_barrier_value(id, flags));
    image->inside = true;
    entered[phase]++;
    gasnet_coll_barrier_notify(&rank->team, id,
                               flags | (with_images[phase] ? GASNET_BARRIERFLAG_IMAGES : 0));
}

static void leave(rank_t *rank, image_t *image, bool first)
{
    const uint32_t phase = image->phase;
    int id, flags, got = 0;
    any_arguments(&id, &flags);
    const int status = gasnet_coll_barrier_try(
        &rank->team, id, flags | (with_images[phase] ? GASNET_BARRIERFLAG_IMAGES : 0));
    if (status == GASNET_ERR_NOT_READY) return;
    check_each(entered[phase] == (with_images[phase] ? all_images : count),
               "phase %u is left when %u have entered", phase, entered[phase]);
    const gasnete_barrier_value_t expected = gasnete_barrier_value(id, flags), all = rule[phase];
    const bool right = gasnete_barrier_join(all, expected).kind != GASNETE_BARRIER_MISMATCH;
    check_each((status == GASNET_OK) == right, "phase %u: status %d", phase, status);
    /* In a phase without images behind this one the first image may be further. */
    if (all.kind != GASNETE_BARRIER_MISMATCH && (phase + 1 == PHASES || with_images[phase + 1]))
        check_each((gasnet_coll_barrier_result(&rank->team, &got) == 0) ==
                           (all.kind == GASNETE_BARRIER_NAMED) &&
                       (all.kind != GASNETE_BARRIER_NAMED || got == all.id),
                   "phase %u: result %d", phase, got);
    image->inside = false;
    image->phase++;
    skip(image, first);
}

static void act(void)
{
    rank_t *rank = &ranks[check_below(count)];
    if (rank->opening && check_below(2)) {
        rank->opening = false;
        rank->entered++;
        return;
    }
    the_image = check_below(rank->team.local);
    image_t *image = &rank->images[the_image];
    if (image->inside)
        leave(rank, image, the_image == 0);
    else if (image->phase < PHASES)
        notify(rank, image);
}

static bool finished(void)
{
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t i = 0; i < ranks[n].team.local; i++)
            if (ranks[n].images[i].phase < PHASES) return false;
    return true;
}

static void once(void)
{
    memset(ranks, 0, sizeof ranks);
    memset(joined, 0, sizeof joined);
    memset(rule, 0, sizeof rule);
    memset(entered, 0, sizeof entered);
    count = 1 + check_below(MOST_RANKS);
    all_images = 0;
    for (uint32_t p = 0; p < PHASES; p++) with_images[p] = check_below(4) > 0;
    for (uint32_t n = 0; n < count; n++) {
        rank_t *rank = &ranks[n];
        rank->team.local = 2 + check_below(MOST_IMAGES - 1);
        rank->team.barrier = &rank->barrier;
        rank->barrier.images = rank->own;
        all_images += rank->team.local;
        for (uint32_t i = 0; i < rank->team.local; i++) skip(&rank->images[i], i == 0);
    }
    uint32_t steps = 0;
    while (!finished() && ++steps < 10000000) act();
    check_each(finished(), "%u ranks, %u images: not over after %u steps", count, all_images,
               steps);
}

/* --- a wrong order of calls --- */

static void notify_twice(const void *arg)
{
    (void)arg;
    gasnet_coll_barrier_notify(&ranks[0].team, 0, GASNET_BARRIERFLAG_IMAGES);
    gasnet_coll_barrier_notify(&ranks[0].team, 0, GASNET_BARRIERFLAG_IMAGES);
}

static void wait_first(const void *arg)
{
    (void)arg;
    (void)gasnet_coll_barrier_wait(&ranks[0].team, 0, GASNET_BARRIERFLAG_IMAGES);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    for (int i = 0; i < 300; i++) once();
    check_all("images of 1 to %d ranks leave when all have entered, with the right result",
              MOST_RANKS);
    once();
    the_image = 0;
    check_fatal("an image that notifies twice", notify_twice, NULL, "called twice by an image");
    check_fatal("an image that waits first", wait_first, NULL, "without a");
    return check_end();
}
