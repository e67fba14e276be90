/* objects.c - the primordial objects of GASNet-EX, and what they tell.  */
#include "extended-ref/ex/objects.h"

#include "core/am/am.h"
#include "core/am/am_wire.h"
#include "core/am/context.h"
#include "core/job/job.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "extended-ref/shm_transfer.h"
#include "gasnet.h"

struct gex_Client_s gasnete_client = {.name = "LEGACY", .flags = GEX_FLAG_USES_GASNET1};
static struct gex_Segment_s segment = {.client = &gasnete_client};
struct gex_EP_s gasneti_ep0 = {.client = &gasnete_client};

/* --- start --- */

void gasnete_objects_attach(void)
{
    const gasnetc_segment_t *mine = &gasnetc_peers[gasnetc_job.rank].segment;
    if (!mine->size) return;
    segment.addr = (void *)mine->base;
    segment.size = mine->size;
    gasneti_ep0.segment = &segment;
}

void gasnet_QueryGexObjects(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
                            gex_Segment_t *segment_p)
{
    if (client_p) *client_p = &gasnete_client;
    if (ep_p) *ep_p = &gasneti_ep0;
    if (tm_p) *tm_p = gasnete_all;
    if (segment_p) *segment_p = gasneti_ep0.segment;
}

/* --- pairs --- */

void gasneti_no_such_ep(gex_EP_Index_t index)
{
    gasneti_fatal("gex_TM_Pair names endpoint %d: the most is %d", index, GASNET_MAXEPS - 1);
}

/* --- segments --- */

gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                       void **localaddr_p, uintptr_t *size_p, gex_Flags_t flags)
{
    const gex_Rank_t job_rank = gasneti_jobrank(tm, rank);
    const gasnetc_segment_t *bound = &gasnetc_peers[job_rank].segment;
    (void)flags;
    if (owneraddr_p) *owneraddr_p = (void *)bound->base;
    if (localaddr_p) *localaddr_p = gasnete_shm_base(job_rank);
    if (size_p) *size_p = bound->size;
    return GEX_EVENT_INVALID;
}

int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
                           uintptr_t *size_p)
{
    if (!gasnetc_peers[gasneti_jobrank(tm, rank)].segment.size) return GASNET_ERR_RESOURCE;
    gex_EP_QueryBoundSegmentNB(tm, rank, owneraddr_p, localaddr_p, size_p, 0);
    return GASNET_OK;
}

/* --- tokens --- */

gex_TI_t gasnete_token_info(gex_Token_t opaque, gex_Token_Info_t *info)
{
    const gasnetc_token_t *token = opaque;
    uint8_t head = token->head, handler = token->handler;
    if (GASNETC_CHECKING) gasnetc_check_token("gex_Token_Info", token);
    if (!token->loopback) {
        const gasnetc_am_header_t *header = token->message->data;
        head = header->head;
        handler = header->handler;
    }
    *info = (gex_Token_Info_t){.gex_srcrank = token->peer->net.rank,
                               .gex_ep = &gasneti_ep0,
                               .gex_entry = gasnetc_handler_entry(handler),
                               .gex_is_req = token->answer != GASNETC_ANSWER_NONE,
                               .gex_is_long = (head & 3) == GASNETC_AM_LONG};
    return GEX_TI_ALL;
}
