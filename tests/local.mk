# tests: client-level programs, once per threading mode, linked against the libraries of this build,
# and the scripts that run them.  `make check` runs everything; `make check-programs` only builds.
EXTRA_DIST += tests/README.md tests/variant.sh \
	tests/arrows.sh tests/headers.sh tests/promises.sh tests/am/flow.sh \
	tests/builds/debug.sh tests/builds/reference.sh tests/builds/sanitizers.sh tests/builds/segments.sh tests/clients/run.sh tests/clients/names.sh tests/clients/sanitized.sh \
	tests/clients/examples.sh tests/coll/run.sh tests/ex/module.sh tests/ex/stops.sh tests/ex/host.c tests/wrong/atomics.sh tests/wrong/collective.sh tests/wrong/endpoints.sh tests/wrong/ex_teams.sh tests/wrong/forged.sh tests/wrong/messages.sh \
	tests/exit/crowd.sh tests/faults/faults.py tests/exit/exit.py tests/exit/rounds.py tests/exit/files.sh tests/exit/qualify.sh tests/exit/signals.sh tests/qualify.sh \
	tests/ib/amrdma.sh tests/ib/rings.sh tests/job/shm_messages.sh tests/ib/connect.sh tests/ib/faults.sh tests/ib/firmware.sh tests/ib/peers.sh tests/ib/rails.sh tests/ib/rdmacm.sh \
	tests/ib/srq.sh tests/ib/rnr_once.c tests/ib/torn.sh tests/ib/unmapped.sh tests/job/hardship.sh tests/job/log.sh tests/job/many.sh tests/job/pshm.sh tests/job/words.sh tests/legal/run.sh \
	tests/params/run.sh tests/params/rows.sh tests/params/defaults.sh tests/params/documents.table tests/install/configure.sh tests/install/deb.sh tests/portals/run.sh tests/programs/matrix.table \
	tests/programs/programs.table tests/programs/run-conduit.sh tests/programs/unprivileged.sh tests/progress/rcvthread.sh \
	tests/spawner/env.sh tests/spawner/forked.sh tests/spawner/hosts.sh tests/stats/ready.h tests/stats/running.sh tests/stats/stats.sh tests/stats/why.sh tests/trace/browser.py tests/trace/counts.py tests/trace/trace.sh tests/trace/report.py tests/trace/traces.py tests/wrong/run.sh tests/wrong/teams.sh tests/wrong/cases.sh tests/wrong/cases.h tests/stats/starting.sh tests/stats/terminal.py tests/stats/pictures.py tests/stats/top.sh \
	tests/bench/count.sh tests/bench/layer.sh tests/bench/threads.sh tests/bench/memory.sh \
	tests/bench/portals.sh tests/bench/collectives.sh tests/bench/coll_times_mpi.c tests/bench/crowd.sh tests/bench/tracing.sh tests/bench/neighbours.sh tests/bench/times.sh tests/bench/locked.sh tests/bench/portals_limits.sh \
	tests/bench/firehose.sh tests/bench/outside.sh tests/bench/segments.sh tests/bench/trace_ucx.c tests/bench/vis.sh tests/bench/counters.sh tests/vis/ways.sh
EXTRA_DIST += tests/mutate/mutate.py tests/mutate/mutations.py tests/mutate/suites.py tests/mutate/tree.py tests/mutate/verdicts.txt
EXTRA_DIST += tests/clients/fragments.sh tests/clients/names.table tests/clients/hello.c tests/clients/tools.c tests/clients/names.c tests/clients/handlers.c \
	tests/exit/files/cout.cc tests/exit/files/profile.c tests/exit/files/unit.c tests/exit/files/unit.f90 \
	tests/clients/calls.c tests/clients/threads.c tests/clients/wild.c tests/clients/with_mpi.c tests/clients/mpi/mpi.h

EXTRA_DIST += tests/sim/network/conduit_network.h tests/unit/script/conduit_network.h ibv-conduit/PROMISES.md vapi-conduit/PROMISES.md portals-conduit/PROMISES.md
EXTRA_DIST += tests/vm/README.md tests/vm/run.sh tests/vm/build.sh tests/vm/packages.sh tests/vm/siw.sh tests/vm/init.sh tests/vm/setup.sh \
	tests/vm/guest.sh tests/vm/pair.sh tests/vm/remote.c tests/vm/tsc.c tests/vm/lists/common.sh tests/vm/lists/one.sh tests/vm/lists/iwarp.sh \
	tests/vm/lists/pair.sh tests/vm/lists/broken.sh
phony += qualify bench soak mutate check-vm
# One-line changes of the product, each judged by the tests of its folder; MUTATE="--seed 7 --count 200".
mutate:
	mkdir -p mutate && PYTHONDONTWRITEBYTECODE=1 python3 $(srcdir)/tests/mutate/mutate.py $(MUTATE)
# On the kernel's soft RoCE and soft iWARP, in guests.
check-vm: check-programs
	TEST_BUILD=$(abs_top_builddir) VM_LIST=full $(srcdir)/tests/vm/run.sh
# Whether this machine is fit for jobs, in a minute or two: what its users may rely on, by jobs on its hosts.
qualify: all
	for c in $${QUALIFY_CONDUITS:-$(CONDUITS)}; do for m in seq par; do \
	    $(MAKE) $(AM_MAKEFLAGS) tests/testam-$$c-$$m tests/testexit-$$c-$$m || exit; done; done
	TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/qualify.sh
# A target missed is shown, and the next table follows.
bench: check-programs
	./gasnetrun_ibv -n 2 tests/bench/testlat-ibv-seq
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/count.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/other/vapi/tests/bench.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/layer.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/portals.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/threads.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/memory.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/vis.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/collectives.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/times.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/crowd.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/tracing.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/neighbours.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/firehose.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/outside.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/segments.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/other/dapl/tests/bench.sh
	-SOFTHCA=on ./softhca_speed

# Every exit in every peer state, everywhere, and thousands of random rounds; each fault of each call; the races of other/dapl, and
# ten million events.
soak: check-programs
	TEST_BUILD=$(abs_top_builddir) TEST_FULL=1 TEST_ROUNDS=$${TEST_ROUNDS:-5000} $(srcdir)/tests/exit/exit.py
	TEST_BUILD=$(abs_top_builddir) TEST_FULL=1 $(srcdir)/tests/faults/faults.py
	if [ -x other/dapl/tests/races ]; then TEST_ROUNDS=20 other/dapl/tests/races && TEST_ROUNDS=20 other/dapl/tests/races_life; fi
	if [ -x other/dapl/tests/once ]; then TEST_EVENTS=10000000 other/dapl/tests/once; fi

# The client-level programs: a table, and what they share.
test_par_defines = -D_REENTRANT
test_parsync_defines = $(test_par_defines)
test_seq_cflags = $(AM_CFLAGS)
test_parsync_cflags = $(AM_CFLAGS)
test_par_cflags = $(AM_CFLAGS) -pthread
test_par_libs = -lpthread
test_support = tests/programs/test.c tests/programs/test.h tests/programs/mpi_trap.c tests/programs/mpi_trap.h

check_PROGRAMS += tests/noptrace tests/bench/firehose
tests_bench_firehose_SOURCES = tests/bench/firehose.c
tests_bench_firehose_LDADD = other/firehose/libfirehose.la
tests_noptrace_SOURCES = tests/job/noptrace.c

# Loaded first, lets one call of the C library fail: tests/faults/faults.py.
check_LTLIBRARIES += tests/faults/libinterpose.la
tests_faults_libinterpose_la_SOURCES = tests/faults/interpose.c
tests_faults_libinterpose_la_CPPFLAGS = -D_GNU_SOURCE
tests_faults_libinterpose_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_faults_libinterpose_la_LDFLAGS = -module -avoid-version -rpath $(abs_top_builddir)/tests/faults

if CONDUIT_IBV
# The library with the portable reference instead of RDMA, which takes the other's place in programs
# that are linked already: tests/builds/reference.sh.  -rpath makes it a shared one.
check_LTLIBRARIES += tests/reference/libgasnet-ibv-seq.la tests/reference/libgasnet-ibv-par.la
reference_ldflags = $(conduit_ldflags) -Wl,-rpath,$(abs_top_builddir)/.libs -rpath $(abs_top_builddir)/tests/reference
tests_reference_libgasnet_ibv_seq_la_SOURCES = $(extended_sources) $(extended_start) $(extended_by_am)
tests_reference_libgasnet_ibv_seq_la_CPPFLAGS = $(ibv_conduit_cppflags) -DGASNET_SEQ -DGASNETE_BY_AM
tests_reference_libgasnet_ibv_seq_la_LIBADD = ibv-conduit/libcore-seq.la $(ibv_conduit_libadd)
tests_reference_libgasnet_ibv_seq_la_LDFLAGS = $(reference_ldflags)
tests_reference_libgasnet_ibv_par_la_SOURCES = $(extended_sources) $(extended_start) $(extended_by_am)
tests_reference_libgasnet_ibv_par_la_CPPFLAGS = $(ibv_conduit_cppflags) -DGASNET_PAR -DGASNETE_BY_AM
tests_reference_libgasnet_ibv_par_la_LIBADD = ibv-conduit/libcore-par.la $(ibv_conduit_libadd)
tests_reference_libgasnet_ibv_par_la_LDFLAGS = $(reference_ldflags)
endif
