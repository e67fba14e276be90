/* softhca_settings.c - fuzzes the values of the software device's environment variables.
 *
 * The first byte picks the row, the second the room for the message; the rest is the text. What is
 * refused says why within its room and changes nothing; what is accepted is accepted again.
 */
#include "other/softhca/src/settings/settings.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\x00\xff"
              "auto"),
    FUZZ_SEED("\x00\x01"
              "on|off"),
    FUZZ_SEED("\x01\x40"
              "12"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 300;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const struct gasneti_env_row *row = &shca_setting_rows[data[0] % shca_setting_count];
    size_t room = 1 + data[1];
    char *text = fuzz_text(data + 2, size - 2), *why = malloc(room);
    struct shca_settings s, before;
    if (!why) abort();
    memset(&s, 0x5a, sizeof s);
    before = s;
    memset(why, 'x', room);
    if (!gasneti_env_parse(row, text, &s, why, room)) {
        fuzz_require(memchr(why, 0, room) != NULL, "a refusal fits its room");
        fuzz_require(*why || room == 1, "a refusal says why");
        fuzz_require(!memcmp(&s, &before, sizeof s), "a refusal changes nothing");
    } else {
        struct shca_settings again = s;
        fuzz_require(gasneti_env_parse(row, text, &again, why, room), "what is good stays good");
        fuzz_require(!memcmp(&s, &again, sizeof s), "a value means one thing");
    }
    const char *near = gasneti_env_suggest(text, shca_setting_name);
    fuzz_require(!near || gasneti_env_known(near, shca_setting_name),
                 "only known names are suggested");
    free(why);
    free(text);
    return 0;
}
