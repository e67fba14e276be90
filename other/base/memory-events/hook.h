/* hook.h - the code that runs at a hooked system call, between its stub and the callbacks. */
#ifndef MEMORY_EVENTS_HOOK_H
#define MEMORY_EVENTS_HOOK_H

#include <stdbool.h>

#include "other/base/memory-events/effects.h"

#pragma GCC visibility push(hidden)

/* Called by stubs: saves all registers, and calls the two functions below. */
void me_hook_entry(void);
/* Bytes that saving the vector registers takes. */
extern unsigned long me_hook_state_size;

/* True if a callback is to be called. Changes no vector register, and not errno. */
int me_hook_wants(const me_call_t *call);
void me_hook_tell(const me_call_t *call);

/* True if code can be hooked.  False, with the reason in *why: this processor cannot save its
 * registers, or a tool interprets the code. */
bool me_hook_possible(const char **why);

#pragma GCC visibility pop

#endif
