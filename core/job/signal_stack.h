/* signal_stack.h - an alternate stack for handlers of fatal signals, so that a stack overflow can
 * still be reported. */
#pragma once

#include <signal.h>

/* Enough for a signal frame with all vector registers, the C library's unwinder, and a client's own
 * backtrace function.  Pages that are not touched cost nothing. */
enum { GASNETC_SIGNAL_STACK_SIZE = 128 << 10 };

/* Maps memory for an alternate stack, with a guard page below it, and describes it.  NULL: no
 * memory. */
void *gasnetc_signal_stack_map(stack_t *stack);

/* Gives the calling thread an alternate signal stack (sigaltstack), unless it has one, which may be
 * the program's.  Returns the memory, for gasnetc_signal_stack_free; NULL if none was made. */
void *gasnetc_signal_stack_make(void);

/* Frees the stack of the calling thread, which ends; NULL is allowed. */
void gasnetc_signal_stack_free(void *stack);
