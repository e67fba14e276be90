/* collectives.c - fuzzes gasnete_coll_match_*: messages of collectives, of any kind at any time.
 *
 * Six bytes are one message or one thing that the program does: what, its key, offset and length.
 */
#include "extended-ref/coll/match.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\0\x01\x02\0\0\x08"
              "\x02\x01\x02\0\0\x08"), /* posted, and there */
    FUZZ_SEED("\0\x01\x02\0\0\x08"
              "\x03\x01\x02\0\0\x04"
              "\x03\x01\x02\0\x04\x04"), /* in two pieces */
    FUZZ_SEED("\0\x01\x02\0\0\x20"
              "\x04\x01\x02\0\0\x20"), /* offered */
    FUZZ_SEED("\x01\x01\x02\0\0\x08"
              "\x05\x01\x02\0\0\x08"
              "\x06\x01\x02\0\0\0"), /* sent when announced */
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 600;

static gasnete_coll_match_t match;
static char memory[256];

static void post(const gasnete_coll_key_t *key, enum gasnete_coll_item_state state, size_t nbytes)
{
    if (gasnete_coll_match_find(&match, key)) return;
    gasnete_coll_item_t *item = aligned_alloc(16, (sizeof *item + 15) & ~(size_t)15);
    if (!item) abort();
    memset(item, 0, sizeof *item);
    item->key = *key, item->state = state, item->memory = memory, item->nbytes = nbytes;
    gasnete_coll_match_insert(&match, item);
}

/* An item that a function removed is in the table no more. */
static void done(gasnete_coll_item_t *item, const gasnete_coll_key_t *key)
{
    if (!item) return;
    fuzz_require(!gasnete_coll_match_find(&match, key), "what was removed is gone");
    free(item);
}

static void piece(const gasnete_coll_key_t *key, size_t offset, size_t nbytes, const char **wrong)
{
    gasnete_coll_item_t *item = gasnete_coll_match_piece(&match, key, offset, nbytes, wrong);
    if (!item) return;
    fuzz_require(item->state == GASNETE_COLL_POSTED && offset + nbytes <= item->nbytes &&
                     nbytes <= item->nbytes,
                 "a piece lies in a message that is awaited");
    memset(item->memory + offset, 0, nbytes);
    if (gasnete_coll_match_placed(&match, item, nbytes)) done(item, key);
}

static void step(const uint8_t *b)
{
    gasnete_coll_key_t key = {b[1] & 1, b[1] >> 1 & 3, b[2] & 3, b[3] & 3};
    const gasnete_coll_key_t to_sender = {key.team, key.number, key.tag,
                                          key.peer | GASNETE_COLL_TO_SENDER};
    const char *wrong = NULL;
    gasnete_coll_item_t *item = NULL;
    switch (b[0] % 7) {
    case 0:
        post(&key, GASNETE_COLL_POSTED, b[5]);
        return;
    case 1:
        post(&to_sender, GASNETE_COLL_WAITING, b[5]);
        return;
    case 2:
        item = gasnete_coll_match_whole(&match, &key, b[5], &wrong);
        if (item) fuzz_require(item->nbytes == b[5], "a whole message is all of it");
        if (!item && !wrong) post(&key, GASNETE_COLL_EARLY, b[5]);
        done(item, &key);
        break;
    case 3:
        piece(&key, b[4], b[5], &wrong);
        break;
    case 4:
        done(gasnete_coll_match_offer(&match, &key, &wrong), &key);
        break;
    case 5:
        item = gasnete_coll_match_announced(&match, &to_sender, memory, b[5], &wrong);
        if (item) fuzz_require(item->state == GASNETE_COLL_SENDING, "it is being sent");
        if (!item && !wrong) post(&to_sender, GASNETE_COLL_ANNOUNCED, b[5]);
        break;
    case 6:
        done(gasnete_coll_match_acknowledged(&match, &to_sender, &wrong), &to_sender);
        break;
    }
    fuzz_require(!wrong || *wrong, "a refusal names the field");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (; size >= 6; data += 6, size -= 6) step(data);
    for (uint32_t all = 0; all < 1u << 8; all++) /* every key that there may be */
        for (uint32_t end = 0; end < 2; end++) {
            const gasnete_coll_key_t key = {all & 1, all >> 1 & 3, all >> 3 & 3,
                                            (all >> 5 & 3) | (end ? GASNETE_COLL_TO_SENDER : 0)};
            gasnete_coll_item_t *item = gasnete_coll_match_find(&match, &key);
            if (item) gasnete_coll_match_remove(&match, item);
            free(item);
        }
    fuzz_require(match.count == 0 && !match.latest, "nothing is left");
    return 0;
}
