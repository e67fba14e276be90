/* image_barrier.c - the state machine of image_barrier.h.
 *
 * Pure: tests/unit/coll_teams.c runs the images of several nodes in one thread.
 */
#include "extended-ref/teams/image_barrier.h"

#include <stddef.h>

enum gasnete_image_step gasnete_image_notify(gasnete_image_barrier_t *barrier, uint32_t image,
                                             gasnete_barrier_value_t mine)
{
    if (barrier->inside[image]) return GASNETE_IMAGE_WRONG;
    barrier->inside[image] = true;
    barrier->phase[image]++;
    barrier->gathered = barrier->entered ? gasnete_barrier_join(barrier->gathered, mine) : mine;
    if (++barrier->entered < barrier->images) return GASNETE_IMAGE_WAIT;
    barrier->entered = 0;
    return GASNETE_IMAGE_NODE;
}

void gasnete_image_opened(gasnete_image_barrier_t *barrier)
{
    barrier->open++;
}

enum gasnete_image_step gasnete_image_leave(gasnete_image_barrier_t *barrier, uint32_t image,
                                            gasnete_barrier_value_t expected, bool *match)
{
    if (!barrier->inside[image]) return GASNETE_IMAGE_WRONG;
    /* An image is in the phase that was over last, or in the next one.  */
    if (barrier->phase[image] == barrier->over) {
        barrier->inside[image] = false;
        *match = gasnete_barrier_join(barrier->result, expected).kind != GASNETE_BARRIER_MISMATCH;
        return GASNETE_IMAGE_DONE;
    }
    if (barrier->open == barrier->over || barrier->leaving) return GASNETE_IMAGE_WAIT;
    barrier->leaving = true;
    return GASNETE_IMAGE_NODE;
}

void gasnete_image_over(gasnete_image_barrier_t *barrier, const gasnete_barrier_value_t *value)
{
    barrier->leaving = false;
    if (value == NULL) return;
    barrier->result = *value;
    barrier->over++;
}
