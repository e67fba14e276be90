/* startup.h - what the user sees of gasnet_init and gasnet_attach when they take long: rank 0 shows
 * one line on standard error if that is a terminal, and erases it when the call is done.  Otherwise
 * the line goes to the log (GASNET_LOG=info).
 *
 * No rank leaves these calls before all are in them, so that no output of the program mixes with
 * the line.
 */
#pragma once

#include <stdint.h>

enum gasnetc_startup {
    GASNETC_STARTUP_OPENS,     /* the network */
    GASNETC_STARTUP_CONNECTS,  /* done of total ranks */
    GASNETC_STARTUP_REGISTERS, /* done of total bytes */
    GASNETC_STARTUP_WAITS      /* for other ranks */
};

/* The call by name, and its first step. */
void gasnetc_startup_begin(const char *call, enum gasnetc_startup step);
/* The step that the call has come to; no effect outside it. */
void gasnetc_startup_step(enum gasnetc_startup step, uint64_t done, uint64_t total);
void gasnetc_startup_end(void);
