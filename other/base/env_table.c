/* env_table.c - tables of environment variables; see env_table.h. */
#include "other/base/env_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "other/base/edit_distance.h"

/* --- values --- */

enum outcome { IS_NUMBER, NO_NUMBER, TOO_SMALL, TOO_LARGE, NO_POWER };

static bool has_words(const struct gasneti_env_row *row)
{
    return row->kind == GASNETI_ENV_WORD || row->kind == GASNETI_ENV_WORD_NUMBER;
}

/* `unit`: of a number without a suffix; 0: no suffix is allowed. */
static enum outcome parse_whole(const char *text, uint64_t unit, double *value)
{
    int64_t whole = 0;
    errno = 0;
    bool parsed = gasneti_parse_int(text, unit, &whole);
    *value = (double)whole;
    if (parsed) return IS_NUMBER;
    return errno == ERANGE ? whole < 0 ? TOO_SMALL : TOO_LARGE : NO_NUMBER;
}

/* The amount alone, for the range; gasneti_env_parse stores the rest. */
static enum outcome parse_memory(const char *text, double *value)
{
    struct gasneti_memory memory;
    errno = 0;
    bool parsed = gasneti_parse_memory(text, &memory);
    *value = memory.amount;
    if (parsed) return IS_NUMBER;
    return errno == ERANGE ? memory.amount < 0 ? TOO_SMALL : TOO_LARGE : NO_NUMBER;
}

static enum outcome found(bool good)
{
    return good ? IS_NUMBER : NO_NUMBER;
}

/* Any kind but TEXT and MAP, as a number. */
static enum outcome env_table_parse(const struct gasneti_env_row *row, const char *text,
                                    double *value)
{
    int index;
    if (!text[strspn(text, " \t\n")]) return NO_NUMBER;
    switch (row->kind) {
    case GASNETI_ENV_SECONDS:
    case GASNETI_ENV_FRACTION:
        return found(gasneti_parse_double(text, value));
    case GASNETI_ENV_MEGABYTES:
        return parse_whole(text, 1 << 20, value);
    case GASNETI_ENV_MEMORY:
        return parse_memory(text, value);
    case GASNETI_ENV_WORD:
    case GASNETI_ENV_WORD_NUMBER:
        index = gasneti_parse_word(
            row->values, text, row->kind == GASNETI_ENV_WORD ? strlen(text) : strcspn(text, ","));
        *value = index;
        return found(index >= 0);
    case GASNETI_ENV_BOOLEAN:
        index = gasneti_parse_yesno(text);
        *value = index;
        /* 01 and 0x1 are accepted like 1. */
        return index >= 0
                   ? IS_NUMBER
                   : found(parse_whole(text, 0, value) == IS_NUMBER && *value >= 0 && *value <= 1);
    default:
        return parse_whole(text, row->kind == GASNETI_ENV_SIZE, value);
    }
}

static int64_t whole(double value)
{
    return value >= (double)INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Of a value of any kind but WORD and BOOLEAN. */
static enum outcome in_range(const struct gasneti_env_row *row, double value)
{
    if (value < row->least) return TOO_SMALL;
    if (value > row->most) return TOO_LARGE;
    return row->power && (whole(value) & (whole(value) - 1)) ? NO_POWER : IS_NUMBER;
}

static void store(const struct gasneti_env_row *row, const char *text, double value, void *fields)
{
    char *field = (char *)fields + row->offset;
    const char *comma = strchr(text, ',');
    if (row->kind == GASNETI_ENV_MEMORY)
        (void)gasneti_parse_memory(text, (void *)field);
    else if (row->kind == GASNETI_ENV_WORD_NUMBER)
        *(struct gasneti_word_number *)(void *)field =
            (struct gasneti_word_number){(int64_t)value, comma ? strtol(comma + 1, NULL, 10) : 0};
    else if (row->kind == GASNETI_ENV_BOOLEAN)
        *(bool *)field = value != 0;
    else if (row->kind == GASNETI_ENV_SECONDS || row->kind == GASNETI_ENV_FRACTION)
        *(double *)(void *)field = value;
    else
        *(int64_t *)(void *)field = whole(value);
}

/* --- messages --- */

/* Longer values are cut, so that the line still says what is allowed. */
enum { LONGEST_VALUE = 80 };

static const char *const kinds[] = {
    [GASNETI_ENV_NUMBER] = "a whole number",
    [GASNETI_ENV_SIZE] = "a size such as 64K or 1.5GB",
    [GASNETI_ENV_MEGABYTES] = "a size such as 64K or 1.5GB, or a number of megabytes",
    [GASNETI_ENV_MEMORY] = "a size such as 64K or 1.5GB, or a part of the host's memory such as "
                           "0.85 or 2/3, and /P or /H behind it",
    [GASNETI_ENV_SECONDS] = "a number of seconds",
    [GASNETI_ENV_FRACTION] = "a fraction such as 0.75",
};

static void print_limit(const struct gasneti_env_row *row, double limit, char *text, size_t size)
{
    if (limit >= (double)INT64_MAX)
        snprintf(text, size, "any size");
    else if (row->kind == GASNETI_ENV_SIZE || row->kind == GASNETI_ENV_MEGABYTES ||
             row->kind == GASNETI_ENV_MEMORY)
        gasneti_format_number((int64_t)limit, text, size, true);
    else
        snprintf(text, size, "%.15g", limit); /* whole numbers stay whole */
}

static void print_range(const struct gasneti_env_row *row, const char *between, char *text,
                        size_t size)
{
    char least[32], most[32];
    print_limit(row, row->least, least, sizeof least);
    print_limit(row, row->most, most, sizeof most);
    snprintf(text, size, "%s%s%s", least, between, most);
}

static void complain(const struct gasneti_env_row *row, const char *text, enum outcome outcome,
                     char *why, size_t size)
{
    char range[80];
    int n = snprintf(why, size, "%s=%.*s: ", row->name, LONGEST_VALUE, text);
    if (n < 0 || (size_t)n >= size) return;
    why += n;
    size -= (size_t)n;
    print_range(row, " to ", range, sizeof range);
    if (has_words(row))
        snprintf(why, size, "not one of %s", row->values);
    else if (row->kind == GASNETI_ENV_BOOLEAN)
        snprintf(why, size, "not yes or no");
    else if (outcome == TOO_SMALL || outcome == TOO_LARGE)
        snprintf(why, size, "too %s; the range is %s", outcome == TOO_SMALL ? "small" : "large",
                 range);
    else if (outcome == NO_POWER)
        snprintf(why, size, "not a power of two; the range is %s", range);
    else
        snprintf(why, size, "not %s; the range is %s", kinds[row->kind], range);
}

static bool check_text(const struct gasneti_env_row *row, const char *text, char *why, size_t size)
{
    if (!*text || !row->check) return true;
    int n = snprintf(why, size, "%s: ", row->name);
    bool room = n >= 0 && (size_t)n < size;
    return row->check(text, room ? why + n : why, room ? size - (size_t)n : size);
}

bool gasneti_env_parse(const struct gasneti_env_row *row, const char *text, void *fields, char *why,
                       size_t size)
{
    double value = 0;
    if (row->kind == GASNETI_ENV_MAP) return true;
    if (row->kind == GASNETI_ENV_TEXT) {
        if (!check_text(row, text, why, size)) return false;
        *(const char **)(void *)((char *)fields + row->offset) = *text ? text : NULL;
        return true;
    }
    enum outcome outcome = env_table_parse(row, text, &value);
    if (outcome == IS_NUMBER && !has_words(row) && row->kind != GASNETI_ENV_BOOLEAN)
        outcome = in_range(row, value);
    if (outcome != IS_NUMBER || value != value) { /* a NaN lies in no range */
        complain(row, text, outcome, why, size);
        return false;
    }
    store(row, text, value, fields);
    return true;
}

void gasneti_env_defaults(const struct gasneti_env_row *rows, size_t count, void *fields)
{
    char why[200];
    for (size_t i = 0; i < count; i++)
        gasneti_env_parse(&rows[i], rows[i].initial, fields, why, sizeof why);
}

const char *gasneti_env_values(const struct gasneti_env_row *row, char *text, size_t size)
{
    if (has_words(row) || row->kind == GASNETI_ENV_TEXT || row->kind == GASNETI_ENV_MAP)
        snprintf(text, size, "%s", row->values ? row->values : "");
    else if (row->kind == GASNETI_ENV_BOOLEAN)
        snprintf(text, size, "yes|no");
    else
        print_range(row, "..", text, size);
    const size_t n = strlen(text);
    if (row->power) snprintf(text + n, size - n, ", a power of two");
    return text;
}

/* --- names --- */

const char *gasneti_env_row_name(const struct gasneti_env_row *rows, size_t count, size_t index)
{
    if (index < count) return rows[index].name;
    if (index >= 2 * count) return NULL;
    const char *alias = rows[index - count].alias;
    return alias ? alias : "";
}

bool gasneti_env_known(const char *name, gasneti_env_name_at *known)
{
    const char *other;
    for (size_t i = 0; (other = known(i)); i++)
        if (*other && !strcmp(name, other)) return true;
    return false;
}

const char *gasneti_env_suggest(const char *name, gasneti_env_name_at *known)
{
    enum { FARTHEST = 3 };
    const char *best = NULL, *other;
    size_t nearest = strlen(name) / 4 < FARTHEST ? strlen(name) / 4 + 1 : FARTHEST + 1;
    for (size_t i = 0; (other = known(i)); i++) {
        unsigned distance = *other ? gasneti_edit_distance(name, other) : FARTHEST + 1;
        if (distance >= nearest) continue;
        best = other;
        nearest = distance;
    }
    return best;
}

bool gasneti_env_unknown(const char *entry, const char *prefix, gasneti_env_name_at *known,
                         const char **nearest, char *line, size_t size)
{
    char name[128];
    size_t n = strcspn(entry, "=");
    if (strncmp(entry, prefix, strlen(prefix)) || n >= sizeof name) return false;
    memcpy(name, entry, n);
    name[n] = 0;
    if (gasneti_env_known(name, known)) return false;
    *nearest = gasneti_env_suggest(name, known);
    snprintf(line, size, "%s is not a variable of this library%s%s%s", name,
             *nearest ? "; did you mean " : "", *nearest ? *nearest : "", *nearest ? "?" : "");
    return true;
}

/* --- help --- */

enum { COLUMNS = 88 };

void gasneti_print_folded(FILE *to, int indent, const char *text)
{
    int column = indent;
    while (*text) {
        int n = (int)strcspn(text, " ");
        bool first = column == indent;
        if (!first && column + 1 + n > COLUMNS) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(to, "%s%.*s", first ? "" : " ", n, text);
        column += n + !first;
        text += n + strspn(text + n, " ");
    }
    fprintf(to, "\n");
}

void gasneti_env_help(FILE *to, const struct gasneti_env_row *rows, size_t count)
{
    for (const struct gasneti_env_row *row = rows; row < rows + count; row++) {
        char values[160], text[600];
        gasneti_env_values(row, values, sizeof values);
        bool old = row->alias && *row->alias;
        int n = fprintf(to, "\n  %s  [default: %s]", row->name,
                        *row->initial ? row->initial : "not set");
        if (*values)
            fprintf(to, n + (int)strlen(values) + 3 > COLUMNS ? "\n      (%s)" : "  (%s)", values);
        fprintf(to, "%s%s\n      ", old ? "  older name: " : "", old ? row->alias : "");
        snprintf(text, sizeof text, "%s.%s", row->help,
                 row->same ? " Must be equal on all ranks." : "");
        gasneti_print_folded(to, 6, text);
    }
}
