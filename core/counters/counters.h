/* counters.h - counters of events, in every build: the records, and the rules for their access.
 *
 * counters.def is the table.  A counter is a plain word with one writer at a time: those of a peer
 * are written under its lock, those of the process by each thread in its own record, or in
 * gasnetc_poll_counts under the poll lock.  Readers take no lock, because they may report a process
 * that is stuck; values may be slightly old.
 *
 * On a hot path a counter may cost one instruction: count the rarer branch, derive the rest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GASNETC_FIELD_PEER_COUNTED(name)    uint64_t name;
#define GASNETC_FIELD_PEER_FOUND(name)      /* derived: no field */
#define GASNETC_FIELD_PROCESS_COUNTED(name) /* in gasnetc_counts_t */
#define GASNETC_FIELD_PROCESS_FOUND(name)
typedef struct gasnetc_peer_counts {
#define COUNTER(name, letter, scope, source, ...) GASNETC_FIELD_##scope##_##source(name)
#include "core/counters/counters.def"
#undef COUNTER
} gasnetc_peer_counts_t;
#undef GASNETC_FIELD_PEER_COUNTED
#undef GASNETC_FIELD_PROCESS_COUNTED

#define GASNETC_FIELD_PEER_COUNTED(name)
#define GASNETC_FIELD_PROCESS_COUNTED(name) uint64_t name;
typedef struct gasnetc_counts {
#define COUNTER(name, letter, scope, source, ...) GASNETC_FIELD_##scope##_##source(name)
#include "core/counters/counters.def"
#undef COUNTER
} gasnetc_counts_t;

/* Counters that are written under the poll lock. */
extern gasnetc_counts_t gasnetc_poll_counts;

/* --- reading --- */

enum gasnetc_counter_id {
#define COUNTER(name, ...) GASNETC_COUNT_##name,
#include "core/counters/counters.def"
#undef COUNTER
    GASNETC_COUNTERS
};

enum gasnetc_counter_scope { GASNETC_SCOPE_PEER, GASNETC_SCOPE_PROCESS };
enum gasnetc_counter_fold { GASNETC_FOLD_SUM, GASNETC_FOLD_MOST, GASNETC_FOLD_LEAST };

/* A row of counters.def, as data. */
typedef struct gasnetc_counter_row {
    const char *name;
    char letter;
    enum gasnetc_counter_scope scope;
    enum gasnetc_counter_fold fold;
    const char *unit;
} gasnetc_counter_row_t;
extern const gasnetc_counter_row_t gasnetc_counter_rows[GASNETC_COUNTERS];

/* Writes the text that a fatal message shows, one line without newline: traffic, waits, and the
 * peers with operations in flight.  Empty if the process had no traffic.  Defined in core/stats/.
 */
void gasnetc_counts_summary(char *text, size_t size);
