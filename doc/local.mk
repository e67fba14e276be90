# doc: the manual pages of the library and its launchers. The pages for readers are installed by Makefile.am.
# The tarball has all of them, whatever is built here.
EXTRA_DIST += doc/gasnetrun_vapi.1 doc/gasnetrun_portals.1 doc/gasnetrun_smp.1
dist_man_MANS += doc/gasnet.7 doc/gasnetrun_ibv.1
if CONDUIT_VAPI
man_MANS += doc/gasnetrun_vapi.1
endif
if CONDUIT_PORTALS
man_MANS += doc/gasnetrun_portals.1
endif
if CONDUIT_SMP
man_MANS += doc/gasnetrun_smp.1
endif
