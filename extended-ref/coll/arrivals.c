/* arrivals.c - the handlers of the messages of operations: they match, copy and record.
 *
 * They send nothing but the acknowledgement of a Long, and hold the lock for copies of early
 * messages only.  The thread that works on the operation does all other work (op.c, messages.c).
 */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "extended-ref/coll/messages.h"
#include "extended-ref/coll/op.h"
#include "extended-ref/internal_am.h"

void gasnete_coll_message_bad(const gasnete_coll_key_t *key, size_t nbytes, const char *field)
{
    gasneti_fatal("a malformed message of a collective operation from %s: %zu bytes, operation %u "
                  "of team %u, tag 0x%x: bad %s; do all ranks call the same collectives of the "
                  "team in the same order, with the same arguments?",
                  gasneti_rank_name(key->peer & ~GASNETE_COLL_TO_SENDER), nbytes, key->number,
                  key->team, key->tag, field);
}

static gasnete_coll_key_t handler_key(gasnet_token_t token, gasnet_handlerarg_t team,
                                      gasnet_handlerarg_t number, gasnet_handlerarg_t tag,
                                      uint32_t to_sender)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(token, &from);
    return (gasnete_coll_key_t){(uint32_t)team, (uint32_t)number, (uint32_t)tag, from | to_sender};
}

static size_t handler_word(gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    return (size_t)(uintptr_t)gasnete_pointer(high, low);
}

/* Inserts an item for a message that came early; lock held.  */
static gasnete_coll_item_t *handler_keep(const gasnete_coll_key_t *key, size_t nbytes,
                                         enum gasnete_coll_item_state state)
{
    const char *wrong =
        gasnete_coll_team_wrong(key->team, (gasnet_node_t)(key->peer & ~GASNETE_COLL_TO_SENDER));
    if (wrong) gasnete_coll_message_bad(key, nbytes, wrong);
    gasnete_coll_item_t *item = gasnete_coll_item_new();
    item->key = *key;
    item->state = state;
    item->nbytes = nbytes;
    gasnete_coll_match_insert(&gasnete_coll_match, item);
    return item;
}

static void handler_copy_early(gasnete_coll_item_t *item, const void *data)
{
    item->memory = item->nbytes <= sizeof item->copy ? item->copy : malloc(item->nbytes);
    if (item->memory == NULL)
        gasneti_fatal("out of memory: %zu bytes for a message of a collective operation that this "
                      "rank has not called yet; raise the limit (ulimit -v)",
                      item->nbytes);
    if (item->nbytes) memcpy(item->memory, data, item->nbytes);
}

/* Records that the message of the item has been received, and frees the item, which is out of the
 * table.  */
static void handler_received(gasnete_coll_item_t *item)
{
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_received(item->op, item->slot);
    gasnete_coll_item_free(item);
    gasneti_unlock(&gasnete_coll_lock);
}

void gasnete_coll_whole_handler(gasnet_token_t token, void *data, size_t nbytes,
                                gasnet_handlerarg_t team, gasnet_handlerarg_t number,
                                gasnet_handlerarg_t tag)
{
    const gasnete_coll_key_t key = handler_key(token, team, number, tag, 0);
    const char *wrong;
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item = gasnete_coll_match_whole(&gasnete_coll_match, &key, nbytes, &wrong);
    if (wrong) gasnete_coll_message_bad(&key, nbytes, wrong);
    if (item == NULL) handler_copy_early(handler_keep(&key, nbytes, GASNETE_COLL_EARLY), data);
    gasneti_unlock(&gasnete_coll_lock);
    if (item == NULL) return;
    if (nbytes) memcpy(item->memory, data, nbytes);
    handler_received(item);
}

/* Finds the posted message to which a piece belongs.  */
static gasnete_coll_item_t *handler_find(const gasnete_coll_key_t *key, size_t offset,
                                         size_t nbytes)
{
    const char *wrong;
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item =
        gasnete_coll_match_piece(&gasnete_coll_match, key, offset, nbytes, &wrong);
    gasneti_unlock(&gasnete_coll_lock);
    if (wrong) gasnete_coll_message_bad(key, nbytes, wrong);
    return item;
}

/* Records that a piece has been copied or written; true if it was the last one.  */
static bool handler_placed(gasnete_coll_item_t *item, size_t nbytes)
{
    gasneti_lock(&gasnete_coll_lock);
    bool complete = gasnete_coll_match_placed(&gasnete_coll_match, item, nbytes);
    gasneti_unlock(&gasnete_coll_lock);
    if (complete) handler_received(item);
    return complete;
}

void gasnete_coll_piece_handler(gasnet_token_t token, void *data, size_t nbytes,
                                gasnet_handlerarg_t team, gasnet_handlerarg_t number,
                                gasnet_handlerarg_t tag, gasnet_handlerarg_t offset_high,
                                gasnet_handlerarg_t offset_low)
{
    const gasnete_coll_key_t key = handler_key(token, team, number, tag, 0);
    size_t offset = handler_word(offset_high, offset_low);
    gasnete_coll_item_t *item = handler_find(&key, offset, nbytes);
    memcpy(item->memory + offset, data, nbytes);
    handler_placed(item, nbytes);
}

void gasnete_coll_long_handler(gasnet_token_t token, void *data, size_t nbytes,
                               gasnet_handlerarg_t team, gasnet_handlerarg_t number,
                               gasnet_handlerarg_t tag, gasnet_handlerarg_t offset_high,
                               gasnet_handlerarg_t offset_low)
{
    const gasnete_coll_key_t key = handler_key(token, team, number, tag, 0);
    size_t offset = handler_word(offset_high, offset_low);
    gasnete_coll_item_t *item = handler_find(&key, offset, nbytes);
    if ((char *)data != item->memory + offset) gasnete_coll_message_bad(&key, nbytes, "address");
    if (handler_placed(item, nbytes))
        gasnetc_AMReplyShort(token, GASNETE_H_COLL_ACK, GASNETE_ARGS(GASNETE_COLL_KEY_ARGS(key)));
}

void gasnete_coll_ready_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                                gasnet_handlerarg_t number, gasnet_handlerarg_t tag,
                                gasnet_handlerarg_t to_high, gasnet_handlerarg_t to_low,
                                gasnet_handlerarg_t nbytes_high, gasnet_handlerarg_t nbytes_low)
{
    const gasnete_coll_key_t key = handler_key(token, team, number, tag, GASNETE_COLL_TO_SENDER);
    char *to = gasnete_pointer(to_high, to_low);
    size_t nbytes = handler_word(nbytes_high, nbytes_low);
    const char *wrong;
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item =
        gasnete_coll_match_announced(&gasnete_coll_match, &key, to, nbytes, &wrong);
    if (!wrong && to &&
        !gasnete_in_segment((gasnet_node_t)(key.peer & ~GASNETE_COLL_TO_SENDER), to, nbytes))
        wrong = "address (outside the segment)";
    if (wrong) gasnete_coll_message_bad(&key, nbytes, wrong);
    if (item) {
        gasnete_coll_op_t *op = item->op;
        item->link = op->announced;
        op->announced = item;
        gasnete_coll_make_ready(op);
    } else {
        handler_keep(&key, nbytes, GASNETE_COLL_ANNOUNCED)->remote = to;
    }
    gasneti_unlock(&gasnete_coll_lock);
}

void gasnete_coll_offer_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                                gasnet_handlerarg_t number, gasnet_handlerarg_t tag,
                                gasnet_handlerarg_t from_high, gasnet_handlerarg_t from_low)
{
    const gasnete_coll_key_t key = handler_key(token, team, number, tag, 0);
    char *from = gasnete_pointer(from_high, from_low);
    const char *wrong;
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item = gasnete_coll_match_offer(&gasnete_coll_match, &key, &wrong);
    if (!wrong && !gasnete_in_segment((gasnet_node_t)key.peer, from, item->nbytes))
        wrong = "address (outside the segment)";
    if (wrong) gasnete_coll_message_bad(&key, 0, wrong);
    gasnete_coll_op_t *op = item->op;
    item->remote = from;
    item->link = op->offered;
    op->offered = item;
    gasnete_coll_make_ready(op);
    gasneti_unlock(&gasnete_coll_lock);
}

void gasnete_coll_ack_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                              gasnet_handlerarg_t number, gasnet_handlerarg_t tag)
{
    const gasnete_coll_key_t key = handler_key(token, team, number, tag, GASNETE_COLL_TO_SENDER);
    const char *wrong;
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item = gasnete_coll_match_acknowledged(&gasnete_coll_match, &key, &wrong);
    if (wrong) gasnete_coll_message_bad(&key, 0, wrong);
    gasnete_coll_sent(item->op);
    gasnete_coll_item_free(item);
    gasneti_unlock(&gasnete_coll_lock);
}
