/* barrier_calls.c - gasnet_coll_barrier_{notify,wait,try,result} and gasnet_coll_barrier.
 *
 * The barrier of nodes is the job's for GASNET_TEAM_ALL, and the team's own otherwise.  With
 * GASNET_BARRIERFLAG_IMAGES the images of this node take part in it through image_barrier.h.
 */
#include "gasnet.h"

#include "core/job/progress.h"
#include "core/report.h"
#include "extended-ref/teams/team_barrier.h"
#include "extended-ref/handles.h"

/* --- among nodes --- */

static void nodes_notify(gasnete_team_t *team, int id, int flags)
{
    if (team == gasnete_coll_team_all)
        gasnete_barrier_notify(id, flags);
    else
        gasnete_team_barrier_notify(team, id, flags);
}

static int nodes_try(gasnete_team_t *team, int id, int flags)
{
    return team == gasnete_coll_team_all ? gasnete_barrier_try(id, flags)
                                         : gasnete_team_barrier_try(team, id, flags);
}

static int nodes_wait(gasnete_team_t *team, int id, int flags)
{
    int result;
    if (team == gasnete_coll_team_all) return gasnete_barrier_wait(id, flags);
    gasneti_wait_until((result = gasnete_team_barrier_try(team, id, flags)) !=
                       GASNET_ERR_NOT_READY);
    return result;
}

static int nodes_result(gasnete_team_t *team, int *id)
{
    return team == gasnete_coll_team_all ? gasnete_barrier_result(id)
                                         : gasnete_team_barrier_result(team, id);
}

/* --- among images --- */

/* True if the images of this node have to meet before the node notifies.  */
static bool images_meet(const gasnete_team_t *team, int flags)
{
    return (flags & GASNET_BARRIERFLAG_IMAGES) && team->local > 1;
}

static void images_notify(gasnete_team_t *team, int id, int flags)
{
    gasnete_team_barrier_t *barrier = gasnete_team_barrier_of(team);
    uint32_t image = gasnete_coll_local_image("gasnet_coll_barrier_notify");
    gasneti_lock(&barrier->lock);
    enum gasnete_image_step step =
        gasnete_image_notify(&barrier->images, image, gasnete_barrier_value(id, flags));
    gasnete_barrier_value_t gathered = barrier->images.gathered;
    gasneti_unlock(&barrier->lock);
    if (step == GASNETE_IMAGE_WRONG)
        gasneti_fatal("gasnet_coll_barrier_notify is called twice by an image without "
                      "gasnet_coll_barrier_wait (or a successful _try) in between");
    if (step != GASNETE_IMAGE_NODE) return;
    const int flag[] = {[GASNETE_BARRIER_NONE] = GASNET_BARRIERFLAG_ANONYMOUS,
                        [GASNETE_BARRIER_NAMED] = 0,
                        [GASNETE_BARRIER_MISMATCH] = GASNET_BARRIERFLAG_MISMATCH};
    nodes_notify(team, gathered.id, flag[gathered.kind]);
    gasneti_lock(&barrier->lock);
    gasnete_image_opened(&barrier->images);
    gasneti_unlock(&barrier->lock);
}

/* Leaves the nodes' barrier for all images of this node, if it is complete.  */
static void images_leave_nodes(gasnete_team_barrier_t *barrier)
{
    gasnete_barrier_value_t value = {GASNETE_BARRIER_NONE, 0};
    int result = nodes_try(barrier->team, 0, GASNET_BARRIERFLAG_ANONYMOUS), id;
    if (result == GASNET_ERR_BARRIER_MISMATCH)
        value.kind = GASNETE_BARRIER_MISMATCH;
    else if (result == GASNET_OK && nodes_result(barrier->team, &id) == 0)
        value = (gasnete_barrier_value_t){GASNETE_BARRIER_NAMED, id};
    gasneti_lock(&barrier->lock);
    gasnete_image_over(&barrier->images, result == GASNET_ERR_NOT_READY ? NULL : &value);
    gasneti_unlock(&barrier->lock);
}

static int images_try(gasnete_team_t *team, int id, int flags)
{
    gasnete_team_barrier_t *barrier = gasnete_team_barrier_of(team);
    uint32_t image = gasnete_coll_local_image("gasnet_coll_barrier_wait or _try");
    enum gasnete_image_step step;
    bool match = true;
    gasnetc_poll();
    for (int tries = 0; tries < 2; tries++) {
        gasneti_lock(&barrier->lock);
        step =
            gasnete_image_leave(&barrier->images, image, gasnete_barrier_value(id, flags), &match);
        gasneti_unlock(&barrier->lock);
        if (step != GASNETE_IMAGE_NODE) break;
        images_leave_nodes(barrier);
    }
    if (step == GASNETE_IMAGE_WRONG)
        gasneti_fatal("gasnet_coll_barrier_wait or _try is called by an image without a "
                      "gasnet_coll_barrier_notify that it could end");
    if (step != GASNETE_IMAGE_DONE) return GASNET_ERR_NOT_READY;
    return match ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH;
}

/* --- client calls --- */

void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags)
{
    gasnete_coll_check_team("gasnet_coll_barrier_notify", team);
    gasnete_check_barrier("gasnet_coll_barrier_notify", flags);
    if (images_meet(team, flags))
        images_notify(team, id, flags);
    else
        nodes_notify(team, id, flags);
}

int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags)
{
    gasnete_coll_check_team("gasnet_coll_barrier_try", team);
    gasnete_check_barrier("gasnet_coll_barrier_try", flags);
    return images_meet(team, flags) ? images_try(team, id, flags) : nodes_try(team, id, flags);
}

int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags)
{
    gasnete_coll_check_team("gasnet_coll_barrier_wait", team);
    gasnete_check_barrier("gasnet_coll_barrier_wait", flags);
    if (!images_meet(team, flags)) return nodes_wait(team, id, flags);
    int result;
    gasneti_wait_until((result = images_try(team, id, flags)) != GASNET_ERR_NOT_READY);
    return result;
}

int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags)
{
    gasnet_coll_barrier_notify(team, id, flags);
    return gasnet_coll_barrier_wait(team, id, flags);
}

int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id)
{
    gasnete_coll_check_team("gasnet_coll_barrier_result", team);
    return nodes_result(team, id);
}
