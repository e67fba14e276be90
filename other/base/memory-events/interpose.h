/* interpose.h - definitions of the C library's functions that unmap memory, which the program's
 * calls come to first; and the memory that nothing else unmaps. */
#ifndef MEMORY_EVENTS_INTERPOSE_H
#define MEMORY_EVENTS_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes malloc use the heap alone, and keep it; from then on the functions tell callbacks.  False,
 * with `why` of 400 bytes: the program's calls do not come here, or malloc is another one.  Once.
 */
bool me_interpose(char *why);

/* Whether the range is in the program's static data or in the heap. */
bool me_is_covered(uintptr_t addr, size_t len);

#endif
