/* rules.h - the groups of rules. */
#ifndef SOFTHCA_TEST_RULES_H
#define SOFTHCA_TEST_RULES_H

#include "tests/unit/check.h"

void transfer_rules(void);
void fault_rules(void);
void queue_rules(void);
void short_rules(void);
void life_rules(void);
void fork_rules(void);
void shared_rules(void);
void unreliable_rules(void);
void datagram_rules(void);
void extended_rules(void);
void peer_rules(void);
void setting_rules(void);
void device_rules(void);
void memlock_rules(void);
void host_rules(void);
void inject_rules(void);
void tear_rules(void);
void resize_rules(void);
void region_rules(void);
void window_rules(void);
void state_rules(void);
void roce_rules(void);
void manager_rules(void);

#endif
