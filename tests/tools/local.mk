# tests/tools: the tools without and with threads; run by tests/tools/run.sh.
tools_test_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) $(DEBUG_DEFINE)
tools_test_par_cppflags = $(tools_test_cppflags) -DGASNETT_THREAD_SAFE -D_REENTRANT

check_PROGRAMS += tests/tools/utilities tests/tools/atomics-seq tests/tools/atomics-par \
  tests/tools/locks-seq tests/tools/locks-par tests/tools/messages tests/tools/inside \
  tests/tools/lite-seq tests/tools/lite-par
tests_tools_utilities_SOURCES = tests/tools/utilities.c
tests_tools_utilities_CPPFLAGS = $(tools_test_cppflags)
tests_tools_utilities_LDADD = tests/unit/libcheck.a libgasnet_tools-seq.la
tests_tools_atomics_seq_SOURCES = tests/tools/atomics.c
tests_tools_atomics_seq_CPPFLAGS = $(tools_test_cppflags)
tests_tools_atomics_seq_LDADD = tests/unit/libcheck.a libgasnet_tools-seq.la
tests_tools_atomics_par_SOURCES = tests/tools/atomics.c
tests_tools_atomics_par_CPPFLAGS = $(tools_test_par_cppflags)
tests_tools_atomics_par_LDADD = tests/unit/libcheck.a libgasnet_tools-par.la -lpthread
tests_tools_locks_seq_SOURCES = tests/tools/locks.c
tests_tools_locks_seq_CPPFLAGS = $(tools_test_cppflags)
tests_tools_locks_seq_LDADD = tests/unit/libcheck.a libgasnet_tools-seq.la
tests_tools_locks_par_SOURCES = tests/tools/locks.c
tests_tools_locks_par_CPPFLAGS = $(tools_test_par_cppflags)
tests_tools_locks_par_LDADD = tests/unit/libcheck.a libgasnet_tools-par.la -lpthread
tests_tools_messages_SOURCES = tests/tools/messages.c
tests_tools_messages_CPPFLAGS = $(tools_test_cppflags)
tests_tools_messages_LDADD = libgasnet_tools-seq.la
tests_tools_inside_SOURCES = tests/tools/inside.c
tests_tools_inside_CPPFLAGS = $(tools_test_cppflags)
tests_tools_inside_LDADD = tests/unit/libcheck.a other/base/libtools.la -lpthread
tests_tools_lite_seq_SOURCES = tests/tools/lite.c
tests_tools_lite_seq_CPPFLAGS = $(tools_test_cppflags)
tests_tools_lite_seq_LDADD = libgasnet_tools-seq.la
tests_tools_lite_par_SOURCES = tests/tools/lite.c
tests_tools_lite_par_CPPFLAGS = $(tools_test_cppflags)
tests_tools_lite_par_LDADD = libgasnet_tools-par.la

EXTRA_DIST += tests/tools/run.sh tests/tools/headers.sh tests/tools/names.sh tests/tools/header_client.c
