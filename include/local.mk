# include: the headers that clients include. The private ones are installed in the same folder.
GASNET_INCLUDES = -I$(top_srcdir)/include -I$(top_builddir)/include

include_HEADERS += \
  include/gasnet.h include/gasnetex.h include/gasnet_fwd.h include/gasnet_ex_objects.h include/gasnet_am_calls.h include/gasnet_ex_am.h \
  include/gasnet_ex_rma.h include/gasnet_ex_coll.h include/gasnet_barrier.h include/gasnet_transfer.h include/gasnet_mk.h include/gasnet_ratomic.h \
  include/gasnet_portable_platform.h \
  include/gasnet_core.h include/gasnet_am.h include/gasnet_hsl.h include/gasnet_mutex.h \
  include/gasnet_conduit_common.h include/gasnet_extended.h include/gasnet_coll.h include/gasnet_pshm.h include/gasnet_vis.h include/gasnet_types.h include/gasnet_linkcheck.h \
  include/gasnet_basic.h include/gasnet_words.h include/gasnet_more.h include/gasnet_membar.h include/gasnet_platform.h \
  include/gasnet_handler.h include/gasnet_tools.h include/gasnet_tools_timer.h include/gasnet_tools_syntax.h \
  include/gasnet_tools_util.h include/gasnet_tools_atomic.h include/gasnet_tools_client.h \
  include/gasnet_tools_locks_par.h include/gasnet_tools_locks_seq.h include/gasnet_tools_lib.h
nodist_include_HEADERS = include/gasnet_config.h
DISTCLEANFILES += include/gasnet_config.h
include/gasnet_config.h: include/gasnet_config.stamp
	@:

EXTRA_DIST += include/config.m4 include/gen-am.sh
noinst_HEADERS = include/gasnet_idents.h
