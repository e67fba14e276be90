/* softhca_hosts.c - fuzzes the list of hosts of the software device.
 *
 * The first byte picks file or list, the second the room for the message; the rest is the text.
 */
#include "other/softhca/src/settings/hosts.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\x00\xff"
              "10.0.0.1,10.0.0.2"),
    FUZZ_SEED("\x00\x10"
              "a,[::1], b.c-d"),
    FUZZ_SEED("\x01\xff"
              "# hosts\na\n\n b # the other\nc\r\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 400;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    size_t room = 1 + data[1];
    char *text = fuzz_text(data + 2, size - 2), *why = malloc(room);
    struct shca_hosts h = {0};
    if (!why) abort();
    memset(why, 'x', room);
    if (!shca_hosts_parse(&h, data[0] & 1, text, why, room)) {
        fuzz_require(memchr(why, 0, room) && (*why || room == 1), "a refusal says why in its room");
        fuzz_require(h.n == 0, "and leaves nothing");
    } else
        fuzz_require(h.n > 0 && h.n <= SHCA_HOSTS_MAX, "there is a host");
    for (unsigned i = 0; i < h.n; i++) {
        fuzz_require(*h.name[i] && strlen(h.name[i]) <= SHCA_HOST_NAME_MAX, "a name has a length");
        fuzz_require(shca_hosts_find(&h, h.name[i]) == (int)i, "a name is there once");
    }
    shca_hosts_hash(&h);
    shca_hosts_free(&h);
    free(why);
    free(text);
    return 0;
}
