/* updates.c - rules of PtlMDUpdate and PtlMEMDPost. */
#include <stdlib.h>
#include <string.h>

#include "other/portals3/tests/rules.h"

enum { PT = 11, QUIET = PTL_MD_EVENT_START_DISABLE };

static void conditional(void)
{
    char one[16], two[32], source[16] = {0};
    ptl_handle_eq_t eq = ring_eq(8), empty = ring_eq(1);
    ptl_md_t first = ring_md(one, 16, PTL_MD_OP_PUT | QUIET, eq), second = first, old;
    ptl_sr_value_t received = ring_register(PTL_SR_RECV_COUNT);
    ptl_handle_md_t md, from;
    ptl_event_t event;
    second.start = second.user_ptr = two;
    second.length = 32;
    md = ring_attach(PT, 1, 0, first, PTL_RETAIN);
    from = ring_bind(ring_md(source, 16, QUIET, PTL_EQ_NONE));
    ring_barrier();
    RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 0, 1, 0, 0));
    ring_await_register(PTL_SR_RECV_COUNT, received + 1);
    memset(&old, 0, sizeof old);
    RING_IS(PtlMDUpdate(md, &old, &second, eq), PTL_MD_NO_UPDATE);
    ring_expect(old.start == one && old.length == 16, "the old MD, though nothing was changed");
    ring_event(eq, PTL_EVENT_PUT_END);
    RING_OK(PtlMDUpdate(md, &old, &second, eq));
    ring_expect(old.start == one, "the old MD");
    RING_OK(PtlMDUpdate(md, &old, NULL, eq));
    ring_expect(old.start == two && old.length == 32 && old.user_ptr == two, "the new MD");
    ring_barrier();
    RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 0, 1, 0, 0));
    event = ring_event(eq, PTL_EVENT_PUT_END);
    ring_expect(event.offset == 0 && event.md.user_ptr == two, "it begins at 0 again");
    ring_barrier();
    RING_OK(PtlMDUpdate(md, NULL, &first, PTL_EQ_NONE));
    RING_OK(PtlMDUpdate(md, NULL, &second, empty)); /* PTL_EQ_NONE and an empty queue mean: in
                                                       any case */
    ring_unlink(md);
    ring_unlink(from);
    RING_IS(PtlMDUpdate(md, &old, NULL, PTL_EQ_NONE), PTL_MD_INVALID);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(empty));
    ring_done(
        "PtlMDUpdate: not while the test queue holds an event; the old MD is returned always");
}

/* A message that has matched but is still being copied counts as an event. */
static void in_flight(void)
{
    enum { LONG = 8 << 20, TIMES = 10 };
    char *target = malloc(LONG), *source = calloc(1, LONG);
    ptl_handle_eq_t eq = ring_eq(8);
    ptl_md_t whole = ring_md(target, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq);
    ptl_handle_md_t md = ring_attach(PT, 2, 0, whole, PTL_RETAIN);
    ptl_handle_md_t other = ring_bind(ring_md(NULL, 0, 0, PTL_EQ_NONE));
    ptl_handle_md_t from = ring_bind(ring_md(source, LONG, QUIET, PTL_EQ_NONE));
    ring_barrier();
    for (int i = 0; i < TIMES; i++) {
        ptl_md_t nothing = ring_md(NULL, 0, 0, PTL_EQ_NONE);
        RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 0, 2, 0, 0));
        ring_event(eq, PTL_EVENT_PUT_START);
        /* Either the END is still to come or it is there: never an update. */
        RING_IS(PtlMDUpdate(other, NULL, &nothing, eq), PTL_MD_NO_UPDATE);
        ring_event(eq, PTL_EVENT_PUT_END);
        RING_OK(PtlMDUpdate(other, NULL, &nothing, eq));
        ring_barrier();
    }
    ring_unlink(md);
    ring_unlink(other);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    free(target);
    free(source);
    ring_done("PtlMDUpdate: not while the END event of a match is still to come");
}

static void iovecs(void)
{
    char bytes[3][10];
    ptl_md_iovec_t pieces[3], told[3];
    ptl_md_t md = ring_md(pieces, 3, PTL_MD_IOVEC, PTL_EQ_NONE), old;
    ptl_handle_md_t handle;
    for (int i = 0; i < 3; i++) pieces[i] = (ptl_md_iovec_t){bytes[i], 10};
    handle = ring_bind(md);
    memset(pieces, 0, sizeof pieces); /* the list of pieces was copied */
    old = ring_md(told, 3, PTL_MD_IOVEC, PTL_EQ_NONE);
    RING_OK(PtlMDUpdate(handle, &old, NULL, PTL_EQ_NONE));
    ring_expect(old.start == told && old.length == 3 && told[2].iov_base == bytes[2] &&
                    told[1].iov_len == 10,
                "the pieces are returned");
    ring_unlink(handle);
    ring_done("PtlMDUpdate returns an iovec's pieces");
}

static void posting(void)
{
    char target[16], source[16] = {0};
    ptl_handle_eq_t eq = ring_eq(8), unexpected = ring_eq(8);
    ptl_handle_me_t catch_all, me;
    ptl_handle_md_t md, catcher, from;
    ptl_md_t posted = ring_md(target, 16, PTL_MD_OP_PUT | QUIET, eq);
    RING_OK(
        PtlMEAttach(ring.ni, PT, ring_anybody, 0, ~0ull, PTL_UNLINK, PTL_INS_AFTER, &catch_all));
    RING_OK(PtlMDAttach(catch_all,
                        ring_md(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | QUIET, unexpected),
                        PTL_RETAIN, &catcher));
    from = ring_bind(ring_md(source, 16, QUIET, PTL_EQ_NONE));
    posted.threshold = 1;
    ring_barrier();
    RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 0, 3, 0, 0));
    ring_barrier();
    for (int i = 0, result = PTL_OK; i < 20000 && result == PTL_OK; i++) {
        result = PtlMEMDPost(ring.ni, catch_all, ring_anybody, 99, 0, PTL_UNLINK, PTL_INS_BEFORE,
                             posted, PTL_UNLINK, &me, &md, unexpected);
        ring_expect(result == PTL_OK || result == PTL_MD_NO_UPDATE, "PtlMEMDPost: %s",
                    PtlErrorStr((unsigned int)result));
        if (result == PTL_OK) RING_OK(PtlMDUnlink(md));
        PtlProgress(ring.ni, 1);
    }
    ring_event(unexpected, PTL_EVENT_PUT_END);
    RING_OK(PtlMEMDPost(ring.ni, catch_all, ring_anybody, 3, 0, PTL_UNLINK, PTL_INS_BEFORE, posted,
                        PTL_UNLINK, &me, &md, unexpected));
    ring_barrier();
    RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 0, 3, 0, 0));
    ring_event(eq, PTL_EVENT_PUT_END);
    ring_event(eq, PTL_EVENT_UNLINK);
    ring_no_event(unexpected);
    ring_barrier();
    ring_unlink(catcher);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(unexpected));
    ring_done("PtlMEMDPost: a receive is posted only if nothing unexpected has come");
}

void rules_updates(void)
{
    conditional();
    in_flight();
    iovecs();
    posting();
}
