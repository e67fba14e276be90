# ibv-conduit: core and core/ib compiled against the IB Verbs shim, once per thread mode, and above
# them the Extended API: together one library per thread mode, shared and static.
ibv_core_sources = ibv-conduit/verbs_shim.h $(core_sources) $(core_ib_sources)
ibv_sources = $(extended_sources) $(extended_by_rdma)
ibv_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/ibv-conduit \
  -I$(top_srcdir)/core/ib -I$(top_srcdir)/ibv-conduit $(DEBUG_DEFINE) -DGASNETI_NO_LINKCHECK -DNET_IB_HCAS=$(IBV_HCAS) -DGASNETC_RCV_THREAD=$(RCV_THREAD)
ibv_libadd = other/tools/libtools.la other/spawner/libspawner.la libsofthca.la $(VERBS_LIBS) \
  -lpthread -ldl -lm
# libsofthca.so is found beside the library, wherever an installed tree was moved to; calls between
# the library's own functions need no detour through the symbol table.
ibv_ldflags = -Wl,-rpath,'$$ORIGIN' -Wl,-Bsymbolic-functions

noinst_LTLIBRARIES += ibv-conduit/libcore-seq.la ibv-conduit/libcore-parsync.la \
  ibv-conduit/libcore-par.la
ibv_conduit_libcore_seq_la_SOURCES = $(ibv_core_sources)
ibv_conduit_libcore_seq_la_CPPFLAGS = $(ibv_cppflags) -DGASNET_SEQ
ibv_conduit_libcore_parsync_la_SOURCES = $(ibv_core_sources)
ibv_conduit_libcore_parsync_la_CPPFLAGS = $(ibv_cppflags) -DGASNET_PARSYNC
ibv_conduit_libcore_par_la_SOURCES = $(ibv_core_sources)
ibv_conduit_libcore_par_la_CPPFLAGS = $(ibv_cppflags) -DGASNET_PAR

lib_LTLIBRARIES += libgasnet-ibv-seq.la libgasnet-ibv-parsync.la libgasnet-ibv-par.la

libgasnet_ibv_seq_la_SOURCES = $(ibv_sources)
libgasnet_ibv_seq_la_CPPFLAGS = $(ibv_cppflags) -DGASNET_SEQ
libgasnet_ibv_seq_la_LIBADD = ibv-conduit/libcore-seq.la $(ibv_libadd)
libgasnet_ibv_seq_la_LDFLAGS = $(ibv_ldflags)

libgasnet_ibv_parsync_la_SOURCES = $(ibv_sources)
libgasnet_ibv_parsync_la_CPPFLAGS = $(ibv_cppflags) -DGASNET_PARSYNC
libgasnet_ibv_parsync_la_LIBADD = ibv-conduit/libcore-parsync.la $(ibv_libadd)
libgasnet_ibv_parsync_la_LDFLAGS = $(ibv_ldflags)

libgasnet_ibv_par_la_SOURCES = $(ibv_sources)
libgasnet_ibv_par_la_CPPFLAGS = $(ibv_cppflags) -DGASNET_PAR
libgasnet_ibv_par_la_LIBADD = ibv-conduit/libcore-par.la $(ibv_libadd)
libgasnet_ibv_par_la_LDFLAGS = $(ibv_ldflags)

# gasnetrun --help-env shows the core's table of parameters.
gasnetrun_ibv_SOURCES += core/params_help.c core/params.def
