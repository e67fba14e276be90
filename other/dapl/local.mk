# other/dapl: event dispatchers and notification objects of DAT 2.0 over verbs completion queues.
# What needs none of the DAT headers, and is in libgasnet-ibv too, which exports no name of it.
noinst_LTLIBRARIES += other/dapl/libchannels.la
dapl_channels = other/dapl/dapl_cq.h other/dapl/channels/channel.h \
	other/dapl/channels/channel_set.c other/dapl/channels/channel_set.h other/dapl/channels/cq_verbs.c \
	other/dapl/channels/os.c other/dapl/channels/os.h
other_dapl_libchannels_la_SOURCES = $(dapl_channels)
other_dapl_libchannels_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DDAPL_CQ_INSIDE

dapl_sources = \
	other/dapl/dapl_events.h other/dapl/dapl_verbs.h other/dapl/async_verbs.c \
	other/dapl/machine/evd_state.h other/dapl/machine/order.h other/dapl/machine/ring.c other/dapl/machine/ring.h \
	other/dapl/machine/work_queue.c other/dapl/machine/work_queue.h \
	other/dapl/engine/agent.c other/dapl/engine/cno.c other/dapl/engine/cno_wait.c other/dapl/engine/consume.c other/dapl/engine/engine.h \
	other/dapl/engine/evd.c other/dapl/engine/evd_wait.c other/dapl/engine/helper.c other/dapl/engine/interface.c \
	other/dapl/engine/link.c other/dapl/engine/post.c other/dapl/engine/role.c other/dapl/engine/role.h
nobase_dist_doc_DATA += other/dapl/README.md other/dapl/example.c
if DAPL
lib_LTLIBRARIES += libdapl_events.la
include_HEADERS += other/dapl/dapl_cq.h other/dapl/dapl_events.h other/dapl/dapl_verbs.h
# All of it with what is hidden, for the provider and the tests.
noinst_LTLIBRARIES += other/dapl/libcore.la
noinst_PROGRAMS += other/dapl/example
man_MANS += other/dapl/dapl_events.3
endif
EXTRA_DIST += other/dapl/dapl_events.3
other_dapl_example_SOURCES = other/dapl/example.c
other_dapl_example_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/other/dapl
other_dapl_example_LDADD = libdapl_events.la $(VERBS_LIBS)
libdapl_events_la_SOURCES =
libdapl_events_la_LIBADD = other/dapl/libcore.la $(VERBS_LIBS) -lpthread
libdapl_events_la_LDFLAGS = -avoid-version
other_dapl_libcore_la_SOURCES = $(dapl_sources) $(dapl_channels)
other_dapl_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_dapl_libcore_la_CFLAGS = $(hot_cflags) -pthread
