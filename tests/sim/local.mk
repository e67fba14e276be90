# tests/sim: whole jobs in virtual time, thousands of nodes in one process; TAP on stdout.  `make sim`
# runs a million schedules of each program.
check_LIBRARIES += tests/sim/libsim.a tests/sim/libjob.a tests/sim/libextended.a
EXTRA_DIST += tests/sim/run.sh tests/sim/extended/own.ld

tests_sim_libsim_a_SOURCES = tests/sim/sim.c tests/sim/sim.h tests/sim/schedule.c tests/sim/schedule.h

# The engine, compiled against lanes of the simulator, found by -Itests/sim/network.
sim_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/ibv-conduit -DGASNETC_PARAMS_DEF='"ibv-conduit/params.def"' \
	-I$(top_srcdir)/tests/sim/network $(DEBUG_DEFINE) -DGASNETI_NO_LINKCHECK -DGASNETI_PSHM=0 -DGASNET_SEQ
tests_sim_libjob_a_SOURCES = \
	core/am/am_deliver.c core/am/am_handlers.c core/am/am_send.c core/rdma/buffers.c core/rdma/firehose.c core/rdma/unmapped.c core/rdma/lease.c core/am/context.c core/progress/poll.c core/rdma/atomics.c core/rings/local_rings.c core/rdma/pieces.c core/rdma/published.c core/rdma/rdma.c core/rdma/remote_fast.c core/job/thread.c core/job/signal_stack.c \
	tests/unit/no_log.c tests/unit/no_shm.c tests/unit/no_trace.c tests/sim/job.c tests/sim/job.h tests/sim/network.c tests/sim/rings.c tests/sim/rings.h \
	tests/sim/network/network_sim.h core/rings/amrdma.h core/ib/amrdma_choice.h
tests_sim_libjob_a_CPPFLAGS = $(sim_cppflags)

# The Extended API as for networks with RDMA, but for the job's barrier, which goes by Active Messages.
tests_sim_libextended_a_SOURCES = $(extended_sources)
tests_sim_libextended_a_CPPFLAGS = $(sim_cppflags) -Dmalloc=sim_malloc -Dcalloc=sim_calloc -Daligned_alloc=sim_aligned_alloc -Dfree=sim_free

sim_programs = tests/sim/am tests/sim/barrier tests/sim/coll tests/sim/collectives tests/sim/exit tests/sim/firehose tests/sim/handshake tests/sim/lending
check_PROGRAMS += $(sim_programs)
tests_sim_am_SOURCES = tests/sim/am.c
tests_sim_am_CPPFLAGS = $(sim_cppflags)
tests_sim_am_LDADD = tests/sim/libjob.a tests/sim/libsim.a other/firehose/libfirehose.la other/base/libenv_table.la
tests_sim_barrier_SOURCES = tests/sim/barrier.c $(barrier_machine_sources) $(topology_sources)
tests_sim_barrier_LDADD = tests/sim/libsim.a
tests_sim_coll_SOURCES = tests/sim/coll.c $(coll_plan_sources) $(topology_sources)
tests_sim_coll_LDADD = tests/sim/libsim.a
tests_sim_collectives_SOURCES = tests/sim/collectives.c tests/sim/extended/collops.c tests/sim/extended/collops.h tests/sim/extended/extended.c tests/sim/extended/extended.h
tests_sim_collectives_CPPFLAGS = $(sim_cppflags)
tests_sim_collectives_LDADD = tests/sim/libextended.a tests/sim/libjob.a tests/sim/libsim.a other/firehose/libfirehose.la other/base/libenv_table.la
tests_sim_collectives_LDFLAGS = -Wl,-T,$(srcdir)/tests/sim/extended/own.ld
EXTRA_tests_sim_collectives_DEPENDENCIES = tests/sim/extended/own.ld
tests_sim_exit_SOURCES = tests/sim/exit.c core/exit/exit_protocol.c
tests_sim_exit_LDADD = tests/sim/libsim.a
tests_sim_firehose_SOURCES = tests/sim/firehose.c
tests_sim_firehose_LDADD = other/firehose/libfirehose.la tests/sim/libsim.a
tests_sim_handshake_SOURCES = tests/sim/handshake.c other/portals3/src/transport/connect_guard.c $(handshake_sources)
tests_sim_handshake_LDADD = tests/sim/libsim.a other/base/libenv_table.la -lm
tests_sim_lending_SOURCES = tests/sim/lending.c tests/sim/lending_engine.c tests/sim/lending_engine.h tests/sim/chart.c tests/sim/chart.h \
	portals-conduit/credits.c portals-conduit/lending.c portals-conduit/lending.h
tests_sim_lending_CPPFLAGS = $(portals_job_cppflags) -DGASNET_SEQ
tests_sim_lending_LDADD = tests/sim/libsim.a

phony += sim
sim: $(sim_programs)
	TEST_ROUNDS=$${TEST_ROUNDS:-1000000} top_builddir=$(abs_top_builddir) $(srcdir)/tests/sim/run.sh

# Pictures of credits over time, to look at: sim-report.html.
phony += sim-report
sim-report: tests/sim/lending
	TEST_REPORT=sim-report.html TEST_SEED=1 TEST_ROUNDS= tests/sim/lending
	@echo "sim-report.html is written"
