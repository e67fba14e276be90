/* script_record.h - what the scripted stand-ins for a network share: a record of calls, which is
 * also the queue of what is under way, copies of what was passed, and the end of a program that
 * breaks a rule.
 *
 * For net_script.c (in place of core/network.h), ptl_script.c (of libportals) and libportals' own
 * scripted_peer.c (of its transport). Each has the operations, completions and refusals of its
 * interface. Entries are blocks of malloc, and do not move.
 */
#ifndef UNIT_SCRIPT_RECORD_H
#define UNIT_SCRIPT_RECORD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct script_record {
    void **entry;
    unsigned count, first; /* first: those before it were taken, or are forgotten */
} script_record_t;

/* Ends the program: the rules that are named are broken. */
#define script_broken(rules, ...)                                                                  \
    do {                                                                                           \
        printf("not ok - " rules " broken: " __VA_ARGS__);                                         \
        putchar('\n');                                                                             \
        fflush(stdout);                                                                            \
        _exit(3);                                                                                  \
    } while (0)

static inline void *script_copy(const void *bytes, size_t length)
{
    void *copy = malloc(length ? length : 1);
    if (!copy) abort();
    if (length) memcpy(copy, bytes, length);
    return copy;
}

static inline void *script_append(script_record_t *record, void *entry)
{
    record->entry = realloc(record->entry, (record->count + 1) * sizeof *record->entry);
    if (!record->entry) abort();
    return record->entry[record->count++] = entry;
}

static inline unsigned script_left(const script_record_t *record)
{
    return record->count - record->first;
}

/* The oldest entry, which the caller frees; NULL: none is left. */
static inline void *script_take(script_record_t *record)
{
    if (!script_left(record)) return NULL;
    void *entry = record->entry[record->first];
    record->entry[record->first++] = NULL;
    if (script_left(record)) return entry;
    free(record->entry);
    *record = (script_record_t){0};
    return entry;
}

/* Frees all entries. */
static inline void script_clear(script_record_t *record)
{
    record->first = 0;
    while (script_left(record)) free(script_take(record));
}

#endif
