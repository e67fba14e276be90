# other/softhca: a verbs device made of software, between programs and libibverbs.
lib_LTLIBRARIES += libsofthca.la
# Parsers without the device, for other programs and for tests too.
softhca_pure = \
	other/softhca/src/settings/faults.c other/softhca/src/settings/faults.h other/softhca/src/settings/gid_list.c other/softhca/src/settings/hosts.c \
	other/softhca/src/settings/hosts.h other/softhca/src/settings/inventory.c other/softhca/src/settings/inventory.h other/softhca/src/settings/limits.h \
	other/softhca/src/settings/settings.c other/softhca/src/settings/settings.def other/softhca/src/settings/settings.h \
	other/softhca/src/settings/span.c other/softhca/src/settings/span.h
include_HEADERS += other/softhca/include/softhca.h

# The folders from the bottom up: each includes only those before it (tests/arrows.sh).
libsofthca_la_SOURCES = other/softhca/include/softhca.h $(softhca_pure)
libsofthca_la_SOURCES += \
	other/softhca/src/settings/fabric.c other/softhca/src/settings/fabric.h other/softhca/src/settings/job_hosts.c other/softhca/src/settings/say.c \
	other/softhca/src/settings/say.h other/softhca/src/settings/settings_read.c
libsofthca_la_SOURCES += \
	other/softhca/src/segment/lock.h other/softhca/src/segment/peer.c other/softhca/src/segment/peer.h other/softhca/src/segment/peer_map.c \
	other/softhca/src/segment/process.h other/softhca/src/segment/registry.c other/softhca/src/segment/rpc.h other/softhca/src/segment/rpc_client.c \
	other/softhca/src/segment/rpc_server.c other/softhca/src/segment/segment.c other/softhca/src/segment/segment.h other/softhca/src/segment/shm.h \
	other/softhca/src/segment/thread.c other/softhca/src/segment/ud_access_guard.c other/softhca/src/segment/upward.h
libsofthca_la_SOURCES += \
	other/softhca/src/device/address.c other/softhca/src/device/device.h other/softhca/src/device/port.c other/softhca/src/device/query.c
libsofthca_la_SOURCES += \
	other/softhca/src/objects/ah.c other/softhca/src/objects/ah.h other/softhca/src/objects/context.c other/softhca/src/objects/context.h \
	other/softhca/src/objects/context_disable.c other/softhca/src/objects/cq.c other/softhca/src/objects/cq.h other/softhca/src/objects/cq_ex.c \
	other/softhca/src/objects/cq_resize.c other/softhca/src/objects/domain.c other/softhca/src/objects/done.c other/softhca/src/objects/done.h \
	other/softhca/src/objects/event.c other/softhca/src/objects/event.h other/softhca/src/objects/memlock.c other/softhca/src/objects/memlock.h \
	other/softhca/src/objects/mr.c other/softhca/src/objects/mr.h other/softhca/src/objects/mw.c other/softhca/src/objects/mw.h \
	other/softhca/src/objects/qp.h other/softhca/src/objects/quiesce.c other/softhca/src/objects/srq.c other/softhca/src/objects/srq.h \
	other/softhca/src/objects/srq_claim.c other/softhca/src/objects/strict_memory.c other/softhca/src/objects/writable.c other/softhca/src/objects/xrc.c \
	other/softhca/src/objects/xrc.h
libsofthca_la_SOURCES += \
	other/softhca/src/datapath/datapath.h other/softhca/src/datapath/deliver.c other/softhca/src/datapath/hot.h other/softhca/src/datapath/move.c \
	other/softhca/src/datapath/qp_state.c other/softhca/src/datapath/recv.c other/softhca/src/datapath/respond.c other/softhca/src/datapath/respond.h \
	other/softhca/src/datapath/respond_part.c other/softhca/src/datapath/rnr.h other/softhca/src/datapath/send.c \
	other/softhca/src/datapath/short_write.c other/softhca/src/datapath/worker.c
libsofthca_la_SOURCES += \
	other/softhca/src/tcp/datagram.c other/softhca/src/tcp/greet.c other/softhca/src/tcp/greet.h other/softhca/src/tcp/remote.h \
	other/softhca/src/tcp/remote_process.c other/softhca/src/tcp/remote_process.h other/softhca/src/tcp/requester.c other/softhca/src/tcp/responder.c \
	other/softhca/src/tcp/tcp.c other/softhca/src/tcp/tcp.h other/softhca/src/tcp/tcp_recv.c other/softhca/src/tcp/tcp_respond.c \
	other/softhca/src/tcp/tcp_send.c other/softhca/src/tcp/user_memory.c other/softhca/src/tcp/wire.c other/softhca/src/tcp/wire.h
libsofthca_la_SOURCES += \
	other/softhca/src/faults/delayed_completions.c other/softhca/src/faults/inject.c other/softhca/src/faults/inject.h \
	other/softhca/src/faults/port_faults.c other/softhca/src/faults/tear.c
libsofthca_la_SOURCES += \
	other/softhca/src/verbs/open.c other/softhca/src/verbs/qp.c other/softhca/src/verbs/qp_ex.c other/softhca/src/verbs/start.c \
	other/softhca/src/verbs/state.c other/softhca/src/verbs/transition.c other/softhca/src/verbs/verbs.h
libsofthca_la_SOURCES += \
	other/softhca/src/interpose/alloc.c other/softhca/src/interpose/device_select.c other/softhca/src/interpose/fork.c \
	other/softhca/src/interpose/interpose.c other/softhca/src/interpose/interpose.h other/softhca/src/interpose/interpose_rare.c
if RDMACM
libsofthca_la_SOURCES += other/softhca/src/manager/manager.h other/softhca/src/manager/manager.c other/softhca/src/manager/conversation.c other/softhca/src/manager/queue_pairs.c
else
libsofthca_la_SOURCES += other/softhca/src/manager/absent.c
endif
# Without stack protector and _FORTIFY_SOURCE, of which a READ would execute 20 instructions more (other/softhca/tests/cost.c).
libsofthca_la_CPPFLAGS = $(AM_CPPFLAGS) -U_FORTIFY_SOURCE -D_GNU_SOURCE
libsofthca_la_CFLAGS = $(HOUSE_CFLAGS) -pthread
# Its threads run until the end of the process: the code must stay mapped.
libsofthca_la_LDFLAGS = -avoid-version -pthread -Wl,-z,nodelete \
	-Wl,--version-script,$(top_srcdir)/other/softhca/src/softhca.map
libsofthca_la_LIBADD = other/base/libenv_table.la other/base/hostmem/libhostmem.la -ldl
EXTRA_libsofthca_la_DEPENDENCIES = $(top_srcdir)/other/softhca/src/softhca.map
EXTRA_DIST += other/softhca/src/softhca.map
softhca_made = libsofthca.la softhca-run$(EXEEXT) other/softhca/softhca.7
