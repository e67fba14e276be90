/* am_variadic.c - the AM calls with a run-time argument count.
 *
 * Each call refuses an index that is not a client's, copies its variable arguments to an array and
 * calls the function that takes an array.
 */
#include <stdarg.h>

#include "core/am/am_wire.h"
#include "core/report.h"
#include "gasnet.h"

/* Declares args and copies the `numargs` variable arguments to it. */
#define GATHER(args, numargs)                                                                      \
    gasnet_handlerarg_t args[GASNETC_AM_MAX_ARGS];                                                 \
    do {                                                                                           \
        va_list list;                                                                              \
        va_start(list, numargs);                                                                   \
        gather(args, numargs, list);                                                               \
        va_end(list);                                                                              \
    } while (0)

static void gather(gasnet_handlerarg_t *args, int numargs, va_list list)
{
    if (numargs < 0 || numargs > GASNETC_AM_MAX_ARGS)
        gasneti_fatal("an Active Message with %d arguments: 0..16 are possible", numargs);
    for (int i = 0; i < numargs; i++) args[i] = va_arg(list, gasnet_handlerarg_t);
}

int gasnet_AMRequestShort(gasnet_node_t dest, gasnet_handler_t handler, int numargs, ...)
{
    gasneti_check_request(dest, handler);
    GATHER(args, numargs);
    return gasnetc_AMRequestShort(dest, handler, numargs, args);
}

int gasnet_AMRequestMedium(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                           size_t nbytes, int numargs, ...)
{
    gasneti_check_request(dest, handler);
    GATHER(args, numargs);
    return gasnetc_AMRequestMedium(dest, handler, src, nbytes, numargs, args);
}

int gasnet_AMRequestLong(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                         size_t nbytes, void *dst, int numargs, ...)
{
    gasneti_check_request(dest, handler);
    GATHER(args, numargs);
    return gasnetc_AMRequestLong(dest, handler, src, nbytes, dst, numargs, args);
}

int gasnet_AMRequestLongAsync(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                              size_t nbytes, void *dst, int numargs, ...)
{
    gasneti_check_request(dest, handler);
    GATHER(args, numargs);
    return gasnetc_AMRequestLongAsync(dest, handler, src, nbytes, dst, numargs, args);
}

int gasnet_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int numargs, ...)
{
    gasneti_check_reply(token, handler);
    GATHER(args, numargs);
    return gasnetc_AMReplyShort(token, handler, numargs, args);
}

int gasnet_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *src,
                         size_t nbytes, int numargs, ...)
{
    gasneti_check_reply(token, handler);
    GATHER(args, numargs);
    return gasnetc_AMReplyMedium(token, handler, src, nbytes, numargs, args);
}

int gasnet_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, const void *src,
                       size_t nbytes, void *dst, int numargs, ...)
{
    gasneti_check_reply(token, handler);
    GATHER(args, numargs);
    return gasnetc_AMReplyLong(token, handler, src, nbytes, dst, numargs, args);
}
