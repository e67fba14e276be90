/* gasnet_types.h - types, error codes and limits of the Core and Extended API.
 *
 * Private part of gasnet.h.  Definitions that depend on the conduit (message limits) come from
 * gasnet_conduit.h.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_types.h is private: include gasnet.h"
#endif
#ifndef GASNETI_TYPES_H
#define GASNETI_TYPES_H

/* --- Error codes: results of Core API calls --- */
#define GASNET_OK                   0
#define GASNET_ERR_NOT_INIT         10001 /* wrong order of init and attach, or job not spawned */
#define GASNET_ERR_RESOURCE         10002 /* a system or network resource is exhausted or failed */
#define GASNET_ERR_BAD_ARG          10003 /* an argument is invalid */
#define GASNET_ERR_NOT_READY        10004 /* a try call: not complete yet */
#define GASNET_ERR_BARRIER_MISMATCH 10005 /* barrier ids differ */

/* --- gasnet_set_waitmode --- */
#define GASNET_WAIT_SPIN      0 /* blocking calls poll without pause */
#define GASNET_WAIT_BLOCK     1 /* blocking calls yield the processor */
#define GASNET_WAIT_SPINBLOCK 2 /* poll for a while, then yield */

/* --- Barrier flags --- */
#define GASNET_BARRIERFLAG_ANONYMOUS 1 /* the id is ignored and matches any */
#define GASNET_BARRIERFLAG_MISMATCH  2 /* force GASNET_ERR_BARRIER_MISMATCH on every node */
#define GASNET_BARRIERFLAG_IMAGES    4 /* team barriers only; ignored by the plain calls */
#define GASNETI_BARRIERFLAG_ALL      8 /* private: see UNNAMED */
/* An anonymous barrier for which every node passes this flag.  */
#define GASNET_BARRIERFLAG_UNNAMED (GASNET_BARRIERFLAG_ANONYMOUS | GASNETI_BARRIERFLAG_ALL)

/* The most client threads alive at once in one node, unless GASNET_MAX_THREADS sets another number;
 * clients use this name and GASNETT_MAX_THREADS.  */
#if GASNETI_THREADS
#define GASNETI_MAX_THREADS GASNETC_MAX_THREADS
#else
#define GASNETI_MAX_THREADS 1
#endif

GASNETI_EXPORTS_BEGIN

/* Attribute of calls whose result must be synchronised. */
#define GASNETI_MUST_SYNC GASNETI_ATTRIBUTE((__warn_unused_result__))

typedef uint32_t gasnet_node_t;      /* a rank, 0 .. gasnet_nodes() - 1 */
typedef uint8_t gasnet_handler_t;    /* index in the handler table; 128 .. 255 are the client's */
typedef int32_t gasnet_handlerarg_t; /* one argument of an Active Message */
typedef void
    *gasnet_token_t; /* identifies a message to its handler; invalid when the handler returns */

/* The largest unsigned integer that fits in a register: the type of value transfers.  */
typedef uintptr_t gasnet_register_value_t;
#define SIZEOF_GASNET_REGISTER_VALUE_T SIZEOF_VOID_P

/* An operation in flight.  GASNET_INVALID_HANDLE, all bytes zero, counts as complete.  */
typedef struct gex_Event_s *gasnet_handle_t;
#define GASNET_INVALID_HANDLE ((gasnet_handle_t)0)

/* A value get in flight; the type has no invalid value.  */
struct gasnete_valget_op;
typedef struct gasnete_valget_op *gasnet_valget_handle_t;

/* Identifies a thread; see GASNET_GET_THREADINFO. */
typedef void *gasnet_threadinfo_t;

/* An entry of the table passed to gasnet_attach, which describes it.  Clients initialise it as {
 * index, fn } or { index, (void (*)())fn }.  In C23, where () means no parameters and these
 * initialisers would not compile, the member is void * as in strict mode.  */
#if defined(GASNET_USE_STRICT_PROTOTYPES) ||                                                       \
    (!defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L)
typedef void *gasneti_handlerfn_t;
#else
#if defined(__GNUC__) && !defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#endif
typedef void (*gasneti_handlerfn_t)();
#if defined(__GNUC__) && !defined(__cplusplus)
#pragma GCC diagnostic pop
#endif
#endif
typedef struct {
    gasnet_handler_t index;
    gasneti_handlerfn_t fnptr;
} gasnet_handlerentry_t;

/* A node's segment: [addr, addr + size). */
typedef struct {
    void *addr;
    uintptr_t size;
} gasnet_seginfo_t;

/* The location of a node.  Both ids count from 0 without gaps.  host is equal for nodes on the same
 * host, supernode for nodes that share memory.  */
typedef struct {
    gasnet_node_t host;
    gasnet_node_t supernode;
#if GASNET_PSHM
    uintptr_t
        offset; /* offset to add to an address in that node's segment to access it from this node */
#endif
} gasnet_nodeinfo_t;

GASNETI_EXPORTS_END
#endif
