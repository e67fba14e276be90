/* report.h - messages to the user: one line with rank and host in front, and, if fatal, the end of
 * the job.  Used by the core and by the networks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Prints "*** FATAL ERROR (rank R of N on HOST): text" and ends the whole job with status 1.  The
 * text says what happened and what to do about it.  Legal at any time, in any thread. */
void gasneti_fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* gasneti_fatal for a failure that many ranks may have, each with a text of its own: the launcher
 * prints only the first text. */
void gasneti_fatal_once(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Called at start-up by every rank: returns if `error` is "" on all ranks.  Otherwise the first
 * rank with an error calls gasneti_fatal with it, and the other ranks wait for the end: one line
 * for the job, not one for each rank. */
void gasneti_fatal_if_any(const char *error);

/* Ends the job, as every rank knows that it must end: the ranks with `reports` report why. */
void gasneti_fatal_by_one(bool reports, const char *error) __attribute__((noreturn));

/* Records that a connection or a peer failed, which may only mean that the job is ending.  The text
 * is kept until the next poll, which waits a moment for the order to end and otherwise calls
 * gasneti_fatal with it.  Only the first failure is kept.  For networks; legal with the poll lock
 * held. */
void gasneti_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

const char *gasneti_failure(void);

/* "*** WARNING (rank R ...): text"; silent with GASNET_QUIET. */
void gasneti_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "gasnet: text", of rank 0 alone, and only with GASNET_VERBOSEENV. */
void gasneti_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the error that a call of a client is about to return, after a warning unless
 * gasneti_verbose_errors is false. */
extern bool gasneti_verbose_errors;
int gasneti_error(int code, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "rank R of N on HOST" of this process; NULL before it has joined a job.  The text lives until the
 * thread's next call. */
const char *gasneti_own_name(void);

/* "rank R on host H" of any rank; the text lives until the thread's next call. */
const char *gasneti_rank_name(uint32_t rank);

/* Fatal: a message from `rank` violates the protocol; names the field that is wrong. */
static inline void __attribute__((noreturn, cold))
gasneti_malformed(uint32_t rank, uint32_t length, const char *field)
{
    gasneti_fatal("a malformed Active Message of %u bytes from %s: bad %s; do all ranks run the "
                  "same program and library?",
                  length, gasneti_rank_name(rank), field);
}

/* Zeroed memory; fatal without memory, naming what it was for. */
static inline void *gasneti_calloc(size_t count, size_t size, const char *what)
{
    void *memory = calloc(count, size);
    if (!memory)
        gasneti_fatal("out of memory: %zu bytes for %s; raise the limit (ulimit -v)", count * size,
                      what);
    return memory;
}

/* Notes if the calling thread is not that of gasnet_init, which the rules of SEQ forbid: messages
 * of later failures then name this as the cause.  Called where a thread waits; does nothing in
 * PARSYNC and PAR. */
void gasneti_note_thread(void);

/* True while this process exits; a peer that fails then is not an error. */
bool gasneti_ending(void);

/* True in a child, by fork, of the process that joined the job.  Async-signal-safe. */
bool gasnetc_exit_of_child(void);

/* Sets the rank and host that messages show, instead of the process id.  Called by the thread that
 * calls gasnet_init. */
void gasneti_report_init(uint32_t rank, uint32_t size, const uint32_t *host_of);

/* True if the program is position-independent, so that its functions and static variables have
 * other addresses in each process.  False before attach. */
bool gasnetc_linked_as_pie(void);
#define GASNETC_PIE_HINT                                                                           \
    "this program is linked as PIE, so addresses of its functions and static variables differ "    \
    "between ranks; link with -no-pie to send them"
