/* memory_events.h - notifies a program's library when the program unmaps or replaces memory.
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

/* The program is about to unmap [addr, addr+len): the call has not been made yet, and may still
 * fail. The range may be larger than the unmapped one, up to the whole address space (0,
 * UINTPTR_MAX). Called in the thread that makes the call, possibly within free() or dlopen(), with
 * their locks held, or in a signal handler: must not allocate, free, map or unmap memory, and must
 * not wait for a thread that may do so. Never called in a child of fork(). */
typedef void memory_events_callback_t(uintptr_t addr, size_t len);

/* Begins to call `unmapped`, if that can be done without gaps.  At most 4 callbacks; the same one
 * is registered once.  Reads the program's code, and changes it: costs milliseconds, once.  Returns
 * memory_events_watched(). */
bool memory_events_begin(memory_events_callback_t *unmapped);

/* The means that changes no code.  Begins to call `unmapped` for calls of the C library's
 * functions by the program and its libraries, and makes malloc use the heap alone and keep what it
 * has there. For memory that memory_events_covers alone; README.md says what is missed.  Returns
 * whether the calls come here. */
bool memory_events_interpose(memory_events_callback_t *unmapped);

/* Whether something may be kept about the range after memory_events_interpose: the program's static
 * data, and the heap as it is now.  To be asked as memory_events_watched. */
bool memory_events_covers(uintptr_t addr, size_t len);

/* Ends the calls of a callback for system calls that are made later. It may still be running in
 * another thread, or in this one below a signal handler, and one that a handler has left by
 * siglongjmp never returns: it must remain callable. */
void memory_events_end(memory_events_callback_t *unmapped);

/* True if every call that unmaps memory is seen from now on.  Must be asked before something about
 * memory is kept, and what was kept must be dropped when its range is reported: code that is loaded
 * later is reported as the whole address space, and looked at by the next call of this function; so
 * is a hook that somebody has overwritten.  Cheap as long as no code is loaded.  False in a child
 * of fork(). */
bool memory_events_watched(void);

/* Must be asked before something that was kept is used.  False: hooks were overwritten, by a
 * debugger or a tracer, and all of the address space has just been reported.  A loop over some
 * twenty words. */
bool memory_events_intact(void);

/* Why memory_events_watched was false last, for a message to the user: half a sentence. */
const char *memory_events_why(void);

#ifdef __cplusplus
}
#endif

#endif
