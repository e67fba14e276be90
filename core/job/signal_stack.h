/* signal_stack.h - an alternate stack for handlers of fatal signals, so that a stack overflow can
 * still be reported. */
#ifndef GASNETC_SIGNAL_STACK_H
#define GASNETC_SIGNAL_STACK_H

/* Gives the calling thread an alternate signal stack (sigaltstack), unless it has one, which may be
 * the program's.  Returns the memory, for gasnetc_signal_stack_free; NULL if none was made. */
void *gasnetc_signal_stack_make(void);

/* The thread that made `stack` ends; NULL is allowed. */
void gasnetc_signal_stack_free(void *stack);

#endif
