/* gasnet_am_calls.h - Active Messages: the functions of the library to which the generated calls of
 * both interfaces lead (gasnet_am.h, gasnet_ex_am.h), and the calls of GASNet-EX that have no
 * arguments of the message.
 *
 * Private part of gasnetex.h.
 *
 * GASNet-EX: `rank` is a member of `tm`, which is a team or a pair; `handler` an index that is
 * registered there.  nbytes may be 0; then src is ignored.  Addresses have any alignment, and
 * sources may be anywhere.  dest lies in the segment of that rank's endpoint, unless nbytes is 0.
 * Requests: client code with no lock held.  Replies: at most one in each Request handler, with its
 * token.  Errors are fatal.
 *
 * A Request may poll and so run any handler; a Reply runs none.  With GEX_FLAG_IMMEDIATE neither
 * does: the call returns non-zero, and has sent nothing and stored nothing, if it would have to
 * wait for a credit, a buffer, or the connection at first use, which is begun; other results are 0.
 * The handler of a Request to this rank itself runs inside the call, also of an immediate one.
 *
 * lc_opt, of Mediums and Longs: when the source may be changed.  GEX_EVENT_NOW: when the call
 * returns.  GEX_EVENT_GROUP, of Requests: when GEX_EC_AM is synchronised.  Otherwise: where to
 * store an event that tells of it, to be synchronised once like any other; it may be
 * GEX_EVENT_INVALID.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_am_calls.h is private: include gasnetex.h"
#endif
#ifndef GASNETI_AM_CALLS_H
#define GASNETI_AM_CALLS_H

GASNETI_EXPORTS_BEGIN

/* --- Entry points of the library; not for clients --- */

extern int gasnetc_AMRequestShort(gasnet_node_t dest, gasnet_handler_t handler, int numargs,
                                  const gasnet_handlerarg_t *args);
extern int gasnetc_AMRequestMedium(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                                   size_t nbytes, int numargs, const gasnet_handlerarg_t *args);
extern int gasnetc_AMRequestLong(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                                 size_t nbytes, void *dst, int numargs,
                                 const gasnet_handlerarg_t *args);
extern int gasnetc_AMRequestLongAsync(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                                      size_t nbytes, void *dst, int numargs,
                                      const gasnet_handlerarg_t *args);
extern int gasnetc_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int numargs,
                                const gasnet_handlerarg_t *args);
extern int gasnetc_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *src,
                                 size_t nbytes, int numargs, const gasnet_handlerarg_t *args);
extern int gasnetc_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, const void *src,
                               size_t nbytes, void *dst, int numargs,
                               const gasnet_handlerarg_t *args);

/* Fatal. */
extern void gasneti_no_client_request(gasnet_node_t dest, gasnet_handler_t handler)
    GASNETI_ATTRIBUTE((__noreturn__, __cold__));
extern void gasneti_no_client_reply(gasnet_token_t token, gasnet_handler_t handler)
    GASNETI_ATTRIBUTE((__noreturn__, __cold__));
GASNETI_INLINE void gasneti_check_ex_request(gex_Rank_t dest, gex_AM_Index_t handler)
{
    if (handler < 128) gasneti_no_client_request(dest, handler);
}
#if GASNET_DEBUG
/* Fatal for a call of GASNet-1 in a job that gex_Client_Init has started without
 * GEX_FLAG_USES_GASNET1. */
extern void gasneti_check_classic(const char *call);
#else
GASNETI_INLINE void gasneti_check_classic(const char *call)
{
    (void)call;
}
#endif
GASNETI_INLINE void gasneti_check_request(gasnet_node_t dest, gasnet_handler_t handler)
{
    gasneti_check_classic("gasnet_AMRequest");
    gasneti_check_ex_request(dest, handler);
}
GASNETI_INLINE void gasneti_check_reply(gasnet_token_t token, gasnet_handler_t handler)
{
    if (handler < 128) gasneti_no_client_reply(token, handler);
}

/* True if an immediate Request to the rank would find a credit now. */
extern int gasnetc_may_request(gex_Rank_t node);

/* Messages that may be refused, or whose source is counted.  The category is a bit of
 * GEX_FLAG_AM_*; results are those of the calls of GASNet-EX. */
extern int gasnete_request(gex_Rank_t node, gex_Flags_t category, gex_AM_Index_t handler,
                           const void *src, size_t nbytes, void *dest, gex_Event_t *lc_opt,
                           gex_Flags_t flags, int numargs, const gex_AM_Arg_t *args);
extern int gasnete_reply(gex_Token_t token, gex_Flags_t category, gex_AM_Index_t handler,
                         const void *src, size_t nbytes, void *dest, gex_Event_t *lc_opt,
                         gex_Flags_t flags, int numargs, const gex_AM_Arg_t *args);

#if GASNET_DEBUG
/* Fatal for an lc_opt that the call does not have. */
extern void gasneti_check_lc(const char *call, const gex_Event_t *lc_opt, int reply);
/* Fatal for a pair with an endpoint that receives no messages. */
extern void gasneti_check_receives(gex_TM_t tm);
#else
GASNETI_INLINE void gasneti_check_receives(gex_TM_t tm)
{
    (void)tm;
}
GASNETI_INLINE void gasneti_check_lc(const char *call, const gex_Event_t *lc_opt, int reply)
{
    (void)call, (void)lc_opt, (void)reply;
}
#endif

/* The rank in the job to which a message goes. */
GASNETI_INLINE gex_Rank_t gasneti_receiver(gex_TM_t tm, gex_Rank_t rank)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    gasneti_check_receives(tm);
    return node;
}

/* The source may be changed already. */
GASNETI_INLINE void gasneti_lc_over(gex_Event_t *lc_opt)
{
    if ((uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP) *lc_opt = GEX_EVENT_INVALID;
}

/* --- gex_AM_{Request,Reply}{Short,Medium,Long}<M>; not for clients --- */

GASNETI_INLINE int gasneti_request_short(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,
                                         gex_Flags_t flags, int numargs, const gex_AM_Arg_t *args)
{
    const gex_Rank_t node = gasneti_receiver(tm, rank);
    gasneti_check_ex_request(node, handler);
    if (flags & GEX_FLAG_IMMEDIATE)
        return !gasnetc_may_request(node) ||
               gasnete_request(node, GEX_FLAG_AM_SHORT, handler, NULL, 0, NULL, GEX_EVENT_NOW,
                               flags, numargs, args);
    return gasnetc_AMRequestShort(node, handler, numargs, args);
}

GASNETI_INLINE int gasneti_request_medium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,
                                          const void *src, size_t nbytes, gex_Event_t *lc_opt,
                                          gex_Flags_t flags, int numargs, const gex_AM_Arg_t *args)
{
    const gex_Rank_t node = gasneti_receiver(tm, rank);
    gasneti_check_ex_request(node, handler);
    gasneti_check_lc("gex_AM_RequestMedium", lc_opt, 0);
    if (flags & GEX_FLAG_IMMEDIATE)
        return !gasnetc_may_request(node) ||
               gasnete_request(node, GEX_FLAG_AM_MEDIUM, handler, src, nbytes, NULL, lc_opt, flags,
                               numargs, args);
    gasneti_lc_over(lc_opt);
    return gasnetc_AMRequestMedium(node, handler, src, nbytes, numargs, args);
}

GASNETI_INLINE int gasneti_request_long(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler,
                                        const void *src, size_t nbytes, void *dest,
                                        gex_Event_t *lc_opt, gex_Flags_t flags, int numargs,
                                        const gex_AM_Arg_t *args)
{
    const gex_Rank_t node = gasneti_receiver(tm, rank);
    gasneti_check_ex_request(node, handler);
    gasneti_check_lc("gex_AM_RequestLong", lc_opt, 0);
    if (lc_opt != GEX_EVENT_NOW || (flags & GEX_FLAG_IMMEDIATE))
        return gasnete_request(node, GEX_FLAG_AM_LONG, handler, src, nbytes, dest, lc_opt, flags,
                               numargs, args);
    return gasnetc_AMRequestLong(node, handler, src, nbytes, dest, numargs, args);
}

GASNETI_INLINE int gasneti_reply_short(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags,
                                       int numargs, const gex_AM_Arg_t *args)
{
    gasneti_check_reply(token, handler);
    if (flags & GEX_FLAG_IMMEDIATE)
        return gasnete_reply(token, GEX_FLAG_AM_SHORT, handler, NULL, 0, NULL, GEX_EVENT_NOW, flags,
                             numargs, args);
    return gasnetc_AMReplyShort(token, handler, numargs, args);
}

GASNETI_INLINE int gasneti_reply_medium(gex_Token_t token, gex_AM_Index_t handler, const void *src,
                                        size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags,
                                        int numargs, const gex_AM_Arg_t *args)
{
    gasneti_check_reply(token, handler);
    gasneti_check_lc("gex_AM_ReplyMedium", lc_opt, 1);
    if (flags & GEX_FLAG_IMMEDIATE)
        return gasnete_reply(token, GEX_FLAG_AM_MEDIUM, handler, src, nbytes, NULL, lc_opt, flags,
                             numargs, args);
    gasneti_lc_over(lc_opt);
    return gasnetc_AMReplyMedium(token, handler, src, nbytes, numargs, args);
}

GASNETI_INLINE int gasneti_reply_long(gex_Token_t token, gex_AM_Index_t handler, const void *src,
                                      size_t nbytes, void *dest, gex_Event_t *lc_opt,
                                      gex_Flags_t flags, int numargs, const gex_AM_Arg_t *args)
{
    gasneti_check_reply(token, handler);
    gasneti_check_lc("gex_AM_ReplyLong", lc_opt, 1);
    if (lc_opt != GEX_EVENT_NOW || (flags & GEX_FLAG_IMMEDIATE))
        return gasnete_reply(token, GEX_FLAG_AM_LONG, handler, src, nbytes, dest, lc_opt, flags,
                             numargs, args);
    return gasnetc_AMReplyLong(token, handler, src, nbytes, dest, numargs, args);
}

/* --- Negotiated payload: Prepare, write the payload, Commit or Cancel --- */

/* What Prepare returns.  Its members are not for clients. */
typedef struct gex_AM_SrcDesc_s {
    void *addr;
    size_t size;
} * gex_AM_SrcDesc_t;
#define GEX_AM_SRCDESC_NO_OP ((gex_AM_SrcDesc_t)0)

#define GASNET_NATIVE_NP_ALLOC_REQ_MEDIUM 1
#define GASNET_NATIVE_NP_ALLOC_REP_MEDIUM 1
#define GASNET_SUPPORTS_AM_CANCEL         20240418L
#define GASNET_SUPPORTS_AM_COMMIT_V2      20240906L

/* Where the payload is written: `client_buf` of Prepare, or the library's, which is aligned for any
 * type; its size is at least `least`, at most `most`. */
GASNETI_INLINE void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd)
{
    return sd->addr;
}
GASNETI_INLINE size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd)
{
    return sd->size;
}

extern gex_AM_SrcDesc_t gasnete_prepare_request(gex_Rank_t node, gex_Flags_t category,
                                                const void *client_buf, size_t least, size_t most,
                                                gex_Event_t *lc_opt, gex_Flags_t flags,
                                                unsigned nargs);
/* A Request of a Medium in a buffer of the library. */
extern gex_AM_SrcDesc_t gasnete_prepare_request_medium(gex_Rank_t node, size_t least, size_t most,
                                                       gex_Flags_t flags, unsigned nargs);
extern gex_AM_SrcDesc_t gasnete_prepare_reply(gex_Token_t token, gex_Flags_t category,
                                              const void *client_buf, size_t least, size_t most,
                                              gex_Event_t *lc_opt, gex_Flags_t flags,
                                              unsigned nargs);
/* Prepare a message of `nargs` arguments, whose payload the client then writes.  client_buf: its
 * own buffer; NULL: the library lends one, and lc_opt must be NULL.  least: at most what
 * gex_AM_Max... returns with a PREPARE flag; most: at least `least`.  dest: NULL, or that of
 * Commit. Until Commit or Cancel, by the same thread, that thread must not communicate.
 * GEX_FLAG_IMMEDIATE: returns GEX_AM_SRCDESC_NO_OP where it would have to wait. */
GASNETI_INLINE gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank,
                                                            const void *client_buf, size_t least,
                                                            size_t most, gex_Event_t *lc_opt,
                                                            gex_Flags_t flags, unsigned nargs)
{
    const gex_Rank_t node = gasneti_receiver(tm, rank);
    if (!client_buf) return gasnete_prepare_request_medium(node, least, most, flags, nargs);
    return gasnete_prepare_request(node, GEX_FLAG_AM_MEDIUM, client_buf, least, most, lc_opt, flags,
                                   nargs);
}
GASNETI_INLINE gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank,
                                                          const void *client_buf, size_t least,
                                                          size_t most, void *dest,
                                                          gex_Event_t *lc_opt, gex_Flags_t flags,
                                                          unsigned nargs)
{
    (void)dest;
    return gasnete_prepare_request(gasneti_receiver(tm, rank), GEX_FLAG_AM_LONG, client_buf, least,
                                   most, lc_opt, flags, nargs);
}
GASNETI_INLINE gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf,
                                                          size_t least, size_t most,
                                                          gex_Event_t *lc_opt, gex_Flags_t flags,
                                                          unsigned nargs)
{
    return gasnete_prepare_reply(token, GEX_FLAG_AM_MEDIUM, client_buf, least, most, lc_opt, flags,
                                 nargs);
}
GASNETI_INLINE gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf,
                                                        size_t least, size_t most, void *dest,
                                                        gex_Event_t *lc_opt, gex_Flags_t flags,
                                                        unsigned nargs)
{
    (void)dest;
    return gasnete_prepare_reply(token, GEX_FLAG_AM_LONG, client_buf, least, most, lc_opt, flags,
                                 nargs);
}

extern int gasnete_commit(gex_AM_SrcDesc_t sd, gex_Flags_t form, gex_AM_Index_t handler,
                          size_t nbytes, void *dest, gex_Flags_t flags, int numargs,
                          const gex_AM_Arg_t *args);
/* For a handler of a client's. */
extern void gasnete_commit_request_medium(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,
                                          size_t nbytes, int numargs, const gex_AM_Arg_t *args);
GASNETI_INLINE void gasneti_commit_request_medium(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,
                                                  size_t nbytes, int numargs,
                                                  const gex_AM_Arg_t *args)
{
    if (handler >= GEX_AM_INDEX_BASE)
        gasnete_commit_request_medium(sd, handler, nbytes, numargs, args);
    else /* refused there */
        gasnete_commit(sd, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, handler, nbytes, NULL, 0,
                       numargs, args);
}
GASNETI_INLINE void gasneti_commit_reply_medium(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,
                                                size_t nbytes, int numargs,
                                                const gex_AM_Arg_t *args)
{
    gasnete_commit(sd, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, handler, nbytes, NULL, 0, numargs,
                   args);
}
#define GASNETI_COMMIT_MEDIUM(name, form)                                                          \
    GASNETI_INLINE int gasneti_commit_##name##_v2(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,     \
                                                  size_t nbytes, gex_Flags_t flags, int numargs,   \
                                                  const gex_AM_Arg_t *args)                        \
    {                                                                                              \
        return gasnete_commit(sd, form, handler, nbytes, NULL, flags, numargs, args);              \
    }
#define GASNETI_COMMIT_LONG(name, form)                                                            \
    GASNETI_INLINE void gasneti_commit_##name(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,         \
                                              size_t nbytes, void *dest, int numargs,              \
                                              const gex_AM_Arg_t *args)                            \
    {                                                                                              \
        gasnete_commit(sd, form, handler, nbytes, dest, 0, numargs, args);                         \
    }                                                                                              \
    GASNETI_INLINE int gasneti_commit_##name##_v2(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler,     \
                                                  size_t nbytes, void *dest, gex_Flags_t flags,    \
                                                  int numargs, const gex_AM_Arg_t *args)           \
    {                                                                                              \
        return gasnete_commit(sd, form, handler, nbytes, dest, flags, numargs, args);              \
    }
GASNETI_COMMIT_MEDIUM(request_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST)
GASNETI_COMMIT_MEDIUM(reply_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY)
GASNETI_COMMIT_LONG(request_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST)
GASNETI_COMMIT_LONG(reply_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY)

/* End what Prepare began, and send no message.  flags: 0.  Return 0. */
extern int gasnete_cancel(gex_AM_SrcDesc_t sd, gex_Flags_t form);
GASNETI_INLINE int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    (void)flags;
    return gasnete_cancel(sd, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST);
}
GASNETI_INLINE int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    (void)flags;
    return gasnete_cancel(sd, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST);
}
GASNETI_INLINE int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    (void)flags;
    return gasnete_cancel(sd, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY);
}
GASNETI_INLINE int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    (void)flags;
    return gasnete_cancel(sd, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY);
}

/* --- Limits, in bytes; also in handlers --- */

/* The most arguments of a message. */
GASNETI_INLINE unsigned int gex_AM_MaxArgs(void)
{
    return GASNETC_MAX_ARGS;
}
/* The most bytes of a message with the same arguments; the same for all peers and numbers of
 * arguments.  With a PREPARE flag: the most that `least` may be. */
#define GASNETI_AM_MAX(call, most)                                                                 \
    GASNETI_INLINE size_t gex_AM_Max##call(gex_TM_t tm, gex_Rank_t other,                          \
                                           const gex_Event_t *lc_opt, gex_Flags_t flags,           \
                                           unsigned nargs)                                         \
    {                                                                                              \
        (void)tm, (void)other, (void)lc_opt, (void)nargs;                                          \
        return flags & GEX_FLAG_AM_PREPARE_LEAST_ALLOC ? (size_t)GASNETC_MAX_MEDIUM                \
                                                       : (size_t)(most);                           \
    }                                                                                              \
    GASNETI_INLINE size_t gex_AM_LUB##call(void)                                                   \
    {                                                                                              \
        return (size_t)(most);                                                                     \
    }
GASNETI_AM_MAX(RequestMedium, GASNETC_MAX_MEDIUM)
GASNETI_AM_MAX(ReplyMedium, GASNETC_MAX_MEDIUM)
GASNETI_AM_MAX(RequestLong, GASNETC_MAX_LONG_REQUEST)
GASNETI_AM_MAX(ReplyLong, GASNETC_MAX_LONG_REPLY)

/* The most bytes of a message: gex_AM_Max... for the Reply to a token. */
GASNETI_INLINE size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *lc_opt,
                                               gex_Flags_t flags, unsigned nargs)
{
    (void)token;
    return gex_AM_MaxReplyMedium(GEX_TM_INVALID, GEX_RANK_INVALID, lc_opt, flags, nargs);
}
GASNETI_INLINE size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *lc_opt,
                                             gex_Flags_t flags, unsigned nargs)
{
    (void)token;
    return gex_AM_MaxReplyLong(GEX_TM_INVALID, GEX_RANK_INVALID, lc_opt, flags, nargs);
}

GASNETI_EXPORTS_END
#endif
