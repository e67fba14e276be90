# other/softhca: a verbs device made of software, between programs and libibverbs.
lib_LTLIBRARIES += libsofthca.la
# Parsers without the device, for other programs and for tests too.
softhca_pure = \
	other/softhca/faults/faults.c other/softhca/faults/faults.h other/softhca/device/gid_list.c other/softhca/device/inventory.c other/softhca/device/inventory.h \
	other/softhca/device/settings.c other/softhca/device/settings.def other/softhca/device/settings.h other/softhca/segment/shm.h \
	other/softhca/device/span.c other/softhca/device/span.h other/softhca/tcp/hosts.c other/softhca/tcp/hosts.h
include_HEADERS += other/softhca/softhca.h

libsofthca_la_SOURCES = \
	other/softhca/device/address.c other/softhca/objects/ah.c other/softhca/segment/rpc_client.c other/softhca/segment/rpc.h other/softhca/interpose/device_select.c other/softhca/objects/srq_claim.c other/softhca/objects/cq.c other/softhca/objects/cq_ex.c other/softhca/datapath/deliver.c other/softhca/device/device.c \
	other/softhca/objects/event.c other/softhca/segment/extent.c other/softhca/segment/extent.h other/softhca/interpose/fork.c other/softhca/segment/ud_access_guard.c \
	other/softhca/interpose/interpose.c other/softhca/interpose/interpose.h other/softhca/interpose/interpose_rare.c other/softhca/objects/lock.h \
	other/softhca/datapath/hot.h other/softhca/datapath/move.c other/softhca/objects/mr.c other/softhca/objects/object.h other/softhca/datapath/datapath.h other/softhca/device/device.h other/softhca/interpose/edge.h other/softhca/objects/verbs.h other/softhca/segment/segment.h other/softhca/tcp/tcp.h other/softhca/segment/peer.c \
	other/softhca/objects/qp.c other/softhca/objects/qp_ex.c other/softhca/device/query.c other/softhca/interpose/real_verbs.c \
	other/softhca/datapath/recv.c other/softhca/datapath/short_write.c other/softhca/segment/registry.c other/softhca/datapath/respond.c other/softhca/datapath/respond.h other/softhca/datapath/respond_part.c \
	other/softhca/segment/segment.c other/softhca/datapath/send.c other/softhca/segment/rpc_server.c other/softhca/datapath/worker.c \
	other/softhca/faults/delayed_completions.c other/softhca/faults/inject.c other/softhca/faults/inject.h other/softhca/faults/tear.c other/softhca/device/port.c \
	other/softhca/device/job_hosts.c other/softhca/device/settings_read.c $(softhca_pure) \
	other/softhca/softhca.h other/softhca/objects/srq.c other/softhca/objects/state.c other/softhca/objects/transition.c other/softhca/objects/xrc.c other/softhca/objects/domain.c \
	other/softhca/tcp/tcp_send.c other/softhca/tcp/datagram.c other/softhca/tcp/fabric.c other/softhca/tcp/fabric.h other/softhca/tcp/remote_process.c other/softhca/tcp/remote_process.h \
	other/softhca/tcp/greet.c other/softhca/tcp/greet.h other/softhca/tcp/tcp_recv.c other/softhca/objects/user_memory.c \
	other/softhca/tcp/remote.h other/softhca/tcp/requester.c other/softhca/tcp/responder.c other/softhca/tcp/tcp_respond.c \
	other/softhca/tcp/tcp.c other/softhca/tcp/wire.c other/softhca/tcp/wire.h
libsofthca_la_SOURCES += other/softhca/objects/cq_resize.c other/softhca/objects/mw.c other/softhca/objects/ring.h other/softhca/objects/done.c other/softhca/objects/done.h other/softhca/datapath/thread.c other/softhca/segment/peer_map.c other/softhca/objects/writable.c other/softhca/objects/memlock.c other/softhca/objects/strict_memory.c
if RDMACM
libsofthca_la_SOURCES += other/softhca/manager/manager.h other/softhca/manager/manager.c other/softhca/manager/conversation.c other/softhca/manager/queue_pairs.c
else
libsofthca_la_SOURCES += other/softhca/manager/absent.c
endif
# Without stack protector and _FORTIFY_SOURCE, of which a READ would execute 20 instructions more (tests/softhca/cost.c).
libsofthca_la_CPPFLAGS = $(AM_CPPFLAGS) -U_FORTIFY_SOURCE -D_GNU_SOURCE
libsofthca_la_CFLAGS = $(HOUSE_CFLAGS) -pthread
# Its threads run until the end of the process: the code must stay mapped.
libsofthca_la_LDFLAGS = -avoid-version -pthread -Wl,-z,nodelete \
	-Wl,--version-script,$(top_srcdir)/other/softhca/softhca.map
libsofthca_la_LIBADD = other/tools/libenv_table.la other/hostmem/libhostmem.la -ldl
EXTRA_libsofthca_la_DEPENDENCIES = $(top_srcdir)/other/softhca/softhca.map
EXTRA_DIST += other/softhca/softhca.map

# Its tests: tests/softhca/softhca.sh and tests/stock/stock.sh run them.
check_PROGRAMS += softhca_rules softhca_soak softhca_speed softhca_rules_static
softhca_pair = tests/softhca/pair.c tests/softhca/pair.h tests/softhca/rules.h
softhca_rules_SOURCES = tests/softhca/rules.c tests/softhca/report.c tests/softhca/transfer.c tests/softhca/fault.c \
	tests/softhca/queue.c tests/softhca/short.c tests/softhca/life.c tests/softhca/shared.c tests/softhca/unreliable.c tests/softhca/datagram.c tests/softhca/extended.c tests/softhca/crowd.c tests/softhca/crowd.h \
	tests/softhca/forks.c tests/softhca/peers.c tests/softhca/setting.c tests/softhca/devices.c tests/softhca/roce.c tests/softhca/between_hosts.c tests/softhca/inject.c tests/softhca/tear.c $(softhca_pair)
softhca_rules_SOURCES += tests/softhca/resize.c tests/softhca/region.c tests/softhca/window.c tests/softhca/states.c tests/softhca/memlock.c
if RDMACM
softhca_rules_SOURCES += tests/softhca/manager.c tests/gate.c tests/gate.h
else
softhca_rules_SOURCES += tests/softhca/manager_absent.c
endif
EXTRA_DIST += tests/softhca/manager.c tests/softhca/manager_absent.c
softhca_rules_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
softhca_rules_LDADD = libsofthca.la $(VERBS_LIBS)
softhca_rules_static_SOURCES = $(softhca_rules_SOURCES)
softhca_rules_static_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_rules_static_LDFLAGS = -static -pthread
softhca_rules_static_LDADD = $(softhca_rules_LDADD) -ldl
softhca_soak_SOURCES = tests/softhca/soak.c $(softhca_pair)
softhca_soak_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_soak_LDADD = $(softhca_rules_LDADD)
softhca_speed_SOURCES = tests/softhca/speed.c $(softhca_pair)
softhca_speed_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_speed_LDADD = $(softhca_rules_LDADD)
check_PROGRAMS += softhca_mesh
softhca_mesh_SOURCES = tests/softhca/mesh.c $(softhca_pair)
softhca_mesh_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_mesh_LDADD = $(softhca_rules_LDADD)
# Device selection: a fake libibverbs in the place of the real one. One program links libsofthca ahead
# of it, the other behind it, and preloads it.
fake_verbs = tests/softhca/fake/libibverbs.so.1
fake_verbs_libs = -L$(abs_top_builddir)/tests/softhca/fake -libverbs
fake_verbs_sources = tests/softhca/fake_verbs.c tests/softhca/fake_verbs.h tests/softhca/fake_verbs.map \
	tests/softhca/names.def
$(fake_verbs): $(fake_verbs_sources)
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) -D_GNU_SOURCE $(AM_CFLAGS) $(CFLAGS) -fvisibility=default -fPIC -shared -pthread \
		-Wl,-soname,libibverbs.so.1 -Wl,--version-script,$(srcdir)/tests/softhca/fake_verbs.map \
		-o $@ $(srcdir)/tests/softhca/fake_verbs.c
	@ln -sf libibverbs.so.1 $(@D)/libibverbs.so
CLEANFILES += $(fake_verbs) tests/softhca/fake/libibverbs.so
EXTRA_DIST += $(fake_verbs_sources)
check_PROGRAMS += softhca_device_select softhca_device_select_preload
softhca_device_select_SOURCES = tests/softhca/device_select.c tests/softhca/report.c $(softhca_pair)
softhca_device_select_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_device_select_LDFLAGS = -pthread -Wl,-rpath,$(abs_top_builddir)/tests/softhca/fake
softhca_device_select_LDADD = libsofthca.la $(fake_verbs_libs)
EXTRA_softhca_device_select_DEPENDENCIES = $(fake_verbs)
softhca_device_select_preload_SOURCES = $(softhca_device_select_SOURCES)
softhca_device_select_preload_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_device_select_preload_LDFLAGS = $(softhca_device_select_LDFLAGS)
softhca_device_select_preload_LDADD = $(fake_verbs_libs) libsofthca.la
EXTRA_softhca_device_select_preload_DEPENDENCIES = $(fake_verbs)
EXTRA_DIST += tests/softhca/softhca.sh tests/stock
