/* messages.c - the messages of operations: sending them, and the handlers that receive them.
 *
 * A message that fits in a Medium is sent at once, and copied where it arrives before it is posted.
 * A larger one waits until the receiver has announced it.  Then its data goes by Longs to the
 * receiver's segment; or the receiver fetches it from the sender's segment; or it goes in Mediums.
 *
 * Handlers send nothing but the acknowledgement of a Long, and hold the lock for copies of
 * early messages only.
 */
#include "extended-ref/coll/op.h"

#include <stdlib.h>
#include <string.h>

#include "core/am/system_am.h"
#include "core/report.h"
#include "extended-ref/coll/messages.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/transfer.h"

enum {
    LONG_MOST = 1 << 30,     /* bytes of one Long */
    FETCH_LEAST = 16 * 1024, /* bytes of a message that is worth a fetch */
};

gasnete_coll_match_t gasnete_coll_match;
static gasnete_coll_item_t *free_items; /* (L) by `next` */
static gasnete_coll_item_t *fetches;    /* (L) by `link` */

/* --- items --- */

gasnete_coll_item_t *gasnete_coll_item_new(void)
{
    gasnete_coll_item_t *item = free_items;
    if (item) {
        free_items = item->next;
    } else {
        item = aligned_alloc(16, (sizeof *item + 15) & ~(size_t)15);
        if (item == NULL)
            gasneti_fatal("out of memory for a message of a collective operation; keep fewer "
                          "operations outstanding, or raise the limit (ulimit -v)");
        item->counter = (gasnetc_counter_t){0};
    }
    item->in_place = 0;
    item->remote = NULL;
    item->memory = NULL;
    return item;
}

void gasnete_coll_item_free(gasnete_coll_item_t *item)
{
    if (item->state == GASNETE_COLL_EARLY && item->memory != item->copy) free(item->memory);
    item->next = free_items;
    free_items = item;
}

/* --- sending --- */

#define KEY_ARGS(key)                                                                              \
    (gasnet_handlerarg_t)(key).team, (gasnet_handlerarg_t)(key).number,                            \
        (gasnet_handlerarg_t)(key).tag
#define WORD_ARGS(word) gasnete_high((void *)(word)), gasnete_low((void *)(word))

static gasnete_coll_key_t message_key(const gasnete_coll_op_t *op, uint32_t rank, uint32_t tag)
{
    const gasnete_coll_team_t *team = op->call.team;
    return (gasnete_coll_key_t){team->id, op->number, tag, gasnete_coll_node_of(team, rank)};
}

static void send_whole(const gasnete_coll_key_t *key, const char *from, size_t nbytes)
{
    gasnet_AMRequestMedium3((gasnet_node_t)key->peer, GASNETE_H_COLL_WHOLE, (void *)from, nbytes,
                            KEY_ARGS(*key));
}

static void send_by_longs(gasnet_node_t node, const gasnete_coll_key_t *key, const char *from,
                          char *to, size_t nbytes)
{
    for (size_t offset = 0; offset < nbytes;) {
        size_t piece = nbytes - offset < LONG_MOST ? nbytes - offset : LONG_MOST;
        size_t at = offset;
        offset += piece;
        gasnet_AMRequestLongAsync5(node, GASNETE_H_COLL_LONG, (void *)(from + at), piece, to + at,
                                   KEY_ARGS(*key), WORD_ARGS(at));
    }
}

static void send_by_mediums(gasnet_node_t node, const gasnete_coll_key_t *key, const char *from,
                            size_t nbytes)
{
    for (size_t offset = 0, piece; offset < nbytes; offset += piece) {
        piece = nbytes - offset < GASNETC_MAX_MEDIUM ? nbytes - offset : GASNETC_MAX_MEDIUM;
        gasnet_AMRequestMedium5(node, GASNETE_H_COLL_PIECE, (void *)(from + offset), piece,
                                KEY_ARGS(*key), WORD_ARGS(offset));
    }
}

/* Sends an announced message.  All but Mediums are acknowledged, maybe during the last send: the
 * item is not read after it.  */
static void send_announced(gasnete_coll_op_t *op, gasnete_coll_item_t *item)
{
    const gasnete_coll_key_t key = item->key;
    const gasnet_node_t node = (gasnet_node_t)(key.peer & ~GASNETE_COLL_TO_SENDER);
    char *from = item->memory, *to = item->remote;
    size_t nbytes = item->nbytes;
    if (to) {
        send_by_longs(node, &key, from, to, nbytes);
    } else if (nbytes >= FETCH_LEAST && gasnete_in_segment(gasnet_mynode(), from, nbytes)) {
        gasnet_AMRequestShort5(node, GASNETE_H_COLL_OFFER, KEY_ARGS(key), WORD_ARGS(from));
    } else {
        send_by_mediums(node, &key, from, nbytes);
        gasneti_lock(&gasnete_coll_lock);
        gasnete_coll_match_remove(&gasnete_coll_match, item);
        gasnete_coll_item_free(item);
        op->sends--;
        gasneti_unlock(&gasnete_coll_lock);
    }
}

/* A message that this node expects, and the peer has sent otherwise.  */
static void __attribute__((noreturn, cold))
message_bad(const gasnete_coll_key_t *key, size_t nbytes, const char *field)
{
    gasneti_fatal("a malformed message of a collective operation from %s: %zu bytes, operation %u "
                  "of team %u, tag 0x%x: bad %s; do all ranks call the same collectives of the "
                  "team in the same order, with the same arguments?",
                  gasneti_rank_name(key->peer & ~GASNETE_COLL_TO_SENDER), nbytes, key->number,
                  key->team, key->tag, field);
}

static void send_large(gasnete_coll_op_t *op, gasnete_coll_key_t key, const char *from,
                       size_t nbytes)
{
    key.peer |= GASNETE_COLL_TO_SENDER;
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item = gasnete_coll_match_find(&gasnete_coll_match, &key);
    bool announced = item != NULL;
    if (item == NULL) {
        item = gasnete_coll_item_new();
        item->key = key;
        item->state = GASNETE_COLL_WAITING;
        item->nbytes = nbytes;
        gasnete_coll_match_insert(&gasnete_coll_match, item);
    }
    if (item->nbytes != nbytes) message_bad(&key, item->nbytes, "length");
    if (announced) item->state = GASNETE_COLL_SENDING;
    item->op = op;
    item->memory = (char *)from;
    op->sends++;
    gasneti_unlock(&gasnete_coll_lock);
    if (announced) send_announced(op, item);
}

void gasnete_coll_send(gasnete_coll_op_t *op, uint32_t rank, uint32_t tag, const char *from,
                       size_t nbytes)
{
    gasnete_coll_key_t key = message_key(op, rank, tag);
    if (nbytes <= GASNETC_MAX_MEDIUM)
        send_whole(&key, from, nbytes);
    else
        send_large(op, key, from, nbytes);
}

/* --- receiving --- */

/* Tells the sender that the message is posted, and its address if that is in the segment.  */
static void announce(const gasnete_coll_key_t *key, char *to, size_t nbytes)
{
    char *address = gasnete_in_segment(gasnet_mynode(), to, nbytes) ? to : NULL;
    gasnet_AMRequestShort7((gasnet_node_t)key->peer, GASNETE_H_COLL_READY, KEY_ARGS(*key),
                           WORD_ARGS(address), WORD_ARGS(nbytes));
}

void gasnete_coll_receive(gasnete_coll_op_t *op, uint32_t rank, uint32_t tag, char *to,
                          size_t nbytes, uint32_t slot)
{
    gasnete_coll_key_t key = message_key(op, rank, tag);
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item = gasnete_coll_match_find(&gasnete_coll_match, &key);
    if (item) { /* early */
        if (item->nbytes != nbytes) message_bad(&key, item->nbytes, "length");
        gasnete_coll_match_remove(&gasnete_coll_match, item);
        if (nbytes) memcpy(to, item->memory, nbytes);
        gasnete_coll_item_free(item);
        gasneti_unlock(&gasnete_coll_lock);
        return;
    }
    item = gasnete_coll_item_new();
    item->key = key;
    item->state = GASNETE_COLL_POSTED;
    item->slot = slot;
    item->op = op;
    item->memory = to;
    item->nbytes = nbytes;
    gasnete_coll_match_insert(&gasnete_coll_match, item);
    op->awaited[slot]++;
    gasneti_unlock(&gasnete_coll_lock);
    if (nbytes > GASNETC_MAX_MEDIUM) announce(&key, to, nbytes);
}

/* --- deferred work of operations --- */

static gasnete_coll_item_t *transfer_take(gasnete_coll_item_t **list)
{
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item = *list;
    if (item) *list = item->link;
    gasneti_unlock(&gasnete_coll_lock);
    return item;
}

static void fetch(gasnete_coll_item_t *item)
{
    gasnete_transfer_get((gasnet_node_t)item->key.peer, item->memory, item->remote, item->nbytes,
                         &item->counter);
    gasneti_lock(&gasnete_coll_lock);
    item->link = fetches;
    fetches = item;
    atomic_store(&gasnete_progress_due, true);
    gasneti_unlock(&gasnete_coll_lock);
}

void gasnete_coll_transfer(gasnete_coll_op_t *op)
{
    gasnete_coll_item_t *item;
    while ((item = transfer_take(&op->announced)) != NULL) send_announced(op, item);
    while ((item = transfer_take(&op->offered)) != NULL) fetch(item);
}

/* Takes a complete fetch from the list; NULL: there is none.  */
static gasnete_coll_item_t *fetch_complete(void)
{
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t **at = &fetches;
    while (*at && !gasnetc_counter_done(&(*at)->counter)) at = &(*at)->link;
    gasnete_coll_item_t *item = *at;
    if (item) *at = item->link;
    if (fetches) atomic_store(&gasnete_progress_due, true);
    gasneti_unlock(&gasnete_coll_lock);
    return item;
}

void gasnete_coll_reap_fetches(void)
{
    gasnete_coll_item_t *item;
    while ((item = fetch_complete()) != NULL) {
        gasnet_AMRequestShort3((gasnet_node_t)item->key.peer, GASNETE_H_COLL_ACK,
                               KEY_ARGS(item->key));
        gasneti_lock(&gasnete_coll_lock);
        gasnete_coll_received(item->op, item->slot);
        gasnete_coll_item_free(item);
        gasneti_unlock(&gasnete_coll_lock);
    }
}

/* --- handlers --- */

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

/* With the lock held: inserts an item for a message that came early.  */
static gasnete_coll_item_t *handler_keep(const gasnete_coll_key_t *key, size_t nbytes,
                                         enum gasnete_coll_item_state state)
{
    const char *wrong =
        gasnete_coll_team_wrong(key->team, (gasnet_node_t)(key->peer & ~GASNETE_COLL_TO_SENDER));
    if (wrong) message_bad(key, nbytes, wrong);
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

/* The message of the item, which is out of the table, is in place.  */
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
    if (wrong) message_bad(&key, nbytes, wrong);
    if (item == NULL) handler_copy_early(handler_keep(&key, nbytes, GASNETE_COLL_EARLY), data);
    gasneti_unlock(&gasnete_coll_lock);
    if (item == NULL) return;
    if (nbytes) memcpy(item->memory, data, nbytes);
    handler_received(item);
}

/* The posted message that a piece belongs to.  */
static gasnete_coll_item_t *handler_find(const gasnete_coll_key_t *key, size_t offset,
                                         size_t nbytes)
{
    const char *wrong;
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item =
        gasnete_coll_match_piece(&gasnete_coll_match, key, offset, nbytes, &wrong);
    gasneti_unlock(&gasnete_coll_lock);
    if (wrong) message_bad(key, nbytes, wrong);
    return item;
}

/* A piece is in place; true if it was the last.  */
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
    if ((char *)data != item->memory + offset) message_bad(&key, nbytes, "address");
    if (handler_placed(item, nbytes))
        gasnet_AMReplyShort3(token, GASNETE_H_COLL_ACK, KEY_ARGS(key));
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
    if (wrong) message_bad(&key, nbytes, wrong);
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
    if (wrong) message_bad(&key, 0, wrong);
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
    if (wrong) message_bad(&key, 0, wrong);
    gasnete_coll_sent(item->op);
    gasnete_coll_item_free(item);
    gasneti_unlock(&gasnete_coll_lock);
}
