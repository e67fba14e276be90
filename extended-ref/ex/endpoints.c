/* endpoints.c - endpoints beyond the primordial one, and the segments that clients create for them.
 *
 * core/rdma/published.h has the memory, and what ranks know of each other's; this file has the
 * objects and the calls.
 */
#include <stdlib.h>
#include <string.h>

#include "core/am/context.h"
#include "core/rdma/published.h"
#include "core/report.h"
#include "extended-ref/ex/objects.h"
#include "extended-ref/handles.h"
#include "gasnet.h"

/* A segment that the client has created. */
typedef struct endpoints_segment {
    struct gex_Segment_s face; /* first */
    gasnetc_created_t memory;
    bool allocated; /* by the library */
    bool pinned;    /* bound to an endpoint */
    struct endpoints_segment *next;
} endpoints_segment_t;

static gasneti_lock_t lock; /* of all that follows */
static gex_EP_t endpoints[GASNET_MAXEPS] = {&gasneti_ep0};
static unsigned count = 1;
static endpoints_segment_t *segments; /* that exist, in a list */
static uint64_t ended;                /* bit i: the segment of endpoint i was destroyed */

static gasneti_lock_t pinning; /* of `pinned` and the registrations of all segments */

_Static_assert(GASNET_MAXEPS <= 64, "a bit each");

/* --- look-ups; lock held --- */

static bool is_endpoint(gex_EP_t ep)
{
    for (unsigned i = 0; i < count; i++)
        if (ep == endpoints[i]) return true;
    return false;
}

/* The link of the list that points to the segment, or to NULL. */
static endpoints_segment_t **segments_find(gex_Segment_t segment)
{
    endpoints_segment_t **link = &segments;
    while (*link && &(*link)->face != segment) link = &(*link)->next;
    return link;
}

/* --- queries --- */

gex_Segment_t gasnete_own_segment(gex_EP_Index_t index)
{
    gasneti_lock(&lock);
    const gex_Segment_t segment = index < count ? endpoints[index]->segment : GEX_SEGMENT_INVALID;
    gasneti_unlock(&lock);
    return segment;
}

/* --- gex_EP_Create --- */

static int client_error(const char *call, gex_Client_t client, const void *output)
{
    if (client == &gasnete_client && output) return GASNET_OK;
    return gasneti_error(GASNET_ERR_BAD_ARG, call, "%s",
                         output ? "the client is none of gex_Client_Init" : "the output is NULL");
}

int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t caps,
                  gex_Flags_t flags)
{
    if (GASNETC_CHECKING) gasnetc_check_client_code(__func__);
    const int error = client_error(__func__, client, ep_p);
    if (error != GASNET_OK) return error;
    if (caps != GEX_EP_CAPABILITY_RMA || flags & ~GEX_FLAG_HINT_ACCEL_ALL)
        return gasneti_error(GASNET_ERR_BAD_ARG, __func__,
                             "capabilities 0x%x and flags 0x%x: endpoints other than the "
                             "primordial one have GEX_EP_CAPABILITY_RMA alone",
                             caps, flags);
    gex_EP_t ep = gasneti_calloc(1, sizeof *ep, "an endpoint");
    ep->client = client;
    ep->flags = flags;
    gasneti_lock(&lock);
    const bool room = count < GASNET_MAXEPS;
    if (room) {
        ep->index = (gex_EP_Index_t)count;
        endpoints[count++] = ep;
    }
    gasneti_unlock(&lock);
    if (!room) {
        free(ep);
        return gasneti_error(GASNET_ERR_RESOURCE, __func__,
                             "there are %d endpoints (GASNET_MAXEPS) already", GASNET_MAXEPS);
    }
    *ep_p = ep;
    return GASNET_OK;
}

/* --- gex_Segment_Create, gex_Segment_Destroy --- */

static int length_error(const char *call, gex_Addr_t addr, uintptr_t length)
{
    const uintptr_t most = addr ? UINTPTR_MAX - (uintptr_t)addr : gasnetc_max_local_segsize();
    if (length && length <= most) return GASNET_OK;
    return gasneti_error(GASNET_ERR_BAD_ARG, call,
                         "a segment of %zu bytes: it is at least one, and at most %zu of %s",
                         (size_t)length, (size_t)most,
                         addr ? "memory there" : "the library's (gasnet_getMaxLocalSegmentSize)");
}

int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t addr,
                       uintptr_t length, gex_MK_t kind, gex_Flags_t flags)
{
    if (GASNETC_CHECKING) gasnetc_check_client_code(__func__);
    int error = client_error(__func__, client, segment_p);
    if (error == GASNET_OK) error = length_error(__func__, addr, length);
    if (error != GASNET_OK) return error;
    if (kind != GEX_MK_HOST || flags)
        return gasneti_error(GASNET_ERR_BAD_ARG, __func__,
                             "kind %p and flags 0x%x: there is host memory, GEX_MK_HOST, alone",
                             (void *)kind, flags);
    endpoints_segment_t *segment = calloc(1, sizeof *segment);
    void *base = addr ? addr : gasnetc_created_alloc(length);
    if (!segment || !base) {
        free(segment);
        if (!addr && base) gasnetc_created_free(base, length);
        return gasneti_error(GASNET_ERR_RESOURCE, __func__, "no memory for a segment of %zu bytes",
                             (size_t)length);
    }
    segment->face = (struct gex_Segment_s){.client = client, .addr = base, .size = length};
    segment->memory = (gasnetc_created_t){.base = (uintptr_t)base, .size = length};
    segment->allocated = !addr;
    gasneti_lock(&lock);
    segment->next = segments;
    segments = segment;
    gasneti_unlock(&lock);
    *segment_p = &segment->face;
    return GASNET_OK;
}

/* Takes the segment from its endpoints; returns their bits. */
static uint64_t endpoints_lose(const endpoints_segment_t *segment)
{
    uint64_t theirs = 0;
    for (unsigned i = 1; i < count; i++) {
        if (endpoints[i]->segment != &segment->face) continue;
        endpoints[i]->segment = GEX_SEGMENT_INVALID;
        theirs |= UINT64_C(1) << i;
    }
    ended |= theirs;
    return theirs;
}

void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags)
{
    (void)flags;
    if (GASNETC_CHECKING) gasnetc_check_client_code(__func__);
    gasneti_lock(&lock);
    endpoints_segment_t **link = segments_find(segment), *const found = *link;
    if (found) *link = found->next;
    const uint64_t theirs = found ? endpoints_lose(found) : 0;
    gasneti_unlock(&lock);
    if (!found)
        gasneti_fatal("%s is given %p, which is %s", __func__, (void *)segment,
                      segment && segment == gasneti_ep0.segment
                          ? "the attached segment: that lives as long as the job"
                          : "no segment that gex_Segment_Create has made");
    for (unsigned i = 1; i < GASNET_MAXEPS; i++)
        if (theirs >> i & 1) gasnetc_withdrawn(gasnetc_job.rank, i);
    gasnetc_created_unpin(&found->memory);
    gasnetc_created_forget(&found->memory);
    if (found->allocated) gasnetc_created_free((void *)found->memory.base, found->memory.size);
    free(found);
}

/* --- gex_EP_BindSegment --- */

/* What is wrong with the arguments, or NULL; lock held. */
static const char *bind_error(gex_EP_t ep, gex_Segment_t segment)
{
    if (!ep || !is_endpoint(ep)) return "the endpoint is none of gex_EP_Create";
    if (ep == &gasneti_ep0) return "the primordial endpoint gets its segment by gex_Segment_Attach";
    if (ep->segment) return "the endpoint has a segment already";
    if (ended >> ep->index & 1) return "the endpoint's segment was destroyed, and it gets no other";
    if (!segment || (segment != gasneti_ep0.segment && !*segments_find(segment)))
        return "the segment does not exist";
    return NULL;
}

/* Registers the memory if it is bound for the first time.  Registering takes long: other threads
 * that bind wait, but not those that look an endpoint up. */
static bool segment_pin(gex_Segment_t segment, char *why, size_t why_size)
{
    gasneti_lock(&lock);
    endpoints_segment_t *const created = *segments_find(segment);
    gasneti_unlock(&lock);
    if (!created) return true; /* the attached one */
    gasneti_lock(&pinning);
    if (!created->pinned) created->pinned = gasnetc_created_pin(&created->memory, why, why_size);
    const bool pinned = created->pinned;
    gasneti_unlock(&pinning);
    return pinned;
}

int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t segment, gex_Flags_t flags)
{
    char why[256] = "";
    (void)flags;
    if (GASNETC_CHECKING) gasnetc_check_client_code(__func__);
    gasneti_lock(&lock);
    const char *error = bind_error(ep, segment);
    gasneti_unlock(&lock);
    if (error) return gasneti_error(GASNET_ERR_BAD_ARG, __func__, "%s", error);
    if (!segment_pin(segment, why, sizeof why))
        return gasneti_error(GASNET_ERR_RESOURCE, __func__,
                             "cannot register a segment of %zu KB at %p: %s",
                             (size_t)segment->size / 1024, segment->addr, why);
    gasneti_lock(&lock);
    ep->segment = segment;
    gasneti_unlock(&lock);
    return GASNET_OK;
}

/* --- gex_EP_PublishBoundSegment --- */

/* What a member sends: the endpoints whose segments are no more, then announcements. */
typedef struct news {
    char *bytes;
    uint64_t size;
} news_t;

static void news_take(uint32_t rank, const news_t *news)
{
    uint64_t without;
    if (!news->size) return;
    if (news->size < sizeof without)
        gasneti_malformed(rank, (uint32_t)news->size, "list of destroyed segments");
    memcpy(&without, news->bytes, sizeof without);
    for (unsigned i = 1; i < GASNET_MAXEPS; i++)
        if (without >> i & 1) gasnetc_withdrawn(rank, i);
    for (size_t at = sizeof without; at < news->size;)
        at += gasnetc_announced(rank, news->bytes + at, news->size - at);
}

/* The memory of an endpoint's segment; lock held. */
static gasnetc_created_t memory_of(gex_EP_t ep)
{
    const endpoints_segment_t *created = *segments_find(ep->segment);
    if (created) return created->memory;
    return (gasnetc_created_t){.base = (uintptr_t)ep->segment->addr, .size = ep->segment->size};
}

/* Composes the announcements of those of the endpoints that have segments; returns their bytes.
 * Lock held.  `to` NULL: returns them alone. */
static size_t news_announce(gex_EP_t const *eps, size_t n, char *to)
{
    size_t size = 0;
    for (size_t i = 0; i < n && is_endpoint(eps[i]); i++) {
        if (eps[i] == &gasneti_ep0 || !eps[i]->segment) continue;
        const gasnetc_created_t memory = memory_of(eps[i]);
        size += gasnetc_announce(eps[i]->index, &memory, to ? to + size : NULL);
    }
    return size;
}

/* Empty if there is nothing to tell. */
static news_t news_of(gex_EP_t const *eps, size_t n)
{
    news_t news = {.size = 0};
    gasneti_lock(&lock);
    const size_t size = news_announce(eps, n, NULL);
    if (size || ended) {
        news.size = sizeof ended + size;
        news.bytes = gasneti_calloc(1, news.size, "the news of segments");
        memcpy(news.bytes, &ended, sizeof ended);
        news_announce(eps, n, news.bytes + sizeof ended);
    }
    gasneti_unlock(&lock);
    return news;
}

/* Gathers the news of all members, and takes it. */
static void news_exchange(const char *call, gex_TM_t tm, const news_t *mine)
{
    uint64_t *sizes = gasneti_calloc(tm->size, sizeof *sizes, call), most = 0;
    gasnete_coll_gather_bytes(call, tm, sizes, &mine->size, sizeof *sizes);
    for (gex_Rank_t r = 0; r < tm->size; r++)
        if (sizes[r] > most) most = sizes[r];
    if (most) {
        char *all = gasneti_calloc(tm->size, most, call), *own = gasneti_calloc(1, most, call);
        if (mine->size) memcpy(own, mine->bytes, mine->size);
        gasnete_coll_gather_bytes(call, tm, all, own, most);
        for (gex_Rank_t r = 0; r < tm->size; r++)
            if (r != tm->rank)
                news_take(gasneti_jobranks(tm)[r], &(news_t){all + r * most, sizes[r]});
        free(own);
        free(all);
    }
    free(sizes);
}

/* The first endpoint of the list that does not exist; n: none. */
static size_t publish_wrong(gex_EP_t const *eps, size_t n)
{
    size_t i = 0;
    gasneti_lock(&lock);
    while (i < n && is_endpoint(eps[i])) i++;
    gasneti_unlock(&lock);
    return i;
}

/* This rank knows its own before peers can send messages that name it. */
int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t n, gex_Flags_t flags)
{
    (void)flags;
    gasnete_check_team(__func__, tm);
    const size_t usable = eps ? publish_wrong(eps, n) : 0;
    news_t mine = news_of(eps, usable);
    news_take(gasnetc_job.rank, &mine);
    news_exchange(__func__, tm, &mine);
    free(mine.bytes);
    if (usable == n) return GASNET_OK;
    return gasneti_error(GASNET_ERR_BAD_ARG, __func__, "%s at %zu of a list of %zu endpoints",
                         eps ? "no endpoint" : "a NULL list", usable, n);
}
