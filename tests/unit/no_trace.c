/* no_trace.c - stands for core/trace/trace.c in programs that do not have it: no trace is written.
 */
#include "core/trace/trace.h"

bool gasneti_trace_on;
int gasneti_trace_local = 1;

uint64_t gasneti_trace_enter(void)
{
    return 0;
}

void gasneti_trace_leave(uint64_t began, const gasneti_trace_event_t *event)
{
    (void)began, (void)event;
}

void gasneti_trace_forget(void) {}

bool gasneti_trace_within(void)
{
    return false;
}

void gasneti_trace_note(uint64_t began, const gasneti_trace_event_t *event)
{
    (void)began, (void)event;
}

void gasneti_trace_step(enum gasneti_trace_for reason, uint32_t peer)
{
    (void)reason, (void)peer;
}

void gasneti_trace_stepped(const void *site, const void *within)
{
    (void)site, (void)within;
}

void gasneti_trace_close(void) {}
