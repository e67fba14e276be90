/* wraps.c - the numbers of requests to a peer, which say when a published list may be used: a list
 * that is used after very many requests to another entry of the table, and at the moment when the
 * numbers exceed 32 bits.
 *
 *   wraps [WORD...]     which of the scenes; all without
 *
 * Process 1 puts to two entries of process 0's table: one is published, the other is not, so that
 * what goes there are messages.
 */
#include "other/portals3/src/engine/engine.h"
#include "other/portals3/src/transport/verbs.h"
#include "other/portals3/tests/scene.h"

enum { MESSAGES = PT + 1, MOST = 40 };

static unsigned char *memory;
static ptl_handle_md_t md;

static ptl_sr_value_t fast_puts(void)
{
    ptl_sr_value_t count;
    must(PtlNIStatus(family_ni, PTL_SR_FAST_PUTS, &count));
    return count;
}

static void acknowledged_put(ptl_pt_index_t pt, ptl_size_t length)
{
    must(PtlPutRegion(md, 0, length, PTL_ACK_REQ, family->id[0], pt, 0, 0, 0, 0));
    well(PTL_EVENT_SEND_END);
    well(PTL_EVENT_ACK);
}

/* As if so many more requests had gone to the entry that is not published. */
static void pass_requests(uint64_t count)
{
    struct ptli_verbs *v = ptli_verbs(ptli_engines[PTL_IFACE_DEFAULT].transport);
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_node *node = ptli_verbs_known_node(v, family->id[!family_rank]);
    if (family_rank == 0) {
        node->taken += count;
    } else {
        node->queued += count;
        node->sent += count;
        node->seen += count;
    }
    ptli_mutex_unlock(&v->posting.lock);
}

/* Until puts to the published entry go by RDMA. */
static void meet(void)
{
    begin();
    memory = family_memory(PAGE);
    if (family_rank == 0) {
        family_attach(PT, 0, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
        family_attach(MESSAGES, 0, describe(memory, PAGE, PTL_MD_OP_PUT, PTL_EQ_NONE), PTL_RETAIN);
    } else {
        md = bind_md(memory, PAGE);
    }
    family_barrier(NULL);
    for (int i = 0; family_rank == 1 && fast_puts() == 0; i++) {
        if (i == 1000) family_fail("no put went by RDMA");
        acknowledged_put(PT, 8);
    }
    family_barrier(NULL);
}

static void put_by_list(ptl_size_t length)
{
    const ptl_sr_value_t before = fast_puts();
    acknowledged_put(PT, length);
    if (fast_puts() == before) family_fail("a put of %zu bytes went as a message", (size_t)length);
}

static void part(void)
{
    family_barrier(NULL);
    family_close();
}

/* The number of the last message to the published entry is far behind. */
static void far_behind(void)
{
    static const uint64_t counts[] = {INT32_MAX, 1, 1, 1 << 30, 1 << 30, 1 << 30};
    meet();
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        pass_requests(counts[i]);
        family_barrier(NULL);
        if (family_rank == 1) {
            put_by_list(8);
            put_by_list(PAGE);
        }
        family_barrier(NULL);
    }
    part();
}

/* What is posted by the list waits for the messages before it, on both sides of 2^32. */
static void at_the_end(void)
{
    meet();
    pass_requests(UINT32_MAX - MOST / 2);
    family_barrier(NULL);
    for (int i = 0; family_rank == 1 && i < MOST; i++) {
        acknowledged_put(MESSAGES, 8);
        put_by_list(i % 2 ? PAGE : 8);
    }
    part();
}

int main(int argc, char **argv)
{
    scene(argc, argv, "behind", 2, far_behind, false,
          "a list is used however many requests went elsewhere since it was lent");
    scene(argc, argv, "end", 2, at_the_end, false, "and while the requests' numbers pass 2^32");
    return scenes_over();
}
