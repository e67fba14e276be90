/* known.h - system calls of glibc that unmap nothing though their numbers are not proven: pure. */
#ifndef MEMORY_EVENTS_KNOWN_H
#define MEMORY_EVENTS_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the bytes before the system call at `call` are those of a call in the list.  At least 16
 * bytes before it must be code of the C library or of the loader. */
bool me_is_known(const uint8_t *call);

#endif
