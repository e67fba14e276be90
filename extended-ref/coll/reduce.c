/* reduce.c - the table of functions that gasnet_coll_init is given, and their calls.  */
#include "extended-ref/coll/op.h"

#include <stdlib.h>
#include <string.h>

#include "core/report.h"

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
    return reduce_by_table(call) && functions[call->function].flags & GASNET_COLL_NONCOMM;
}

bool gasnete_coll_needs_client(const gasnete_coll_call_t *call)
{
    return call->kind == GASNETE_COLL_REDUCE && reduce_by_table(call) &&
           !(functions[call->function].flags & GASNET_COLL_AMSAFE);
}

/* Combines by the client's function, which writes to its right operand.  If the
 * result replaces the left one, the operands are exchanged: the operation is commutative.  */
static void reduce_by_user(const gasnete_coll_call_t *call, void *to, const void *left,
                           const void *right, size_t count)
{
    if (to == left) {
        call->user(right, to, count, call->cdata);
        return;
    }
    if (to != right) memcpy(to, right, count * call->unit);
    call->user(left, to, count, call->cdata);
}

void gasnete_coll_combine(const gasnete_coll_call_t *call, void *to, const void *left,
                          const void *right, size_t nbytes)
{
    size_t count = nbytes / call->unit;
    if (count == 0) return;
    if (call->kernel)
        call->kernel(to, left, right, count);
    else if (call->user)
        reduce_by_user(call, to, left, right, count);
    else
        functions[call->function].fnptr(to, count, left, count, right, call->unit,
                                        (int)functions[call->function].flags, call->argument);
}
