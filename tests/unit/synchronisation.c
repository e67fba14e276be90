/* synchronisation.c - the synchronisation table of the seeds (IB-E1), row by row, on the scripted
 * network: no call may return too early, and none may wait or copy more than its row says.
 *
 * Completions are held back.  The source is overwritten as soon as the initiating call has
 * returned; the data that arrive show whether it was free by then.
 */
#include "core/rdma/synchronisation.h"

#include <pthread.h>
#include <string.h>

#include "core/am/am.h"
#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/rdma.h"
#include "tests/programs/synchronisation_rows.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 512 << 10, SHIFT = 15, INLINE = 72, BOUNCE = 65536, PACKED = 4000, OFFSET = 640 };

static char outside[SEGMENT]; /* memory of this node that is not in its segment */
static char before[SEGMENT];  /* the source as it was at the call */

static void *initiate_in_thread(void *unused)
{
    initiate();
    return unused;
}

/* Puts a value from a stack in the segment, as a client may: a network without inline sends that
 * takes the stack for registered memory would send later contents of it.
 */
static void initiate_on_stack_in_segment(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    gasnetc_caps.inline_max = net_script.caps.inline_max = 0;
    pthread_attr_init(&attributes);
    bool started =
        !pthread_attr_setstack(&attributes, unit_segment(0) + SEGMENT / 2, SEGMENT / 2) &&
        !pthread_create(&thread, &attributes, initiate_in_thread, NULL);
    if (check_each(started, "no thread")) pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    memset(unit_segment(0) + SEGMENT / 2, 0x5a, SEGMENT / 2);
}

/* --- checks --- */

/* A waiting thread returns after a few polls. */
static void let_waits_end(void)
{
    if (net_script.reaps > 5) net_script_complete(UINT32_MAX);
}

/* The only way to free a large source is to wait for it. */
static bool must_wait(void)
{
    return use.row->remote == 'I' || (use.row->local == 'I' && use.nbytes > BOUNCE);
}

/* The bytes were taken at the call: because the row says so, or because they travel best that way.
 */
static bool taken_at_call(void)
{
    return use.row->local == 'I' || use.row->value || use.nbytes <= INLINE ||
           (!use.in_segment && use.nbytes <= GASNETC_BBUF_SIZE);
}

/* Some bounce buffer is in order: to free the source, or because the memory is not registered. */
static bool may_copy(size_t length)
{
    if (use.row->value) return !use.row->get; /* IB-W1 */
    if (!use.in_segment && length <= GASNETC_BBUF_SIZE) return true;
    return use.row->local == 'I' && use.nbytes <= BOUNCE;
}

static unsigned posted(void)
{
    return net_script_count(use.row->get ? NET_SCRIPT_GET : NET_SCRIPT_PUT);
}

/* False if what is in flight may outlive its counter, so that it must not complete. */
static bool check_initiated(void)
{
    bool good = check_each((net_script.reaps > 0) == must_wait(),
                           "%s: %u polls while initiating, of %zu bytes", use.row->name,
                           net_script.reaps, use.nbytes);
    if (use.row->kind == MESSAGE && use.nbytes <= PACKED) return true;
    check_each(posted() > 0, "%s: nothing was posted", use.row->name);
    for (unsigned i = 0; i < posted(); i++) {
        const net_script_event_t *event =
            net_script_get_event(use.row->get ? NET_SCRIPT_GET : NET_SCRIPT_PUT, (int)i);
        good &=
            check_each(event->complete == must_wait(), "%s of %zu bytes: piece %u is %s on return",
                       use.row->name, use.nbytes, i, event->complete ? "complete" : "in flight");
        check_each(event->region != gasnetc_bbuf_region.id || may_copy(event->length),
                   "%s of %zu bytes: piece %u is copied", use.row->name, use.nbytes, i);
    }
    return good || use.row->kind != BLOCKING;
}

/* The payload of a Long that is sent in one message. */
static const void *packed_bytes(void)
{
    const net_script_event_t *event = net_script_get_event(NET_SCRIPT_AM, 0);
    return event->bytes + (event->length - use.nbytes);
}

/* The bytes of a put whose source was written after the call: those of a piece that was copied are
 * older. */
static bool pieces_arrived(void)
{
    size_t sum = 0;
    for (unsigned i = 0; i < posted(); i++) {
        const net_script_event_t *event = net_script_get_event(NET_SCRIPT_PUT, (int)i);
        const size_t offset = event->remote - (uintptr_t)use.remote;
        const char *source = event->region == gasnetc_bbuf_region.id ? before : use.local;
        if (memcmp((const char *)use.remote + offset, source + offset, event->length)) return false;
        sum += event->length;
    }
    return sum == use.nbytes;
}

static void check_arrived(void)
{
    bool packed = use.row->kind == MESSAGE && use.nbytes <= PACKED;
    const void *there = use.row->get ? use.local : packed ? packed_bytes() : use.remote;
    bool as_before = use.row->get || use.row->kind == BLOCKING || packed || taken_at_call();
    check_each(as_before ? !memcmp(there, before, use.nbytes) : pieces_arrived(),
               "%s of %zu bytes %s the segment: wrong bytes", use.row->name, use.nbytes,
               use.in_segment ? "in" : "outside");
}

/* While its completion is held back, an operation is not found complete; a wait ends with it. */
static void synchronise(void)
{
    if (use.row->kind != VALGET && !must_wait())
        for (int i = 0; i < 3; i++)
            check_each(try_sync() == GASNET_ERR_NOT_READY, "%s of %zu bytes is synchronised early",
                       use.row->name, use.nbytes);
    net_script.reaps = 0;
    net_script.on_reap = let_waits_end;
    wait_sync();
    check_each(net_script_in_flight() == 0, "%s of %zu bytes: the wait ends early", use.row->name,
               use.nbytes);
}

static void begin(const struct row *row, size_t nbytes, bool in_segment, bool region)
{
    net_script_reset();
    gasnetc_caps.inline_max = INLINE;
    gasnetc_credits_init(&gasnetc_peers[1].credits, 8, 1);
    use = (struct use){.row = row,
                       .nbytes = nbytes,
                       .in_segment = in_segment,
                       .region = region,
                       .peer = 1,
                       .handler = 200};
    use.local = (in_segment ? unit_segment(0) : outside) + OFFSET;
    use.remote = unit_segment(1) + OFFSET;
    check_fill(use.local, nbytes);
    check_fill(use.remote, nbytes);
    memcpy(before, row->get ? use.remote : use.local, nbytes);
    net_script.hold = true;
    net_script.on_reap = let_waits_end;
}

static void walk(const struct row *row, size_t nbytes, bool in_segment, bool region)
{
    begin(row, nbytes, in_segment, region);
    if (region) gasnet_begin_nbi_accessregion();
    if (row->value && in_segment)
        initiate_on_stack_in_segment();
    else
        initiate();
    net_script.on_reap = NULL;
    if (region) use.handle = gasnet_end_nbi_accessregion();
    if (!check_initiated()) return;
    if (row->remote == 'I') check_arrived();
    if (!row->get) memset(use.local, 0x5a, nbytes);
    if (row->remote == 'S') synchronise();
    net_script_complete(UINT32_MAX);
    gasnetc_reap();
    check_arrived();
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%s: a bbuf is kept", row->name);
}

static void walk_row(const struct row *row)
{
    static const size_t sizes[] = {8, 3000, 20000, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (row->value && sizes[i] > sizeof(gasnet_register_value_t)) continue;
        for (int in_segment = 0; in_segment < 2; in_segment++) {
            walk(row, sizes[i], in_segment, false);
            if (row->kind == IMPLICIT) walk(row, sizes[i], in_segment, true);
        }
    }
    check_all("IB-E1 %s: local %c, remote %c", row->name, row->local, row->remote);
}

/* --- the table itself --- */

static char letter(enum gasnetc_when when)
{
    return when == GASNETC_INITIATING ? 'I' : when == GASNETC_SYNCING ? 'S' : 'X';
}

static void same_table(void)
{
    for (unsigned i = 0; i < FORMS; i++) {
        const gasnetc_needs_t *needs = &gasnetc_needs[i];
        check_each((unsigned)rows[i].form == i, "row %u is of another form", i);
        check_each(letter(needs->local) == rows[i].local, "%s local", rows[i].name);
        check_each(letter(needs->remote) == rows[i].remote, "%s remote", rows[i].name);
        check_each((needs->local == GASNETC_NO_MEMORY) == rows[i].value, "%s value", rows[i].name);
    }
    check_all("IB-E1 the library's table is the seeds' table");
}

/* Polls of one call upon a list with an operation that is not complete. */
static unsigned polls_of(int (*call)(gasnet_handle_t *, size_t), gasnet_handle_t *handle)
{
    net_script.reaps = 0;
    check_each(call(handle, 1) == GASNET_ERR_NOT_READY, "a list is synchronised early");
    return net_script.reaps;
}

static int try_all(gasnet_handle_t *h, size_t n)
{
    return gasnet_try_syncnb_all(h, n);
}
static int try_some(gasnet_handle_t *h, size_t n)
{
    return gasnet_try_syncnb_some(h, n);
}
static int try_all_nopoll(gasnet_handle_t *h, size_t n)
{
    return gasnet_try_syncnb_all_nopoll(h, n);
}
static int try_some_nopoll(gasnet_handle_t *h, size_t n)
{
    return gasnet_try_syncnb_some_nopoll(h, n);
}

static void lists(void)
{
    net_script_reset();
    net_script.hold = true;
    gasnet_handle_t handle = gasnet_get_nb_bulk(unit_segment(0), 1, unit_segment(1), 64);
    check_each(polls_of(try_all, &handle) && polls_of(try_some, &handle), "no poll");
    check_each(!polls_of(try_all_nopoll, &handle) && !polls_of(try_some_nopoll, &handle), "a poll");
    net_script_complete(UINT32_MAX);
    gasnet_wait_syncnb(handle);
    check_all("a list is synchronised after a poll, or without one where the name says so");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    net_script_reset();
    unit_job_begin(&(unit_job_t){2, 0, 8, 1, SEGMENT, SHIFT});
    same_table();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) walk_row(&rows[i]);
    lists();
    unit_job_end();
    return check_end();
}
