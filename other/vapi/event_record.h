/* event_record.h - verbs' asynchronous events as VAPI's. */
#ifndef VAPI_EVENT_RECORD_H
#define VAPI_EVENT_RECORD_H

#include "objects.h"

/* False for what VAPI has no event for. */
bool vapi_event_record(const struct ibv_async_event *event, VAPI_event_record_t *record);

#endif
