# other/softhca/src/run: softhca-run, which starts programs over the device and shows who uses it.
bin_PROGRAMS += softhca-run
softhca_run_SOURCES = \
	other/softhca/src/run/files.c other/softhca/src/run/library.c other/softhca/src/run/main.c other/softhca/src/run/run.h \
	other/softhca/src/run/find.c other/softhca/src/run/status.c other/softhca/src/run/table.c other/softhca/src/segment/rpc.h other/softhca/src/segment/shm.h $(softhca_pure)
softhca_run_LDADD = other/base/libenv_table.la
softhca_run_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE \
	-DSOFTHCA_BINDIR='"$(bindir)"' -DSOFTHCA_LIBDIR='"$(libdir)"'

# The manual: softhca(7) is made from the README and what a manual says beyond it.
dist_man_MANS += other/softhca/src/run/softhca-run.1
man_MANS += other/softhca/softhca.7
softhca_manual = other/softhca/README.md other/softhca/manual.md
other/softhca/softhca.7: other/softhca/manual.awk $(softhca_manual)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)cd $(srcdir) && $(AWK) -f other/softhca/manual.awk -v date='$(PACKAGE_VERSION)' \
		-v skip='The inside, in reading order' $(softhca_manual) >$(abs_top_builddir)/$@.new && \
		mv $(abs_top_builddir)/$@.new $(abs_top_builddir)/$@
CLEANFILES += other/softhca/softhca.7 other/softhca/softhca.7.new
EXTRA_DIST += other/softhca/manual.awk other/softhca/manual.md
