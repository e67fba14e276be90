/*
 * deliver.c - the target of operations: checks, matches, executes and answers requests; passes
 * answers to their operation.
 *
 * Called by transports, in the order of arrival per peer; self.c calls the matching.  It never
 * waits: a request for which no memory is left is refused before any state is changed, and the
 * transport delivers it again later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/engine/engine.h"

_Atomic unsigned int ptli_debug;

void ptli_drop(struct ptli_engine *engine, ptl_process_id_t from, ptl_size_t length,
               const char *why)
{
    engine->drop_count++;
    engine->drop_length += length;
    if (ptli_debug & PTL_DEBUG_DROP)
        fprintf(stderr,
                "libportals: process %u of node %#x: dropped %llu bytes from process %u of "
                "node %#x: %s\n",
                engine->transport->id.pid, engine->transport->id.nid, (unsigned long long)length,
                from.pid, from.nid, why);
}

void ptli_malformed(struct ptli_engine *engine, struct ptli_peer *peer, const char *what)
{
    static const ptl_process_id_t unknown = {PTL_NID_ANY, PTL_PID_ANY};
    ptli_lock(engine);
    ptli_drop(engine, peer ? peer->id : unknown, 0, what);
    ptli_unlock_up(engine);
    if (ptli_debug & PTL_DEBUG_WIRE) fprintf(stderr, "libportals: malformed message: %s\n", what);
}

/* --- matching --- */

static inline unsigned int deliver_needs_record(uint8_t type)
{
    return type == PTLI_PUT   ? PTL_MD_OP_PUT
           : type == PTLI_GET ? PTL_MD_OP_GET
                              : PTL_MD_OP_PUT | PTL_MD_OP_GET;
}

ptl_event_kind_t ptli_end_kind(uint8_t type)
{
    return type == PTLI_PUT   ? PTL_EVENT_PUT_END
           : type == PTLI_GET ? PTL_EVENT_GET_END
                              : PTL_EVENT_GETPUT_END;
}

/* The reason why a request cannot be for this process, or NULL.  */
static const char *deliver_refusal(struct ptli_engine *engine, const struct ptli_header *header,
                                   ptl_uid_t uid, ptl_jid_t jid)
{
    const ptl_process_id_t self = engine->transport->id;
    if (header->destination.nid != self.nid || header->destination.pid != self.pid)
        return "it is for another process";
    if (header->pt_index > (ptl_pt_index_t)engine->limits.max_pt_index)
        return "there is no such table entry";
    if (header->ac_index > (ptl_ac_index_t)engine->limits.max_ac_index)
        return "there is no such access entry";
    if (header->type == PTLI_GETPUT && header->length > PTLI_MAX_GETPUT)
        return "a getput longer than can be";
    if (!ptli_access_fits(engine, header->ac_index, header->source, uid, jid, header->pt_index))
        return "the access entry does not admit it";
    return NULL;
}

/* `why`: the refusal, or NULL.  The operation is not pending: for a caller that ends it before the
 * lock is released.  */
static struct ptli_match match_judged(struct ptli_engine *engine, const struct ptli_header *header,
                                      ptl_uid_t uid, ptl_jid_t jid, const char *why,
                                      struct ptli_event_info *info)
{
    const struct ptli_request request = {header->source, deliver_needs_record(header->type),
                                         header->match_bits, header->remote_offset, header->length};
    struct ptli_acceptance found = {NULL, 0, 0};
    struct ptli_md *md;
    if (!why) {
        engine->table[header->pt_index].quiet++;
        found = ptli_walk(engine->table[header->pt_index].first, &request);
    }
    if (!found.entry) {
        ptli_drop(engine, header->source, header->length, why ? why : "nothing takes it");
        return (struct ptli_match){NULL, 0, 0, 0};
    }
    md = ptli_md_of(found.entry->rules);
    ptli_rules_advance(&md->rules, found.mlength);
    ptli_md_count(md);
    engine->recv_count++;
    engine->recv_length += found.mlength;
    *info = (struct ptli_event_info){.initiator = header->source,
                                     .uid = uid,
                                     .jid = jid,
                                     .pt_index = header->pt_index,
                                     .match_bits = header->match_bits,
                                     .hdr_data = header->type == PTLI_GET ? 0 : header->hdr_data,
                                     .rlength = header->length,
                                     .mlength = found.mlength,
                                     .offset = found.offset,
                                     .link = engine->next_link++};
    /* Each START constant is one less than its END.  */
    ptli_log_start(engine, md, ptli_end_kind(header->type) - 1, info);
    return (struct ptli_match){md, found.offset, found.mlength, info->link};
}

struct ptli_match ptli_match_request(struct ptli_engine *engine, const struct ptli_header *header,
                                     ptl_uid_t uid, ptl_jid_t jid, struct ptli_event_info *info)
{
    const char *why = deliver_refusal(engine, header, uid, jid);
    const struct ptli_match match = match_judged(engine, header, uid, jid, why, info);
    if (match.md) {
        ptli_md_hold(match.md);
        ptli_end_due(match.md);
    }
    return match;
}

void ptli_match_end(struct ptli_engine *engine, struct ptli_md *md, ptl_event_kind_t kind,
                    struct ptli_event_info *info)
{
    ptli_end_logged(md);
    ptli_log(engine, md, kind, info);
    ptli_md_release(engine, md, info);
}

/* --- requests --- */

static void make_answer(struct ptli_engine *engine, struct ptli_operation *operation,
                        const struct ptli_header *request, uint8_t type, ptl_size_t length)
{
    struct ptli_transport *transport = engine->transport;
    operation->waits = PTLI_WAITS_MESSAGE;
    operation->message.header = (struct ptli_header){.type = type,
                                                     .source = transport->id,
                                                     .destination = request->source,
                                                     .uid = transport->uid,
                                                     .jid = transport->jid,
                                                     .operation = request->operation,
                                                     .length = length};
}

static uint8_t put_answer(const struct ptli_header *header, const struct ptli_md *md)
{
    bool acks = header->flags & PTLI_ASKS_ACK && !(md->user.options & PTL_MD_ACK_DISABLE);
    return acks ? PTLI_ACK : PTLI_DONE;
}

/* Copies the remote list of a long request to the record.  False: out of memory.  */
static bool keep_remotes(struct ptli_operation *operation, const struct ptli_header *header,
                         const unsigned char *data)
{
    uint32_t count = header->data_length / PTLI_REMOTE_SIZE;
    struct ptli_remote *remotes = operation->remotes;
    if (count > PTLI_CLOSE_REMOTES) {
        remotes = operation->more = malloc(count * sizeof *remotes);
        if (!remotes) return false;
    }
    for (uint32_t i = 0; i < count; i++)
        ptli_wire_parse_remote(data + i * PTLI_REMOTE_SIZE, &remotes[i]);
    operation->transfer.remote = remotes;
    operation->transfer.remote_count = count;
    return true;
}

static void deliver_put(struct ptli_engine *engine, struct ptli_operation *operation,
                        const struct ptli_header *header, const void *data, struct ptli_match match,
                        struct ptli_event_info *info)
{
    const struct ptli_span span = ptli_md_span(match.md, match.offset, match.mlength);
    if (operation) {
        make_answer(engine, operation, header, put_answer(header, match.md), match.mlength);
        operation->info = *info;
    }
    if (operation && operation->role == PTLI_ROLE_TAKING) {
        operation->kind = PTL_EVENT_PUT_END;
        operation->md = match.md;
        operation->waits = PTLI_WAITS_TRANSFER;
        operation->transfer.local = span;
        ptli_operation_transfer(engine, operation, true);
        return;
    }
    ptli_span_write(&span, data);
    ptli_lock(engine);
    ptli_match_end(engine, match.md, PTL_EVENT_PUT_END, info);
    ptli_unlock_up(engine);
    if (operation) ptli_operation_send(engine, operation, true);
}

static void deliver_send_reply_data(struct ptli_engine *engine, struct ptli_operation *operation,
                                    const struct ptli_header *header, struct ptli_match match,
                                    const struct ptli_event_info *info)
{
    make_answer(engine, operation, header, PTLI_REPLY, match.mlength);
    operation->kind = ptli_end_kind(header->type);
    operation->md = match.md;
    operation->info = *info;
    if (header->flags & PTLI_LONG && match.mlength > engine->transport->eager_limit) {
        operation->message.header.flags = PTLI_PLACED;
        operation->waits |= PTLI_WAITS_TRANSFER;
        operation->transfer.write = true;
        operation->transfer.local = ptli_md_span(match.md, match.offset, match.mlength);
        operation->transfer.then = &operation->message;
        ptli_operation_transfer(engine, operation, true);
        return;
    }
    operation->message.header.data_length = (uint32_t)match.mlength;
    if (header->type == PTLI_GET)
        operation->message.data = ptli_md_span(match.md, match.offset, match.mlength);
    else
        operation->message.data = (struct ptli_span){&operation->bytes, 1, 0, match.mlength};
    ptli_operation_send(engine, operation, true);
}

/* Swaps the data, with the engine's lock held; the old contents go to the record.  */
static void deliver_swap(struct ptli_operation *operation, struct ptli_match match,
                         const void *data)
{
    const struct ptli_span span = ptli_md_span(match.md, match.offset, match.mlength);
    operation->bytes = (struct ptli_piece){(char *)operation->small, match.mlength, NULL};
    ptli_span_read(&span, operation->small);
    ptli_span_write(&span, data);
}

/* The role of the record that answers a request that has matched.  */
static enum ptli_role role_of(const struct ptli_header *header, struct ptli_match match)
{
    if (header->type != PTLI_PUT) return PTLI_ROLE_GIVING;
    return header->flags & PTLI_LONG && match.mlength > 0 ? PTLI_ROLE_TAKING : PTLI_ROLE_ANSWER;
}

static enum ptli_taken deliver_request(struct ptli_engine *engine, struct ptli_peer *peer,
                                       const struct ptli_header *header, const void *data)
{
    bool answers = header->type != PTLI_PUT || header->flags & PTLI_ANSWER;
    struct ptli_operation *operation = NULL;
    struct ptli_event_info info;
    struct ptli_match match;
    ptli_lock(engine);
    if (answers) {
        operation = ptli_operation_take(engine, PTLI_ROLE_ANSWER, peer);
        if (operation && header->flags & PTLI_LONG && !keep_remotes(operation, header, data)) {
            ptli_operation_give(engine, operation);
            operation = NULL;
        }
        if (!operation) {
            ptli_unlock_up(engine);
            return PTLI_LATER;
        }
    }
    match = ptli_match_request(engine, header, peer->uid, peer->jid, &info);
    if (match.md && operation) operation->role = role_of(header, match);
    if (match.md && header->type == PTLI_GETPUT) deliver_swap(operation, match, data);
    ptli_unlock_up(engine);
    if (!match.md) {
        if (operation) {
            make_answer(engine, operation, header, PTLI_DONE, 0);
            ptli_operation_send(engine, operation, true);
        }
    } else if (header->type == PTLI_PUT) {
        deliver_put(engine, operation, header, data, match, &info);
    } else {
        deliver_send_reply_data(engine, operation, header, match, &info);
    }
    return PTLI_TAKEN;
}

static void deliver_answer(struct ptli_engine *engine, struct ptli_peer *peer,
                           const struct ptli_header *header, const void *data)
{
    struct ptli_operation *operation;
    ptli_lock(engine);
    operation = ptli_operation_find(engine, header->operation, peer);
    if (!operation || (header->type == PTLI_ACK && operation->role != PTLI_ROLE_PUT) ||
        (header->type == PTLI_REPLY && operation->role == PTLI_ROLE_PUT))
        ptli_drop(engine, peer->id, header->data_length, "an answer that nobody waits for");
    else if (header->type == PTLI_REPLY)
        ptli_reply(engine, operation, header, data);
    else
        ptli_answered(engine, operation, header->type, header->length);
    ptli_unlock_up(engine);
}

enum ptli_taken ptli_arrived(struct ptli_engine *engine, struct ptli_peer *peer,
                             const struct ptli_header *header, const void *data)
{
    if (header->source.nid != peer->id.nid || header->source.pid != peer->id.pid) {
        ptli_malformed(engine, peer, "a message in another process's name");
        return PTLI_TAKEN;
    }
    if (header->type <= PTLI_GETPUT) return deliver_request(engine, peer, header, data);
    deliver_answer(engine, peer, header, data);
    return PTLI_TAKEN;
}

/* --- short puts (short_put.h) --- */

bool ptli_short_admit(struct ptli_engine *engine, struct ptli_peer *peer,
                      const unsigned char *bytes)
{
    struct ptli_header header;
    if (!ptli_wire_is_plain_put(bytes, &header) || header.source.nid != peer->id.nid ||
        header.source.pid != peer->id.pid ||
        deliver_refusal(engine, &header, peer->uid, peer->jid) != NULL)
        return false;
    memcpy(peer->admitted, bytes, sizeof peer->admitted);
    peer->admitted_by = engine->access_state;
    peer->admitted_to = &engine->table[header.pt_index];
    return true;
}

void ptli_short_any(struct ptli_engine *engine, struct ptli_peer *peer, const unsigned char *bytes)
{
    struct ptli_header header;
    struct ptli_event_info info;
    ptli_wire_decode(bytes, &header);
    const struct ptli_match match =
        match_judged(engine, &header, peer->uid, peer->jid, NULL, &info);
    if (!match.md) return;
    const struct ptli_span span = ptli_md_span(match.md, match.offset, match.mlength);
    ptli_span_write(&span, bytes + PTLI_WIRE_SIZE);
    ptli_log(engine, match.md, PTL_EVENT_PUT_END, &info);
    ptli_md_settle(engine, match.md, &info);
}
