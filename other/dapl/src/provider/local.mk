# other/dapl/src/provider: the event objects and what else is local to a process, as a uDAPL provider that libdat2 loads.
EXTRA_DIST += other/dapl/src/provider/README.md
if DAPL
lib_LTLIBRARIES += libdapl_provider.la
endif
libdapl_provider_la_SOURCES = other/dapl/src/provider/attributes.c other/dapl/src/provider/ep.c other/dapl/src/provider/ep_attr.c \
	other/dapl/src/provider/ep_post.c other/dapl/src/provider/events.c other/dapl/src/provider/ia.c other/dapl/src/provider/lmr.c \
	other/dapl/src/provider/objects.c other/dapl/src/provider/provider.h other/dapl/src/provider/pz.c other/dapl/src/provider/registry.c \
	other/dapl/src/provider/rmr.c other/dapl/src/provider/sp.c other/dapl/src/provider/table.c
libdapl_provider_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libdapl_provider_la_CFLAGS = $(AM_CFLAGS) -pthread
libdapl_provider_la_LIBADD = other/dapl/libcore.la -ldat2 $(VERBS_LIBS) -lpthread
# Two names, so that a libdapl_events that the program has linked is not taken in the place of what is inside.
libdapl_provider_la_LDFLAGS = -module -avoid-version -no-undefined -export-symbols-regex '^dat_provider_(init|fini)$$'
