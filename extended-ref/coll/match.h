/* match.h - which message belongs to which operation: posted messages, and those that arrived
 * before they were posted.  Pure: no lock, no I/O, and no memory but the table of lists.
 *
 * A message is named by its key.  The receiver keeps an item for a message that it has posted or
 * that came early; the sender of a large message keeps one until it no longer needs its memory, and
 * one for an announcement that came early.  An item is in the table from its insertion until a
 * function says that it removes it.  Functions that take a message from a peer set *wrong to the
 * name of the field that is wrong, if one is; they then change nothing.
 *
 * The course of a large message: the receiver posts it and announces it to the sender; the sender
 * answers with pieces, or offers its memory; the receiver acknowledges, unless the pieces were
 * copied when they were sent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"

struct gasnete_coll_op;

enum { GASNETE_COLL_TO_SENDER = 1u << 31 }; /* in `peer`: the key of the sender's items */

typedef struct gasnete_coll_key {
    uint32_t team, number; /* `number` is that of the operation in the team */
    uint32_t tag;          /* names the message in the operation */
    uint32_t peer;         /* node */
} gasnete_coll_key_t;

enum gasnete_coll_item_state {
    GASNETE_COLL_POSTED,    /* receiver: awaited; `memory`, `nbytes`: the destination */
    GASNETE_COLL_EARLY,     /* receiver: arrived early; `memory`, `nbytes`: a copy */
    GASNETE_COLL_WAITING,   /* sender: awaits the announcement; `memory`, `nbytes`: the source */
    GASNETE_COLL_ANNOUNCED, /* sender: announced before it was posted; `remote`, `nbytes` */
    GASNETE_COLL_SENDING,   /* sender: announced, being sent to `remote`; ends with an
                               acknowledgement */
    GASNETE_COLL_COPYING, /* sender: announced, being sent in Mediums, without an acknowledgement */
    GASNETE_COLL_CHECK,   /* debug builds: one half of a comparison of digests; see checks.c */
};

enum { GASNETE_COLL_INLINE = 64 };

typedef struct gasnete_coll_item {
    struct gasnete_coll_item *next; /* in a list of the table */
    struct gasnete_coll_item *link; /* in other lists */
    gasnete_coll_key_t key;
    enum gasnete_coll_item_state state;
    uint32_t slot; /* belongs to op.c */
    struct gasnete_coll_op *op;
    char *memory;
    size_t nbytes;
    size_t claimed;                              /* receiver: bytes of pieces that have arrived */
    size_t in_place;                             /* receiver: bytes of pieces that are copied */
    char *remote;                                /* address at the peer; NULL: not in its segment */
    gasnetc_counter_t counter;                   /* of a fetch */
    _Alignas(16) char copy[GASNETE_COLL_INLINE]; /* memory for small early messages */
} gasnete_coll_item_t;

enum { GASNETE_COLL_FIRST_LISTS = 256 };

/* The table of items; all zero: empty.  */
typedef struct gasnete_coll_match {
    gasnete_coll_item_t
        *latest; /* the item inserted last, in no list: usually the next one that is found */
    gasnete_coll_item_t **lists; /* [mask + 1]; NULL: `few` */
    uint32_t mask, count;        /* count: of items in lists */
    gasnete_coll_item_t *few[GASNETE_COLL_FIRST_LISTS];
} gasnete_coll_match_t;

gasnete_coll_item_t *gasnete_coll_match_find(gasnete_coll_match_t *match,
                                             const gasnete_coll_key_t *key);
/* Inserts an item, whose key no item of the table has.  */
void gasnete_coll_match_insert(gasnete_coll_match_t *match, gasnete_coll_item_t *item);
void gasnete_coll_match_remove(gasnete_coll_match_t *match, gasnete_coll_item_t *item);

/* Receiver, for a whole message: returns and removes the item if the message was posted; NULL with
 * *wrong NULL: the caller inserts an early item.  */
gasnete_coll_item_t *gasnete_coll_match_whole(gasnete_coll_match_t *match,
                                              const gasnete_coll_key_t *key, size_t nbytes,
                                              const char **wrong);
/* Receiver, for a piece of a posted message: returns the item, which stays until all pieces are
 * copied.  */
gasnete_coll_item_t *gasnete_coll_match_piece(gasnete_coll_match_t *match,
                                              const gasnete_coll_key_t *key, size_t offset,
                                              size_t nbytes, const char **wrong);
/* Receiver: counts a piece as copied.  If the message is complete, removes the item and returns
 * true.  */
bool gasnete_coll_match_placed(gasnete_coll_match_t *match, gasnete_coll_item_t *item,
                               size_t nbytes);
/* Receiver, for an offer of the sender's memory: returns and removes the item.  */
gasnete_coll_item_t *gasnete_coll_match_offer(gasnete_coll_match_t *match,
                                              const gasnete_coll_key_t *key, const char **wrong);

/* Sender, for an announcement: returns the item, SENDING now, if the message is posted; NULL with
 * *wrong NULL: the caller inserts an announced item.  */
gasnete_coll_item_t *gasnete_coll_match_announced(gasnete_coll_match_t *match,
                                                  const gasnete_coll_key_t *key, char *remote,
                                                  size_t nbytes, const char **wrong);
/* Sender, for an acknowledgement: returns and removes the item.  */
gasnete_coll_item_t *gasnete_coll_match_acknowledged(gasnete_coll_match_t *match,
                                                     const gasnete_coll_key_t *key,
                                                     const char **wrong);
