# tests/dapl: the event core of other/dapl, over a completion queue under the test's control and over softhca.
EXTRA_DIST += tests/dapl/run.sh
dapl_mock = tests/dapl/mock.c tests/dapl/mock.h
dapl_ldadd = other/dapl/libcore.la tests/unit/libcheck.a $(VERBS_LIBS) -lpthread
dapl_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE
if DAPL
check_PROGRAMS += tests/dapl/machine tests/dapl/calls tests/dapl/rules tests/dapl/order tests/dapl/races \
	tests/dapl/verbs tests/dapl/cost
endif
tests_dapl_machine_SOURCES = tests/dapl/machine.c
tests_dapl_machine_CPPFLAGS = $(dapl_cppflags)
tests_dapl_machine_LDADD = $(dapl_ldadd)
tests_dapl_calls_SOURCES = tests/dapl/calls.c $(dapl_mock)
tests_dapl_calls_CPPFLAGS = $(dapl_cppflags)
tests_dapl_calls_LDADD = $(dapl_ldadd)
tests_dapl_rules_SOURCES = tests/dapl/rules.c $(dapl_mock)
tests_dapl_rules_CPPFLAGS = $(dapl_cppflags)
tests_dapl_rules_LDADD = $(dapl_ldadd)
tests_dapl_order_SOURCES = tests/dapl/order.c $(dapl_mock)
tests_dapl_order_CPPFLAGS = $(dapl_cppflags)
tests_dapl_order_LDADD = $(dapl_ldadd)
tests_dapl_races_SOURCES = tests/dapl/races.c $(dapl_mock)
tests_dapl_races_CPPFLAGS = $(dapl_cppflags)
tests_dapl_races_LDADD = $(dapl_ldadd)
tests_dapl_cost_SOURCES = tests/dapl/cost.c $(dapl_mock)
tests_dapl_cost_CPPFLAGS = $(dapl_cppflags)
tests_dapl_cost_LDADD = $(dapl_ldadd)
tests_dapl_verbs_SOURCES = tests/dapl/verbs.c
tests_dapl_verbs_CPPFLAGS = $(dapl_cppflags)
tests_dapl_verbs_LDADD = other/dapl/libcore.la tests/unit/libcheck.a libsofthca.la $(VERBS_LIBS) -lpthread
