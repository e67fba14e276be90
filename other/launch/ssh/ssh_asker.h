/* ssh_asker.h - questions to a running job, for gasnetrun --top (ssh_top.c). */
#ifndef SSH_ASKER_H
#define SSH_ASKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "other/launch/bootstrap.h"

/* The answers of all ranks to --why or --top, valid until the next call.  NULL after a message, but
 * without one if `again`, and the job is over. */
const char *ssh_ask_text(pid_t job, enum bootstrap_question what, bool again);

/* gasnetrun --top: shows the job until the user has seen enough, or it ends; the exit status. */
int ssh_top(pid_t job);

#endif
