/* trace_report.c - what gasnetrun --trace-report reads: lines of traces, good, wrong and random;
 * the traces of several ranks; what is kept of very many events; and texts that try to leave the
 * page.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/launch/report/report.h"
#include "tests/unit/check.h"

static const char rank_line[] =
    "{\"ph\":\"M\",\"name\":\"gasnet\",\"pid\":%u,\"args\":{\"rank\":%u,\"ranks\":%u,\"host\":"
    "\"h\","
    "\"conduit\":\"ibv\",\"mode\":\"par\",\"aligned\":true,\"began\":\"2026-11-30T23:00:00Z\"}},";

/* --- lines --- */

/* Reads a copy of the text, whose end is that of its memory. */
static bool reads(const char *text, size_t length, struct line *line, const char **why)
{
    static char *copy;
    free(copy);
    copy = malloc(length ? length : 1);
    memcpy(copy, text, length);
    return line_read(line, copy, length, why);
}

static void good_lines(void)
{
    struct line line;
    const char *why;
    const char *text =
        "{\"ph\":\"X\",\"name\":\"put_nb\",\"cat\":\"P\",\"ts\":1234.567,\"dur\":0.120,"
        "\"pid\":3,\"tid\":17,\"args\":{\"peer\":2,\"bytes\":4096,\"site\":\"a.c:12\"}},";
    check(reads(text, strlen(text), &line, &why) && line.kind == LINE_SPAN &&
              line.begin == 1234567 && line.length == 120 && line.pid == 3 && line.tid == 17 &&
              line.peer == 2 && line.bytes == 4096 && line.handler == -1 && line.site.length == 6 &&
              !line.cause.at,
          "a span");
    text = " { \"ts\" : -0.5 , \"tid\":0, \"pid\":0, \"cat\":\"H\", \"other\":null, "
           "\"name\":\"a\\\"\\u00b5"
           "\\ud83d\\ude00\\ud800\\n\", \"s\":\"t\", \"ph\":\"i\" } ";
    check(reads(text, strlen(text), &line, &why) && line.kind == LINE_MOMENT &&
              line.begin == -500 && line.name.length == 12 &&
              memcmp(line.name.at, "a\"\xc2\xb5\xf0\x9f\x98\x80\xef\xbf\xbd\n", 12) == 0,
          "a moment: keys in any order, escapes, half of a pair, a key that is not known");
    text = "{\"ph\":\"M\",\"name\":\"gasnet_end\",\"pid\":1,\"args\":{\"events\":5,\"dropped\":0}}";
    check(reads(text, strlen(text), &line, &why) && line.kind == LINE_END && line.events == 5,
          "the end of a rank");
    check(reads("[", 1, &line, &why) && line.kind == LINE_PASSED && reads("]", 1, &line, &why) &&
              reads("", 0, &line, &why),
          "brackets, and an empty line");
    text = "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,\"args\":{\"sort_index\":1}}";
    check(reads(text, strlen(text), &line, &why) && line.kind == LINE_PASSED,
          "metadata that is for viewers");
}

#define EVENT(rest) "{\"ph\":\"X\",\"name\":\"put\",\"cat\":\"P\"," rest "}"
#define AT          "\"ts\":1,\"dur\":1,"
static const struct {
    const char *text, *why;
} wrong_lines[] = {
    {"x", "no object"},
    {"[[", "no object"},
    {"{", "string is missing"},
    {"{\"ph\"}", "without a value"},
    {"{\"ph\":\"X\"", "object without its end"},
    {"{\"ph\":\"X", "string without its end"},
    {"{\"ph\":\"X\"} x", "behind the object"},
    {"{\"ph\":\"X\"},,", "behind the object"},
    {"{\"ph\":\"B\"}", "none of M, X and i"},
    {"{}", "none of M, X and i"},
    {"{\"ph\":\"X\",\"ph\":\"X\"}", "a key twice"},
    {"{\"ph\":\"\xff\"}", "not UTF-8"},
    {"{\"ph\":\"\xed\xa0\x80\"}", "not UTF-8"},
    {"{\"ph\":\"\xc3\"}", "not UTF-8"},
    {"{\"ph\":\"\x01\"}", "control character"},
    {"{\"ph\":\"\\q\"}", "unknown escape"},
    {"{\"ph\":\"\\u12g4\"}", "four hexadecimal"},
    {"{\"ph\":\"\\u12\"}", "four hexadecimal"},
    {"{\"other\":[1]}", "a number that is none"},
    {EVENT("\"dur\":1,\"pid\":0,\"tid\":0"), "without name, ts"},
    {EVENT("\"ts\":1,\"pid\":0,\"tid\":0"), "without dur"},
    {EVENT("\"ts\":1,\"dur\":-1,\"pid\":0,\"tid\":0"), "ends before it begins"},
    {EVENT("\"ts\":1e3,\"dur\":1,\"pid\":0,\"tid\":0"), "object without its end"},
    {EVENT("\"ts\":01,\"dur\":1,\"pid\":0,\"tid\":0"), "a number that is none"},
    {EVENT("\"ts\":1.,\"dur\":1,\"pid\":0,\"tid\":0"), "a number that is none"},
    {EVENT("\"ts\":9007199254741,\"dur\":1,\"pid\":0,\"tid\":0"), "out of range"},
    {EVENT("\"ts\":99999999999999999999999999,\"dur\":1,\"pid\":0,\"tid\":0"), "out of range"},
    {EVENT(AT "\"pid\":-1,\"tid\":0"), "out of range"},
    {EVENT(AT "\"pid\":65536,\"tid\":0"), "out of range"},
    {EVENT(AT "\"pid\":0,\"tid\":2147483648"), "out of range"},
    {EVENT(AT "\"pid\":0,\"tid\":0,\"args\":{\"bytes\":9007199254740992}"), "out of range"},
    {EVENT(AT "\"pid\":0,\"tid\":0,\"args\":{\"handler\":65536}"), "out of range"},
    {EVENT(AT "\"pid\":0,\"tid\":0,\"args\":{\"args\":{\"args\":{}}}"), "number that is none"},
    {EVENT(AT "\"pid\":\"0\",\"tid\":0"), "a number that is none"},
    {"{\"ph\":\"X\",\"name\":\"put\",\"cat\":\"PG\"," AT "\"pid\":0,\"tid\":0}", "no letter"},
    {"{\"ph\":\"X\",\"name\":\"put\",\"cat\":\"p\"," AT "\"pid\":0,\"tid\":0}", "no letter"},
    {"{\"ph\":\"M\",\"name\":\"gasnet\",\"pid\":0,\"args\":{\"rank\":0}}", "without rank, ranks"},
    {"{\"ph\":\"M\",\"name\":\"gasnet_end\",\"pid\":0}", "without pid, events"},
    {"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0}", "without pid, tid"},
};

static void wrong_ones(void)
{
    struct line line;
    char text[512];
    const char *why;
    for (size_t i = 0; i < sizeof wrong_lines / sizeof *wrong_lines; i++) {
        const char *wrong = wrong_lines[i].text;
        bool read = reads(wrong, strlen(wrong), &line, &why);
        check_each(!read && why && strstr(why, wrong_lines[i].why), "%s: %s", wrong,
                   read ? "taken" : why);
    }
    check_all("lines that are none, each with its reason");
    static const unsigned ranks[][2] = {{4, 4}, {0, 0}, {0, 65536}};
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text, rank_line, ranks[i][0], ranks[i][0], ranks[i][1]);
        check_each(!reads(text, strlen(text), &line, &why), "rank %u of %u", ranks[i][0],
                   ranks[i][1]);
    }
    check_all("ranks out of range");
    static const char *const times[] = {"2026-13-30T23:00:00Z", "2026-11-31T23:00:00Z", "yesterday",
                                        "2026-11-30 23:00:00Z", "2026-11-30T23:00:00.0Z"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        snprintf(text, sizeof text, rank_line, 0, 0, 4);
        char *at = strstr(text, "2026");
        snprintf(at, sizeof text - (size_t)(at - text), "%s\"}}", times[i]);
        check_each(!reads(text, strlen(text), &line, &why) && strstr(why, "began"), "%s", times[i]);
    }
    check_all("times that are none");
}

/* Good lines with bytes changed, removed and repeated: each is taken or refused with a reason, and
 * what is taken has numbers in range.  Memory beyond the line is for the sanitizers to notice. */
static void random_lines(void)
{
    static const char letters[] = "{}[]\",:\\u0-.9eXMi\x80\xc3";
    char text[512];
    for (int round = 0; round < 20000; round++) {
        struct line line;
        const char *why,
            *from = wrong_lines[check_below(sizeof wrong_lines / sizeof *wrong_lines)].text;
        if (round % 2)
            snprintf(text, sizeof text, rank_line, 1, 1, 4);
        else
            snprintf(text, sizeof text, "%s", from);
        size_t length = strlen(text);
        for (uint32_t changes = check_below(4); length && changes; changes--)
            text[check_below((uint32_t)length)] = letters[check_below(sizeof letters - 1)];
        length = length ? check_below((uint32_t)length + 1) : 0;
        bool read = reads(text, length, &line, &why);
        check_each(read || why, "no reason for %.*s", (int)length, text);
        check_each(!read || (line.pid <= INT64_C(9007199254740991) && line.length != INT64_MAX),
                   "a number out of range in %.*s", (int)length, text);
    }
    check_all("20000 random lines");
}

/* --- traces --- */

static struct trace trace;
static uint64_t number;

static void begin(size_t most)
{
    trace_begin(&trace, most);
    number = 0;
}

static bool take(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool take(const char *file, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return trace_take_line(&trace, file, ++number, text, (size_t)length);
}

static bool begins(const char *file, unsigned rank, unsigned ranks)
{
    char text[512];
    int length = snprintf(text, sizeof text, rank_line, rank, rank, ranks);
    return trace_take_line(&trace, file, ++number, text, (size_t)length);
}

static bool noted(const char *what)
{
    for (uint32_t i = 0; i < trace.note_count; i++)
        if (strstr(trace.notes[i], what)) return true;
    return false;
}

#define SPAN                                                                                       \
    "{\"ph\":\"X\",\"name\":\"put\",\"cat\":\"P\",\"ts\":%u,\"dur\":%u.%03u,\"pid\":%u,\"tid\":1," \
    "\"args\":{\"peer\":%u,\"bytes\":8}},"

static void several_ranks(void)
{
    begin(100);
    check(begins("a", 0, 4) && begins("b", 1, 4) && trace.ranks == 4, "two ranks of four");
    take("a", SPAN, 5, 1, 0, 0, 1);
    take("b", SPAN, 3, 1, 0, 1, 0);
    take("a", SPAN, 2, 9, 0, 0, 1);
    take("c", SPAN, 2, 9, 0, 2, 1);
    take("c", SPAN, 2, 9, 0, 0, 4);
    take("c", "nonsense");
    take("a",
         "{\"ph\":\"M\",\"name\":\"gasnet_end\",\"pid\":0,\"args\":{\"events\":3,\"dropped\":7}}");
    trace_end(&trace);
    check(trace.count == 3 && trace.events[0].begin == 2000 && trace.events[1].begin == 5000 &&
              trace.threads[trace.events[2].thread].rank == 1,
          "events are in the order of ranks and times");
    check(trace.malformed == 3 && noted("c:6: malformed: its rank has no first line") &&
              noted("c:7: malformed: a peer out of range") && noted("c:8: malformed: no object"),
          "malformed lines are counted, and named with file and line");
    check(noted("ranks 2, 3: no trace") && noted("rank 1: stopped before its end") &&
              noted("rank 0: some events could not be written") &&
              noted("rank 0: the number of events"),
          "what is missing is said");
    trace_free(&trace);

    begin(100);
    check(begins("a", 0, 4) && !begins("b", 0, 4) &&
              strstr(trace.error, "rank 0 begins in a and again in b"),
          "a rank twice");
    trace_free(&trace);
    begin(100);
    check(begins("a", 0, 4) && !begins("b", 1, 8) &&
              strstr(trace.error, "b is of a job of 8 ranks"),
          "files of different jobs");
    trace_free(&trace);
    begin(100);
    for (unsigned i = 0; i < 100; i++) take("a", "nonsense");
    trace_end(&trace);
    check(trace.malformed == 100 && trace.note_count == 6 && noted("100 malformed lines"),
          "a hundred malformed lines: five are named");
    trace_free(&trace);
}

static void many_events(void)
{
    enum { MOST = 1000, EVENTS = 50000, LONG = 300 };
    uint64_t lengths = 0, kept_lengths = 0, left_lengths = 0, events = 0, buckets = 0, bytes = 0;
    uint32_t longest = 0;
    begin(MOST);
    begins("a", 0, 3);
    for (unsigned i = 0; i < EVENTS; i++) {
        bool is_long = i % (EVENTS / LONG) == 7 && i / (EVENTS / LONG) < LONG;
        unsigned length = is_long ? 1000 + i : check_below(100);
        take("a", SPAN, i, length, 500, 0, 1 + i % 2);
        lengths += length * UINT64_C(1000) + 500;
    }
    trace_end(&trace);
    for (size_t i = 0; i < trace.count; i++) {
        kept_lengths += (uint64_t)trace.events[i].length;
        longest += trace.events[i].length >= 1000000;
    }
    for (uint32_t i = 0; i < trace.group_count; i++) {
        left_lengths += trace.groups[i].length;
        events += trace.groups[i].events;
        bytes += trace.groups[i].bytes;
    }
    for (uint32_t i = 0; i < TRACE_BUCKETS; i++) buckets += trace.buckets[0][i];
    check(trace.count <= MOST && trace.count >= MOST / 2, "of %d events %zu are kept", EVENTS,
          trace.count);
    check(longest == LONG, "the longest are among them");
    check(trace.count + trace.left_out == EVENTS && events == trace.left_out &&
              buckets == trace.left_out && bytes == 8 * events && trace.group_count == 2,
          "the others are in a group of each peer, and in the buckets");
    check(kept_lengths + left_lengths == lengths, "no time is lost");
    size_t sampled = trace.count - longest, expected = (EVENTS - LONG) >> trace.sampled;
    check(sampled > expected / 2 && sampled < expected * 2 + MOST / 2,
          "the sample of the short ones has its size (%zu)", sampled);
    check(noted("of 50000 events the time line has"), "the page says so");
    trace_free(&trace);
}

static void lengths_in_buckets(void)
{
    uint32_t before = trace_bucket(0);
    check(before == 0 && trace_bucket(1) == 1 && trace_bucket(4) == 9 && trace_bucket(5) == 10 &&
              trace_bucket(7) == 12 && trace_bucket(8) == 13 && trace_bucket(1000) == 40,
          "buckets");
    for (int64_t length = 1; length < INT64_C(1) << 53; length += 1 + length / 9) {
        uint32_t bucket = trace_bucket(length);
        check_each(bucket >= before && bucket < TRACE_BUCKETS, "length %" PRId64, length);
        before = bucket;
    }
    check_all("longer ones have higher buckets");
}

/* What the page has between its fixed parts. */
static char *page_data(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    bool good = to && page_write(&trace, to);
    if (to) fclose(to);
    if (!check(good && length > page_head_size + page_tail_size &&
                   memcmp(text, page_head, page_head_size) == 0,
               "the page is written"))
        return NULL;
    text[length - page_tail_size] = 0;
    memmove(text, text + page_head_size, length - page_tail_size - page_head_size + 1);
    return text;
}

static void texts_of_the_page(void)
{
    begin(100);
    begins("a", 0, 2);
    take("<b>", "nonsense");
    take("a", "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"</script><script>alert(1)</script><!-- & ' "
              "\\\" \\\\\","
              "\"cat\":\"H\",\"ts\":1.5,\"pid\":0,\"tid\":1}");
    take("a",
         "{\"ph\":\"X\",\"name\":\"</x>\",\"cat\":\"P\",\"ts\":2,\"dur\":0.2,\"pid\":0,\"tid\":1,"
         "\"args\":{\"site\":\"<img>\",\"for\":\"]]>\"}}");
    trace_end(&trace);
    char *data = page_data();
    const char *events = data ? strstr(data, "id=\"events\">") : NULL;
    int angles = 0;
    for (const char *at = data; at && *at; at++) angles += *at == '<';
    check(angles == 4, "no text of a trace ends its element (%d)", angles);
    check(data && strstr(data, "\\u003c/script\\u003e\\u003cscript\\u003ealert(1)") &&
              strstr(data, "\\u0022 \\u005c\"]"),
          "texts are escaped");
    /* The moment: 1500 ns, 0, its kind 0, no peer, bytes or handler, no texts, moment 1; the span
     * 500 ns later: 200 ns, kind 1, and texts 5 and 6. */
    static const char base64[] = "uBcAAAAAAAAAAAHoB8gBAQ";
    check(events && strncmp(events + 12, base64, sizeof base64 - 2) == 0, "events in base64");
    free(data);
    trace_free(&trace);
}

static void files(void)
{
    char text[] = "gasnet", *all = NULL;
    size_t length = 0;
    FILE *from = fmemopen(text, sizeof text - 1, "r");
    begin(10);
    check(!trace_take_file(&trace, "t", from) && strstr(trace.error, "t is no trace"), "no trace");
    fclose(from);
    trace_free(&trace);
    char brackets[] = "[\n]\n";
    from = fmemopen(brackets, sizeof brackets - 1, "r");
    begin(10);
    check(!trace_take_file(&trace, "t", from) && strstr(trace.error, "no line tells which rank"),
          "a trace of nobody");
    fclose(from);
    trace_free(&trace);
    FILE *to = open_memstream(&all, &length);
    fputs("[\n", to);
    fprintf(to, rank_line, 0, 0, 1);
    fputs("\n{\"", to);
    for (int i = 0; i < 100000; i++) putc('x', to);
    fputs("\n", to);
    fprintf(to, SPAN, 1, 2, 0, 0, 0);
    fputs("\n{\"ph\":\"X\",\"na", to);
    fclose(to);
    from = fmemopen(all, length, "r");
    begin(10);
    check(trace_take_file(&trace, "t", from) && trace.count == 1 && trace.malformed == 2 &&
              noted("t:3: malformed: it is longer") && noted("t:5: malformed: a string without"),
          "a line that is too long, and one that is cut");
    fclose(from);
    free(all);
    trace_free(&trace);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    good_lines();
    wrong_ones();
    random_lines();
    several_ranks();
    many_events();
    lengths_in_buckets();
    texts_of_the_page();
    files();
    return check_end();
}
