/* images.h - the images of the collectives' tests: in PAR a few threads of each node, otherwise
 * one.
 *
 * The main thread is the first image of its node; the others wait for a body to run.  Between
 * bodies only main threads call the library.
 */
#ifndef TEST_COLL_IMAGES_H
#define TEST_COLL_IMAGES_H

#include <gasnet_coll.h>

#include "tests/programs/test.h"

enum { IMAGES_MOST = 4 /* of a node */ };

extern int image_count;             /* of all nodes */
extern int image_first, image_here; /* images of this node: number of the first, and how many */
extern _Thread_local int image_me;  /* the calling thread's; -1: no image */
/* A stream that differs for every image; restarted by on_images.  */
extern _Thread_local struct test_random image_random;

/* Starts the threads; every image calls gasnet_coll_init.  `images` is the number of images of each
 * node, "uneven" (PAR), or NULL: one.  */
void images_start(const char *images, gasnet_coll_fn_entry_t *functions, size_t count);

int image_first_of(int rank); /* number of a node's first image; of test_size: image_count */
int image_rank(int image);    /* the node of an image */

/* Collective: runs a body on all images of all nodes, and returns when all have returned.  */
void on_images(void (*body)(void));

/* By all images of the node: waits for them, without a call of the library.  */
void images_meet(void);
/* By all images of all nodes, without collectives in flight.  */
void images_barrier(void);

#endif
