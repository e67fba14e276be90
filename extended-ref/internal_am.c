/* internal_am.c - common code of the Extended API's own messages: the acknowledgement that
 * completes an operation, and the check that a range lies in a segment.
 *
 * No function here sends or waits.
 */
#include "extended-ref/internal_am.h"

#include <stdlib.h>

#include "core/completion.h"
#include "core/report.h"

static gasnet_seginfo_t *segments; /* [nodes] */

void gasnete_segments_attach(void)
{
    int nodes = (int)gasnet_nodes();
    segments = calloc((size_t)nodes, sizeof *segments);
    if (segments == NULL || gasnetc_segment_info(segments, nodes) != GASNET_OK)
        gasneti_fatal("out of memory: %d entries for the table of segments", nodes);
}

bool gasnete_in_segment(gasnet_node_t node, const void *start, size_t nbytes)
{
    const gasnet_seginfo_t *segment = &segments[node];
    uintptr_t offset = (uintptr_t)start - (uintptr_t)segment->addr;
    return offset <= segment->size && nbytes <= segment->size - offset;
}

void gasnete_check_segment(gasnet_node_t node, const void *start, size_t nbytes, const char *what)
{
    if (gasnete_in_segment(node, start, nbytes)) return;
    uintptr_t base = (uintptr_t)segments[node].addr;
    gasneti_fatal("%s of %zu bytes at %#lx is outside the segment of %s, which is [%#lx, %#lx)",
                  what, nbytes, (unsigned long)(uintptr_t)start, gasneti_rank_name(node),
                  (unsigned long)base, (unsigned long)(base + segments[node].size));
}

void gasnete_check_requested(gasnet_token_t token, const void *start, size_t nbytes,
                             const char *what)
{
    gasnet_node_t me = gasnet_mynode(), from = 0;
    if (gasnete_in_segment(me, start, nbytes)) return;
    gasnet_AMGetMsgSource(token, &from);
    gasneti_fatal(
        "rank %u asks for %s of %zu bytes at %p, outside this rank's segment of %zu bytes "
        "at %p",
        (unsigned)from, what, nbytes, start, (size_t)segments[me].size, segments[me].addr);
}

void gasnete_done_handler(gasnet_token_t token, gasnet_handlerarg_t counter_high,
                          gasnet_handlerarg_t counter_low)
{
    (void)token;
    gasnetc_counter_ack(gasnete_pointer(counter_high, counter_low));
}
