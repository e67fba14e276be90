/* synchronisation.h - the synchronisation table (IB-E1): which completions each form of transfer
 * needs, and when.
 *
 * The AM engine and the Extended API pass their form to the functions below, and wait as the
 * functions say.  Forms are constants, so compiled code does not contain the table.  No other code
 * decides what a form waits for: tests/unit/synchronisation.c and tests/programs/testsync.c check
 * every row.
 */
#pragma once

#include <stdbool.h>

enum gasnetc_form {
    GASNETC_LONG_ASYNC,
    GASNETC_LONG,
    GASNETC_PUT_NB,
    GASNETC_PUT_NBI,
    GASNETC_PUT_NB_BULK,
    GASNETC_PUT_NBI_BULK,
    GASNETC_PUT_NB_VAL,
    GASNETC_PUT_NBI_VAL,
    GASNETC_PUT,
    GASNETC_PUT_BULK,
    GASNETC_PUT_VAL,
    GASNETC_GET_NB,
    GASNETC_GET_NBI,
    GASNETC_GET_NB_BULK,
    GASNETC_GET_NBI_BULK,
    GASNETC_GET_NB_VAL,
    GASNETC_GET,
    GASNETC_GET_BULK,
    GASNETC_GET_VAL,
    GASNETC_LONG_EVENT, /* of GASNet-EX alone */
    GASNETC_FORMS
};

enum gasnetc_when {
    GASNETC_NOT_NEEDED,
    GASNETC_NO_MEMORY,  /* the local side is a value, which has no memory */
    GASNETC_INITIATING, /* before the call that initiates it returns */
    GASNETC_SYNCING,    /* before the call that synchronises it returns */
    GASNETC_OWN_EVENT,  /* before an event of its own is synchronised */
};

typedef struct gasnetc_needs {
    enum gasnetc_when local;  /* the source may be written again */
    enum gasnetc_when remote; /* a put has arrived, a get is complete */
} gasnetc_needs_t;

static const gasnetc_needs_t gasnetc_needs[GASNETC_FORMS] = {
    [GASNETC_LONG_ASYNC] = {GASNETC_NOT_NEEDED, GASNETC_NOT_NEEDED},
    [GASNETC_LONG] = {GASNETC_INITIATING, GASNETC_NOT_NEEDED},

    [GASNETC_PUT_NB] = {GASNETC_INITIATING, GASNETC_SYNCING},
    [GASNETC_PUT_NBI] = {GASNETC_INITIATING, GASNETC_SYNCING},
    [GASNETC_PUT_NB_BULK] = {GASNETC_NOT_NEEDED, GASNETC_SYNCING},
    [GASNETC_PUT_NBI_BULK] = {GASNETC_NOT_NEEDED, GASNETC_SYNCING},
    [GASNETC_PUT_NB_VAL] = {GASNETC_NO_MEMORY, GASNETC_SYNCING},
    [GASNETC_PUT_NBI_VAL] = {GASNETC_NO_MEMORY, GASNETC_SYNCING},
    [GASNETC_PUT] = {GASNETC_NOT_NEEDED, GASNETC_INITIATING},
    [GASNETC_PUT_BULK] = {GASNETC_NOT_NEEDED, GASNETC_INITIATING},
    [GASNETC_PUT_VAL] = {GASNETC_NO_MEMORY, GASNETC_INITIATING},

    [GASNETC_GET_NB] = {GASNETC_NOT_NEEDED, GASNETC_SYNCING},
    [GASNETC_GET_NBI] = {GASNETC_NOT_NEEDED, GASNETC_SYNCING},
    [GASNETC_GET_NB_BULK] = {GASNETC_NOT_NEEDED, GASNETC_SYNCING},
    [GASNETC_GET_NBI_BULK] = {GASNETC_NOT_NEEDED, GASNETC_SYNCING},
    [GASNETC_GET_NB_VAL] = {GASNETC_NO_MEMORY, GASNETC_SYNCING},
    [GASNETC_GET] = {GASNETC_NOT_NEEDED, GASNETC_INITIATING},
    [GASNETC_GET_BULK] = {GASNETC_NOT_NEEDED, GASNETC_INITIATING},
    [GASNETC_GET_VAL] = {GASNETC_NO_MEMORY, GASNETC_INITIATING},

    [GASNETC_LONG_EVENT] = {GASNETC_OWN_EVENT, GASNETC_NOT_NEEDED},
};

/* True if the source may be written again when the initiating call returns: the source is copied,
 * or the call waits for the completion.  True too for a value whose transfer outlives the call. */
static inline bool gasnetc_frees_source(enum gasnetc_form form)
{
    gasnetc_needs_t needs = gasnetc_needs[form];
    return needs.local == GASNETC_INITIATING ||
           (needs.local == GASNETC_NO_MEMORY && needs.remote != GASNETC_INITIATING);
}

/* True if the initiating call waits for remote completion. */
static inline bool gasnetc_blocks(enum gasnetc_form form)
{
    return gasnetc_needs[form].remote == GASNETC_INITIATING;
}
