/* coll_teams.c - the pure parts of teams: the members and the order of split teams; the text of
 * settings.
 */
#include <stdlib.h>
#include <string.h>

#include "extended-ref/teams/split_order.h"
#include "extended-ref/teams/tuning_text.h"
#include "tests/unit/check.h"

/* --- split --- */

static void split_once(void)
{
    enum { MOST = 40 };
    gasnete_coll_split_t entries[MOST * 3];
    gasnete_coll_seat_t seats[MOST];
    uint32_t first[MOST + 1] = {0}, size = 1 + check_below(MOST), largest = 0, images = 0, seen = 0;
    const bool several = check_below(2);
    for (uint32_t r = 0; r < size; r++) {
        const gasnete_coll_split_t one = {check_below(4), check_below(10), 0, 7};
        const uint32_t mine = several ? 1 + check_below(3) : 1;
        for (uint32_t i = 0; i < mine; i++) {
            entries[images] = one;
            entries[images].id = check_below(1000);
            if (largest < entries[images].id) largest = entries[images].id;
            images++;
        }
        first[r + 1] = images;
    }
    const uint32_t *table = several ? first : NULL;
    check_each(gasnete_coll_split_id(entries, images) == largest, "the id is not the largest");
    check_each(gasnete_coll_split_discord(entries, table, size) == size, "a discord is seen");
    for (uint32_t color = 0; color < 4; color++) {
        const uint32_t members = gasnete_coll_split_seats(entries, table, size, color, seats);
        seen += members;
        for (uint32_t i = 0; i < members; i++) {
            const gasnete_coll_split_t *entry = &entries[first[seats[i].rank]];
            check_each(entry->color == color && entry->relrank == seats[i].relrank,
                       "rank %u is in color %u", seats[i].rank, color);
            check_each(
                i == 0 || seats[i - 1].relrank < seats[i].relrank ||
                    (seats[i - 1].relrank == seats[i].relrank && seats[i - 1].rank < seats[i].rank),
                "seats %u and %u are not in order", i - 1, i);
        }
    }
    check_each(seen == size, "%u of %u nodes have a team", seen, size);
    const uint32_t one[] = {0}, color = entries[0].color;
    check_each(gasnete_coll_split_differs(entries, one, 1, color, 7) == 1 &&
                   gasnete_coll_split_differs(entries, one, 1, color + 1, 7) == 0 &&
                   gasnete_coll_split_differs(entries, one, 1, color, 8) == 0,
               "an entry with its color and digest, or not, differs or not");
    if (!several) return;
    uint32_t wrong = check_below(size);
    if (first[wrong + 1] - first[wrong] == 1) return;
    entries[first[wrong + 1] - 1].relrank++;
    check_each(gasnete_coll_split_discord(entries, table, size) == wrong, "no discord is seen");
}

/* --- settings --- */

static void text_once(void)
{
    char text[GASNETE_COLL_TUNING_BYTES];
    gasnete_coll_settings_t settings, read;
    const char *why = "";
    memset(&settings, 0, sizeof settings);
    const bool least = check_below(4) == 0; /* of each number */
    if (check_below(2)) settings.radix = 2 + (least ? 0 : check_below(UINT32_MAX - 2));
    if (check_below(2)) settings.segment = 1 + (least ? 0 : (size_t)(check_random() >> 2));
    for (int i = 0; i < 2; i++)
        if (check_below(2))
            settings.dissemination_limit[i] = 1 + (least ? 0 : (size_t)(check_random() >> 2));
    for (int kind = 0; kind < GASNETE_COLL_KINDS; kind++) {
        const gasnete_coll_plan_t plan = {.kind = (enum gasnete_coll_kind)kind, .size = 2};
        const uint32_t algorithm = check_below(GASNETE_COLL_ALGORITHMS);
        if (gasnete_coll_plan_possible(&plan, (enum gasnete_coll_algorithm)algorithm))
            settings.tree[kind] = (uint8_t)(1 + algorithm);
    }
    const size_t length = gasnete_coll_tuning_write(&settings, text);
    const unsigned line = gasnete_coll_tuning_read(text, &read, &why);
    check_each(length == strlen(text) && line == 0, "line %u: %s", line, why);
    check_each(memcmp(&settings, &read, sizeof settings) == 0, "what is read differs:\n%s", text);
}

static void bad_texts(void)
{
    static const struct {
        const char *text;
        unsigned line;
    } rows[] = {
        {"", 1},
        {"radix 4\n", 1},
        {"gasnet-coll-settings 2\n", 1},
        {"gasnet-coll-settings 1\nradix\n", 2},
        {"gasnet-coll-settings 1\n\n# fine\nradix 4x\n", 4},
        {"gasnet-coll-settings 1\nradix 1\n", 2},
        {"gasnet-coll-settings 1\nradix -2\n", 2},
        {"gasnet-coll-settings 1\nradix 4 5\n", 2},
        {"gasnet-coll-settings 1\nsegment 0", 2},
        {"gasnet-coll-settings 1\nsegment 99999999999999999999999\n", 2},
        {"gasnet-coll-settings 1\nradix 99999999999\n", 2},
        {"gasnet-coll-settings 1\ndissemination broadcast 7\n", 2},
        {"gasnet-coll-settings 1\nalgorithm scan tree\n", 2},
        {"gasnet-coll-settings 1\nalgorithm gather fast\n", 2},
        {"gasnet-coll-settings 1\nalgorithm exchange tree\n", 2},
        {"gasnet-coll-settings 1\nalgorithm gather tree today\n", 2},
        {"gasnet-coll-settings 1\nhello\n", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gasnete_coll_settings_t settings;
        const char *why = NULL;
        const unsigned line = gasnete_coll_tuning_read(rows[i].text, &settings, &why);
        check(line == rows[i].line && why, "settings, bad text %zu: line %u: %s", i, line,
              why ? why : "");
    }
    char text[400] = "gasnet-coll-settings 1\n#";
    memset(text + strlen(text), 'x', 300);
    gasnete_coll_settings_t settings;
    const char *why = NULL;
    const unsigned line = gasnete_coll_tuning_read(text, &settings, &why);
    check(line == 2 && why, "settings: a long line");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    for (int i = 0; i < 2000; i++) split_once();
    check_all("split: members, order, id");
    for (int i = 0; i < 2000; i++) text_once();
    check_all("settings are read as they were written");
    bad_texts();
    return check_end();
}
