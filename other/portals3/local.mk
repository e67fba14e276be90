# other/portals3: the Portals 3.3 interface over libibverbs.
portals3_engine = \
	other/portals3/access.c other/portals3/deliver.c other/portals3/engine.h other/portals3/eq.c \
	other/portals3/initiate.c other/portals3/inspect.c other/portals3/little_endian.h \
	other/portals3/lock.c other/portals3/match.c other/portals3/match.h other/portals3/md.c \
	other/portals3/me.c other/portals3/names.c other/portals3/ni.c other/portals3/operation.c \
	other/portals3/pieces.c other/portals3/pieces.h other/portals3/pool.c other/portals3/pool.h \
	other/portals3/portals_wire.c other/portals3/portals_wire.h other/portals3/publish.c \
	other/portals3/rankmap.c other/portals3/self.c other/portals3/shadow.c \
	other/portals3/shadow.h other/portals3/solo.c other/portals3/table.c \
	other/portals3/transport.h
# The transport over libibverbs, and what it shares with the engine.
portals3_verbs = \
	other/portals3/quick.c \
	other/portals3/greeting.c other/portals3/greeting.h other/portals3/launch.c other/portals3/launch.h \
	other/portals3/lease.h other/portals3/mutex.h other/portals3/ranges.c other/portals3/ranges.h other/portals3/settings.def \
	other/portals3/verbs.h other/portals3/verbs_address.c other/portals3/verbs_device.c other/portals3/verbs_events.c other/portals3/verbs_link.c \
	other/portals3/verbs_memory.c other/portals3/verbs_node.c other/portals3/verbs_open.c other/portals3/verbs_progress.c \
	other/portals3/verbs_receive.c other/portals3/verbs_send.c other/portals3/verbs_settings.c other/portals3/verbs_share.c

lib_LTLIBRARIES += libportals.la
libportals_la_SOURCES =
libportals_la_LIBADD = other/portals3/libinner.la
# All of it with what is hidden, for its own tests.
noinst_LTLIBRARIES += other/portals3/libinner.la
other_portals3_libinner_la_SOURCES = $(portals3_engine) $(portals3_verbs)
other_portals3_libinner_la_CPPFLAGS = $(portals3_cppflags)
other_portals3_libinner_la_CFLAGS = $(AM_CFLAGS) -pthread
other_portals3_libinner_la_LIBADD = $(VERBS_LIBS) -lpthread
portals3_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/other/portals3/include -D_GNU_SOURCE

include_HEADERS += other/portals3/include/portals3.h other/portals3/include/portals3_ext.h \
	other/portals3/include/p30.h
portals3_crayincludedir = $(includedir)/portals
portals3_crayinclude_HEADERS = other/portals3/include/portals/portals3.h \
	other/portals3/include/portals/p30.h
portals3_oldincludedir = $(includedir)/p30
portals3_oldinclude_HEADERS = other/portals3/include/p30/types.h other/portals3/include/p30/errno.h
pkgconfig_DATA += other/portals3/libportals.pc
include tests/portals3/local.mk
