/*
 * operation.c - records of operations: the events that each waits for, and the events that it
 * logs.
 *
 * The initiator's part of the protocol.  SEND_END is always logged before the ACK of the same put,
 * whichever the network reports first.  Every path decrements the pending counts again.
 */
#include <stdlib.h>

#include "other/portals3/src/engine/engine.h"

struct ptli_operation *ptli_operation_take(struct ptli_engine *engine, enum ptli_role role,
                                           struct ptli_peer *peer)
{
    struct ptli_operation *operation = ptli_pool_take(&engine->operations);
    if (!operation) return NULL;
    operation->role = role;
    operation->peer = peer;
    return operation;
}

void ptli_operation_give(struct ptli_engine *engine, struct ptli_operation *operation)
{
    free(operation->more);
    operation->more = NULL;
    ptli_pool_give(&engine->operations, &operation->slot);
}

struct ptli_operation *ptli_operation_find(struct ptli_engine *engine, uint64_t id,
                                           const struct ptli_peer *peer)
{
    struct ptli_operation *operation = ptli_pool_at(&engine->operations, (uint32_t)id);
    if (!operation || atomic_load(&operation->slot.handle) == PTL_INVALID_HANDLE) return NULL;
    if (operation->slot.serial != (uint32_t)(id >> 32) || operation->peer != peer) return NULL;
    if (operation->role > PTLI_ROLE_GETPUT || !(operation->waits & PTLI_WAITS_ANSWER)) return NULL;
    return operation;
}

/* --- the initiator's events --- */

static void send_end(struct ptli_engine *engine, struct ptli_operation *operation)
{
    operation->info.fail = operation->status == PTLI_OK ? PTL_NI_OK : PTL_NI_FAIL;
    operation->failure_logged =
        operation->status != PTLI_OK && !(operation->md->user.options & PTL_MD_EVENT_END_DISABLE);
    ptli_log(engine, operation->md, PTL_EVENT_SEND_END, &operation->info);
    ptli_md_release(engine, operation->md, &operation->info);
    operation->md = NULL;
}

/* The data of an answer's events, taken from the record of the request.  The offset of an ACK is
 * the requested remote one, that of a reply the local destination; the reference library sets
 * neither.  */
static struct ptli_event_info operation_answer_info(const struct ptli_operation *operation,
                                                    ptl_size_t mlength, ptl_size_t offset)
{
    struct ptli_event_info info = operation->info;
    info.initiator = operation->peer->id;
    info.uid = operation->peer->uid;
    info.jid = operation->peer->jid;
    info.hdr_data = 0;
    info.mlength = mlength;
    info.offset = offset;
    info.fail = operation->status == PTLI_OK ? PTL_NI_OK : PTL_NI_FAIL;
    return info;
}

/* Logs the ACK, if the source MD still exists: it may have been unlinked, or its last operation may
 * have made it inactive.  */
static void operation_ack(struct ptli_engine *engine, struct ptli_operation *operation)
{
    struct ptli_md *md = ptli_pool_find(&engine->mds, operation->md_handle);
    const struct ptli_event_info info = operation_answer_info(
        operation, operation->status == PTLI_OK ? operation->answer_length : 0,
        operation->message.header.remote_offset);
    if (!md || md->slot.serial != operation->md_serial || md->rules.inactive || !md->eq) {
        ptli_drop(engine, operation->peer->id, 0, "an ACK for an MD that no longer takes it");
        return;
    }
    if (info.fail == PTL_NI_OK) engine->recv_count++;
    ptli_md_count(md);
    ptli_log(engine, md, PTL_EVENT_ACK, &info);
    ptli_md_settle(engine, md, &info);
}

/* For a put with ACK one event reports the result: the ACK, or a failed SEND_END.  */
static void advance_put(struct ptli_engine *engine, struct ptli_operation *operation)
{
    bool answered = !(operation->waits & PTLI_WAITS_ANSWER);
    if (operation->waits & (PTLI_WAITS_MESSAGE | PTLI_WAITS_TRANSFER)) return;
    if (operation->md && (answered || !operation->is_long)) send_end(engine, operation);
    if (!answered) return;
    if (operation->status == PTLI_OK ? operation->answer == PTLI_ACK
                                     : operation->asks_ack && !operation->failure_logged)
        operation_ack(engine, operation);
    ptli_operation_give(engine, operation);
}

static struct ptli_md **operation_destination(struct ptli_operation *operation)
{
    return operation->role == PTLI_ROLE_GETPUT ? &operation->get_md : &operation->md;
}

static ptl_size_t operation_landing(const struct ptli_operation *operation)
{
    return operation->role == PTLI_ROLE_GETPUT ? operation->get_offset : operation->info.offset;
}

/* SEND_END of a get, with PTL_CRAY_GETS.  */
static void get_sent(struct ptli_engine *engine, struct ptli_operation *operation)
{
    if (!operation->counts_send) return;
    operation->counts_send = false;
    if (operation->md) ptli_log(engine, operation->md, PTL_EVENT_SEND_END, &operation->info);
}

/* Begins the reception of a reply; false if the MD no longer accepts it.  */
static bool reply_start(struct ptli_engine *engine, struct ptli_operation *operation,
                        const struct ptli_event_info *info)
{
    struct ptli_md *md = *operation_destination(operation);
    get_sent(engine, operation); /* the reply may precede the report of SEND_END */
    if (md->rules.inactive) {
        ptli_drop(engine, operation->peer->id, info->mlength, "a reply for an inactive MD");
        return false;
    }
    engine->recv_count++;
    engine->recv_length += info->mlength;
    ptli_md_count(md);
    ptli_log(engine, md, PTL_EVENT_REPLY_START, info);
    return true;
}

static void reply_end(struct ptli_engine *engine, struct ptli_operation *operation,
                      const struct ptli_event_info *info, bool taken)
{
    struct ptli_md **md = operation_destination(operation);
    if (taken) ptli_log(engine, *md, PTL_EVENT_REPLY_END, info);
    ptli_md_release(engine, *md, info);
    *md = NULL;
}

static void advance_get(struct ptli_engine *engine, struct ptli_operation *operation)
{
    if (!(operation->waits & PTLI_WAITS_MESSAGE)) get_sent(engine, operation);
    if (operation->role == PTLI_ROLE_GETPUT && operation->md &&
        !(operation->waits & PTLI_WAITS_MESSAGE))
        send_end(engine, operation);
    if (operation->waits) return;
    if (*operation_destination(operation)) {
        /* A get that the target dropped ends without an event; a failure is logged.  */
        bool failed = operation->status != PTLI_OK;
        const struct ptli_event_info info =
            operation_answer_info(operation, 0, operation_landing(operation));
        if (failed) ptli_md_count(*operation_destination(operation));
        reply_end(engine, operation, &info, failed);
    }
    ptli_operation_give(engine, operation);
}

/* --- the target's events --- */

static void advance_giving(struct ptli_engine *engine, struct ptli_operation *operation)
{
    if (operation->waits) return;
    operation->info.fail = operation->status == PTLI_OK ? PTL_NI_OK : PTL_NI_FAIL;
    if (operation->md) ptli_match_end(engine, operation->md, operation->kind, &operation->info);
    ptli_operation_give(engine, operation);
}

void ptli_operation_advance(struct ptli_engine *engine, struct ptli_operation *operation)
{
    switch (operation->role) {
    case PTLI_ROLE_PUT:
        advance_put(engine, operation);
        return;
    case PTLI_ROLE_GET:
    case PTLI_ROLE_GETPUT:
        advance_get(engine, operation);
        return;
    case PTLI_ROLE_TAKING:
    case PTLI_ROLE_GIVING:
    case PTLI_ROLE_ANSWER:
        advance_giving(engine, operation);
        return;
    }
}

/* --- reports of the transport --- */

static void operation_end(struct ptli_engine *engine, struct ptli_operation *operation,
                          unsigned int waits, enum ptli_status status)
{
    operation->waits &= ~waits;
    if (status != PTLI_OK) {
        operation->status = status;
        operation->waits &= ~(unsigned int)PTLI_WAITS_ANSWER; /* no answer will arrive */
    }
    ptli_operation_advance(engine, operation);
}

static inline void operation_release_md(struct ptli_engine *engine, bool up)
{
    if (up)
        ptli_unlock_up(engine);
    else
        ptli_unlock(engine);
}

void ptli_operation_send(struct ptli_engine *engine, struct ptli_operation *operation, bool up)
{
    struct ptli_transport *transport = engine->transport;
    enum ptli_sent sent = transport->ops->send(transport, operation->peer, &operation->message);
    if (sent == PTLI_QUEUED) return; /* the record may have been freed by now */
    ptli_lock(engine);
    operation_end(engine, operation, PTLI_WAITS_MESSAGE, sent == PTLI_SENT ? PTLI_OK : PTLI_FAILED);
    operation_release_md(engine, up);
}

void ptli_operation_transfer(struct ptli_engine *engine, struct ptli_operation *operation, bool up)
{
    struct ptli_transport *transport = engine->transport;
    enum ptli_sent sent =
        transport->ops->transfer(transport, operation->peer, &operation->transfer);
    if (sent == PTLI_QUEUED) return;
    ptli_lock(engine);
    operation_end(engine, operation, PTLI_WAITS_TRANSFER | PTLI_WAITS_MESSAGE, PTLI_FAILED);
    operation_release_md(engine, up);
}

void ptli_message_sent(struct ptli_engine *engine, struct ptli_message *message,
                       enum ptli_status status)
{
    struct ptli_operation *operation =
        (struct ptli_operation *)((char *)message - offsetof(struct ptli_operation, message));
    ptli_lock(engine);
    operation_end(engine, operation, PTLI_WAITS_MESSAGE, status);
    ptli_unlock_up(engine);
}

/* The data of a long put were read: logs END, then sends the answer with the same record.  */
static void operation_put_read(struct ptli_engine *engine, struct ptli_operation *operation,
                               enum ptli_status status)
{
    operation->info.fail = status == PTLI_OK ? PTL_NI_OK : PTL_NI_FAIL;
    ptli_match_end(engine, operation->md, operation->kind, &operation->info);
    operation->md = NULL;
    operation->role = PTLI_ROLE_ANSWER;
    operation->waits = status == PTLI_OK ? PTLI_WAITS_MESSAGE : 0;
    if (status != PTLI_OK) ptli_operation_give(engine, operation);
}

/* An RDMA read of the fast path is complete.  */
static void operation_get_written(struct ptli_engine *engine, struct ptli_operation *operation)
{
    const struct ptli_event_info info =
        operation_answer_info(operation, operation->info.rlength, operation_landing(operation));
    reply_end(engine, operation, &info, reply_start(engine, operation, &info));
}

void ptli_transferred(struct ptli_engine *engine, struct ptli_transfer *transfer,
                      enum ptli_status status)
{
    struct ptli_operation *operation =
        (struct ptli_operation *)((char *)transfer - offsetof(struct ptli_operation, transfer));
    bool answer = false;
    ptli_lock(engine);
    if (operation->role == PTLI_ROLE_TAKING) {
        answer = status == PTLI_OK;
        operation_put_read(engine, operation, status);
    } else {
        if (operation->fast && status == PTLI_OK)
            ++*(operation->role == PTLI_ROLE_GET ? &engine->fast_gets : &engine->fast_puts);
        if (operation->role == PTLI_ROLE_GET && status == PTLI_OK)
            operation_get_written(engine, operation);
        operation_end(engine, operation, PTLI_WAITS_TRANSFER, status);
    }
    ptli_unlock_up(engine);
    if (answer) ptli_operation_send(engine, operation, true);
}

void ptli_answered(struct ptli_engine *engine, struct ptli_operation *operation, uint8_t answer,
                   ptl_size_t length)
{
    operation->answer = answer == PTLI_ACK && operation->asks_ack ? PTLI_ACK : PTLI_DONE;
    operation->answer_length = length < operation->info.rlength ? length : operation->info.rlength;
    operation_end(engine, operation, PTLI_WAITS_ANSWER, PTLI_OK);
}

/* With the lock, which is released while the data are copied.  */
void ptli_reply(struct ptli_engine *engine, struct ptli_operation *operation,
                const struct ptli_header *header, const void *data)
{
    struct ptli_event_info info =
        operation_answer_info(operation, header->length, operation_landing(operation));
    bool taken = header->length <= operation->info.rlength &&
                 (operation->is_long || !(header->flags & PTLI_PLACED));
    if (!taken) {
        ptli_drop(engine, operation->peer->id, header->length, "a reply that was not asked for");
        operation_end(engine, operation, PTLI_WAITS_ANSWER, PTLI_FAILED);
        return;
    }
    operation->waits = (operation->waits & ~(unsigned int)PTLI_WAITS_ANSWER) | PTLI_WAITS_COPY;
    taken = reply_start(engine, operation, &info);
    if (taken && header->data_length > 0) {
        const struct ptli_span span =
            ptli_md_span(*operation_destination(operation), info.offset, info.mlength);
        ptli_mutex_unlock(&engine->lock);
        ptli_span_write(&span, data);
        ptli_lock(engine);
    }
    reply_end(engine, operation, &info, taken);
    operation_end(engine, operation, PTLI_WAITS_COPY, PTLI_OK);
}

/* An answer counts from before its request is matched, so before the END event is visible.  */
uint32_t ptli_operations_unanswered(const struct ptli_engine *engine)
{
    uint32_t unanswered = 0;
    for (uint32_t i = 0; i < engine->operations.made; i++) {
        const struct ptli_operation *operation = ptli_pool_at(&engine->operations, i);
        if (atomic_load(&operation->slot.handle) == PTL_INVALID_HANDLE) continue;
        unanswered += operation->role == PTLI_ROLE_ANSWER;
    }
    return unanswered;
}

void ptli_peer_failed(struct ptli_engine *engine, struct ptli_peer *peer)
{
    ptli_lock(engine);
    for (uint32_t i = 0; i < engine->operations.made; i++) {
        struct ptli_operation *operation = ptli_pool_at(&engine->operations, i);
        if (atomic_load(&operation->slot.handle) == PTL_INVALID_HANDLE) continue;
        if (operation->peer == peer && operation->waits & PTLI_WAITS_ANSWER)
            operation_end(engine, operation, PTLI_WAITS_ANSWER, PTLI_FAILED);
    }
    ptli_unlock_up(engine);
}
