/* param_values.c - fuzzes the parsing of parameters' values and the search for names like a wrong
 * one.
 *
 * The first byte picks the row, the second the room for the message; the rest is the text.  What is
 * accepted must lie in the row's range, and plain digits must mean what they say, of bytes or of
 * megabytes.
 */
#include "core/params/params.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\x05\xff"
              "64"),
    FUZZ_SEED("\x05\x40"
              "1.5GB"),
    FUZZ_SEED("\x06\xff"
              "0x10K"),
    FUZZ_SEED("\x07\x20"
              "-1"),
    FUZZ_SEED("\x12\xff"
              "1/4"),
    FUZZ_SEED("\x13\xff"
              "0.25e1"),
    FUZZ_SEED("\x18\xff"
              "yes"),
    FUZZ_SEED("\x18\x01"
              "N"),
    FUZZ_SEED("\x07\xff"
              "16 MiB"),
    FUZZ_SEED("\x07\xff"
              "9223372036854775807"),
    FUZZ_SEED("\x01\xff"
              "GASNET_AM_CREDITS_PP"),
    FUZZ_SEED("\x01\xff"
              "GASNET_NETWORKDEPTH"),
    FUZZ_SEED("\x05\xff"
              "0.45/H"),
    FUZZ_SEED("\x05\xff"
              "1/4/P"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 150;

static double value_of(const gasnetc_param_t *row, const gasnetc_params_t *p)
{
    const char *field = (const char *)p + row->offset;
    if (row->kind == GASNETI_ENV_BOOLEAN) return *(const bool *)field;
    if (row->kind == GASNETI_ENV_SECONDS) return *(const double *)(const void *)field;
    if (row->kind == GASNETI_ENV_MEMORY)
        return ((const struct gasneti_memory *)(const void *)field)->amount;
    return (double)*(const int64_t *)(const void *)field;
}

static void value(const gasnetc_param_t *row, const char *text, size_t room)
{
    gasnetc_params_t p = gasnetc_params;
    char *why = malloc(room);
    memset(why, 'x', room);
    if (!gasneti_env_parse(row, text, &p, why, room)) {
        fuzz_require(memchr(why, 0, room) != NULL, "a refusal fits its room");
    } else if (row->kind == GASNETI_ENV_TEXT) {
        const char *kept = *(const char **)(void *)((char *)&p + row->offset);
        fuzz_require(*text ? kept == text : !kept, "a text is kept as it is");
    } else {
        const double got = value_of(row, &p);
        const double unit = row->kind == GASNETI_ENV_MEGABYTES ? 1 << 20 : 1;
        const bool ranged = row->most > row->least;
        const bool whole = row->power && got < 0x1p63;
        if (ranged)
            fuzz_require(got >= row->least && got <= row->most, "an accepted value is in range");
        if (whole) fuzz_require(((int64_t)got & ((int64_t)got - 1)) == 0, "it is a power of two");
        if (row->values)
            fuzz_require(strstr(row->values, "|") && got >= 0 && got < 5, "it is one of the words");
        if (ranged && text[strspn(text, "0123456789")] == 0)
            fuzz_require(!*text || got == strtod(text, NULL) * unit, "digits mean what they say");
    }
    free(why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    char *text = fuzz_text(data + 2, size - 2);
    value(&gasnetc_param_table[data[0] % gasnetc_param_count], text, 1 + data[1]);
    gasnetc_param_known(text);
    const char *near = gasneti_env_suggest(text, gasnetc_param_name);
    fuzz_require(!near || (*near && gasnetc_param_known(near)), "only known names are suggested");
    free(text);
    return 0;
}
