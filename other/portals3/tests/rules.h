/* rules.h - the rules of Portals, one function a room; each says its own TAP lines. */
#ifndef TESTS_PORTALS3_RULES_H
#define TESTS_PORTALS3_RULES_H

#include "other/portals3/tests/ring.h"

/* Runs the rules that the command line names, or all. */
void rules_all(void);

void rules_lists(void);
void rules_offsets(void);
void rules_unlinking(void);
void rules_events(void);
void rules_queues(void);
void rules_updates(void);
void rules_transfers(void);
void rules_codes(void);
void rules_pending(void);
void rules_order(void);
void rules_published(void);
void rules_noted(void);

#endif
