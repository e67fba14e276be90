/* module_answer.h - shared by the mpi and pmix modules: a rank answers gasnetrun --stats. */
#ifndef MODULE_ANSWER_H
#define MODULE_ANSWER_H

#include "other/launch/bootstrap.h"

/* Opens this rank's socket and starts the answering thread; a failure does not affect the job. */
void module_answer_start(uint32_t rank, uint32_t size);
/* Implements bootstrap_answer. */
void module_answer(bootstrap_answer_fn answer);

#endif
