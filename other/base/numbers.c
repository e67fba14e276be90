/* numbers.c - numbers as a person writes them in environment variables; see numbers.h. */
#include "other/base/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *skip_space(const char *p)
{
    while (isspace((unsigned char)*p)) p++;
    return p;
}

/* The bytes of a unit; 0 if the letter is no unit. */
static uint64_t unit_of(char letter)
{
    switch (letter) {
    case 'b':
    case 'B':
        return 1;
    case 'k':
    case 'K':
        return (uint64_t)1 << 10;
    case 'm':
    case 'M':
        return (uint64_t)1 << 20;
    case 'g':
    case 'G':
        return (uint64_t)1 << 30;
    case 't':
    case 'T':
        return (uint64_t)1 << 40;
    default:
        return 0;
    }
}

/* Skips "B" or "iB" after the letter of a unit. */
static const char *skip_unit_tail(const char *p)
{
    if (*p == 'i' || *p == 'I') p++;
    if (*p == 'b' || *p == 'B') p++;
    return p;
}

/* A decimal fraction "." digits; *fraction is in [0, 1). */
static const char *read_fraction(const char *p, double *fraction)
{
    double digit = 1;
    *fraction = 0;
    for (p++; isdigit((unsigned char)*p); p++) *fraction += (*p - '0') * (digit /= 10);
    return p;
}

/* whole * unit + part as a signed number; the nearest one that fits, and false, if it does not. */
static bool to_signed(uint64_t whole, uint64_t unit, uint64_t part, bool negative, int64_t *value)
{
    uint64_t magnitude;
    bool fits = errno != ERANGE && !__builtin_mul_overflow(whole, unit, &magnitude) &&
                !__builtin_add_overflow(magnitude, part, &magnitude) && magnitude <= INT64_MAX;
    if (!fits) magnitude = INT64_MAX;
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return fits;
}

const char *gasneti_read_number(const char *text, uint64_t mem_multiplier, int64_t *value,
                                bool *fits)
{
    const char *p = skip_space(text), *digits;
    bool negative = *p == '-';
    uint64_t whole = 0, unit = mem_multiplier ? mem_multiplier : 1;
    double fraction = 0;
    char *end;

    *value = 0;
    *fits = true;
    errno = 0;
    if (*p == '-' || *p == '+') p = skip_space(p + 1);
    digits = p;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X') && isxdigit((unsigned char)p[2])) {
        whole = strtoull(p + 2, &end, 16);
        p = end;
    } else {
        if (isdigit((unsigned char)*p)) {
            whole = strtoull(p, &end, 10);
            p = end;
        }
        if (mem_multiplier && *p == '.' && (p != digits || isdigit((unsigned char)p[1])))
            p = read_fraction(p, &fraction);
    }
    if (p == digits) return text;

    if (mem_multiplier) {
        const char *suffix = skip_space(p);
        uint64_t named = unit_of(*suffix);
        if (named) {
            unit = named;
            p = unit == 1 ? suffix + 1 : skip_unit_tail(suffix + 1);
        }
    }
    *fits = to_signed(whole, unit, (uint64_t)(fraction * (double)unit + 0.5), negative, value);
    return p;
}

bool gasneti_parse_int(const char *text, uint64_t mem_multiplier, int64_t *value)
{
    bool fits;
    const char *end = gasneti_read_number(text, mem_multiplier, value, &fits);
    bool whole = (end != text || !*skip_space(text)) && !*skip_space(end);
    if (whole && fits) return true;
    errno = whole ? ERANGE : EINVAL;
    return false;
}

bool gasneti_parse_double(const char *text, double *value)
{
    char *end;
    const char *p = skip_space(text);
    double top = strtod(p, &end), bottom = 1;

    if (end == p) return false;
    p = skip_space(end);
    if (*p == '/') {
        p = skip_space(p + 1);
        bottom = strtod(p, &end);
        if (end == p || bottom == 0) return false;
        p = skip_space(end);
    }
    *value = top / bottom;
    return *p == '\0';
}

/* The length of `text` without "/P" or "/H" at its end, which goes to `per`. */
static size_t without_per(const char *text, char *per)
{
    size_t n = strlen(text), left;
    while (n && isspace((unsigned char)text[n - 1])) n--;
    left = n;
    *per = left ? (char)toupper((unsigned char)text[--left]) : 0;
    while (left && isspace((unsigned char)text[left - 1])) left--;
    if ((*per == 'P' || *per == 'H') && left && text[left - 1] == '/') return left - 1;
    *per = 0;
    return n;
}

bool gasneti_parse_memory(const char *text, struct gasneti_memory *memory)
{
    char number[64];
    int64_t bytes;
    double part;
    const size_t n = without_per(text, &memory->per);
    memory->is_part = 0;
    memory->amount = 0;
    errno = EINVAL;
    if (n >= sizeof number) return false;
    memcpy(number, text, n);
    number[n] = 0;
    const bool ratio = strpbrk(number, "./") != NULL;
    if (gasneti_parse_double(number, &part) && part >= 0 && part <= 1 &&
        (ratio || (part > 0 && part < 1))) {
        memory->amount = part;
        memory->is_part = 1;
        return true;
    }
    const bool good = gasneti_parse_int(number, 1, &bytes) && number[strspn(number, " \t\n")];
    memory->amount = (double)bytes;
    return good;
}

int gasneti_parse_word(const char *words, const char *text, size_t length)
{
    for (int index = 0;; words++) {
        const size_t n = strcspn(words, "=|");
        if (n == length && !strncasecmp(words, text, n)) return index;
        words += n;
        if (!*words) return -1;
        index += *words == '|';
    }
}

int gasneti_parse_yesno(const char *text)
{
    return gasneti_parse_word("n=no=false=0|y=yes=true=1", text, strlen(text));
}

char *gasneti_format_number(int64_t val, char *buf, size_t bufsz, bool is_mem_size)
{
    static const char units[] = "TGMK";
    uint64_t size = val < 0 ? 0 - (uint64_t)val : (uint64_t)val;
    const char *sign = val < 0 ? "-" : "";

    if (!is_mem_size) {
        /* Large numbers are mostly powers of two, which are recognized in hex. */
        bool hex = size >= (uint64_t)1 << 50;
        (void)snprintf(buf, bufsz, hex ? "%s0x%" PRIx64 : "%s%" PRIu64, sign, size);
        return buf;
    }
    for (const char *u = units; *u; u++) {
        uint64_t unit = unit_of(*u);
        if (size && (size >= 10 * unit || size % unit == 0)) {
            (void)snprintf(buf, bufsz, "%s%" PRIu64 " %cB", sign, size / unit, *u);
            return buf;
        }
    }
    (void)snprintf(buf, bufsz, "%s%" PRIu64 " B", sign, size);
    return buf;
}
