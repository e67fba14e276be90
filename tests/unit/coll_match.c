/* coll_match.c - unit test of extended-ref/coll/match.c: which message belongs to which operation,
 * what is refused, and a random mixture of thousands of items against a model.
 */
#include <stdlib.h>
#include <string.h>

#include "extended-ref/coll/match.h"
#include "tests/unit/check.h"

static gasnete_coll_match_t match;

static gasnete_coll_item_t *add(gasnete_coll_key_t key, enum gasnete_coll_item_state state,
                                size_t nbytes)
{
    gasnete_coll_item_t *item = aligned_alloc(16, (sizeof *item + 15) & ~(size_t)15);
    memset(item, 0, sizeof *item);
    item->key = key;
    item->state = state;
    item->nbytes = nbytes;
    gasnete_coll_match_insert(&match, item);
    return item;
}

static void whole_messages(void)
{
    const gasnete_coll_key_t key = {1, 7, 3, 2};
    gasnete_coll_key_t other = key;
    const char *wrong = "";
    check(gasnete_coll_match_whole(&match, &key, 8, &wrong) == NULL && wrong == NULL,
          "a message that nobody awaits is early");
    gasnete_coll_item_t *item = add(key, GASNETE_COLL_POSTED, 8);
    check(gasnete_coll_match_whole(&match, &key, 9, &wrong) == NULL && !strcmp(wrong, "length"),
          "a message of another length is refused");
    other.tag = 4;
    check(gasnete_coll_match_whole(&match, &other, 8, &wrong) == NULL && wrong == NULL,
          "another tag is another message");
    other = key, other.peer = 3;
    check(gasnete_coll_match_find(&match, &other) == NULL, "another sender's too");
    other = key, other.number = 8;
    check(gasnete_coll_match_find(&match, &other) == NULL, "and another operation's");
    other = key, other.team = 2;
    check(gasnete_coll_match_find(&match, &other) == NULL, "and another team's");
    check(gasnete_coll_match_whole(&match, &key, 8, &wrong) == item && wrong == NULL,
          "the posted item is found");
    check(gasnete_coll_match_find(&match, &key) == NULL, "and is removed");
    item->state = GASNETE_COLL_EARLY;
    gasnete_coll_match_insert(&match, item);
    check(gasnete_coll_match_whole(&match, &key, 8, &wrong) == NULL && wrong,
          "a second message with the key of an early one is refused");
    gasnete_coll_match_remove(&match, item);
    free(item);
}

static void pieces(void)
{
    const gasnete_coll_key_t key = {1, 8, 0, 5};
    const char *wrong;
    check(gasnete_coll_match_piece(&match, &key, 0, 10, &wrong) == NULL && wrong,
          "a piece of a message that is not posted is refused");
    gasnete_coll_item_t *item = add(key, GASNETE_COLL_POSTED, 100);
    check(gasnete_coll_match_piece(&match, &key, 90, 10, &wrong) == item && !wrong,
          "a piece at the end belongs to it");
    check(!gasnete_coll_match_piece(&match, &key, 0, 91, &wrong) && wrong,
          "what it claims no other piece does, before it is copied");
    check(!gasnete_coll_match_placed(&match, item, 10), "and does not complete it");
    check(!gasnete_coll_match_piece(&match, &key, 0, 0, &wrong) && !strcmp(wrong, "length"),
          "a piece of nothing is refused");
    check(!gasnete_coll_match_piece(&match, &key, 91, 10, &wrong) && !strcmp(wrong, "offset"),
          "a piece that exceeds it is refused");
    check(!gasnete_coll_match_piece(&match, &key, SIZE_MAX, 2, &wrong) && wrong,
          "an offset outside too");
    check(!gasnete_coll_match_piece(&match, &key, 0, 95, &wrong) && wrong,
          "and more bytes than are missing");
    check(!gasnete_coll_match_offer(&match, &key, &wrong) && wrong,
          "no offer for a message that has begun to arrive");
    check(gasnete_coll_match_piece(&match, &key, 0, 90, &wrong) == item &&
              gasnete_coll_match_placed(&match, item, 90),
          "the last piece completes it");
    check(gasnete_coll_match_find(&match, &key) == NULL, "and removes it");
    free(item);
}

static void large_messages(void)
{
    const gasnete_coll_key_t key = {1, 9, 1, 4 | GASNETE_COLL_TO_SENDER};
    const gasnete_coll_key_t receiver = {1, 9, 1, 4};
    const char *wrong;
    char memory[1];
    check(!gasnete_coll_match_acknowledged(&match, &key, &wrong) && wrong,
          "an acknowledgement of nothing is refused");
    check(!gasnete_coll_match_announced(&match, &key, memory, 50, &wrong) && !wrong,
          "an announcement before the message is sent is early");
    gasnete_coll_item_t *item = add(key, GASNETE_COLL_WAITING, 50);
    check(gasnete_coll_match_find(&match, &receiver) == NULL,
          "the sender's item is not the receiver's");
    check(!gasnete_coll_match_acknowledged(&match, &key, &wrong) && wrong,
          "an acknowledgement before the announcement is refused");
    check(!gasnete_coll_match_announced(&match, &key, memory, 51, &wrong) && wrong,
          "an announcement of another length is refused");
    check(gasnete_coll_match_announced(&match, &key, memory, 50, &wrong) == item && !wrong &&
              item->remote == memory,
          "the announcement is taken");
    check(!gasnete_coll_match_announced(&match, &key, memory, 50, &wrong) && wrong,
          "a second one is refused");
    item->state = GASNETE_COLL_COPYING;
    check(!gasnete_coll_match_acknowledged(&match, &key, &wrong) && wrong,
          "what goes in Mediums is not acknowledged");
    item->state = GASNETE_COLL_SENDING;
    check(gasnete_coll_match_acknowledged(&match, &key, &wrong) == item && !wrong,
          "the acknowledgement ends it");
    free(item);
    item = add(receiver, GASNETE_COLL_POSTED, 50);
    check(gasnete_coll_match_offer(&match, &receiver, &wrong) == item && !wrong &&
              !gasnete_coll_match_find(&match, &receiver),
          "an offer takes the posted item");
    free(item);
}

enum { KEYS = 20000 };

/* Each key is in the table or not; one is changed at a time.  */
static void many(void)
{
    static gasnete_coll_item_t *items[KEYS];
    unsigned wrong = 0;
    uint32_t state = 12345;
    for (int i = 0; i < 20 * KEYS; i++) {
        state = state * 1664525u + 1013904223u;
        const uint32_t k = (state >> 8) % KEYS;
        const gasnete_coll_key_t key = {k % 3, k / 12, k / 3 % 2, k / 6 % 2};
        wrong += gasnete_coll_match_find(&match, &key) != items[k];
        if (items[k]) {
            gasnete_coll_match_remove(&match, items[k]);
            free(items[k]);
            items[k] = NULL;
        } else {
            items[k] = add(key, GASNETE_COLL_POSTED, 1);
        }
    }
    check(wrong == 0, "20000 keys, inserted and removed at random: %u not found", wrong);
    for (int k = 0; k < KEYS; k++)
        if (items[k]) gasnete_coll_match_remove(&match, items[k]), free(items[k]);
    check(match.count == 0 && match.latest == NULL, "the table is empty in the end");
    free(match.lists);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    whole_messages();
    pieces();
    large_messages();
    many();
    return check_end();
}
