/* messages.c - sends the messages of operations, and posts the messages that are to arrive.
 *
 * A message that fits in a Medium is sent at once, and copied where it arrives before it is posted.
 * A larger message waits until the receiver has announced it.  Then its data is sent by Longs to
 * the receiver's segment; or the receiver fetches it from the sender's segment; or it is sent in
 * Mediums.
 */
#include "extended-ref/coll/messages.h"

#include <stdlib.h>
#include <string.h>

#include "core/am/system_am.h"
#include "core/report.h"
#include "extended-ref/coll/op.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/shm_transfer.h"
#include "extended-ref/transfer.h"

enum {
    LONG_MOST = 1 << 30,     /* bytes of one Long */
    FETCH_LEAST = 16 * 1024, /* bytes of a message that is worth a fetch across the network */
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
        item = aligned_alloc(16, plan_aligned(sizeof *item));
        if (item == NULL)
            gasneti_fatal("out of memory for a message of a collective operation; keep fewer "
                          "operations outstanding, or raise the limit (ulimit -v)");
        item->counter = (gasnetc_counter_t){0};
    }
    item->claimed = item->in_place = 0;
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

static gasnete_coll_key_t message_key(const gasnete_coll_op_t *op, uint32_t rank, uint32_t tag)
{
    const gasnete_team_t *team = op->call.team;
    return (gasnete_coll_key_t){team->id, op->number, tag, gasnete_coll_node_of(team, rank)};
}

static void send_whole(const gasnete_coll_key_t *key, const char *from, size_t nbytes)
{
    gasnetc_AMRequestMedium((gasnet_node_t)key->peer, GASNETE_H_COLL_WHOLE, from, nbytes,
                            GASNETE_ARGS(GASNETE_COLL_KEY_ARGS(*key)));
}

static void send_by_longs(gasnet_node_t node, const gasnete_coll_key_t *key, const char *from,
                          char *to, size_t nbytes)
{
    for (size_t offset = 0; offset < nbytes;) {
        size_t piece = nbytes - offset < LONG_MOST ? nbytes - offset : LONG_MOST;
        size_t at = offset;
        offset += piece;
        gasnetc_AMRequestLongAsync(node, GASNETE_H_COLL_LONG, from + at, piece, to + at,
                                   GASNETE_ARGS(GASNETE_COLL_KEY_ARGS(*key), GASNETE_WORD(at)));
    }
}

static void send_by_mediums(gasnet_node_t node, const gasnete_coll_key_t *key, const char *from,
                            size_t nbytes)
{
    for (size_t offset = 0, piece; offset < nbytes; offset += piece) {
        piece = nbytes - offset < GASNETC_MAX_MEDIUM ? nbytes - offset : GASNETC_MAX_MEDIUM;
        gasnetc_AMRequestMedium(node, GASNETE_H_COLL_PIECE, from + offset, piece,
                                GASNETE_ARGS(GASNETE_COLL_KEY_ARGS(*key), GASNETE_WORD(offset)));
    }
}

/* True if the receiver is to fetch a message: of this rank's segment, which a rank that shares
 * memory reads by a copy.  */
static bool worth_fetch(gasnet_node_t node, const char *from, size_t nbytes)
{
    return (nbytes >= FETCH_LEAST || gasnete_shm_peer(node)) &&
           gasnete_in_segment(gasnet_mynode(), from, nbytes);
}

/* Sends an announced message.  All forms but Mediums are acknowledged, maybe during the last send:
 * the item is not read after that.  */
static void send_announced(gasnete_coll_op_t *op, gasnete_coll_item_t *item)
{
    const gasnete_coll_key_t key = item->key;
    const gasnet_node_t node = (gasnet_node_t)(key.peer & ~GASNETE_COLL_TO_SENDER);
    char *from = item->memory, *to = item->remote;
    size_t nbytes = item->nbytes;
    if (to) {
        send_by_longs(node, &key, from, to, nbytes);
    } else if (worth_fetch(node, from, nbytes)) {
        gasnetc_AMRequestShort(
            node, GASNETE_H_COLL_OFFER,
            GASNETE_ARGS(GASNETE_COLL_KEY_ARGS(key), GASNETE_WORD((uintptr_t)from)));
    } else {
        gasneti_lock(&gasnete_coll_lock);
        item->state = GASNETE_COLL_COPYING;
        gasneti_unlock(&gasnete_coll_lock);
        send_by_mediums(node, &key, from, nbytes);
        gasneti_lock(&gasnete_coll_lock);
        gasnete_coll_match_remove(&gasnete_coll_match, item);
        gasnete_coll_item_free(item);
        op->sends--;
        gasneti_unlock(&gasnete_coll_lock);
    }
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
    if (announced && item->state != GASNETE_COLL_ANNOUNCED)
        gasnete_coll_message_bad(&key, item->nbytes, "tag (sent twice)");
    if (item->nbytes != nbytes) gasnete_coll_message_bad(&key, item->nbytes, "length");
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

/* Announces a posted message to the sender, with its address if that is in the segment.  */
static void announce(const gasnete_coll_key_t *key, char *to, size_t nbytes)
{
    char *address = gasnete_in_segment(gasnet_mynode(), to, nbytes) ? to : NULL;
    gasnetc_AMRequestShort((gasnet_node_t)key->peer, GASNETE_H_COLL_READY,
                           GASNETE_ARGS(GASNETE_COLL_KEY_ARGS(*key),
                                        GASNETE_WORD((uintptr_t)address), GASNETE_WORD(nbytes)));
}

void gasnete_coll_receive(gasnete_coll_op_t *op, uint32_t rank, uint32_t tag, char *to,
                          size_t nbytes, uint32_t slot)
{
    gasnete_coll_key_t key = message_key(op, rank, tag);
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_item_t *item = gasnete_coll_match_find(&gasnete_coll_match, &key);
    if (item) { /* early */
        if (item->state != GASNETE_COLL_EARLY)
            gasnete_coll_message_bad(&key, item->nbytes, "tag (posted twice)");
        if (item->nbytes != nbytes) gasnete_coll_message_bad(&key, item->nbytes, "length");
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
    const gasnet_node_t from = (gasnet_node_t)item->key.peer;
    if (!gasnete_shm_get("a collective", item->memory, from, item->remote, item->nbytes))
        gasnete_transfer_get(from, item->memory, item->remote, item->nbytes, &item->counter);
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

/* Takes a complete fetch from the list; NULL: no fetch is complete.  */
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
        gasnetc_AMRequestShort((gasnet_node_t)item->key.peer, GASNETE_H_COLL_FETCHED,
                               GASNETE_ARGS(GASNETE_COLL_KEY_ARGS(item->key)));
        gasneti_lock(&gasnete_coll_lock);
        gasnete_coll_received(item->op, item->slot);
        gasnete_coll_item_free(item);
        gasneti_unlock(&gasnete_coll_lock);
    }
}
