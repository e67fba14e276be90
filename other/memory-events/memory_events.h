/* memory_events.h - tells a program's library when the program gives memory back or replaces it.
 *
 * For libraries that keep something about memory of the program, such as its registration with a
 * device: munmap, mremap, madvise, mmap over a mapping, brk, shmdt and more, wherever in the
 * process the system call is made, also within free().  README.md says what is covered, and how.
 *
 * x86-64 Linux.  Elsewhere, and where the means are refused, memory_events_watched is false.
 */
#ifndef MEMORY_EVENTS_H
#define MEMORY_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The program is about to give [addr, addr+len) back: the call has not been made yet, and may still
 * fail.  The range may be larger than what is given back, up to the whole address space (0,
 * UINTPTR_MAX).  Called in the thread that makes the call, possibly within free() or dlopen(), with
 * their locks held, or in a signal handler: must not allocate, free, map or unmap memory, and must
 * not wait for a thread that may do so.  Never called in a child of fork(). */
typedef void memory_events_callback_t(uintptr_t addr, size_t len);

/* Begins to call `given_back`, if that can be done without gaps.  At most 4 callbacks; the same one
 * is registered once.  Reads the program's code, and changes it: costs milliseconds, once.  Returns
 * memory_events_watched(). */
bool memory_events_begin(memory_events_callback_t *given_back);

/* No callback runs any more when it returns.  Not in a callback. */
void memory_events_end(memory_events_callback_t *given_back);

/* True if every call that gives memory back is seen from now on.  Must be asked before something
 * about memory is kept, and what was kept must be dropped when its range is reported: code that is
 * loaded later is reported as the whole address space, and looked at by the next call of this
 * function.  Cheap as long as no code is loaded.  False in a child of fork(). */
bool memory_events_watched(void);

/* Why memory_events_watched was false last, for a message to the user: half a sentence. */
const char *memory_events_why(void);

#ifdef __cplusplus
}
#endif

#endif
