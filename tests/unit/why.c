/* why.c - the report of gasnetrun --why, from answers that the test writes: chains, cycles, silent
 * ranks, and answers that are cut, mixed or random.
 */
#include "other/launch/why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

static char answers[1 << 22];
static size_t used;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    used += (size_t)vsnprintf(answers + used, sizeof answers - used, format, args);
    va_end(args);
}

static void begin(void)
{
    used = 0;
    answers[0] = 0;
}

/* The head of a rank's answer. */
static void head(uint32_t rank, uint32_t size, const char *when)
{
    add("# rank %" PRIu32 " of %" PRIu32 " on h%" PRIu32 ", process %" PRIu32
        ": 1.000 s after gasnet_init, on request%s\n",
        rank, size, rank / 2, 100 + rank, when);
}
static const char quiet[] = "; it has not polled for 1 s: it computes, sleeps or is stuck";

/* Whether the report has the lines, in this order. */
static void reports(const char *name, bool all, const char *const *lines)
{
    char *text = why_report(answers, all ? WHY_ALL : WHY_SHORT);
    const char *at = text;
    bool ok = text;
    for (; ok && *lines; lines++) {
        const char *found = strstr(at, *lines);
        ok = found;
        if (found) at = found + strlen(*lines);
    }
    if (!check(ok, "%s", name)) {
        if (*lines) check_note("missing: %s", *lines);
        check_note("%s", text ? text : "(nothing)");
    }
    free(text);
}
#define REPORTS(name, ...) reports(name, false, (const char *const[]){__VA_ARGS__, NULL})

static void barriers(void)
{
    begin();
    for (uint32_t r = 0; r < 4; r++) {
        head(r, 4, r == 2 ? quiet : "");
        add("# why %" PRIu32 " barrier 0 %s %d\n", r, r == 2 ? "outside" : "inside", r != 2);
    }
    REPORTS("a rank that computes is waited for in a barrier",
            "4 ranks: 3 wait for others, 1 do not poll, 0 do not answer\n",
            "ranks 0-1 and 3 wait in the barrier of all ranks for rank 2\n",
            "  rank 2 (process 102 on h1) has not polled for 1 s: it computes");
    add("3 2 in_flight_now 1 operations\n");
    REPORTS("what is in flight is said of a rank that waits in a barrier too",
            "ranks 0-1 and 3 wait in the barrier of all ranks for rank 2\n",
            "    rank 3: puts, gets or messages to rank 2 are not complete\n", "  rank 2 (");
    begin();
    for (uint32_t r = 0; r < 3; r++) {
        head(r, 3, r == 1 ? quiet : "");
        add("# why %" PRIu32 " barrier 0 inside 1\n", r);
    }
    REPORTS("a rank that has notified and computes holds a barrier up too",
            "ranks 0 and 2 wait in the barrier of all ranks for rank 1\n", "  rank 1 (");
    begin();
    for (uint32_t r = 0; r < 3; r++) {
        head(r, 3, "");
        add("# why %" PRIu32 " barrier 0 inside 0\n", r);
    }
    REPORTS("all have notified",
            "ranks 0-2 wait in the barrier of all ranks, which all that answer have notified\n");
    begin();
    for (uint32_t r = 0; r < 3; r++) {
        head(r, 5, "");
        add("# why %" PRIu32 " barrier 0 outside 0\n# why %" PRIu32 " team 7 0-3\n# why %" PRIu32
            " barrier 7 inside 1 %d\n",
            r, r, r, r == 1 ? 3 : 0);
    }
    add("# rank 3 of 5 on h1: no answer within 3 s: is it stopped?\n");
    add("# rank 4 of 5 on h2: no answer within 3 s: is it stopped?\n");
    REPORTS("a member of a team that does not answer, and a rank that may be none",
            "ranks 0-2 wait in the barrier of team 7 (ranks 0-3) for rank 3\n",
            "  ranks 3-4 (on h1; on h2) do not answer: are they stopped");
    begin();
    for (uint32_t r = 0; r < 6; r++) {
        head(r, 6, r == 5 ? quiet : "");
        add("# why %" PRIu32 " team 9 %s\n", r, r % 2 ? "1,3,5" : "0,2,4");
        add("# why %" PRIu32 " collectives 9 %d %d\n", r, r == 4 || r == 5 ? 2 : 3, r < 4);
        if (r == 4) add("# why 4 barrier 0 inside 1\n# why 4 idle 2500\n");
    }
    add("# why 1 idle 7000\n# why 3 idle 6500\n");
    add("# why 3 stack 103 a<b<main\n# why 3 stack 203 sleep\n# why 5 stack 105 work<main\n");
    REPORTS(
        "two teams with the same id, with the times and the functions",
        "ranks 0 and 2 wait in collective operation 3 of team 9 (ranks 0,2,4) for rank 4, where "
        "fewer have begun\n",
        "  rank 4 (process 104 on h2) waits in the barrier of all ranks",
        "; nothing has arrived for 2.5 s\n",
        "ranks 1 and 3 wait in collective operation 3 of team 9 (ranks 1,3,5) for rank 5, where "
        "fewer have begun; nothing has arrived for 6.5 s\n",
        "        rank 3, thread 103: in a < b < main\n        rank 3, thread 203: in sleep\n",
        "      rank 5 (process 105 on h2) has not polled for 1 s",
        "          rank 5, thread 105: in work < main\n");
    char *text = NULL;
    begin();
    head(1, 4, "");
    add("# why 1 barrier 0 inside 1\n# why 1 stack 101 a<b<c<d<e<f<g<h<i<j<k<l<m<main\n");
    text = why_report(answers, WHY_ONE_RANK);
    check(text &&
              !strcmp(text, "rank 1 (process 101 on h0) waits in the barrier of all ranks\n"
                            "    rank 1, thread 101: in a < b < c < d < e < f < g < h < i < j < "
                            "k < l < m < main\n"),
          "one rank, of which no other is known: %u bytes", text ? (unsigned)strlen(text) : 0);
    free(text);
    REPORTS("of many functions the first are printed", "k < l < ...\n");
}

static void chain(void)
{
    begin();
    head(0, 4, "");
    add("# why 0 stall credit 3 12000\n");
    head(1, 4, "");
    add("     1      2 in_flight_now                         3 operations\n");
    head(2, 4, "");
    add("# why 2 stall connection 0 500\n");
    add("# rank 3 of 4 on h1: no answer within 3 s: is it stopped, or its host out of reach?\n");
    REPORTS("a chain of four ranks", "1 do not answer",
            "\nrank 1 (process 101 on h0) polls, with puts, gets or messages in flight to rank 2",
            "\n  rank 2 (process 102 on h1) waits 0.5 s for the connection to rank 0",
            "\n    rank 0 (process 100 on h0) waits 12.0 s for a credit for Requests to rank 3",
            "\n      rank 3 (on h1) does not answer: is it stopped");
    begin();
    head(0, 3, "");
    add("# why 0 barrier 0 inside 1\n# why 0 collectives 1 4 0\n");
    head(1, 3, "");
    add("# why 1 collectives 1 5 1\n# why 1 barrier 0 outside 0\n");
    head(2, 3, quiet);
    add("# why 2 barrier 0 inside 1\n# why 2 collectives 1 4 0\n# why 2 lock 7 8\n");
    REPORTS("a cycle, of a barrier and one collective too many", "a cycle of waits:\n",
            "rank 0 (process 100 on h0) waits in the barrier of all ranks for rank 1\n",
            "  rank 1 (process 101 on h0) waits in collective operation 5 of GASNET_TEAM_ALL for "
            "ranks 0 and 2, where fewer have begun\n",
            "    rank 2 (process 102 on h1) has not polled for 1 s: its thread 7 waits for a lock "
            "that its thread 8 holds\n",
            "    rank 0, named above: a cycle\n");
    begin();
    head(0, 3, quiet);
    for (uint32_t r = 1; r < 3; r++) {
        head(r, 3, "");
        add("# why %" PRIu32 " barrier 0 %s\n", r, r == 1 ? "inside 1" : "outside 0");
    }
    add("# why 2 stall slot 0 10\n");
    REPORTS("the longest chain is printed first", "rank 1 (", "  rank 2 (process 102 on h1) waits",
            "    rank 0 (process 100 on h0) has not polled");
}

static void states(void)
{
    begin();
    head(0, 9, "");
    add("     0    all credits_now                          31 credits\n");
    add("     0      7 credits                              32 credits\n");
    add("     0      7 credits_now                          31 credits\n");
    head(1, 9, quiet);
    add("# why 1 handlers 1\n");
    add("# rank 2 of 9 on h1: has not joined the job yet\n# rank 3 of 9: has no counters yet\n");
    head(4, 9, ", before gasnet_attach");
    head(5, 9, ", while it ends");
    add("# rank 6 of 9: has ended\n");
    head(7, 9, "");
    add("# why 7 stall bounce-buffer - 10\n");
    REPORTS("other states", "rank 5 (process 105 on h2) waits in an exit for ranks 0-4 and 7\n",
            "  rank 0 (process 100 on h0) polls, and waits for a message or a condition of the "
            "program; Requests to rank 7 have not returned their credits\n",
            "  rank 1 (process 101 on h0) has not polled for 1 s: a handler has not returned\n",
            "  rank 2 (on h1) has not called gasnet_init\n", "  rank 3 is in gasnet_init, or",
            "  rank 4 (process 104 on h2) has not left gasnet_attach",
            "  rank 7 (process 107 on h3) waits 0.0 s for a bounce buffer",
            "\nrank 6 has ended, or is about to", "\nrank 8 is not on this machine, or has ended");
}

static void many(void)
{
    enum { RANKS = 1000, LONG = 5000 };
    begin();
    for (uint32_t r = 0; r < RANKS; r++) {
        head(r, RANKS, "");
        add("# why %" PRIu32 " stall credit %" PRIu32 " 1\n", r, (r + 1) % RANKS);
    }
    char *text = why_report(answers, WHY_SHORT), *whole = why_report(answers, WHY_ALL);
    unsigned lines = 0, of_whole = 0;
    for (const char *at = text; at && *at; at++) lines += *at == '\n';
    for (const char *at = whole; at && *at; at++) of_whole += *at == '\n';
    check(lines == WHY_LINES + 1 && text && strstr(text, "and 943 more lines, which -v"),
          "of a cycle of %d ranks a screen is printed: %u lines", RANKS, lines);
    check(of_whole == RANKS + 3 && strstr(whole, "rank 0, named above: a cycle\n"),
          "and all of it on request: %u lines", of_whole);
    free(text);
    free(whole);
    begin();
    for (uint32_t r = 0; r < LONG; r++) {
        head(r, LONG, "");
        if (r + 1 < LONG) add("# why %" PRIu32 " stall slot %" PRIu32 " 1\n", r, r + 1);
    }
    reports("a chain of more ranks than are followed", true,
            (const char *const[]){"rank 0 (", "rank 4999 (", NULL});
    begin();
    for (uint32_t r = 0; r < RANKS; r++) {
        head(r, RANKS, r % 2 ? quiet : "");
        add("# why %" PRIu32 " barrier 0 %s 0\n", r, r % 2 ? "outside" : "inside");
    }
    REPORTS("a list of ranks that is too long is cut", "ranks 0, 2, 4,", "...", "ranks 1, 3,");
}

/* Answers of which parts are cut, repeated or replaced; the report may be anything. */
static void malformed(void)
{
    static const char *const pieces[] = {"# rank ",
                                         "of ",
                                         "4294967295 ",
                                         "0 ",
                                         "3 ",
                                         "-1 ",
                                         "\n",
                                         "# why ",
                                         "stall ",
                                         "credit ",
                                         "lock ",
                                         "barrier ",
                                         "inside ",
                                         "collectives ",
                                         "on request",
                                         ", process",
                                         "%s%n ",
                                         "in_flight_now ",
                                         "handlers",
                                         "idle ",
                                         "team ",
                                         "0-3,5",
                                         "stack ",
                                         "a<b<",
                                         "credits ",
                                         "credits_now ",
                                         "on h",
                                         "7 ",
                                         "99999999999999999999 "};
    enum { PIECES = sizeof pieces / sizeof *pieces, TURNS = 2000 };
    bool ok = true;
    for (int turn = 0; turn < TURNS; turn++) {
        begin();
        if (check_below(4)) head(0, 4, quiet);
        if (check_below(4)) head(3, 4, "");
        for (uint32_t n = check_below(200); n > 0; n--) {
            const char *piece = pieces[check_below(PIECES)];
            add("%s", piece);
            if (check_below(20) == 0 && used) answers[--used] = (char)(1 + check_below(255));
        }
        char *text = why_report(answers, (enum why_extent)(turn % 3));
        ok = ok && text;
        free(text);
    }
    check(ok, "random answers have reports");
    begin();
    REPORTS("no answer at all", "0 ranks: ");
    add("# rank 0 of 4294967295 on h: has ended\n# why 0 polls\n");
    REPORTS("a job that is too large to be true", "0 ranks: ");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    barriers();
    chain();
    states();
    many();
    malformed();
    return check_end();
}
