/* line.h - one line of a rank's trace, whose format is in core/trace/README.md.  Pure. */
#ifndef REPORT_LINE_H
#define REPORT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum line_kind {
    LINE_PASSED, /* "[", "]", an empty line, or metadata that is for viewers alone */
    LINE_RANK,   /* the first line of a rank */
    LINE_THREAD, /* the name of a thread */
    LINE_SPAN,
    LINE_MOMENT,
    LINE_END /* the last line of a rank that ended well */
};

enum { LINE_RANKS_MAX = 65535 };

/* Bytes within the line; they are valid UTF-8. */
struct line_text {
    const char *at; /* NULL: the line does not have it */
    size_t length;
};

/* Numbers that the line does not have are -1. */
struct line {
    enum line_kind kind;
    struct line_text phase, name, category;             /* ph, name, cat */
    struct line_text cause, site, team;                 /* args: for, site, team */
    struct line_text host, conduit, mode, began, label; /* args of metadata; label is a name */
    int64_t begin, length;                              /* ts, dur, in nanoseconds */
    int64_t pid, tid;
    int64_t peer, bytes, handler;
    int64_t rank, ranks, events, dropped;
    int64_t aligned;    /* 1: true */
    int64_t began_time; /* `began` in seconds since 1970 */
};

/* Reads a line without its end; escapes in its strings are replaced in place.  Returns false with
 * the reason in `why` if the line is none of a trace. */
bool line_read(struct line *line, char *text, size_t length, const char **why);

#endif
