# include: the headers a client sees.  Private ones are installed beside the public ones.
GASNET_INCLUDES = -I$(top_srcdir)/include -I$(top_builddir)/include

include_HEADERS += \
  include/gasnet.h include/gasnet_core.h include/gasnet_am.h include/gasnet_hsl.h \
  include/gasnet_extended.h include/gasnet_types.h include/gasnet_linkcheck.h \
  include/gasnet_basic.h include/gasnet_membar.h include/gasnet_platform.h
nodist_include_HEADERS = include/gasnet_config.h

ibvincludedir = $(includedir)/ibv-conduit
ibvinclude_HEADERS = include/ibv-conduit/gasnet_conduit.h

EXTRA_DIST += include/config.m4 include/gen-am.sh
