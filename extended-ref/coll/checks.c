/* checks.c - checks of the rules for callers of collectives: in each build the checks that are
 * cheap, and in debug builds also that all images make the same calls.
 *
 * In debug builds each rank of a team sends the next rank, for each operation, a digest of its
 * call.  The two calls are compared when both are known, in the call or in the handler, whichever
 * is later.
 */
#include <string.h>

#include "core/am/context.h"
#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/job/thread.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/messages.h"
#include "extended-ref/coll/op.h"
#include "extended-ref/coll/plans/plan_choose.h"
#include "extended-ref/internal_am.h"
#include "other/base/fnv.h"

/* --- one call --- */

static bool checks_exactly_one(int bits)
{
    return bits && !(bits & (bits - 1));
}

static void __attribute__((noreturn, cold)) checks_bad_flags(const gasnete_coll_call_t *call)
{
    gasneti_fatal("%s is called with flags 0x%x: they must contain exactly one of "
                  "GASNET_COLL_IN_{NO,MY,ALL}SYNC, one of GASNET_COLL_OUT_{NO,MY,ALL}SYNC, and one "
                  "of GASNET_COLL_SINGLE and GASNET_COLL_LOCAL",
                  call->name, (unsigned)call->flags);
}

void gasnete_coll_check_team(const char *call, const gasnete_team_t *team)
{
    if (team == NULL)
        gasneti_fatal("%s is called with a NULL team: %s", call,
                      gasnete_coll_team_all ? "it is no team of this rank"
                                            : "gasnet_coll_init must be called first");
    if (gasneti_handler_depth() != 0)
        gasneti_fatal("%s is called in a handler: collectives are for client code only", call);
    if (GASNETC_CHECKING) gasnetc_check_may_communicate(call);
}

void gasnete_coll_check_call(const gasnete_coll_call_t *call)
{
    const int in = GASNET_COLL_IN_NOSYNC | GASNET_COLL_IN_MYSYNC | GASNET_COLL_IN_ALLSYNC;
    const int out = GASNET_COLL_OUT_NOSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_OUT_ALLSYNC;
    const int where = GASNET_COLL_SINGLE | GASNET_COLL_LOCAL;
    const int flags = call->flags;
    if (!checks_exactly_one(flags & in) || !checks_exactly_one(flags & out) ||
        !checks_exactly_one(flags & where))
        checks_bad_flags(call);
    if (call->root >= call->team->images)
        gasneti_fatal("%s is called with root %u: the team has %u images, numbered from 0",
                      call->name, (unsigned)call->root, call->team->images);
    if (GASNETC_CHECKING && gasnete_barrier_inside(&gasnete_barrier_job))
        gasneti_fatal("%s is called between gasnet_barrier_notify and gasnet_barrier_wait",
                      call->name);
    if (call->kind != GASNETE_COLL_REDUCE) return;
    gasnete_coll_check_function(call->name, call->function);
    if (call->unit == 0) gasneti_fatal("%s is called with elements of 0 bytes", call->name);
}

/* --- all calls of an operation --- */

/* The description of a call that a rank sends to the next one.  */
typedef struct checks_told {
    uint32_t digest, kind, root;
    size_t nbytes;
} checks_told_t;

static uint32_t checks_digest(const gasnete_coll_call_t *call)
{
    const uint64_t words[] = {call->kind,
                              (uint32_t)call->flags & ~(uint32_t)GASNET_COLL_AGGREGATE,
                              call->root,
                              call->nbytes,
                              call->unit,
                              (uint32_t)call->function,
                              (uint32_t)call->argument};
    const uint64_t digest = gasneti_fnv(GASNETI_FNV_START, words, sizeof words);
    return (uint32_t)(digest >> 32 ^ digest);
}

static checks_told_t checks_tell(const gasnete_coll_call_t *call)
{
    return (checks_told_t){checks_digest(call), call->kind, call->root, call->nbytes};
}

/* The kind is of a message, and may be any number; a barrier is the one of gasnet_coll_init. */
static const char *checks_kind(uint32_t kind)
{
    if (kind == GASNETE_COLL_BARRIER) return "gasnet_coll_init";
    return kind < GASNETE_COLL_KINDS ? gasnete_coll_kind_name[kind] : "an unknown operation";
}

static void checks_compare(const gasnete_coll_key_t *key, const checks_told_t *mine,
                           const checks_told_t *theirs)
{
    if (mine->digest == theirs->digest) return;
    gasneti_fatal("collective %u of team %u differs between ranks: rank %u calls %s of %zu bytes "
                  "with root %u, rank %u calls %s of %zu bytes with root %u; if these are equal, "
                  "the flags, the element size, the function or its argument (of gasnet_coll_init: "
                  "the images or the functions) differ",
                  key->number, key->team, (unsigned)gasnetc_job.rank, checks_kind(mine->kind),
                  mine->nbytes, mine->root, key->peer, checks_kind(theirs->kind), theirs->nbytes,
                  theirs->root);
}

void gasnete_coll_check_same(const gasnete_coll_call_t *mine, const gasnete_coll_op_t *op)
{
    if (checks_digest(mine) == checks_digest(&op->call)) return;
    gasneti_fatal("collective %u of team %u differs between images of this rank: one calls %s of "
                  "%zu bytes with root %u and flags 0x%x, another %s of %zu bytes with root %u and "
                  "flags 0x%x",
                  op->number, op->call.team->id, op->call.name, op->call.nbytes,
                  (unsigned)op->call.root, (unsigned)op->call.flags, mine->name, mine->nbytes,
                  (unsigned)mine->root, (unsigned)mine->flags);
}

/* Called with the own call's description and with the one received: the first call of the two keeps
 * its description, the second compares.  */
static void checks_meet(gasnete_coll_key_t key, const checks_told_t *told, bool mine)
{
    checks_told_t first;
    key.tag = UINT32_MAX;
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item = gasnete_coll_match_find(&gasnete_coll_match, &key);
    bool second = item != NULL;
    if (second && (item->state != GASNETE_COLL_CHECK || item->slot == mine))
        gasnete_coll_message_bad(&key, 0, "tag (a check, or sent twice)");
    const char *wrong =
        second || mine ? NULL : gasnete_coll_team_wrong(key.team, (gasnet_node_t)key.peer);
    if (wrong) gasnete_coll_message_bad(&key, 0, wrong);
    if (second) {
        memcpy(&first, item->copy, sizeof first);
        if (!mine) gasnete_coll_team_find(key.team)->unchecked--;
        gasnete_coll_match_remove(&gasnete_coll_match, item);
        gasnete_coll_item_free(item);
    } else {
        item = gasnete_coll_item_new();
        item->key = key;
        item->state = GASNETE_COLL_CHECK;
        item->slot = mine;
        if (mine) gasnete_coll_team_find(key.team)->unchecked++;
        memcpy(item->copy, told, sizeof *told);
        gasnete_coll_match_insert(&gasnete_coll_match, item);
    }
    gasneti_unlock(&gasnete_coll_lock);
    if (second) checks_compare(&key, mine ? told : &first, mine ? &first : told);
}

void gasnete_coll_check_peers(const gasnete_coll_op_t *op)
{
    const gasnete_team_t *team = op->call.team;
    if (team->size == 1) return;
    const uint32_t next = (team->rank + 1) % team->size;
    const uint32_t previous = (team->rank + team->size - 1) % team->size;
    const checks_told_t mine = checks_tell(&op->call);
    const gasnete_coll_key_t key = {team->id, op->number, 0, gasnete_coll_node_of(team, previous)};
    checks_meet(key, &mine, true);
    gasnetc_AMRequestShort(
        gasnete_coll_node_of(team, next), GASNETE_H_COLL_CHECK,
        GASNETE_ARGS((gasnet_handlerarg_t)key.team, (gasnet_handlerarg_t)key.number,
                     (gasnet_handlerarg_t)mine.digest, (gasnet_handlerarg_t)mine.kind,
                     (gasnet_handlerarg_t)mine.root, GASNETE_WORD(mine.nbytes)));
}

static uint32_t checks_awaited(const gasnete_team_t *team)
{
    gasneti_lock(&gasnete_coll_lock);
    const uint32_t awaited = team->unchecked + team->plain->unchecked;
    gasneti_unlock(&gasnete_coll_lock);
    return awaited;
}

void gasnete_coll_await_checks(const gasnete_team_t *team)
{
    gasneti_trace_wait(checks_awaited(team) == 0, .kind = GASNETI_TRACE_coll_wait);
}

void gasnete_coll_check_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                                gasnet_handlerarg_t number, gasnet_handlerarg_t digest,
                                gasnet_handlerarg_t kind, gasnet_handlerarg_t root,
                                gasnet_handlerarg_t nbytes_high, gasnet_handlerarg_t nbytes_low)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(token, &from);
    const gasnete_coll_key_t key = {(uint32_t)team, (uint32_t)number, 0, from};
    const checks_told_t theirs = {(uint32_t)digest, (uint32_t)kind, (uint32_t)root,
                                  (size_t)(uintptr_t)gasnete_pointer(nbytes_high, nbytes_low)};
    checks_meet(key, &theirs, false);
}
