/* hosts.c - host lists and the placement of ranks; see hosts.h.  Pure: no I/O, no globals. */
#include "other/spawner/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 255, RANGE_MAX = 65536 };

/* The name becomes a word of a command line, where it must not look like an option. */
static bool hosts_add(struct shell_words *hosts, const char *name, size_t len, char *why,
                      size_t why_size)
{
    const char *wrong = NULL;
    if (len > NAME_MAX_LEN) wrong = "is too long";
    if (len && name[0] == '-') wrong = "begins with a dash";
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == 127)
            wrong = "holds a blank or control character";
    if (wrong) {
        snprintf(why, why_size, "host name \"%.*s\" %s", (int)(len < 40 ? len : 40), name, wrong);
        return false;
    }
    if (len) shell_add_bytes(hosts, name, len);
    return true;
}

static bool hosts_parse_file(struct shell_words *hosts, const char *text, char *why,
                             size_t why_size)
{
    while (*text) {
        size_t line = strcspn(text, "\n");
        size_t end = strcspn(text, "#\n");
        size_t start = strspn(text, " \t\r\v\f");
        if (start < end) {
            size_t len = strcspn(text + start, " \t\r\v\f#\n");
            if (!hosts_add(hosts, text + start, len, why, why_size)) return false;
        }
        text += line + (text[line] == '\n');
    }
    return true;
}

static bool hosts_parse_words(struct shell_words *hosts, const char *text, char *why,
                              size_t why_size)
{
    static const char between[] = ", \t\r\n\v\f";
    while (*(text += strspn(text, between))) {
        size_t len = strcspn(text, between);
        if (!hosts_add(hosts, text, len, why, why_size)) return false;
        text += len;
    }
    return true;
}

/* Appends the hosts of one range, "07-12" or "14", behind `prefix`; leading zeros give the width.
 */
static bool hosts_add_range(struct shell_words *hosts, const char *prefix, size_t prefix_len,
                            const char **range, char *why, size_t why_size)
{
    char *end, name[NAME_MAX_LEN + 1];
    size_t width = strspn(*range, "0123456789");
    unsigned long low = strtoul(*range, &end, 10), high = low;
    bool good = width > 0 && width < 10 && prefix_len < 200;
    if (good && *end == '-') {
        size_t digits = strspn(end + 1, "0123456789");
        high = strtoul(end + 1, &end, 10);
        good = digits > 0 && digits < 10;
    }
    if (!good || high < low || high - low >= RANGE_MAX) {
        snprintf(why, why_size, "host range \"%.40s\" is no range of numbers", *range);
        return false;
    }
    for (unsigned long i = low; i <= high; i++) {
        int len = snprintf(name, sizeof name, "%.*s%0*lu", (int)prefix_len, prefix, (int)width, i);
        if (!hosts_add(hosts, name, (size_t)len, why, why_size)) return false;
    }
    *range = end;
    return true;
}

static bool hosts_parse_ranges(struct shell_words *hosts, const char *text, char *why,
                               size_t why_size)
{
    static const char between[] = ", \t\r\n";
    while (*(text += strspn(text, between))) {
        size_t len = strcspn(text, ", \t\r\n[");
        if (text[len] != '[') {
            if (!hosts_add(hosts, text, len, why, why_size)) return false;
            text += len;
            continue;
        }
        const char *range = text + len;
        do {
            range++;
            if (!hosts_add_range(hosts, text, len, &range, why, why_size)) return false;
        } while (*range == ',');
        if (*range != ']' || (range[1] && !strchr(between, range[1]))) {
            snprintf(why, why_size, "host list \"%.40s\": ] and then a comma expected", text);
            return false;
        }
        text = range + 1;
    }
    return true;
}

bool hosts_parse(struct shell_words *hosts, enum hosts_format format, const char *text, char *why,
                 size_t why_size)
{
    bool good = format == HOSTS_FILE    ? hosts_parse_file(hosts, text, why, why_size)
                : format == HOSTS_WORDS ? hosts_parse_words(hosts, text, why, why_size)
                                        : hosts_parse_ranges(hosts, text, why, why_size);
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
