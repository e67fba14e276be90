# extended-ref: the Extended API over the core.  Each conduit library lists extended_sources, once per
# threading mode, and with them the transport of puts and gets: extended_by_rdma; or, with -DGASNETE_BY_AM,
# extended_by_am, which needs no more than the Core API; and extended_start, which needs the start of the core.
nobase_dist_doc_DATA += extended-ref/coll/plans/README.md
coll_plan_sources = \
	extended-ref/coll/plans/plan.c extended-ref/coll/plans/plan.h \
	extended-ref/coll/plans/plan_blocks.c \
	extended-ref/coll/plans/plan_bruck.c \
	extended-ref/coll/plans/plan_choose.c extended-ref/coll/plans/plan_choose.h \
	extended-ref/coll/plans/plan_dissemination.c \
	extended-ref/coll/plans/plan_levels.c \
	extended-ref/coll/plans/plan_pairwise.c \
	extended-ref/coll/plans/plan_parts.h \
	extended-ref/coll/plans/plan_reduce.c \
	extended-ref/coll/plans/plan_reduce_all.c \
	extended-ref/coll/plans/plan_reduce_pairs.c \
	extended-ref/coll/plans/plan_reduce_pieces.c \
	extended-ref/coll/plans/plan_stages.c \
	extended-ref/coll/plans/plan_steps.h \
	extended-ref/coll/plans/plan_tree.c
topology_sources = extended-ref/topology.c extended-ref/topology.h
barrier_machine_sources = \
	extended-ref/barrier/machine.c extended-ref/barrier/machine.h \
	extended-ref/barrier/words.h
extended_sources = \
	extended-ref/attach.c \
	extended-ref/barrier/barrier.c extended-ref/barrier/barrier.h \
	extended-ref/barrier/calls.c extended-ref/barrier/teams.c \
	$(barrier_machine_sources) \
	extended-ref/checks.c extended-ref/waits.c \
	$(coll_plan_sources) \
	extended-ref/coll/arrivals.c \
	extended-ref/coll/calls.c extended-ref/coll/scan.c \
	extended-ref/coll/checks.c \
	extended-ref/coll/handles.c \
	extended-ref/coll/images.c extended-ref/coll/reduce.c \
	extended-ref/coll/init.c \
	extended-ref/coll/match.c extended-ref/coll/match.h \
	extended-ref/coll/messages.c extended-ref/coll/messages.h \
	extended-ref/coll/op.c extended-ref/coll/op.h \
	extended-ref/coll/schedule.c extended-ref/coll/schedule.h \
	extended-ref/coll/team.c extended-ref/coll/team.h \
	extended-ref/diagnostics.c \
	extended-ref/ex/atomics.c extended-ref/ex/atomics_adapter.c extended-ref/ex/atomics.h extended-ref/ex/atomic_kernels.c \
	extended-ref/ex/collectives.c extended-ref/ex/kernels.c extended-ref/ex/memory_kinds.c extended-ref/ex/kernels.h \
	extended-ref/ex/events.c extended-ref/ex/messages.c extended-ref/ex/negotiated.h \
	extended-ref/ex/endpoints.c extended-ref/ex/objects.c extended-ref/ex/objects.h extended-ref/ex/puts.c extended-ref/ex/system.c extended-ref/ex/teams.c \
	extended-ref/handles.c extended-ref/handles.h \
	extended-ref/records.c extended-ref/records.h \
	extended-ref/internal_am.c extended-ref/internal_am.h \
	extended-ref/memset.c \
	extended-ref/outstanding.c extended-ref/outstanding.h \
	extended-ref/shm_traced.c extended-ref/shm_transfer.h \
	extended-ref/progress.h \
	extended-ref/putget.c \
	extended-ref/teams/split.c extended-ref/teams/split_order.c extended-ref/teams/split_order.h \
	extended-ref/teams/tuning.c extended-ref/teams/tuning_text.c extended-ref/teams/tuning_text.h \
	$(topology_sources) \
	extended-ref/transfer.h \
	extended-ref/value.c \
	extended-ref/vis/choose.h extended-ref/vis/format.c \
	extended-ref/vis/at_peer.c extended-ref/vis/packed.c \
	extended-ref/vis/pieces.c extended-ref/vis/pieces.h \
	extended-ref/vis/runs.c extended-ref/vis/vis.c extended-ref/vis/vis.h \
	extended-ref/vis/walk.c extended-ref/vis/walk.h
extended_start = extended-ref/ex/start.c
extended_by_rdma = extended-ref/barrier/puts.c
extended_by_am = extended-ref/transfer_am.h extended-ref/transfer_am.c

check_PROGRAMS += tests/unit/extended_barrier
tests_unit_extended_barrier_SOURCES = tests/unit/extended_barrier.c $(barrier_machine_sources) $(topology_sources)
tests_unit_extended_barrier_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/barrier_images
tests_unit_barrier_images_SOURCES = tests/unit/barrier_images.c tests/unit/no_trace.c extended-ref/barrier/calls.c extended-ref/barrier/barrier.h \
	$(barrier_machine_sources)
tests_unit_barrier_images_CPPFLAGS = $(unit_cppflags)
tests_unit_barrier_images_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/coll_teams
tests_unit_coll_teams_SOURCES = tests/unit/coll_teams.c \
	extended-ref/teams/split_order.c extended-ref/teams/split_order.h \
	extended-ref/teams/tuning_text.c extended-ref/teams/tuning_text.h $(coll_plan_sources)
tests_unit_coll_teams_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/coll_schedule
tests_unit_coll_schedule_SOURCES = tests/unit/coll_schedule.c tests/unit/no_log.c extended-ref/coll/schedule.c extended-ref/coll/schedule.h $(coll_plan_sources)
tests_unit_coll_schedule_CPPFLAGS = $(unit_cppflags)
tests_unit_coll_schedule_LDADD = tests/unit/libcheck.a
check_PROGRAMS += tests/unit/coll_match
tests_unit_coll_match_SOURCES = tests/unit/coll_match.c extended-ref/coll/match.c extended-ref/coll/match.h
tests_unit_coll_match_CPPFLAGS = $(unit_cppflags)
tests_unit_coll_match_LDADD = tests/unit/libcheck.a
