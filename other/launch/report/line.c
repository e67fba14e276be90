/* line.c - one line of a rank's trace; see line.h.  Pure.
 *
 * A scanner for exactly these lines: an object of scalars, among them one object `args`.  Two
 * tables say which keys are known; the value of another key may be any scalar, and is passed over.
 */
#define _DEFAULT_SOURCE
#include "other/launch/report/line.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t whole_max = INT64_C(9007199254740991); /* what JavaScript counts exactly */
static const int64_t us_max = INT64_C(9007199254740);

enum field_type { TYPE_TEXT, TYPE_LABEL, TYPE_WHOLE, TYPE_TIME, TYPE_BOOL, TYPE_ARGS };

struct field {
    const char *key;
    enum field_type type;
    size_t offset;
};

#define FIELD(key, type, member)                                                                   \
    {                                                                                              \
        key, TYPE_##type, offsetof(struct line, member)                                            \
    }
static const struct field outer_fields[] = {
    FIELD("ph", TEXT, phase), FIELD("name", TEXT, name),  FIELD("cat", TEXT, category),
    FIELD("ts", TIME, begin), FIELD("dur", TIME, length), FIELD("pid", WHOLE, pid),
    FIELD("tid", WHOLE, tid), {"args", TYPE_ARGS, 0},     {NULL, TYPE_TEXT, 0}};
static const struct field args_fields[] = {FIELD("peer", WHOLE, peer),
                                           FIELD("bytes", WHOLE, bytes),
                                           FIELD("handler", WHOLE, handler),
                                           FIELD("team", LABEL, team),
                                           FIELD("for", TEXT, cause),
                                           FIELD("site", TEXT, site),
                                           FIELD("rank", WHOLE, rank),
                                           FIELD("ranks", WHOLE, ranks),
                                           FIELD("host", TEXT, host),
                                           FIELD("conduit", TEXT, conduit),
                                           FIELD("mode", TEXT, mode),
                                           FIELD("aligned", BOOL, aligned),
                                           FIELD("began", TEXT, began),
                                           FIELD("events", WHOLE, events),
                                           FIELD("dropped", WHOLE, dropped),
                                           FIELD("name", LABEL, label),
                                           {NULL, TYPE_TEXT, 0}};

struct scan {
    char *at, *end;
    const char *why;
};

static bool fail(struct scan *s, const char *why)
{
    if (!s->why) s->why = why;
    return false;
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r')) s->at++;
}

/* Whether the next character that is no blank is `c`, which is then behind. */
static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c) return false;
    s->at++;
    return true;
}

/* --- strings --- */

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* The four hexadecimal digits behind \u; -1: there are none. */
static int32_t take_hex4(struct scan *s)
{
    int32_t value = 0;
    if (s->end - s->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = *s->at++;
        if (c >= 'A' && c <= 'F') c = (char)(c - 'A' + 'a');
        const char *digit = c ? strchr(digits, c) : NULL;
        if (!digit) return -1;
        value = value * 16 + (int32_t)(digit - digits);
    }
    return value;
}

/* What \u stands for; half of a pair, and a null character, become the replacement character. */
static bool take_unicode(struct scan *s, char **to)
{
    int32_t low, high = take_hex4(s);
    if (high < 0) return fail(s, "a \\u without four hexadecimal digits");
    if (high >= 0xd800 && high < 0xdc00 && s->end - s->at >= 6 && s->at[0] == '\\' &&
        s->at[1] == 'u') {
        char *second = s->at;
        s->at += 2;
        low = take_hex4(s);
        if (low >= 0xdc00 && low < 0xe000) {
            *to =
                put_utf8(*to, 0x10000 + ((uint32_t)(high - 0xd800) << 10 | (uint32_t)low % 0x400));
            return true;
        }
        s->at = second;
    }
    *to = put_utf8(*to, high == 0 || (high >= 0xd800 && high < 0xe000) ? 0xfffd : (uint32_t)high);
    return true;
}

static bool take_escape(struct scan *s, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = s->at < s->end && *s->at ? strchr(letters, *s->at) : NULL;
    if (letter) {
        s->at++;
        *(*to)++ = meanings[letter - letters];
        return true;
    }
    if (s->at == s->end || *s->at++ != 'u') return fail(s, "an unknown escape in a string");
    return take_unicode(s, to);
}

/* The length of the character in UTF-8 at `p`, which has no more than `left` bytes; 0: it is none.
 */
static size_t utf8_length(const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n < 1 || n > left || p[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) return 0;
    return n;
}

/* A string; what its escapes stand for is never longer than they are. */
static bool take_string(struct scan *s, struct line_text *text)
{
    if (!take(s, '"')) return fail(s, "a string is missing");
    char *to = s->at;
    text->at = to;
    while (s->at < s->end && *s->at != '"') {
        size_t n = utf8_length(s->at, (size_t)(s->end - s->at));
        if ((unsigned char)*s->at < 0x20) return fail(s, "a control character in a string");
        if (!n) return fail(s, "a string that is not UTF-8");
        if (*s->at == '\\') {
            s->at++;
            if (!take_escape(s, &to)) return false;
            continue;
        }
        memmove(to, s->at, n);
        to += n;
        s->at += n;
    }
    if (s->at == s->end) return fail(s, "a string without its end");
    s->at++;
    text->length = (size_t)(to - text->at);
    return true;
}

/* --- numbers --- */

static bool is_digit(const struct scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

/* Digits; leading zeros are not JSON. */
static bool take_digits(struct scan *s, int64_t max, int64_t *value)
{
    const char *first = s->at;
    for (*value = 0; is_digit(s); s->at++) {
        *value = *value * 10 + (*s->at - '0');
        if (*value > max) return fail(s, "a number out of range");
    }
    if (s->at == first || (*first == '0' && s->at - first > 1))
        return fail(s, "a number that is none");
    return true;
}

static bool take_whole(struct scan *s, int64_t *value)
{
    skip_blanks(s);
    if (s->at < s->end && *s->at == '-') return fail(s, "a number out of range");
    return take_digits(s, whole_max, value);
}

/* Microseconds with a fraction become nanoseconds; further digits are dropped. */
static bool take_time(struct scan *s, int64_t *ns)
{
    int64_t part = 0;
    bool negative = take(s, '-');
    if (!take_digits(s, us_max, ns)) return false;
    *ns *= 1000;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!is_digit(s)) return fail(s, "a number that is none");
        for (int64_t worth = 100; is_digit(s); s->at++, worth /= 10) part += (*s->at - '0') * worth;
    }
    *ns += part;
    if (negative) *ns = -*ns;
    return true;
}

/* --- objects --- */

static bool take_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0) return false;
    s->at += n;
    return true;
}

static bool take_bool(struct scan *s, int64_t *value)
{
    skip_blanks(s);
    *value = take_word(s, "true");
    return *value || take_word(s, "false") || fail(s, "neither true nor false");
}

/* A string, or a number as it is written. */
static bool take_label(struct scan *s, struct line_text *text)
{
    int64_t ignored;
    skip_blanks(s);
    if (s->at < s->end && *s->at == '"') return take_string(s, text);
    text->at = s->at;
    if (!take_time(s, &ignored)) return false;
    text->length = (size_t)(s->at - text->at);
    return true;
}

static bool take_any(struct scan *s)
{
    struct line_text ignored;
    skip_blanks(s);
    return take_word(s, "true") || take_word(s, "false") || take_word(s, "null") ||
           take_label(s, &ignored);
}

static bool take_object(struct scan *s, const struct field *fields, struct line *line);

static bool take_value(struct scan *s, const struct field *field, struct line *line)
{
    void *member = (char *)line + field->offset;
    switch (field->type) {
    case TYPE_TEXT:
        return take_string(s, member);
    case TYPE_LABEL:
        return take_label(s, member);
    case TYPE_WHOLE:
        return take_whole(s, member);
    case TYPE_TIME:
        return take_time(s, member);
    case TYPE_BOOL:
        return take_bool(s, member);
    case TYPE_ARGS:
        return take_object(s, args_fields, line);
    }
    return false;
}

static bool take_object(struct scan *s, const struct field *fields, struct line *line)
{
    uint32_t had = 0;
    if (!take(s, '{')) return fail(s, "no object");
    if (take(s, '}')) return true;
    do {
        struct line_text key;
        const struct field *field = fields;
        if (!take_string(s, &key)) return false;
        if (!take(s, ':')) return fail(s, "a key without a value");
        while (field->key &&
               (strlen(field->key) != key.length || memcmp(field->key, key.at, key.length) != 0))
            field++;
        uint32_t bit = field->key ? UINT32_C(1) << (field - fields) : 0;
        if (had & bit) return fail(s, "a key twice");
        had |= bit;
        if (!(field->key ? take_value(s, field, line) : take_any(s))) return false;
    } while (take(s, ','));
    return take(s, '}') || fail(s, "an object without its end");
}

/* --- what a line must have --- */

static bool is(struct line_text text, const char *word)
{
    return text.at && text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

/* A time as 2026-11-30T23:00:00Z, in seconds since 1970; -1: it is none. */
static int64_t read_began(struct line_text text)
{
    struct tm tm = {0};
    char copy[24] = "", again[24] = "";
    if (!text.at || text.length != 20) return -1;
    memcpy(copy, text.at, text.length);
    if (sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec) != 6)
        return -1;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    time_t when = timegm(&tm);
    return strftime(again, sizeof again, "%Y-%m-%dT%H:%M:%SZ", &tm) && strcmp(copy, again) == 0
               ? (int64_t)when
               : -1;
}

static bool check_rank(struct scan *s, struct line *line)
{
    line->kind = LINE_RANK;
    line->began_time = read_began(line->began);
    if (!line->host.at || !line->conduit.at || !line->mode.at || line->aligned < 0 ||
        line->rank < 0 || line->ranks < 0)
        return fail(s, "the first line of a rank without rank, ranks, host, conduit, mode or "
                       "aligned");
    if (line->began_time < 0) return fail(s, "began is no time");
    if (line->ranks < 1 || line->ranks > LINE_RANKS_MAX || line->rank >= line->ranks)
        return fail(s, "a number of ranks, or a rank, out of range");
    return line->pid == line->rank || fail(s, "pid is not the rank");
}

static bool check_metadata(struct scan *s, struct line *line)
{
    line->kind = LINE_PASSED;
    if (is(line->name, "gasnet")) return check_rank(s, line);
    if (is(line->name, "gasnet_end")) {
        line->kind = LINE_END;
        return (line->pid >= 0 && line->events >= 0 && line->dropped >= 0) ||
               fail(s, "the last line of a rank without pid, events or dropped");
    }
    if (is(line->name, "thread_name")) {
        line->kind = LINE_THREAD;
        return (line->pid >= 0 && line->tid >= 0 && line->label.at) ||
               fail(s, "the name of a thread without pid, tid or name");
    }
    return true;
}

static bool check_event(struct scan *s, struct line *line)
{
    static const char categories[] = "PGSWXBALICHU";
    bool span = is(line->phase, "X");
    line->kind = span ? LINE_SPAN : LINE_MOMENT;
    if (!line->name.at || line->begin == INT64_MIN || line->pid < 0 || line->tid < 0)
        return fail(s, "an event without name, ts, pid or tid");
    if (line->category.length != 1 || !strchr(categories, *line->category.at))
        return fail(s, "cat is no letter of GASNET_TRACEMASK");
    if (span && line->length == INT64_MIN) return fail(s, "a span without dur");
    if (span && line->length < 0) return fail(s, "a span that ends before it begins");
    if (line->pid > LINE_RANKS_MAX || line->peer > LINE_RANKS_MAX || line->tid > INT32_MAX ||
        line->handler > UINT16_MAX)
        return fail(s, "a number out of range");
    return true;
}

bool line_read(struct line *line, char *text, size_t length, const char **why)
{
    struct scan s = {text, text + length, NULL};
    bool good = true;
    *line =
        (struct line){.begin = INT64_MIN, .length = INT64_MIN, .pid = -1, .tid = -1, .peer = -1};
    line->bytes = line->handler = line->rank = line->ranks = line->events = line->dropped = -1;
    line->aligned = -1;
    *why = NULL;
    bool bracket = take(&s, '[') || take(&s, ']');
    skip_blanks(&s);
    if (s.at == s.end) return true;
    if (bracket || !take_object(&s, outer_fields, line)) {
        good = fail(&s, "no object");
    } else {
        take(&s, ',');
        skip_blanks(&s);
        if (s.at != s.end)
            good = fail(&s, "something behind the object");
        else if (is(line->phase, "M"))
            good = check_metadata(&s, line);
        else if (is(line->phase, "X") || is(line->phase, "i"))
            good = check_event(&s, line);
        else
            good = fail(&s, "ph is none of M, X and i");
    }
    *why = s.why;
    return good;
}
