/* putget.c - puts and gets: blocking, with explicit handle, and with the implicit one.
 *
 * Implements gasnet_{put,get}{,_nb,_nbi}{,_bulk}.  Each kind (blocking, explicit, implicit) is one
 * function, inlined for each form: it does transfers within this rank and with shared-memory peers
 * (shm_transfer.h), chooses the counter, and calls transfer.h for other transfers.  The _far forms
 * are for callers that know that the rank is no shared-memory peer; they only test whether the job
 * has it. Hot path: no work that a remote transfer of at least one byte does not need.  transfer.h
 * handles transfers of no bytes, except where the call must return GASNET_INVALID_HANDLE for them.
 *
 * core/rdma/synchronisation.h defines what each form waits for.  Forms with equal rows in that
 * table share a function: bulk and non-bulk blocking puts, and bulk and non-bulk gets of each kind.
 */
#include "core/job/progress.h"
#include "core/rdma/synchronisation.h"
#include "core/trace/trace.h"
#include "extended-ref/handles.h"
#include "extended-ref/shm_transfer.h"
#include "extended-ref/transfer.h"
#include "other/base/hot.h"
#include "other/base/tools.h"

bool gasnete_copy_local(const char *call, gasnet_node_t node, void *dst, const void *src,
                        size_t nbytes)
{
    if (GASNETC_CHECKING) gasnete_check_transfer(call, node);
    if (gasnete_is_remote(node)) return false;
    if (node >= gasnetc_job.size) gasnetc_no_such_rank(call, node);
    if (nbytes) memmove(dst, src, nbytes);
    return true;
}

/* The calls, for messages, by the form that they share. */
static const char *const putget_names[GASNETC_FORMS] = {
    [GASNETC_PUT] = "gasnet_put",
    [GASNETC_PUT_NB] = "gasnet_put_nb",
    [GASNETC_PUT_NB_BULK] = "gasnet_put_nb_bulk",
    [GASNETC_PUT_NBI] = "gasnet_put_nbi",
    [GASNETC_PUT_NBI_BULK] = "gasnet_put_nbi_bulk",
    [GASNETC_GET] = "gasnet_get",
    [GASNETC_GET_NB] = "gasnet_get_nb",
    [GASNETC_GET_NBI] = "gasnet_get_nbi",
};

HOT bool is_get(enum gasnetc_form form)
{
    return form == GASNETC_GET || form == GASNETC_GET_NB || form == GASNETC_GET_NBI;
}

HOT bool putget_shm(enum gasnetc_form form, gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    return is_get(form) ? gasnete_shm_get(putget_names[form], dst, node, src, nbytes)
                        : gasnete_shm_put(putget_names[form], node, dst, src, nbytes);
}

HOT void putget_start(enum gasnetc_form form, gasnet_node_t node, void *dst, void *src,
                      size_t nbytes, gasnetc_counter_t *counter)
{
    if (is_get(form))
        gasnete_transfer_get(node, dst, src, nbytes, counter);
    else if (gasnetc_frees_source(form))
        gasnete_transfer_put(node, dst, src, nbytes, counter);
    else
        gasnete_transfer_put_bulk(node, dst, src, nbytes, counter);
    if (gasnetc_blocks(form)) gasnetc_wait(counter);
}

/* True if `node`, which shares no memory, is another rank of the job; false too while a trace is
 * written. */
HOT bool putget_is_far(gasnet_node_t node)
{
    return node < gasnetc_reach && (GASNET_PSHM || node != gasnetc_job.rank);
}

/* The rare cases: no bytes, this rank, a thread's first operation, an empty pool; and all transfers
 * while a trace is written.  In functions of their own, which the hot paths tail-call, so that
 * there the arguments stay in registers up to the core. */
#define COLD __attribute__((cold))

/* The beginning and the end of a call, for the trace. */
static uint64_t putget_begin(gasnet_node_t node)
{
    return gasneti_trace_local || node != gasnetc_job.rank ? gasneti_trace_begin() : 0;
}

static void putget_end(uint64_t began, enum gasnetc_form form, gasnet_node_t node, size_t nbytes)
{
    static const uint8_t kinds[GASNETC_FORMS] = {
        [GASNETC_PUT] = GASNETI_TRACE_put,
        [GASNETC_PUT_NB] = GASNETI_TRACE_put_nb,
        [GASNETC_PUT_NB_BULK] = GASNETI_TRACE_put_nb,
        [GASNETC_PUT_NBI] = GASNETI_TRACE_put_nbi,
        [GASNETC_PUT_NBI_BULK] = GASNETI_TRACE_put_nbi,
        [GASNETC_GET] = GASNETI_TRACE_get,
        [GASNETC_GET_NB] = GASNETI_TRACE_get_nb,
        [GASNETC_GET_NBI] = GASNETI_TRACE_get_nbi,
    };
    gasneti_trace_end(began, .kind = kinds[form], .peer = node, .bytes = nbytes);
}

/* --- blocking --- */

static COLD void putget_blocking_slow(gasnet_node_t node, void *dst, void *src, size_t nbytes,
                                      enum gasnetc_form form)
{
    const uint64_t began = putget_begin(node);
    gasnetc_counter_t counter = {0};
    if (!gasnete_copy_local(putget_names[form], node, dst, src, nbytes))
        putget_start(form, node, dst, src, nbytes, &counter);
    putget_end(began, form, node, nbytes);
}

HOT void putget_blocking_far(enum gasnetc_form form, gasnet_node_t node, void *dst, void *src,
                             size_t nbytes)
{
    if (GASNETC_CHECKING) gasnete_check_transfer(putget_names[form], node);
    if (!putget_is_far(node)) {
        putget_blocking_slow(node, dst, src, nbytes, form);
        return;
    }
    gasnetc_counter_t counter = {0};
    putget_start(form, node, dst, src, nbytes, &counter);
}

HOT void putget_blocking(enum gasnetc_form form, gasnet_node_t node, void *dst, void *src,
                         size_t nbytes)
{
    if (!putget_shm(form, node, dst, src, nbytes))
        putget_blocking_far(form, node, dst, src, nbytes);
}

void gasnete_put(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    putget_blocking(GASNETC_PUT, node, dst, src, nbytes);
}

void gasnete_put_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    putget_blocking_far(GASNETC_PUT, node, dst, src, nbytes);
}

void gasnete_get(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    putget_blocking(GASNETC_GET, node, dst, src, nbytes);
}

void gasnete_get_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    putget_blocking_far(GASNETC_GET, node, dst, src, nbytes);
}

/* --- explicit handle --- */

static COLD gasnet_handle_t putget_explicit_slow(gasnet_node_t node, void *dst, void *src,
                                                 size_t nbytes, enum gasnetc_form form)
{
    const uint64_t began = putget_begin(node);
    gasnet_handle_t handle = GASNET_INVALID_HANDLE;
    if (!gasnete_copy_local(putget_names[form], node, dst, src, nbytes) && nbytes) {
        handle = gasnete_op_new(gasnete_self(), GASNETE_OP_HANDLE);
        putget_start(form, node, dst, src, nbytes, &handle->counter);
    }
    putget_end(began, form, node, nbytes);
    return handle;
}

HOT gasnet_handle_t putget_explicit_far(enum gasnetc_form form, gasnet_node_t node, void *dst,
                                        void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer(putget_names[form], node);
    if (nbytes == 0 || !putget_is_far(node) || me == NULL || me->ops.free == NULL)
        return putget_explicit_slow(node, dst, src, nbytes, form);
    gasnete_op_t *op = gasnete_op_take(me, GASNETE_OP_HANDLE);
    putget_start(form, node, dst, src, nbytes, &op->counter);
    return op;
}

HOT gasnet_handle_t putget_explicit(enum gasnetc_form form, gasnet_node_t node, void *dst,
                                    void *src, size_t nbytes)
{
    if (putget_shm(form, node, dst, src, nbytes)) return GASNET_INVALID_HANDLE;
    return putget_explicit_far(form, node, dst, src, nbytes);
}

gasnet_handle_t gasnete_put_nb(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    return putget_explicit(GASNETC_PUT_NB, node, dst, src, nbytes);
}

gasnet_handle_t gasnete_put_nb_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    return putget_explicit_far(GASNETC_PUT_NB, node, dst, src, nbytes);
}

gasnet_handle_t gasnete_put_nb_bulk(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    return putget_explicit(GASNETC_PUT_NB_BULK, node, dst, src, nbytes);
}

gasnet_handle_t gasnete_put_nb_bulk_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    return putget_explicit_far(GASNETC_PUT_NB_BULK, node, dst, src, nbytes);
}

gasnet_handle_t gasnete_get_nb(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    return putget_explicit(GASNETC_GET_NB, node, dst, src, nbytes);
}

gasnet_handle_t gasnete_get_nb_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    return putget_explicit_far(GASNETC_GET_NB, node, dst, src, nbytes);
}

/* --- implicit handle --- */

/* Implicit operations of a form are counted in one set of the thread. */
HOT void putget_start_implicit(enum gasnetc_form form, gasnete_thread_t *me, gasnet_node_t node,
                               void *dst, void *src, size_t nbytes)
{
    putget_start(form, node, dst, src, nbytes,
                 me->implicit[is_get(form) ? GASNETE_GETS : GASNETE_PUTS]);
}

static COLD void putget_implicit_slow(gasnet_node_t node, void *dst, void *src, size_t nbytes,
                                      enum gasnetc_form form)
{
    const uint64_t began = putget_begin(node);
    if (!gasnete_copy_local(putget_names[form], node, dst, src, nbytes))
        putget_start_implicit(form, gasnete_self(), node, dst, src, nbytes);
    putget_end(began, form, node, nbytes);
}

HOT void putget_implicit_far(enum gasnetc_form form, gasnet_node_t node, void *dst, void *src,
                             size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer(putget_names[form], node);
    if (putget_is_far(node) && me != NULL)
        putget_start_implicit(form, me, node, dst, src, nbytes);
    else
        putget_implicit_slow(node, dst, src, nbytes, form);
}

HOT void putget_implicit(enum gasnetc_form form, gasnet_node_t node, void *dst, void *src,
                         size_t nbytes)
{
    if (!putget_shm(form, node, dst, src, nbytes))
        putget_implicit_far(form, node, dst, src, nbytes);
}

void gasnete_put_nbi(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    putget_implicit(GASNETC_PUT_NBI, node, dst, src, nbytes);
}

void gasnete_put_nbi_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    putget_implicit_far(GASNETC_PUT_NBI, node, dst, src, nbytes);
}

void gasnete_put_nbi_bulk(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    putget_implicit(GASNETC_PUT_NBI_BULK, node, dst, src, nbytes);
}

void gasnete_put_nbi_bulk_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    putget_implicit_far(GASNETC_PUT_NBI_BULK, node, dst, src, nbytes);
}

void gasnete_get_nbi(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    putget_implicit(GASNETC_GET_NBI, node, dst, src, nbytes);
}

void gasnete_get_nbi_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    putget_implicit_far(GASNETC_GET_NBI, node, dst, src, nbytes);
}
