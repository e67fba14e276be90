/* span.c - parts of a text; see span.h. */
#include "other/softhca/src/settings/span.h"

#include <stdio.h>
#include <string.h>

#include "other/base/edit_distance.h"

static bool span_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static struct shca_span span_trimmed(const char *at, size_t n)
{
    while (n > 0 && span_blank(*at)) at++, n--;
    while (n > 0 && span_blank(at[n - 1])) n--;
    return (struct shca_span){at, n};
}

struct shca_span shca_span(const char *text)
{
    return span_trimmed(text, strlen(text));
}

struct shca_span shca_span_cut(struct shca_span *rest, char separator)
{
    const char *end = memchr(rest->at, separator, rest->n);
    size_t n = end ? (size_t)(end - rest->at) : rest->n;
    struct shca_span head = span_trimmed(rest->at, n);
    size_t used = end ? n + 1 : n;
    *rest = span_trimmed(rest->at + used, rest->n - used);
    return head;
}

bool shca_span_next(struct shca_span *rest, char separator, struct shca_span *item)
{
    if (!rest->at) return false;
    bool last = !shca_span_has(*rest, separator);
    *item = shca_span_cut(rest, separator);
    if (last) rest->at = NULL;
    return true;
}

bool shca_span_has(struct shca_span s, char c)
{
    return memchr(s.at, c, s.n) != NULL;
}

bool shca_span_is(struct shca_span s, const char *word)
{
    return strlen(word) == s.n && !memcmp(s.at, word, s.n);
}

bool shca_span_begins(struct shca_span s, const char *word)
{
    size_t n = strlen(word);
    return n <= s.n && !memcmp(s.at, word, n);
}

static int span_digit(char c, unsigned base)
{
    int d = c >= '0' && c <= '9' ? c - '0' : -1;
    if (base == 16 && c >= 'a' && c <= 'f') d = c - 'a' + 10;
    if (base == 16 && c >= 'A' && c <= 'F') d = c - 'A' + 10;
    return d;
}

bool shca_span_number(struct shca_span s, uint64_t least, uint64_t most, uint64_t *value)
{
    static const char units[] = "KMGT";
    unsigned base = 10;
    uint64_t v = 0;
    if (shca_span_begins(s, "0x")) base = 16, s.at += 2, s.n -= 2;
    const char *unit = s.n > 1 ? strchr(units, s.at[s.n - 1]) : NULL;
    size_t digits = s.n - (unit != NULL);
    if (digits == 0) return false;
    for (size_t i = 0; i < digits; i++) {
        int d = span_digit(s.at[i], base);
        if (d < 0 || v > (UINT64_MAX - d) / base) return false;
        v = v * base + d;
    }
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (v > UINT64_MAX >> shift) return false;
    *value = v << shift;
    return *value >= least && *value <= most;
}

bool shca_span_device(struct shca_span s, uint64_t most, uint64_t *n)
{
    static const char prefix[] = "softhca";
    if (!shca_span_begins(s, prefix)) return false;
    s.at += sizeof prefix - 1;
    s.n -= sizeof prefix - 1;
    return shca_span_number(s, 0, most, n);
}

bool shca_span_word(struct shca_span s, const struct shca_word *words, uint64_t *value)
{
    for (; words->name; words++) {
        *value = words->value;
        if (shca_span_is(s, words->name)) return true;
    }
    return false;
}

void shca_list_add(char *list, size_t room, const char *name)
{
    size_t n = strlen(list);
    snprintf(list + n, room - n, "%s%s", n ? ", " : "", name);
}

void shca_list_words(char *list, size_t room, const struct shca_word *words)
{
    for (; words->name; words++) shca_list_add(list, room, words->name);
}

void shca_span_near(struct shca_span s, const char *name, struct shca_near *near)
{
    char copy[32] = "";
    memcpy(copy, s.at, s.n < sizeof copy ? s.n : sizeof copy - 1);
    unsigned d = gasneti_edit_distance(copy, name);
    unsigned limit = near->name ? near->distance : (unsigned)strlen(copy) / 2 + 1;
    if (d < limit) *near = (struct shca_near){name, d};
}
