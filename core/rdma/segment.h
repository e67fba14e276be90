/* segment.h - this node's segment: how large it may be, getting it, telling others how to reach it.
 */
#ifndef GASNETC_SEGMENT_H
#define GASNETC_SEGMENT_H

#include <stdint.h>

/* Init, collective: settles the largest segment here and over all nodes. */
void gasnetc_segment_limits(void);

/* Attach, collective: allocates, registers and exchanges.  Returns a GASNET_ code. */
int gasnetc_segment_attach(uintptr_t size);

/* Exit: gives the registrations back; the memory stays, the client may still look at it. */
void gasnetc_segment_close(void);

#endif
