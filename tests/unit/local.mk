# tests/unit: state machines, parsers and engines of the core, in one process each; TAP on stdout.
# tests/fuzz: see its own part at the end.
# The engines are compiled against a network that a script drives, found by -Itests/unit/script.
check_LIBRARIES += tests/unit/libscript.a tests/unit/libscript_large.a
EXTRA_DIST += tests/fuzz/run.sh

unit_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/ibv-conduit -DGASNETC_PARAMS_DEF='"ibv-conduit/params.def"' \
	-I$(top_srcdir)/tests/unit/script $(DEBUG_DEFINE) -DGASNETI_NO_LINKCHECK -DGASNETI_PSHM=0 -DGASNET_SEQ
script_sources = \
	core/am/am_deliver.c core/am/am_handlers.c core/am/am_send.c core/am/lent.c core/am/am_variadic.c core/rdma/remote_flags.c \
	core/rdma/buffers.c core/rdma/firehose.c core/rdma/firehose_open.c core/rdma/unmapped.c core/rdma/lease.c core/rdma/watched.c core/am/context.c core/stats/tally.c core/params/log_levels.c core/params/params.c core/params/params_init.c core/progress/poll.c core/rings/local_rings.c core/rdma/pieces.c core/rdma/published.c core/rdma/rdma.c \
	core/job/log.c core/job/rank_file.c core/job/report.c core/rdma/segments.c core/job/thread.c core/job/signal_stack.c \
	tests/unit/no_shm.c tests/unit/net_script.c tests/unit/net_script.h tests/unit/script_record.h tests/unit/script/network_script.h \
	tests/unit/stubs.c tests/unit/stubs.h tests/unit/no_trace.c tests/unit/am_compose.h
tests_unit_libscript_a_SOURCES = $(script_sources) core/rdma/remote_fast.c core/rdma/segment.c
tests_unit_libscript_a_CPPFLAGS = $(unit_cppflags)
unit_libs = tests/unit/libcheck.a other/firehose/libfirehose.la other/base/memory-events/libmemory_events.la other/base/libtools.la -lpthread -ldl -lm
unit_ldadd = tests/unit/libscript.a $(unit_libs)
# The same for SEGMENT_LARGE, whose messages a test delivers.
tests_unit_libscript_large_a_SOURCES = $(script_sources) core/rdma/remote.c core/rdma/remote_transfers.c core/rdma/segment_unpinned.c
tests_unit_libscript_large_a_CPPFLAGS = $(unit_cppflags) -DGASNET_SEGMENT_LARGE

# Without a network.
check_PROGRAMS += tests/unit/credits tests/unit/exit_protocol tests/unit/ports
tests_unit_credits_SOURCES = tests/unit/credits.c core/am/credits.h
tests_unit_credits_LDADD = tests/unit/libcheck.a
tests_unit_exit_protocol_SOURCES = tests/unit/exit_protocol.c core/exit/exit_protocol.c
tests_unit_exit_protocol_LDADD = tests/unit/libcheck.a
tests_unit_ports_SOURCES = tests/unit/ports.c core/ib/ports.c
tests_unit_ports_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/vis
tests_unit_vis_SOURCES = tests/unit/vis.c extended-ref/vis/choose.h \
	extended-ref/vis/pieces.c extended-ref/vis/pieces.h extended-ref/vis/walk.c extended-ref/vis/walk.h
tests_unit_vis_CPPFLAGS = $(unit_cppflags)
tests_unit_vis_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/atomic_kernels
tests_unit_atomic_kernels_SOURCES = tests/unit/atomic_kernels.c extended-ref/ex/atomic_kernels.c extended-ref/ex/atomics.h
tests_unit_atomic_kernels_CPPFLAGS = $(unit_cppflags)
tests_unit_atomic_kernels_LDADD = tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/outstanding
tests_unit_outstanding_SOURCES = tests/unit/outstanding.c extended-ref/outstanding.c
tests_unit_outstanding_CPPFLAGS = $(unit_cppflags)
tests_unit_outstanding_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/records
tests_unit_records_SOURCES = tests/unit/records.c extended-ref/records.c extended-ref/records.h
tests_unit_records_CPPFLAGS = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/ibv-conduit $(DEBUG_DEFINE) \
	-DGASNETI_NO_LINKCHECK -DGASNETI_PSHM=0 -DGASNET_PAR
tests_unit_records_LDADD = tests/unit/libcheck.a other/base/libtools.la -lpthread -ldl
check_PROGRAMS += tests/unit/wraps
tests_unit_wraps_SOURCES = tests/unit/wraps.c extended-ref/coll/match.c extended-ref/coll/team.c $(topology_sources) other/portals3/src/engine/pool.c tests/unit/no_log.c
tests_unit_wraps_CPPFLAGS = $(unit_cppflags) -I$(top_srcdir)/other/portals3/include
tests_unit_wraps_LDADD = tests/unit/libcheck.a
EXTRA_DIST += tests/unit/wraps.md
check_PROGRAMS += tests/unit/lending
tests_unit_lending_SOURCES = tests/unit/lending.c portals-conduit/lending.c portals-conduit/lending.h
tests_unit_lending_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/coll_plan
tests_unit_coll_plan_SOURCES = tests/unit/coll_plan.c tests/unit/coll_memory.c tests/unit/coll_memory.h $(coll_plan_sources) $(topology_sources)
tests_unit_coll_plan_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/topology
tests_unit_topology_SOURCES = tests/unit/topology.c $(topology_sources)
tests_unit_topology_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/srq_policy
tests_unit_srq_policy_SOURCES = tests/unit/srq_policy.c core/ib/srq_policy.h core/ib/qp_table.h core/ib/qp_table.c
tests_unit_srq_policy_LDADD = tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/supernodes
tests_unit_supernodes_SOURCES = tests/unit/supernodes.c core/shm/topology.c core/shm/topology.h
tests_unit_supernodes_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_unit_supernodes_LDADD = other/base/hostmem/libhostmem.la tests/unit/libcheck.a
check_PROGRAMS += tests/unit/ask
tests_unit_ask_SOURCES = tests/unit/ask.c other/launch/modules/module_answer.c other/launch/modules/module.h
tests_unit_ask_LDADD = other/launch/liblauncher.la tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/top
tests_unit_top_SOURCES = tests/unit/top.c
tests_unit_top_LDADD = other/launch/liblauncher.la tests/unit/libcheck.a
check_PROGRAMS += tests/unit/why
tests_unit_why_SOURCES = tests/unit/why.c
tests_unit_why_LDADD = other/launch/liblauncher.la tests/unit/libcheck.a
check_PROGRAMS += tests/unit/trace_report
tests_unit_trace_report_SOURCES = tests/unit/trace_report.c
tests_unit_trace_report_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_unit_trace_report_LDADD = other/launch/liblauncher.la tests/unit/libcheck.a
check_PROGRAMS += tests/unit/sleepers
tests_unit_sleepers_SOURCES = tests/unit/sleepers.c core/progress/backoff.h $(barrier_machine_sources)
tests_unit_sleepers_LDADD = other/base/hostmem/libhostmem.la tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/host_addresses
tests_unit_host_addresses_SOURCES = tests/unit/host_addresses.c core/job/host_addresses.c core/job/host_addresses.h core/job/secret.c core/job/secret.h other/softhca/src/settings/job_hosts.c
tests_unit_host_addresses_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_host_addresses_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/signal_stack
tests_unit_signal_stack_SOURCES = tests/unit/signal_stack.c core/job/signal_stack.c
tests_unit_signal_stack_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_signal_stack_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/receive_thread
tests_unit_receive_thread_SOURCES = tests/unit/receive_thread.c core/progress/receive_thread.c
tests_unit_receive_thread_CPPFLAGS = $(unit_cppflags)
tests_unit_receive_thread_LDADD = tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/exit_engine
tests_unit_exit_engine_SOURCES = tests/unit/exit_engine.c tests/unit/no_trace.c core/exit/exit.c core/exit/exit_files.c core/exit/exit_signals.c core/exit/exit_protocol.c core/job/log.c core/params/log_levels.c core/job/rank_file.c core/job/report.c core/job/signal_stack.c
tests_unit_exit_engine_CPPFLAGS = $(filter-out -DGASNET_SEQ,$(unit_cppflags)) -DGASNET_PAR -D_REENTRANT
tests_unit_exit_engine_LDADD = tests/unit/libcheck.a other/base/libtools.la -lpthread
check_PROGRAMS += tests/unit/patience
tests_unit_patience_SOURCES = tests/unit/patience.c
tests_unit_patience_LDADD = tests/unit/libcheck.a other/base/libtools.la -lpthread -lm
check_PROGRAMS += tests/unit/handshake
connect_payloads = core/ib/connect_payload.h \
	other/portals3/src/transport/connect_payload.c other/portals3/src/transport/connect_payload.h \
	other/portals3/src/transport/connect_guard.c other/portals3/src/transport/connect_guard.h
tests_unit_handshake_SOURCES = tests/unit/handshake.c $(handshake_sources) $(connect_payloads)
tests_unit_handshake_LDADD = tests/unit/libcheck.a other/base/libenv_table.la
if RDMACM
check_PROGRAMS += tests/unit/rdmacm
endif
tests_unit_rdmacm_SOURCES = tests/unit/rdmacm.c $(rdmacm_machine) other/connect/rdmacm/failure.c other/connect/rdmacm/failure.h
tests_unit_rdmacm_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/memory_events tests/unit/memory_effects
tests_unit_memory_events_SOURCES = tests/unit/memory_events.c
tests_unit_memory_events_LDADD = other/base/memory-events/libmemory_events.la tests/unit/libcheck.a -lpthread -ldl
tests_unit_memory_effects_SOURCES = tests/unit/memory_effects.c
tests_unit_memory_effects_LDADD = other/base/memory-events/libmemory_events.la tests/unit/libcheck.a -lpthread
if !SANITIZE
check_PROGRAMS += tests/unit/memory_events_static
endif
tests_unit_memory_events_static_SOURCES = tests/unit/memory_events.c
tests_unit_memory_events_static_CPPFLAGS = $(AM_CPPFLAGS) -DIS_STATIC
tests_unit_memory_events_static_LDFLAGS = -all-static
tests_unit_memory_events_static_LDADD = other/base/memory-events/libmemory_events.la tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/firehose
tests_unit_firehose_SOURCES = tests/unit/firehose.c tests/unit/firehose_remote.c tests/unit/firehose_script.c \
	tests/unit/firehose_script.h
tests_unit_firehose_LDADD = other/firehose/libfirehose.la tests/unit/libcheck.a
check_PROGRAMS += tests/unit/firehose_pools
tests_unit_firehose_pools_SOURCES = tests/unit/firehose_pools.c
tests_unit_firehose_pools_LDADD = other/firehose/libfirehose.la tests/unit/libcheck.a
check_PROGRAMS += tests/unit/firehose_threads
tests_unit_firehose_threads_SOURCES = tests/unit/firehose_threads.c
tests_unit_firehose_threads_LDADD = other/firehose/libfirehose.la tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/unmapped
tests_unit_unmapped_SOURCES = tests/unit/unmapped.c core/rdma/unmapped.c core/rdma/unmapped.h
tests_unit_unmapped_LDADD = tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/stacks
tests_unit_stacks_SOURCES = tests/unit/stacks.c other/base/stacks.c other/base/stacks.h other/base/symbols.c other/base/symbols.h
tests_unit_stacks_LDADD = tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/quiet_thread
tests_unit_quiet_thread_SOURCES = tests/unit/quiet_thread.c other/base/quiet_thread.h
tests_unit_quiet_thread_LDADD = tests/unit/libcheck.a -lpthread
check_PROGRAMS += tests/unit/roce
tests_unit_roce_SOURCES = tests/unit/roce.c $(roce_sources) $(roce_table_sources)
tests_unit_roce_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_unit_roce_LDADD = tests/unit/libcheck.a libsofthca.la $(VERBS_LIBS)
check_PROGRAMS += tests/unit/connect_on_demand
tests_unit_connect_on_demand_SOURCES = tests/unit/connect_on_demand.c core/ib/connect_on_demand.c core/ib/connect_greetings.c core/ib/connect_payload.h core/ib/route.c $(handshake_sources) $(roce_sources) tests/unit/no_log.c
tests_unit_connect_on_demand_CPPFLAGS = $(ibv_conduit_cppflags) -DGASNET_SEQ
tests_unit_connect_on_demand_LDADD = tests/unit/libcheck.a other/base/libenv_table.la $(VERBS_LIBS) -lpthread
check_PROGRAMS += tests/unit/datagrams
tests_unit_datagrams_SOURCES = tests/unit/datagrams.c core/ib/datagrams.c core/ib/advice.c
tests_unit_datagrams_CPPFLAGS = $(ibv_conduit_cppflags) -DGASNET_SEQ
tests_unit_datagrams_LDADD = tests/unit/libcheck.a other/base/completion-queues/libcompletion_queues.la libsofthca.la $(VERBS_LIBS)

check_PROGRAMS += tests/unit/amrdma tests/unit/amrdma_sim
tests_unit_amrdma_SOURCES = tests/unit/amrdma.c core/rings/amrdma.h core/ib/amrdma_choice.h
tests_unit_amrdma_LDADD = tests/unit/libcheck.a
tests_unit_amrdma_sim_SOURCES = tests/unit/amrdma_sim.c core/rings/amrdma.h core/am/credits.h
tests_unit_amrdma_sim_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/shm_flow
tests_unit_shm_flow_SOURCES = tests/unit/shm_flow.c core/shm/shm_flow.h core/rings/amrdma.h
tests_unit_shm_flow_LDADD = tests/unit/libcheck.a

check_PROGRAMS += tests/unit/host_lists
tests_unit_host_lists_SOURCES = tests/unit/host_lists.c
tests_unit_host_lists_LDADD = tests/unit/libcheck.a other/launch/liblauncher.la

# On the scripted network.
check_PROGRAMS += tests/unit/am_engine tests/unit/am_immediate tests/unit/am_flow tests/unit/am_loopback \
	tests/unit/am_malformed tests/unit/am_wire tests/unit/handlers tests/unit/log_levels tests/unit/trace_events tests/unit/params \
	tests/unit/leases tests/unit/params_init tests/unit/rdma_engine tests/unit/remote_flags tests/unit/connecting
# Where processes share memory, with a word to sleep on.
check_PROGRAMS += tests/unit/waiting
tests_unit_waiting_SOURCES = tests/unit/waiting.c core/progress/poll.c core/rings/local_rings.c
tests_unit_waiting_CPPFLAGS = $(unit_cppflags) -UGASNETI_PSHM -DGASNETI_PSHM=1
tests_unit_waiting_LDADD = $(unit_ldadd)
check_PROGRAMS += tests/unit/am_immediate_shm
tests_unit_am_immediate_shm_SOURCES = tests/unit/am_immediate_shm.c core/am/am_send.c
tests_unit_am_immediate_shm_CPPFLAGS = $(unit_cppflags) -UGASNETI_PSHM -DGASNETI_PSHM=1
tests_unit_am_immediate_shm_LDADD = $(unit_ldadd)
check_PROGRAMS += tests/unit/am_pairs
tests_unit_am_pairs_SOURCES = tests/unit/am_pairs.c core/am/am_send.c
tests_unit_am_pairs_CPPFLAGS = $(unit_cppflags) -DNET_SCRIPT_PAIRS=1
tests_unit_am_pairs_LDADD = $(unit_ldadd)
# With the Extended API above.
check_PROGRAMS += tests/unit/synchronisation
tests_unit_synchronisation_SOURCES = tests/unit/synchronisation.c tests/programs/synchronisation_rows.h extended-ref/handles.c extended-ref/records.c \
	extended-ref/internal_am.c extended-ref/memset.c extended-ref/outstanding.c extended-ref/putget.c \
	extended-ref/transfer.h extended-ref/value.c
tests_unit_synchronisation_CPPFLAGS = $(unit_cppflags)
tests_unit_synchronisation_LDADD = $(unit_ldadd)
check_PROGRAMS += tests/unit/ex_events
tests_unit_ex_events_SOURCES = tests/unit/ex_events.c extended-ref/ex/messages.c extended-ref/ex/puts.c extended-ref/handles.c extended-ref/records.c \
	extended-ref/internal_am.c extended-ref/memset.c extended-ref/outstanding.c extended-ref/putget.c \
	extended-ref/transfer.h extended-ref/value.c
tests_unit_ex_events_CPPFLAGS = $(unit_cppflags)
tests_unit_ex_events_LDADD = $(unit_ldadd)
check_PROGRAMS += tests/unit/advice
tests_unit_advice_SOURCES = tests/unit/advice.c core/ib/advice.c
tests_unit_advice_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_advice_LDADD = tests/unit/libcheck.a libsofthca.la $(VERBS_LIBS)
check_PROGRAMS += tests/unit/shim tests/unit/shim_vapi
tests_unit_shim_SOURCES = tests/unit/shim.c core/ib/advice.c $(roce_table_sources)
tests_unit_shim_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DSHIM='"ibv-conduit/ibv_shim.h"'
tests_unit_shim_LDADD = tests/unit/libcheck.a other/base/completion-queues/libcompletion_queues.la libsofthca.la $(VERBS_LIBS)
tests_unit_shim_vapi_SOURCES = tests/unit/shim.c core/ib/advice.c
tests_unit_shim_vapi_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DSHIM='"vapi-conduit/vapi_shim.h"' -I$(top_srcdir)/other/vapi/include
tests_unit_shim_vapi_LDFLAGS = -export-dynamic
tests_unit_shim_vapi_LDADD = tests/unit/libcheck.a libvapi.la libsofthca.la $(VERBS_LIBS)
check_PROGRAMS += tests/unit/counters
tests_unit_counters_SOURCES = tests/unit/counters.c
tests_unit_counters_CPPFLAGS = $(unit_cppflags)
tests_unit_counters_LDADD = $(unit_ldadd)
# The portable reference of it, on a conduit of its own.
check_PROGRAMS += tests/unit/reference
tests_unit_reference_SOURCES = tests/unit/reference.c tests/unit/no_trace.c tests/programs/synchronisation_rows.h tests/unit/toy/gasnet_conduit.h \
	extended-ref/handles.c extended-ref/records.c extended-ref/internal_am.c extended-ref/memset.c extended-ref/outstanding.c extended-ref/putget.c \
	extended-ref/transfer.h $(extended_by_am) extended-ref/value.c
tests_unit_reference_CPPFLAGS = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/tests/unit/toy \
	$(DEBUG_DEFINE) -DGASNETI_NO_LINKCHECK -DGASNET_SEQ -DGASNETE_BY_AM
tests_unit_reference_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/vis_messages
tests_unit_vis_messages_SOURCES = tests/unit/vis_messages.c tests/unit/toy/gasnet_conduit.h extended-ref/internal_am.c extended-ref/outstanding.c \
	extended-ref/vis/packed.c extended-ref/vis/pieces.c extended-ref/vis/walk.c
tests_unit_vis_messages_CPPFLAGS = $(tests_unit_reference_CPPFLAGS)
tests_unit_vis_messages_LDADD = tests/unit/libcheck.a
tests_unit_remote_flags_SOURCES = tests/unit/remote_flags.c
tests_unit_remote_flags_CPPFLAGS = $(unit_cppflags)
tests_unit_remote_flags_LDADD = $(unit_ldadd)
tests_unit_connecting_SOURCES = tests/unit/connecting.c
tests_unit_connecting_CPPFLAGS = $(unit_cppflags)
tests_unit_connecting_LDADD = $(unit_ldadd)
tests_unit_am_engine_SOURCES = tests/unit/am_engine.c
tests_unit_am_engine_CPPFLAGS = $(unit_cppflags)
tests_unit_am_engine_LDADD = $(unit_ldadd)
tests_unit_am_immediate_SOURCES = tests/unit/am_immediate.c
tests_unit_am_immediate_CPPFLAGS = $(unit_cppflags)
tests_unit_am_immediate_LDADD = $(unit_ldadd)
tests_unit_am_flow_SOURCES = tests/unit/am_flow.c
tests_unit_am_flow_CPPFLAGS = $(unit_cppflags)
tests_unit_am_flow_LDADD = $(unit_ldadd)
tests_unit_am_loopback_SOURCES = tests/unit/am_loopback.c
tests_unit_am_loopback_CPPFLAGS = $(unit_cppflags)
tests_unit_am_loopback_LDADD = $(unit_ldadd)
tests_unit_am_malformed_SOURCES = tests/unit/am_malformed.c
tests_unit_am_malformed_CPPFLAGS = $(unit_cppflags)
tests_unit_am_malformed_LDADD = $(unit_ldadd)
tests_unit_am_wire_SOURCES = tests/unit/am_wire.c tests/unit/am_parse.h
tests_unit_am_wire_CPPFLAGS = $(unit_cppflags)
tests_unit_am_wire_LDADD = $(unit_ldadd)
# Threads register handlers at once.
tests_unit_handlers_SOURCES = tests/unit/handlers.c core/am/am_handlers.c
tests_unit_handlers_CPPFLAGS = $(unit_cppflags) -UGASNET_SEQ -DGASNET_PAR
tests_unit_handlers_LDADD = $(unit_ldadd)
tests_unit_log_levels_SOURCES = tests/unit/log_levels.c core/params/log_levels.c
tests_unit_log_levels_LDADD = tests/unit/libcheck.a
tests_unit_trace_events_SOURCES = tests/unit/trace_events.c core/trace/events.c
tests_unit_trace_events_LDADD = tests/unit/libcheck.a -lpthread
tests_unit_params_SOURCES = tests/unit/params.c
tests_unit_params_CPPFLAGS = $(unit_cppflags)
tests_unit_params_LDADD = $(unit_ldadd)
tests_unit_params_init_SOURCES = tests/unit/params_init.c
tests_unit_params_init_CPPFLAGS = $(unit_cppflags)
tests_unit_params_init_LDADD = $(unit_ldadd)
tests_unit_leases_SOURCES = tests/unit/leases.c
tests_unit_leases_CPPFLAGS = $(unit_cppflags)
tests_unit_leases_LDADD = $(unit_ldadd)
check_PROGRAMS += tests/unit/held tests/unit/rdma_pending
tests_unit_held_SOURCES = tests/unit/held.c
tests_unit_held_CPPFLAGS = $(unit_cppflags)
tests_unit_held_LDADD = $(unit_ldadd)
tests_unit_rdma_pending_SOURCES = tests/unit/rdma_pending.c
tests_unit_rdma_pending_CPPFLAGS = $(tests_unit_libscript_large_a_CPPFLAGS)
tests_unit_rdma_pending_LDADD = tests/unit/libscript_large.a $(unit_libs)
tests_unit_rdma_engine_SOURCES = tests/unit/rdma_engine.c
tests_unit_rdma_engine_CPPFLAGS = $(unit_cppflags)
tests_unit_rdma_engine_LDADD = $(unit_ldadd)

# portals-conduit: its pure parts, and all of it on a scripted libportals, for one thread and for many.
check_PROGRAMS += tests/unit/portals_parts
tests_unit_portals_parts_SOURCES = tests/unit/portals_parts.c portals-conduit/bits.h portals-conduit/stock.h \
	portals-conduit/reqrb.h portals-conduit/long_id.c portals-conduit/long_id.h portals-conduit/receive_space.c portals-conduit/receive_space.h
tests_unit_portals_parts_LDADD = tests/unit/libcheck.a
portals_job_sources = tests/unit/portals_job.c tests/unit/portals_job.h tests/unit/ptl_script.c tests/unit/ptl_script.h tests/unit/script_record.h \
	core/am/am_deliver.c core/am/am_handlers.c core/am/am_send.c core/am/lent.c core/am/am_variadic.c core/rdma/buffers.c core/rdma/firehose.c core/rdma/firehose_open.c core/rdma/unmapped.c core/rdma/lease.c core/rdma/watched.c core/am/context.c \
	core/stats/tally.c core/params/log_levels.c core/params/params.c core/progress/poll.c core/rings/local_rings.c core/rdma/pieces.c core/rdma/published.c core/rdma/rdma.c core/rdma/remote_fast.c core/job/log.c core/job/rank_file.c core/job/report.c core/rdma/segment.c core/rdma/segments.c core/job/thread.c core/job/signal_stack.c \
	$(portals_network_sources) tests/unit/no_shm.c tests/unit/no_trace.c tests/unit/stubs.c tests/unit/stubs.h tests/unit/am_compose.h
portals_job_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/portals-conduit \
	-I$(top_srcdir)/portals-conduit -DGASNETC_PARAMS_DEF='"portals-conduit/params.def"' \
	$(portals_network_cppflags) $(DEBUG_DEFINE) -DGASNETI_NO_LINKCHECK -DGASNETI_PSHM=0
portals_job_libs = tests/unit/libcheck.a other/firehose/libfirehose.la other/base/memory-events/libmemory_events.la other/base/libtools.la -lpthread -ldl -lm
check_LIBRARIES += tests/unit/libportals_seq.a tests/unit/libportals_par.a
tests_unit_libportals_seq_a_SOURCES = $(portals_job_sources)
tests_unit_libportals_seq_a_CPPFLAGS = $(portals_job_cppflags) -DGASNET_SEQ
tests_unit_libportals_par_a_SOURCES = $(portals_job_sources)
tests_unit_libportals_par_a_CPPFLAGS = $(portals_job_cppflags) -DGASNET_PAR
check_PROGRAMS += tests/unit/portals_transfers tests/unit/portals_arrivals tests/unit/portals_queues
tests_unit_portals_transfers_SOURCES = tests/unit/portals_transfers.c
tests_unit_portals_transfers_CPPFLAGS = $(portals_job_cppflags) -DGASNET_SEQ
tests_unit_portals_transfers_LDADD = tests/unit/libportals_seq.a $(portals_job_libs)
tests_unit_portals_arrivals_SOURCES = tests/unit/portals_arrivals.c
tests_unit_portals_arrivals_CPPFLAGS = $(portals_job_cppflags) -DGASNET_SEQ
tests_unit_portals_arrivals_LDADD = tests/unit/libportals_seq.a $(portals_job_libs)
tests_unit_portals_queues_SOURCES = tests/unit/portals_queues.c
tests_unit_portals_queues_CPPFLAGS = $(portals_job_cppflags) -DGASNET_SEQ
tests_unit_portals_queues_LDADD = tests/unit/libportals_seq.a $(portals_job_libs)
check_PROGRAMS += tests/unit/portals_transfers_par tests/unit/portals_arrivals_par tests/unit/portals_queues_par
tests_unit_portals_transfers_par_SOURCES = tests/unit/portals_transfers.c
tests_unit_portals_transfers_par_CPPFLAGS = $(portals_job_cppflags) -DGASNET_PAR
tests_unit_portals_transfers_par_LDADD = tests/unit/libportals_par.a $(portals_job_libs)
tests_unit_portals_arrivals_par_SOURCES = tests/unit/portals_arrivals.c
tests_unit_portals_arrivals_par_CPPFLAGS = $(portals_job_cppflags) -DGASNET_PAR
tests_unit_portals_arrivals_par_LDADD = tests/unit/libportals_par.a $(portals_job_libs)
tests_unit_portals_queues_par_SOURCES = tests/unit/portals_queues.c
tests_unit_portals_queues_par_CPPFLAGS = $(portals_job_cppflags) -DGASNET_PAR
tests_unit_portals_queues_par_LDADD = tests/unit/libportals_par.a $(portals_job_libs)

# Fuzz targets: with the driver they are programs of their own. tests/fuzz/coverage.sh makes them with clang's engine
# instead, by FUZZ_LDFLAGS=-fsanitize=fuzzer and -DFUZZ_ENGINE.
EXTRA_DIST += tests/fuzz/coverage.sh tests/fuzz/seeds
fuzz_driver = tests/fuzz/driver.c tests/fuzz/fuzz.h
fuzz_programs = tests/fuzz/am_header tests/fuzz/collectives tests/fuzz/firehose tests/fuzz/handshake tests/fuzz/hosts tests/fuzz/internal_messages tests/fuzz/machine_code \
	tests/fuzz/messages tests/fuzz/param_values tests/fuzz/port_filter tests/fuzz/quoting tests/fuzz/softhca_faults \
	tests/fuzz/softhca_hosts tests/fuzz/softhca_inventory tests/fuzz/softhca_settings tests/fuzz/softhca_wire tests/fuzz/ssh_frames tests/fuzz/trace_line
check_PROGRAMS += $(fuzz_programs)
fuzz-programs: $(fuzz_programs)
phony += fuzz-programs
tests_fuzz_softhca_faults_SOURCES = tests/fuzz/softhca_faults.c $(softhca_pure) $(fuzz_driver)
tests_fuzz_softhca_faults_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_fuzz_softhca_faults_LDADD = other/base/libenv_table.la
tests_fuzz_softhca_inventory_SOURCES = tests/fuzz/softhca_inventory.c $(softhca_pure) $(fuzz_driver)
tests_fuzz_softhca_inventory_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_fuzz_softhca_inventory_LDADD = other/base/libenv_table.la
tests_fuzz_softhca_hosts_SOURCES = tests/fuzz/softhca_hosts.c other/softhca/src/settings/hosts.c $(fuzz_driver)
tests_fuzz_softhca_hosts_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_fuzz_softhca_wire_SOURCES = tests/fuzz/softhca_wire.c $(softhca_remote) $(softhca_greet) $(fuzz_driver)
tests_fuzz_softhca_wire_LDADD = other/base/libenv_table.la
tests_fuzz_softhca_settings_SOURCES = tests/fuzz/softhca_settings.c $(softhca_pure) $(fuzz_driver)
tests_fuzz_softhca_settings_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
tests_fuzz_softhca_settings_LDADD = other/base/libenv_table.la
tests_fuzz_firehose_SOURCES = tests/fuzz/firehose.c $(fuzz_driver)
tests_fuzz_firehose_LDADD = other/firehose/libfirehose.la
tests_fuzz_handshake_SOURCES = tests/fuzz/handshake.c $(handshake_sources) $(connect_payloads) $(fuzz_driver)
tests_fuzz_handshake_LDADD = other/base/libenv_table.la
tests_fuzz_am_header_SOURCES = tests/fuzz/am_header.c $(fuzz_driver)
tests_fuzz_am_header_LDADD = tests/unit/libscript.a
tests_fuzz_internal_messages_SOURCES = tests/fuzz/internal_messages.c tests/unit/no_trace.c tests/unit/toy/gasnet_conduit.h \
	extended-ref/handles.c extended-ref/records.c extended-ref/internal_am.c extended-ref/memset.c extended-ref/outstanding.c $(extended_by_am) \
	extended-ref/vis/packed.c extended-ref/vis/pieces.c extended-ref/vis/walk.c \
	extended-ref/ex/atomics.c extended-ref/ex/atomics_adapter.c extended-ref/ex/atomic_kernels.c \
	extended-ref/coll/arrivals.c extended-ref/coll/match.c $(fuzz_driver)
tests_fuzz_internal_messages_CPPFLAGS = $(tests_unit_reference_CPPFLAGS)
tests_fuzz_param_values_SOURCES = tests/fuzz/param_values.c $(fuzz_driver)
tests_fuzz_param_values_CPPFLAGS = $(unit_cppflags)
tests_fuzz_param_values_LDADD = $(unit_ldadd)
tests_fuzz_port_filter_SOURCES = tests/fuzz/port_filter.c core/ib/ports.c $(fuzz_driver)
tests_fuzz_hosts_SOURCES = tests/fuzz/hosts.c $(fuzz_driver)
tests_fuzz_hosts_LDADD = other/launch/liblauncher.la
tests_fuzz_quoting_SOURCES = tests/fuzz/quoting.c $(fuzz_driver)
tests_fuzz_quoting_LDADD = other/launch/liblauncher.la
tests_fuzz_ssh_frames_SOURCES = tests/fuzz/ssh_frames.c $(fuzz_driver)
tests_fuzz_ssh_frames_LDADD = other/launch/liblauncher.la
tests_fuzz_trace_line_SOURCES = tests/fuzz/trace_line.c $(fuzz_driver)
tests_fuzz_trace_line_LDADD = other/launch/liblauncher.la
tests_fuzz_messages_SOURCES = tests/fuzz/messages.c other/portals3/src/base/portals_wire.c other/connect/rdmacm/greeting.c extended-ref/vis/pieces.c \
	portals-conduit/long_id.c $(fuzz_driver)
tests_fuzz_messages_CPPFLAGS = $(unit_cppflags) -I$(top_srcdir)/other/portals3/include
tests_fuzz_collectives_SOURCES = tests/fuzz/collectives.c extended-ref/coll/match.c $(fuzz_driver)
tests_fuzz_collectives_CPPFLAGS = $(unit_cppflags)
tests_fuzz_machine_code_SOURCES = tests/fuzz/machine_code.c other/base/memory-events/lengths.c other/base/memory-events/mappings.c $(fuzz_driver)
tests_fuzz_machine_code_CPPFLAGS = $(AM_CPPFLAGS)
tests_fuzz_am_header_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_collectives_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_firehose_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_handshake_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_hosts_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_internal_messages_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_machine_code_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_messages_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_param_values_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_port_filter_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_quoting_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_softhca_faults_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_softhca_hosts_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_softhca_inventory_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_softhca_settings_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_softhca_wire_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_ssh_frames_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_trace_line_LDFLAGS = $(FUZZ_LDFLAGS)
