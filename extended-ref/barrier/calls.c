/* calls.c - the client's calls: gasnet_barrier_{notify,wait,try,result}, gasnet_barrier, and the
 * same of gasnet_coll_barrier.
 *
 * With GASNET_BARRIERFLAG_IMAGES the images of this rank count in words (words.h).  The last image
 * to notify a phase notifies for the rank, and the first one to find the rank's barrier complete
 * leaves it for all images.
 */
#include "core/job/progress.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/team.h"
#include "extended-ref/handles.h"
#include "gasnet.h"

/* The address in the program from which the function in which it stands was called. */
#define WHO_CALLS __builtin_return_address(0)

/* --- of a rank --- */

static void rank_notify(gasnete_barrier_t *barrier, gasnete_barrier_value_t value)
{
    const uint64_t began = gasneti_trace_begin();
    if (GASNETC_CHECKING && barrier == &gasnete_barrier_job)
        gasnete_coll_check_none("gasnet_barrier_notify");
    gasnete_barrier_open(barrier, value);
    gasneti_trace_end(began, .kind = GASNETI_TRACE_barrier_notify, .peer = GASNETI_TRACE_NO_PEER);
}

/* The polls at the end serve what peers sent before they notified, although the interface does not
 * promise that, and let a loop of barriers serve Active Messages even if no wait blocks. */
static int rank_wait(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected, const void *site)
{
    const uint64_t began = gasneti_trace_begin();
    const int status = gasnete_barrier_close(barrier, expected);
    gasnetc_poll_backlog();
    gasneti_trace_end(began, .kind = GASNETI_TRACE_barrier_wait, .peer = GASNETI_TRACE_NO_PEER,
                      .site = site);
    return status;
}

void gasnete_barrier_notify(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_notify");
    rank_notify(&gasnete_barrier_job, gasnete_barrier_value(id, flags));
}

int gasnete_barrier_wait(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    return rank_wait(&gasnete_barrier_job, gasnete_barrier_value(id, flags), WHO_CALLS);
}

int gasnete_barrier_try(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    return gasnete_barrier_look(&gasnete_barrier_job, gasnete_barrier_value(id, flags));
}

int gasnete_barrier(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier");
    rank_notify(&gasnete_barrier_job, gasnete_barrier_value(id, flags));
    return rank_wait(&gasnete_barrier_job, gasnete_barrier_value(id, flags), WHO_CALLS);
}

int gasnete_barrier_result(int *id)
{
    return gasnete_barrier_last(&gasnete_barrier_job, id);
}

/* --- images --- */

/* Checks a call.  The calling image, if the images of this rank have to meet; else NULL. */
static gasnete_barrier_image_t *image_of(const char *call, const gasnete_team_t *team, int flags)
{
    gasnete_coll_check_team(call, team);
    gasnete_check_barrier(call, flags);
    if (!(flags & GASNET_BARRIERFLAG_IMAGES) || team->local == 1) return NULL;
    return &team->barrier->images[gasnete_coll_local_image(call)];
}

static void image_notify(const gasnete_team_t *team, gasnete_barrier_image_t *image,
                         gasnete_barrier_value_t value)
{
    gasnete_barrier_t *barrier = team->barrier;
    if (image->inside)
        gasneti_fatal("gasnet_coll_barrier_notify is called twice by an image without "
                      "gasnet_coll_barrier_wait (or a successful _try) in between");
    image->inside = true;
    image->parity ^= 1;
    if (!gasnete_barrier_words_notify(&barrier->met, image->parity, value, team->local)) return;
    gasnete_barrier_words_joined(&barrier->met, image->parity, team->local, &value);
    rank_notify(barrier, value);
}

/* True when all images may leave the phase; then *all is its value.  Until all images have
 * notified, the rank may be in a phase without images; until the last of them has notified for the
 * rank, the rank is in none. */
static bool image_complete(const gasnete_team_t *team, uint8_t parity, gasnete_barrier_value_t *all)
{
    gasnete_barrier_t *barrier = team->barrier;
    gasnete_barrier_words_t *met = &barrier->met;
    const gasnete_barrier_value_t anonymous = {GASNETE_BARRIER_NONE, 0};
    gasneti_lock(&barrier->image_lock);
    bool complete = gasnete_barrier_words_complete(met, parity, all);
    if (!complete && gasnete_barrier_words_joined(met, parity, team->local, all)) {
        const int status = gasnete_barrier_end(barrier, anonymous);
        complete = status == GASNET_OK || status == GASNET_ERR_BARRIER_MISMATCH;
        if (complete) {
            *all = barrier->result;
            gasnete_barrier_words_end(met, parity, *all);
        }
    }
    gasneti_unlock(&barrier->image_lock);
    return complete;
}

static int image_try(const gasnete_team_t *team, gasnete_barrier_image_t *image,
                     gasnete_barrier_value_t expected)
{
    gasnete_barrier_value_t all;
    if (!image->inside)
        gasneti_fatal("gasnet_coll_barrier_wait or _try is called by an image without a "
                      "gasnet_coll_barrier_notify that it could end");
    gasnetc_poll();
    gasnete_barrier_advance(team->barrier);
    if (!image_complete(team, image->parity, &all)) return GASNET_ERR_NOT_READY;
    image->inside = false;
    return gasnete_barrier_join(all, expected).kind == GASNETE_BARRIER_MISMATCH
               ? GASNET_ERR_BARRIER_MISMATCH
               : GASNET_OK;
}

/* --- of a rank or an image of a team --- */

void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags)
{
    gasnete_barrier_image_t *image = image_of("gasnet_coll_barrier_notify", team, flags);
    if (image)
        image_notify(team, image, gasnete_barrier_value(id, flags));
    else
        rank_notify(team->barrier, gasnete_barrier_value(id, flags));
}

int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags)
{
    gasnete_barrier_image_t *image = image_of("gasnet_coll_barrier_try", team, flags);
    return image ? image_try(team, image, gasnete_barrier_value(id, flags))
                 : gasnete_barrier_look(team->barrier, gasnete_barrier_value(id, flags));
}

int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags)
{
    gasnete_barrier_image_t *image = image_of("gasnet_coll_barrier_wait", team, flags);
    const gasnete_barrier_value_t expected = gasnete_barrier_value(id, flags);
    int status;
    if (!image) return rank_wait(team->barrier, expected, WHO_CALLS);
    const uint64_t began = gasneti_trace_begin();
    gasneti_wait_until((status = image_try(team, image, expected)) != GASNET_ERR_NOT_READY);
    gasneti_trace_end(began, .kind = GASNETI_TRACE_barrier_wait, .peer = GASNETI_TRACE_NO_PEER,
                      .site = WHO_CALLS);
    return status;
}

int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags)
{
    gasnet_coll_barrier_notify(team, id, flags);
    return gasnet_coll_barrier_wait(team, id, flags);
}

int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id)
{
    gasnete_coll_check_team("gasnet_coll_barrier_result", team);
    return gasnete_barrier_last(team->barrier, id);
}
