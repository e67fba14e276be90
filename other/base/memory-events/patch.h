/* patch.h - hooks the system calls in the code of the C library and of the loader, and looks
 * whether other code makes any that would not be seen. */
#ifndef MEMORY_EVENTS_PATCH_H
#define MEMORY_EVENTS_PATCH_H

#include <stdbool.h>

/* Examines the code of all other files that are mapped, and changes nothing. False: some of it may
 * unmap memory unseen; `why`, of 400 bytes, says which. One thread at a time. */
bool me_examine_others(char *why);

/* Hooks each watched system call of the C library and of the loader, which are never unloaded: a
 * static program has both.  Once.  False, with `why`: not all of them are hooked. */
bool me_patch_library(char *why);

/* Whether the code of all hooks is as me_patch_library wrote it. */
bool me_is_intact(void);

/* Whether a system call brk is hooked: the C library has one. */
bool me_patched_brk(void);

/* Whether the process has one thread. */
bool me_is_alone(void);

#endif
