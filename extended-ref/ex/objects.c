/* objects.c - the primordial objects of GASNet-EX, and what they tell.  */
#include "extended-ref/ex/objects.h"

#include "core/am/am.h"
#include "core/am/am_wire.h"
#include "core/am/context.h"
#include "core/job/job.h"
#include "core/rdma/published.h"
#include "core/report.h"
#include "extended-ref/shm_transfer.h"
#include "gasnet.h"

struct gex_Client_s gasnete_client = {.name = "LEGACY", .flags = GEX_FLAG_USES_GASNET1};
static struct gex_Segment_s segment = {.client = &gasnete_client}; /* the attached one */
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

/* --- segments --- */

/* The segment of an endpoint of any rank; size 0: none is known. */
static gasnetc_segment_t objects_bound(gex_Rank_t node, gex_EP_Index_t index)
{
    if (index == 0) return gasnetc_peers[node].segment;
    if (node != gasnetc_job.rank) return gasnetc_published_by(node, index).segment;
    const gex_Segment_t mine = gasnete_own_segment(index);
    if (!mine) return (gasnetc_segment_t){.size = 0};
    return (gasnetc_segment_t){.base = (uintptr_t)mine->addr, .size = mine->size};
}

/* Where that is in this process, or NULL. */
static void *objects_mapped(gex_Rank_t node, const gasnetc_segment_t *bound)
{
    const gasnete_shm_peer_t *shm = gasnete_shm_peer(node);
    if (node == gasnetc_job.rank) return (void *)bound->base;
    return shm ? gasnete_shm_at(shm, (void *)bound->base, bound->size) : NULL;
}

gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                       void **localaddr_p, uintptr_t *size_p, gex_Flags_t flags)
{
    const gex_Rank_t job_rank = gasneti_jobrank(tm, rank);
    const gasnetc_segment_t bound = objects_bound(job_rank, tm->index);
    (void)flags;
    if (owneraddr_p) *owneraddr_p = (void *)bound.base;
    if (localaddr_p) *localaddr_p = objects_mapped(job_rank, &bound);
    if (size_p) *size_p = bound.size;
    return GEX_EVENT_INVALID;
}

int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
                           uintptr_t *size_p)
{
    if (!objects_bound(gasneti_jobrank(tm, rank), tm->index).size) return GASNET_ERR_RESOURCE;
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
