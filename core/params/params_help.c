/* params_help.c - the table of params.def as text, for `gasnetrun_... --help-env`.
 *
 * Linked into the launcher alone, which knows it by its name and nothing else of the core.  Without
 * a range: where it matters the sentence of help tells it, and an error message always does.
 */
#include <stdbool.h>
#include <stdio.h>

#define GASNETC_DEFAULT_SPARES 2(4 in PAR)
#define TEXT_OF_(x)            #x
#define TEXT_OF(x)             TEXT_OF_(x)

#define DEFAULT_NUMBER(x)   TEXT_OF(x)
#define DEFAULT_SIZE(x)     TEXT_OF(x)
#define DEFAULT_SECONDS(x)  TEXT_OF(x)
#define DEFAULT_FRACTION(x) TEXT_OF(x)
#define DEFAULT_BOOLEAN(x)  (x) ? "yes" : "no"
#define DEFAULT_TEXT(x)     "not set"

static const struct row {
    const char *name, *alias, *initial, *help;
    bool same;
} rows[] = {
#define PARAM(field, type, name, alias, initial, least, most, same, help)                          \
    {name, alias, DEFAULT_##type(initial), help, same},
#define FIXED(...)
#include GASNETC_PARAMS_DEF
};

/* What the network below reads by itself: `settings.def` of its folder. */
static const struct setting {
    const char *name, *initial, *values, *help;
} settings[] = {
#define SETTING(field, kind, name, initial, values, check, help) {name, initial, values, help},
#ifdef GASNETC_SETTINGS_DEF
#include GASNETC_SETTINGS_DEF
#endif
    {NULL, NULL, NULL, NULL}};

void gasnetrun_help_env(void);
void gasnetrun_help_env(void)
{
    puts("Variables that shape a job (a name after the default is an older one, accepted too):");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("\n  %s  [default: %s]%s%s\n      %s.%s\n", rows[i].name, rows[i].initial,
               *rows[i].alias ? "  " : "", rows[i].alias, rows[i].help,
               rows[i].same ? " Must be equal on all ranks." : "");
    for (const struct setting *setting = settings; setting->name; setting++)
        printf("\n  %s  [default: %s]  (%s)\n      %s.\n", setting->name,
               *setting->initial ? setting->initial : "not set", setting->values, setting->help);
}
