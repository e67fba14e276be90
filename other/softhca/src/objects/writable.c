/* writable.c - checks that memory may be written, for regions with IBV_ACCESS_LOCAL_WRITE.
 *
 * No system call reports this for a range without touching its pages, so /proc/self/maps is read,
 * which takes some tens of microseconds. Ranges found writable are cached: a later registration
 * inside one costs a few comparisons. Memory that is write-protected afterwards may pass; writable
 * memory is never refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/segment/lock.h"

struct range {
    uintptr_t start, end;
};

enum { REMEMBERED = 32 };
static struct range known[REMEMBERED];
static uint32_t next_known;
static struct shca_lock known_lock;

static bool writable_holds(const struct range *r, const struct range *want)
{
    return want->start >= r->start && want->end <= r->end;
}

static bool writable_is_known(const struct range *want)
{
    bool found = false;
    shca_lock(&known_lock);
    for (int i = 0; i < REMEMBERED && !found; i++) found = writable_holds(&known[i], want);
    shca_unlock(&known_lock);
    return found;
}

/* Replaces a cached range that it overlaps or continues, if there is one. */
static void writable_remember(const struct range *r)
{
    shca_lock(&known_lock);
    uint32_t at = 0;
    while (at < REMEMBERED && (r->end <= known[at].start || r->start >= known[at].end)) at++;
    known[at < REMEMBERED ? at : next_known++ % REMEMBERED] = *r;
    shca_unlock(&known_lock);
}

/* The last run of adjoining writable mappings that begins before the end of WANT. */
static struct range writable_read_mappings(FILE *maps, const struct range *want)
{
    struct range run = {0, 0};
    char *line = NULL, *rest;
    size_t room = 0;
    while (getline(&line, &room, maps) > 0) {
        struct range m = {.start = strtoull(line, &rest, 16)};
        if (*rest == '-') m.end = strtoull(rest + 1, &rest, 16);
        if (m.start >= want->end && m.start != run.end) break;
        bool writable = strlen(rest) > 2 && rest[2] == 'w';
        if (!writable && m.start >= want->end) break;
        if (!writable) continue;
        if (m.start != run.end) run.start = m.start;
        run.end = m.end;
    }
    free(line);
    return run;
}

bool shca_is_writable(const void *addr, size_t len)
{
    struct range want = {(uintptr_t)addr, (uintptr_t)addr + len};
    if (len == 0 || writable_is_known(&want)) return true;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return true; /* cannot be checked: accept */
    struct range run = writable_read_mappings(maps, &want);
    fclose(maps);
    if (!writable_holds(&run, &want)) return false;
    writable_remember(&run);
    return true;
}

void shca_writable_in_child(void)
{
    known_lock = (struct shca_lock){0};
}
