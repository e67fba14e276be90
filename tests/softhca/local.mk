# tests/softhca: programs that step other processes through the device, instruction by instruction.
softhca_step = tests/softhca/step.c tests/softhca/step.h tests/softhca/report.c $(softhca_pair)
check_PROGRAMS += softhca_cost softhca_death
softhca_cost_SOURCES = tests/softhca/cost.c $(softhca_step)
softhca_cost_CPPFLAGS = $(softhca_rules_CPPFLAGS)
# Its own instructions are counted too.
softhca_cost_CFLAGS = $(HOUSE_CFLAGS)
softhca_cost_LDADD = $(softhca_rules_LDADD)
softhca_death_SOURCES = tests/softhca/death.c $(softhca_step)
softhca_death_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_death_LDADD = $(softhca_rules_LDADD)
check_PROGRAMS += softhca_stress
softhca_stress_SOURCES = tests/softhca/stress.c tests/softhca/report.c $(softhca_pair)
softhca_stress_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_stress_LDADD = $(softhca_rules_LDADD)
check_PROGRAMS += softhca_cycles
softhca_cycles_SOURCES = tests/softhca/cycles.c tests/softhca/report.c $(softhca_pair)
softhca_cycles_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_cycles_LDADD = $(softhca_rules_LDADD)
check_PROGRAMS += softhca_wakes
softhca_wakes_SOURCES = tests/softhca/wakes.c tests/softhca/report.c tests/gate.c tests/gate.h $(softhca_pair)
softhca_wakes_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_wakes_LDADD = $(softhca_rules_LDADD) -lpthread
