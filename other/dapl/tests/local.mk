# other/dapl/tests: the event core of other/dapl, over a completion queue under the test's control and over softhca.
EXTRA_DIST += other/dapl/tests/run.sh
check_PROGRAMS += other/dapl/tests/channels
other_dapl_tests_channels_SOURCES = other/dapl/tests/channels.c tests/descriptors.h
other_dapl_tests_channels_LDADD = other/base/completion-queues/libcompletion_queues.la tests/unit/libcheck.a $(VERBS_LIBS) -lpthread
if DAPL
check_LIBRARIES += other/dapl/tests/libmock.a
check_PROGRAMS += other/dapl/tests/machine other/dapl/tests/calls other/dapl/tests/rules_events other/dapl/tests/rules_waits other/dapl/tests/rules_cno \
	other/dapl/tests/order other/dapl/tests/races other/dapl/tests/races_life other/dapl/tests/verbs other/dapl/tests/rails other/dapl/tests/once other/dapl/tests/cost
endif
other_dapl_tests_libmock_a_SOURCES = other/dapl/tests/loopback.c other/dapl/tests/loopback.h other/dapl/tests/mock.c other/dapl/tests/mock.h other/dapl/tests/producers.c \
	other/dapl/tests/producers.h other/dapl/tests/waiters.c other/dapl/tests/waiters.h
dapl_ldadd = other/dapl/tests/libmock.a other/dapl/libcore.la tests/unit/libcheck.a $(VERBS_LIBS) -lpthread
# Each program is one file of its name.
other_dapl_tests_machine_LDADD = $(dapl_ldadd)
other_dapl_tests_calls_LDADD = $(dapl_ldadd)
other_dapl_tests_rules_events_LDADD = $(dapl_ldadd)
other_dapl_tests_rules_waits_LDADD = $(dapl_ldadd)
other_dapl_tests_rules_cno_LDADD = $(dapl_ldadd)
other_dapl_tests_rules_cno_LDFLAGS = -Wl,--wrap=dapl_os_set_sleep
other_dapl_tests_order_LDADD = $(dapl_ldadd)
other_dapl_tests_order_LDFLAGS = -Wl,--wrap=realloc
other_dapl_tests_races_LDADD = $(dapl_ldadd)
other_dapl_tests_races_life_LDADD = $(dapl_ldadd)
other_dapl_tests_cost_LDADD = $(dapl_ldadd)
other_dapl_tests_verbs_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_dapl_tests_verbs_LDADD = libsofthca.la $(dapl_ldadd)
other_dapl_tests_rails_SOURCES = other/dapl/tests/rails.c tests/descriptors.h
other_dapl_tests_rails_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_dapl_tests_rails_LDADD = libsofthca.la $(dapl_ldadd)
other_dapl_tests_once_LDADD = $(dapl_ldadd)

# The provider, by libdat2.
EXTRA_DIST += other/dapl/tests/provider.sh
if DAPL
check_PROGRAMS += other/dapl/tests/provider_rules
endif
other_dapl_tests_provider_rules_SOURCES = other/dapl/tests/provider_rules.c tests/descriptors.h
other_dapl_tests_provider_rules_LDADD = tests/unit/libcheck.a libsofthca.la -ldat2

# What bench.sh measures.
EXTRA_DIST += other/dapl/tests/bench.sh
if DAPL
check_PROGRAMS += other/dapl/tests/bench
endif
other_dapl_tests_bench_SOURCES = other/dapl/tests/bench.c tests/descriptors.h
other_dapl_tests_bench_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_dapl_tests_bench_LDADD = libsofthca.la other/dapl/libcore.la -ldat2 $(VERBS_LIBS) -lpthread
