/* softhca_settings.c - the software device's table of environment variables: its rows, the parsing
 * of one value, the names suggested for wrong ones, the help text.
 *
 * Rows of every kind are made here as well, so that kinds are tested apart from what the real rows
 * happen to need.
 */
#include "other/softhca/device/settings.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* The same place holds a number or a text, as the kind says. */
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

static const struct shca_setting word = {.name = "W", .kind = SHCA_WORD, .values = "up|down|on"},
                                 number = {.name = "N", .kind = SHCA_NUMBER, .values = "-3..1000"},
                                 text = {.name = "T", .kind = SHCA_TEXT, .check = short_text},
                                 any = {.name = "A", .kind = SHCA_TEXT};

static bool parse(const struct shca_setting *row, const char *given, char *why)
{
    kept.number = 77;
    strcpy(why, "");
    return shca_setting_parse(row, given, &kept.s, why, 200);
}

static void good(const struct shca_setting *row, const char *given, int64_t wanted)
{
    char why[200];
    bool ok = parse(row, given, why);
    check(ok && kept.number == wanted, "%s=%s is %lld", row->name, given, (long long)wanted);
    if (!ok) check_note("%s", why);
}

static void bad(const struct shca_setting *row, const char *given, const char *wanted)
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
    bad(&word, "o", "'o' is none of up|down|on");
    bad(&word, "up|down", "'up|down' is none of up|down|on");
    bad(&word, "", "'' is none of up|down|on");
    bad(&word, "UP", "'UP' is none of up|down|on");
    good(&number, "-3", -3);
    good(&number, "1000", 1000);
    good(&number, "007", 7);
    bad(&number, "1001", "'1001' is not a whole number in -3..1000");
    bad(&number, "-4", "'-4' is not a whole number in -3..1000");
    bad(&number, "", "'' is not a whole number in -3..1000");
    bad(&number, "5x", "'5x' is not a whole number in -3..1000");
    bad(&number, " 5", "' 5' is not a whole number in -3..1000");
    bad(&number, "0x5", "'0x5' is not a whole number in -3..1000");
    bad(&number, "1-1", "'1-1' is not a whole number in -3..1000");
    bad(&number, "99999999999999999999",
        "'99999999999999999999' is not a whole number in -3..1000");
    bad(&text, "four", "'four' is too long");
    char why[200];
    static const char three[] = "tri";
    check(parse(&text, three, why) && kept.text == three, "an accepted text is kept as it is");
    check(parse(&any, "anything", why), "a text without a check may be anything");
    check(parse(&text, "", why) && !kept.text, "an empty text is not set");
}

static void table(void)
{
    for (size_t i = 0; i < shca_setting_count; i++) {
        const struct shca_setting *row = &shca_setting_rows[i];
        struct shca_settings s;
        char why[200] = "";
        check_each(shca_setting_parse(row, row->initial, &s, why, sizeof why),
                   "the default of %s: %s", row->name, why);
        check_each(!strncmp(row->name, "SOFTHCA", 7), "%s", row->name);
        check_each(shca_setting_known(row->name), "%s is known", row->name);
        for (size_t j = 0; j < i; j++)
            check_each(strcmp(row->name, shca_setting_rows[j].name), "%s twice", row->name);
    }
    check_all("rows have names of their own and good defaults");
}

static void names(void)
{
    const char *near = shca_setting_suggest("SOFTHCAA");
    check(near && !strcmp(near, "SOFTHCA"), "SOFTHCAA is near SOFTHCA");
    check(!shca_setting_suggest("SOFTHCA_QQQQQQQQQQQQ"), "what is far from all is near none");
    check(!shca_setting_known("SOFTHCAA"), "SOFTHCAA is not known");
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
