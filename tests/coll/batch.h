/* batch.h - many operations at once: started in order, synced in any, their memory checked as their
 * modes allow.  */
#ifndef TEST_COLL_BATCH_H
#define TEST_COLL_BATCH_H

#include "tests/coll/operations.h"

/* A batch of each image; its memory is the image's region.  */
struct batch {
    struct operation *op;
    int count, room;
    size_t used; /* of the region */
    size_t slot; /* bytes of the region for each operation; 0: the operation's extent */
};

struct batch batch_of(int room);
void batch_free(struct batch *batch);
/* Adds the operation; false if the batch or the region has no room left. */
bool batch_add(struct batch *batch, const struct operation *op);

/* By all images, with equal operations: runs them all and empties the batch.  The memory of an
 * image is filled immediately before its call, and overwritten immediately after the sync, where
 * the modes allow it.  */
void batch_blocking(struct batch *batch);
void batch_together(struct batch *batch); /* all outstanding at once */

/* Blocking calls and others by turns, some synced while more are started; between two of them
 * `between` does what it likes.  The images may have different operations, of their teams.  */
void batch_mixed(struct batch *batch, void (*between)(void));

/* Waits for some of the handles, by a call chosen at random; ends when it cannot be sure that one
 * more would complete.  */
void batch_sync_some(struct test_random *random, gasnet_coll_handle_t *handles, int count);

#endif
