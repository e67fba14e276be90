/* stats.h - counters for people: gathered at one moment, written to GASNET_STATSFILE, and told to
 * gasnetrun --stats.
 *
 * Called by start-up and exit.  The records that are read are core/counters/counters.h's.
 */
#ifndef GASNETC_STATS_H
#define GASNETC_STATS_H

#include "core/counters/counters.h"

/* All counters at one moment. */
typedef struct gasnetc_tally {
    uint64_t value[GASNETC_COUNTERS];
} gasnetc_tally_t;

/* Those of scope PEER, for another node. */
void gasnetc_tally_peer(uint32_t node, gasnetc_tally_t *tally);

/* Those of scope PROCESS, and those of scope PEER folded over all other nodes. */
void gasnetc_tally_process(gasnetc_tally_t *tally);

/* --- GASNET_STATSFILE, and gasnetrun --stats --- */

/* Start-up, before anything could be written: makes the file; warns where that fails. */
void gasnetc_stats_init(void);

/* From now on, until it is closed, whoever asks the running job is answered. */
void gasnetc_stats_serve(void);
/* Before what the network counts goes away; waits for an answer that is being written. */
void gasnetc_stats_close(void);

/* Appends this process's counters to the file, if there is one; `when` says what made it so. */
void gasnetc_stats_write(const char *when);

#endif
