/*
 * initiate.c - puts, gets and getputs: checks the arguments and chooses the path of the operation.
 *
 * PtlPut and PtlGet are in fast_put_get.c, which does the simplest operations itself.
 *
 * An operation on the own process goes to self.c; one on memory that the target has published is
 * an RDMA operation.  Any other is a message, which contains short data, or the address of long
 * data.
 */
#include <stdlib.h>

#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/engine/engine.h"

/* The peer, or engine->self for this process; or NULL and an error.  */
static struct ptli_peer *find_peer(struct ptli_engine *engine, ptl_process_id_t target, int *result)
{
    const ptl_process_id_t self = engine->self.id;
    struct ptli_peer *peer;
    *result = PTL_PROCESS_INVALID;
    if (target.nid == PTL_NID_ANY || target.pid == PTL_PID_ANY) return NULL;
    peer = target.nid == self.nid && target.pid == self.pid
               ? &engine->self
               : engine->transport->ops->find(engine->transport, target);
    if (peer) *result = PTL_OK;
    return peer;
}

/* The local MD.  PTL_MD_INVALID for an inactive one, like the code (not the comments) of the
 * reference library: PTL_OK without a transfer would lose data silently.  */
static int local_side(struct ptli_engine *engine, ptl_handle_md_t handle, struct ptli_asked *asked,
                      struct ptli_md **md)
{
    *md = ptli_pool_find(&engine->mds, handle);
    if (!*md || (*md)->rules.inactive) return PTL_MD_INVALID;
    if (asked->whole) {
        asked->offset = 0;
        asked->length = (*md)->rules.length;
    }
    if (asked->offset > (*md)->rules.length || asked->length > (*md)->rules.length - asked->offset)
        return PTL_MD_ILLEGAL;
    return PTL_OK;
}

static void initiate_fill(struct ptli_engine *engine, struct ptli_operation *operation,
                          const struct ptli_asked *asked, uint8_t type)
{
    struct ptli_transport *transport = engine->transport;
    operation->info = (struct ptli_event_info){.initiator = transport->id,
                                               .uid = transport->uid,
                                               .jid = transport->jid,
                                               .pt_index = asked->pt,
                                               .match_bits = asked->match_bits,
                                               .hdr_data = asked->hdr_data,
                                               .rlength = asked->length,
                                               .mlength = asked->length,
                                               .offset = asked->offset,
                                               .link = engine->next_link++};
    operation->message.header = (struct ptli_header){.type = type,
                                                     .source = transport->id,
                                                     .destination = asked->target,
                                                     .uid = transport->uid,
                                                     .jid = transport->jid,
                                                     .pt_index = asked->pt,
                                                     .ac_index = asked->ac,
                                                     .operation = ptli_operation_id(operation),
                                                     .match_bits = asked->match_bits,
                                                     .hdr_data = asked->hdr_data,
                                                     .length = asked->length,
                                                     .remote_offset = asked->remote_offset};
    engine->send_count++;
    engine->send_length += type == PTLI_GET ? 0 : asked->length;
}

/* PtlFailNid: true if this operation is to fail.  */
static bool initiate_injected(struct ptli_engine *engine, ptl_process_id_t target)
{
    if (engine->fail_left == 0) return false;
    if (engine->fail_nid != PTL_NID_ANY && engine->fail_nid != target.nid) return false;
    if (engine->fail_left != ~0u && --engine->fail_left == 0) ptli_fast_ways(engine);
    return true;
}

/* Ends an operation that was not sent.  With the lock.  */
static void initiate_fail(struct ptli_engine *engine, struct ptli_operation *operation)
{
    operation->status = PTLI_FAILED;
    operation->waits = 0;
    ptli_operation_advance(engine, operation);
}

/* Adds the remote list of the local memory to a long request.  False: the list is too long, or out
 * of memory.  */
static bool make_long(struct ptli_engine *engine, struct ptli_operation *operation,
                      const struct ptli_md *md)
{
    struct ptli_message *message = &operation->message;
    const ptl_size_t offset = operation->info.offset, length = operation->info.rlength;
    unsigned char *list = operation->small;
    uint32_t size = ptli_md_remotes(md, offset, length, NULL);
    if (size > engine->transport->eager_limit) return false;
    if (size > sizeof operation->small && !(list = operation->more = malloc(size))) return false;
    ptli_md_remotes(md, offset, length, list);
    operation->is_long = true;
    operation->bytes = (struct ptli_piece){(char *)list, size, NULL};
    message->header.flags |= PTLI_LONG;
    message->header.data_length = size;
    message->data = (struct ptli_span){&operation->bytes, 1, 0, size};
    return true;
}

/* --- the fast path --- */

/* Starts an RDMA operation if the target has published the memory that the request would match.
 * Without the lock; false: it has not.  */
static bool initiate_fast(struct ptli_engine *engine, struct ptli_operation *operation, bool is_put)
{
    struct ptli_transport *transport = engine->transport;
    const struct ptli_header *header = &operation->message.header;
    struct ptli_transfer *transfer = &operation->transfer;
    const struct ptli_published_entry *entry;
    struct ptli_published_hold *hold;
    if (header->length == 0 || header->length > PTLI_REMOTE_MAX) return false;
    hold = transport->ops->published_hold(transport, operation->peer, header->pt_index);
    if (!hold) return false;
    entry = ptli_published_find(&hold->published, is_put ? PTLI_PUBLISHED_PUT : PTLI_PUBLISHED_GET,
                                header->ac_index, header->match_bits, header->remote_offset,
                                header->length);
    if (!entry) {
        transport->ops->published_release(transport, hold);
        return false;
    }
    operation->fast = true;
    operation->waits = PTLI_WAITS_TRANSFER;
    if (operation->asks_ack) {
        operation->answer = entry->flags & PTLI_PUBLISHED_NO_ACK ? PTLI_DONE : PTLI_ACK;
        operation->answer_length = header->length;
    }
    operation->remotes[0] = (struct ptli_remote){entry->address + header->remote_offset, entry->key,
                                                 (uint32_t)header->length};
    transfer->write = is_put;
    transfer->local = ptli_md_span(operation->md, operation->info.offset, header->length);
    transfer->remote = operation->remotes;
    transfer->remote_count = 1;
    transfer->hold = hold;
    ptli_operation_transfer(engine, operation, false);
    return true;
}

/* --- put --- */

int ptli_put(struct ptli_asked *asked, ptl_ack_req_t ack)
{
    struct ptli_operation *operation;
    struct ptli_engine *engine;
    struct ptli_peer *peer;
    struct ptli_md *md;
    bool is_long, answered, failing;
    int result;
    if (!(engine = ptli_engine_of(asked->md, PTLI_MD, PTL_MD_INVALID, &result))) return result;
    peer = find_peer(engine, asked->target, &result);
    if (!peer) return result;
    ptli_lock(engine);
    result = local_side(engine, asked->md, asked, &md);
    operation = result == PTL_OK ? ptli_operation_take(engine, PTLI_ROLE_PUT, peer) : NULL;
    if (!operation) {
        ptli_unlock(engine);
        return result == PTL_OK ? PTL_NO_SPACE : result;
    }
    initiate_fill(engine, operation, asked, PTLI_PUT);
    is_long = peer != &engine->self && asked->length > engine->transport->eager_limit;
    if (is_long && !make_long(engine, operation, md)) {
        ptli_operation_give(engine, operation);
        ptli_unlock(engine);
        return PTL_NO_SPACE;
    }
    operation->md = md;
    operation->md_handle = asked->md;
    operation->md_serial = md->slot.serial;
    /* Without a queue the ACK would be discarded.  */
    operation->asks_ack = ack == PTL_ACK_REQ && md->eq;
    answered = operation->asks_ack || is_long;
    operation->waits = PTLI_WAITS_MESSAGE | (answered ? PTLI_WAITS_ANSWER : 0);
    ptli_md_hold(md);
    ptli_md_count(md);
    ptli_log(engine, md, PTL_EVENT_SEND_START, &operation->info);
    failing = peer != &engine->self && initiate_injected(engine, asked->target);
    if (failing) initiate_fail(engine, operation);
    ptli_unlock(engine);
    if (failing) return PTL_OK;
    if (peer == &engine->self) {
        ptli_self_put(engine, operation, &operation->message.header);
        return PTL_OK;
    }
    if (initiate_fast(engine, operation, true)) return PTL_OK;
    if (answered) {
        operation->message.header.flags |= PTLI_ANSWER;
        if (operation->asks_ack) operation->message.header.flags |= PTLI_ASKS_ACK;
    }
    if (!is_long) {
        operation->message.header.data_length = (uint32_t)asked->length;
        operation->message.data = ptli_md_span(md, asked->offset, asked->length);
    }
    ptli_operation_send(engine, operation, false);
    return PTL_OK;
}

/* --- get --- */

int ptli_get(struct ptli_asked *asked)
{
    struct ptli_operation *operation;
    struct ptli_engine *engine;
    struct ptli_peer *peer;
    struct ptli_md *md;
    bool failing;
    int result;
    if (!(engine = ptli_engine_of(asked->md, PTLI_MD, PTL_MD_INVALID, &result))) return result;
    peer = find_peer(engine, asked->target, &result);
    if (!peer) return result;
    ptli_lock(engine);
    result = local_side(engine, asked->md, asked, &md);
    operation = result == PTL_OK ? ptli_operation_take(engine, PTLI_ROLE_GET, peer) : NULL;
    if (!operation) {
        ptli_unlock(engine);
        return result == PTL_OK ? PTL_NO_SPACE : result;
    }
    initiate_fill(engine, operation, asked, PTLI_GET);
    if (peer != &engine->self && asked->length > engine->transport->eager_limit &&
        !make_long(engine, operation, md)) {
        ptli_operation_give(engine, operation);
        ptli_unlock(engine);
        return PTL_NO_SPACE;
    }
    operation->md = md;
    operation->waits = PTLI_WAITS_MESSAGE | PTLI_WAITS_ANSWER;
    ptli_md_hold(md); /* until the reply: the network may write it to the memory */
    operation->counts_send = engine->cray_gets;
    if (operation->counts_send) {
        ptli_md_count(md);
        ptli_log(engine, md, PTL_EVENT_SEND_START, &operation->info);
    }
    failing = peer != &engine->self && initiate_injected(engine, asked->target);
    if (failing) initiate_fail(engine, operation);
    ptli_unlock(engine);
    if (failing) return PTL_OK;
    if (peer == &engine->self) {
        ptli_self_get(engine, operation, &operation->message.header);
        return PTL_OK;
    }
    if (!initiate_fast(engine, operation, false)) ptli_operation_send(engine, operation, false);
    return PTL_OK;
}

/* --- getput --- */

/* The length is that of put_md, as in the reference library; get_md must not be shorter.  */
static int initiate_getput(struct ptli_asked *asked, ptl_handle_md_t get_handle,
                           ptl_size_t get_offset)
{
    struct ptli_operation *operation = NULL;
    struct ptli_engine *engine;
    struct ptli_md *put_md, *get_md;
    struct ptli_peer *peer;
    bool failing;
    int result;
    if (!(engine = ptli_engine_of(get_handle, PTLI_MD, PTL_MD_INVALID, &result))) return result;
    if (!ptli_engine_of(asked->md, PTLI_MD, PTL_MD_INVALID, &result)) return result;
    if (ptli_interface_of(get_handle) != ptli_interface_of(asked->md)) return PTL_MD_ILLEGAL;
    peer = find_peer(engine, asked->target, &result);
    if (!peer) return result;
    ptli_lock(engine);
    result = local_side(engine, asked->md, asked, &put_md);
    if (result == PTL_OK) {
        struct ptli_asked back = *asked;
        back.whole = false;
        back.offset = get_offset;
        result = local_side(engine, get_handle, &back, &get_md);
    }
    if (result == PTL_OK && asked->length > (ptl_size_t)engine->limits.max_getput_md)
        result = PTL_MD_ILLEGAL;
    if (result == PTL_OK) {
        operation = ptli_operation_take(engine, PTLI_ROLE_GETPUT, peer);
        if (!operation) result = PTL_NO_SPACE;
    }
    if (result != PTL_OK) {
        ptli_unlock(engine);
        return result;
    }
    initiate_fill(engine, operation, asked, PTLI_GETPUT);
    operation->md = put_md;
    operation->get_md = get_md;
    operation->get_offset = get_offset;
    operation->waits = PTLI_WAITS_MESSAGE | PTLI_WAITS_ANSWER;
    operation->message.header.data_length = (uint32_t)asked->length;
    operation->message.data = ptli_md_span(put_md, asked->offset, asked->length);
    ptli_md_hold(put_md);
    ptli_md_hold(get_md);
    ptli_md_count(put_md);
    ptli_log(engine, put_md, PTL_EVENT_SEND_START, &operation->info);
    failing = peer != &engine->self && initiate_injected(engine, asked->target);
    if (failing) initiate_fail(engine, operation);
    ptli_unlock(engine);
    if (failing) return PTL_OK;
    if (peer == &engine->self)
        ptli_self_getput(engine, operation, &operation->message.header);
    else
        ptli_operation_send(engine, operation, false);
    return PTL_OK;
}

int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target,
              ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t match_bits,
              ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    struct ptli_asked asked = {put_md,        0,        0,   target, pt, ac, match_bits,
                               remote_offset, hdr_data, true};
    return initiate_getput(&asked, get_md, 0);
}

int PtlGetPutRegion(ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md,
                    ptl_size_t put_offset, ptl_size_t length, ptl_process_id_t target,
                    ptl_pt_index_t pt, ptl_ac_index_t ac, ptl_match_bits_t match_bits,
                    ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    struct ptli_asked asked = {put_md, put_offset, length,        target,   pt,
                               ac,     match_bits, remote_offset, hdr_data, false};
    return initiate_getput(&asked, get_md, get_offset);
}
