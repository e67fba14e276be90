/* events.h - waking the receive thread when an event is deposited. */
#ifndef PORTALS_EVENTS_H
#define PORTALS_EVENTS_H

#include <portals3.h>

/* Only with GASNET_RCV_THREAD. */
void net_portals_wake_init(void);
/* By the library, for each event. */
void net_portals_wake(ptl_event_t *event);

#endif
