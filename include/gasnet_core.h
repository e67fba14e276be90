/* gasnet_core.h - Core API: job control, segment and environment queries, polling.
 *
 * Private part of gasnet.h.  Public calls are thin inline functions over the exported gasnetc_ and
 * gasneti_ entry points, which clients never name.  Active Message calls are in gasnet_am.h,
 * handler-safe locks in gasnet_hsl.h.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_core.h is private: include gasnet.h"
#endif
#ifndef GASNETI_CORE_H
#define GASNETI_CORE_H

GASNETI_EXPORTS_BEGIN

/* --- Where a call is legal: debug builds end a program that calls elsewhere --- */

#if GASNET_DEBUG
/* Fatal before gasnet_init or, where `attached`, before gasnet_attach. */
extern void gasneti_check_phase(const char *call, int attached);
/* The same, where `phase` is 1 or 2; a warning in a handler, under a lock, or with interrupts held.
 */
extern void gasneti_check_query(const char *call, int phase);
/* Fatal before gasnet_attach, in a handler, under a lock, or with interrupts held. */
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
 * P0, collective, once; the first statement of main.  Starts or joins the job; on return the rank,
 * the job's size, stdout/stderr and the environment are established and *argc, *argv hold the
 * user's arguments alone, the same on every node.  Both may be NULL where GASNET_NULL_ARGV_OK.
 * May return in another process than the one that called it.
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT on a second call or when the job could not be spawned;
 * GASNET_ERR_RESOURCE without a usable network or with too many nodes; GASNET_ERR_BAD_ARG for an
 * environment value out of range.  An unparsable environment value is fatal.
 * The name is a macro: see gasnet_linkcheck.h. */
extern int gasnet_init(int *gasneti_argc, char ***gasneti_argv);

/* int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
 *                   uintptr_t minheapoffset)
 * P1, collective, once; a barrier.  Registers the client's handlers and creates the segment.
 * table: numentries entries, NULL only when that is 0; index 128..255, or 0 to be given the lowest
 * free one, which is written back.  Reusable after return.
 * segsize: bytes, a multiple of GASNET_PAGESIZE, at most gasnet_getMaxLocalSegmentSize(); 0 for no
 * segment; may differ between nodes.  minheapoffset: bytes wanted between the heap's end and the
 * segment, the same on all nodes.  Both are ignored in GASNET_SEGMENT_EVERYTHING.
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT before init or the second time; GASNET_ERR_BAD_ARG for a
 * bad size or entry; GASNET_ERR_RESOURCE where no index is left, or no memory.
 * A macro, because clients are known to replace it by a wrapper of their own. */
extern int gasnetc_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                          uintptr_t minheapoffset);
#define gasnet_attach gasnetc_attach

/* Ends the whole job with exitcode (its low eight bits reach the shell).  P1 and P2, from any
 * thread, also inside handlers, with locks held, in atexit functions and in the client's SIGQUIT
 * handler.  Never returns. */
extern void gasnetc_exit(int exitcode) GASNETI_ATTRIBUTE((__noreturn__));
GASNETI_INLINE void gasnet_exit(int exitcode) GASNETI_ATTRIBUTE((__noreturn__));
GASNETI_INLINE void gasnet_exit(int exitcode)
{
    gasnetc_exit(exitcode);
}

/* --- Segment size, P1 only --- */

/* Bytes, a multiple of the page size, > 0: an optimistic bound of what attach can give here.
 * (uintptr_t)-1 in GASNET_SEGMENT_EVERYTHING. */
extern uintptr_t gasnetc_max_local_segsize(void);
GASNETI_INLINE uintptr_t gasnet_getMaxLocalSegmentSize(void)
{
    gasneti_check_query("gasnet_getMaxLocalSegmentSize", 1);
    return gasnetc_max_local_segsize();
}

/* The least of the above over all nodes; the same everywhere.  Local, does not communicate. */
extern uintptr_t gasnetc_max_global_segsize(void);
GASNETI_INLINE uintptr_t gasnet_getMaxGlobalSegmentSize(void)
{
    gasneti_check_query("gasnet_getMaxGlobalSegmentSize", 1);
    return gasnetc_max_global_segsize();
}

/* --- Environment queries --- */

/* Set by gasnet_init, then constant. */
extern gasnet_node_t gasneti_mynode;
extern gasnet_node_t gasneti_nodes;

/* This node's rank, 0-based.  P1, P2; also in handlers and under locks. */
GASNETI_INLINE gasnet_node_t gasnet_mynode(void)
{
    gasneti_check_phase("gasnet_mynode", 0);
    return gasneti_mynode;
}

/* Number of nodes in the job.  Where gasnet_mynode is legal. */
GASNETI_INLINE gasnet_node_t gasnet_nodes(void)
{
    gasneti_check_phase("gasnet_nodes", 0);
    return gasneti_nodes;
}

/* Fills table[0 .. min(numentries, nodes) - 1] with the nodes' segments, leaves the rest alone.
 * In GASNET_SEGMENT_EVERYTHING each is { 0, (uintptr_t)-1 }.  Does not communicate.
 * Returns GASNET_OK, or GASNET_ERR_BAD_ARG when numentries < 0. */
extern int gasnetc_segment_info(gasnet_seginfo_t *table, int numentries);
GASNETI_INLINE int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries)
{
    gasneti_check_query("gasnet_getSegmentInfo", 2);
    return gasnetc_segment_info(table, numentries);
}

/* Likewise for the nodes' places.  P1, P2. */
extern int gasnetc_node_info(gasnet_nodeinfo_t *table, int numentries);
GASNETI_INLINE int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries)
{
    gasneti_check_query("gasnet_getNodeInfo", 1);
    return gasnetc_node_info(table, numentries);
}

/* Value of an environment variable as in the console that launched the job, the same on all nodes;
 * a name absent there is looked up in this process.  NULL if unset.  The result stays valid and
 * must not be modified.  P1, P2 (P0: this process's environment). */
extern char *gasneti_getenv(const char *name);
GASNETI_INLINE char *gasnet_getenv(const char *name)
{
    gasneti_check_query("gasnet_getenv", 0);
    return gasneti_getenv(name);
}

/* How waiting calls of this node treat the processor: a GASNET_WAIT_ constant.  P1, P2.
 * Returns GASNET_OK, or GASNET_ERR_BAD_ARG for another number. */
extern int gasnetc_set_waitmode(int mode);
GASNETI_INLINE int gasnet_set_waitmode(int mode)
{
    gasneti_check_query("gasnet_set_waitmode", 1);
    return gasnetc_set_waitmode(mode);
}

/* The identifier of an error code, and one line about it.  Any phase, any context; never NULL. */
extern const char *gasnet_ErrorName(int errval);
extern const char *gasnet_ErrorDesc(int errval);

/* --- Hooks a client may set --- */

/* Set before gasnet_attach: called on each node once the segment is mapped, before it is pinned
 * or communicated with.  NULL by default. */
extern void (*gasnet_client_attach_hook)(void *segbase, uintptr_t segsize);

/* A client may define this, non-zero, to replace the configured default of the largest segment
 * size in bytes; GASNET_MAX_SEGSIZE in the environment beats it.  The library's own is weak. */
extern uint64_t gasnet_max_segsize;

/* --- Progress --- */

/* Services the network: advances operations and runs arrived handlers on this thread.
 * Returns GASNET_OK. */
extern int gasnetc_AMPoll(void);
GASNETI_INLINE int gasnet_AMPoll(void)
{
    return gasnetc_AMPoll();
}

/* One round of waiting: polls once, then spins, yields or blocks as the wait mode says. */
extern void gasneti_wait_poll(void);

/* Statement: waits, polling, until cond holds, which only a handler run on this node may bring
 * about; ends with a read fence.  A macro, since cond is evaluated again and again. */
#define GASNET_BLOCKUNTIL(cond)                                                                    \
    do {                                                                                           \
        gasneti_check_client_code("GASNET_BLOCKUNTIL");                                            \
        while (!(cond)) gasneti_wait_poll();                                                       \
        gasneti_local_rmb();                                                                       \
    } while (0)

/* Inside a handler: stores the rank of the message's sender.  Returns GASNET_OK, or
 * GASNET_ERR_BAD_ARG when either pointer is NULL. */
extern int gasnetc_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex);
GASNETI_INLINE int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex)
{
    return gasnetc_AMGetMsgSource(token, srcindex);
}

/* --- Message limits --- */

/* P2, tolerated earlier.  Macros, as the interface promises; clients size arrays by them. */

#define gasnet_AMMaxArgs()        ((size_t)GASNETC_MAX_ARGS)         /* arguments of one message */
#define gasnet_AMMaxMedium()      ((size_t)GASNETC_MAX_MEDIUM)       /* payload bytes */
#define gasnet_AMMaxLongRequest() ((size_t)GASNETC_MAX_LONG_REQUEST) /* payload bytes */
#define gasnet_AMMaxLongReply()   ((size_t)GASNETC_MAX_LONG_REPLY)   /* payload bytes */

GASNETI_EXPORTS_END
#endif
