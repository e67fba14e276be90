/* published.c - rules of a list whose outcome is fixed, as that of a segment: the walk ends the
 * same whether peers go by it themselves (the fast path) or ask for every operation
 * (PTL_FASTPATH=0).
 *
 * Every operation's outcome is foretold by a walk through a table, and looked for at both ends. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "other/portals3/tests/rules.h"

enum { PT = 15, ROOM = 4096, FEW = 64, WARM = 40, NOBODY = 7 };
enum {
    FIXED = PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
    SILENT = FIXED | PTL_MD_EVENT_END_DISABLE,
    PUT = PTL_MD_OP_PUT,
    GET = PTL_MD_OP_GET,
};

/* In the order of the list; two have the same bits, and what the first refuses is the other's. */
static const struct row {
    ptl_match_bits_t bits;
    unsigned int options;
    ptl_size_t length;
} rows[] = {
    {0, SILENT | PUT | GET, ROOM},
    {1, FIXED | PUT, ROOM},
    {2, SILENT | PUT, ROOM},
    {3, SILENT | GET, ROOM},
    {4, SILENT | PUT | PTL_MD_ACK_DISABLE, ROOM},
    {5, SILENT | PUT | GET | PTL_MD_TRUNCATE, ROOM},
    {6, SILENT | PUT | GET, FEW},
    {6, SILENT | PUT | GET, ROOM},
};
enum { ROWS = sizeof rows / sizeof *rows };

static char target[ROWS][ROOM], due[ROWS][ROOM],
    bytes[ROOM]; /* due: what the successor's must hold */
static ptl_handle_eq_t mine;
static ptl_handle_md_t local;
static int dropped, told;
static ptl_sr_value_t asked_puts, asked_gets; /* of this process */
static bool fast, cray;                       /* PTL_FASTPATH, PTL_CRAY_GETS */

/* The entry that accepts it, and how many bytes of it. */
static int taker(ptl_match_bits_t bits, unsigned int operation, ptl_size_t offset, ptl_size_t n,
                 ptl_size_t *taken)
{
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].bits != bits || !(rows[i].options & operation)) continue;
        if (offset > rows[i].length) continue;
        *taken = n;
        if (n <= rows[i].length - offset) return i;
        *taken = rows[i].length - offset;
        if (rows[i].options & PTL_MD_TRUNCATE) return i;
    }
    dropped++;
    return -1;
}

static void put(ptl_match_bits_t bits, ptl_size_t offset, ptl_size_t n, char fill)
{
    ptl_size_t taken = 0;
    int who = taker(bits, PUT, offset, n, &taken);
    /* Nothing orders the data of puts without an end event. */
    if (who >= 0 && rows[who].options & PTL_MD_ACK_DISABLE) fill = 'n';
    memset(bytes, fill, n);
    RING_OK(PtlPutRegion(local, 0, n, PTL_ACK_REQ, ring.next, PT, 0, bits | 0xab0, offset, 0));
    asked_puts++;
    ring_event(mine, PTL_EVENT_SEND_END);
    if (who < 0) return;
    memset(due[who] + offset, fill, taken);
    if (!(rows[who].options & PTL_MD_EVENT_END_DISABLE)) told++;
    if (rows[who].options & PTL_MD_ACK_DISABLE) return;
    ptl_event_t event = ring_event(mine, PTL_EVENT_ACK);
    ring_expect(event.mlength == taken && event.rlength == n && event.match_bits == (bits | 0xab0),
                "bits %d: a put of %llu bytes to %llu: %llu were taken, not %llu", (int)bits,
                (unsigned long long)n, (unsigned long long)offset,
                (unsigned long long)event.mlength, (unsigned long long)taken);
}

static void get(ptl_match_bits_t bits, ptl_size_t offset, ptl_size_t n)
{
    ptl_size_t taken = 0;
    int who = taker(bits, GET, offset, n, &taken);
    memset(bytes, '?', ROOM);
    ptl_sr_value_t before = ring_register(PTL_SR_RECV_LENGTH);
    RING_OK(PtlGetRegion(local, 0, n, ring.next, PT, 0, bits | 0xab0, offset));
    asked_gets++;
    if (cray) ring_event(mine, PTL_EVENT_SEND_END);
    if (who < 0) return;
    ptl_event_t event = ring_event(mine, PTL_EVENT_REPLY_END);
    ring_expect(event.mlength == taken && event.rlength == n && event.match_bits == (bits | 0xab0),
                "bits %d: a get of %llu bytes from %llu brings %llu, not %llu", (int)bits,
                (unsigned long long)n, (unsigned long long)offset,
                (unsigned long long)event.mlength, (unsigned long long)taken);
    /* The predecessor's messages count, too. */
    ring_expect(ring_register(PTL_SR_RECV_LENGTH) >= before + (ptl_sr_value_t)taken,
                "bits %d: a get of %llu bytes is not counted", (int)bits, (unsigned long long)n);
    ring_expect(!memcmp(bytes, due[who] + offset, taken) && (taken == ROOM || bytes[taken] == '?'),
                "bits %d: a get of %llu bytes from %llu: the data", (int)bits,
                (unsigned long long)n, (unsigned long long)offset);
}

/* Every operation to every entry, at the edges of its memory and beyond. */
static void everything(void)
{
    static const ptl_size_t offsets[] = {0,        8,    FEW - 1,  FEW,      FEW + 1,
                                         ROOM - 8, ROOM, ROOM + 1, ~0ull - 3};
    static const ptl_size_t lengths[] = {0, 1, 8, FEW, ROOM};
    char fill = 'a';
    for (ptl_match_bits_t bits = 0; bits <= NOBODY; bits++)
        for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++)
            for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
                put(bits, offsets[o], lengths[n], fill);
                fill = (char)(fill == 'z' ? 'a' : fill + 1);
                get(bits, offsets[o], lengths[n]);
            }
}

/* Looks while others write: the thread sanitizer is not to be asked about that. */
__attribute__((no_sanitize("thread"))) static bool landed(int which)
{
    const volatile char *at = target[which];
    for (int i = 0; i < ROOM; i++)
        if (at[i] != due[which][i]) return false;
    return true;
}

/* Compares with the predecessor, which did the same as this process; a put that is not acknowledged
 * may arrive late. */
static void compare(ptl_handle_eq_t theirs)
{
    time_t end = time(NULL) + 60;
    for (int i = 0; i < ROWS; i++) {
        while (!landed(i) && time(NULL) < end) PtlProgress(ring.ni, 1);
        ring_expect(landed(i), "entry %d holds something else", i);
    }
    for (int i = 0; i < told; i++) ring_event(theirs, PTL_EVENT_PUT_END);
    ring_no_event(theirs);
    ring_no_event(mine);
}

static void walk(void)
{
    ptl_handle_md_t mds[ROWS];
    ptl_handle_eq_t theirs = ring_eq(1024);
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT), puts, gets;
    mine = ring_eq(16);
    dropped = told = 0;
    memset(target, 0, sizeof target);
    memset(due, 0, sizeof due);
    for (int i = 0; i < ROWS; i++)
        mds[i] =
            ring_attach(PT, rows[i].bits, ~0xfull,
                        ring_md(target[i], rows[i].length, rows[i].options, theirs), PTL_RETAIN);
    local = ring_bind(ring_md(bytes, ROOM, PTL_MD_EVENT_START_DISABLE, mine));
    ring_barrier();
    for (int i = 0; i < WARM; i++) put(0, 0, 8, 'w'); /* until it is published */
    puts = ring_register(PTL_SR_FAST_PUTS);
    gets = ring_register(PTL_SR_FAST_GETS);
    asked_puts = asked_gets = 0;
    everything();
    puts = ring_register(PTL_SR_FAST_PUTS) - puts;
    gets = ring_register(PTL_SR_FAST_GETS) - gets;
    if (!fast)
        ring_expect(puts == 0 && gets == 0, "the fast path is taken though it is off");
    else if (ring.size > 1)
        ring_expect(puts > 20 && puts <= asked_puts && (cray || gets > 20) && gets <= asked_gets,
                    "%d puts and %d gets by the fast path", (int)puts, (int)gets);
    ring_await_register(PTL_SR_DROP_COUNT, drops + (ptl_sr_value_t)dropped);
    ring_barrier();
    compare(theirs);
    ring_barrier();
    for (int i = 0; i < ROWS; i++) ring_unlink(mds[i]);
    ring_unlink(local);
    RING_OK(PtlEQFree(mine));
    RING_OK(PtlEQFree(theirs));
    ring_done("a list that never changes, fast path %s: bounds, refusals, ACKs and drops",
              fast ? "on" : "off");
}

/* A list that peers hold contains what each access entry admits: a change must reach them at once.
 */
static void admission(void)
{
    enum { AC = 1, TIMES = 6 };
    static char there[8];
    ptl_process_id_t stranger = ring.previous;
    ptl_handle_eq_t eq = ring_eq(8);
    ptl_handle_md_t md =
        ring_attach(PT, 10, 0, ring_md(there, 8, PUT | SILENT, PTL_EQ_NONE), PTL_RETAIN);
    ptl_handle_md_t by = ring_bind(ring_md(bytes, 8, PTL_MD_EVENT_START_DISABLE, eq));
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT), puts;
    ptl_uid_t uid;
    PtlGetUid(ring.ni, &uid);
    stranger.pid ^= 0x5555;
    memset(there, 'x', sizeof there);
    ring_barrier();
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < WARM; k++) { /* until it is published, anew */
            memset(bytes, 'a' + i, 8);
            RING_OK(PtlPut(by, PTL_ACK_REQ, ring.next, PT, AC, 10, 0, 0));
            ring_event(eq, PTL_EVENT_SEND_END);
            ring_event(eq, PTL_EVENT_ACK);
        }
        puts = ring_register(PTL_SR_FAST_PUTS);
        ring_barrier();
        ring_expect(there[7] == 'a' + i, "what was admitted is not there");
        RING_OK(PtlACEntry(ring.ni, AC, stranger, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
        ring_barrier();
        memset(bytes, '!', 8);
        RING_OK(PtlPut(by, PTL_ACK_REQ, ring.next, PT, AC, 10, 0, 0));
        ring_event(eq, PTL_EVENT_SEND_END);
        ring_await_register(PTL_SR_DROP_COUNT, ++drops);
        ring_expect(there[7] == 'a' + i, "what is not admitted is written");
        ring_expect(ring_register(PTL_SR_FAST_PUTS) == puts, "the fast path is taken");
        ring_no_event(eq);
        ring_barrier();
        RING_OK(PtlACEntry(ring.ni, AC, ring_anybody, uid, PTL_JID_ANY, PTL_PT_INDEX_ANY));
        ring_barrier();
    }
    ring_unlink(md);
    ring_unlink(by);
    RING_OK(PtlEQFree(eq));
    ring_done("a changed access entry holds for peers with the list, fast path %s",
              fast ? "on" : "off");
}

/* PTL_CRAY_GETS: a get logs SEND events too and counts on its MD as a put with ACK does; the
 * standard's counts once. */
static void gets_count(void)
{
    char there[8], here[8];
    ptl_handle_eq_t eq = ring_eq(8);
    ptl_md_t counted = ring_md(here, 8, PTL_MD_EVENT_START_DISABLE, eq);
    ptl_handle_md_t md = ring_attach(PT, 9, 0, ring_md(there, 8, GET | SILENT, PTL_EQ_NONE),
                                     PTL_RETAIN),
                    by;
    counted.threshold = cray ? 2 : 1;
    memset(there, 'c', sizeof there);
    ring_barrier();
    for (int i = 0; i < WARM; i++) { /* by either path */
        ptl_event_t event;
        memset(here, 0, sizeof here);
        RING_OK(PtlMDBind(ring.ni, counted, PTL_UNLINK, &by));
        RING_OK(PtlGet(by, ring.next, PT, 0, 9, 0));
        if (cray) {
            event = ring_event(eq, PTL_EVENT_SEND_END);
            ring_expect(event.md.threshold == 1, "a threshold of %d after SEND_END",
                        event.md.threshold);
        }
        event = ring_event(eq, PTL_EVENT_REPLY_END);
        ring_expect(event.md.threshold == 0 && here[7] == 'c', "a threshold of %d",
                    event.md.threshold);
        ring_event(eq, PTL_EVENT_UNLINK);
        RING_IS(PtlMDUnlink(by), PTL_MD_INVALID);
    }
    ring_no_event(eq);
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    ring_done("a get counts %s", cray ? "twice, and logs SEND_END" : "once");
}

static bool is_set(const char *name, bool otherwise)
{
    const char *value = getenv(name);
    return value ? strcmp(value, "0") != 0 : otherwise;
}

void rules_published(void)
{
    fast = is_set("PTL_FASTPATH", true);
    cray = is_set("PTL_CRAY_GETS", false);
    walk();
    admission();
    gets_count();
}
