/* stacks.h - where the threads of this process are: a backtrace of each, made while they run.
 *
 * A thread gets a signal (SIGURG, which is ignored by default) whose handler fills a buffer.  The
 * thread goes on as if there had been no signal: a thread that sleeps in a system call which the
 * signal might end early is interrupted only if that call can be begun again.  Nothing is done if
 * the program handles the signal itself.
 */
#ifndef GASNETI_STACKS_H
#define GASNETI_STACKS_H

/* The frames of one thread, the innermost first. */
typedef void (*gasneti_stack_fn)(void *context, int thread, void *const *frames, int count);

/* Calls `each` for the threads of this process that do not block the signal, at most `most`; never
 * for the calling thread.  One thread at a time may call this. */
void gasneti_stacks(unsigned most, gasneti_stack_fn each, void *context);

#endif
