# other/tools: portability tools.  libtools.la is absorbed by every conduit's library and is the same
# for all thread modes; libgasnet_tools-seq and -par are for programs without a network.
tools_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) $(DEBUG_DEFINE)

noinst_LTLIBRARIES += other/tools/libtools.la
other_tools_libtools_la_SOURCES = other/tools/tools.h other/tools/hooks.c \
  other/tools/decode.c other/tools/env.c other/tools/env_report.c \
  other/tools/timer.c other/tools/system.c other/tools/signals.c other/tools/bytes.c \
  other/tools/fatal.c other/tools/backtrace.c other/tools/linkcheck_lite.c \
  other/tools/descriptors.h other/tools/descriptors.c other/tools/verbs_fork.h other/tools/hot.h other/tools/memcheck.h other/tools/fnv.h other/tools/clock.h other/tools/min.h other/tools/quiet_thread.h other/tools/uncancelled.h other/tools/hex.h other/tools/printed.h \
  other/tools/patience.h other/tools/patience.c other/tools/ranges.h other/tools/ranges.c
other_tools_libtools_la_CPPFLAGS = $(tools_cppflags)
other_tools_libtools_la_LIBADD = other/tools/libenv_table.la

# Without a public name, and pure but for memory_limits.c: absorbed by libsofthca, libportals and the launchers as well.
noinst_LTLIBRARIES += other/tools/libenv_table.la
other_tools_libenv_table_la_SOURCES = other/tools/env_table.h other/tools/environment.h other/tools/env_table.c \
  other/tools/edit_distance.h other/tools/numbers.h other/tools/numbers.c \
  other/tools/memory_limits.h other/tools/memory_limits.c other/tools/sha256.h other/tools/sha256.c \
  other/tools/mutual_proof.h other/tools/mutual_proof.c

lib_LTLIBRARIES += libgasnet_tools-seq.la libgasnet_tools-par.la
libgasnet_tools_seq_la_SOURCES = other/tools/linkcheck.c
libgasnet_tools_seq_la_CPPFLAGS = $(tools_cppflags)
libgasnet_tools_seq_la_LIBADD = other/tools/libtools.la -lpthread
libgasnet_tools_par_la_SOURCES = other/tools/linkcheck.c
libgasnet_tools_par_la_CPPFLAGS = $(tools_cppflags) -DGASNETT_THREAD_SAFE
libgasnet_tools_par_la_LIBADD = other/tools/libtools.la -lpthread
EXTRA_DIST += other/tools/def_table.sh other/tools/env_table.sh
include tests/tools/local.mk
