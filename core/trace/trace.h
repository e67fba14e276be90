/* trace.h - a trace of what this rank does: GASNET_TRACEFILE.  README.md describes the file.
 *
 * Used by the core, the Extended API and the networks.  Whether a trace is written is settled in
 * gasnet_init and does not change.  Hot paths do not ask: while a trace is written they are never
 * taken, since what they test for another reason is arranged so that their slow paths are, and
 * these note the event.  gasnetc_reach (job/rank.h) is 0, so puts, gets and Requests take the paths
 * of wrong ranks; the table of clients' handlers is empty (am/am_handlers.c), so messages are
 * delivered as those of the library's own handlers; the table of shared-memory peers has empty
 * segments (extended-ref/shm_transfer.h); and gasnetc_poll_in_wait is another function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/trace/events.h"
#include "other/base/clock.h"

#pragma GCC visibility push(hidden)
extern bool gasneti_trace_on;

/* gasnet_init, when the parameters are known: begins the trace, if it is asked for.  Warns if the
 * file cannot be made. */
void gasneti_trace_init(void);
/* The time of this rank's clock at which the trace of rank 0 began, in ns.  The file is written
 * from now on; without this call, when a ring is half full, or at the end. */
void gasneti_trace_align(int64_t zero);
/* The time that this rank's file calls 0; for rank 0. */
int64_t gasneti_trace_zero(void);
/* The end of the process: writes what is left and ends the file.  At most once. */
void gasneti_trace_close(void);

/* --- events --- */

/* The beginning of a span: a call of the client.  0: no trace is written. */
uint64_t gasneti_trace_enter(void) __attribute__((cold));
static inline uint64_t gasneti_trace_begin(void)
{
    return gasneti_trace_on ? gasneti_trace_enter() : 0;
}

/* The end of the span, and its event.  `event` has kind, peer and what else there is to say. */
void gasneti_trace_leave(uint64_t began, const gasneti_trace_event_t *event) __attribute__((cold));
#define gasneti_trace_end(start, ...)                                                              \
    do {                                                                                           \
        if (start) gasneti_trace_leave(start, &(gasneti_trace_event_t){__VA_ARGS__});              \
    } while (0)

/* A wait in a call of the client until `condition` holds: an event, of kind and what else there is
 * to say.  Without a span around it a wait of the library's own would be told as the client's. */
#define gasneti_trace_wait(condition, ...)                                                         \
    do {                                                                                           \
        const uint64_t began_wait = gasneti_trace_begin();                                         \
        gasneti_wait_until(condition);                                                             \
        gasneti_trace_end(began_wait, .peer = GASNETI_TRACE_NO_PEER, __VA_ARGS__);                 \
    } while (0)

/* The end of a call of the client that waits for several transfers; `site`: the address in the
 * program to which it returns. */
static inline void gasneti_trace_waited(uint64_t began, const void *site)
{
    gasneti_trace_end(began, .kind = GASNETI_TRACE_wait, .reason = GASNETI_TRACE_FOR_TRANSFERS,
                      .peer = GASNETI_TRACE_NO_PEER, .site = site);
}

/* The end of a span that is no event. */
void gasneti_trace_forget(void) __attribute__((cold));

/* True inside such a span: its parts are no events of their own. */
bool gasneti_trace_within(void);

/* An event of the library itself, which began at a time of gasneti_clock_ns. */
void gasneti_trace_note(uint64_t began, const gasneti_trace_event_t *event) __attribute__((cold));

/* One step of a wait, a poll, begins; the next call is at its end.  Steps that follow each other
 * closely are one event.  A wait that lasts is told with a place: `site`, the address in the
 * program, or the caller of the function of the library in which `within` lies; both may be NULL.
 */
void gasneti_trace_step(enum gasneti_trace_for reason, uint32_t peer) __attribute__((cold));
void gasneti_trace_stepped(const void *site, const void *within) __attribute__((cold));
#pragma GCC visibility pop
