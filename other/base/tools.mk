# The portability tools of GASNet.  libtools.la is absorbed by every conduit's library and is the same for all thread
# modes; libgasnet_tools-seq and -par are for programs without a network.
tools_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) $(DEBUG_DEFINE)

noinst_LTLIBRARIES += other/base/libtools.la
other_base_libtools_la_SOURCES = other/base/tools.h other/base/hooks.c \
  other/base/decode.c other/base/env.c other/base/env_report.c \
  other/base/timer.c other/base/trace_lines.c other/base/system.c other/base/signals.c other/base/bytes.c \
  other/base/fatal.c other/base/backtrace.c other/base/linkcheck_lite.c \
  other/base/descriptors.h other/base/descriptors.c other/base/verbs_fork.h other/base/hot.h other/base/spin.h other/base/futex.h other/base/memcheck.h other/base/fnv.h other/base/clock.h other/base/min.h other/base/quiet_thread.h other/base/uncancelled.h other/base/hex.h other/base/printed.h \
  other/base/patience.h other/base/patience.c other/base/ranges.h other/base/ranges.c \
  other/base/stacks.h other/base/stacks.c other/base/symbols.h other/base/symbols.c
other_base_libtools_la_CPPFLAGS = $(tools_cppflags)
other_base_libtools_la_LIBADD = other/base/libenv_table.la

lib_LTLIBRARIES += libgasnet_tools-seq.la libgasnet_tools-par.la
libgasnet_tools_seq_la_SOURCES = other/base/linkcheck.c
libgasnet_tools_seq_la_CPPFLAGS = $(tools_cppflags)
libgasnet_tools_seq_la_LDFLAGS = -version-info $(LIBRARY_VERSION)
libgasnet_tools_seq_la_LIBADD = other/base/libtools.la -lpthread
libgasnet_tools_par_la_SOURCES = other/base/linkcheck.c
libgasnet_tools_par_la_CPPFLAGS = $(tools_cppflags) -DGASNETT_THREAD_SAFE
libgasnet_tools_par_la_LDFLAGS = -version-info $(LIBRARY_VERSION)
libgasnet_tools_par_la_LIBADD = other/base/libtools.la -lpthread
