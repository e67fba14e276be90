/* events.h - callbacks from libportals: an event was deposited, a peer or device failed. */
#ifndef PORTALS_EVENTS_H
#define PORTALS_EVENTS_H

#include <portals3.h>

/* Installs the handler by which libportals reports peers that cannot be connected and devices that
 * are lost. */
void net_portals_trouble_init(void);
/* Creates the descriptor that the receive thread waits on; does nothing without GASNET_RCV_THREAD.
 */
void net_portals_wake_init(void);
/* Called by libportals, in any of its threads, for each event. */
void net_portals_wake(ptl_event_t *event);

#endif
