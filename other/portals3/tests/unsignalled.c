/* unsignalled.c - operations without an event: they complete with what comes behind them, or when
 * they stand in the way; what they hold is let go of all the same.
 *
 *   silent [WORD...]     which of the scenes; all without
 *
 * One process has published its memory; the putter puts into it by RDMA, from an MD without a
 * queue.
 */
#include <signal.h>
#include <string.h>

#include "other/portals3/tests/scene.h"

enum { MOST = 40 }; /* more than any device is asked about at once */

static int putter; /* which of the two */
static unsigned char *memory;
static ptl_handle_md_t target, told;

static ptl_handle_md_t bind_silent(void)
{
    ptl_handle_md_t md;
    must(PtlMDBind(family_ni, describe(memory, PAGE, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
    return md;
}

static ptl_sr_value_t fast_puts(void)
{
    ptl_sr_value_t count;
    must(PtlNIStatus(family_ni, PTL_SR_FAST_PUTS, &count));
    return count;
}

static void put_told(void)
{
    put(told, 8, !putter, 0, 0, PTL_ACK_REQ);
    well(PTL_EVENT_SEND_END);
    well(PTL_EVENT_ACK);
}

/* Puts `count` times 8 bytes, one behind the other, by RDMA. */
static void put_silently(ptl_handle_md_t md, int count)
{
    const ptl_sr_value_t before = fast_puts();
    for (int i = 0; i < count; i++)
        must(PtlPutRegion(md, 8 * (ptl_size_t)i, 8, PTL_NOACK_REQ, family->id[!putter], PT, 0, 0,
                          8 * (ptl_size_t)i, 0));
    if (fast_puts() != before + (unsigned)count) family_fail("a put did not go by RDMA");
}

/* Unlinks an MD, as soon as it is not in use; an alarm ends the test if it stays in use. */
static void unlink_it(ptl_handle_md_t md)
{
    int code;
    while ((code = PtlMDUnlink(md)) == PTL_MD_IN_USE) {
    }
    must(code);
}

static void meet(void)
{
    begin();
    memory = family_memory(PAGE);
    if (family_rank != putter)
        target = family_attach(PT, 0, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
    else
        told = bind_md(memory, PAGE);
    family_barrier(NULL);
    for (int i = 0; family_rank == putter && fast_puts() == 0; i++) {
        if (i == 1000) family_fail("no put went by RDMA");
        put_told();
    }
    family_barrier(NULL);
}

static void part(void)
{
    family_barrier(NULL);
    family_close();
}

/* --- descriptors that unsignalled puts hold --- */

static void unlinking(void)
{
    meet();
    for (int n = 1; family_rank == putter && n <= MOST; n++) {
        ptl_handle_md_t md = bind_silent(), attached;
        ptl_handle_me_t me;
        int code;
        put_silently(md, n);
        unlink_it(md);

        md = bind_silent();
        put_silently(md, n);
        ptl_md_t other = describe(memory, PAGE / 2, 0, PTL_EQ_NONE);
        while ((code = PtlMDUpdate(md, NULL, &other, PTL_EQ_NONE)) == PTL_MD_NO_UPDATE) {
        }
        must(code);
        put_silently(md, n);
        unlink_it(md);

        must(PtlMEAttach(family_ni, PT + 1, family->id[!putter], 0, 0, PTL_RETAIN, PTL_INS_AFTER,
                         &me));
        must(PtlMDAttach(me, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN, &attached));
        put_silently(attached, n);
        while ((code = PtlMEUnlink(me)) == PTL_ME_IN_USE) {
        }
        must(code);
    }
    part();
}

/* The completion of one operation covers all before it on the same connection. */
static void behind_them(void)
{
    meet();
    for (int n = 1; family_rank == putter && n <= MOST; n++) {
        ptl_handle_md_t md = bind_silent();
        put_silently(md, n);
        put_told();
        must(PtlMDUnlink(md));
    }
    part();
}

/* --- published lists that unsignalled puts hold --- */

/* Revokes the list while the putter does nothing: no data come afterwards. */
static void list_taken_back(void)
{
    meet();
    if (family_rank == putter) {
        memset(memory, 7, PAGE);
        put_silently(bind_silent(), 3);
        atomic_store(&family->flag[0], 1);
        family_await(1, 1);
    } else {
        family_await(0, 1);
        must(PtlMDUnlink(target));
        for (int i = 0; i < 24; i++)
            if (memory[i] != 7) family_fail("byte %d has not come", i);
        atomic_store(&family->flag[1], 1);
    }
    part();
}

/* Tests that a revoked list may be lent again, and used again. */
static void lists_again(void)
{
    enum { TIMES = 20 };
    meet();
    ptl_handle_md_t md = family_rank == putter ? bind_silent() : target;
    for (uint32_t i = 1; i <= TIMES; i++) {
        if (family_rank == putter) {
            const ptl_sr_value_t before = fast_puts();
            while (fast_puts() == before) put_told();
            put_silently(md, (int)i % 17 + 1);
            get(told, 8, !putter, 0, 0); /* which holds the list until it is through */
            well(PTL_EVENT_REPLY_END);
            atomic_store(&family->flag[0], i);
            family_await(1, i);
        } else {
            family_await(0, i);
            must(PtlMDUnlink(md));
            md = family_attach(PT, 0, describe(memory, PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
            atomic_store(&family->flag[1], i);
        }
    }
    part();
}

/* --- a peer that dies --- */

static void death(void)
{
    putter = 1;
    meet();
    if (family_rank == 0) {
        atomic_store(&family->flag[0], 1);
        raise(SIGKILL);
    }
    family_await(0, 1);
    ptl_handle_md_t md = bind_silent();
    for (int i = 0; i < 10 * MOST; i++)
        must(PtlPutRegion(md, 0, 8, PTL_NOACK_REQ, family->id[!putter], PT, 0, 0, 0, 0));
    unlink_it(md);
    family_close();
}

int main(int argc, char **argv)
{
    scene(argc, argv, "unlinking", 2, unlinking, false,
          "what silent operations hold is let go of when it is to go");
    scene(argc, argv, "behind", 2, behind_them, false,
          "a completion ends the unsignalled operations before it");
    scene(argc, argv, "list", 2, list_taken_back, false,
          "a list is returned when all data are there, without any event");
    scene(argc, argv, "again", 2, lists_again, false,
          "lists are lent and taken back over and over");
    scene(argc, argv, "death", 2, death, true, "a peer that is gone holds nothing");
    return scenes_over();
}
