/* shm_traced.c - transfers to and from shared-memory peers while a trace is written. */
#include "core/job/job.h"
#include "core/trace/trace.h"
#include "extended-ref/shm_transfer.h"
#include "other/base/tools.h"

void *gasnete_shm_traced_at(gasnet_node_t node, const void *start, size_t nbytes)
{
    if (!gasneti_trace_on || !gasnete_shm_peer(node)) return NULL;
    const gasnetc_segment_t *segment = &gasnetc_peers[node].segment;
    const uintptr_t offset = (uintptr_t)start - segment->base;
    if (offset >= segment->size || nbytes > segment->size - offset) return NULL;
    return (void *)(gasnete_shm_peer(node)->mapped + offset);
}

/* The event of a transfer that began then. */
static void note(uint64_t began, enum gasneti_trace_kind kind, gasnet_node_t node, size_t nbytes)
{
    if (gasneti_trace_within() || (node == gasnetc_job.rank && !gasneti_trace_local)) return;
    gasneti_trace_note(
        began, &(gasneti_trace_event_t){.kind = (uint8_t)kind, .peer = node, .bytes = nbytes});
}

bool gasnete_shm_put_traced(gasnet_node_t node, void *dst, const void *src, size_t nbytes)
{
    void *here = gasnete_shm_traced_at(node, dst, nbytes);
    if (!here) return false;
    const uint64_t began = gasneti_clock_ns();
    GASNETI_SHM_STORE(memmove(here, src, nbytes));
    note(began, GASNETI_TRACE_put, node, nbytes);
    return true;
}

bool gasnete_shm_get_traced(void *dst, gasnet_node_t node, const void *src, size_t nbytes)
{
    const void *here = gasnete_shm_traced_at(node, src, nbytes);
    if (!here) return false;
    const uint64_t began = gasneti_clock_ns();
    GASNETI_SHM_LOAD(memmove(dst, here, nbytes));
    note(began, GASNETI_TRACE_get, node, nbytes);
    return true;
}
