/* trace.h - the traces of a job's ranks, read from their files.
 *
 * Of very many events a part is kept: the longest half of `most`, and of the others a sample.  The
 * rest is added up, by what the views of the page ask for.
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "other/launch/report/line.h"

/* Events that a page has at most: its size is then some 20 MB. */
enum { TRACE_EVENTS_MAX = 1000000, TRACE_GROUPS_MAX = 1 << 19, TRACE_NOTES_MAX = 20 };

/* Texts, each once and with a number; number 0 is no text. */
struct texts {
    char **text;
    uint32_t count, *slots, size; /* `slots` is a hash table of numbers */
};

struct trace_rank {
    bool begun, ended, aligned;
    bool apart;               /* it began at quite another time than the first rank */
    uint32_t host;            /* a text */
    const char *file;         /* where it begins */
    uint32_t threads;         /* the number of the last one, plus 1; 0: it has none */
    uint64_t read;            /* events */
    int64_t written, dropped; /* events, as its last line says */
};

struct trace_thread {
    uint32_t rank, tid, label; /* label: a text, or 0 */
    uint32_t events;           /* kept */
    uint32_t order;            /* by rank and tid */
    uint32_t before;           /* another thread of the rank, plus 1; 0: this is the first */
};

/* What the events of a name have in common. */
struct trace_kind {
    char category;
    bool moment;
    uint32_t name; /* a text; that of a moment is the event's own */
};

struct trace_event {
    int64_t begin, length, bytes; /* bytes: -1: not given */
    uint32_t thread, kind, draw;  /* draw: random, decides about the sample */
    int32_t peer, handler;        /* -1: not given */
    uint32_t cause, site, team;   /* texts */
    char *moment;                 /* the text of a moment, else NULL */
};

/* Events that are not kept, added up. */
struct trace_group {
    uint32_t rank, kind, cause, site;
    int32_t peer;
    uint64_t events, bytes, length;
};

enum { TRACE_BUCKETS = 256 };

struct trace {
    uint32_t ranks; /* 0: not known yet */
    char *conduit, *mode, *began;
    int64_t began_time;
    struct trace_rank *rank;
    struct texts texts;
    struct trace_thread *threads;
    uint32_t thread_count, thread_last, *by_order;
    struct trace_kind *kinds;
    uint32_t kind_count;
    struct trace_event *events;
    size_t count, most;

    uint64_t read;      /* events */
    uint64_t malformed; /* lines */
    int64_t cut;        /* longer events are all kept */
    uint32_t sampled;   /* of shorter ones one of 2^sampled is kept */
    struct trace_group *groups;
    uint32_t group_count, *group_slots;
    uint64_t (*buckets)[TRACE_BUCKETS]; /* one row for each kind: events not kept, by length */
    uint64_t left_out, uncounted;       /* events not kept; those of them that no group has */

    char *notes[TRACE_NOTES_MAX];
    uint32_t note_count;
    char error[512]; /* the traces cannot be used */
};

/* `most`: how many events are kept at most. */
void trace_begin(struct trace *trace, size_t most);
void trace_free(struct trace *trace);

/* One line without its end, which may be changed.  Returns false if the traces cannot be used:
 * `error` is the reason. */
bool trace_take_line(struct trace *trace, const char *file, uint64_t number, char *text,
                     size_t length);
/* All lines of a file. */
bool trace_take_file(struct trace *trace, const char *file, FILE *from);
/* After the last line: sorts the events by thread and time, and adds notes about what is missing.
 */
void trace_end(struct trace *trace);

/* Keeps a sentence for the reader of the page. */
void trace_note(struct trace *trace, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lengths of equal bucket differ by a quarter at most: four buckets for each power of two. */
uint32_t trace_bucket(int64_t length);

/* sample.c: makes room when the array of events is full. */
void trace_thin(struct trace *trace);
/* sample.c: whether an event is kept so far; one that is not kept is added up. */
bool trace_keeps(struct trace *trace, struct trace_event *event);

/* memory.c: an array of another size; ends the process if there is no memory. */
void *trace_resize(void *array, size_t count, size_t size);
char *trace_copy(const char *text, size_t length);
/* memory.c: the number of a text; 0 of none.  After 65535 texts the same number for all. */
uint32_t texts_number(struct texts *texts, struct line_text text);
void texts_free(struct texts *texts);

#endif
