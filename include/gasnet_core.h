/* gasnet_core.h - Core API: job control, segment and environment queries, polling.
 *
 * Private part of gasnet.h.  Public calls are inline functions that call the exported gasnetc_ and
 * gasneti_ functions, which are not for clients.  Active Message calls are in gasnet_am.h,
 * handler-safe locks in gasnet_hsl.h.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_core.h is private: include gasnet.h"
#endif
#ifndef GASNETI_CORE_H
#define GASNETI_CORE_H

GASNETI_EXPORTS_BEGIN

/* --- Checks of the phase and context of a call, in debug builds --- */

#if GASNET_DEBUG
/* Fatal before gasnet_init or, if `attached`, before gasnet_attach.  */
extern void gasneti_check_phase(const char *call, int attached);
/* Fatal before phase `phase` (0 to 2); warns in a handler, with a lock or interrupts held.  */
extern void gasneti_check_query(const char *call, int phase);
/* Fatal before gasnet_attach, in a handler, with a lock held, or with interrupts held.  */
extern void gasneti_check_client_code(const char *call);
#else
GASNETI_INLINE void gasneti_check_phase(const char *call, int attached)
{
    (void)call, (void)attached;
}
GASNETI_INLINE void gasneti_check_query(const char *call, int phase)
{
    (void)call, (void)phase;
}
GASNETI_INLINE void gasneti_check_client_code(const char *call)
{
    (void)call;
}
#endif

/* --- Job control --- */

/* int gasnet_init(int *argc, char ***argv)
 * Starts or joins the job.  P0, collective, once; to be the first statement of main.  On return
 * the rank, the job's size, stdout/stderr and the environment are established, and *argc, *argv
 * hold the user's arguments only, the same on every node.  Both pointers may be NULL where
 * GASNET_NULL_ARGV_OK is 1.  May return in another process than the one that called it.
 *
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT on a second call or if the job could not be spawned;
 * GASNET_ERR_RESOURCE without a usable network or with too many nodes; GASNET_ERR_BAD_ARG for an
 * environment value out of range.  An environment value that cannot be parsed is fatal.
 *
 * The name is a macro: see gasnet_linkcheck.h. */
extern int gasnet_init(int *gasneti_argc, char ***gasneti_argv);

/* int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
 *                   uintptr_t minheapoffset)
 * Registers the client's handlers and creates the segment.  P1, collective, once; acts as a
 * barrier.
 *
 * table: numentries entries; may be NULL if numentries is 0.  An index is 128..255, or 0 for the
 * lowest free one, which is written to the entry.  The table may be reused after return.
 *
 * segsize: bytes, a multiple of GASNET_PAGESIZE, at most gasnet_getMaxLocalSegmentSize(); 0 for no
 * segment; may differ between nodes.  minheapoffset: bytes to leave between the end of the heap
 * and
 * the segment, the same on all nodes.  Both are ignored in GASNET_SEGMENT_EVERYTHING.
 *
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT before gasnet_init or on a second call;
 * GASNET_ERR_BAD_ARG
 * for an invalid size or entry; GASNET_ERR_RESOURCE if no index or no memory is left.
 *
 * A macro, because some clients replace it by a wrapper of their own.  */
extern int gasnetc_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                          uintptr_t minheapoffset);
#define gasnet_attach gasnetc_attach

/* Ends the whole job with exitcode, whose low eight bits are the launcher's exit status.  P1 and
 * P2; in any thread, also in handlers, with locks held, in atexit functions and in the client's
 * SIGQUIT handler.  Does not return.  */
extern void gasnetc_exit(int exitcode) GASNETI_ATTRIBUTE((__noreturn__));
GASNETI_INLINE void gasnet_exit(int exitcode) GASNETI_ATTRIBUTE((__noreturn__));
GASNETI_INLINE void gasnet_exit(int exitcode)
{
    gasnetc_exit(exitcode);
}

/* --- Segment size, P1 only --- */

/* An upper bound of the segment size that gasnet_attach can create on this node, in bytes: > 0, a
 * multiple of the page size; (uintptr_t)-1 in GASNET_SEGMENT_EVERYTHING.  Optimistic: gasnet_attach
 * may still fail.  */
extern uintptr_t gasnetc_max_local_segsize(void);
GASNETI_INLINE uintptr_t gasnet_getMaxLocalSegmentSize(void)
{
    gasneti_check_query("gasnet_getMaxLocalSegmentSize", 1);
    return gasnetc_max_local_segsize();
}

/* The minimum of gasnet_getMaxLocalSegmentSize() over all nodes, the same on every node.  Does not
 * communicate.  */
extern uintptr_t gasnetc_max_global_segsize(void);
GASNETI_INLINE uintptr_t gasnet_getMaxGlobalSegmentSize(void)
{
    gasneti_check_query("gasnet_getMaxGlobalSegmentSize", 1);
    return gasnetc_max_global_segsize();
}

/* --- Environment queries --- */

/* Rank and number of nodes; set by gasnet_init, then constant. */
extern gasnet_node_t gasneti_mynode;
extern gasnet_node_t gasneti_nodes;

/* This node's rank, 0-based.  P1, P2; also in handlers and with locks held.  */
GASNETI_INLINE gasnet_node_t gasnet_mynode(void)
{
    gasneti_check_phase("gasnet_mynode", 0);
    return gasneti_mynode;
}

/* Number of nodes in the job.  Legal where gasnet_mynode is.  */
GASNETI_INLINE gasnet_node_t gasnet_nodes(void)
{
    gasneti_check_phase("gasnet_nodes", 0);
    return gasneti_nodes;
}

/* Writes the nodes' segments to table[0 .. min(numentries, nodes) - 1]; in
 * GASNET_SEGMENT_EVERYTHING each is { 0, (uintptr_t)-1 }.  Does not communicate.  Returns
 * GASNET_OK, or GASNET_ERR_BAD_ARG if numentries < 0.  */
extern int gasnetc_segment_info(gasnet_seginfo_t *table, int numentries);
GASNETI_INLINE int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries)
{
    gasneti_check_query("gasnet_getSegmentInfo", 2);
    return gasnetc_segment_info(table, numentries);
}

/* Writes the nodes' hosts and supernodes to table[0 .. min(numentries, nodes) - 1].  Returns as
 * gasnet_getSegmentInfo.  P1, P2.  */
extern int gasnetc_node_info(gasnet_nodeinfo_t *table, int numentries);
GASNETI_INLINE int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries)
{
    gasneti_check_query("gasnet_getNodeInfo", 1);
    return gasnetc_node_info(table, numentries);
}

/* Value of an environment variable in the launching console, the same on all nodes; a variable that
 * is not set there is looked up in this process.  NULL if unset.  The result stays valid and must
 * not be modified.  P1, P2; in P0 the value in this process.  */
extern char *gasneti_getenv(const char *name);
GASNETI_INLINE char *gasnet_getenv(const char *name)
{
    gasneti_check_query("gasnet_getenv", 0);
    return gasneti_getenv(name);
}

/* Sets whether blocking calls of this node spin or yield: a GASNET_WAIT_ constant.  P1, P2. Returns
 * GASNET_OK, or GASNET_ERR_BAD_ARG for another number.  */
extern int gasnetc_set_waitmode(int mode);
GASNETI_INLINE int gasnet_set_waitmode(int mode)
{
    gasneti_check_query("gasnet_set_waitmode", 1);
    return gasnetc_set_waitmode(mode);
}

/* The identifier of an error code, and a description of one line; not NULL.  Any phase and context.
 */
extern const char *gasnet_ErrorName(int errval);
extern const char *gasnet_ErrorDesc(int errval);

/* --- Hooks that a client may set --- */

/* A hook to be set before gasnet_attach, which calls it on each node after the segment is mapped
 * and before the segment is pinned or used by the network.  NULL by default.  */
extern void (*gasnet_client_attach_hook)(void *segbase, uintptr_t segsize);

/* A client may define this variable, non-zero, to replace the configured default of the largest
 * segment size, in bytes; GASNET_MAX_SEGSIZE in the environment overrides it.  The library's
 * definition is weak.  */
extern uint64_t gasnet_max_segsize;

/* --- Progress --- */

/* Polls the network: completes operations, and runs the handlers of arrived messages in this
 * thread.  Returns GASNET_OK.  */
extern int gasnetc_AMPoll(void);
GASNETI_INLINE int gasnet_AMPoll(void)
{
    return gasnetc_AMPoll();
}

/* One iteration of a wait: polls once, then spins, yields or blocks according to the wait mode.  */
extern void gasneti_wait_poll(void);

/* Ends a loop of gasneti_wait_poll whose condition came true.  */
extern void gasneti_wait_over(void);

/* A statement that polls until cond is true, then executes a read fence.  Only a handler run on
 * this node may make cond true.  A macro, because cond is evaluated repeatedly.  */
#define GASNET_BLOCKUNTIL(cond)                                                                    \
    do {                                                                                           \
        gasneti_check_client_code("GASNET_BLOCKUNTIL");                                            \
        if (!(cond)) {                                                                             \
            do gasneti_wait_poll();                                                                \
            while (!(cond));                                                                       \
            gasneti_wait_over();                                                                   \
        }                                                                                          \
        gasneti_local_rmb();                                                                       \
    } while (0)

/* In a handler: stores the rank of the message's sender.  Returns GASNET_OK, or GASNET_ERR_BAD_ARG
 * if either pointer is NULL.  */
extern int gasnetc_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex);
GASNETI_INLINE int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex)
{
    return gasnetc_AMGetMsgSource(token, srcindex);
}

/* --- Message limits --- */

/* Legal in P2; earlier calls are tolerated.  Constant expressions: clients size arrays by them.  */

/* The most arguments of a message, and the most bytes of the payload of a Medium or Long. */
#define gasnet_AMMaxArgs()        ((size_t)GASNETC_MAX_ARGS)         /* arguments of one message */
#define gasnet_AMMaxMedium()      ((size_t)GASNETC_MAX_MEDIUM)       /* payload bytes */
#define gasnet_AMMaxLongRequest() ((size_t)GASNETC_MAX_LONG_REQUEST) /* payload bytes */
#define gasnet_AMMaxLongReply()   ((size_t)GASNETC_MAX_LONG_REPLY)   /* payload bytes */

GASNETI_EXPORTS_END
#endif
