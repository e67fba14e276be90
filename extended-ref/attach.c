/* attach.c - the Extended API's part of attach: its handler table and initial state;
 * gasnete_threadinfo.
 *
 * Called by the core (core/am/system_am.h).
 */
#include "gasnet.h"

#include "core/am/system_am.h"
#include "core/job/thread.h"
#include "extended-ref/coll/messages.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/transfer.h"

const gasnet_handlerentry_t gasnete_handlers[] = {
    {GASNETE_H_BARRIER, gasnete_barrier_handler},
    {GASNETE_H_TEAM_BARRIER, gasnete_team_barrier_handler},
    {GASNETE_H_MEMSET, gasnete_memset_handler},
    {GASNETE_H_DONE, gasnete_done_handler},
    {GASNETE_H_VIS_PUT, gasnete_vis_put_handler},
    {GASNETE_H_VIS_GET, gasnete_vis_get_handler},
    {GASNETE_H_VIS_GOT, gasnete_vis_got_handler},
    GASNETE_COLL_HANDLERS GASNETE_TRANSFER_HANDLERS{0, NULL},
};

void gasnete_attach(void)
{
    gasnete_segments_attach();
    gasnete_barrier_attach();
}

/* The address of the thread's record in the core identifies the thread while it is alive.  */
gasnet_threadinfo_t gasnete_threadinfo_cache;

gasnet_threadinfo_t gasnete_threadinfo(void)
{
    return gasneti_self();
}
