/* vis.h - the ways of a vector, indexed or strided transfer to another rank, between vis.c, which
 * chooses, and runs.c and packed.c, which send.
 *
 * Each function starts all of the transfer before it returns, and counts its operations in
 * `counter`; it may poll.  The descriptions are not read afterwards.
 */
#pragma once

#include "core/completion.h"
#include "extended-ref/vis/walk.h"
#include "gasnet.h"

/* runs.c: a put or get of each run.  The source of a put must not change until the counter is done.
 */
void gasnete_vis_each(gasnet_node_t node, bool put, gasnete_vis_pair_t *pair,
                      gasnetc_counter_t *counter);

/* runs.c: puts from a buffer to the nbytes of contiguous memory that are the destination, and gets
 * into a buffer from the source.  The get is complete on return.  */
void gasnete_vis_put_copied(gasnet_node_t node, gasnete_vis_pair_t *pair, size_t nbytes,
                            gasnetc_counter_t *counter);
void gasnete_vis_get_copied(gasnet_node_t node, gasnete_vis_pair_t *pair, size_t nbytes,
                            gasnetc_counter_t *counter);

/* runs.c: lists of local runs, which lie in the segment, to contiguous memory or from it.  The
 * source of a put must not change until the counter is done.  */
void gasnete_vis_listed(gasnet_node_t node, bool put, gasnete_vis_pair_t *pair,
                        gasnetc_counter_t *counter);

/* packed.c: puts and gets by Mediums with the data and the addresses of many pieces.  */
void gasnete_vis_put_packed(gasnet_node_t node, gasnete_vis_pair_t *pair,
                            gasnetc_counter_t *counter);
void gasnete_vis_get_packed(gasnet_node_t node, gasnete_vis_pair_t *pair,
                            gasnetc_counter_t *counter);

/* at_peer.c: behind the thread's put, lets `node` run the handler that the thread has bound to it.
 */
void gasnete_vis_tell(gasnet_node_t node);

/* Allocates `nbytes`, to be freed with free; fatal without memory.  */
void *gasnete_vis_buffer(size_t nbytes);
