/* env_table.h - tables of environment variables: one row type, parser, style of message and help
 * text.
 *
 * core/params, libsofthca and libportals each have a .def file of rows and read it with these
 * calls; env_table.sh writes the READMEs' tables from the same files.  Nothing here reads the
 * environment, and nothing is visible outside of the library that absorbs it.
 *
 * A row of a .def file:
 *
 *     PARAM(field, kind, name, older name or "", default, allowed, equal on all ranks, help)
 *
 * The default is 0 or 1 for BOOLEAN, bytes for sizes, the first word, without quotes, for words,
 * and NULL for TEXT and MAP.  What is allowed:
 *
 *     RANGE(least, most)    numbers and sizes; INT64_MAX is no bound
 *     POWERS(least, most)   the powers of two among them, and 0 if it is in the range
 *     WORDS("a|b=c")        these words, in any case; c is another name for b
 *     FORM("form", check)   TEXT, MAP: the form of a value, for help; a check or NULL
 *     ANY                   BOOLEAN
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
    GASNETI_ENV_NUMBER,      /* whole, decimal or 0x hexadecimal */
    GASNETI_ENV_SIZE,        /* bytes, with a suffix such as K, MB or GiB, and a fraction */
    GASNETI_ENV_MEGABYTES,   /* a size, but a number without a suffix counts megabytes */
    GASNETI_ENV_MEMORY,      /* a size, or a part of a host's memory; see gasneti_parse_memory */
    GASNETI_ENV_BOOLEAN,     /* y, yes, true, 1 or n, no, false, 0 */
    GASNETI_ENV_SECONDS,     /* a number or a fraction such as 1/4 */
    GASNETI_ENV_FRACTION,    /* a number or a fraction such as 1/4 */
    GASNETI_ENV_WORD,        /* one of the row's words: its index among them */
    GASNETI_ENV_WORD_NUMBER, /* a word of the row, with a number behind a comma */
    GASNETI_ENV_TEXT,        /* anything that the row's check accepts; NULL when empty */
    GASNETI_ENV_MAP,         /* read by a parser of its own; accepted and not stored here */
};
struct gasneti_word_number {
    int64_t word, number; /* 0: no number */
};
typedef int64_t gasneti_env_type_NUMBER;
typedef int64_t gasneti_env_type_SIZE;
typedef int64_t gasneti_env_type_MEGABYTES;
typedef struct gasneti_memory gasneti_env_type_MEMORY;
typedef bool gasneti_env_type_BOOLEAN;
typedef double gasneti_env_type_SECONDS;
typedef double gasneti_env_type_FRACTION;
typedef int64_t gasneti_env_type_WORD;
typedef struct gasneti_word_number gasneti_env_type_WORD_NUMBER;
typedef const char *gasneti_env_type_TEXT;
typedef const char *gasneti_env_type_MAP;

struct gasneti_env_row {
    const char *name;
    const char *alias; /* an older name; NULL or "" if none */
    enum gasneti_env_kind kind;
    const char *initial; /* the default as text; "" if not set */
    double least, most;  /* of numbers; INT64_MAX is no bound */
    bool power;          /* of two, or 0 */
    const char *values;  /* words; TEXT, MAP: the form of a value, or NULL */
    /* TEXT: whether a value is good, or NULL; `why` (`size` bytes) names the fault and what is
     * allowed */
    bool (*check)(const char *text, char *why, size_t size);
    bool same; /* must be equal on all ranks of a job */
    const char *help;
    size_t offset; /* of the field in the caller's struct */
};

/* The part of a row that the arguments of PARAM behind the field give. */
#define GASNETI_ENV_ROW(kind_, name_, alias_, initial_, allowed_, same_, help_)                    \
    .name = name_, .alias = alias_, .kind = GASNETI_ENV_##kind_,                                   \
    .initial = GASNETI_ENV_INITIAL_##kind_(initial_), GASNETI_ENV_ALLOWED_##allowed_,              \
    .same = same_, .help = help_

#define GASNETI_ENV_ALLOWED_RANGE(least_, most_) .least = (least_), .most = (double)(most_)
#define GASNETI_ENV_ALLOWED_POWERS(least_, most_)                                                  \
    GASNETI_ENV_ALLOWED_RANGE(least_, most_), .power = true
#define GASNETI_ENV_ALLOWED_WORDS(words_)       .values = words_
#define GASNETI_ENV_ALLOWED_FORM(form_, check_) .values = form_, .check = check_
#define GASNETI_ENV_ALLOWED_ANY                 .values = NULL

#define GASNETI_ENV_INITIAL_(x)            #x
#define GASNETI_ENV_INITIAL_NUMBER(x)      GASNETI_ENV_INITIAL_(x)
#define GASNETI_ENV_INITIAL_SIZE(x)        GASNETI_ENV_INITIAL_(x)
#define GASNETI_ENV_INITIAL_MEGABYTES(x)   GASNETI_ENV_INITIAL_(x) "B"
#define GASNETI_ENV_INITIAL_MEMORY(x)      GASNETI_ENV_INITIAL_(x)
#define GASNETI_ENV_INITIAL_SECONDS(x)     GASNETI_ENV_INITIAL_(x)
#define GASNETI_ENV_INITIAL_FRACTION(x)    GASNETI_ENV_INITIAL_(x)
#define GASNETI_ENV_INITIAL_WORD(x)        GASNETI_ENV_INITIAL_(x)
#define GASNETI_ENV_INITIAL_WORD_NUMBER(x) GASNETI_ENV_INITIAL_(x)
#define GASNETI_ENV_INITIAL_BOOLEAN(x)     (x) ? "yes" : "no"
#define GASNETI_ENV_INITIAL_TEXT(x)        ""
#define GASNETI_ENV_INITIAL_MAP(x)         ""

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
