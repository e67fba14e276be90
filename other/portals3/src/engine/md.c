/*
 * md.c - memory descriptors: attach, bind, update, unlink, and automatic unlink.
 *
 * Registration may sleep, so memory is registered before the engine's lock is acquired and
 * deregistered after it is released; until then a freed descriptor is in the list engine->dead.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/engine/engine.h"

/* --- memory --- */

static void say_limit(int pieces, uint64_t length)
{
    static _Atomic bool said;
    struct rlimit limit;
    if (atomic_exchange(&said, true) || getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
    if (limit.rlim_cur == RLIM_INFINITY)
        fprintf(stderr,
                "libportals: the device cannot register %llu bytes in %d pieces of memory\n",
                (unsigned long long)length, pieces);
    else
        fprintf(stderr,
                "libportals: the device cannot register %llu bytes in %d pieces of memory; memory "
                "that may be "
                "locked is limited to %llu KB (ulimit -l)\n",
                (unsigned long long)length, pieces, (unsigned long long)limit.rlim_cur / 1024);
}

void ptli_regions_release(struct ptli_engine *engine, struct ptli_md *md)
{
    const struct ptli_transport_ops *ops = engine->transport->ops;
    for (uint32_t i = 0; i < md->count; i++)
        if (md->pieces[i].region) ops->expel(engine->transport, md->pieces[i].region);
    if (md->pieces != &md->one) free(md->pieces);
    md->pieces = &md->one;
    md->count = 0;
}

static bool md_wraps(const void *start, ptl_size_t length)
{
    return length > 0 && (!start || (uintptr_t)start + length < (uintptr_t)start);
}

/* The pieces of an iovec; false: an address range is invalid.  */
static bool md_gather(const ptl_md_iovec_t *iovec, struct ptli_md *draft, ptl_size_t *length)
{
    for (uint32_t i = 0; i < draft->count; i++) {
        const ptl_md_iovec_t *piece = &iovec[i];
        if (md_wraps(piece->iov_base, piece->iov_len) || *length + piece->iov_len < *length)
            return false;
        draft->pieces[i] = (struct ptli_piece){piece->iov_base, piece->iov_len, NULL};
        *length += piece->iov_len;
    }
    return true;
}

/* The pieces that `user` describes, not registered yet; none on failure.  */
static int md_describe(struct ptli_engine *engine, const ptl_md_t *user, struct ptli_md *draft)
{
    struct ptli_piece *pieces = NULL;
    ptl_size_t length = 0;
    draft->pieces = &draft->one;
    draft->count = 0;
    if (user->threshold < 0 && user->threshold != PTL_MD_THRESH_INF) return PTL_MD_ILLEGAL;
    if (!(user->options & PTL_MD_IOVEC)) {
        if (md_wraps(user->start, user->length)) return PTL_MD_ILLEGAL;
        draft->one = (struct ptli_piece){user->start, user->length, NULL};
        draft->count = 1;
        length = user->length;
    } else {
        if (user->length > (ptl_size_t)engine->limits.max_md_iovecs) return PTL_MD_ILLEGAL;
        if (user->length > 0 && !user->start) return PTL_MD_ILLEGAL;
        if (user->length > 1 && !(pieces = calloc(user->length, sizeof *pieces)))
            return PTL_NO_SPACE;
        draft->count = (uint32_t)user->length;
        if (pieces) draft->pieces = pieces;
        if (!md_gather(user->start, draft, &length)) {
            ptli_regions_release(engine, draft);
            return PTL_MD_ILLEGAL;
        }
    }
    draft->user = *user;
    draft->rules = ptli_rules_of(user, length);
    return PTL_OK;
}

/* Describes and registers; on failure no memory is left registered or allocated.  errno EFAULT: the
 * memory is not mapped, or no device can access it. */
static int md_prepare(struct ptli_engine *engine, const ptl_md_t *user, struct ptli_md *draft)
{
    const struct ptli_transport_ops *ops = engine->transport->ops;
    int result = md_describe(engine, user, draft);
    if (result != PTL_OK) return result;
    for (uint32_t i = 0; i < draft->count; i++) {
        struct ptli_piece *piece = &draft->pieces[i];
        if (piece->length == 0) continue;
        result = ops->enroll(engine->transport, piece->base, piece->length, &piece->region);
        if (result != PTL_OK) {
            const int error = errno;
            piece->region = NULL;
            if (error != EFAULT) say_limit((int)draft->count, draft->rules.length);
            ptli_regions_release(engine, draft);
            errno = error;
            return result;
        }
    }
    return PTL_OK;
}

/* With the queue of an MD that is described.  */
static void md_set_queue(struct ptli_md *md, struct ptli_eq *eq)
{
    const unsigned int options = md->user.options;
    md->eq = eq;
    md->brief = options & PTL_MD_OP_PUT && options & PTL_MD_EVENT_START_DISABLE &&
                !(options & PTL_MD_EVENT_END_DISABLE) && md->count == 1 && eq && !eq->handler &&
                md->rules.threshold == PTL_MD_THRESH_INF;
    if (eq) eq->users++;
}

/* Moves the prepared pieces to the MD.  */
static void settle_in(struct ptli_md *md, struct ptli_md *draft)
{
    md->user = draft->user;
    md->rules = draft->rules;
    md->one = draft->one;
    md->pieces = draft->pieces == &draft->one ? &md->one : draft->pieces;
    md->count = draft->count;
}

uint32_t ptli_md_remotes(const struct ptli_md *md, ptl_size_t offset, ptl_size_t length,
                         unsigned char *to)
{
    const struct ptli_span span = ptli_md_span(md, offset, length);
    struct ptli_cursor cursor;
    struct ptli_stretch stretch;
    uint32_t size = 0;
    ptli_cursor_start(&cursor, &span);
    while ((stretch = ptli_cursor_next(&cursor, PTLI_REMOTE_MAX)).length > 0) {
        const struct ptli_remote remote = {(uintptr_t)stretch.base, stretch.region->key,
                                           (uint32_t)stretch.length};
        if (to) ptli_wire_encode_remote(&remote, to + size);
        size += PTLI_REMOTE_SIZE;
    }
    return size;
}

/* --- making --- */

/* The queue of a handle in *eq, or an error.  With the lock.  */
static int queue_of(struct ptli_engine *engine, ptl_handle_eq_t handle, struct ptli_eq **eq)
{
    int ignored;
    *eq = NULL;
    if (handle == PTL_EQ_NONE) return PTL_OK;
    *eq = ptli_pool_find(&engine->eqs, handle);
    if (*eq) return PTL_OK;
    /* A valid queue of another interface is another error.  */
    return ptli_engine_of(handle, PTLI_EQ, PTL_EQ_INVALID, &ignored) &&
                   ptli_interface_of(handle) != engine->interface
               ? PTL_MD_ILLEGAL
               : PTL_EQ_INVALID;
}

static int md_make(struct ptli_engine *engine, struct ptli_md *draft, bool unlink,
                   struct ptli_md **made)
{
    struct ptli_eq *eq;
    int result = queue_of(engine, draft->user.eq_handle, &eq);
    if (result != PTL_OK) return result;
    *made = ptli_pool_take(&engine->mds);
    if (!*made) return PTL_NO_SPACE;
    settle_in(*made, draft);
    (*made)->unlink = unlink;
    md_set_queue(*made, eq);
    ptli_fast_admit(engine, *made);
    return PTL_OK;
}

static void md_attach(struct ptli_engine *engine, struct ptli_me *me, struct ptli_md *md)
{
    md->me = me;
    me->md = md;
    me->entry.rules = &md->rules;
    ptli_list_changed(engine, me->pt_index);
}

/* The ME that is to get an MD, after its published lists are revoked; or an error.  With the lock.
 * */
static int free_me(struct ptli_engine *engine, ptl_handle_me_t handle, struct ptli_me **me)
{
    for (;;) {
        *me = ptli_pool_find(&engine->mes, handle);
        if (!*me) return PTL_ME_INVALID;
        if ((*me)->md) return PTL_ME_IN_USE;
        if (!engine->table[(*me)->pt_index].published) return PTL_OK;
        if (!ptli_withdraw(engine, (*me)->pt_index, PTLI_WITHDRAW_MS)) return PTL_FAIL;
    }
}

int PtlMDAttach(ptl_handle_me_t handle, ptl_md_t user, ptl_unlink_t unlink_op, ptl_handle_md_t *out)
{
    struct ptli_engine *engine;
    struct ptli_md draft = {.count = 0}, *md;
    struct ptli_me *me;
    int result;
    if (!(engine = ptli_engine_of(handle, PTLI_ME, PTL_ME_INVALID, &result))) return result;
    ptli_lock(engine);
    result = free_me(engine, handle, &me);
    ptli_unlock(engine);
    if (result != PTL_OK) return result;
    if ((result = md_prepare(engine, &user, &draft)) != PTL_OK) return result;
    ptli_lock(engine);
    result = free_me(engine, handle, &me);
    if (result == PTL_OK) result = md_make(engine, &draft, unlink_op == PTL_UNLINK, &md);
    if (result == PTL_OK) {
        md_attach(engine, me, md);
        if (out) *out = md->slot.handle;
    }
    ptli_unlock(engine);
    if (result != PTL_OK) ptli_regions_release(engine, &draft);
    return result;
}

int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t user, ptl_unlink_t unlink_op, ptl_handle_md_t *out)
{
    struct ptli_engine *engine;
    struct ptli_md draft = {.count = 0}, *md;
    int result;
    if (!out) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    if ((result = md_prepare(engine, &user, &draft)) != PTL_OK) return result;
    ptli_lock(engine);
    result = md_make(engine, &draft, unlink_op == PTL_UNLINK, &md);
    if (result == PTL_OK) *out = md->slot.handle;
    ptli_unlock(engine);
    if (result != PTL_OK) ptli_regions_release(engine, &draft);
    return result;
}

/* Insert, attach and test without releasing the lock, so that no message is matched between them.
 * */
static int md_post(struct ptli_engine *engine, ptl_handle_me_t base, ptl_handle_me_t me_handle,
                   struct ptli_md *draft, bool unlink, ptl_handle_eq_t testq, ptl_handle_md_t *out)
{
    struct ptli_eq *test = NULL;
    struct ptli_me *me;
    struct ptli_md *md;
    int result = free_me(engine, me_handle, &me);
    if (result == PTL_OK && !ptli_pool_find(&engine->mes, base)) result = PTL_ME_INVALID;
    if (result == PTL_OK) result = queue_of(engine, testq, &test);
    if (result == PTL_OK && test && !ptli_eq_quiet(test)) result = PTL_MD_NO_UPDATE;
    if (result == PTL_OK) result = md_make(engine, draft, unlink, &md);
    if (result != PTL_OK) return result;
    md_attach(engine, me, md);
    if (out) *out = md->slot.handle;
    return PTL_OK;
}

int PtlMEMDPost(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_process_id_t match_id,
                ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t me_unlink,
                ptl_ins_pos_t pos, ptl_md_t user, ptl_unlink_t md_unlink, ptl_handle_me_t *me,
                ptl_handle_md_t *md_handle, ptl_handle_eq_t testq)
{
    struct ptli_engine *engine;
    struct ptli_md draft = {.count = 0};
    int result;
    if (!me) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    /* No message matches an ME without MD, so it may be created first.  */
    result = PtlMEInsert(base, match_id, match_bits, ignore_bits, me_unlink, pos, me);
    if (result != PTL_OK) return result;
    result = md_prepare(engine, &user, &draft);
    if (result == PTL_OK) {
        ptli_lock(engine);
        result = md_post(engine, base, *me, &draft, md_unlink == PTL_UNLINK, testq, md_handle);
        ptli_unlock(engine);
        if (result != PTL_OK) ptli_regions_release(engine, &draft);
    }
    if (result != PTL_OK) {
        PtlMEUnlink(*me);
        *me = PTL_INVALID_HANDLE;
    }
    return result;
}

/* --- going --- */

void ptli_md_free(struct ptli_engine *engine, struct ptli_md *md)
{
    struct ptli_me *me = md->me;
    if (md->eq) md->eq->users--;
    md->eq = NULL;
    ptli_pool_kill(&md->slot);
    if (me) {
        me->md = NULL;
        me->entry.rules = NULL;
        md->me = NULL;
        if (me->unlink) ptli_me_free(engine, me);
    }
    md->next_dead = engine->dead;
    engine->dead = md;
}

void ptli_md_recycle(struct ptli_engine *engine, struct ptli_md *dead)
{
    ptli_pool_give(&engine->mds, &dead->slot);
}

/* UNLINK is the last event of an MD, after the END that caused it.  */
void ptli_md_settle(struct ptli_engine *engine, struct ptli_md *md,
                    const struct ptli_event_info *info)
{
    if (!md->unlink_due || md->pending > 0) return;
    if (ptli_debug & PTL_DEBUG_UNLINK)
        fprintf(stderr, "libportals: MD %#x unlinks itself\n", (unsigned int)md->slot.handle);
    ptli_log(engine, md, PTL_EVENT_UNLINK, info);
    ptli_md_free(engine, md);
}

void ptli_md_release(struct ptli_engine *engine, struct ptli_md *md,
                     const struct ptli_event_info *info)
{
    md->pending--;
    ptli_md_settle(engine, md, info);
}

int PtlMDUnlink(ptl_handle_md_t handle)
{
    struct ptli_engine *engine;
    struct ptli_md *md;
    int result;
    if (!(engine = ptli_engine_of(handle, PTLI_MD, PTL_MD_INVALID, &result))) return result;
    ptli_lock(engine);
    do {
        md = ptli_pool_find(&engine->mds, handle);
        result = !md ? PTL_MD_INVALID : md->pending > 0 ? PTL_MD_IN_USE : PTL_OK;
        if (result != PTL_OK || !md->published) break;
        if (!ptli_withdraw(engine, md->me->pt_index, PTLI_WITHDRAW_MS)) result = PTL_MD_IN_USE;
    } while (result == PTL_OK);
    if (result == PTL_OK && !ptli_fast_shut(engine, md)) result = PTL_MD_IN_USE;
    if (result == PTL_OK) {
        if (md->user.options & PTL_MD_EVENT_MANUAL_UNLINK_ENABLE) {
            const struct ptli_event_info info = {.initiator = engine->transport->id,
                                                 .uid = engine->transport->uid,
                                                 .jid = engine->transport->jid,
                                                 .pt_index = md->me ? md->me->pt_index : 0,
                                                 .link = engine->next_link++};
            ptli_log(engine, md, PTL_EVENT_UNLINK, &info);
        }
        if (md->me) ptli_list_changed(engine, md->me->pt_index);
        ptli_md_free(engine, md);
    }
    ptli_unlock(engine);
    return result;
}

/* --- updating --- */

/* With an iovec start and length describe the caller's array to be filled.  */
static void report_old(const struct ptli_md *md, ptl_md_t *old)
{
    ptl_md_iovec_t *to = old->options & PTL_MD_IOVEC ? old->start : NULL;
    ptl_size_t room = old->length;
    *old = md->user;
    old->threshold = md->rules.threshold;
    if (!(md->user.options & PTL_MD_IOVEC) || !to) return;
    for (ptl_size_t i = 0; i < room && i < md->count; i++)
        to[i] = (ptl_md_iovec_t){md->pieces[i].base, md->pieces[i].length};
    old->start = to;
}

/* Whether the MD may be replaced.  The standard does not mention pending operations: the update is
 * refused, as in the reference library, because they would end in memory that no longer belongs to
 * the MD.  */
static int may_update(struct ptli_engine *engine, struct ptli_md *md, const ptl_md_t *user,
                      ptl_handle_eq_t testq, struct ptli_eq **eq)
{
    struct ptli_eq *test;
    int result = queue_of(engine, testq, &test);
    if (result != PTL_OK) return result;
    if ((result = queue_of(engine, user->eq_handle, eq)) != PTL_OK) return result;
    if (md->pending > 0 || (test && !ptli_eq_quiet(test))) return PTL_MD_NO_UPDATE;
    return PTL_OK;
}

static void md_replace(struct ptli_engine *engine, struct ptli_md *md, struct ptli_md *draft,
                       struct ptli_eq *eq)
{
    struct ptli_md old = {.count = 0};
    settle_in(&old, md);
    settle_in(md, draft);
    settle_in(draft, &old); /* the caller releases the old pieces */
    if (md->eq) md->eq->users--;
    md_set_queue(md, eq);
    ptli_fast_admit(engine, md);
    md->unlink_due = false;
    if (md->me) ptli_list_changed(engine, md->me->pt_index);
}

int PtlMDUpdate(ptl_handle_md_t handle, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t testq)
{
    struct ptli_engine *engine;
    struct ptli_md draft = {.count = 0}, *md;
    struct ptli_eq *eq;
    int result, prepared = PTL_OK;
    if (!(engine = ptli_engine_of(handle, PTLI_MD, PTL_MD_INVALID, &result))) return result;
    draft.pieces = &draft.one;
    if (new_md) prepared = md_prepare(engine, new_md, &draft);
    ptli_lock(engine);
    for (;;) {
        md = ptli_pool_find(&engine->mds, handle);
        result = !md ? PTL_MD_INVALID : prepared;
        if (md && old_md) {
            report_old(md, old_md);
            old_md = NULL;
        }
        if (result != PTL_OK || !new_md) break;
        result = may_update(engine, md, new_md, testq, &eq);
        if (result != PTL_OK || !md->me || !engine->table[md->me->pt_index].published) break;
        if (!ptli_withdraw(engine, md->me->pt_index, PTLI_WITHDRAW_MS)) {
            result = PTL_MD_NO_UPDATE;
            break;
        }
    }
    if (result == PTL_OK && new_md && !ptli_fast_shut(engine, md)) result = PTL_MD_NO_UPDATE;
    if (result == PTL_OK && new_md) md_replace(engine, md, &draft, eq);
    ptli_unlock(engine);
    ptli_regions_release(engine, &draft);
    return result;
}
