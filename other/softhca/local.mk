# other/softhca: a verbs device made of software, between programs and libibverbs.
lib_LTLIBRARIES += libsofthca.la
# Parsers without the device, for other programs and for tests too.
softhca_pure = \
	other/softhca/faults.c other/softhca/faults.h other/softhca/inventory.c other/softhca/inventory.h \
	other/softhca/settings.c other/softhca/settings.def other/softhca/settings.h other/softhca/shm.h \
	other/softhca/span.c other/softhca/span.h other/softhca/hosts.c other/softhca/hosts.h
include_HEADERS += other/softhca/softhca.h

libsofthca_la_SOURCES = \
	other/softhca/address.c other/softhca/ah.c other/softhca/ask.c other/softhca/ask.h other/softhca/beside.c other/softhca/claim.c other/softhca/cq.c other/softhca/cq_ex.c other/softhca/deliver.c other/softhca/device.c \
	other/softhca/event.c other/softhca/extent.c other/softhca/extent.h other/softhca/fork.c other/softhca/guest.c \
	other/softhca/interpose.c other/softhca/interpose.h other/softhca/interpose_rare.c other/softhca/lock.h \
	other/softhca/hot.h other/softhca/move.c other/softhca/mr.c other/softhca/object.h other/softhca/peer.c \
	other/softhca/qp.c other/softhca/qp_ex.c other/softhca/query.c other/softhca/real.c \
	other/softhca/recv.c other/softhca/registry.c other/softhca/respond.c other/softhca/respond.h other/softhca/respond_part.c \
	other/softhca/segment.c other/softhca/send.c other/softhca/server.c other/softhca/service.c \
	other/softhca/hold.c other/softhca/inject.c other/softhca/inject.h other/softhca/tear.c other/softhca/port.c \
	other/softhca/settings_read.c $(softhca_pure) \
	other/softhca/softhca.h other/softhca/srq.c other/softhca/state.c other/softhca/transition.c other/softhca/xrc.c other/softhca/domain.c \
	other/softhca/carry.c other/softhca/datagram.c other/softhca/fabric.c other/softhca/fabric.h other/softhca/far.c other/softhca/far.h \
	other/softhca/greet.c other/softhca/greet.h other/softhca/intake.c other/softhca/own.c \
	other/softhca/remote.h other/softhca/requester.c other/softhca/responder.c other/softhca/serve.c \
	other/softhca/sha256.c other/softhca/sha256.h other/softhca/tcp.c other/softhca/wire.c other/softhca/wire.h
libsofthca_la_SOURCES += other/softhca/cq_resize.c other/softhca/mw.c other/softhca/ring.h other/softhca/thread.c other/softhca/view.c other/softhca/writable.c
libsofthca_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libsofthca_la_CFLAGS = $(AM_CFLAGS) -pthread
# Its threads run until the end of the process: the code must stay mapped.
libsofthca_la_LDFLAGS = -avoid-version -pthread -Wl,-z,nodelete \
	-Wl,--version-script,$(top_srcdir)/other/softhca/softhca.map
libsofthca_la_LIBADD = -ldl
EXTRA_libsofthca_la_DEPENDENCIES = $(top_srcdir)/other/softhca/softhca.map
EXTRA_DIST += other/softhca/softhca.map other/softhca/settings_table.sh

# Its tests: tests/softhca/softhca.sh and tests/stock/stock.sh run them.
check_PROGRAMS += softhca_rules softhca_soak softhca_speed softhca_rules_static
softhca_pair = tests/softhca/pair.c tests/softhca/pair.h tests/softhca/rules.h
softhca_rules_SOURCES = tests/softhca/rules.c tests/softhca/report.c tests/softhca/transfer.c tests/softhca/fault.c \
	tests/softhca/queue.c tests/softhca/life.c tests/softhca/shared.c tests/softhca/unreliable.c tests/softhca/datagram.c tests/softhca/extended.c tests/softhca/crowd.c tests/softhca/crowd.h \
	tests/softhca/forks.c tests/softhca/peers.c tests/softhca/setting.c tests/softhca/devices.c tests/softhca/far.c tests/softhca/inject.c $(softhca_pair)
softhca_rules_SOURCES += tests/softhca/resize.c tests/softhca/region.c tests/softhca/window.c tests/softhca/states.c
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
# Beside real devices: a libibverbs that is not real stands beneath. One program has libsofthca ahead
# of it, the other behind it, to be preloaded.
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
check_PROGRAMS += softhca_beside softhca_beside_preload
softhca_beside_SOURCES = tests/softhca/beside.c tests/softhca/report.c $(softhca_pair)
softhca_beside_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_beside_LDFLAGS = -pthread -Wl,-rpath,$(abs_top_builddir)/tests/softhca/fake
softhca_beside_LDADD = libsofthca.la $(fake_verbs_libs)
EXTRA_softhca_beside_DEPENDENCIES = $(fake_verbs)
softhca_beside_preload_SOURCES = $(softhca_beside_SOURCES)
softhca_beside_preload_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_beside_preload_LDFLAGS = $(softhca_beside_LDFLAGS)
softhca_beside_preload_LDADD = $(fake_verbs_libs) libsofthca.la
EXTRA_softhca_beside_preload_DEPENDENCIES = $(fake_verbs)
EXTRA_DIST += tests/softhca/softhca.sh tests/stock
