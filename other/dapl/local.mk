# other/dapl: event dispatchers and notification objects of DAT 2.0 over verbs completion queues.
dapl_sources = \
	other/dapl/include/dapl_events.h other/dapl/include/dapl_verbs.h other/dapl/src/async_verbs.c \
	other/dapl/src/machine/evd_state.h other/dapl/src/machine/order.h other/dapl/src/machine/ring.c other/dapl/src/machine/ring.h \
	other/dapl/src/machine/work_queue.c other/dapl/src/machine/work_queue.h \
	other/dapl/src/engine/agent.c other/dapl/src/engine/cno.c other/dapl/src/engine/cno_wait.c other/dapl/src/engine/consume.c other/dapl/src/engine/engine.h \
	other/dapl/src/engine/evd.c other/dapl/src/engine/evd_wait.c other/dapl/src/engine/helper.c other/dapl/src/engine/interface.c \
	other/dapl/src/engine/link.c other/dapl/src/engine/post.c other/dapl/src/engine/role.c other/dapl/src/engine/role.h
nobase_dist_doc_DATA += other/dapl/README.md other/dapl/example.c
if DAPL
lib_LTLIBRARIES += libdapl_events.la
include_HEADERS += other/base/completion-queues/dapl_cq.h other/dapl/include/dapl_events.h other/dapl/include/dapl_verbs.h
# All of it with what is hidden, for the provider and the tests.
noinst_LTLIBRARIES += other/dapl/libcore.la
noinst_PROGRAMS += other/dapl/example
man_MANS += other/dapl/dapl_events.3
dapl_made = libdapl_events.la libdapl_provider.la other/dapl/example$(EXEEXT)
endif
EXTRA_DIST += other/dapl/dapl_events.3
other_dapl_example_SOURCES = other/dapl/example.c
other_dapl_example_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/other/dapl/include
other_dapl_example_LDADD = libdapl_events.la $(VERBS_LIBS)
libdapl_events_la_SOURCES =
libdapl_events_la_LIBADD = other/dapl/libcore.la $(VERBS_LIBS) -lpthread
libdapl_events_la_LDFLAGS = -avoid-version
other_dapl_libcore_la_SOURCES = $(dapl_sources) $(completion_queues)
other_dapl_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_dapl_libcore_la_CFLAGS = $(hot_cflags) -pthread
