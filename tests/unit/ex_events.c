/* ex_events.c - GASNet-EX on the scripted network, whose completions the test holds back: events
 * and their leaves in arrays, sets of implicit operations, access regions, messages with an event
 * or with a negotiated payload.
 *
 * extended-ref/ex/events.c is part of this file, so that operations can complete between its looks
 * at two events of an array.
 */
#include <string.h>

#include "core/am/am.h"
#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "extended-ref/handles.h"
#include "gasnet.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

static int test_hooked(gex_Event_t event);
#define gex_Event_Test test_hooked
#include "extended-ref/ex/events.c"
#undef gex_Event_Test

#if GASNET_DEBUG
/* Attach has no table of segments here. */
void gasnete_check_remote(const char *call, gasnet_node_t node, const void *start, size_t nbytes)
{
    (void)call, (void)node, (void)start, (void)nbytes;
}
void gasnete_check_bound(const char *call, gex_TM_t tm, gex_Rank_t rank, const void *start,
                         size_t nbytes)
{
    (void)call, (void)tm, (void)rank, (void)start, (void)nbytes;
}
#endif

enum { SEGMENT = 512 << 10, H_QUIET = 200, H_PREPARE, H_LONG };
static char outside[SEGMENT];
static unsigned handled;

static void on_quiet(gasnet_token_t token)
{
    (void)token;
    handled++;
}

static void on_long(gasnet_token_t token, void *data, size_t nbytes)
{
    (void)token, (void)data, (void)nbytes;
    handled++;
}

static void (*prepare)(gasnet_token_t token);
static void on_prepare(gasnet_token_t token)
{
    prepare(token);
}

static void begin(void)
{
    gasnet_handlerentry_t table[] = {{H_QUIET, (void (*)(void))on_quiet},
                                     {H_PREPARE, (void (*)(void))on_prepare},
                                     {H_LONG, (void (*)(void))on_long}};
    unit_job_begin(&(unit_job_t){2, 0, 8, 1, SEGMENT, 40});
    gasnetc_register_client(table, 3);
    gasnetc_params.packedlong_limit = 4016;
    gasnetc_params.bounce_limit = 65536;
    check_fill(unit_segment(0), SEGMENT);
    check_fill(outside, SEGMENT);
    net_script.hold = true;
    handled = 0;
}

static void complete(unsigned count)
{
    net_script_complete(count);
    gasnetc_reap();
}

static void complete_one(void)
{
    net_script_complete(1);
}

static void end(void)
{
    complete(UINT32_MAX);
    check_each(unit_free_bbufs() == UNIT_BBUFS, "a bounce buffer is kept");
    unit_job_end();
}

/* --- records --- */

static unsigned free_records(void)
{
    unsigned n = 0;
    for (const gasnete_op_t *op = gasnete_self()->ops.free; op; op = op->next) n++;
    return n;
}

static bool is_free(const gasnete_op_t *record)
{
    for (const gasnete_op_t *op = gasnete_self()->ops.free; op; op = op->next)
        if (op == record) return true;
    return false;
}

/* --- arrays --- */

enum { ROOTS = 4, MOST = 16 };
static unsigned chance; /* of a completion before each look at an event; 0: none */

/* Before the call looks at an event, operations may complete, as another thread's poll does it. */
static int test_hooked(gex_Event_t event)
{
    if (chance && check_below(chance) == 0) complete(1);
    const gasnete_op_t *record = (gasnete_op_t *)((uintptr_t)event & ~(uintptr_t)LEAF);
    check_each(event == GEX_EVENT_INVALID || !is_free(record), "a record is read after its end");
    return gex_Event_Test(event);
}

static gex_Event_t start_put(int i)
{
    return gasnete_put_nb_bulk(1, unit_segment(1) + i * 8192, unit_segment(0) + i * 8192, 5000);
}

typedef struct array {
    gex_Event_t roots[ROOTS], events[MOST], before[MOST];
    size_t n;
} array_t;

static void fill_array(array_t *a)
{
    a->n = 0;
    for (int i = 0; i < ROOTS; i++) {
        a->roots[i] = start_put(i);
        a->events[a->n++] = a->roots[i];
        for (uint32_t leaves = check_below(3); leaves; leaves--)
            a->events[a->n++] = gex_Event_QueryLeaf(a->roots[i], GEX_EC_LC);
    }
    while (check_below(2) && a->n < MOST) a->events[a->n++] = GEX_EVENT_INVALID;
    for (size_t i = a->n; i > 1; i--) {
        const uint32_t j = check_below((uint32_t)i);
        const gex_Event_t event = a->events[i - 1];
        a->events[i - 1] = a->events[j];
        a->events[j] = event;
    }
    memcpy(a->before, a->events, sizeof a->events);
}

static bool complete_now(gex_Event_t event)
{
    const gasnete_op_t *record = (gasnete_op_t *)((uintptr_t)event & ~(uintptr_t)LEAF);
    return event == GEX_EVENT_INVALID ||
           gasnetc_counter_done((gasnetc_counter_t *)&record->counter);
}

static bool is_over(const array_t *a, gex_Event_t root)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->before[i] == root) return a->events[i] == GEX_EVENT_INVALID;
    return false;
}

static void look(array_t *a, bool some)
{
    bool was[MOST];
    size_t valid = 0, left = 0;
    for (size_t i = 0; i < a->n; i++) {
        was[i] = a->events[i] != GEX_EVENT_INVALID && complete_now(a->events[i]);
        valid += a->events[i] != GEX_EVENT_INVALID;
    }
    const unsigned reaps = net_script.reaps;
    const int result = (some ? gex_Event_TestSome : gex_Event_TestAll)(a->events, a->n, 0);
    if (!chance) check_each(net_script.reaps == reaps, "a test polls");
    for (size_t i = 0; i < a->n; i++) {
        const bool ended = a->events[i] == GEX_EVENT_INVALID;
        check_each(ended || a->events[i] == a->before[i], "an event is changed");
        check_each(ended || !was[i], "a complete event is left");
        left += !ended;
        if (!ended) {
            const uintptr_t root = (uintptr_t)a->events[i] & ~(uintptr_t)LEAF;
            check_each(!is_over(a, (gex_Event_t)root), "a leaf outlives its root in the array");
        }
    }
    const bool good = some ? left < valid || !left : !left;
    check_each(result == (good ? GASNET_OK : GASNET_ERR_NOT_READY),
               "%zu valid, %zu left: result %d", valid, left, result);
}

static void arrays(void)
{
    begin();
    gex_Event_t first = start_put(0);
    complete(1);
    gex_Event_Wait(first);
    const unsigned records = free_records();
    for (int round = 0; round < 3000; round++) {
        array_t a;
        net_script_forget();
        chance = 0;
        fill_array(&a);
        chance = round % 3 ? 1 + check_below(8) : 0;
        for (int turn = 0; turn < 3; turn++) {
            if (check_below(2)) complete(check_below(3));
            look(&a, check_below(2));
        }
        chance = 0;
        net_script.on_reap = complete_one;
        if (check_below(2)) gex_Event_WaitSome(a.events, a.n, 0);
        gex_Event_WaitAll(a.events, a.n, 0);
        net_script.on_reap = NULL;
        for (size_t i = 0; i < a.n; i++)
            check_each(a.events[i] == GEX_EVENT_INVALID, "WaitAll leaves an event");
        check_each(free_records() == records, "%u records, then %u", records, free_records());
    }
    check_all("events and leaves in one array, in any order, with completions at any moment");
    check(gex_Event_TestSome(NULL, 0, 0) == GASNET_OK && gex_Event_TestAll(NULL, 0, 0) == GASNET_OK,
          "an array of no events is complete");
    end();
}

static void leaf_then_root(void)
{
    begin();
    gex_Event_t put = start_put(0), leaf = gex_Event_QueryLeaf(put, GEX_EC_LC);
    check_each(leaf == gex_Event_QueryLeaf(put, GEX_EC_LC) && leaf != put, "a new leaf");
    check_each(gex_Event_Test(leaf) == GASNET_ERR_NOT_READY &&
                   gex_Event_Test(put) == GASNET_ERR_NOT_READY,
               "early");
    complete(1);
    check_each(gex_Event_Test(leaf) == GASNET_OK && gex_Event_Test(leaf) == GASNET_OK &&
                   gex_Event_Test(put) == GASNET_OK,
               "late");
    check_each(gex_Event_QueryLeaf(GEX_EVENT_INVALID, GEX_EC_LC) == GEX_EVENT_INVALID, "no root");
    check_all("a leaf, then its root");
    end();
}

/* --- puts with an event for the source --- */

static void put_leaf(size_t nbytes, bool in_segment)
{
    char before[100000];
    begin();
    char *source = in_segment ? unit_segment(0) : outside;
    memcpy(before, source, nbytes);
    gex_Event_t leaf = GEX_EVENT_NO_OP;
    gex_Event_t put = gasnete_put_nb_leaf(1, unit_segment(1), source, nbytes, &leaf);
    if (gex_Event_Test(leaf) == GASNET_OK) {
        memset(source, 0x5a, nbytes);
        leaf = GEX_EVENT_INVALID;
    }
    check_each((put == GEX_EVENT_INVALID) == (nbytes == 0), "%zu bytes: no event", nbytes);
    while (net_script_in_flight()) {
        check_each(gex_Event_Test(put) == GASNET_ERR_NOT_READY, "%zu bytes: early", nbytes);
        complete(1);
    }
    check_each(gex_Event_Test(leaf) == GASNET_OK, "%zu bytes: the leaf is late", nbytes);
    check_each(gex_Event_Test(put) == GASNET_OK, "%zu bytes: late", nbytes);
    check_each(!memcmp(unit_segment(1), before, nbytes), "%zu bytes: wrong", nbytes);
    end();
}

static void put_leaves(void)
{
    static const size_t sizes[] = {0, 1, 72, 73, 4000, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int where = 0; where < 2; where++) put_leaf(sizes[i], where);
    check_all("a put's leaf is complete when the source may be written");
}

/* --- implicit operations --- */

static int long_request(gex_Event_t *lc_opt, size_t nbytes, gex_Flags_t flags)
{
    return gasnete_request(1, GEX_FLAG_AM_LONG, 130, unit_segment(0), nbytes, unit_segment(1),
                           lc_opt, flags, 0, NULL);
}

static void start_implicit(int kind)
{
    char *to = unit_segment(1), *from = unit_segment(0);
    switch (kind) {
    case 0:
        gasnet_put_nbi_bulk(1, to, from, 5000);
        break;
    case 1:
        gasnete_put_nbi_group(1, to, from, 5000);
        break;
    case 2:
        gasnete_put_nbi_group(1, to, from, 50);
        break;
    case 3:
        gasnet_get_nbi_bulk(from, 1, to, 5000);
        break;
    case 4:
        long_request(GEX_EVENT_GROUP, 20000, 0);
        break;
    case 5:
        gasnet_put_nbi_val(1, to, 5, 4);
        break;
    case 6:
        gasnet_put_nbi(1, to, from, 3000);
        break;
    case 7:
        gasnet_memset_nbi(1, to, 5, 3000);
        break;
    }
}

enum { KINDS = 8 };
static const gex_EC_t waits_for[KINDS] = {
    GEX_EC_PUT, GEX_EC_PUT | GEX_EC_LC, GEX_EC_PUT, GEX_EC_GET, GEX_EC_AM, GEX_EC_PUT, GEX_EC_PUT,
    GEX_EC_PUT};

static void implicit_sets(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (gex_EC_t mask = 1; mask <= GEX_EC_ALL; mask++) {
            const int pending = mask & waits_for[kind] ? GASNET_ERR_NOT_READY : GASNET_OK;
            begin();
            start_implicit(kind);
            const unsigned reaps = net_script.reaps;
            check_each(gasnete_nbi_test(mask) == pending, "kind %d, mask %u", kind, mask);
            check_each(net_script.reaps == reaps, "a test polls");
            net_script.on_reap = complete_one;
            gasnete_nbi_wait(mask);
            check_each((net_script.reaps > reaps) == (pending != GASNET_OK), "kind %d, mask %u: %s",
                       kind, mask, pending ? "no wait" : "a wait");
            net_script.on_reap = NULL;
            complete(UINT32_MAX);
            check_each(gasnete_nbi_test(GEX_EC_ALL) == GASNET_OK, "kind %d: no end", kind);
            end();
        }
    }
    check_all("implicit operations: each category waits for its own");
    for (int kind = 0; kind < KINDS; kind++) {
        begin();
        start_implicit(kind);
        const bool puts = waits_for[kind] & GEX_EC_PUT, gets = waits_for[kind] & GEX_EC_GET;
        check_each((gasnet_try_syncnbi_puts() != GASNET_OK) == puts &&
                       (gasnet_try_syncnbi_gets() != GASNET_OK) == gets &&
                       (gasnet_try_syncnbi_all() != GASNET_OK) == (puts || gets),
                   "kind %d", kind);
        complete(UINT32_MAX);
        check_each(gasnet_try_syncnbi_all() == GASNET_OK && gasnete_nbi_test(31) == GASNET_OK,
                   "kind %d", kind);
        end();
    }
    check_all("the calls of GASNet-1 wait for puts of both kinds");
}

static void regions(void)
{
    begin();
    gasnete_begin_nbi_accessregion();
    check_each(gasnete_end_nbi_accessregion() == GEX_EVENT_INVALID, "an empty region");
    end();
    for (unsigned set = 1; set < 1U << KINDS; set++) {
        begin();
        gasnete_begin_nbi_accessregion();
        for (int kind = 0; kind < KINDS; kind++)
            if (set & 1U << kind) start_implicit(kind);
        gex_Event_t region = gasnete_end_nbi_accessregion();
        check_each(region != GEX_EVENT_INVALID, "set %u: no event", set);
        check_each(gasnete_nbi_test(GEX_EC_ALL) == GASNET_OK, "set %u: outside", set);
        gex_Event_t leaf = gex_Event_QueryLeaf(region, GEX_EC_AM);
        while (net_script_in_flight() > 1) {
            complete(1);
            unsigned counted = 0; /* of the operations in flight, those that the region has */
            for (int kind = NET_SCRIPT_PUT; kind <= NET_SCRIPT_GET; kind++)
                for (unsigned i = 0; i < net_script_count(kind); i++)
                    counted += !net_script_get_event(kind, (int)i)->complete;
            check_each((gex_Event_Test(leaf) == GASNET_OK) == !counted, "set %u: %u left", set,
                       counted);
        }
        complete(UINT32_MAX);
        check_each(gex_Event_Test(leaf) == GASNET_OK && gex_Event_Test(region) == GASNET_OK,
                   "set %u: no end", set);
        start_implicit(0);
        check_each(gasnete_nbi_test(GEX_EC_PUT) != GASNET_OK, "set %u: after it", set);
        end();
        gasnete_nbi_wait(GEX_EC_ALL);
    }
    check_all("an access region has operations of all kinds, and nothing else has them");
}

/* --- messages --- */

static void long_events(void)
{
    static const size_t sizes[] = {0, 20, 4016, 20000, 100000};
    for (int i = 0; i < 5; i++) {
        for (int immediate = 0; immediate < 2; immediate++) {
            begin();
            const gex_Flags_t flags = immediate ? GEX_FLAG_IMMEDIATE : 0;
            gex_Event_t event = GEX_EVENT_NO_OP;
            const unsigned records = free_records();
            if (immediate) {
                const uint16_t had = gasnetc_peers[1].credits.available;
                gasnetc_peers[1].credits.available = 0;
                check_each(long_request(&event, sizes[i], flags) && event == GEX_EVENT_NO_OP,
                           "%zu bytes: refused, and stored", sizes[i]);
                check_each(long_request(GEX_EVENT_GROUP, sizes[i], flags) &&
                               gasnete_nbi_test(GEX_EC_AM) == GASNET_OK,
                           "%zu bytes: refused, and counted", sizes[i]);
                gasnetc_peers[1].credits.available = had;
                check_each(free_records() >= records, "%zu bytes: a record is lost", sizes[i]);
            }
            check_each(!long_request(&event, sizes[i], flags), "refused");
            const bool put = sizes[i] > 4016;
            check_each((event != GEX_EVENT_INVALID) == put, "%zu bytes: an event", sizes[i]);
            check_each((gex_Event_Test(event) == GASNET_OK) == !put, "%zu bytes: early", sizes[i]);
            complete(UINT32_MAX);
            if (put) gex_Event_Wait(event);
            event = GEX_EVENT_NO_OP;
            check_each(!gasnete_request(0, GEX_FLAG_AM_LONG, H_LONG, unit_segment(0), sizes[i] / 2,
                                        unit_segment(0) + SEGMENT / 2, &event, flags, 0, NULL) &&
                           event == GEX_EVENT_INVALID && handled == 1,
                       "%zu bytes to itself", sizes[i]);
            check_each(free_records() >= records, "%zu bytes: a record is lost", sizes[i]);
            end();
        }
    }
    check_all("a Long's event; a refused Long stores none, and counts nothing");
}

/* A client's own buffer: the credit is taken by Commit. */
static void commit_client(void)
{
    begin();
    gex_Event_t event = GEX_EVENT_NO_OP;
    gex_AM_SrcDesc_t sd = gasnete_prepare_request(1, GEX_FLAG_AM_LONG, unit_segment(0), 1, SEGMENT,
                                                  &event, GEX_FLAG_IMMEDIATE, 0);
    const gex_Flags_t form = GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST;
    check_each(gex_AM_SrcDescAddr(sd) == unit_segment(0) && gex_AM_SrcDescSize(sd) == SEGMENT &&
                   event == GEX_EVENT_NO_OP,
               "prepared");
    gasnetc_peers[1].credits.available = 0;
    for (int i = 0; i < 7; i++) gasnetc_peers[1].credits.surplus++;
    arrive(1, (message_t){.request = 1, .handler = H_QUIET});
    arrive(1, (message_t){.handler = H_QUIET, .credits = 8});
    int refusals = 0;
    while (gasnete_commit(sd, form, 130, 20000, unit_segment(1), GEX_FLAG_IMMEDIATE, 0, NULL) &&
           refusals < 10)
        refusals++;
    check_each(refusals == 1 && handled == 2, "%d refusals, %u handlers", refusals, handled);
    check_each(gex_Event_Test(event) == GASNET_ERR_NOT_READY, "no event");
    complete(UINT32_MAX);
    check_each(gex_Event_Test(event) == GASNET_OK &&
                   !memcmp(unit_segment(1), unit_segment(0), 20000),
               "the payload");
    check_all("a Commit that lacks a credit polls before it is refused, and is repeated");
    end();
}

static void commit_lent(void)
{
    const gex_Flags_t form = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST;
    begin();
    gasnetc_credits_t *credits = &gasnetc_peers[1].credits;
    credits->available = 0;
    check_each(gasnete_prepare_request(1, GEX_FLAG_AM_MEDIUM, NULL, 100, 200, NULL,
                                       GEX_FLAG_IMMEDIATE, 1) == GEX_AM_SRCDESC_NO_OP,
               "not refused");
    credits->available = 8;
    gex_AM_SrcDesc_t sd = gasnete_prepare_request(1, GEX_FLAG_AM_MEDIUM, NULL, 100, 1 << 20, NULL,
                                                  GEX_FLAG_IMMEDIATE, 1);
    check_each(sd && gex_AM_SrcDescSize(sd) == GASNETC_MAX_MEDIUM, "the size");
    gasnete_cancel(sd, form);
    check_each(credits->available == 8 && unit_free_bbufs() == UNIT_BBUFS, "cancelled");
    sd = gasnete_prepare_request(1, GEX_FLAG_AM_MEDIUM, NULL, 100, 200, NULL, 0, 1);
    memset(gex_AM_SrcDescAddr(sd), 7, 200);
    const gex_AM_Arg_t arg = 100;
    net_script.refused_ams = 1;
    net_script.refused_as = NET_NO_REPLY_BUF;
    arrive(1, (message_t){.request = 1, .handler = H_QUIET});
    check_each(gasnete_commit(sd, form, 130, 50, NULL, GEX_FLAG_IMMEDIATE, 1, &arg) && handled == 1,
               "a refused Commit does not poll");
    check_each(!gasnete_commit(sd, form, 130, 50, NULL, GEX_FLAG_IMMEDIATE, 1, &arg), "refused");
    check_each(net_script_count(NET_SCRIPT_AM) == 1 &&
                   net_script_get_event(NET_SCRIPT_AM, 0)->length == 66,
               "the message");
    check_all("a lent buffer: refused, cancelled, committed");
    end();
}

static void prepare_reply(gasnet_token_t token)
{
    const gex_Flags_t form = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY;
    gex_AM_SrcDesc_t sd =
        gasnete_prepare_reply(token, GEX_FLAG_AM_MEDIUM, NULL, 100, 200, NULL, 0, 0);
    memset(gex_AM_SrcDescAddr(sd), 7, 200);
    gasnete_cancel(sd, form);
    sd = gasnete_prepare_reply(token, GEX_FLAG_AM_MEDIUM, NULL, 100, 200, NULL, 0, 0);
    net_script.refused_ams = 1;
    net_script.refused_as = NET_BUSY;
    const unsigned reaps = net_script.reaps;
    check_each(gasnete_commit(sd, form, 130, 50, NULL, GEX_FLAG_IMMEDIATE, 0, NULL), "sent");
    check_each(net_script.reaps == reaps + 1, "a refused Commit does not reap");
    check_each(!gasnete_commit(sd, form, 130, 50, NULL, GEX_FLAG_IMMEDIATE, 0, NULL), "refused");
}

static void prepare_second(gasnet_token_t token)
{
    gex_AM_SrcDesc_t sd =
        gasnete_prepare_reply(token, GEX_FLAG_AM_MEDIUM, NULL, 100, 200, NULL, 0, 0);
    gasnet_AMReplyShort0(token, 130);
    gasnete_commit(sd, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 130, 50, NULL, 0, 0, NULL);
}

static void second_reply(const void *unused)
{
    (void)unused;
    prepare = prepare_second;
    arrive(1, (message_t){.request = 1, .handler = H_PREPARE});
    gasnet_AMPoll();
}

static void commit_reply(void)
{
    begin();
    prepare = prepare_reply;
    arrive(1, (message_t){.request = 1, .handler = H_PREPARE});
    arrive(1, (message_t){.request = 1, .handler = H_QUIET});
    const unsigned polls = net_script.polls;
    gasnet_AMPoll();
    check_each(net_script.polls == polls + 1 && handled == 1, "a Reply polls");
    check_each(net_script_count(NET_SCRIPT_AM) == 1 &&
                   net_script_get_event(NET_SCRIPT_AM, 0)->bytes[2] == 1,
               "the Reply");
    check_all("a Reply in a lent buffer: cancelled, refused, committed");
    check_fatal("a second Reply of a handler, in a lent buffer, is refused", second_reply, NULL,
                "reply once", "second Reply");
    end();
}

int main(int argc, char **argv)
{
    net_script_reset();
    check_begin(argc, argv);
    arrays();
    leaf_then_root();
    put_leaves();
    implicit_sets();
    regions();
    long_events();
    commit_client();
    commit_lent();
    commit_reply();
    return check_end();
}
