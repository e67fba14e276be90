/* image_barrier.h - how the images of one node take part in a barrier of nodes, as a plain state
 * machine: the node notifies when its last image has, and every image leaves the phase that it
 * notified, at its own time.
 *
 * An image that left may notify the next phase while another image has not left yet, so each image
 * counts its phases.  No I/O, no lock, no globals: barrier_calls.c runs it with a lock held.
 */
#ifndef GASNETE_IMAGE_BARRIER_H
#define GASNETE_IMAGE_BARRIER_H

#include "extended-ref/barrier_state.h"

typedef struct gasnete_image_barrier {
    uint32_t images;  /* of this node */
    uint32_t entered; /* images that have notified the phase which not all have notified */
    uint32_t open;    /* phases that the node has notified */
    uint32_t over;    /* phases that the node has left */
    bool leaving;     /* a thread is about to leave the open phase for the node */
    gasnete_barrier_value_t gathered; /* value of the images that entered */
    gasnete_barrier_value_t result;   /* of the phase that was over last */
    uint32_t *phase;                  /* [images] phases that the image has notified; modulo 2^32 */
    bool *inside; /* [images] true while the image has not left its last phase */
} gasnete_image_barrier_t;

enum gasnete_image_step {
    GASNETE_IMAGE_WRONG, /* notify twice, or leave without notify: nothing is changed */
    GASNETE_IMAGE_WAIT,  /* notify: other images of the node are to come; leave: not over yet */
    GASNETE_IMAGE_NODE,  /* notify: the node notifies `gathered`, then gasnete_image_opened; leave:
                            this thread tries to leave the nodes' barrier, then gasnete_image_over */
    GASNETE_IMAGE_DONE,  /* leave: the image has left */
};

/* Notifies for an image.  */
enum gasnete_image_step gasnete_image_notify(gasnete_image_barrier_t *barrier, uint32_t image,
                                             gasnete_barrier_value_t mine);

/* Records that the node has notified.  */
void gasnete_image_opened(gasnete_image_barrier_t *barrier);

/* Tries to leave for an image; with DONE, `*match` is true if the result is `expected`.  */
enum gasnete_image_step gasnete_image_leave(gasnete_image_barrier_t *barrier, uint32_t image,
                                            gasnete_barrier_value_t expected, bool *match);

/* Records that the node has tried to leave: NULL, the phase is not complete; else the value of the
 * phase.  */
void gasnete_image_over(gasnete_image_barrier_t *barrier, const gasnete_barrier_value_t *value);

#endif
