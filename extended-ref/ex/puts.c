/* puts.c - puts whose source has an event of its own, or is waited for with others.
 *
 * A short put is inlined, and its source free at once.  That of a longer one is read in place, and
 * free when the put is complete.
 */
#include "core/job/job.h"
#include "core/job/progress.h"
#include "extended-ref/handles.h"
#include "extended-ref/shm_transfer.h"
#include "extended-ref/transfer.h"
#include "gasnet.h"

gex_Event_t gasnete_put_nb_leaf(gex_Rank_t node, void *dest, void *src, size_t nbytes,
                                gex_Event_t *leaf)
{
    const bool copied = nbytes <= gasnetc_caps.inline_max;
    const gex_Event_t put = copied ? gasnete_put_nb(node, dest, src, nbytes)
                                   : gasnete_put_nb_bulk(node, dest, src, nbytes);
    *leaf = copied ? GEX_EVENT_INVALID : gex_Event_QueryLeaf(put, GEX_EC_LC);
    return put;
}

void gasnete_put_nbi_group(gex_Rank_t node, void *dest, void *src, size_t nbytes)
{
    static const char call[] = "gex_RMA_PutNBI";
    if (nbytes <= gasnetc_caps.inline_max) {
        gasnete_put_nbi(node, dest, src, nbytes);
        return;
    }
    if (gasnete_shm_put(call, node, dest, src, nbytes) ||
        gasnete_copy_local(call, node, dest, src, nbytes))
        return;
    gasnete_transfer_put_bulk(node, dest, src, nbytes,
                              gasnete_self()->implicit[GASNETE_GROUPED_PUTS]);
}
