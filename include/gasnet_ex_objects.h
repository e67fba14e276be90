/* gasnet_ex_objects.h - GASNet-EX: start, clients, endpoints, segments, teams, what the system is
 * like, handlers, and tokens.
 *
 * Private part of gasnetex.h.  There is one client.  Its endpoint 0, the primordial one, has every
 * capability, and the segment that gex_Segment_Attach allocates; teams are of these endpoints.
 * Other endpoints, and segments for them, are made by gex_EP_Create and gex_Segment_Create, and
 * named by gex_TM_Pair.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_ex_objects.h is private: include gasnetex.h"
#endif
#ifndef GASNETI_EX_OBJECTS_H
#define GASNETI_EX_OBJECTS_H

GASNETI_EXPORTS_BEGIN

/* --- Types --- */

typedef gasnet_handler_t gex_AM_Index_t;
typedef gasnet_handlerarg_t gex_AM_Arg_t;
typedef gasnet_token_t gex_Token_t;
typedef gasneti_handlerfn_t gex_AM_Fn_t;
typedef uint64_t gex_RMA_Value_t;
#define SIZEOF_GEX_RMA_VALUE_T 8
typedef uint32_t gex_EC_t; /* GEX_EC_*, or'd */
typedef uint32_t gex_TI_t; /* GEX_TI_*, or'd */

typedef struct gex_Client_s *gex_Client_t;
typedef struct gex_EP_s *gex_EP_t;
typedef struct gex_Segment_s *gex_Segment_t;
typedef struct gex_TM_s *gex_TM_t;
#define GEX_CLIENT_INVALID  ((gex_Client_t)0)
#define GEX_EP_INVALID      ((gex_EP_t)0)
#define GEX_SEGMENT_INVALID ((gex_Segment_t)0)
#define GEX_TM_INVALID      ((gex_TM_t)0)

#define GASNET_MAXEPS 33 /* endpoints of a process, the primordial one among them */

/* A kind of memory: gasnet_mk.h. */
typedef struct gex_MK_s *gex_MK_t;
#define GEX_MK_INVALID ((gex_MK_t)0)
#define GEX_MK_HOST    ((gex_MK_t)(uintptr_t)1)

/* A piece of memory; has the members of gasnet_memvec_t by other names. */
typedef struct {
    void *gex_addr;
    size_t gex_len;
} gex_Memvec_t;

/* A handler of Active Messages.  Clients initialise it by position. */
typedef struct {
    gex_AM_Index_t gex_index; /* GEX_AM_INDEX_BASE..255; 0: registration chooses it */
    gex_AM_Fn_t gex_fnptr;
    gex_Flags_t gex_flags;  /* GEX_FLAG_AM_*: at least one category and one direction */
    unsigned int gex_nargs; /* 0..16, of every message that names the handler */
    const void *gex_cdata;  /* the client's; may be NULL */
    const char *gex_name;   /* for error messages; may be NULL */
} gex_AM_Entry_t;
#define GEX_AM_INDEX_BASE 128

/* What gex_Token_Info reports about a message. */
typedef struct {
    gex_Rank_t gex_srcrank;          /* its sender, by rank in the job */
    gex_EP_t gex_ep;                 /* the endpoint that received it */
    const gex_AM_Entry_t *gex_entry; /* its handler, as it was registered */
    int gex_is_req;                  /* non-zero: a Request */
    int gex_is_long;                 /* non-zero: a Long */
} gex_Token_Info_t;
#define GEX_TI_SRCRANK             1U
#define GEX_TI_ENTRY               2U
#define GEX_TI_IS_REQ              4U
#define GEX_TI_IS_LONG             8U
#define GEX_TI_EP                  16U
#define GEX_TI_ALL                 31U
#define GASNET_SUPPORTS_TI_SRCRANK 1
#define GASNET_SUPPORTS_TI_ENTRY   1
#define GASNET_SUPPORTS_TI_IS_REQ  1
#define GASNET_SUPPORTS_TI_IS_LONG 1
#define GASNET_SUPPORTS_TI_EP      1

/* A member of the neighbourhood (the ranks that share memory) or of the host. */
typedef const struct {
    gex_Rank_t gex_jobrank;
} gex_RankInfo_t;

/* A thread that GEX_FLAG_DEFER_THREADS leaves to the client. */
typedef struct {
    const char *gex_device_list;   /* devices that it serves, separated by commas */
    unsigned int gex_thread_roles; /* GEX_THREAD_ROLE_*, or'd */
    void *(*gex_progress_fn)(void *);
    void *gex_progress_arg;
} gex_ProgressThreadInfo_t;
#define GEX_THREAD_ROLE_RCV 1U /* runs handlers */
#define GEX_THREAD_ROLE_SND 2U /* completes what was sent */

/* --- Objects; their members are not for clients --- */

struct gex_Client_s {
    void *cdata;
    const char *name;
    gex_Flags_t flags;
};
struct gex_Segment_s {
    void *cdata;
    gex_Client_t client;
    void *addr;
    uintptr_t size;
};
struct gex_EP_s {
    void *cdata;
    gex_Client_t client;
    gex_Segment_t segment;
    gex_EP_Index_t index;
    gex_Flags_t flags;
};
/* A team, or a pair of endpoints; gasneti_jobranks tells what follows it in memory. */
struct gex_TM_s {
    void *cdata;
    gex_EP_t ep;
    gex_Rank_t rank, size;
    gex_Flags_t flags;
    gex_EP_Index_t index;             /* of the endpoint of each rank */
    struct gasnete_coll_team *engine; /* of collectives; NULL: a pair */
    gex_TM_t next;                    /* in the list of teams */
    gex_Memvec_t scratch;             /* the client's; NULL: none */
};

/* The ranks of the members in the job, in order; of a pair and of the team of all ranks, each
 * number is its own. */
GASNETI_INLINE const gex_Rank_t *gasneti_jobranks(gex_TM_t tm)
{
    return (const gex_Rank_t *)(tm + 1);
}
extern gex_TM_t gasneti_pair; /* with the primordial endpoints of all ranks */
/* With others; fatal for an index that no endpoint can have. */
extern gex_TM_t gasneti_pair_with(gex_EP_Index_t remote);

#if GASNET_DEBUG
/* Fatal unless `tm` names a team or a pair, and `rank` one of its members. */
extern void gasneti_check_member(gex_TM_t tm, gex_Rank_t rank);
#else
GASNETI_INLINE void gasneti_check_member(gex_TM_t tm, gex_Rank_t rank)
{
    (void)tm, (void)rank;
}
#endif

/* The rank in the job of a member of a team, or of a pair, whose members are all ranks.  */
GASNETI_INLINE gex_Rank_t gasneti_jobrank(gex_TM_t tm, gex_Rank_t rank)
{
    gasneti_check_member(tm, rank);
    return gasneti_jobranks(tm)[rank];
}

/* --- Start --- */

/* int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *name,
 *                     int *argc, char ***argv, gex_Flags_t flags)
 * Starts or joins the job.  Collective, once, and instead of gasnet_init, whose rules for argc and
 * argv hold; both may be NULL on all ranks.  Stores the client, its endpoint and the team of all
 * ranks.  When it returns, all ranks may communicate: handlers may be registered, and everything
 * but transfers and Longs of some bytes works before a segment is attached.
 *
 * name: the same on all ranks; kept by reference.  flags: GEX_FLAG_USES_GASNET1, the client calls
 * GASNet-1 too; GEX_FLAG_DEFER_THREADS, see gex_System_QueryProgressThreads; the same on all ranks.
 *
 * Returns GASNET_OK or an error code, as gasnet_init.  The name is a macro: see
 * gasnet_linkcheck.h. */
#define gex_Client_Init GASNETI_MANGLED(client_init)
extern int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *name,
                           int *argc, char ***argv, gex_Flags_t flags);

/* Stores the primordial objects, after gasnet_init too; the segment is GEX_SEGMENT_INVALID before
 * it is attached.  Any pointer may be NULL.  Also in handlers. */
extern void gasnet_QueryGexObjects(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p,
                                   gex_Segment_t *segment_p);

/* Allocates a segment.  Collective over the team of all ranks, once: allocates `size` bytes, a
 * multiple of GASNET_PAGESIZE, which may differ between ranks, at most
 * gasnet_getMaxLocalSegmentSize(); binds them to the endpoint; ends with a barrier.  A rank need
 * not attach if none does.
 *
 * Returns GASNET_OK, and stores the segment; GASNET_ERR_NOT_INIT before gex_Client_Init or for a
 * second call; GASNET_ERR_BAD_ARG for an invalid size or another team; GASNET_ERR_RESOURCE. */
extern int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size);

/* Registers `n` handlers, beside those that the client has: all of the table, or none.  Not
 * collective, at any time, in any thread, while messages arrive.  Entries with gex_index 0 get the
 * highest free indices, in their order, and the indices are written to the table, which the caller
 * keeps.  gex_cdata and gex_name are kept by reference.
 *
 * Returns GASNET_OK; GASNET_ERR_BAD_ARG for an index that is taken or below GEX_AM_INDEX_BASE, no
 * function, or flags and arguments that no message has; GASNET_ERR_RESOURCE if no index is left. */
extern int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t n);

/* --- Properties of the objects; also in handlers and with locks held --- */

/* Sets and returns the client's own pointer of an object; NULL at first. */
#define GASNETI_CDATA(object)                                                                      \
    GASNETI_INLINE void gex_##object##_SetCData(gex_##object##_t object, const void *cdata)        \
    {                                                                                              \
        object->cdata = (void *)(uintptr_t)cdata;                                                  \
    }                                                                                              \
    GASNETI_INLINE void *gex_##object##_QueryCData(gex_##object##_t object)                        \
    {                                                                                              \
        return object->cdata;                                                                      \
    }
GASNETI_CDATA(Client)
GASNETI_CDATA(EP)
GASNETI_CDATA(Segment)
GASNETI_CDATA(TM)

/* The flags that gex_Client_Init was given. */
GASNETI_INLINE gex_Flags_t gex_Client_QueryFlags(gex_Client_t client)
{
    return client->flags;
}
/* The name that gex_Client_Init was given; "LEGACY" after gasnet_init. */
GASNETI_INLINE const char *gex_Client_QueryName(gex_Client_t client)
{
    return client->name;
}

/* The client of an endpoint. */
GASNETI_INLINE gex_Client_t gex_EP_QueryClient(gex_EP_t ep)
{
    return ep->client;
}
/* The flags that gex_EP_Create was given; 0: the primordial endpoint. */
GASNETI_INLINE gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep)
{
    return ep->flags;
}
/* The bound segment; GEX_SEGMENT_INVALID before one is bound, and after it was destroyed. */
GASNETI_INLINE gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep)
{
    return ep->segment;
}
/* The number of the endpoint in its process; 0: the primordial endpoint. */
GASNETI_INLINE gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep)
{
    return ep->index;
}

/* The client, flags, address here and size in bytes of a segment. */
GASNETI_INLINE gex_Client_t gex_Segment_QueryClient(gex_Segment_t segment)
{
    return segment->client;
}
GASNETI_INLINE gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t segment)
{
    (void)segment;
    return 0;
}
GASNETI_INLINE void *gex_Segment_QueryAddr(gex_Segment_t segment)
{
    return segment->addr;
}
GASNETI_INLINE uintptr_t gex_Segment_QuerySize(gex_Segment_t segment)
{
    return segment->size;
}

/* The client of a team, and the caller's endpoint in it. */
GASNETI_INLINE gex_Client_t gex_TM_QueryClient(gex_TM_t tm)
{
    return tm->ep->client;
}
GASNETI_INLINE gex_EP_t gex_TM_QueryEP(gex_TM_t tm)
{
    return tm->ep;
}
/* The flags with which the team was made; 0: the team of all ranks. */
GASNETI_INLINE gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm)
{
    return tm->flags;
}
/* The rank of the caller in a team, and the number of its members. */
GASNETI_INLINE gex_Rank_t gex_TM_QueryRank(gex_TM_t tm)
{
    return tm->rank;
}
GASNETI_INLINE gex_Rank_t gex_TM_QuerySize(gex_TM_t tm)
{
    return tm->size;
}

/* The rank in the job of a member.  Not in handlers. */
GASNETI_INLINE gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank)
{
    return gasneti_jobrank(tm, rank);
}
/* The member that is a rank of the job; GEX_RANK_INVALID if none is. */
extern gex_Rank_t gasnete_search_jobrank(gex_TM_t tm, gex_Rank_t jobrank);
GASNETI_INLINE gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank)
{
    const gex_Rank_t if_consecutive = jobrank - gasneti_jobranks(tm)[0];
    if (if_consecutive < tm->size && gasneti_jobranks(tm)[if_consecutive] == jobrank)
        return if_consecutive;
    return gasnete_search_jobrank(tm, jobrank);
}
/* The rank in the job of a member, and the index of its endpoint. */
GASNETI_INLINE gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank,
                                                          gex_Flags_t flags)
{
    gex_EP_Location_t location;
    (void)flags;
    location.gex_rank = gasneti_jobrank(tm, rank);
    location.gex_ep_index = tm->index;
    return location;
}

/* The following calls are collective over `parent`, which may be any team: all its members call, in
 * the same order as the other collectives of the parent.  A new team may be used as soon as the
 * call returns.  Errors are fatal.  Different threads may make teams of different parents at once.
 *
 * Scratch space is memory of the caller's segment that the library may use while the team lives; of
 * equal size on all members of a new team.  This library needs none.  With
 * GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED, or _MIN, the calls make no team and return the size to pass
 * as scratch_size, 0 to callers that ask for no team; else what they return means nothing.  With
 * GEX_FLAG_TM_NO_SCRATCH, which all members of a new team pass or none, there is no such space. */

/* Makes teams by color.  The callers of one color, which is not negative, form a team, in the order
 * of `key`, and of their ranks in the parent where keys are equal.  new_tm_p: NULL to be in no
 * team; color and key then mean nothing.  flags: 0, or one of those above. */
extern size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent, int color, int key,
                           void *scratch_addr, size_t scratch_size, gex_Flags_t flags);

/* Makes teams of lists.  Each caller lists all members of its new team in `args`, in the order of
 * ranks and with itself: ranks of the parent, or of the job with GEX_FLAG_RANK_IS_JOBRANK, and
 * endpoint 0.  All members pass the same list; lists that differ have no member in common.
 * num_new_tms: 1, or 0 with numargs 0 to be in no team.  flags: exactly one of the following, and
 * perhaps GEX_FLAG_SCRATCH_SEG_OFFSET: scratch_addrs are offsets in the segments.
 *
 * GEX_FLAG_TM_SYMMETRIC_SCRATCH: scratch_addrs[0] is the address on all members;
 * GEX_FLAG_TM_LOCAL_SCRATCH: of this one; the call is then a barrier of the new team;
 * GEX_FLAG_TM_GLOBAL_SCRATCH: scratch_addrs has numargs addresses, by rank in the new team;
 * GEX_FLAG_TM_NO_SCRATCH. */
extern size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent,
                            gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs,
                            size_t scratch_size, gex_Flags_t flags);

/* Ends a team.  Collective over `tm`, which is not the team of all ranks.  Its collectives are
 * synced and its domains of atomics destroyed; other operations begun with it may be in flight, and
 * complete.  flags: 0, or on all members GEX_FLAG_GLOBALLY_QUIESCED, which promises that this holds
 * for all members now, and saves a barrier.  If the client gave scratch space, and scratch_p is not
 * NULL, stores that space and returns non-zero; else returns 0. */
extern int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags);

/* A value that names two endpoints, to be passed as `tm` to the calls for messages, transfers and
 * queries of segments; their ranks are then those of the job.  There is nothing to release.  Equal
 * arguments give equal values, which are those of no team.  Messages need remote == 0.  It is fatal
 * if `remote` is not below GASNET_MAXEPS.  Also in handlers. */
GASNETI_INLINE gex_TM_t gex_TM_Pair(gex_EP_t local, gex_EP_Index_t remote)
{
    (void)local;
    if_pf(remote != 0) return gasneti_pair_with(remote);
    return gasneti_pair;
}

/* --- Endpoints and segments that the client makes --- */

/* The transfers of gasnet_ex_rma.h and gasnet_vis.h reach memory that a rank has not attached by
 * four steps: gex_Segment_Create, gex_EP_Create, gex_EP_BindSegment, gex_EP_PublishBoundSegment.
 * None but the last is collective.  Errors are returned, with a warning unless
 * gex_System_SetVerboseErrors(0) was called, and leave outputs unchanged.  Not in handlers. */

/* Makes an endpoint without a segment.  Its index is 1 for the first, 2 for the second and so on;
 * it lives as long as the process.  caps: GEX_EP_CAPABILITY_RMA.  flags: 0, or
 * GEX_FLAG_HINT_ACCEL_*, which change nothing.
 *
 * Returns GASNET_OK; GASNET_ERR_BAD_ARG for other capabilities, or none; GASNET_ERR_RESOURCE for
 * more than GASNET_MAXEPS endpoints. */
extern int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t caps,
                         gex_Flags_t flags);

/* Makes a segment of `length` bytes, at least 1.  addr: the client's own memory of any alignment,
 * which stays mapped, readable and writable until the segment is destroyed; NULL: the library
 * allocates zeroed memory, which begins at a page, at most gasnet_getMaxLocalSegmentSize() bytes.
 * kind: GEX_MK_HOST.  flags: 0.  Neighbours do not map the memory.
 *
 * Returns GASNET_OK; GASNET_ERR_BAD_ARG for no bytes, too many, or another kind;
 * GASNET_ERR_RESOURCE without memory. */
extern int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t addr,
                              uintptr_t length, gex_MK_t kind, gex_Flags_t flags);

/* Ends a segment that gex_Segment_Create has made, and frees its memory if the library allocated
 * it.  No communication uses it any more; endpoints to which it is bound have none from then on,
 * and get no other.  Any other segment is a fatal error.  flags: 0. */
extern void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags);

/* Binds a segment to an endpoint other than the primordial one, which had none before.  The segment
 * may be bound to others too, and may be the attached one.  The memory is registered with the
 * devices now, if it was not before.  flags: 0.
 *
 * Returns GASNET_OK; GASNET_ERR_BAD_ARG; GASNET_ERR_RESOURCE if the memory cannot be registered. */
extern int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t segment, gex_Flags_t flags);

/* Makes segments known to other ranks.  Collective over a team: each member tells the others of the
 * segments that are bound to the `n` endpoints at `eps`, which have no communication meanwhile.  n
 * may differ, and be 0 with eps NULL; endpoints without a segment, and the primordial one, are
 * ignored.  When the call returns, this rank may name those of all members, for as long as their
 * segments live.  flags: 0.
 *
 * Returns GASNET_OK; GASNET_ERR_BAD_ARG for a list that names no endpoint; then the member
 * publishes what precedes the error, and takes part in the call. */
extern int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t n, gex_Flags_t flags);

/* The bound segment of a rank's endpoint.  Stores its address in that rank, its address in this one
 * (NULL if it is not mapped here) and its size in bytes, 0 if no segment is bound, or if it is that
 * of another rank and was not published to this one; the addresses are then undefined.  Pointers
 * may be NULL.  This library always answers at once, and returns GEX_EVENT_INVALID.  Also in
 * handlers.
 */
extern gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                              void **localaddr_p, uintptr_t *size_p,
                                              gex_Flags_t flags);
/* Older form: returns 0, or non-zero, with nothing stored, if there is no segment. */
extern int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                  void **localaddr_p, uintptr_t *size_p);

/* --- The system; also in handlers and with locks held --- */

/* This process's rank in the job, and the number of ranks. */
GASNETI_INLINE gex_Rank_t gex_System_QueryJobRank(void)
{
    return gasneti_mynode;
}
GASNETI_INLINE gex_Rank_t gex_System_QueryJobSize(void)
{
    return gasneti_nodes;
}
/* The ranks that share memory with this one, or its host, in ascending order and with this one;
 * their number; the index of this rank among them.  Pointers may be NULL.  The list stays valid and
 * must not be changed. */
extern void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p,
                                      gex_Rank_t *index_p);
extern void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *count_p,
                                     gex_Rank_t *index_p);
/* The number of neighbourhoods in the job, and this rank's among them; the same of hosts. Pointers
 * may be NULL. */
extern void gex_System_QueryMyPosition(gex_Rank_t *nbrhds_p, gex_Rank_t *nbrhd_p,
                                       gex_Rank_t *hosts_p, gex_Rank_t *host_p);
/* Whether calls that return an error print it too; non-zero at first. */
extern int gex_System_GetVerboseErrors(void);
extern void gex_System_SetVerboseErrors(int enable);
/* The most threads of the client that may call the library at once. */
extern uint64_t gex_System_QueryMaxThreads(void);
/* Non-zero if handlers may run in a thread of the library in this job. */
extern int gex_System_QueryHiddenAMConcurrencyLevel(void);

/* With GEX_FLAG_DEFER_THREADS the library starts no threads: the client calls this once, and runs
 * gex_progress_fn(gex_progress_arg) of each of the `count` entries in a joinable thread of its own,
 * which it neither joins nor detaches.  The function does not return.  The array stays valid.
 * Returns GASNET_OK; GASNET_ERR_BAD_ARG for NULL or flags other than 0; GASNET_ERR_RESOURCE without
 * that flag, or for a second call. */
extern int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p,
                                           const gex_ProgressThreadInfo_t **info_p,
                                           gex_Flags_t flags);

/* --- Handler-safe locks: those of gasnet_hsl.h by other names --- */

typedef gasnet_hsl_t gex_HSL_t;
#define GEX_HSL_INITIALIZER GASNET_HSL_INITIALIZER
#define gex_HSL_Init        gasnet_hsl_init
#define gex_HSL_Destroy     gasnet_hsl_destroy
#define gex_HSL_Lock        gasnet_hsl_lock
#define gex_HSL_Unlock      gasnet_hsl_unlock
#define gex_HSL_Trylock     gasnet_hsl_trylock

/* --- Tokens, in handlers --- */

/* The sender of a message. */
extern gex_Rank_t gasnetc_token_source(gex_Token_t token);
extern gex_TI_t gasnete_token_info(gex_Token_t token, gex_Token_Info_t *info);
extern struct gex_EP_s gasneti_ep0;

/* Stores the members of *info that `mask` (GEX_TI_*) names, perhaps others, and returns the bits of
 * those that are valid. */
GASNETI_INLINE gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask)
{
    if (mask & ~(gex_TI_t)(GEX_TI_SRCRANK | GEX_TI_EP)) return gasnete_token_info(token, info);
    info->gex_srcrank = gasnetc_token_source(token);
    info->gex_ep = &gasneti_ep0;
    return GEX_TI_SRCRANK | GEX_TI_EP;
}

GASNETI_EXPORTS_END
#endif
