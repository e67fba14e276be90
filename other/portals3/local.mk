# other/portals3: the Portals 3.3 interface over libibverbs.
# The rooms, from the bottom up.
portals3_base = \
	other/portals3/src/base/little_endian.h other/portals3/src/base/mutex.h other/portals3/src/base/pieces.c \
	other/portals3/src/base/pieces.h other/portals3/src/base/portals_wire.c other/portals3/src/base/portals_wire.h \
	other/portals3/src/base/published_list.c other/portals3/src/base/published_list.h other/portals3/src/base/settings.c \
	other/portals3/src/base/settings.def other/portals3/src/base/settings.h
portals3_transport = \
	$(handshake_sources) $(roce_sources) other/connect/roce/table.c other/connect/roce/table.h \
	other/portals3/src/transport/connect_guard.c other/portals3/src/transport/connect_guard.h \
	other/portals3/src/transport/connect_payload.c other/portals3/src/transport/connect_payload.h \
	other/portals3/src/transport/key_file.c other/portals3/src/transport/key_file.h other/portals3/src/transport/launch.c \
	other/portals3/src/transport/launch.h other/portals3/src/transport/list_lease.h other/portals3/src/transport/loopback_transport.c \
	other/portals3/src/transport/ranges.c other/portals3/src/transport/ranges.h other/portals3/src/transport/transport.h \
	other/portals3/src/transport/verbs.h other/portals3/src/transport/verbs_address.c other/portals3/src/transport/verbs_device.c \
	other/portals3/src/transport/verbs_events.c other/portals3/src/transport/verbs_connection.c \
	other/portals3/src/transport/verbs_list_lease.c other/portals3/src/transport/verbs_memory.c \
	other/portals3/src/transport/verbs_node.c other/portals3/src/transport/verbs_open.c other/portals3/src/transport/verbs_progress.c \
	other/portals3/src/transport/verbs_receive.c other/portals3/src/transport/verbs_send.c \
	other/portals3/src/transport/verbs_settings.c
portals3_engine = \
	other/portals3/src/engine/access.c other/portals3/src/engine/deliver.c other/portals3/src/engine/deposit.h \
	other/portals3/src/engine/engine.h other/portals3/src/engine/eq.c other/portals3/src/engine/initiate.c \
	other/portals3/src/engine/inspect.c other/portals3/src/engine/lock.c other/portals3/src/engine/match.h \
	other/portals3/src/engine/md.c other/portals3/src/engine/me.c other/portals3/src/engine/names.c other/portals3/src/engine/ni.c \
	other/portals3/src/engine/operation.c other/portals3/src/engine/pool.c other/portals3/src/engine/pool.h \
	other/portals3/src/engine/publish.c other/portals3/src/engine/rankmap.c other/portals3/src/engine/self.c \
	other/portals3/src/engine/table.c
portals3_fastpath = \
	other/portals3/src/fastpath/fast.h other/portals3/src/fastpath/fast_put_get.c other/portals3/src/fastpath/fast_receive.c \
	other/portals3/src/fastpath/path.c other/portals3/src/fastpath/short_put.c other/portals3/src/fastpath/short_put.h

lib_LTLIBRARIES += libportals.la
libportals_la_SOURCES =
libportals_la_LIBADD = other/portals3/libinner.la
# All of it with what is hidden, for its own tests.
noinst_LTLIBRARIES += other/portals3/libinner.la
other_portals3_libinner_la_SOURCES = $(portals3_base) $(portals3_transport) $(portals3_engine) $(portals3_fastpath)
other_portals3_libinner_la_CPPFLAGS = $(portals3_cppflags)
other_portals3_libinner_la_CFLAGS = $(hot_cflags) -pthread
other_portals3_libinner_la_LIBADD = other/base/libenv_table.la $(VERBS_LIBS) -lpthread
portals3_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/other/portals3/include -D_GNU_SOURCE

include_HEADERS += other/portals3/include/portals3.h other/portals3/include/portals3_ext.h \
	other/portals3/include/p30.h
portals3_crayincludedir = $(includedir)/portals
portals3_crayinclude_HEADERS = other/portals3/include/portals/portals3.h \
	other/portals3/include/portals/p30.h
portals3_oldincludedir = $(includedir)/p30
portals3_oldinclude_HEADERS = other/portals3/include/p30/types.h other/portals3/include/p30/errno.h
portals3_made = libportals.la
