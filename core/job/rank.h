/* rank.h - this process's rank in the job, and fatal errors about wrong ranks and early calls. Part
 * of the contract with the networks. */
#pragma once

#include <stdint.h>

#include "other/launch/bootstrap.h"

#pragma GCC visibility push(hidden)
extern struct bootstrap_job gasnetc_job; /* size 0: gasnet_init has not been called */
/* Hot paths reach the ranks below: gasnetc_job.size, or 0 while a trace is written (trace.h). */
extern uint32_t gasnetc_reach;
#pragma GCC visibility pop

/* Fatal: `call` names a rank that the job does not have.  Legal before gasnet_init too. */
void gasnetc_no_such_rank(const char *call, uint32_t rank) __attribute__((noreturn, cold));

/* Fatal before gasnet_attach has returned, naming the missing call. */
void gasnetc_require_attached(const char *call) __attribute__((cold));
