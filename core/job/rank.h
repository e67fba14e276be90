/* rank.h - this process's place in the job, and complaints about ranks and calls that cannot be. */
#ifndef GASNETC_RANK_H
#define GASNETC_RANK_H

#include <stdint.h>

#include "other/spawner/bootstrap.h"

#pragma GCC visibility push(hidden)
extern struct bootstrap_job gasnetc_job; /* size 0: gasnet_init has not been called */
#pragma GCC visibility pop

/* `call` names a rank that the job does not have: fatal, also before gasnet_init, when the job has
 * no ranks. */
void gasnetc_no_such_rank(const char *call, uint32_t rank) __attribute__((noreturn, cold));

/* Fatal, naming the call that is missing, before gasnet_attach has returned. */
void gasnetc_require_attached(const char *call) __attribute__((cold));

#endif
