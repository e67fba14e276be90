/* report.h - messages to people: one line, with rank and host in front, and the end of the job when fatal. */
#ifndef GASNETI_REPORT_H
#define GASNETI_REPORT_H

/* Prints "*** FATAL ERROR (rank R of N on HOST): text" and ends the whole job with status 1.  The
 * text says what happened and what to do about it.  Legal at any time, in any thread. */
void gasneti_fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* "*** WARNING (rank R ...): text"; silent with GASNET_QUIET. */
void gasneti_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Announces an error that a Core call is about to return, and returns it. */
int gasneti_error(int code, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
