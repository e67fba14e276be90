/* gasnet_ex_rma.h - GASNet-EX: puts and gets, and the events that tell of their completion.
 *
 * Private part of gasnetex.h.  `rank` is a member of `tm`.  The remote range lies in the segment of
 * that rank's endpoint; the local one may be anywhere, a source also in read-only memory.  nbytes
 * may be any size, and addresses have any alignment; a transfer of 0 bytes is complete at once and
 * ignores the addresses.  Source and destination must not overlap.  Operations are unordered except
 * by synchronisation.  Errors are fatal.
 *
 * flags: GEX_FLAG_IMMEDIATE and the promises GEX_FLAG_PEER_NEVER_* are accepted and change nothing:
 * a transfer may poll for resources, and is always started.  So results of type int are 0, and
 * GEX_EVENT_NO_OP is not returned.
 *
 * lc_opt, of puts: when the source may be changed.  GEX_EVENT_NOW: when the call returns.
 * GEX_EVENT_DEFER: when the put is complete.  GEX_EVENT_GROUP, of implicit puts: when GEX_EC_LC is
 * synchronised.  Otherwise, of puts with an event: where to store another event that tells of it,
 * which may be GEX_EVENT_INVALID, and which ends with the put's own.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_ex_rma.h is private: include gasnetex.h"
#endif
#ifndef GASNETI_EX_RMA_H
#define GASNETI_EX_RMA_H

GASNETI_EXPORTS_BEGIN

/* --- Entry points of the library; not for clients --- */

extern gex_Event_t gasnete_put_nb_leaf(gex_Rank_t node, void *dest, void *src, size_t nbytes,
                                       gex_Event_t *leaf) GASNETI_MUST_SYNC;
extern void gasnete_put_nbi_group(gex_Rank_t node, void *dest, void *src, size_t nbytes);
extern void gasnete_event_wait(gex_Event_t event);
extern void gasnete_event_end(gex_Event_t event);
extern void gasnete_nbi_wait(gex_EC_t mask);
extern int gasnete_nbi_test(gex_EC_t mask);

#if GASNET_DEBUG
/* Fatal where transfers are illegal, or if the range is neither empty nor in the segment that is
 * bound to the endpoint of a member. */
extern void gasnete_check_bound(const char *call, gex_TM_t tm, gex_Rank_t rank, const void *start,
                                size_t nbytes);
#else
GASNETI_INLINE void gasnete_check_bound(const char *call, gex_TM_t tm, gex_Rank_t rank,
                                        const void *start, size_t nbytes)
{
    (void)call, (void)tm, (void)rank, (void)start, (void)nbytes;
}
#endif

/* A source, of which the library's own functions take a void *. */
GASNETI_INLINE void *gasneti_source(const void *src)
{
    return (void *)(uintptr_t)src;
}

/* --- Blocking: complete on return --- */

/* Writes nbytes at src to dest of the rank. */
GASNETI_INLINE int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                       size_t nbytes, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    (void)flags;
    gasnete_check_bound("gex_RMA_PutBlocking", tm, rank, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       gasnete_put_far(node, dest, gasneti_source(src), nbytes),
                       gasnete_put(node, dest, gasneti_source(src), nbytes));
    return 0;
}

/* Reads nbytes at src of the rank into dest. */
GASNETI_INLINE int gex_RMA_GetBlocking(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src,
                                       size_t nbytes, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    (void)flags;
    gasnete_check_bound("gex_RMA_GetBlocking", tm, rank, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       gasnete_get_far(dest, node, src, nbytes),
                       gasnete_get(dest, node, src, nbytes));
    return 0;
}

/* --- With an event, to be synchronised once, by any thread --- */

/* Begins a put. */
GASNETI_INLINE gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                         size_t nbytes, gex_Event_t *lc_opt,
                                         gex_Flags_t flags) GASNETI_MUST_SYNC;
GASNETI_INLINE gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                         size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    void *from = gasneti_source(src);
    gex_Event_t event = GEX_EVENT_INVALID;
    (void)flags;
    gasnete_check_bound("gex_RMA_PutNB", tm, rank, dest, nbytes);
    if (lc_opt == GEX_EVENT_NOW)
        GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                           event = gasnete_put_nb_far(node, dest, from, nbytes),
                           event = gasnete_put_nb(node, dest, from, nbytes));
    else if (lc_opt == GEX_EVENT_DEFER)
        GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                           event = gasnete_put_nb_bulk_far(node, dest, from, nbytes),
                           event = gasnete_put_nb_bulk(node, dest, from, nbytes));
    else
        event = gasnete_put_nb_leaf(node, dest, from, nbytes, lc_opt);
    return event;
}

/* Begins a get. */
GASNETI_INLINE gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src,
                                         size_t nbytes, gex_Flags_t flags) GASNETI_MUST_SYNC;
GASNETI_INLINE gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src,
                                         size_t nbytes, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    gex_Event_t event = GEX_EVENT_INVALID;
    (void)flags;
    gasnete_check_bound("gex_RMA_GetNB", tm, rank, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       event = gasnete_get_nb_far(dest, node, src, nbytes),
                       event = gasnete_get_nb(dest, node, src, nbytes));
    return event;
}

/* --- Implicit: synchronised by gex_NBI_Wait and gex_NBI_Test of the same thread --- */

/* Begins an implicit put. */
GASNETI_INLINE int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                  size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    void *from = gasneti_source(src);
    (void)flags;
    gasnete_check_bound("gex_RMA_PutNBI", tm, rank, dest, nbytes);
    if (lc_opt == GEX_EVENT_NOW)
        GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                           gasnete_put_nbi_far(node, dest, from, nbytes),
                           gasnete_put_nbi(node, dest, from, nbytes));
    else if (lc_opt == GEX_EVENT_DEFER)
        GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                           gasnete_put_nbi_bulk_far(node, dest, from, nbytes),
                           gasnete_put_nbi_bulk(node, dest, from, nbytes));
    else
        gasnete_put_nbi_group(node, dest, from, nbytes);
    return 0;
}

/* Begins an implicit get. */
GASNETI_INLINE int gex_RMA_GetNBI(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src,
                                  size_t nbytes, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    (void)flags;
    gasnete_check_bound("gex_RMA_GetNBI", tm, rank, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       gasnete_get_nbi_far(dest, node, src, nbytes),
                       gasnete_get_nbi(dest, node, src, nbytes));
    return 0;
}

/* --- Values: the nbytes (1 to 8) low-order bytes of an integer, in the order of the machine --- */

/* Writes a value. */
GASNETI_INLINE int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dest,
                                          gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    gasnet_register_value_t word = (gasnet_register_value_t)value;
    (void)flags;
    gasnete_check_value("gex_RMA_PutBlockingVal", nbytes);
    gasnete_check_bound("gex_RMA_PutBlockingVal", tm, rank, dest, nbytes);
    if (gasneti_shm_put(node, dest, gasneti_low_bytes(&word, nbytes), nbytes) != GASNETI_SHM_DONE)
        gasnete_put_val(node, dest, word, nbytes);
    return 0;
}

/* Begins to write a value. */
GASNETI_INLINE gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest,
                                            gex_RMA_Value_t value, size_t nbytes,
                                            gex_Flags_t flags) GASNETI_MUST_SYNC;
GASNETI_INLINE gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest,
                                            gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    gasnet_register_value_t word = (gasnet_register_value_t)value;
    (void)flags;
    gasnete_check_value("gex_RMA_PutNBVal", nbytes);
    gasnete_check_bound("gex_RMA_PutNBVal", tm, rank, dest, nbytes);
    if (gasneti_shm_put(node, dest, gasneti_low_bytes(&word, nbytes), nbytes) == GASNETI_SHM_DONE)
        return GEX_EVENT_INVALID;
    return gasnete_put_nb_val(node, dest, word, nbytes);
}

/* Begins to write a value, as an implicit put. */
GASNETI_INLINE int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dest,
                                     gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    gasnet_register_value_t word = (gasnet_register_value_t)value;
    (void)flags;
    gasnete_check_value("gex_RMA_PutNBIVal", nbytes);
    gasnete_check_bound("gex_RMA_PutNBIVal", tm, rank, dest, nbytes);
    if (gasneti_shm_put(node, dest, gasneti_low_bytes(&word, nbytes), nbytes) != GASNETI_SHM_DONE)
        gasnete_put_nbi_val(node, dest, word, nbytes);
    return 0;
}

/* Reads a value. */
GASNETI_INLINE gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *src,
                                                      size_t nbytes, gex_Flags_t flags)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    gasnet_register_value_t value = 0;
    (void)flags;
    gasnete_check_value("gex_RMA_GetBlockingVal", nbytes);
    gasnete_check_bound("gex_RMA_GetBlockingVal", tm, rank, src, nbytes);
    if (gasneti_shm_get(gasneti_low_bytes(&value, nbytes), node, src, nbytes) == GASNETI_SHM_DONE)
        return value;
    return gasnete_get_val(node, src, nbytes);
}

/* --- Events --- */

/* Whether an event is complete; not for clients.  An event, and a leaf less its tag, is the address
 * of a counter (core/completion.h). */
#if defined(__GNUC__) && !GASNET_DEBUG
GASNETI_INLINE int gasneti_event_done(gex_Event_t event)
{
    struct gasneti_counter {
        uint32_t issued, reaped, acked;
    } *counter = (struct gasneti_counter *)((uintptr_t)event & ~(uintptr_t)2);
    return __atomic_load_n(&counter->reaped, __ATOMIC_ACQUIRE) +
               __atomic_load_n(&counter->acked, __ATOMIC_ACQUIRE) ==
           counter->issued;
}
#else
extern int gasneti_event_done(gex_Event_t event);
#endif

/* GEX_EVENT_INVALID counts as complete; GEX_EVENT_NO_OP is no event.  An event that a call returned
 * is synchronised exactly once, by any thread, which ends it and those that belong to it (its
 * leaves); before that a leaf may be synchronised, or not. */

/* Polls until the event is complete. */
GASNETI_INLINE void gex_Event_Wait(gex_Event_t event)
{
    gasneti_check_client_code("gex_Event_Wait");
    if_pt(event != GEX_EVENT_INVALID) gasnete_event_wait(event);
}
/* Tests an event, without polling.  GASNET_OK, which ends the event, or GASNET_ERR_NOT_READY. */
GASNETI_INLINE int gex_Event_Test(gex_Event_t event)
{
    if (event == GEX_EVENT_INVALID) return GASNET_OK;
    if (!gasneti_event_done(event)) return GASNET_ERR_NOT_READY;
    gasnete_event_end(event);
    return GASNET_OK;
}

/* Synchronises arrays, in which events and their leaves may stand in any order.  Those that are
 * complete are overwritten with GEX_EVENT_INVALID.  Some: at least one has become complete, or all
 * are GEX_EVENT_INVALID.  All: every event is complete.  flags: 0.  Tests do not poll. */
extern int gex_Event_TestSome(gex_Event_t *events, size_t n, gex_Flags_t flags);
extern void gex_Event_WaitSome(gex_Event_t *events, size_t n, gex_Flags_t flags);
extern int gex_Event_TestAll(gex_Event_t *events, size_t n, gex_Flags_t flags);
extern void gex_Event_WaitAll(gex_Event_t *events, size_t n, gex_Flags_t flags);

#define GEX_EC_PUT 1U
#define GEX_EC_GET 2U
#define GEX_EC_AM  4U  /* sources of Active Messages with GEX_EVENT_GROUP */
#define GEX_EC_LC  8U  /* sources of puts with GEX_EVENT_GROUP */
#define GEX_EC_RMW 16U /* atomics other than SET, a put, and GET, a get */
#define GEX_EC_ALL 31U

/* The leaf of a category (one of GEX_EC_*) of an event.  In this library it is complete when all of
 * the event's operations are. */
GASNETI_INLINE gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t category)
{
    (void)category;
    return root == GEX_EVENT_INVALID ? root : (gex_Event_t)((uintptr_t)root | 2);
}

/* --- Implicit operations of the calling thread, of the categories in mask (GEX_EC_*) --- */

/* Polls until the operations are complete.  flags: 0.  Not inside an access region. */
GASNETI_INLINE void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags)
{
    (void)flags;
    gasnete_nbi_wait(mask);
}
/* Tests, without polling.  GASNET_OK, or GASNET_ERR_NOT_READY. */
GASNETI_INLINE int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags)
{
    (void)flags;
    return gasnete_nbi_test(mask);
}
/* Enclose implicit operations: between these calls the thread's implicit operations belong to the
 * event that the second one returns; GEX_EVENT_INVALID if all are complete.  Regions do not nest.
 * flags: 0. */
GASNETI_INLINE void gex_NBI_BeginAccessRegion(gex_Flags_t flags)
{
    (void)flags;
    gasnete_begin_nbi_accessregion();
}
GASNETI_INLINE gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags) GASNETI_MUST_SYNC;
GASNETI_INLINE gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags)
{
    (void)flags;
    return gasnete_end_nbi_accessregion();
}

GASNETI_EXPORTS_END
#endif
