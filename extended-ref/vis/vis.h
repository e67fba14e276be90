/* vis.h - the ways of a vector, indexed or strided transfer to another node, between vis.c, which
 * chooses, and runs.c and packed.c, which send.
 *
 * Each function starts all of the transfer before it returns, and counts its operations in
 * `counter`; it may poll.  Nothing of the descriptions is needed afterwards.
 */
#ifndef GASNETE_VIS_VIS_H
#define GASNETE_VIS_VIS_H

#include "core/completion.h"
#include "extended-ref/vis/walk.h"
#include "gasnet.h"

/* runs.c: a put or get of each run, and puts of collected runs to contiguous memory.  The source
 * of gasnete_vis_put_each, and no other, must not change until the counter is done.  */
void gasnete_vis_put_each(gasnet_node_t node, gasnete_vis_pair_t *pair, gasnetc_counter_t *counter);
void gasnete_vis_get_each(gasnet_node_t node, gasnete_vis_pair_t *pair, gasnetc_counter_t *counter);
void gasnete_vis_put_gathered(gasnet_node_t node, gasnete_vis_pair_t *pair, size_t nbytes,
                              gasnetc_counter_t *counter);

/* packed.c: Mediums with the data and the addresses of many pieces.  */
void gasnete_vis_put_packed(gasnet_node_t node, gasnete_vis_pair_t *pair,
                            gasnetc_counter_t *counter);
void gasnete_vis_get_packed(gasnet_node_t node, gasnete_vis_pair_t *pair,
                            gasnetc_counter_t *counter);

/* Memory for `nbytes`, to be freed with free; fatal if there is none.  */
void *gasnete_vis_buffer(size_t nbytes);

/* Copies one run; expanded for the usual lengths of array elements.  */
static inline void gasnete_vis_copy(char *to, const char *from, size_t nbytes)
{
    if (nbytes == 8)
        __builtin_memcpy(to, from, 8);
    else if (nbytes == 4)
        __builtin_memcpy(to, from, 4);
    else
        __builtin_memcpy(to, from, nbytes);
}

#endif
