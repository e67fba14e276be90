# core: compiled once per conduit and thread mode; a conduit's local.mk lists these.
core_sources = \
  core/completion.h core/lock.h core/log.h core/network.h core/network_defaults.h core/report.h \
  core/init.c \
  core/counters/counters.def core/counters/counters.h \
  core/params/log_levels.c core/params/params.c core/params/params.def core/params/params.h core/params/params_init.c \
  core/job/ending.h core/job/host_addresses.c core/job/host_addresses.h core/job/secret.c core/job/secret.h core/job/job.h \
  core/rings/amrdma.h core/rings/local_rings.h core/rings/local_rings.c \
  core/shm/messages.c core/shm/messages.h core/shm/shm.c core/shm/shm.h core/shm/shm_flow.h core/shm/topology.c core/shm/topology.h core/shm/wake.c core/shm/wake.h \
  core/job/progress.h core/job/log.c core/job/rank.h core/job/rank_file.c core/job/rank_file.h core/job/report.c core/job/signal_stack.c \
  core/job/signal_stack.h core/job/startup.c core/job/startup.h core/job/thread.c core/job/thread.h \
  core/rdma/bounce.h core/rdma/buffers.c core/rdma/buffers.h core/rdma/firehose.c core/rdma/firehose_open.c core/rdma/firehose.h \
  core/rdma/unmapped.c core/rdma/lease.c core/rdma/unmapped.h core/rdma/lease.h \
  core/rdma/atomics.c core/rdma/lists.c core/rdma/pieces.c core/rdma/rdma.c \
  core/rdma/published.c core/rdma/published.h core/rdma/rdma.h core/rdma/rdma_internal.h core/rdma/remote_flags.c core/rdma/remote_flags.h \
  core/rdma/remote.h core/rdma/remote_fast.h core/rdma/remote_firehose.h \
  core/rdma/segment.h core/rdma/segments.c core/rdma/synchronisation.h core/rdma/watched.c $(core_segment_sources) \
  core/am/am.h core/am/am_deliver.c core/am/am_deliver.h core/am/am_dispatch.h \
  core/am/am_handlers.c core/am/am_send.c core/am/am_send.h core/am/lent.c core/am/lent.h core/am/am_variadic.c core/am/am_wire.h \
  core/am/context.c core/am/context.h core/am/credits.h core/am/flow.h core/am/system_am.h \
  core/am/trace_clock.c core/am/trace_clock.h \
  core/trace/events.c core/trace/events.def core/trace/events.h core/trace/ring.h core/trace/trace.c core/trace/trace.h \
  core/progress/backoff.h core/progress/poll.c core/progress/receive_thread.h \
  core/stats/stats.c core/stats/stats.h core/stats/tally.c core/stats/waits.c core/stats/watchdog.c \
  core/exit/exit.c core/exit/exit.h core/exit/exit_files.c core/exit/exit_protocol.c core/exit/exit_protocol.h \
  core/exit/exit_signals.c

# Peers' memory: registered during attach, or where it is used.
if SEGMENT_FAST
core_segment_sources = core/rdma/remote_fast.c core/rdma/segment.c
else
core_segment_sources = core/am/firehose_messages.c core/rdma/remote.c \
  core/rdma/remote_transfers.c core/rdma/segment_unpinned.c
endif

# Left out by --disable-ibv-rcv-thread: the receive thread, and the call in which it sleeps.
receive_thread_sources = core/progress/receive_thread.c
ib_receive_thread_sources = core/ib/cq_wait.c

core_ib_sources = \
  core/ib/network_ib.h core/ib/params.def core/ib/qp_select.h core/ib/rail.h core/ib/rails.c core/ib/device_limits.c core/ib/ports.h core/ib/ports.c \
  core/ib/atomics.h core/ib/atomics.c core/ib/lists.c core/ib/memory.c core/ib/software_device.h core/ib/software_device.c core/ib/amrdma_choice.h core/ib/amrdma_rings.c core/ib/receive.c core/ib/reap_multi.c \
  core/ib/srq.h core/ib/srq.c core/ib/srq_policy.h core/ib/qp_table.h core/ib/qp_table.c \
  core/ib/connect.h core/ib/connect.c core/ib/system_messages.h core/ib/system_messages.c core/ib/counts.c core/ib/verbs_types.h core/ib/advice.h core/ib/advice.c core/ib/status.c core/ib/events.c \
  core/ib/datagrams.h core/ib/datagrams.c core/ib/connect_on_demand.c core/ib/meeting.h core/ib/connect_greetings.c \
  core/ib/connect_payload.h core/ib/route.c $(handshake_sources) $(roce_sources)

nobase_dist_doc_DATA += core/shm/README.md core/rdma/README.md core/trace/README.md
EXTRA_DIST += core/gasnet.mk core/conduits.m4 core/conduits.sh core/counters/counters_table.sh

# libsofthca.so is found in the folder of the library, also after an installed tree was moved; calls between
# the library's own functions need no detour through the symbol table.
# It stays loaded, as memory-events changes the C library's code to call it.
conduit_ldflags = -version-info $(LIBRARY_VERSION) -Wl,-rpath,'$$ORIGIN' -Wl,-Bsymbolic-functions -Wl,-z,nodelete
