/* segment.h - this rank's segment: its largest size, its allocation, the exchange of its keys. */
#ifndef GASNETC_SEGMENT_H
#define GASNETC_SEGMENT_H

#include <stdint.h>

/* Init, collective: determines the largest segment of this rank and of all ranks. */
void gasnetc_segment_limits(void);

/* Attach, collective: allocates, registers and exchanges.  Returns a GASNET_ code. */
int gasnetc_segment_attach(uintptr_t size);

/* Exit: deregisters the segment, but does not free it: the client may still read it. */
void gasnetc_segment_close(void);

#endif
