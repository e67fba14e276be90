/* exit.h - the engine around exit_protocol: head, body and tail of every way a job ends. */
#ifndef GASNETC_EXIT_H
#define GASNETC_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/network.h"

/* End of init: remembers the job's shape, installs the atexit hook. */
void gasnetc_exit_init(uint32_t rank, uint32_t size);

/* Attach: installs the handlers of termination and fatal signals that GASNET_NO_CATCH_SIGNAL does
 * not exempt. */
void gasnetc_exit_catch_signals(void);

/* A system message arrived (poll engine, no lock held).  May not return. */
void gasnetc_exit_system_message(uint32_t from, uint64_t word0, uint64_t word1);

/* Something outside (a signal, the launcher) asked this process to end and only left a note; the
 * poll engine looks here once per poll. */
extern volatile int gasnetc_exit_pending;
void gasnetc_exit_act(void);

/* A fatal error: ends the job with `code`, at once and without coordination.  Any thread. */
void gasnetc_exit_fatal(int code) __attribute__((noreturn));

#endif
