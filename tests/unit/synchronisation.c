/* synchronisation.c - the synchronisation table of the seeds (IB-E1), row by row, on the scripted
 * network: no call may return too early, and none may wait or copy more than its row says.
 *
 * Completions are held back.  The source is overwritten as soon as the initiating call has
 * returned; what arrives tells whether it was free by then.  The table below is written down a
 * second time on purpose: it is the requirement, core/synchronisation.h what was built.
 */
#include "core/synchronisation.h"

#include <pthread.h>
#include <string.h>

#include "core/am.h"
#include "core/buffers.h"
#include "core/params.h"
#include "core/poll.h"
#include "core/rdma.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 512 << 10, SHIFT = 15, INLINE = 72, BOUNCE = 65536, PACKED = 4000, OFFSET = 640 };

enum kind { MESSAGE, BLOCKING, HANDLE, IMPLICIT, VALGET };

static const struct row {
    enum gasnetc_form form;
    const char *name;
    char local, remote; /* X not needed, I before initiation returns, S before the sync returns */
    enum kind kind;
    bool get, value;
} rows[] = {
    {GASNETC_LONG_ASYNC, "LongAsync", 'X', 'X', MESSAGE, false, false},
    {GASNETC_LONG, "Long", 'I', 'X', MESSAGE, false, false},
    {GASNETC_PUT_NB, "put_nb", 'I', 'S', HANDLE, false, false},
    {GASNETC_PUT_NBI, "put_nbi", 'I', 'S', IMPLICIT, false, false},
    {GASNETC_PUT_NB_BULK, "put_nb_bulk", 'X', 'S', HANDLE, false, false},
    {GASNETC_PUT_NBI_BULK, "put_nbi_bulk", 'X', 'S', IMPLICIT, false, false},
    {GASNETC_PUT_NB_VAL, "put_nb_val", 'X', 'S', HANDLE, false, true},
    {GASNETC_PUT_NBI_VAL, "put_nbi_val", 'X', 'S', IMPLICIT, false, true},
    {GASNETC_PUT, "put", 'X', 'I', BLOCKING, false, false},
    {GASNETC_PUT_BULK, "put_bulk", 'X', 'I', BLOCKING, false, false},
    {GASNETC_PUT_VAL, "put_val", 'X', 'I', BLOCKING, false, true},
    {GASNETC_GET_NB, "get_nb", 'X', 'S', HANDLE, true, false},
    {GASNETC_GET_NBI, "get_nbi", 'X', 'S', IMPLICIT, true, false},
    {GASNETC_GET_NB_BULK, "get_nb_bulk", 'X', 'S', HANDLE, true, false},
    {GASNETC_GET_NBI_BULK, "get_nbi_bulk", 'X', 'S', IMPLICIT, true, false},
    {GASNETC_GET_NB_VAL, "get_nb_val", 'X', 'S', VALGET, true, true},
    {GASNETC_GET, "get", 'X', 'I', BLOCKING, true, false},
    {GASNETC_GET_BULK, "get_bulk", 'X', 'I', BLOCKING, true, false},
    {GASNETC_GET_VAL, "get_val", 'X', 'I', BLOCKING, true, true},
};

static char outside[SEGMENT]; /* memory of this node that is not in its segment */
static char before[SEGMENT];  /* the source as it was at the call */

/* One use of a form. */
static struct use {
    const struct row *row;
    char *local, *remote; /* this node's side, and rank 1's */
    size_t nbytes;
    bool in_segment, region;
    gasnet_handle_t handle;
    gasnet_valget_handle_t valget;
} use;

/* ---- what a client does ------------------------------------------------------------------------
 */

static gasnet_register_value_t value_here(void)
{
    gasnet_register_value_t value;
    memcpy(&value, use.local, sizeof value);
    return value;
}

static void give_value(gasnet_register_value_t value)
{
    memcpy(use.local, &value, sizeof value);
}

static void initiate(void)
{
    void *local = use.local, *remote = use.remote;
    size_t n = use.nbytes;
    switch (use.row->form) {
    case GASNETC_LONG_ASYNC:
        gasnet_AMRequestLongAsync0(1, 200, local, n, remote);
        break;
    case GASNETC_LONG:
        gasnet_AMRequestLong0(1, 200, local, n, remote);
        break;
    case GASNETC_PUT_NB:
        use.handle = gasnet_put_nb(1, remote, local, n);
        break;
    case GASNETC_PUT_NBI:
        gasnet_put_nbi(1, remote, local, n);
        break;
    case GASNETC_PUT_NB_BULK:
        use.handle = gasnet_put_nb_bulk(1, remote, local, n);
        break;
    case GASNETC_PUT_NBI_BULK:
        gasnet_put_nbi_bulk(1, remote, local, n);
        break;
    case GASNETC_PUT_NB_VAL:
        use.handle = gasnet_put_nb_val(1, remote, value_here(), n);
        break;
    case GASNETC_PUT_NBI_VAL:
        gasnet_put_nbi_val(1, remote, value_here(), n);
        break;
    case GASNETC_PUT:
        gasnet_put(1, remote, local, n);
        break;
    case GASNETC_PUT_BULK:
        gasnet_put_bulk(1, remote, local, n);
        break;
    case GASNETC_PUT_VAL:
        gasnet_put_val(1, remote, value_here(), n);
        break;
    case GASNETC_GET_NB:
        use.handle = gasnet_get_nb(local, 1, remote, n);
        break;
    case GASNETC_GET_NBI:
        gasnet_get_nbi(local, 1, remote, n);
        break;
    case GASNETC_GET_NB_BULK:
        use.handle = gasnet_get_nb_bulk(local, 1, remote, n);
        break;
    case GASNETC_GET_NBI_BULK:
        gasnet_get_nbi_bulk(local, 1, remote, n);
        break;
    case GASNETC_GET_NB_VAL:
        use.valget = gasnet_get_nb_val(1, remote, n);
        break;
    case GASNETC_GET:
        gasnet_get(local, 1, remote, n);
        break;
    case GASNETC_GET_BULK:
        gasnet_get_bulk(local, 1, remote, n);
        break;
    case GASNETC_GET_VAL:
        give_value(gasnet_get_val(1, remote, n));
        break;
    case GASNETC_FORMS:
        break;
    }
}

static void *initiate_in_thread(void *unused)
{
    initiate();
    return unused;
}

/* A client may place a thread's stack in its segment, and a value may lie on the stack: without
 * capture inline, whoever thinks it registered memory sends what the stack holds later. */
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

static int try_sync(void)
{
    if (use.row->kind == HANDLE || use.region) return gasnet_try_syncnb(use.handle);
    return use.row->get ? gasnet_try_syncnbi_gets() : gasnet_try_syncnbi_puts();
}

static void wait_sync(void)
{
    if (use.row->kind == VALGET)
        give_value(gasnet_wait_syncnb_valget(use.valget));
    else if (use.row->kind == HANDLE || use.region)
        gasnet_wait_syncnb(use.handle);
    else if (use.row->get)
        gasnet_wait_syncnbi_gets();
    else
        gasnet_wait_syncnbi_puts();
}

/* ---- what must hold ----------------------------------------------------------------------------
 */

/* Whoever waits is let go after a few turns. */
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

/* What a Long that travels in one message carries. */
static const void *packed_bytes(void)
{
    const net_script_event_t *event = net_script_get_event(NET_SCRIPT_AM, 0);
    return event->bytes + (event->length - use.nbytes);
}

static void check_arrived(void)
{
    bool packed = use.row->kind == MESSAGE && use.nbytes <= PACKED;
    const void *there = use.row->get ? use.local : packed ? packed_bytes() : use.remote;
    bool as_before = use.row->get || use.row->kind == BLOCKING || packed || taken_at_call();
    check_each(!memcmp(there, as_before ? before : use.local, use.nbytes),
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
    use = (struct use){.row = row, .nbytes = nbytes, .in_segment = in_segment, .region = region};
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

/* ---- the table itself --------------------------------------------------------------------------
 */

static char letter(enum gasnetc_when when)
{
    return when == GASNETC_INITIATING ? 'I' : when == GASNETC_SYNCING ? 'S' : 'X';
}

static void same_table(void)
{
    for (unsigned i = 0; i < GASNETC_FORMS; i++) {
        const gasnetc_needs_t *needs = &gasnetc_needs[rows[i].form];
        check_each(rows[i].form == i, "row %u is of another form", i);
        check_each(letter(needs->local) == rows[i].local, "%s local", rows[i].name);
        check_each(letter(needs->remote) == rows[i].remote, "%s remote", rows[i].name);
        check_each((needs->local == GASNETC_NO_MEMORY) == rows[i].value, "%s value", rows[i].name);
    }
    check_all("IB-E1 the library's table is the seeds' table");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    net_script_reset();
    unit_job_begin(&(unit_job_t){2, 0, 8, 1, SEGMENT, SHIFT});
    same_table();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) walk_row(&rows[i]);
    unit_job_end();
    return check_end();
}
