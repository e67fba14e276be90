# core: compiled once per conduit and thread mode; a conduit's local.mk lists these.
core_sources = \
  core/network.h core/network_unpaired.h core/lock.h core/completion.h core/buffers.h core/buffers.c core/credits.h \
  core/job.h core/rank.h core/init.c core/segment.h core/segment.c core/physmem.h core/physmem.c core/thread.h core/thread.c \
  core/am.h core/am_wire.h core/am_dispatch.h core/am_handlers.c core/am_deliver.h core/am_deliver.c \
  core/am_send.c core/am_variadic.c core/synchronisation.h core/notice.h core/notice.c core/receive_thread.h core/rdma.h core/rdma_internal.h core/rdma.c \
  core/context.h core/context.c core/poll.h core/poll.c core/clock.h core/exit.h core/exit.c core/exit_signals.h \
  core/exit_signals.c core/signal_stack.h core/signal_stack.c core/exit_protocol.h core/exit_protocol.c core/report.h core/report.c \
  core/counters.h core/counters.def core/counters.c core/counters_report.c \
  core/params.h core/params.def core/params.c core/params_init.c core/system_am.h core/span.h core/span.c

# With --disable-ibv-rcv-thread neither is there at all: the thread, and how it sleeps.
receive_thread_sources = core/receive_thread.c
ib_receive_thread_sources = core/ib/sleep.c

core_ib_sources = \
  core/ib/network_inline.h core/ib/params.def core/ib/turns.h core/ib/rail.h core/ib/rails.c core/ib/ports.h core/ib/ports.c \
  core/ib/memory.c core/ib/amrdma.h core/ib/amrdma.c core/ib/rings.c core/ib/receive.c core/ib/reap.c \
  core/ib/shared.h core/ib/shared.c core/ib/sharing.h core/ib/owners.h core/ib/owners.c \
  core/ib/connect.h core/ib/connect.c core/ib/counts.c core/ib/verbs_types.h core/ib/words.h core/ib/words.c core/ib/status.c core/ib/events.h core/ib/events.c \
  core/ib/datagrams.h core/ib/datagrams.c core/ib/greeter.h core/ib/greeter.c core/ib/handshake.h core/ib/handshake.c

EXTRA_DIST += core/conduits.m4 core/conduits.sh core/gen_dispatch.sh core/params_table.sh core/counters_table.sh

# libsofthca.so is found beside the library, wherever an installed tree was moved to; calls between
# the library's own functions need no detour through the symbol table.
conduit_ldflags = -Wl,-rpath,'$$ORIGIN' -Wl,-Bsymbolic-functions
