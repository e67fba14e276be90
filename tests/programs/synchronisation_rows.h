/* synchronisation_rows.h - the synchronisation table of the seeds (IB-E1), and how a client uses
 * each row: for tests/unit/synchronisation.c on a scripted network, and tests/programs/testsync.c
 * in real jobs.
 *
 * Written down a second time on purpose: this is the requirement, core/rdma/synchronisation.h what
 * was built.  Only the client API is used here.
 */
#ifndef TESTS_SYNCHRONISATION_ROWS_H
#define TESTS_SYNCHRONISATION_ROWS_H

#include <gasnet.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum form {
    LONG_ASYNC,
    LONG,
    PUT_NB,
    PUT_NBI,
    PUT_NB_BULK,
    PUT_NBI_BULK,
    PUT_NB_VAL,
    PUT_NBI_VAL,
    PUT,
    PUT_BULK,
    PUT_VAL,
    GET_NB,
    GET_NBI,
    GET_NB_BULK,
    GET_NBI_BULK,
    GET_NB_VAL,
    GET,
    GET_BULK,
    GET_VAL,
    FORMS
};

/* How it is synchronised. */
enum kind { MESSAGE, BLOCKING, HANDLE, IMPLICIT, VALGET };

static const struct row {
    enum form form;
    const char *name;
    char local, remote; /* X not needed, I before initiation returns, S before the sync returns */
    enum kind kind;
    bool get, value;
} rows[] = {
    {LONG_ASYNC, "LongAsync", 'X', 'X', MESSAGE, false, false},
    {LONG, "Long", 'I', 'X', MESSAGE, false, false},
    {PUT_NB, "put_nb", 'I', 'S', HANDLE, false, false},
    {PUT_NBI, "put_nbi", 'I', 'S', IMPLICIT, false, false},
    {PUT_NB_BULK, "put_nb_bulk", 'X', 'S', HANDLE, false, false},
    {PUT_NBI_BULK, "put_nbi_bulk", 'X', 'S', IMPLICIT, false, false},
    {PUT_NB_VAL, "put_nb_val", 'X', 'S', HANDLE, false, true},
    {PUT_NBI_VAL, "put_nbi_val", 'X', 'S', IMPLICIT, false, true},
    {PUT, "put", 'X', 'I', BLOCKING, false, false},
    {PUT_BULK, "put_bulk", 'X', 'I', BLOCKING, false, false},
    {PUT_VAL, "put_val", 'X', 'I', BLOCKING, false, true},
    {GET_NB, "get_nb", 'X', 'S', HANDLE, true, false},
    {GET_NBI, "get_nbi", 'X', 'S', IMPLICIT, true, false},
    {GET_NB_BULK, "get_nb_bulk", 'X', 'S', HANDLE, true, false},
    {GET_NBI_BULK, "get_nbi_bulk", 'X', 'S', IMPLICIT, true, false},
    {GET_NB_VAL, "get_nb_val", 'X', 'S', VALGET, true, true},
    {GET, "get", 'X', 'I', BLOCKING, true, false},
    {GET_BULK, "get_bulk", 'X', 'I', BLOCKING, true, false},
    {GET_VAL, "get_val", 'X', 'I', BLOCKING, true, true},
};

/* A use of a form. */
static struct use {
    const struct row *row;
    char *local, *remote; /* this node's side, and the peer's */
    size_t nbytes;
    bool in_segment, region;
    gasnet_node_t peer;
    gasnet_handler_t handler; /* of messages; takes one argument */
    gasnet_handlerarg_t argument;
    gasnet_handle_t handle;
    gasnet_valget_handle_t valget;
} use;

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
    case LONG_ASYNC:
        gasnet_AMRequestLongAsync1(use.peer, use.handler, local, n, remote, use.argument);
        break;
    case LONG:
        gasnet_AMRequestLong1(use.peer, use.handler, local, n, remote, use.argument);
        break;
    case PUT_NB:
        use.handle = gasnet_put_nb(use.peer, remote, local, n);
        break;
    case PUT_NBI:
        gasnet_put_nbi(use.peer, remote, local, n);
        break;
    case PUT_NB_BULK:
        use.handle = gasnet_put_nb_bulk(use.peer, remote, local, n);
        break;
    case PUT_NBI_BULK:
        gasnet_put_nbi_bulk(use.peer, remote, local, n);
        break;
    case PUT_NB_VAL:
        use.handle = gasnet_put_nb_val(use.peer, remote, value_here(), n);
        break;
    case PUT_NBI_VAL:
        gasnet_put_nbi_val(use.peer, remote, value_here(), n);
        break;
    case PUT:
        gasnet_put(use.peer, remote, local, n);
        break;
    case PUT_BULK:
        gasnet_put_bulk(use.peer, remote, local, n);
        break;
    case PUT_VAL:
        gasnet_put_val(use.peer, remote, value_here(), n);
        break;
    case GET_NB:
        use.handle = gasnet_get_nb(local, use.peer, remote, n);
        break;
    case GET_NBI:
        gasnet_get_nbi(local, use.peer, remote, n);
        break;
    case GET_NB_BULK:
        use.handle = gasnet_get_nb_bulk(local, use.peer, remote, n);
        break;
    case GET_NBI_BULK:
        gasnet_get_nbi_bulk(local, use.peer, remote, n);
        break;
    case GET_NB_VAL:
        use.valget = gasnet_get_nb_val(use.peer, remote, n);
        break;
    case GET:
        gasnet_get(local, use.peer, remote, n);
        break;
    case GET_BULK:
        gasnet_get_bulk(local, use.peer, remote, n);
        break;
    case GET_VAL:
        give_value(gasnet_get_val(use.peer, remote, n));
        break;
    case FORMS:
        break;
    }
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

#endif
