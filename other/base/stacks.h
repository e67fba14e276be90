/* stacks.h - where the threads of this process are, told without a signal: asking changes nothing
 * for a program.
 *
 * A thread that waits in the library passes gasneti_stacks_tell now and then, and leaves a
 * backtrace there.  Of other threads the kernel tells whether they run, and else the system call
 * that they are in.
 */
#ifndef GASNETI_STACKS_H
#define GASNETI_STACKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Changes with each question; 0: there has been none. */
extern _Atomic uint32_t gasneti_stacks_question;

/* Leaves a backtrace of the calling thread, once for each question. */
void gasneti_stacks_answer(void);

/* For threads that wait, off the hot path, with no lock held. */
static inline void gasneti_stacks_tell(void)
{
    if (atomic_load_explicit(&gasneti_stacks_question, memory_order_relaxed))
        gasneti_stacks_answer();
}

/* The frames of one thread, the innermost first; or, with `count` 0, what the kernel tells. */
typedef void (*gasneti_stack_fn)(void *context, int thread, void *const *frames, int count,
                                 const char *kernel);

/* Calls `each` for the threads of this process, at most `most`, but never for the calling one or
 * for those that block all signals, which are libraries' own.  Those that have left a backtrace
 * come first; `some_wait`: there are such threads.  Takes a moment.  One thread at a time may call
 * this. */
void gasneti_stacks(unsigned most, bool some_wait, gasneti_stack_fn each, void *context);

#endif
