# tests/dapl: the event core of other/dapl, over a completion queue under the test's control and over softhca.
EXTRA_DIST += tests/dapl/run.sh
check_PROGRAMS += tests/dapl/channels
tests_dapl_channels_SOURCES = tests/dapl/channels.c tests/descriptors.h
tests_dapl_channels_LDADD = other/dapl/libchannels.la tests/unit/libcheck.a $(VERBS_LIBS) -lpthread
if DAPL
check_LIBRARIES += tests/dapl/libmock.a
check_PROGRAMS += tests/dapl/machine tests/dapl/calls tests/dapl/rules_events tests/dapl/rules_waits tests/dapl/rules_cno \
	tests/dapl/order tests/dapl/races tests/dapl/races_life tests/dapl/verbs tests/dapl/rails tests/dapl/once tests/dapl/cost
endif
tests_dapl_libmock_a_SOURCES = tests/dapl/loopback.c tests/dapl/loopback.h tests/dapl/mock.c tests/dapl/mock.h tests/dapl/producers.c \
	tests/dapl/producers.h tests/dapl/waiters.c tests/dapl/waiters.h
dapl_ldadd = tests/dapl/libmock.a other/dapl/libcore.la tests/unit/libcheck.a $(VERBS_LIBS) -lpthread
# Each program is one file of its name.
tests_dapl_machine_LDADD = $(dapl_ldadd)
tests_dapl_calls_LDADD = $(dapl_ldadd)
tests_dapl_rules_events_LDADD = $(dapl_ldadd)
tests_dapl_rules_waits_LDADD = $(dapl_ldadd)
tests_dapl_rules_cno_LDADD = $(dapl_ldadd)
tests_dapl_rules_cno_LDFLAGS = -Wl,--wrap=dapl_os_set_sleep
tests_dapl_order_LDADD = $(dapl_ldadd)
tests_dapl_order_LDFLAGS = -Wl,--wrap=realloc
tests_dapl_races_LDADD = $(dapl_ldadd)
tests_dapl_races_life_LDADD = $(dapl_ldadd)
tests_dapl_cost_LDADD = $(dapl_ldadd)
tests_dapl_verbs_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_dapl_verbs_LDADD = libsofthca.la $(dapl_ldadd)
tests_dapl_rails_SOURCES = tests/dapl/rails.c tests/descriptors.h
tests_dapl_rails_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_dapl_rails_LDADD = libsofthca.la $(dapl_ldadd)
tests_dapl_once_LDADD = $(dapl_ldadd)
