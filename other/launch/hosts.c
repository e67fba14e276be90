/* hosts.c - host lists and the placement of ranks; see hosts.h.  Pure: no I/O, no globals. */
#include "other/launch/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 255, EXPANDED_MAX = 65536 };

/* A list that is being read. */
struct reading {
    struct shell_words *hosts;
    size_t expanded; /* hosts of ranges so far */
    char *why;
    size_t why_size;
    const char *item; /* the words of the list that are being read, for messages */
    size_t item_len;
    char name[NAME_MAX_LEN + 1]; /* of the next host, as far as it is known */
};

static bool hosts_wrong(const struct reading *r, const char *what)
{
    const size_t len = r->item_len < 40 ? r->item_len : 40;
    snprintf(r->why, r->why_size, "host name \"%.*s\" %s", (int)len, r->item, what);
    return false;
}

/* --- one host --- */

/* An IPv6 address, possibly with a zone and behind a user's name. */
static bool hosts_is_address(const char *name)
{
    const char *user = strchr(name, '@'), *address = user ? user + 1 : name;
    const char *last = address + strspn(address, "0123456789abcdefABCDEF:.");
    const char *colon = strchr(address, ':');
    return colon && strchr(colon + 1, ':') && (!*last || *last == '%');
}

/* The name becomes a word of a command line, where it must not look like an option. */
static bool hosts_add(struct reading *r, size_t len)
{
    const char *name = r->name;
    r->name[len] = 0;
    if (len == 0) return hosts_wrong(r, "is empty");
    if (name[0] == '-') return hosts_wrong(r, "begins with a dash");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == 127)
            return hosts_wrong(r, "holds a blank or control character");
    if (strchr(name, ',')) return hosts_wrong(r, "holds a comma: one host a line is needed here");
    if (strchr(name, ']')) return hosts_wrong(r, "has a ] without a [");
    if (strchr(name, ':') && !hosts_is_address(name))
        return hosts_wrong(r,
                           "has a colon, but is no IPv6 address, and no number of slots follows");
    shell_add_bytes(r->hosts, name, len);
    return true;
}

/* --- one item of a list, which may stand for several hosts --- */

static bool hosts_expand(struct reading *r, size_t len, const char *rest, const char *end);

/* Each host of "07-12" or "14" between brackets; leading zeros give the width.  `rest` is what
 * follows the brackets. */
static bool hosts_add_range(struct reading *r, size_t len, const char **range, const char *rest,
                            const char *end)
{
    char *after, digits[24];
    const size_t width = strspn(*range, "0123456789");
    unsigned long low = strtoul(*range, &after, 10), high = low;
    bool good = width > 0 && width < 10;
    if (good && *after == '-') {
        const size_t more = strspn(after + 1, "0123456789");
        high = strtoul(after + 1, &after, 10);
        good = more > 0 && more < 10;
    }
    if (!good || high < low || (*after != ',' && *after != ']'))
        return hosts_wrong(r, "has brackets with what is no range of numbers");
    *range = after;
    for (unsigned long i = low; i <= high; i++) {
        const int more = snprintf(digits, sizeof digits, "%0*lu", (int)width, i);
        if (len + (size_t)more > NAME_MAX_LEN) return hosts_wrong(r, "is too long");
        memcpy(r->name + len, digits, (size_t)more);
        if (!hosts_expand(r, len + (size_t)more, rest, end)) return false;
    }
    return true;
}

/* Adds the hosts whose names begin with the `len` bytes of r->name, and go on as `rest` says. */
static bool hosts_expand(struct reading *r, size_t len, const char *rest, const char *end)
{
    while (rest < end && *rest != '[') {
        if (len == NAME_MAX_LEN) return hosts_wrong(r, "is too long");
        r->name[len++] = *rest++;
    }
    if (rest == end) {
        if (memchr(r->item, '[', r->item_len) && r->expanded++ == EXPANDED_MAX)
            return hosts_wrong(r, "stands for too many hosts");
        return hosts_add(r, len);
    }
    const char *inner = rest + 1, *close = memchr(inner, ']', (size_t)(end - inner));
    if (!close) return hosts_wrong(r, "has a [ without a ]");
    if (memchr(inner, ':', (size_t)(close - inner))) { /* round an address */
        const size_t more = (size_t)(close - inner);
        if (len + more > NAME_MAX_LEN) return hosts_wrong(r, "is too long");
        memcpy(r->name + len, inner, more);
        return hosts_expand(r, len + more, close + 1, end);
    }
    for (const char *range = inner;; range++) {
        if (!hosts_add_range(r, len, &range, close + 1, end)) return false;
        if (*range == ']') return true;
    }
}

/* Leaves out the number of slots: "name:4", but not the end of an address. */
static size_t hosts_without_slots(const char *item, size_t len)
{
    size_t end = len;
    while (end > 0 && item[end - 1] >= '0' && item[end - 1] <= '9') end--;
    if (end == len || end == 0 || item[--end] != ':') return len;
    return end > 0 && item[end - 1] != ']' && memchr(item, ':', end) ? len : end;
}

static bool hosts_add_item(struct reading *r, const char *item, size_t len)
{
    r->item = item;
    r->item_len = len;
    return hosts_expand(r, 0, item, item + hosts_without_slots(item, len));
}

/* --- lists --- */

static bool hosts_parse_file(struct reading *r, const char *text)
{
    char wrong[200] = "", *const why = r->why;
    const size_t why_size = r->why_size;
    r->why = wrong;
    r->why_size = sizeof wrong;
    for (unsigned number = 1; *text; number++) {
        size_t line = strcspn(text, "\n");
        size_t end = strcspn(text, "#\n");
        size_t start = strspn(text, " \t\r\v\f");
        if (start < end &&
            !hosts_add_item(r, text + start, strcspn(text + start, " \t\r\v\f#\n"))) {
            snprintf(why, why_size, "line %u: %s", number, wrong);
            return false;
        }
        text += line + (text[line] == '\n');
    }
    return true;
}

static const char between[] = ", \t\r\n\v\f";

/* The length of the next word; commas within brackets are part of it. */
static size_t hosts_word(const char *text)
{
    size_t len = 0;
    for (bool inside = false; text[len] && (inside || !strchr(between, text[len])); len++)
        inside = text[len] == '[' || (inside && text[len] != ']');
    return len;
}

/* `pairs`: behind each host is the number of its slots. */
static bool hosts_parse_words(struct reading *r, const char *text, bool pairs)
{
    while (*(text += strspn(text, between))) {
        const size_t len = hosts_word(text);
        if (!hosts_add_item(r, text, len)) return false;
        text += len;
        if (!pairs) continue;
        text += strspn(text, between);
        const size_t digits = strspn(text, "0123456789");
        if (!digits || digits != hosts_word(text))
            return hosts_wrong(r, "is not followed by the number of its slots");
        text += digits;
    }
    return true;
}

bool hosts_parse(struct shell_words *hosts, enum hosts_format format, const char *text, char *why,
                 size_t why_size)
{
    static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark of other systems */
    struct reading r = {.hosts = hosts, .why = why, .why_size = why_size};
    if (strncmp(text, mark, sizeof mark - 1) == 0) text += sizeof mark - 1;
    bool good = format == HOSTS_FILE ? hosts_parse_file(&r, text)
                                     : hosts_parse_words(&r, text, format == HOSTS_PAIRS);
    if (good && hosts->failed) {
        snprintf(why, why_size, "out of memory for the host list");
        return false;
    }
    return good;
}

void hosts_merge(struct shell_words *hosts)
{
    size_t kept = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        if (kept && strcmp(hosts->word[kept - 1], hosts->word[i]) == 0)
            free(hosts->word[i]);
        else
            hosts->word[kept++] = hosts->word[i];
    }
    if (hosts->word) hosts->word[kept] = NULL;
    hosts->count = kept;
}

bool hosts_same(const char *a, const char *b)
{
    if (strcmp(a, b) == 0) return true;
    size_t len_a = strcspn(a, "."), len_b = strcspn(b, ".");
    bool numeric = strspn(a, "0123456789.:") == strlen(a) || strspn(b, "0123456789.:") == strlen(b);
    return !numeric && (!a[len_a] || !b[len_b]) && len_a == len_b && memcmp(a, b, len_a) == 0;
}

void hosts_place(uint32_t ranks, uint32_t hosts, struct hosts_block *blocks)
{
    uint32_t next = 0;
    for (uint32_t h = 0; h < hosts; h++) {
        blocks[h].first = next;
        blocks[h].count = ranks / hosts + (h < ranks % hosts);
        blocks[h].stride = 1;
        next += blocks[h].count;
    }
}

void hosts_deal(uint32_t ranks, uint32_t hosts, struct hosts_block *blocks)
{
    for (uint32_t h = 0; h < hosts; h++)
        blocks[h] = (struct hosts_block){h, ranks / hosts + (h < ranks % hosts), hosts};
}
