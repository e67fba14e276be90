# other/softhca/run: softhca-run, which starts programs over the device and shows who uses it.
bin_PROGRAMS += softhca-run
softhca_run_SOURCES = \
	other/softhca/run/files.c other/softhca/run/library.c other/softhca/run/main.c other/softhca/run/run.h \
	other/softhca/run/find.c other/softhca/run/status.c other/softhca/run/status.h other/softhca/run/table.c other/softhca/run/table.h $(softhca_pure)
softhca_run_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE \
	-DSOFTHCA_BINDIR='"$(bindir)"' -DSOFTHCA_LIBDIR='"$(libdir)"'
