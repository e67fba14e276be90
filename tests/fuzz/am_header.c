/* am_header.c - fuzzes am_parse: whatever arrives, nothing outside it is read, and what is
 * accepted lies inside it.
 */
#include "core/am/am_wire.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/am_parse.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\x04\x80\0\0\0\0\0\0"),                       /* Short Request */
    FUZZ_SEED("\x18\x81\x01\0\0\0\0\0abcdefghijkl\0\0\0\0"), /* Short, 3 arguments */
    FUZZ_SEED("\0\0\x02\x02\0\0\0\0"),                       /* hidden Reply */
    FUZZ_SEED("\x0d\x90\x01\0\x05\0\0\0abcd\0\0\0\0hello"),  /* Medium, 1 argument */
    FUZZ_SEED("\x16\x90\x01\0\0\0\0\x40\x10\x20\x30\x40\x50\x60\0\0abcdefgh"), /* Long */
    FUZZ_SEED("\x06\x90\x01\x01\x03\0\0\0\x10\x20\x30\x40\x50\x60\0\0xyz"),    /* packed Long */
    FUZZ_SEED("\x84\xff\0\0\0\0\0\0aaaabbbbccccddddeeeeffffgggghhhhiiiijjjjkkkkllllmmmmnnnnoooo"
              "pppp"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 300;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *message = fuzz_copy(data, size), *end = message + size;
    gasnetc_am_t am;
    const char *wrong = am_parse(message, size, &am);
    if (wrong) {
        fuzz_require(*wrong != 0, "a refusal names the field");
        free(message);
        return 0;
    }
    const int32_t *args = gasnetc_am_args(&am, message);
    uint8_t *payload = gasnetc_am_payload(&am, message);
    size_t carried = am.category == GASNETC_AM_MEDIUM || am.packed ? am.nbytes : 0;
    fuzz_require(am.category <= GASNETC_AM_LONG && am.numargs <= GASNETC_AM_MAX_ARGS,
                 "category and argument count are possible");
    fuzz_require(payload <= end && (size_t)(end - payload) == carried,
                 "the payload is what is left of the message");
    fuzz_require((const uint8_t *)args >= message + 8 &&
                     (const uint8_t *)(args + am.numargs) <= payload,
                 "the arguments lie between header and payload");
    fuzz_require(gasnetc_am_prefix(am.category, am.numargs) + carried == size,
                 "the parts are as long as the message");
    fuzz_require(!am.hidden || (!am.request && am.category == GASNETC_AM_SHORT),
                 "only Short Replies are hidden");
    fuzz_require(!am.packed || am.category == GASNETC_AM_LONG, "only Longs are packed");
    fuzz_touch(args, am.numargs * 4u);
    fuzz_touch(payload, carried);
    free(message);
    return 0;
}
