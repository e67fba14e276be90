/* am_variadic.c - the AM calls with a run-time argument count.
 *
 * Each call refuses an index that is not a client's, copies its variable arguments to an array and
 * calls the function that takes an array.
 */
#include <stdarg.h>

#include "core/am/am_wire.h"
#include "core/report.h"
#include "gasnet.h"

static void gather(gasnet_handlerarg_t *args, int numargs, va_list list)
{
    if (numargs < 0 || numargs > GASNETC_AM_MAX_ARGS)
        gasneti_fatal("an Active Message with %d arguments: 0..16 are possible", numargs);
    for (int i = 0; i < numargs; i++) args[i] = va_arg(list, gasnet_handlerarg_t);
}

/* Defines a call; the last arguments are those to pass on before the variable ones. */
#define CALL(name, parameters, check, ...)                                                         \
    int gasnet_##name parameters                                                                   \
    {                                                                                              \
        gasnet_handlerarg_t args[GASNETC_AM_MAX_ARGS];                                             \
        va_list list;                                                                              \
        check;                                                                                     \
        va_start(list, numargs);                                                                   \
        gather(args, numargs, list);                                                               \
        va_end(list);                                                                              \
        return gasnetc_##name(__VA_ARGS__, numargs, args);                                         \
    }
#define CHECK_REQUEST gasneti_check_request(dest, handler)
#define CHECK_REPLY   gasneti_check_reply(token, handler)

CALL(AMRequestShort, (gasnet_node_t dest, gasnet_handler_t handler, int numargs, ...),
     CHECK_REQUEST, dest, handler)
CALL(AMRequestMedium,
     (gasnet_node_t dest, gasnet_handler_t handler, const void *src, size_t nbytes, int numargs,
      ...),
     CHECK_REQUEST, dest, handler, src, nbytes)
CALL(AMRequestLong,
     (gasnet_node_t dest, gasnet_handler_t handler, const void *src, size_t nbytes, void *dst,
      int numargs, ...),
     CHECK_REQUEST, dest, handler, src, nbytes, dst)
CALL(AMRequestLongAsync,
     (gasnet_node_t dest, gasnet_handler_t handler, const void *src, size_t nbytes, void *dst,
      int numargs, ...),
     CHECK_REQUEST, dest, handler, src, nbytes, dst)
CALL(AMReplyShort, (gasnet_token_t token, gasnet_handler_t handler, int numargs, ...), CHECK_REPLY,
     token, handler)
CALL(AMReplyMedium,
     (gasnet_token_t token, gasnet_handler_t handler, const void *src, size_t nbytes, int numargs,
      ...),
     CHECK_REPLY, token, handler, src, nbytes)
CALL(AMReplyLong,
     (gasnet_token_t token, gasnet_handler_t handler, const void *src, size_t nbytes, void *dst,
      int numargs, ...),
     CHECK_REPLY, token, handler, src, nbytes, dst)
