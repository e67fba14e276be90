/* match.c - see match.h.  */
#include "extended-ref/coll/match.h"

#include <stdlib.h>

static inline uint32_t match_hash(const gasnete_coll_key_t *key)
{
    uint32_t h =
        key->number + key->peer * 0x9e3779b1u + key->tag * 0x85ebca6bu + key->team * 0xc2b2ae35u;
    return h ^ h >> 15;
}

static inline bool match_equal(const gasnete_coll_key_t *a, const gasnete_coll_key_t *b)
{
    return a->number == b->number && a->tag == b->tag && a->peer == b->peer && a->team == b->team;
}

static inline gasnete_coll_item_t **match_list(gasnete_coll_match_t *match,
                                               const gasnete_coll_key_t *key)
{
    if (match->lists == NULL) return &match->few[match_hash(key) % GASNETE_COLL_FIRST_LISTS];
    return &match->lists[match_hash(key) & match->mask];
}

gasnete_coll_item_t *gasnete_coll_match_find(gasnete_coll_match_t *match,
                                             const gasnete_coll_key_t *key)
{
    if (match->latest && match_equal(&match->latest->key, key)) return match->latest;
    if (match->count == 0) return NULL;
    gasnete_coll_item_t *item = *match_list(match, key);
    while (item && !match_equal(&item->key, key)) item = item->next;
    return item;
}

/* Makes four times as many lists; without memory for them the present lists grow longer.  */
static void match_grow(gasnete_coll_match_t *match)
{
    uint32_t lists = match->lists ? match->mask + 1 : GASNETE_COLL_FIRST_LISTS;
    gasnete_coll_item_t **old = match->lists ? match->lists : match->few;
    gasnete_coll_item_t **more = calloc((size_t)lists * 4, sizeof(gasnete_coll_item_t *));
    if (more == NULL) return;
    for (uint32_t i = 0; i < lists; i++) {
        for (gasnete_coll_item_t *item = old[i], *next; item; item = next) {
            gasnete_coll_item_t **list = &more[match_hash(&item->key) & (lists * 4 - 1)];
            next = item->next;
            item->next = *list;
            *list = item;
        }
    }
    free(match->lists);
    match->lists = more;
    match->mask = lists * 4 - 1;
}

static void match_list_item(gasnete_coll_match_t *match, gasnete_coll_item_t *item)
{
    enum { MOST = 1 << 20 };
    uint32_t lists = match->lists ? match->mask + 1 : GASNETE_COLL_FIRST_LISTS;
    if (match->count >= lists && lists < MOST) match_grow(match);
    gasnete_coll_item_t **list = match_list(match, &item->key);
    item->next = *list;
    *list = item;
    match->count++;
}

void gasnete_coll_match_insert(gasnete_coll_match_t *match, gasnete_coll_item_t *item)
{
    if (match->latest) match_list_item(match, match->latest);
    match->latest = item;
}

void gasnete_coll_match_remove(gasnete_coll_match_t *match, gasnete_coll_item_t *item)
{
    if (item == match->latest) {
        match->latest = NULL;
        return;
    }
    gasnete_coll_item_t **at = match_list(match, &item->key);
    while (*at != item) at = &(*at)->next;
    *at = item->next;
    match->count--;
}

/* --- receiver --- */

gasnete_coll_item_t *gasnete_coll_match_whole(gasnete_coll_match_t *match,
                                              const gasnete_coll_key_t *key, size_t nbytes,
                                              const char **wrong)
{
    gasnete_coll_item_t *item = gasnete_coll_match_find(match, key);
    *wrong = NULL;
    if (item == NULL) return NULL;
    if (item->state != GASNETE_COLL_POSTED)
        *wrong = "tag (sent twice)";
    else if (item->nbytes != nbytes)
        *wrong = "length";
    if (*wrong) return NULL;
    gasnete_coll_match_remove(match, item);
    return item;
}

gasnete_coll_item_t *gasnete_coll_match_piece(gasnete_coll_match_t *match,
                                              const gasnete_coll_key_t *key, size_t offset,
                                              size_t nbytes, const char **wrong)
{
    gasnete_coll_item_t *item = gasnete_coll_match_find(match, key);
    *wrong = NULL;
    if (item == NULL || item->state != GASNETE_COLL_POSTED)
        *wrong = "operation or tag";
    else if (offset > item->nbytes || nbytes > item->nbytes - offset)
        *wrong = "offset";
    else if (nbytes == 0)
        *wrong = "length";
    else if (nbytes > item->nbytes - item->claimed)
        *wrong = "offset (sent twice)";
    if (*wrong) return NULL;
    item->claimed += nbytes;
    return item;
}

bool gasnete_coll_match_placed(gasnete_coll_match_t *match, gasnete_coll_item_t *item,
                               size_t nbytes)
{
    item->in_place += nbytes;
    if (item->in_place < item->nbytes) return false;
    gasnete_coll_match_remove(match, item);
    return true;
}

gasnete_coll_item_t *gasnete_coll_match_offer(gasnete_coll_match_t *match,
                                              const gasnete_coll_key_t *key, const char **wrong)
{
    gasnete_coll_item_t *item = gasnete_coll_match_find(match, key);
    *wrong = NULL;
    if (item == NULL || item->state != GASNETE_COLL_POSTED || item->claimed)
        *wrong = "operation or tag";
    if (*wrong) return NULL;
    gasnete_coll_match_remove(match, item);
    return item;
}

/* --- sender --- */

gasnete_coll_item_t *gasnete_coll_match_announced(gasnete_coll_match_t *match,
                                                  const gasnete_coll_key_t *key, char *remote,
                                                  size_t nbytes, const char **wrong)
{
    gasnete_coll_item_t *item = gasnete_coll_match_find(match, key);
    *wrong = NULL;
    if (item == NULL) return NULL;
    if (item->state != GASNETE_COLL_WAITING)
        *wrong = "tag (announced twice)";
    else if (item->nbytes != nbytes)
        *wrong = "length";
    if (*wrong) return NULL;
    item->state = GASNETE_COLL_SENDING;
    item->remote = remote;
    return item;
}

gasnete_coll_item_t *gasnete_coll_match_acknowledged(gasnete_coll_match_t *match,
                                                     const gasnete_coll_key_t *key,
                                                     const char **wrong)
{
    gasnete_coll_item_t *item = gasnete_coll_match_find(match, key);
    *wrong = item && item->state == GASNETE_COLL_SENDING ? NULL : "operation or tag";
    if (*wrong) return NULL;
    gasnete_coll_match_remove(match, item);
    return item;
}
