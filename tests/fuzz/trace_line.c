/* trace_line.c - fuzzes lines of traces: one is refused with a reason, or its numbers are in range
 * and its texts lie within it.
 */
#include "other/launch/report/line.h"
#include "tests/fuzz/fuzz.h"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("{\"ph\":\"M\",\"name\":\"gasnet\",\"pid\":1,\"args\":{\"rank\":1,\"ranks\":2,"
              "\"host\":\"h\","
              "\"conduit\":\"ibv\",\"mode\":\"par\",\"aligned\":true,\"began\":\"2026-11-30T23:00:"
              "00Z\"}},"),
    FUZZ_SEED(
        "{\"ph\":\"X\",\"name\":\"put_nb\",\"cat\":\"P\",\"ts\":1234.567,\"dur\":0.120,\"pid\":1,"
        "\"tid\":2,\"args\":{\"peer\":0,\"bytes\":8,\"team\":\"0\",\"site\":\"a.c:1\"}},"),
    FUZZ_SEED("{\"ph\":\"i\",\"s\":\"t\",\"name\":\"\\u00b5 \\ud83d\\ude00 "
              "\\\"\",\"cat\":\"H\",\"ts\":-1.5,"
              "\"pid\":1,\"tid\":2}"),
    FUZZ_SEED(
        "{\"ph\":\"M\",\"name\":\"gasnet_end\",\"pid\":1,\"args\":{\"events\":7,\"dropped\":0}}"),
    FUZZ_SEED("["),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 400;

static void within(const char *text, size_t size, struct line_text part)
{
    fuzz_require(!part.at || (part.at >= text && part.at + part.length <= text + size),
                 "a text lies in the line");
    for (size_t i = 0; i < part.length; i++) fuzz_require(part.at[i], "a text has no null byte");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct line line;
    const char *why;
    char *text = fuzz_text(data, size);
    if (!line_read(&line, text, size, &why)) {
        fuzz_require(why && *why, "a refusal says why");
    } else if (line.kind == LINE_SPAN || line.kind == LINE_MOMENT) {
        fuzz_require(line.pid >= 0 && line.pid <= LINE_RANKS_MAX,
                     "the rank of an event is in range");
        fuzz_require(line.kind == LINE_MOMENT || line.length >= 0, "no span is negative");
        within(text, size, line.name);
        within(text, size, line.site);
        within(text, size, line.cause);
        within(text, size, line.team);
    } else if (line.kind == LINE_RANK) {
        fuzz_require(line.rank >= 0 && line.rank < line.ranks, "a rank is in range");
        within(text, size, line.host);
        within(text, size, line.began);
    }
    free(text);
    return 0;
}
