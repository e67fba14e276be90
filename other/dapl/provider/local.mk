# other/dapl/provider: the event objects and what else is local to a process, as a uDAPL provider that libdat2 loads.
EXTRA_DIST += other/dapl/provider/README.md
if DAPL
lib_LTLIBRARIES += libdapl_provider.la
endif
libdapl_provider_la_SOURCES = other/dapl/provider/attributes.c other/dapl/provider/ep.c other/dapl/provider/ep_attr.c \
	other/dapl/provider/ep_post.c other/dapl/provider/events.c other/dapl/provider/ia.c other/dapl/provider/lmr.c \
	other/dapl/provider/objects.c other/dapl/provider/provider.h other/dapl/provider/pz.c other/dapl/provider/registry.c \
	other/dapl/provider/rmr.c other/dapl/provider/sp.c other/dapl/provider/table.c
libdapl_provider_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libdapl_provider_la_CFLAGS = $(AM_CFLAGS) -pthread
libdapl_provider_la_LIBADD = other/dapl/libcore.la -ldat2 $(VERBS_LIBS) -lpthread
# Two names, so that a libdapl_events that the program has linked is not taken in the place of what is inside.
libdapl_provider_la_LDFLAGS = -module -avoid-version -no-undefined -export-symbols-regex '^dat_provider_(init|fini)$$'

# Its tests: tests/dapl/provider.sh.
EXTRA_DIST += tests/dapl/provider.sh
if DAPL
check_PROGRAMS += tests/dapl/provider_rules
endif
tests_dapl_provider_rules_SOURCES = tests/dapl/provider_rules.c tests/descriptors.h tests/softhca/report.c tests/softhca/rules.h
tests_dapl_provider_rules_LDADD = libsofthca.la -ldat2

# What tests/bench/dapl.sh measures.
EXTRA_DIST += tests/bench/dapl.sh
if DAPL
check_PROGRAMS += tests/bench/dapl
endif
tests_bench_dapl_SOURCES = tests/bench/dapl.c tests/descriptors.h
tests_bench_dapl_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_bench_dapl_LDADD = libsofthca.la other/dapl/libcore.la -ldat2 $(VERBS_LIBS) -lpthread
