/* settings.c - the software device's table of environment variables: its rows, the parsing
 * of one value, the names suggested for wrong ones, the help text.
 *
 * Rows of every kind are made here as well, so that kinds are tested apart from what the real rows
 * happen to need.
 */
#include "other/softhca/src/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* The settings, of which each is a number or a text, as its kind says. */
static struct {
    union {
        struct shca_settings s;
        int64_t number;
        const char *text;
    };
} kept;

static bool short_text(const char *text, char *why, size_t room)
{
    snprintf(why, room, "'%s' is too long", text);
    return strlen(text) < 4;
}

static const struct gasneti_env_row
    word = {.name = "W", .kind = GASNETI_ENV_WORD, .values = "up|down|on"},
    number = {.name = "N", .kind = GASNETI_ENV_NUMBER, .least = -3, .most = 1000},
    text = {.name = "T", .kind = GASNETI_ENV_TEXT, .check = short_text},
    any = {.name = "A", .kind = GASNETI_ENV_TEXT};

static bool parse(const struct gasneti_env_row *row, const char *given, char *why)
{
    kept.number = 77;
    strcpy(why, "");
    return gasneti_env_parse(row, given, &kept.s, why, 200);
}

static void good(const struct gasneti_env_row *row, const char *given, int64_t wanted)
{
    char why[200];
    bool ok = parse(row, given, why);
    check(ok && kept.number == wanted, "%s=%s is %lld", row->name, given, (long long)wanted);
    if (!ok) check_note("%s", why);
}

static void bad(const struct gasneti_env_row *row, const char *given, const char *wanted)
{
    char why[200];
    bool ok = parse(row, given, why);
    check(!ok && !strcmp(why, wanted) && kept.number == 77, "%s=%s: %s", row->name, given, wanted);
    if (strcmp(why, wanted)) check_note("it says: %s", why);
}

static void values(void)
{
    good(&word, "up", 0);
    good(&word, "on", 2);
    bad(&word, "o", "W=o: not one of up|down|on");
    bad(&word, "up|down", "W=up|down: not one of up|down|on");
    bad(&word, "", "W=: not one of up|down|on");
    good(&word, "UP", 0);
    good(&number, "-3", -3);
    good(&number, "1000", 1000);
    good(&number, "007", 7);
    bad(&number, "1001", "N=1001: too large; the range is -3 to 1000");
    bad(&number, "-4", "N=-4: too small; the range is -3 to 1000");
    bad(&number, "", "N=: not a whole number; the range is -3 to 1000");
    bad(&number, "5x", "N=5x: not a whole number; the range is -3 to 1000");
    good(&number, " 5", 5);
    good(&number, "0x5", 5);
    bad(&number, "1-1", "N=1-1: not a whole number; the range is -3 to 1000");
    bad(&number, "99999999999999999999",
        "N=99999999999999999999: too large; the range is -3 to 1000");
    bad(&text, "four", "T: 'four' is too long");
    char why[200];
    static const char three[] = "tri";
    check(parse(&text, three, why) && kept.text == three, "an accepted text is kept as it is");
    check(parse(&any, "anything", why), "a text without a check may be anything");
    check(parse(&text, "", why) && !kept.text, "an empty text is not set");
}

static void table(void)
{
    for (size_t i = 0; i < shca_setting_count; i++) {
        const struct gasneti_env_row *row = &shca_setting_rows[i];
        struct shca_settings s;
        char why[200] = "";
        check_each(gasneti_env_parse(row, row->initial, &s, why, sizeof why),
                   "the default of %s: %s", row->name, why);
        check_each(!strncmp(row->name, "SOFTHCA", 7), "%s", row->name);
        check_each(gasneti_env_known(row->name, shca_setting_name), "%s is known", row->name);
        for (size_t j = 0; j < i; j++)
            check_each(strcmp(row->name, shca_setting_rows[j].name), "%s twice", row->name);
    }
    check_all("rows have names of their own and good defaults");
}

static void names(void)
{
    const char *near = gasneti_env_suggest("SOFTHCAA", shca_setting_name);
    check(near && !strcmp(near, "SOFTHCA"), "SOFTHCAA is near SOFTHCA");
    check(!gasneti_env_suggest("SOFTHCA_QQQQQQQQQQQQ", shca_setting_name),
          "what is far from all is near none");
    check(!gasneti_env_known("SOFTHCAA", shca_setting_name), "SOFTHCAA is not known");
}

static void help(void)
{
    char *printed;
    size_t size, longest = 0;
    FILE *f = open_memstream(&printed, &size);
    shca_settings_print(f);
    fclose(f);
    for (size_t i = 0; i < shca_setting_count; i++)
        check_each(strstr(printed, shca_setting_rows[i].name) != NULL, "%s is in the help",
                   shca_setting_rows[i].name);
    for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n"))
        if (line[0] == ' ' && strlen(line) > longest) longest = strlen(line);
    check_each(longest > 40 && longest <= 88, "the longest line has %zu columns", longest);
    check_all("the help has every variable, folded");
    free(printed);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    values();
    table();
    names();
    help();
    return check_end();
}
