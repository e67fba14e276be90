/* events.h - the asynchronous events of the devices: kept for error messages, and acted upon.
 * Shared by this folder's .c files only.
 */
#ifndef NET_IB_EVENTS_H
#define NET_IB_EVENTS_H

#include <stddef.h>

/* Starts the thread that waits for events and ends the job when an event means that the network is
 * lost; after the devices were opened.  Without the thread events still appear in messages. */
void net_ib_events_open(void);
void net_ib_events_close(void);

/* Writes into `text` what the devices have reported, as " (reported by ...)", or "", and returns
 * what to check then; NULL: nothing was reported. */
const char *net_ib_events_report(char *text, size_t size);

#endif
