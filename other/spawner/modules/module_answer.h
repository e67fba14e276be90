/* module_answer.h - what the mpi and the pmix module share: a rank answers who asks about its job.
 */
#ifndef MODULE_ANSWER_H
#define MODULE_ANSWER_H

#include "other/spawner/bootstrap.h"

/* Opens this rank's socket and starts the thread that answers; without either the job runs as well.
 */
void module_answer_start(uint32_t rank, uint32_t size);
/* bootstrap_answer. */
void module_answer(bootstrap_answer_fn answer);

#endif
