/* lists.c - rules of match lists: order, filters, what makes the walk go on, where a message is
 * lost. */
#include <stdint.h>
#include <string.h>

#include "other/portals3/tests/rules.h"

enum { PT = 5, PUT = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE };

static ptl_handle_me_t me(ptl_handle_me_t base, ptl_match_bits_t bits, ptl_ins_pos_t pos)
{
    ptl_handle_me_t made = PTL_INVALID_HANDLE;
    if (base == PTL_INVALID_HANDLE)
        RING_OK(PtlMEAttach(ring.ni, PT, ring_anybody, bits, 0, PTL_RETAIN, pos, &made));
    else
        RING_OK(PtlMEInsert(base, ring_anybody, bits, 0, PTL_RETAIN, pos, &made));
    return made;
}

static void give_md(ptl_handle_me_t to, ptl_handle_eq_t eq, intptr_t name, unsigned int options,
                    ptl_size_t length)
{
    static char memory[256];
    ptl_md_t md = ring_md(memory, length, options, eq);
    md.user_ptr = (void *)name;
    RING_OK(PtlMDAttach(to, md, PTL_RETAIN, NULL));
}

/* Sends n bytes with these bits to the successor; which entry here receives those of the
 * predecessor? */
static intptr_t taker(ptl_handle_md_t source, ptl_handle_eq_t eq, ptl_match_bits_t bits,
                      ptl_size_t n)
{
    ptl_event_t event;
    RING_OK(PtlPutRegion(source, 0, n, PTL_NOACK_REQ, ring.next, PT, 0, bits, 0, 0));
    event = ring_event(eq, PTL_EVENT_PUT_END);
    return (intptr_t)event.md.user_ptr;
}

static void order(ptl_handle_md_t source, ptl_handle_eq_t eq)
{
    ptl_handle_me_t list[6];
    list[3] = me(PTL_INVALID_HANDLE, 7, PTL_INS_BEFORE);
    list[5] = me(PTL_INVALID_HANDLE, 7, PTL_INS_AFTER);
    list[1] = me(PTL_INVALID_HANDLE, 7, PTL_INS_BEFORE);
    list[2] = me(list[3], 7, PTL_INS_BEFORE);
    list[4] = me(list[3], 7, PTL_INS_AFTER);
    list[0] = me(list[1], 7, PTL_INS_BEFORE);
    for (int i = 0; i < 6; i++)
        if (i != 1) give_md(list[i], eq, i, PUT, 8); /* the one without MD is stepped over */
    ring_barrier();
    for (int i = 0; i < 6; i++) {
        if (i != 1) {
            intptr_t who = taker(source, eq, 7, 8);
            ring_expect(who == i, "MD %d took what was %d's", (int)who, i);
        }
        ring_barrier();
        RING_OK(PtlMEUnlink(list[i]));
        ring_barrier();
    }
    ring_done("equal MEs are tried in the order of the list; head, tail, before and after");
}

static void filters(ptl_handle_md_t source, ptl_handle_eq_t eq)
{
    ptl_process_id_t stranger = ring.previous, same_node = ring.previous, same_pid = ring.previous;
    ptl_handle_me_t list[5];
    stranger.pid ^= 0x5555;
    same_node.pid = PTL_PID_ANY;
    same_pid.nid = PTL_NID_ANY;
    RING_OK(PtlMEAttach(ring.ni, PT, stranger, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &list[0]));
    RING_OK(PtlMEAttach(ring.ni, PT, same_node, 0x10, 0xf, PTL_RETAIN, PTL_INS_AFTER, &list[1]));
    RING_OK(PtlMEAttach(ring.ni, PT, same_pid, 0x20, 0xf, PTL_RETAIN, PTL_INS_AFTER, &list[2]));
    RING_OK(PtlMEAttach(ring.ni, PT, ring.previous, 0x30, 0, PTL_RETAIN, PTL_INS_AFTER, &list[3]));
    RING_OK(PtlMEAttach(ring.ni, PT, ring_anybody, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &list[4]));
    for (int i = 0; i < 5; i++) give_md(list[i], eq, i, PUT, 256);
    ring_barrier();
    ring_expect(taker(source, eq, 0x1a, 1) == 1, "node given, pid wild");
    ring_expect(taker(source, eq, 0x25, 1) == 2, "pid given, node wild");
    ring_expect(taker(source, eq, 0x30, 1) == 3, "both given");
    ring_expect(taker(source, eq, 0x31, 1) == 4, "one bit off goes on");
    ring_expect(taker(source, eq, ~0ull, 1) == 4, "all bits ignored");
    ring_barrier();
    for (int i = 0; i < 5; i++) RING_OK(PtlMEUnlink(list[i]));
    ring_done("ignore bits, and filters by node and process");
}

static void falls_through(ptl_handle_md_t source, ptl_handle_eq_t eq)
{
    ptl_handle_me_t list[5];
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT);
    ptl_md_t asleep = ring_md(NULL, 0, PUT, eq);
    for (int i = 0; i < 5; i++) list[i] = me(PTL_INVALID_HANDLE, 9, PTL_INS_AFTER);
    give_md(list[0], eq, 0, PTL_MD_OP_GET, 256);
    give_md(list[1], eq, 1, PUT, 15);
    asleep.threshold = 0;
    RING_OK(PtlMDAttach(list[2], asleep, PTL_UNLINK, NULL));
    give_md(list[3], eq, 3, PUT | PTL_MD_MANAGE_REMOTE, 16);
    ring_barrier();
    ring_expect(taker(source, eq, 9, 16) == 3, "refused by operation, space and inactivity");
    ring_expect(taker(source, eq, 9, 10) == 1, "the small one takes what fits");
    RING_OK(PtlPutRegion(source, 0, 17, PTL_ACK_REQ, ring.next, PT, 0, 9, 0, 0));
    ring_await_register(PTL_SR_DROP_COUNT, drops + 1);
    ring_no_event(eq);
    ring_barrier();
    for (int i = 0; i < 5; i++) RING_OK(PtlMEUnlink(list[i]));
    ring_done("a refusal goes on with the next ME; the end of the list drops once, in silence");
}

/* A swap needs an entry that allows both; a get one that allows gets. */
static void by_operation(ptl_handle_eq_t eq)
{
    static const unsigned int allowed[] = {PTL_MD_OP_PUT, PTL_MD_OP_GET,
                                           PTL_MD_OP_PUT | PTL_MD_OP_GET};
    char bytes[8] = {0};
    ptl_handle_eq_t eq_back = ring_eq(8);
    ptl_handle_md_t back = ring_bind(ring_md(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq_back));
    ptl_handle_md_t there = ring_bind(ring_md(bytes, 8, 0, PTL_EQ_NONE));
    ptl_handle_me_t list[3];
    ptl_event_t event;
    for (int i = 0; i < 3; i++) {
        list[i] = me(PTL_INVALID_HANDLE, 11, PTL_INS_AFTER);
        give_md(list[i], eq, i, allowed[i] | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, 8);
    }
    ring_barrier();
    RING_OK(PtlGet(back, ring.next, PT, 0, 11, 0));
    event = ring_event(eq, PTL_EVENT_GET_END);
    ring_expect(event.md.user_ptr == (void *)1, "the get went elsewhere");
    ring_event(eq_back, PTL_EVENT_REPLY_END);
    RING_OK(PtlGetPut(back, there, ring.next, PT, 0, 11, 0, 0));
    event = ring_event(eq, PTL_EVENT_GETPUT_END);
    ring_expect(event.md.user_ptr == (void *)2, "the swap went elsewhere");
    ring_event(eq_back, PTL_EVENT_REPLY_END);
    ring_barrier();
    for (int i = 0; i < 3; i++) RING_OK(PtlMEUnlink(list[i]));
    ring_unlink(back);
    ring_unlink(there);
    RING_OK(PtlEQFree(eq_back));
    ring_done("gets skip entries for puts only, swaps those that do not allow both");
}

static void long_list(ptl_handle_md_t source, ptl_handle_eq_t eq)
{
    enum { MES = 500 };
    ptl_handle_me_t list[MES];
    for (int i = 0; i < MES; i++) {
        list[i] = me(PTL_INVALID_HANDLE, (ptl_match_bits_t)i, PTL_INS_AFTER);
        give_md(list[i], eq, i, PUT | PTL_MD_MANAGE_REMOTE, 16);
    }
    ring_barrier();
    for (int i = 0; i < MES; i += 83)
        ring_expect(taker(source, eq, (ptl_match_bits_t)i, 4) == i, "entry %d", i);
    ring_expect(taker(source, eq, MES - 1, 4) == MES - 1, "the last entry");
    ring_barrier();
    for (int i = 0; i < MES; i++) RING_OK(PtlMEUnlink(list[i]));
    ring_done("a list of 500 MEs");
}

static void any_entry(void)
{
    ptl_pt_index_t pt = PTL_PT_INDEX_ANY, last = 0;
    ptl_handle_me_t list[65];
    int made = 0, result;
    while (made < 65 && (result = PtlMEAttachAny(ring.ni, &pt, ring_anybody, 1, 0, PTL_RETAIN,
                                                 &list[made])) == PTL_OK) {
        ring_expect(made == 0 || pt > last, "entry %u after %u", pt, last);
        last = pt;
        made++;
    }
    ring_expect(made == 64 && result == PTL_PT_FULL, "%d entries, then %s", made,
                PtlErrorStr((unsigned int)result));
    RING_OK(PtlMEUnlink(list[17]));
    RING_OK(PtlMEAttachAny(ring.ni, &pt, ring_anybody, 1, 0, PTL_RETAIN, &list[17]));
    ring_expect(pt == 17, "the entry that is empty again, not %u", pt);
    for (int i = 0; i < made; i++) RING_OK(PtlMEUnlink(list[i]));
    ring_done("PtlMEAttachAny finds what is empty, and says when nothing is");
}

void rules_lists(void)
{
    char bytes[64] = {0};
    ptl_handle_eq_t eq = ring_eq(64);
    ptl_handle_md_t source = ring_bind(ring_md(bytes, sizeof bytes, 0, PTL_EQ_NONE));
    order(source, eq);
    filters(source, eq);
    falls_through(source, eq);
    by_operation(eq);
    long_list(source, eq);
    any_entry();
    ring_unlink(source);
    RING_OK(PtlEQFree(eq));
}
