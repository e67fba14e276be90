/* unlinking.c - rules of going inactive and being unlinked, by the library or by hand. */
#include <stdint.h>
#include <string.h>

#include "other/portals3/tests/rules.h"

enum { PT = 7, QUIET = PTL_MD_EVENT_START_DISABLE, MANY = 3000 };

static void acks_and_thresholds(void)
{
    char target[16], source[16] = {0};
    ptl_handle_eq_t eq = ring_eq(16);
    ptl_handle_md_t md = ring_attach(
        PT, 1, 0, ring_md(target, 16, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET, PTL_EQ_NONE),
        PTL_RETAIN);
    ptl_md_t once = ring_md(source, 16, QUIET, eq), twice = once;
    ptl_handle_md_t from;
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT);
    once.threshold = 1;
    twice.threshold = 2;
    ring_barrier();
    RING_OK(PtlMDBind(ring.ni, twice, PTL_UNLINK, &from));
    RING_OK(PtlPut(from, PTL_ACK_REQ, ring.next, PT, 0, 1, 0, 0));
    ring_event(eq, PTL_EVENT_SEND_END);
    ring_event(eq, PTL_EVENT_ACK);
    ring_event(eq, PTL_EVENT_UNLINK);
    RING_IS(PtlMDUnlink(from), PTL_MD_INVALID);
    /* With a threshold of 1 the send uses it up: the ACK finds no descriptor. */
    RING_OK(PtlMDBind(ring.ni, once, PTL_UNLINK, &from));
    RING_OK(PtlPut(from, PTL_ACK_REQ, ring.next, PT, 0, 1, 0, 0));
    ring_event(eq, PTL_EVENT_SEND_END);
    ring_event(eq, PTL_EVENT_UNLINK);
    ring_await_register(PTL_SR_DROP_COUNT, drops + 1);
    RING_OK(PtlMDBind(ring.ni, once, PTL_RETAIN, &from));
    RING_OK(PtlPut(from, PTL_ACK_REQ, ring.next, PT, 0, 1, 0, 0));
    ring_event(eq, PTL_EVENT_SEND_END);
    ring_await_register(PTL_SR_DROP_COUNT, drops + 2);
    RING_IS(PtlPut(from, PTL_ACK_REQ, ring.next, PT, 0, 1, 0, 0), PTL_MD_INVALID);
    ring_unlink(from);
    ring_no_event(eq);
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    ring_done("put and ACK count two; with a threshold of 1 the ACK is dropped and counted");
}

static void born_inactive(void)
{
    ptl_handle_eq_t eq = ring_eq(16);
    char target[16], source[16] = {0};
    ptl_md_t asleep = ring_md(target, 16, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET, eq);
    ptl_handle_md_t md, from;
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT);
    asleep.threshold = 0;
    md = ring_attach(PT, 2, 0, asleep, PTL_UNLINK);
    from = ring_bind(ring_md(source, 16, QUIET, PTL_EQ_NONE));
    ring_barrier();
    RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 0, 2, 0, 0));
    ring_await_register(PTL_SR_DROP_COUNT, drops + 1);
    ring_barrier();
    asleep.threshold = 1;
    RING_OK(PtlMDUpdate(md, NULL, &asleep, PTL_EQ_NONE));
    ring_barrier();
    RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 0, 2, 0, 0));
    ring_event(eq, PTL_EVENT_PUT_END);
    ring_event(eq, PTL_EVENT_UNLINK);
    ring_barrier();
    ring_unlink(from);
    RING_IS(PtlMDUnlink(md), PTL_MD_INVALID);
    RING_OK(PtlEQFree(eq));
    ring_done("an MD born with threshold 0 is not unlinked for it, and PtlMDUpdate wakes it");
}

/* By the event that is the operation's last one the MD can be unlinked, every time. */
static void at_the_event(void)
{
    static char target[4096], memory[4096];
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET;
    ptl_handle_md_t md =
        ring_attach(PT, 3, 0, ring_md(target, sizeof target, options, PTL_EQ_NONE), PTL_RETAIN);
    ptl_handle_eq_t eq = ring_eq(16);
    ptl_md_t mine = ring_md(memory, sizeof memory, QUIET, eq);
    int refused = 0;
    ring_barrier();
    for (int i = 0; i < MANY; i++) {
        ptl_size_t n = i % 3 ? 8 : sizeof memory;
        ptl_handle_md_t local = ring_bind(mine);
        switch (i % 4) {
        case 0:
            RING_OK(PtlGetRegion(local, 0, n, ring.next, PT, 0, 3, 0));
            ring_event(eq, PTL_EVENT_REPLY_END);
            break;
        case 1:
            RING_OK(PtlPutRegion(local, 0, n, PTL_NOACK_REQ, ring.next, PT, 0, 3, 0, 0));
            ring_event(eq, PTL_EVENT_SEND_END);
            break;
        case 2:
            RING_OK(PtlPutRegion(local, 0, n, PTL_ACK_REQ, ring.next, PT, 0, 3, 0, 0));
            ring_event(eq, PTL_EVENT_SEND_END);
            ring_event(eq, PTL_EVENT_ACK);
            break;
        case 3: /* unlinked at SEND_END: the ACK comes too late */
            RING_OK(PtlPutRegion(local, 0, n, PTL_ACK_REQ, ring.next, PT, 0, 3, 0, 0));
            ring_event(eq, PTL_EVENT_SEND_END);
            break;
        }
        if (PtlMDUnlink(local) != PTL_OK) refused++;
        if (i % 4 == 3) { /* the event may have come before */
            ptl_event_t event;
            int result = PtlEQGet(eq, &event);
            ring_expect(result == PTL_EQ_EMPTY || event.type == PTL_EVENT_ACK, "a strange event");
        }
    }
    ring_expect(refused == 0, "%d of %d were refused", refused, MANY);
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    ring_done("an MD can be unlinked by the event that ends its last operation, %d times", MANY);
}

static void with_its_me(void)
{
    ptl_handle_eq_t eq = ring_eq(4);
    ptl_handle_me_t me[3];
    ptl_handle_md_t md[3], late;
    ptl_md_t nothing = ring_md(NULL, 0, PTL_MD_OP_PUT, eq);
    for (int i = 0; i < 3; i++)
        RING_OK(PtlMEAttach(ring.ni, PT, ring_anybody, 0, 0, i ? PTL_RETAIN : PTL_UNLINK,
                            PTL_INS_AFTER, &me[i]));
    for (int i = 0; i < 3; i++) RING_OK(PtlMDAttach(me[i], nothing, PTL_RETAIN, &md[i]));
    RING_IS(PtlMDAttach(me[1], nothing, PTL_RETAIN, &late), PTL_ME_IN_USE);
    RING_IS(PtlEQFree(eq), PTL_EQ_IN_USE);
    RING_OK(PtlMDUnlink(md[0]));
    RING_IS(PtlMEUnlink(me[0]), PTL_ME_INVALID); /* went with it */
    RING_OK(PtlMDUnlink(md[1]));
    RING_OK(PtlMDAttach(me[1], nothing, PTL_RETAIN, &md[1])); /* stayed */
    RING_OK(PtlMEUnlink(me[1]));
    RING_IS(PtlMDUnlink(md[1]), PTL_MD_INVALID); /* went with it, though PTL_RETAIN */
    RING_OK(PtlMEUnlink(me[2]));
    RING_OK(PtlEQFree(eq));
    RING_IS(PtlEQFree(eq), PTL_EQ_INVALID);
    ring_done("MEs go with their MDs if so made, MDs with their MEs always");
}

static void by_hand(void)
{
    ptl_handle_eq_t eq = ring_eq(4);
    ptl_handle_md_t silent = ring_bind(ring_md(NULL, 0, 0, eq));
    ptl_handle_md_t loud = ring_bind(ring_md(NULL, 0, PTL_MD_EVENT_MANUAL_UNLINK_ENABLE, eq));
    ptl_event_t event;
    RING_OK(PtlMDUnlink(silent));
    ring_no_event(eq);
    RING_OK(PtlMDUnlink(loud));
    event = ring_event(eq, PTL_EVENT_UNLINK);
    ring_expect(event.md_handle == loud, "the handle of the MD");
    RING_OK(PtlEQFree(eq));
    ring_done("PtlMDUnlink logs an event only if asked to");
}

void rules_unlinking(void)
{
    acks_and_thresholds();
    born_inactive();
    at_the_event();
    with_its_me();
    by_hand();
}
