/* messages.c - Active Messages that may be refused, or whose source is counted; negotiated payload.
 */
#include "core/shm/messages.h"

#include "core/am/am.h"
#include "core/am/am_wire.h"
#include "core/am/context.h"
#include "core/am/lent.h"
#include "core/job/progress.h"
#include "core/rdma/bounce.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "extended-ref/ex/negotiated.h"
#include "extended-ref/handles.h"
#include "gasnet.h"
#include "other/base/hot.h"
#include "other/base/min.h"

#if GASNET_DEBUG
void gasneti_check_lc(const char *call, const gex_Event_t *lc_opt, int reply)
{
    if (lc_opt == NULL || lc_opt == GEX_EVENT_DEFER || (reply && lc_opt == GEX_EVENT_GROUP))
        gasneti_fatal("%s is given the lc_opt %s; a %s has GEX_EVENT_NOW, %sor the address of an "
                      "event",
                      call,
                      lc_opt == NULL              ? "NULL"
                      : lc_opt == GEX_EVENT_DEFER ? "GEX_EVENT_DEFER"
                                                  : "GEX_EVENT_GROUP",
                      reply ? "Reply" : "Request", reply ? "" : "GEX_EVENT_GROUP ");
}

#endif

/* --- messages that may be refused, or whose source is counted --- */

static gasnetc_outgoing_t message_outgoing(gex_Flags_t category, gex_AM_Index_t handler,
                                           const void *src, size_t nbytes, void *dest, int numargs,
                                           const gex_AM_Arg_t *args)
{
    return (gasnetc_outgoing_t){.category = category == GEX_FLAG_AM_SHORT    ? GASNETC_AM_SHORT
                                            : category == GEX_FLAG_AM_MEDIUM ? GASNETC_AM_MEDIUM
                                                                             : GASNETC_AM_LONG,
                                .handler = handler,
                                .numargs = numargs,
                                .args = args,
                                .src = src,
                                .nbytes = nbytes,
                                .dst = dest};
}

/* Sends to `node`, or the Reply to `token`; false: it is refused. */
static bool message_send(gex_Rank_t node, gex_Token_t token, const gasnetc_outgoing_t *am,
                         gex_Event_t *lc_opt, gex_Flags_t flags)
{
    gasnetc_sending_t how = {.form = GASNETC_LONG, .immediate = flags & GEX_FLAG_IMMEDIATE};
    gasnete_op_t *op = NULL;
    gasnete_thread_t *me = gasnete_self();
    if (am->category == GASNETC_AM_LONG && lc_opt != GEX_EVENT_NOW) {
        how.form = GASNETC_LONG_EVENT;
        if (lc_opt != GEX_EVENT_GROUP) op = gasnete_op_new(me, GASNETE_OP_HANDLE);
        how.counter = op ? &op->counter : me->implicit[GASNETE_MESSAGES];
    }
    const bool sent = token ? gasnetc_am_reply(token, am, how) : gasnetc_am_request(node, am, how);
    if (op && (!sent || gasnetc_counter_done(&op->counter))) {
        gasnete_op_free(me, op);
        op = GEX_EVENT_INVALID;
    }
    if (sent && (uintptr_t)lc_opt > (uintptr_t)GEX_EVENT_GROUP) *lc_opt = op;
    return sent;
}

int gasnete_request(gex_Rank_t node, gex_Flags_t category, gex_AM_Index_t handler, const void *src,
                    size_t nbytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs,
                    const gex_AM_Arg_t *args)
{
    const gasnetc_outgoing_t am =
        message_outgoing(category, handler, src, nbytes, dest, numargs, args);
    return !message_send(node, NULL, &am, lc_opt, flags);
}

int gasnete_reply(gex_Token_t token, gex_Flags_t category, gex_AM_Index_t handler, const void *src,
                  size_t nbytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs,
                  const gex_AM_Arg_t *args)
{
    const gasnetc_outgoing_t am =
        message_outgoing(category, handler, src, nbytes, dest, numargs, args);
    return !message_send(0, token, &am, lc_opt, flags);
}

/* --- negotiated payload --- */

/* The thread's description of a Request, or of a Reply. */
static inline gasnete_negotiated_t *negotiated_mine(gasnete_thread_t *me, bool reply)
{
    if (!me->negotiated) me->negotiated = gasnete_alloc(2 * sizeof *me->negotiated);
    return &me->negotiated[reply];
}

static void __attribute__((noreturn, cold))
negotiated_refuse(const gasnete_negotiated_t *sd, size_t least, size_t most, unsigned nargs,
                  size_t limit)
{
    if (sd->form)
        gasneti_fatal("a payload is prepared while another has not been committed or cancelled");
    gasneti_fatal("a payload of %zu to %zu bytes with %u arguments is prepared: %zu bytes and 16 "
                  "arguments are possible",
                  least, most, nargs, limit);
}

/* Checks what Prepare is given, and starts the description, whose payload is at `addr`. */
HOT void negotiated_begin(gasnete_negotiated_t *sd, gex_Flags_t form, size_t limit, void *addr,
                          size_t least, size_t most, unsigned nargs)
{
    if (sd->form || least > limit || most < least || nargs > GASNETC_AM_MAX_ARGS)
        negotiated_refuse(sd, least, most, nargs, limit);
    sd->desc.addr = addr;
    sd->desc.size = gasneti_min(most, limit);
    sd->form = form;
    sd->nargs = nargs;
}

/* Ends Prepare for a payload in the client's buffer. */
static gex_AM_SrcDesc_t negotiated_client(gasnete_negotiated_t *sd, gex_Event_t *lc_opt,
                                          const char *call)
{
    if (GASNETC_CHECKING) gasneti_check_lc(call, lc_opt, (sd->form & GEX_FLAG_AM_REPLY) != 0);
    sd->lc_opt = lc_opt;
    sd->source = NEGOTIATED_CLIENT;
    if (GASNETC_CHECKING) gasnetc_note_prepared(call);
    return &sd->desc;
}

/* Ends Prepare for a payload in a buffer of the library: the one that the network reads, or one of
 * the thread if the message will be copied for the network or is for this rank or a shared-memory
 * peer.  GEX_AM_SRCDESC_NO_OP: refused. */
static gex_AM_SrcDesc_t negotiated_supply(gasnete_negotiated_t *sd, gex_Rank_t node, bool immediate,
                                          const char *call)
{
    sd->lc_opt = GEX_EVENT_NOW;
    if (!(sd->form & GEX_FLAG_AM_MEDIUM) ||
        bounce_inlines(gasnetc_am_prefix(GASNETC_AM_MEDIUM, sd->nargs) + sd->desc.size) ||
        node == gasnetc_job.rank || gasnetc_shm_of(&gasnetc_peers[node])) {
        sd->source = NEGOTIATED_THREAD;
        sd->desc.addr = gasnetc_loop_buffer(!(sd->form & GEX_FLAG_AM_REPLY));
    } else {
        sd->source = NEGOTIATED_LENT;
        sd->desc.addr =
            gasnetc_lend(&sd->network, &gasnetc_peers[node], sd->token, sd->nargs, immediate);
        if (!sd->desc.addr) {
            sd->form = 0;
            return GEX_AM_SRCDESC_NO_OP;
        }
    }
    if (GASNETC_CHECKING) gasnetc_note_prepared(call);
    return &sd->desc;
}

gex_AM_SrcDesc_t gasnete_prepare_request(gex_Rank_t node, gex_Flags_t category,
                                         const void *client_buf, size_t least, size_t most,
                                         gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs)
{
    gasnete_negotiated_t *sd = negotiated_mine(gasnete_self(), false);
    const bool medium = category == GEX_FLAG_AM_MEDIUM || !client_buf;
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gex_AM_PrepareRequest");
    if (node >= gasnetc_job.size) gasnetc_no_such_rank("gex_AM_PrepareRequest", node);
    negotiated_begin(sd, category | GEX_FLAG_AM_REQUEST,
                     medium ? GASNETC_MAX_MEDIUM : GASNETC_MAX_LONG_REQUEST,
                     (void *)(uintptr_t)client_buf, least, most, nargs);
    sd->node = node;
    sd->token = NULL;
    if (client_buf) return negotiated_client(sd, lc_opt, "gex_AM_PrepareRequest");
    return negotiated_supply(sd, node, flags & GEX_FLAG_IMMEDIATE, "gex_AM_PrepareRequest");
}

/* The same with no buffer of the client's: what gasnete_prepare_request_medium leaves. */
static gex_AM_SrcDesc_t negotiated_medium(gex_Rank_t node, size_t least, size_t most,
                                          gex_Flags_t flags, unsigned nargs)
{
    return gasnete_prepare_request(node, GEX_FLAG_AM_MEDIUM, NULL, least, most, GEX_EVENT_NOW,
                                   flags, nargs);
}

gex_AM_SrcDesc_t gasnete_prepare_request_medium(gex_Rank_t node, size_t least, size_t most,
                                                gex_Flags_t flags, unsigned nargs)
{
    enum { MOST = NET_STACK_MESSAGE < GASNETC_MAX_MEDIUM ? NET_STACK_MESSAGE : GASNETC_MAX_MEDIUM };
    const gasnete_thread_t *me = gasnete_self_if_any();
    gasnete_negotiated_t *sd = me ? me->negotiated : NULL;
    const size_t prefix = gasnetc_am_prefix(GASNETC_AM_MEDIUM, nargs);
    if (GASNETC_CHECKING || !sd || sd->form || most > MOST || nargs > GASNETC_AM_MAX_ARGS ||
        !bounce_inlines(prefix + most) || most < least || node >= gasnetc_reach ||
        node == gasnetc_job.rank || gasnetc_shm_of(&gasnetc_peers[node]))
        return negotiated_medium(node, least, most, flags, nargs);
    sd->desc.addr = sd->in_place.message + GASNETC_AM_PREFIX_MAX;
    sd->desc.size = most;
    sd->form = NEGOTIATED_IN_PLACE;
    sd->in_place.peer = &gasnetc_peers[node];
    sd->in_place.numargs = nargs;
    sd->in_place.prefix = (unsigned)prefix;
    return &sd->desc;
}

gex_AM_SrcDesc_t gasnete_prepare_reply(gex_Token_t token, gex_Flags_t category,
                                       const void *client_buf, size_t least, size_t most,
                                       gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs)
{
    gasnete_negotiated_t *sd = negotiated_mine(gasnete_self(), true);
    const bool medium = category == GEX_FLAG_AM_MEDIUM || !client_buf;
    if (GASNETC_CHECKING) gasnetc_check_token("gex_AM_PrepareReply", token);
    negotiated_begin(sd, category | GEX_FLAG_AM_REPLY,
                     medium ? GASNETC_MAX_MEDIUM : GASNETC_MAX_LONG_REPLY,
                     (void *)(uintptr_t)client_buf, least, most, nargs);
    sd->node = 0;
    sd->token = token;
    if (client_buf) return negotiated_client(sd, lc_opt, "gex_AM_PrepareReply");
    return negotiated_supply(sd, ((gasnetc_token_t *)token)->peer->net.rank,
                             flags & GEX_FLAG_IMMEDIATE, "gex_AM_PrepareReply");
}

static void __attribute__((noreturn, cold)) negotiated_unknown(void)
{
    gasneti_fatal("a payload is committed or cancelled that this thread has not prepared, or for "
                  "another kind of message");
}

/* Describes NEGOTIATED_IN_PLACE as any other message in memory of the thread. */
static void negotiated_settle(gasnete_negotiated_t *sd)
{
    sd->form = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST;
    sd->node = sd->in_place.peer->net.rank;
    sd->token = NULL;
    sd->lc_opt = GEX_EVENT_NOW;
    sd->nargs = sd->in_place.numargs;
    sd->source = NEGOTIATED_THREAD;
}

/* The description that Commit or Cancel is given. */
static gasnete_negotiated_t *negotiated_of(gex_AM_SrcDesc_t desc, gex_Flags_t form)
{
    gasnete_negotiated_t *all = gasnete_self()->negotiated;
    gasnete_negotiated_t *sd = all ? &all[(form & GEX_FLAG_AM_REPLY) != 0] : NULL;
    if (!sd || desc != &sd->desc) negotiated_unknown();
    if (sd->form == NEGOTIATED_IN_PLACE) negotiated_settle(sd);
    if (sd->form != form) negotiated_unknown();
    return sd;
}

static void __attribute__((noreturn, cold))
negotiated_exceeded(const gasnete_negotiated_t *sd, size_t nbytes, int numargs)
{
    gasneti_fatal("%zu bytes with %d arguments are committed of a payload that was prepared for "
                  "%zu with %u",
                  nbytes, numargs, sd->desc.size, sd->nargs);
}

HOT void negotiated_check(const gasnete_negotiated_t *sd, gex_AM_Index_t handler, size_t nbytes,
                          int numargs)
{
    if (nbytes > sd->desc.size || (unsigned)numargs != sd->nargs)
        negotiated_exceeded(sd, nbytes, numargs);
    if (handler < GEX_AM_INDEX_BASE) gasneti_no_client_request(sd->node, handler);
}

/* Handlers that run meanwhile may prepare a Reply, which has a description of its own. */
static bool negotiated_send(gasnete_negotiated_t *sd, gex_AM_Index_t handler, size_t nbytes,
                            void *dest, gex_Flags_t flags, const gex_AM_Arg_t *args)
{
    if (sd->source != NEGOTIATED_LENT) {
        const gasnetc_outgoing_t am =
            message_outgoing(sd->form & GEX_FLAG_AM_MEDLONG, handler, sd->desc.addr, nbytes, dest,
                             (int)sd->nargs, args);
        return message_send(sd->node, sd->token, &am, sd->lc_opt, flags);
    }
    if (sd->token && !gasnetc_may_reply(sd->token)) gasnetc_no_reply(sd->token);
    const uint64_t began = gasneti_trace_begin();
    const bool sent =
        gasnetc_send_lent(&sd->network, handler, nbytes, args, flags & GEX_FLAG_IMMEDIATE);
    if (sent && sd->token) sd->token->answer = GASNETC_ANSWERED;
    if (began && !sent) {
        gasneti_trace_forget();
        return false;
    }
    gasneti_trace_end(
        began, .kind = sd->token ? GASNETI_TRACE_reply_medium : GASNETI_TRACE_request_medium,
        .peer = sd->network.peer->net.rank, .bytes = nbytes, .handler = (uint8_t)handler);
    return sent;
}

/* A Commit that is refused polls, or for a Reply reaps: the client may not before it tries again.
 */
int gasnete_commit(gex_AM_SrcDesc_t desc, gex_Flags_t form, gex_AM_Index_t handler, size_t nbytes,
                   void *dest, gex_Flags_t flags, int numargs, const gex_AM_Arg_t *args)
{
    gasnete_negotiated_t *sd = negotiated_of(desc, form);
    negotiated_check(sd, handler, nbytes, numargs);
    if (GASNETC_CHECKING) gasnetc_note_prepared(NULL);
    const bool sent = negotiated_send(sd, handler, nbytes, dest, flags, args);
    if (sent) {
        sd->form = 0;
        return 0;
    }
    gasnetc_stall(sd->token);
    if (GASNETC_CHECKING) gasnetc_note_prepared("Prepare");
    return 1;
}

/* What gasnete_commit_request_medium leaves. */
static void negotiated_commit_medium(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler, size_t nbytes,
                                     int numargs, const gex_AM_Arg_t *args)
{
    gasnete_commit(desc, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, handler, nbytes, NULL, 0,
                   numargs, args);
}

void gasnete_commit_request_medium(gex_AM_SrcDesc_t desc, gex_AM_Index_t handler, size_t nbytes,
                                   int numargs, const gex_AM_Arg_t *args)
{
    const gasnete_thread_t *me = gasnete_self_if_any();
    gasnete_negotiated_t *sd = me ? me->negotiated : NULL;
    if (!sd || desc != &sd->desc || sd->form != NEGOTIATED_IN_PLACE || nbytes > sd->desc.size ||
        (unsigned)numargs != sd->in_place.numargs) {
        negotiated_commit_medium(desc, handler, nbytes, numargs, args);
        return;
    }
    sd->form = 0;
    gasnetc_send_in_place(&sd->in_place, handler, nbytes, numargs, args);
}

int gasnete_cancel(gex_AM_SrcDesc_t desc, gex_Flags_t form)
{
    gasnete_negotiated_t *sd = negotiated_of(desc, form);
    if (GASNETC_CHECKING) gasnetc_note_prepared(NULL);
    if (sd->source == NEGOTIATED_LENT) gasnetc_take_back(&sd->network);
    sd->form = 0;
    return 0;
}
