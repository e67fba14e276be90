/* reduce.c - the table of functions that gasnet_coll_init is given, and their calls.  */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "extended-ref/coll/op.h"

static gasnet_coll_fn_entry_t *functions;
static size_t function_count;

void gasnete_coll_functions(const gasnet_coll_fn_entry_t *table, size_t count)
{
    if (count == 0) return;
    if (table == NULL)
        gasneti_fatal("gasnet_coll_init is given a NULL table of %zu functions", count);
    functions = gasneti_calloc(count, sizeof *functions, "the functions of gasnet_coll_init");
    memcpy(functions, table, count * sizeof *functions);
    function_count = count;
}

uint32_t gasnete_coll_functions_digest(void)
{
    uint32_t digest = (uint32_t)function_count;
    for (size_t i = 0; i < function_count; i++) digest = digest * 31 + functions[i].flags;
    return digest;
}

void gasnete_coll_check_function(const char *call, gasnet_coll_fn_handle_t function)
{
    if ((size_t)(uint32_t)function >= function_count)
        gasneti_fatal("%s is given function %d: gasnet_coll_init was given %zu functions, which "
                      "are numbered from 0",
                      call, (int)function, function_count);
    if (functions[function].fnptr == NULL)
        gasneti_fatal("%s is given function %d, which is NULL in the table of gasnet_coll_init",
                      call, (int)function);
}

static bool reduce_by_table(const gasnete_coll_call_t *call)
{
    return !call->kernel && !call->user;
}

bool gasnete_coll_in_order(const gasnete_coll_call_t *call)
{
    return call->in_order ||
           (reduce_by_table(call) && functions[call->function].flags & GASNET_COLL_NONCOMM);
}

bool gasnete_coll_needs_client(const gasnete_coll_call_t *call)
{
    return call->kind == GASNETE_COLL_REDUCE && reduce_by_table(call) &&
           !(functions[call->function].flags & GASNET_COLL_AMSAFE);
}

/* Combines by the client's function, whose result replaces the left operand: some elements at a
 * time, because the function writes to its right operand, which is to be kept.  */
static void reduce_by_user_to_left(const gasnete_coll_call_t *call, char *left, const char *right,
                                   size_t count)
{
    _Alignas(16) char few[1024];
    const size_t unit = call->unit, most = unit <= sizeof few ? sizeof few / unit : 1;
    char *copy = unit <= sizeof few ? few : malloc(unit);
    if (copy == NULL)
        gasneti_fatal("out of memory: %zu bytes for an element of %s; raise the limit (ulimit -v)",
                      unit, call->name);
    for (size_t done = 0, now; done < count; done += now) {
        now = count - done < most ? count - done : most;
        memcpy(copy, right + done * unit, now * unit);
        call->user(left + done * unit, copy, now, call->cdata);
        memcpy(left + done * unit, copy, now * unit);
    }
    if (copy != few) free(copy);
}

/* Combines by the client's function, which writes to its right operand.  Operands are exchanged
 * only where that makes no difference between ranks.  */
static void reduce_by_user(const gasnete_coll_call_t *call, void *to, const void *left,
                           const void *right, size_t count)
{
    if (to != left) {
        if (to != right) memcpy(to, right, count * call->unit);
        call->user(left, to, count, call->cdata);
    } else if (call->in_order || call->kind == GASNETE_COLL_REDUCE_ALL) {
        reduce_by_user_to_left(call, to, right, count);
    } else {
        call->user(right, to, count, call->cdata);
    }
}

void gasnete_coll_combine(const gasnete_coll_call_t *call, void *to, const void *left,
                          const void *right, size_t nbytes)
{
    const size_t count = nbytes == call->unit ? 1 : nbytes / call->unit; /* a division is slow */
    if (count == 0) return;
    if (call->kernel)
        call->kernel(to, left, right, count);
    else if (call->user)
        reduce_by_user(call, to, left, right, count);
    else
        functions[call->function].fnptr(to, count, left, count, right, call->unit,
                                        (int)functions[call->function].flags, call->argument);
}
