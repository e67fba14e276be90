/* trace_clock.h - the times in the traces of all ranks are those of rank 0. */
#pragma once

/* Init: registers the messages. */
void gasnetc_trace_clock_init(void);
/* Attach, before an exchange in which rank 0 polls: if this rank writes a trace, finds out when
 * that of rank 0 began, to half of the shortest of several round trips. */
void gasnetc_trace_clock_align(void);
