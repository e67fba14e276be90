/*
 * self.c - operations of a process on itself: matched and copied at once, without the network.
 *
 * Called by initiate.c without the lock.  Source and target may overlap.  Data are copied without
 * the lock, except by getputs, which the lock makes atomic among themselves.  Handlers are not
 * called here.
 */
#include "other/portals3/src/engine/engine.h"

static struct ptli_match self_match(struct ptli_engine *engine, const struct ptli_header *header,
                                    struct ptli_event_info *info)
{
    return ptli_match_request(engine, header, engine->transport->uid, engine->transport->jid, info);
}

void ptli_self_put(struct ptli_engine *engine, struct ptli_operation *operation,
                   const struct ptli_header *header)
{
    struct ptli_match found;
    struct ptli_event_info info;
    ptli_lock(engine);
    found = self_match(engine, header, &info);
    if (found.md) {
        const struct ptli_span to = ptli_md_span(found.md, found.offset, found.mlength);
        const struct ptli_span from =
            ptli_md_span(operation->md, operation->info.offset, found.mlength);
        bool acks = operation->asks_ack && !(found.md->user.options & PTL_MD_ACK_DISABLE);
        operation->answer = acks ? PTLI_ACK : PTLI_DONE;
        operation->answer_length = found.mlength;
        ptli_mutex_unlock(&engine->lock);
        ptli_span_move(&to, &from);
        ptli_lock(engine);
        ptli_match_end(engine, found.md, PTL_EVENT_PUT_END, &info);
    }
    operation->waits = 0;
    ptli_operation_advance(engine, operation);
    ptli_unlock(engine);
}

/* Passes the reply to this process's own engine, after the data were written. With the lock. */
static void self_reply(struct ptli_engine *engine, struct ptli_operation *operation,
                       const struct ptli_header *request, ptl_size_t mlength, const void *data)
{
    struct ptli_header header = *request;
    header.flags = data ? 0 : PTLI_PLACED;
    header.length = mlength;
    header.data_length = data ? (uint32_t)mlength : 0;
    operation->is_long = true; /* the answer is PLACED, as for a long request */
    ptli_reply(engine, operation, &header, data);
}

void ptli_self_get(struct ptli_engine *engine, struct ptli_operation *operation,
                   const struct ptli_header *header)
{
    struct ptli_match found;
    struct ptli_event_info info;
    ptli_lock(engine);
    operation->waits = PTLI_WAITS_ANSWER;
    found = self_match(engine, header, &info);
    if (found.md) {
        const struct ptli_span from = ptli_md_span(found.md, found.offset, found.mlength);
        const struct ptli_span to =
            ptli_md_span(operation->md, operation->info.offset, found.mlength);
        ptli_mutex_unlock(&engine->lock);
        ptli_span_move(&to, &from);
        ptli_lock(engine);
        ptli_match_end(engine, found.md, PTL_EVENT_GET_END, &info);
        self_reply(engine, operation, header, found.mlength, NULL);
    } else {
        ptli_answered(engine, operation, PTLI_DONE, 0);
    }
    ptli_unlock(engine);
}

void ptli_self_getput(struct ptli_engine *engine, struct ptli_operation *operation,
                      const struct ptli_header *header)
{
    unsigned char sent[PTLI_MAX_GETPUT], kept[PTLI_MAX_GETPUT];
    struct ptli_match found;
    struct ptli_event_info info;
    ptli_lock(engine);
    ptli_span_read(&operation->message.data, sent);
    operation->waits = PTLI_WAITS_ANSWER;
    found = self_match(engine, header, &info);
    if (found.md) {
        const struct ptli_span span = ptli_md_span(found.md, found.offset, found.mlength);
        ptli_span_read(&span, kept);
        ptli_span_write(&span, sent);
        ptli_match_end(engine, found.md, PTL_EVENT_GETPUT_END, &info);
        ptli_operation_advance(engine, operation); /* logs SEND_END, as after the message is sent */
        self_reply(engine, operation, header, found.mlength, kept);
    } else {
        ptli_answered(engine, operation, PTLI_DONE, 0);
    }
    ptli_unlock(engine);
}
