/* shell_quote.c - shell-style splitting and quoting; see shell_quote.h.  Pure: no I/O, no globals.
 */
#include "other/launch/shell_quote.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for one more word and the null behind it.  The room doubles when the count is a power
 * of two, so that it is not stored. */
static bool shell_make_room(struct shell_words *list)
{
    if (list->count & (list->count - 1)) return true;
    char **grown = realloc(list->word, 2 * (list->count + 1) * sizeof *grown);
    if (grown) list->word = grown;
    return grown != NULL;
}

void shell_add_bytes(struct shell_words *list, const char *bytes, size_t len)
{
    if (list->failed) return;
    char *copy = malloc(len + 1);
    if (!copy || !shell_make_room(list)) {
        free(copy);
        list->failed = true;
        return;
    }
    memcpy(copy, bytes, len);
    copy[len] = 0;
    list->word[list->count++] = copy;
    list->word[list->count] = NULL;
}

void shell_add(struct shell_words *list, const char *word)
{
    shell_add_bytes(list, word, strlen(word));
}

void shell_free(struct shell_words *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->word[i]);
    free(list->word);
    memset(list, 0, sizeof *list);
}

static bool shell_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Unquotes one word of *text into `to`, which must be large enough, and advances *text past it. */
static bool shell_unquote_word(const char **text, char *to, size_t *len)
{
    const char *s = *text;
    char quote = 0;
    size_t n = 0;
    for (; *s && (quote || !shell_is_blank(*s)); s++) {
        if (quote == '\'' ? *s == '\'' : quote == '"' && *s == '"') {
            quote = 0;
        } else if (!quote && (*s == '\'' || *s == '"')) {
            quote = *s;
        } else if (*s == '\\' && quote != '\'') {
            if (!s[1]) return false;
            if (quote && !strchr("\"\\$`", s[1])) to[n++] = '\\';
            to[n++] = *++s;
        } else {
            to[n++] = *s;
        }
    }
    *text = s;
    *len = n;
    return !quote;
}

bool shell_split(struct shell_words *list, const char *text)
{
    char *room = malloc(strlen(text) + 1);
    size_t len;
    bool good = true;
    if (!room) list->failed = true;
    while (room && good) {
        while (shell_is_blank(*text)) text++;
        if (!*text) break;
        good = shell_unquote_word(&text, room, &len);
        if (good) shell_add_bytes(list, room, len);
    }
    free(room);
    return good;
}

static bool shell_is_plain(const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    return *word && word[strspn(word, plain)] == 0;
}

char *shell_quote(const char *word)
{
    if (shell_is_plain(word)) return strdup(word);
    char *text = malloc(4 * strlen(word) + 3), *to = text;
    if (!text) return NULL;
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(to, "'\\''", 4);
            to += 4;
        } else {
            *to++ = *word;
        }
    }
    *to++ = '\'';
    *to = 0;
    return text;
}

char *shell_join(char *const *words)
{
    char *all = calloc(1, 1);
    size_t len = 0;
    for (; all && *words; words++) {
        char *quoted = shell_quote(*words);
        char *grown = quoted ? realloc(all, len + strlen(quoted) + 2) : NULL;
        if (!grown) {
            free(quoted);
            free(all);
            return NULL;
        }
        all = grown;
        if (len) all[len++] = ' ';
        strcpy(all + len, quoted);
        len += strlen(quoted);
        free(quoted);
    }
    return all;
}
