/* start.c - the start of a program that speaks GASNet-EX: joining the job, attaching the segment,
 * and the threads that it may run itself.
 */
#include <stdlib.h>

#include "core/am/context.h"
#include "core/job/job.h"
#include "core/report.h"
#include "extended-ref/ex/objects.h"
#include "gasnet.h"
#include "other/launch/bootstrap.h"

int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *name,
                    int *argc, char ***argv, gex_Flags_t flags)
{
    const int result = gasnetc_init("gex_Client_Init", argc, argv);
    if (result != GASNET_OK) return result;
    gasnete_client.name = name;
    gasnete_client.flags = flags;
    if (GASNETC_CHECKING && !(flags & GEX_FLAG_USES_GASNET1)) gasnetc_refuse_classic();
    if (!(flags & GEX_FLAG_DEFER_THREADS)) gasnetc_start_threads();
    gasnet_QueryGexObjects(client_p, ep_p, tm_p, NULL);
    return GASNET_OK;
}

int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size)
{
    static const char call[] = "gex_Segment_Attach";
    int result = gasnetc_may_attach(call, "gex_Client_Init");
    if (result != GASNET_OK) return result;
    if (tm != gasnete_all)
        return gasneti_error(GASNET_ERR_BAD_ARG, call, "%p is not the team of all ranks",
                             (void *)tm);
    if (size == 0) return gasneti_error(GASNET_ERR_BAD_ARG, call, "a segment of 0 bytes");
    bootstrap_meanwhile(gasnetc_poll_in_attach);
    result = gasnetc_attach_segment(size, gasnetc_poll_in_attach);
    bootstrap_meanwhile(NULL);
    if (result == GASNET_OK) *segment_p = gasneti_ep0.segment;
    return result;
}

int gex_System_QueryHiddenAMConcurrencyLevel(void)
{
    return gasnetc_threads() > 0;
}

int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p,
                                    const gex_ProgressThreadInfo_t **info_p, gex_Flags_t flags)
{
    static const char call[] = "gex_System_QueryProgressThreads";
    static gex_ProgressThreadInfo_t *threads;
    if (!client || !count_p || !info_p || flags)
        return gasneti_error(GASNET_ERR_BAD_ARG, call, "%s",
                             flags ? "flags other than 0" : "a NULL argument");
    if (!(client->flags & GEX_FLAG_DEFER_THREADS) || threads)
        return gasneti_error(GASNET_ERR_RESOURCE, call, "%s",
                             threads ? "called a second time"
                                     : "gex_Client_Init was not given GEX_FLAG_DEFER_THREADS");
    const unsigned count = gasnetc_threads();
    threads = calloc(count + 1, sizeof *threads);
    if (!threads) gasneti_fatal("out of memory for a list of %u threads", count);
    for (unsigned i = 0; i < count; i++)
        threads[i] = (gex_ProgressThreadInfo_t){gasnetc_caps.device, GEX_THREAD_ROLE_RCV,
                                                gasnetc_thread, (void *)(uintptr_t)i};
    *count_p = count;
    *info_p = threads;
    return GASNET_OK;
}
