/* internal_am.c - common code of the Extended API's own messages: operations that wait for a Reply,
 * the Reply that only completes one, and the check that a range lies in a segment.
 *
 * No function here sends or waits.
 */
#include "extended-ref/internal_am.h"

#include "core/completion.h"
#include "core/lock.h"
#include "core/rdma/rdma.h"
#include "core/report.h"

static gasnet_seginfo_t *segments; /* [nodes] */

void gasnete_segments_read(void)
{
    int nodes = (int)gasneti_nodes;
    if (!segments) segments = gasneti_calloc((size_t)nodes, sizeof *segments, "all segments");
    gasnetc_segment_info(segments, nodes);
}

bool gasnete_in_segment(gasnet_node_t node, const void *start, size_t nbytes)
{
    const gasnet_seginfo_t *segment = &segments[node];
    uintptr_t offset = (uintptr_t)start - (uintptr_t)segment->addr;
    return offset <= segment->size && nbytes <= segment->size - offset;
}

void gasnete_check_segment(gasnet_node_t node, const void *start, size_t nbytes, const char *what)
{
    if (!gasnete_in_segment(node, start, nbytes) &&
        !gasnetc_is_published(node, (uintptr_t)start, nbytes))
        gasnete_check_attached(node, start, nbytes, what);
}

void gasnete_check_attached(gasnet_node_t node, const void *start, size_t nbytes, const char *what)
{
    if (gasnete_in_segment(node, start, nbytes)) return;
    uintptr_t base = (uintptr_t)segments[node].addr;
    gasneti_fatal("%s of %zu bytes at %#lx is outside the segment of %s, which is [%#lx, %#lx)",
                  what, nbytes, (unsigned long)(uintptr_t)start, gasneti_rank_name(node),
                  (unsigned long)base, (unsigned long)(base + segments[node].size));
}

/* Inlined, it would cost each Request saved registers: row ex_ad_round of make bench. */
static void __attribute__((cold, noinline))
check_published(gasnet_token_t token, const void *start, size_t nbytes, const char *what)
{
    const gasnet_node_t me = gasnet_mynode();
    if (gasnetc_is_published(me, (uintptr_t)start, nbytes)) return;
    gasneti_fatal(
        "rank %u asks for %s of %zu bytes at %p, outside this rank's segment of %zu bytes "
        "at %p",
        (unsigned)gasnetc_token_source(token), what, nbytes, start, (size_t)segments[me].size,
        segments[me].addr);
}

void gasnete_check_requested(gasnet_token_t token, const void *start, size_t nbytes,
                             const char *what)
{
    if (!gasnete_in_segment(gasneti_mynode, start, nbytes))
        check_published(token, start, nbytes, what);
}

/* --- operations that wait for a Reply --- */

struct gasnete_waiting gasnete_waiting;

void gasnete_too_many_wait(void)
{
    gasneti_fatal("out of memory for the record of an operation; keep fewer of them outstanding, "
                  "or raise the limit (ulimit -v)");
}

void gasnete_wrong_reply(gasnet_token_t token, const char *field)
{
    gasneti_fatal("a Reply from %s fits no operation of this rank: bad %s; do all ranks run the "
                  "same program and library?",
                  gasneti_rank_name(gasnetc_token_source(token)), field);
}

gasnete_operation_t gasnete_expected(gasnet_token_t token, enum gasnete_reply reply,
                                     gasnet_handlerarg_t number_high,
                                     gasnet_handlerarg_t number_low, size_t nbytes)
{
    return gasnete_answered(token, reply, gasnete_word(number_high, number_low), nbytes);
}

void gasnete_done_handler(gasnet_token_t token, gasnet_handlerarg_t number_high,
                          gasnet_handlerarg_t number_low)
{
    gasnetc_counter_ack(
        gasnete_expected(token, GASNETE_REPLY_DONE, number_high, number_low, 0).counter);
}
