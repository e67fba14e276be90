/* stats.h - reports of the counters of core/counters/counters.h: to GASNET_STATSFILE and to
 * gasnetrun --stats.
 *
 * Called by start-up and exit.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "core/counters/counters.h"

/* All counters at one moment. */
typedef struct gasnetc_tally {
    uint64_t value[GASNETC_COUNTERS];
} gasnetc_tally_t;

/* Reads the counters of scope PEER, for another rank. */
void gasnetc_tally_peer(uint32_t node, gasnetc_tally_t *tally);

/* Reads the counters of scope PROCESS, and those of scope PEER folded over all other ranks. */
void gasnetc_tally_process(gasnetc_tally_t *tally);

/* --- GASNET_STATSFILE, and gasnetrun --stats --- */

/* Start-up: creates the file; warns if that fails. */
void gasnetc_stats_init(void);

/* From now on, until gasnetc_stats_close, answers gasnetrun, and watches. */
void gasnetc_stats_serve(void);
/* Ends gasnetc_stats_serve, before the network's counters are freed; waits for an answer that is
 * being composed. */
void gasnetc_stats_close(void);

/* Whether gasnetc_stats_close was called. */
bool gasnetc_stats_closed(void);
/* gasnetc_tally_process for a thread that may come at any time; false: not now. */
bool gasnetc_stats_tally(gasnetc_tally_t *tally);
/* This process's answer to gasnetrun --why; the caller frees it.  NULL: there is none. */
char *gasnetc_stats_why(void);

/* GASNET_WATCHDOG: starts the thread that watches, until gasnetc_stats_close, whether this process
 * gets on. */
void gasnetc_watchdog_start(void);

/* What this process waits for, for gasnetrun --why: lines "# why RANK ...", which it reads.
 * `polls`: a thread has polled just now. */
void gasnetc_write_waits(FILE *out, bool polls);
/* The same for gasnetrun --top, in less time: what the process uses, and whether it waits. */
void gasnetc_write_top(FILE *out, bool polls);
/* Supplied by the Extended API: the lines about barriers and collectives. */
void gasnete_write_waits(FILE *out);

/* Appends this process's counters to the file, if any; `when` is the occasion, in words. */
void gasnetc_stats_write(const char *when);
