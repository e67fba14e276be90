/* events.h - what libportals calls: when an event is deposited, and when there is trouble. */
#ifndef PORTALS_EVENTS_H
#define PORTALS_EVENTS_H

#include <portals3.h>

/* From now on libportals tells of peers that it cannot connect, and of a device that is lost. */
void net_portals_hear_trouble(void);
/* Only with GASNET_RCV_THREAD. */
void net_portals_wake_init(void);
/* By the library, for each event. */
void net_portals_wake(ptl_event_t *event);

#endif
