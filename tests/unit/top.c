/* top.c - the screen of gasnetrun --top, from answers that the test writes: rates, orders, and
 * screens of any size.
 */
#include "other/launch/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

static char answers[1 << 20];

/* The answers of `size` ranks, of which each has sent more, and used less memory, than the one
 * before; the last is silent. */
static void make_answers(uint32_t size, uint32_t times)
{
    size_t used = 0;
    for (uint32_t r = 0; r + 1 < size; r++)
        used += (size_t)snprintf(
            answers + used, sizeof answers - used,
            "# rank %" PRIu32 " of %" PRIu32 " on host%" PRIu32
            ", process 1: 1.000 s after gasnet_init, on request%s\n"
            "# top %" PRIu32 " out %" PRIu32 " in 0 operations %" PRIu32 " stalls 0 cpu %" PRIu32
            " memory %" PRIu32 "\n# why %" PRIu32 " idle %" PRIu32 "\n",
            r, size, r, r == 1 ? "; it has not polled for 1 s: it computes" : "", r,
            times * (r + 1) * 1500, times * 2, times * 500, (size - r) * 1000000, r,
            r == 2 ? 12300 : 0);
    snprintf(answers + used, sizeof answers - used,
             "# rank %" PRIu32 " of %" PRIu32 " on far: no answer within 3 s: is it stopped?\n",
             size - 1, size);
}

/* Two samples, one second apart. */
static void take_both(top_t *top, uint32_t size)
{
    make_answers(size, 1);
    bool ok = top_take(top, answers, 10);
    make_answers(size, 2);
    ok = top_take(top, answers, 11) && ok;
    check(ok, "two samples of %" PRIu32 " ranks are taken", size);
}

static char *text_of(const top_t *top, unsigned columns, unsigned rows, enum top_sort sort)
{
    const top_screen_t screen = {.columns = columns, .rows = rows, .sort = sort, .job = 4711};
    return top_text(top, &screen);
}

static void contents(void)
{
    top_t top = {.now = {.time = 0}};
    take_both(&top, 5);
    char *text = text_of(&top, 80, 24, TOP_TRAFFIC);
    static const char expected[] =
        "job 4711: 5 ranks, 3 poll, 1 compute, 1 silent; 15KB/s out, 8 op/s\n"
        " RANK HOST           STATE       OUT/s   IN/s   OP/s STALL/s   IDLE  CPU    MEM\n"
        "    3 host3          polls        6.0K      0      2       0      -  50%   2.0M\n"
        "    2 host2          polls        4.5K      0      2       0  12.3s  50%   3.0M\n"
        "    1 host1          computes     3.0K      0      2       0      -  50%   4.0M\n"
        "    0 host0          polls        1.5K      0      2       0      -  50%   5.0M\n"
        "    4 far            silent          -      -      -       -      -    -      -\n"
        "by traffic (t traffic, w waiting, m memory, r rank); q quits\n";
    check(text && !strcmp(text, expected), "the rates of two samples, the busiest rank first");
    if (text && strcmp(text, expected) != 0) check_note("%s", text);
    free(text);
    static const uint32_t first[TOP_SORTS] = {
        [TOP_TRAFFIC] = 3, [TOP_WAITING] = 4, [TOP_MEMORY] = 0, [TOP_RANK] = 0};
    for (int sort = 0; sort < TOP_SORTS; sort++) {
        text = text_of(&top, 80, 24, (enum top_sort)sort);
        const char *line = text ? strchr(text, '\n') : NULL;
        line = line ? strchr(line + 1, '\n') : NULL;
        check(line && strtoul(line, NULL, 10) == first[sort], "the first rank in order %d", sort);
        free(text);
    }
    check(top_key('w') == TOP_WAITING && top_key('x') == TOP_SORTS, "keys select an order");
    text = text_of(&top, 80, 5, TOP_RANK);
    check(text && strstr(text, "\n3 ranks not shown; by rank ("),
          "ranks without a line are counted");
    free(text);
    text = text_of(&top, 80, 0, TOP_RANK);
    check(text && !strstr(text, "quits"), "what is no terminal has no keys");
    free(text);
    top_free(&top);
}

static void first_sample(void)
{
    top_t top = {.now = {.time = 0}};
    make_answers(3, 1);
    check(top_take(&top, answers, 5), "one sample is taken");
    char *text = text_of(&top, 80, 24, TOP_TRAFFIC);
    check(text &&
              strstr(text, "    0 host0          polls           -      -      -       -      - "
                           "   -   3.0M\n"),
          "of one sample there are no rates");
    free(text);
    top_free(&top);
    check(top_take(&top, "", 5), "an empty answer is taken");
    text = text_of(&top, 80, 24, TOP_TRAFFIC);
    check(text && !strncmp(text, "job 4711: 0 ranks,", 18), "and is a job without ranks");
    free(text);
    top_free(&top);
}

/* Whether the text fits the screen. */
static bool fits(const char *text, unsigned columns, unsigned rows)
{
    unsigned lines = 0;
    for (; *text; lines++) {
        const size_t length = strcspn(text, "\n");
        if (length > columns) return false;
        text += length + 1;
    }
    return lines <= rows;
}

static void sizes(void)
{
    enum { TURNS = 300 };
    bool ok = true;
    for (int turn = 0; turn < TURNS && ok; turn++) {
        top_t top = {.now = {.time = 0}};
        const uint32_t ranks = 1 + check_below(300);
        const unsigned columns = 1 + check_below(200), rows = 3 + check_below(60);
        make_answers(ranks, 1 + check_below(1000));
        top_take(&top, answers, 1);
        make_answers(1 + check_below(300), 1000 + check_below(1000000));
        top_take(&top, answers, 1 + check_below(3));
        char *text = text_of(&top, columns, rows, (enum top_sort)check_below(TOP_SORTS));
        ok = text && fits(text, columns, rows);
        if (!ok) check_note("%u columns, %u rows:\n%s", columns, rows, text ? text : "(nothing)");
        free(text);
        top_free(&top);
    }
    check(ok, "screens of any size hold their text");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    contents();
    first_sample();
    sizes();
    return check_end();
}
