/* params_help.c - the table of params.def as text, for `gasnetrun --help-env`.
 *
 * Linked into the launcher alone, which knows it by its name and nothing else of the core.  Without
 * a range: where it matters the sentence of help tells it, and an error message always does.
 */
#define GASNETC_DEFAULT_SPARES 2(4 in PAR)
#define TEXT_OF_(x)            #x
#define TEXT_OF(x)             TEXT_OF_(x)

#define DEFAULT_NUMBER(x)  TEXT_OF(x)
#define DEFAULT_SIZE(x)    TEXT_OF(x)
#define DEFAULT_SECONDS(x) TEXT_OF(x)
#define DEFAULT_BOOLEAN(x) TEXT_OF(x)
#define DEFAULT_TEXT(x)    "not set"

#define SAME_true  " Must be equal on all ranks."
#define SAME_false ""

extern const char gasnetrun_help_env[];
const char gasnetrun_help_env[] =
    "Variables that shape a job (a name after the default is an older one, accepted too):\n"
#define PARAM(field, type, name, alias, initial, least, most, same, help)                          \
    "\n  " name "  [default: " DEFAULT_##type(initial) "]  " alias "\n      " help "." SAME_##same \
        "\n"
#include "core/params.def"
    ;
