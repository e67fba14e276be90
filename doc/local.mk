# doc: the manual pages of the library and its launchers. The pages for readers are installed by Makefile.am.
# The tarball has all of them, whatever is built here.
EXTRA_DIST += doc/gasnetrun_vapi.1 doc/gasnetrun_portals.1 doc/gasnetrun_smp.1
# Those of the calls, from the comments of the headers; one run of awk writes them all, and the list of their names.
call_headers = include/gasnet.h include/gasnetex.h include/gasnet_core.h include/gasnet_hsl.h include/gasnet_barrier.h \
	include/gasnet_am.h include/gasnet_extended.h include/gasnet_vis.h include/gasnet_coll.h include/gasnet_ex_objects.h \
	include/gasnet_am_calls.h include/gasnet_ex_am.h include/gasnet_ex_rma.h include/gasnet_ex_coll.h include/gasnet_mk.h include/gasnet_ratomic.h
EXTRA_DIST += doc/call_pages.awk
noinst_DATA = doc/man3/names
doc/man3/names: doc/call_pages.awk $(call_headers) Makefile
	$(AM_V_GEN)$(MKDIR_P) doc/man3 && rm -f doc/man3/*.3 && build=`pwd` && cd $(srcdir) && \
	    $(AWK) -v out="$$build/doc/man3" -v version=$(PACKAGE_VERSION) -f doc/call_pages.awk $(call_headers) >"$$build/$@.new"
	$(AM_V_at)mv $@.new $@
install-data-local: doc/man3/names
	$(MKDIR_P) "$(DESTDIR)$(man3dir)" && $(INSTALL_DATA) doc/man3/*.3 "$(DESTDIR)$(man3dir)"
uninstall-local: doc/man3/names
	names=`pwd`/doc/man3/names; test ! -d "$(DESTDIR)$(man3dir)" || (cd "$(DESTDIR)$(man3dir)" && xargs rm -f <"$$names")
CLEANFILES += doc/man3/*.3 doc/man3/names
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
