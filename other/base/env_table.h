/* env_table.h - tables of environment variables: one row type, parser, style of message and help
 * text.
 *
 * core/params, libsofthca and libportals each have a .def file of rows and read it with these
 * calls; env_table.sh writes the READMEs' tables from the same files.  Nothing here reads the
 * environment, and nothing is visible outside of the library that absorbs it.
 */
#ifndef OTHER_ENV_TABLE_H
#define OTHER_ENV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "other/base/numbers.h"

/* A kind K is stored in a field of type gasneti_env_type_K. */
enum gasneti_env_kind {
    GASNETI_ENV_NUMBER,    /* whole, decimal or 0x hexadecimal */
    GASNETI_ENV_SIZE,      /* bytes, with a suffix such as K, MB or GiB, and a fraction */
    GASNETI_ENV_MEGABYTES, /* a size, but a number without a suffix counts megabytes */
    GASNETI_ENV_MEMORY,    /* a size, or a part of a host's memory; see gasneti_parse_memory */
    GASNETI_ENV_BOOLEAN,   /* y, yes, true, 1 or n, no, false, 0 */
    GASNETI_ENV_SECONDS,   /* a number or a fraction such as 1/4 */
    GASNETI_ENV_FRACTION,  /* a number or a fraction such as 1/4 */
    GASNETI_ENV_WORD,      /* one of the row's values, in any case: its index among them */
    GASNETI_ENV_TEXT,      /* anything that the row's check accepts; NULL when empty */
    GASNETI_ENV_MAP,       /* read by a parser of its own; accepted and not stored here */
};
typedef int64_t gasneti_env_type_NUMBER;
typedef int64_t gasneti_env_type_SIZE;
typedef int64_t gasneti_env_type_MEGABYTES;
typedef struct gasneti_memory gasneti_env_type_MEMORY;
typedef bool gasneti_env_type_BOOLEAN;
typedef double gasneti_env_type_SECONDS;
typedef double gasneti_env_type_FRACTION;
typedef int64_t gasneti_env_type_WORD;
typedef const char *gasneti_env_type_TEXT;
typedef const char *gasneti_env_type_MAP;

struct gasneti_env_row {
    const char *name;
    const char *alias; /* an older name; NULL or "" if none */
    enum gasneti_env_kind kind;
    const char *initial; /* the default as text; "" if not set */
    double least, most;  /* of numbers; INT64_MAX is no bound */
    const char
        *values; /* WORD: the words, separated by |; TEXT, MAP: the form of a value, or NULL */
    /* TEXT: whether a value is good, or NULL; `why` (`size` bytes) names the fault and what is
     * allowed */
    bool (*check)(const char *text, char *why, size_t size);
    bool same; /* must be equal on all ranks of a job */
    const char *help;
    size_t offset; /* of the field in the caller's struct */
};

/* The part of a row that a line SETTING(field, kind, ... help) of a settings.def gives. */
#define GASNETI_ENV_SETTING(kind_, name_, initial_, least_, most_, values_, check_, help_)         \
    .name = name_, .kind = GASNETI_ENV_##kind_, .initial = initial_, .least = least_,              \
    .most = most_, .values = values_, .check = check_, .help = help_

/* --- Values --- */

/* Stores `text` as the row's field of `fields`.  A bad value leaves `fields` unchanged, and `why`
 * is one line: NAME=VALUE, the fault, and what is allowed. */
bool gasneti_env_parse(const struct gasneti_env_row *row, const char *text, void *fields, char *why,
                       size_t size);

/* Stores the default of each row. */
void gasneti_env_defaults(const struct gasneti_env_row *rows, size_t count, void *fields);

/* Writes the allowed values, for help: "1..64", "auto|on|off", "yes|no"; "" for any text. */
const char *gasneti_env_values(const struct gasneti_env_row *row, char *text, size_t size);

/* --- Names --- */

/* Lists the known names: the name at each index, NULL beyond the last; "" is skipped. */
typedef const char *gasneti_env_name_at(size_t index);

/* A gasneti_env_name_at for `count` rows: their names, then their aliases. */
const char *gasneti_env_row_name(const struct gasneti_env_row *rows, size_t count, size_t index);

bool gasneti_env_known(const char *name, gasneti_env_name_at *known);

/* The known name nearest to `name`: at most three letters, and a quarter of its letters, away; or
 * NULL. */
const char *gasneti_env_suggest(const char *name, gasneti_env_name_at *known);

/* Judges "NAME=VALUE" of an environment.  False if NAME lacks the prefix, is known, or is longer
 * than any name; else `line` says that it is unknown and suggests *nearest, NULL if no name is
 * near. */
bool gasneti_env_unknown(const char *entry, const char *prefix, gasneti_env_name_at *known,
                         const char **nearest, char *line, size_t size);

/* --- Help --- */

/* Each row: name, default, what is allowed, older name, meaning. */
void gasneti_env_help(FILE *to, const struct gasneti_env_row *rows, size_t count);

/* `text` from column `indent` on, in lines of at most 88 columns. */
void gasneti_print_folded(FILE *to, int indent, const char *text);

#endif
