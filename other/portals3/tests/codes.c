/* codes.c - return codes of calls with wrong arguments, and the order in which arguments are
 * checked. */
#include <stdint.h>
#include <string.h>

#include "other/portals3/tests/rules.h"

static void handles(void)
{
    ptl_handle_eq_t eq = ring_eq(4);
    ptl_handle_md_t md = ring_bind(ring_md(NULL, 0, 0, eq));
    ptl_handle_ni_t ni;
    ptl_event_t event;
    RING_OK(PtlNIHandle(md, &ni));
    ring_expect(PtlHandleIsEqual(ni, ring.ni), "the interface of an MD");
    RING_OK(PtlNIHandle(ring.ni, &ni));
    ring_expect(ni == ring.ni, "the interface of itself");
    RING_IS(PtlNIHandle(PTL_INVALID_HANDLE, &ni), PTL_HANDLE_INVALID);
    RING_IS(PtlNIHandle(PTL_EQ_NONE, &ni), PTL_HANDLE_INVALID);
    RING_IS(PtlEQGet(md, &event), PTL_EQ_INVALID);
    RING_IS(PtlEQGet(PTL_EQ_NONE, &event), PTL_EQ_INVALID);
    RING_IS(PtlEQGet(eq, NULL), PTL_SEGV);
    RING_IS(PtlMDUnlink(eq), PTL_MD_INVALID);
    RING_IS(PtlMEUnlink(md), PTL_ME_INVALID);
    RING_IS(PtlMEInsert(md, ring_anybody, 0, 0, PTL_UNLINK, PTL_INS_AFTER, &ni), PTL_ME_INVALID);
    RING_IS(PtlNIFini(eq), PTL_NI_INVALID);
    RING_OK(PtlMDUnlink(md));
    RING_IS(PtlPut(md, PTL_ACK_REQ, ring.next, 0, 0, 0, 0, 0), PTL_MD_INVALID);
    for (int i = 0; i < 10000; i++) { /* a handle of long ago is not mistaken for a new one */
        ptl_handle_md_t other = ring_bind(ring_md(NULL, 0, 0, PTL_EQ_NONE));
        if (!ring_expect(other != md, "a handle is used again after %d", i)) break;
        RING_OK(PtlMDUnlink(other));
    }
    RING_OK(PtlEQFree(eq));
    ring_done("handles: of another kind, of none, dead; the interface of any");
}

static void descriptions(void)
{
    char bytes[100];
    ptl_md_iovec_t pieces[2] = {{bytes, 10}, {NULL, 5}};
    ptl_handle_md_t md;
    ptl_md_t bad = ring_md(NULL, 1, 0, PTL_EQ_NONE);
    RING_IS(PtlMDBind(ring.ni, bad, PTL_RETAIN, &md), PTL_MD_ILLEGAL);
    bad = ring_md(bytes, UINT64_MAX, 0, PTL_EQ_NONE);
    RING_IS(PtlMDBind(ring.ni, bad, PTL_RETAIN, &md), PTL_MD_ILLEGAL);
    bad = ring_md(pieces, 2, PTL_MD_IOVEC, PTL_EQ_NONE);
    RING_IS(PtlMDBind(ring.ni, bad, PTL_RETAIN, &md), PTL_MD_ILLEGAL);
    bad = ring_md(pieces, 1u << 30, PTL_MD_IOVEC, PTL_EQ_NONE);
    RING_IS(PtlMDBind(ring.ni, bad, PTL_RETAIN, &md), PTL_MD_ILLEGAL);
    bad = ring_md(bytes, 1, 0, PTL_INVALID_HANDLE);
    RING_IS(PtlMDBind(ring.ni, bad, PTL_RETAIN, &md), PTL_EQ_INVALID);
    bad = ring_md(bytes, 1, 0, PTL_EQ_NONE);
    bad.threshold = -7;
    RING_IS(PtlMDBind(ring.ni, bad, PTL_RETAIN, &md), PTL_MD_ILLEGAL);
    bad.threshold = 1;
    RING_IS(PtlMDBind(ring.ni, bad, PTL_RETAIN, NULL), PTL_SEGV);
    bad.options = ~0u & ~(unsigned int)PTL_MD_IOVEC; /* unknown bits are not looked at */
    RING_OK(PtlMDBind(ring.ni, bad, PTL_RETAIN, &md));
    RING_OK(PtlMDUnlink(md));
    ring_done("descriptions of memory that cannot be");
}

static void operations(void)
{
    char bytes[100];
    ptl_ni_limits_t limits;
    ptl_handle_ni_t ni;
    ptl_handle_me_t me;
    ptl_process_id_t nobody = {PTL_NID_ANY, 1};
    ptl_handle_md_t md = ring_bind(ring_md(bytes, 100, 0, PTL_EQ_NONE)), small;
    ptl_md_t asleep = ring_md(bytes, 100, 0, PTL_EQ_NONE);
    unsigned long distance;
    RING_IS(PtlPutRegion(md, 101, 0, PTL_NOACK_REQ, ring.next, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    RING_IS(PtlPutRegion(md, 1, 100, PTL_NOACK_REQ, ring.next, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    RING_IS(PtlPutRegion(md, 50, UINT64_MAX - 20, PTL_NOACK_REQ, ring.next, 0, 0, 0, 0, 0),
            PTL_MD_ILLEGAL);
    RING_IS(PtlGetRegion(md, 1, 100, ring.next, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    RING_IS(PtlPut(md, PTL_NOACK_REQ, nobody, 0, 0, 0, 0, 0), PTL_PROCESS_INVALID);
    RING_IS(PtlGet(md, nobody, 0, 0, 0, 0), PTL_PROCESS_INVALID);
    RING_IS(PtlGetPut(md, md, ring.next, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL); /* too long */
    small = ring_bind(ring_md(bytes, 8, 0, PTL_EQ_NONE));
    RING_IS(PtlGetPutRegion(small, 4, md, 0, 8, ring.next, 0, 0, 0, 0, 0), PTL_MD_ILLEGAL);
    asleep.threshold = 0;
    RING_OK(PtlMDUnlink(small));
    small = ring_bind(asleep);
    RING_IS(PtlPut(small, PTL_NOACK_REQ, ring.next, 0, 0, 0, 0, 0), PTL_MD_INVALID);
    RING_OK(PtlMDUnlink(small));
    RING_OK(PtlMDUnlink(md));
    RING_OK(PtlNIInit(ring.interface, PTL_PID_ANY, NULL, &limits, &ni));
    ring_expect(limits.max_pt_index >= 63 && limits.max_mds >= 2500 && limits.max_me_list >= 500 &&
                    limits.max_getput_md >= 8,
                "limits");
    RING_IS(PtlMEAttach(ring.ni, (ptl_pt_index_t)limits.max_pt_index + 1, ring_anybody, 0, 0,
                        PTL_UNLINK, PTL_INS_AFTER, &me),
            PTL_PT_INDEX_INVALID);
    RING_OK(PtlMEAttach(ring.ni, (ptl_pt_index_t)limits.max_pt_index, ring_anybody, 0, 0,
                        PTL_UNLINK, PTL_INS_AFTER, &me));
    RING_OK(PtlMEUnlink(me));
    RING_IS(PtlACEntry(ring.ni, (ptl_ac_index_t)limits.max_ac_index + 1, ring_anybody, PTL_UID_ANY,
                       PTL_JID_ANY, PTL_PT_INDEX_ANY),
            PTL_AC_INDEX_INVALID);
    RING_IS(PtlNIStatus(ring.ni, 1u << 20, &(ptl_sr_value_t){0}), PTL_SR_INDEX_INVALID);
    RING_IS(PtlNIInit(99, PTL_PID_ANY, NULL, NULL, &ni), PTL_IFACE_INVALID);
    RING_IS(PtlInit(NULL), PTL_OK);
    RING_OK(PtlNIDist(ring.ni, ring.self, &distance));
    ring_expect(distance == 0, "the distance to oneself is %lu", distance);
    RING_OK(PtlNIDist(ring.ni, ring.next, &distance));
    ring_expect(distance == (ring.next.pid != ring.self.pid), "the distance to the next is %lu",
                distance);
    ring_done("ranges outside of MDs, impossible processes, indexes, limits, distances");
}

static void many(void)
{
    enum { MDS = 2500 };
    static ptl_handle_md_t mds[MDS];
    static char bytes[MDS];
    for (int i = 0; i < MDS; i++) mds[i] = ring_bind(ring_md(bytes + i, 1, 0, PTL_EQ_NONE));
    ring_expect(ring_register(PTL_SR_MDS_CUR) == MDS, "the register of MDs");
    for (int i = 0; i < MDS; i++) RING_OK(PtlMDUnlink(mds[i]));
    ring_done("2500 MDs");
}

static void texts(void)
{
    char text[80];
    for (unsigned int i = 0; i < PTL_MAX_ERRNO; i++)
        ring_expect(strncmp(ptl_err_str[i], "PTL_", 4) == 0, "code %u has no name", i);
    ring_expect(strcmp(PtlErrorStr(PTL_EQ_DROPPED), "PTL_EQ_DROPPED") == 0, "a name");
    ring_expect(strcmp(ptl_event_str[PTL_EVENT_UNLINK], "PTL_EVENT_UNLINK") == 0, "a name");
    ring_expect(*PtlErrorStr(12345) && *PtlEventKindStr((ptl_event_kind_t)77), "any value");
    ring_expect(strstr(PtlNIFailStr(ring.ni, PTL_NI_FAIL), "FAIL") != NULL, "a failure's name");
    PtlSnprintHandle(text, sizeof text, ring.ni);
    ring_expect(strncmp(text, "NI", 2) == 0, "the interface is %s", text);
    ring_done("codes, events, failures and handles have names");
}

void rules_codes(void)
{
    handles();
    descriptions();
    operations();
    many();
    texts();
}
