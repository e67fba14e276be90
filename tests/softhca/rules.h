/* rules.h - the groups of rules, and how they report. */
#ifndef SOFTHCA_TEST_RULES_H
#define SOFTHCA_TEST_RULES_H

#include <stdbool.h>

void report(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
void transfer_rules(void);
void fault_rules(void);
void queue_rules(void);
void life_rules(void);
void setting_rules(void);
void device_rules(void);

#endif
