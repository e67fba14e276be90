/* attach.c - the Extended API's part of init, attach and polls: its handler table, its initial
 * state and its progress; gasnete_threadinfo.
 *
 * Called by the core (core/am/system_am.h).
 */
#include <stdlib.h>

#include "core/am/system_am.h"
#include "core/job/thread.h"
#include "core/report.h"
#include "extended-ref/coll/messages.h"
#include "extended-ref/ex/objects.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/progress.h"
#include "extended-ref/topology.h"
#include "extended-ref/transfer.h"
#include "gasnet.h"

const gasnetc_internal_t gasnete_handlers[] = {
    GASNETE_HANDLERS(GASNETE_HANDLER_ROW) GASNETE_COLL_HANDLERS(GASNETE_HANDLER_ROW)
        GASNETE_TRANSFER_HANDLERS(GASNETE_HANDLER_ROW) GASNETE_ATOMIC_HANDLERS{0},
};

gasnete_topology_t *gasnete_topology_job;

static void attach_topology(void)
{
    const uint32_t ranks = gasneti_nodes;
    gasnet_nodeinfo_t *info = gasneti_calloc(ranks, sizeof *info, "all hosts");
    uint32_t *supernode = gasneti_calloc(ranks, sizeof *supernode, "all supernodes");
    gasnetc_node_info(info, (int)ranks);
    for (uint32_t r = 0; r < ranks; r++) supernode[r] = info[r].supernode;
    if (!gasnete_topology_new(&gasnete_topology_job, supernode, ranks, NULL, ranks))
        gasneti_fatal("out of memory for the supernodes of %u ranks", ranks);
    free(supernode);
    free(info);
}

void gasnete_init(void)
{
    gasnete_segments_read();
    attach_topology();
    gasnete_teams_init();
    gasnete_barrier_begin();
}

void gasnete_attach(void)
{
    gasnete_segments_read();
    gasnete_objects_attach();
}

atomic_bool gasnete_progress_due;
void (*_Atomic gasnete_coll_progress_hook)(bool client);

void gasnete_progress(bool client)
{
    /* Cleared before any state is read: work recorded later sets it again.  The exchange acquires
     * the work that threads recorded before they set it.  */
    atomic_exchange(&gasnete_progress_due, false);
    void (*coll)(bool) = atomic_load_explicit(&gasnete_coll_progress_hook, memory_order_acquire);
    if (coll != NULL) coll(client);
    gasnete_barrier_progress();
}

/* Identifies the calling thread by the address of its record in the core, which is unique while the
 * thread lives.  */
gasnet_threadinfo_t gasnete_threadinfo_cache;

gasnet_threadinfo_t gasnete_threadinfo(void)
{
    return gasneti_self();
}
