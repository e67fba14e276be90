/* hosts.c - parses the list of hosts; see hosts.h.
 *
 * Called once, when the device starts, and by the check of the setting. Pure: no I/O, no globals;
 * fabric.c resolves the names.
 */
#include "other/softhca/src/settings/hosts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "other/base/fnv.h"

static const char blanks[] = " \t\r\v\f";

bool shca_hosts_is_path(const char *value)
{
    return strchr(value, '/') != NULL;
}

int shca_hosts_find(const struct shca_hosts *h, const char *name)
{
    for (unsigned i = 0; i < h->n; i++)
        if (!strcasecmp(h->name[i], name)) return (int)i;
    return -1;
}

void shca_hosts_free(struct shca_hosts *h)
{
    while (h->n > 0) free(h->name[--h->n]);
}

/* The fault of a name of LEN bytes, as words for a message; NULL if it is valid. */
static const char *hosts_fault_of(const char *name, size_t len)
{
    if (len == 0) return "is empty";
    if (len > SHCA_HOST_NAME_MAX) return "is too long";
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr(".-_:%", name[i]))
            return "is no host name or address";
    return NULL;
}

/* Adds a name to H; false, with a message in WHY, if it is invalid. WHERE names the entry or line
 * in the message. */
static bool hosts_add(struct shca_hosts *h, const char *name, size_t len, const char *where,
                      char *why, size_t room)
{
    if (len > 2 && name[0] == '[' && name[len - 1] == ']') name++, len -= 2; /* [::1] */
    const char *fault = hosts_fault_of(name, len);
    if (!fault && h->n == SHCA_HOSTS_MAX) fault = "is one more than there may be";
    char *copy = fault ? NULL : strndup(name, len);
    if (!fault && !copy) fault = "is beyond the memory there is";
    if (fault) {
        int shown = len < 40 ? (int)len : 40;
        snprintf(why, room, "%s, '%.*s', %s", where, shown, name, fault);
        return false;
    }
    int first = shca_hosts_find(h, copy);
    if (first >= 0) {
        snprintf(why, room, "%s, '%.40s', is host %d already", where, copy, first + 1);
        free(copy);
        return false;
    }
    h->name[h->n++] = copy;
    return true;
}

static bool hosts_add_trimmed(struct shca_hosts *h, const char *from, const char *to,
                              const char *where, char *why, size_t room)
{
    while (from < to && strchr(blanks, *from)) from++;
    while (from < to && strchr(blanks, to[-1])) to--;
    return hosts_add(h, from, to - from, where, why, room);
}

static bool hosts_parse_line(struct shca_hosts *h, const char *line, unsigned number, char *why,
                             size_t room)
{
    char where[40];
    snprintf(where, sizeof where, "line %u", number);
    size_t len = strcspn(line, "#\n");
    if (strspn(line, blanks) >= len) return true; /* blank, or only a comment */
    return hosts_add_trimmed(h, line, line + len, where, why, room);
}

static bool hosts_parse_file(struct shca_hosts *h, const char *text, char *why, size_t room)
{
    for (unsigned number = 1; *text; number++) {
        if (!hosts_parse_line(h, text, number, why, room)) return false;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return true;
}

static bool hosts_parse_list(struct shca_hosts *h, const char *text, char *why, size_t room)
{
    for (unsigned number = 1;; number++) {
        char where[40];
        size_t len = strcspn(text, ",");
        snprintf(where, sizeof where, "host %u", number);
        if (!hosts_add_trimmed(h, text, text + len, where, why, room)) return false;
        if (!text[len]) return true;
        text += len + 1;
    }
}

bool shca_hosts_parse(struct shca_hosts *h, bool file, const char *text, char *why, size_t room)
{
    bool good = file ? hosts_parse_file(h, text, why, room) : hosts_parse_list(h, text, why, room);
    if (good && h->n == 0) {
        snprintf(why, room, "there is no host in it");
        good = false;
    }
    if (!good) shca_hosts_free(h);
    return good;
}

uint64_t shca_hosts_hash(const struct shca_hosts *h)
{
    uint64_t hash = GASNETI_FNV_START;
    for (unsigned i = 0; i < h->n; i++)
        for (const char *c = h->name[i];; c++) {
            const unsigned char lower = (unsigned char)tolower((unsigned char)*c);
            hash = gasneti_fnv(hash, &lower, 1);
            if (!*c) break; /* the terminator is hashed: "ab","c" is not "a","bc" */
        }
    return hash;
}

bool shca_hosts_check(const char *text, char *why, size_t room)
{
    struct shca_hosts h = {0};
    if (shca_hosts_is_path(text)) return true;
    bool good = shca_hosts_parse(&h, false, text, why, room);
    shca_hosts_free(&h);
    return good;
}
