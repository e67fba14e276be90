/* event_record.h - conversion of verbs' asynchronous events to VAPI's.  */
#ifndef VAPI_EVENT_RECORD_H
#define VAPI_EVENT_RECORD_H

#include "objects.h"

/* Translates an asynchronous event.  False: VAPI has no such event.  */
bool vapi_event_record(const struct ibv_async_event *event, VAPI_event_record_t *record);

#endif
