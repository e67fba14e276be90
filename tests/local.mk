# tests: client-level programs, once per threading mode, linked against the libraries of this build,
# and the scripts that run them.  `make check` runs everything; `make check-programs` only builds.
EXTRA_DIST += tests/tap.sh tests/check.sh tests/run-conduit.sh tests/exit.sh tests/env.sh \
	tests/hardship.sh tests/rails.sh tests/amrdma.sh tests/faults.sh tests/arrows.sh tests/sanitizers/run.sh tests/bench/count.sh \
	tests/bench/callgrind.sh tests/bench/threads.sh tests/bench/memory.sh tests/bench/times.sh \
	tests/softhca-hosts/run.sh tests/softhca-run/run.sh tests/flow/run.sh
EXTRA_DIST += tests/connect.sh

EXTRA_DIST += tests/params/run.sh tests/promises.sh ibv-conduit/PROMISES.md
.PHONY: check-programs bench
check-programs: $(check_PROGRAMS) $(check_LTLIBRARIES)
check-local:
	TEST_BUILD=$(abs_top_builddir) TEST_NO_BUILD=1 $(srcdir)/tests/check.sh
# A target missed is shown, and the next table follows.
bench: check-programs
	./gasnetrun_ibv -n 2 tests/bench/testlat-ibv-seq
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/count.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/threads.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/memory.sh
	-TEST_BUILD=$(abs_top_builddir) $(srcdir)/tests/bench/times.sh
	-SOFTHCA=on ./softhca_speed

# Real executables rather than libtool's wrapper scripts: the launcher looks for idents in them.
test_ldflags = -no-install
test_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/ibv-conduit $(DEBUG_DEFINE)
test_seq_cppflags = $(test_cppflags) -DGASNET_SEQ
test_par_cppflags = $(test_cppflags) -DGASNET_PAR -D_REENTRANT
test_seq_cflags = $(AM_CFLAGS)
test_par_cflags = $(AM_CFLAGS) -pthread
test_seq_libs = libgasnet-ibv-seq.la
test_par_libs = libgasnet-ibv-par.la -lpthread
test_support = tests/test.c tests/test.h tests/mpi_trap.c tests/mpi_trap.h

check_PROGRAMS += tests/noptrace
tests_noptrace_SOURCES = tests/noptrace.c

check_PROGRAMS += tests/testhello-ibv-seq tests/testhello-ibv-par
tests_testhello_ibv_seq_SOURCES = tests/testhello.c $(test_support)
tests_testhello_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testhello_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testhello_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testhello_ibv_seq_LDADD = $(test_seq_libs)
tests_testhello_ibv_par_SOURCES = tests/testhello.c $(test_support)
tests_testhello_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testhello_ibv_par_CFLAGS = $(test_par_cflags)
tests_testhello_ibv_par_LDFLAGS = $(test_ldflags)
tests_testhello_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testconnect-ibv-seq tests/testconnect-ibv-par
tests_testconnect_ibv_seq_SOURCES = tests/testconnect.c $(test_support)
tests_testconnect_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testconnect_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testconnect_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testconnect_ibv_seq_LDADD = $(test_seq_libs) -ldl
tests_testconnect_ibv_par_SOURCES = tests/testconnect.c $(test_support)
tests_testconnect_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testconnect_ibv_par_CFLAGS = $(test_par_cflags)
tests_testconnect_ibv_par_LDFLAGS = $(test_ldflags)
tests_testconnect_ibv_par_LDADD = $(test_par_libs) -ldl

check_PROGRAMS += tests/teststart-ibv-seq
tests_teststart_ibv_seq_SOURCES = tests/teststart.c $(test_support)
tests_teststart_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_teststart_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_teststart_ibv_seq_LDFLAGS = $(test_ldflags)
tests_teststart_ibv_seq_LDADD = $(test_seq_libs)

check_PROGRAMS += tests/testenv-ibv-seq tests/testenv-ibv-par
tests_testenv_ibv_seq_SOURCES = tests/testenv.c $(test_support)
tests_testenv_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testenv_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testenv_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testenv_ibv_seq_LDADD = $(test_seq_libs)
tests_testenv_ibv_par_SOURCES = tests/testenv.c $(test_support)
tests_testenv_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testenv_ibv_par_CFLAGS = $(test_par_cflags)
tests_testenv_ibv_par_LDFLAGS = $(test_ldflags)
tests_testenv_ibv_par_LDADD = $(test_par_libs)

EXTRA_DIST += tests/stats.sh
check_PROGRAMS += tests/teststats-ibv-seq tests/teststats-ibv-par
tests_teststats_ibv_seq_SOURCES = tests/teststats.c
tests_teststats_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_teststats_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_teststats_ibv_seq_LDFLAGS = $(test_ldflags)
tests_teststats_ibv_seq_LDADD = $(test_seq_libs)
tests_teststats_ibv_par_SOURCES = tests/teststats.c
tests_teststats_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_teststats_ibv_par_CFLAGS = $(test_par_cflags)
tests_teststats_ibv_par_LDFLAGS = $(test_ldflags)
tests_teststats_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testam-ibv-seq tests/testam-ibv-par
tests_testam_ibv_seq_SOURCES = tests/testam.c tests/am_args.h $(test_support)
tests_testam_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testam_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testam_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testam_ibv_seq_LDADD = $(test_seq_libs)
tests_testam_ibv_par_SOURCES = tests/testam.c tests/am_args.h $(test_support)
tests_testam_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testam_ibv_par_CFLAGS = $(test_par_cflags)
tests_testam_ibv_par_LDFLAGS = $(test_ldflags)
tests_testam_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testamsize-ibv-seq tests/testamsize-ibv-par
tests_testamsize_ibv_seq_SOURCES = tests/testamsize.c $(test_support)
tests_testamsize_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testamsize_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testamsize_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testamsize_ibv_seq_LDADD = $(test_seq_libs)
tests_testamsize_ibv_par_SOURCES = tests/testamsize.c $(test_support)
tests_testamsize_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testamsize_ibv_par_CFLAGS = $(test_par_cflags)
tests_testamsize_ibv_par_LDFLAGS = $(test_ldflags)
tests_testamsize_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testamflood-ibv-seq tests/testamflood-ibv-par
tests_testamflood_ibv_seq_SOURCES = tests/testamflood.c $(test_support)
tests_testamflood_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testamflood_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testamflood_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testamflood_ibv_seq_LDADD = $(test_seq_libs)
tests_testamflood_ibv_par_SOURCES = tests/testamflood.c $(test_support)
tests_testamflood_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testamflood_ibv_par_CFLAGS = $(test_par_cflags)
tests_testamflood_ibv_par_LDFLAGS = $(test_ldflags)
tests_testamflood_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testflow-ibv-seq tests/testflow-ibv-par
tests_testflow_ibv_seq_SOURCES = tests/testflow.c
tests_testflow_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testflow_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testflow_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testflow_ibv_seq_LDADD = $(test_seq_libs)
tests_testflow_ibv_par_SOURCES = tests/testflow.c
tests_testflow_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testflow_ibv_par_CFLAGS = $(test_par_cflags)
tests_testflow_ibv_par_LDFLAGS = $(test_ldflags)
tests_testflow_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testputget-ibv-seq tests/testputget-ibv-par
tests_testputget_ibv_seq_SOURCES = tests/testputget.c $(test_support)
tests_testputget_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testputget_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testputget_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testputget_ibv_seq_LDADD = $(test_seq_libs)
tests_testputget_ibv_par_SOURCES = tests/testputget.c $(test_support)
tests_testputget_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testputget_ibv_par_CFLAGS = $(test_par_cflags)
tests_testputget_ibv_par_LDFLAGS = $(test_ldflags)
tests_testputget_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testhandles-ibv-seq tests/testhandles-ibv-par
tests_testhandles_ibv_seq_SOURCES = tests/testhandles.c $(test_support)
tests_testhandles_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testhandles_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testhandles_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testhandles_ibv_seq_LDADD = $(test_seq_libs)
tests_testhandles_ibv_par_SOURCES = tests/testhandles.c $(test_support)
tests_testhandles_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testhandles_ibv_par_CFLAGS = $(test_par_cflags)
tests_testhandles_ibv_par_LDFLAGS = $(test_ldflags)
tests_testhandles_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testvalue-ibv-seq tests/testvalue-ibv-par
tests_testvalue_ibv_seq_SOURCES = tests/testvalue.c $(test_support)
tests_testvalue_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testvalue_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testvalue_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testvalue_ibv_seq_LDADD = $(test_seq_libs)
tests_testvalue_ibv_par_SOURCES = tests/testvalue.c $(test_support)
tests_testvalue_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testvalue_ibv_par_CFLAGS = $(test_par_cflags)
tests_testvalue_ibv_par_LDFLAGS = $(test_ldflags)
tests_testvalue_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testsync-ibv-seq tests/testsync-ibv-par
tests_testsync_ibv_seq_SOURCES = tests/testsync.c tests/synchronisation_rows.h $(test_support)
tests_testsync_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testsync_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testsync_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testsync_ibv_seq_LDADD = $(test_seq_libs)
tests_testsync_ibv_par_SOURCES = tests/testsync.c tests/synchronisation_rows.h $(test_support)
tests_testsync_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testsync_ibv_par_CFLAGS = $(test_par_cflags)
tests_testsync_ibv_par_LDFLAGS = $(test_ldflags)
tests_testsync_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testbarrier-ibv-seq tests/testbarrier-ibv-par
tests_testbarrier_ibv_seq_SOURCES = tests/testbarrier.c $(test_support)
tests_testbarrier_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testbarrier_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testbarrier_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testbarrier_ibv_seq_LDADD = $(test_seq_libs)
tests_testbarrier_ibv_par_SOURCES = tests/testbarrier.c $(test_support)
tests_testbarrier_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testbarrier_ibv_par_CFLAGS = $(test_par_cflags)
tests_testbarrier_ibv_par_LDFLAGS = $(test_ldflags)
tests_testbarrier_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testlock-ibv-seq tests/testlock-ibv-par
tests_testlock_ibv_seq_SOURCES = tests/testlock.c $(test_support)
tests_testlock_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testlock_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testlock_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testlock_ibv_seq_LDADD = $(test_seq_libs)
tests_testlock_ibv_par_SOURCES = tests/testlock.c $(test_support)
tests_testlock_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testlock_ibv_par_CFLAGS = $(test_par_cflags)
tests_testlock_ibv_par_LDFLAGS = $(test_ldflags)
tests_testlock_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testthreads-ibv-par
tests_testthreads_ibv_par_SOURCES = tests/testthreads.c $(test_support)
tests_testthreads_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testthreads_ibv_par_CFLAGS = $(test_par_cflags)
tests_testthreads_ibv_par_LDFLAGS = $(test_ldflags)
tests_testthreads_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testrcvthread-ibv-par
tests_testrcvthread_ibv_par_SOURCES = tests/testrcvthread.c $(test_support)
tests_testrcvthread_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testrcvthread_ibv_par_CFLAGS = $(test_par_cflags)
tests_testrcvthread_ibv_par_LDFLAGS = $(test_ldflags)
tests_testrcvthread_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/testexit-ibv-seq tests/testexit-ibv-par
tests_testexit_ibv_seq_SOURCES = tests/testexit.c $(test_support)
tests_testexit_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_testexit_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testexit_ibv_seq_LDFLAGS = $(test_ldflags)
tests_testexit_ibv_seq_LDADD = $(test_seq_libs)
tests_testexit_ibv_par_SOURCES = tests/testexit.c $(test_support)
tests_testexit_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_testexit_ibv_par_CFLAGS = $(test_par_cflags)
tests_testexit_ibv_par_LDFLAGS = $(test_ldflags)
tests_testexit_ibv_par_LDADD = $(test_par_libs)

# What parameters do, seen from where the device is called: the program's symbols come first.
check_PROGRAMS += tests/params/probe-ibv-seq tests/params/probe-ibv-par
probe_sources = tests/params/probe.c tests/params/spy.c tests/params/spy.h $(test_support)
tests_params_probe_ibv_seq_SOURCES = $(probe_sources)
tests_params_probe_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_params_probe_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_params_probe_ibv_seq_LDFLAGS = $(test_ldflags) -export-dynamic
tests_params_probe_ibv_seq_LDADD = $(test_seq_libs) -ldl
tests_params_probe_ibv_par_SOURCES = $(probe_sources)
tests_params_probe_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_params_probe_ibv_par_CFLAGS = $(test_par_cflags)
tests_params_probe_ibv_par_LDFLAGS = $(test_ldflags) -export-dynamic
tests_params_probe_ibv_par_LDADD = $(test_par_libs) -ldl

check_PROGRAMS += tests/bench/testlat-ibv-seq tests/bench/testlat-ibv-par
tests_bench_testlat_ibv_seq_SOURCES = tests/bench/testlat.c $(test_support)
tests_bench_testlat_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_bench_testlat_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_bench_testlat_ibv_seq_LDFLAGS = $(test_ldflags)
tests_bench_testlat_ibv_seq_LDADD = $(test_seq_libs)
tests_bench_testlat_ibv_par_SOURCES = tests/bench/testlat.c $(test_support)
tests_bench_testlat_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_bench_testlat_ibv_par_CFLAGS = $(test_par_cflags)
tests_bench_testlat_ibv_par_LDFLAGS = $(test_ldflags)
tests_bench_testlat_ibv_par_LDADD = $(test_par_libs)

check_PROGRAMS += tests/bench/memory-ibv-seq
tests_bench_memory_ibv_seq_SOURCES = tests/bench/memory.c $(test_support)
tests_bench_memory_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_bench_memory_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_bench_memory_ibv_seq_LDFLAGS = $(test_ldflags)
tests_bench_memory_ibv_seq_LDADD = $(test_seq_libs) $(VERBS_LIBS) -ldl

check_PROGRAMS += tests/bench/count-ibv-seq tests/bench/count-ibv-par
tests_bench_count_ibv_seq_SOURCES = tests/bench/count.c $(test_support)
tests_bench_count_ibv_seq_CPPFLAGS = $(test_seq_cppflags)
tests_bench_count_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_bench_count_ibv_seq_LDFLAGS = $(test_ldflags)
tests_bench_count_ibv_seq_LDADD = $(test_seq_libs)
tests_bench_count_ibv_par_SOURCES = tests/bench/count.c $(test_support)
tests_bench_count_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_bench_count_ibv_par_CFLAGS = $(test_par_cflags)
tests_bench_count_ibv_par_LDFLAGS = $(test_ldflags)
tests_bench_count_ibv_par_LDADD = $(test_par_libs)

# The library with the portable reference instead of RDMA, which takes the other's place in programs
# that are linked already: tests/reference/run.sh.  -rpath makes it a shared one.
check_LTLIBRARIES += tests/reference/libgasnet-ibv-seq.la tests/reference/libgasnet-ibv-par.la
EXTRA_DIST += tests/reference/run.sh
reference_ldflags = $(ibv_ldflags) -rpath $(abs_top_builddir)/tests/reference
tests_reference_libgasnet_ibv_seq_la_SOURCES = $(extended_sources) $(extended_by_am)
tests_reference_libgasnet_ibv_seq_la_CPPFLAGS = $(ibv_cppflags) -DGASNET_SEQ -DGASNETE_BY_AM
tests_reference_libgasnet_ibv_seq_la_LIBADD = ibv-conduit/libcore-seq.la $(ibv_libadd)
tests_reference_libgasnet_ibv_seq_la_LDFLAGS = $(reference_ldflags)
tests_reference_libgasnet_ibv_par_la_SOURCES = $(extended_sources) $(extended_by_am)
tests_reference_libgasnet_ibv_par_la_CPPFLAGS = $(ibv_cppflags) -DGASNET_PAR -DGASNETE_BY_AM
tests_reference_libgasnet_ibv_par_la_LIBADD = ibv-conduit/libcore-par.la $(ibv_libadd)
tests_reference_libgasnet_ibv_par_la_LDFLAGS = $(reference_ldflags)

check_PROGRAMS += tests/bench/threads-ibv-par
tests_bench_threads_ibv_par_SOURCES = tests/bench/threads.c $(test_support)
tests_bench_threads_ibv_par_CPPFLAGS = $(test_par_cppflags)
tests_bench_threads_ibv_par_CFLAGS = $(test_par_cflags)
tests_bench_threads_ibv_par_LDFLAGS = $(test_ldflags)
tests_bench_threads_ibv_par_LDADD = $(test_par_libs)

# Looks into the network, and so is linked with the static library.
check_PROGRAMS += tests/testamrdma-ibv-seq tests/testamrdma-ibv-par
testamrdma_cppflags = -I$(top_srcdir)/core/ib -I$(top_srcdir)/ibv-conduit -DNET_IB_HCAS=$(IBV_HCAS) -DGASNETI_NO_LINKCHECK
tests_testamrdma_ibv_seq_SOURCES = tests/testamrdma.c $(test_support)
tests_testamrdma_ibv_seq_CPPFLAGS = $(test_seq_cppflags) $(testamrdma_cppflags)
tests_testamrdma_ibv_seq_CFLAGS = $(test_seq_cflags)
tests_testamrdma_ibv_seq_LDFLAGS = -static
tests_testamrdma_ibv_seq_LDADD = $(test_seq_libs)
tests_testamrdma_ibv_par_SOURCES = tests/testamrdma.c $(test_support)
tests_testamrdma_ibv_par_CPPFLAGS = $(test_par_cppflags) $(testamrdma_cppflags)
tests_testamrdma_ibv_par_CFLAGS = $(test_par_cflags)
tests_testamrdma_ibv_par_LDFLAGS = -static
tests_testamrdma_ibv_par_LDADD = $(test_par_libs)
