/* pending.c - rules of operations under way: what they hold, what they let go of, and that they
 * need no process at the target. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "other/portals3/tests/rules.h"

enum { PT = 13, QUIET = PTL_MD_EVENT_START_DISABLE, LONG = 300000, TIMES = 60 };

/* --- a peer that stands still --- */

static char state_of(pid_t pid)
{
    char path[64], line[512] = "", *end;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if ((file = fopen(path, "r"))) {
        if (!fgets(line, sizeof line, file)) line[0] = '\0';
        fclose(file);
    }
    end = strrchr(line, ')');
    return end && end[1] ? end[2] : '?';
}

static void stop(pid_t pid)
{
    static const struct timespec tick = {.tv_nsec = 1000000};
    kill(pid, SIGSTOP);
    while (state_of(pid) != 'T') nanosleep(&tick, NULL);
}

/* A get and a long put that the target does not serve hold all that they use. */
static void hold(ptl_handle_eq_t eq, char *memory)
{
    ptl_md_t mine = ring_md(memory, LONG, QUIET, eq);
    ptl_handle_md_t getter = ring_bind(mine), putter = ring_bind(mine), attached;
    ptl_handle_me_t me;
    RING_OK(PtlMEAttach(ring.ni, PT, ring_anybody, 99, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
    RING_OK(PtlMDAttach(me, mine, PTL_RETAIN, &attached));
    stop(ring_pid(1));
    RING_OK(PtlGetRegion(getter, 0, 8, ring_id(1), PT, 0, 1, 0));
    RING_OK(PtlPut(putter, PTL_ACK_REQ, ring_id(1), PT, 0, 1, 0, 0));
    RING_OK(PtlGetRegion(attached, 0, 8, ring_id(1), PT, 0, 1, 0));
    RING_IS(PtlMDUnlink(getter), PTL_MD_IN_USE);
    RING_IS(PtlMDUnlink(putter), PTL_MD_IN_USE);
    RING_IS(PtlMDUnlink(attached), PTL_MD_IN_USE);
    RING_IS(PtlMEUnlink(me), PTL_ME_IN_USE);
    RING_IS(PtlMDUpdate(getter, NULL, &mine, PTL_EQ_NONE), PTL_MD_NO_UPDATE);
    RING_IS(PtlEQFree(eq), PTL_EQ_IN_USE);
    ring_no_event(eq);
    kill(ring_pid(1), SIGCONT);
    for (int i = 0; i < 4; i++) {
        ptl_event_t event;
        RING_OK(PtlEQWait(eq, &event));
        ring_expect(event.ni_fail_type == PTL_NI_OK, "a failure");
    }
    RING_OK(PtlMDUnlink(getter));
    RING_OK(PtlMDUnlink(putter));
    RING_OK(PtlMEUnlink(me));
    RING_IS(PtlMDUnlink(attached), PTL_MD_INVALID);
}

static void held(void)
{
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    ptl_handle_eq_t eq = ring_eq(16);
    char *memory = calloc(1, LONG);
    ptl_handle_md_t md = ring_attach(PT, 1, 0, ring_md(memory, LONG, options, eq), PTL_RETAIN);
    ptl_handle_eq_t mine = ring_eq(16);
    char *local = calloc(1, LONG);
    ring_barrier();
    if (ring.rank == 0) hold(mine, local);
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(mine));
    free(memory);
    free(local);
    ring_done("a peer stands still: what operations hold is neither unlinked, updated nor freed");
}

/* --- the end of what is dropped --- */

static void dropped(void)
{
    char bytes[64] = {0};
    ptl_handle_eq_t eq = ring_eq(8);
    ptl_md_t thrice = ring_md(bytes, 64, QUIET, eq);
    ptl_handle_md_t md;
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT);
    ptl_event_t event;
    thrice.threshold = 3;
    md = ring_bind(thrice);
    ring_barrier();
    RING_OK(PtlGet(md, ring.next, PT, 0, 98, 0));
    RING_OK(PtlPut(md, PTL_ACK_REQ, ring.next, PT, 0, 98, 0, 0));
    RING_OK(PtlGetPut(md, md, ring.next, PT, 0, 98, 0, 0));
    /* Put and getput have been sent: two of three; neither get, ACK nor reply counts. */
    event = ring_event(eq, PTL_EVENT_SEND_END);
    event = ring_event(eq, PTL_EVENT_SEND_END);
    ring_expect(event.md.threshold == 1, "a threshold of %d", event.md.threshold);
    ring_await_register(PTL_SR_DROP_COUNT, drops + 3);
    ring_unlink(md); /* waits for what is still held */
    ring_no_event(eq);
    ring_barrier();
    RING_OK(PtlEQFree(eq));
    ring_done("dropped at the target: SEND_END and no more, and the MD is let go of");
}

/* --- unlinked at the target, by the event of the last operation --- */

static void at_the_target(void)
{
    static char target[2 * LONG], source[LONG];
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | QUIET;
    ptl_handle_eq_t eq = ring_eq(16), mine = ring_eq(16);
    ptl_handle_md_t from = ring_bind(ring_md(source, LONG, QUIET, mine));
    for (int i = 0; i < TIMES; i++) {
        ptl_size_t n = i % 3 == 0 ? LONG : 8;
        ptl_handle_md_t md =
            ring_attach(PT, 2, 0, ring_md(target, sizeof target, options, eq), PTL_RETAIN);
        ring_barrier();
        if (i % 2) {
            RING_OK(PtlPutRegion(from, 0, n, PTL_ACK_REQ, ring.next, PT, 0, 2, 0, 0));
            ring_event(eq, PTL_EVENT_PUT_END);
        } else {
            RING_OK(PtlGetRegion(from, 0, n, ring.next, PT, 0, 2, 0));
            ring_event(eq, PTL_EVENT_GET_END);
        }
        RING_OK(PtlMDUnlink(md));
        if (i % 2) {
            ring_event(mine, PTL_EVENT_SEND_END);
            ring_event(mine, PTL_EVENT_ACK);
        } else {
            ring_event(mine, PTL_EVENT_REPLY_END);
        }
        ring_barrier();
    }
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(mine));
    ring_done("the target may unlink at PUT_END and GET_END, and answers all the same");
}

/* --- application bypass --- */

/* All but one wait at the barrier and call nothing of Portals meanwhile. */
static void bypass(void)
{
    static char target[LONG], memory[LONG];
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    ptl_handle_eq_t eq = ring_eq(1024), mine = ring_eq(64);
    ptl_handle_md_t md = ring_attach(PT, 3, 0, ring_md(target, LONG, options, eq), PTL_RETAIN);
    ptl_handle_md_t local = ring_bind(ring_md(memory, LONG, QUIET, mine));
    memset(target, 'a' + ring.rank, LONG);
    ring_barrier();
    if (ring.rank == 0)
        for (int peer = ring.size - 1; peer >= 0; peer--)
            for (int i = 0; i < 4; i++) {
                ptl_size_t n = i % 2 ? LONG : 10;
                if (i < 2) {
                    memory[n - 1] = 0;
                    RING_OK(PtlGetRegion(local, 0, n, ring_id(peer), PT, 0, 3, 0));
                    ring_event(mine, PTL_EVENT_REPLY_END);
                    ring_expect(memory[n - 1] == 'a' + (ring.mirrored ? 0 : peer), "the data");
                } else {
                    RING_OK(PtlPutRegion(local, 0, n, PTL_ACK_REQ, ring_id(peer), PT, 0, 3, 0, 0));
                    ring_event(mine, PTL_EVENT_SEND_END);
                    ring_event(mine, PTL_EVENT_ACK);
                }
            }
    ring_barrier();
    ring_unlink(md);
    ring_unlink(local);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(mine));
    ring_done("puts with ACK and gets, short and long, complete while their target sleeps");
}

void rules_pending(void)
{
    if (ring.size > 1) held();
    dropped();
    at_the_target();
    bypass();
}
