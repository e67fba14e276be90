/* patch.h - hooks the system calls in all code of the process. */
#ifndef MEMORY_EVENTS_PATCH_H
#define MEMORY_EVENTS_PATCH_H

#include <stdbool.h>

/* Looks at the code of all files that are mapped, and hooks each watched system call that is not
 * hooked yet.  False: some code may give memory back unseen; `why`, of 400 bytes, says which.  One
 * thread at a time. */
bool me_patch_all(char *why);

/* Whether me_patch_all has hooked the system call in the C library's brk(). */
bool me_patched_brk(void);

/* Whether the process has one thread. */
bool me_is_alone(void);

#endif
