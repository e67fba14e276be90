/* events.h - what the devices say besides completions: kept for messages, and acted upon.  Shared
 * by this folder's .c files only.
 */
#ifndef NET_IB_EVENTS_H
#define NET_IB_EVENTS_H

#include <stddef.h>

/* Starts the thread that waits for events and ends the job where an event says that the network is
 * lost; after the devices were opened.  Without it events are still quoted in messages. */
void net_ib_events_open(void);
void net_ib_events_close(void);

/* What is usually the reason for a failure: appends what the devices have reported, as
 * " (reported by ...)", or nothing, and returns what to check then; NULL: nothing was reported. */
const char *net_ib_events_report(char *text, size_t size);

#endif
