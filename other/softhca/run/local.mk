# other/softhca/run: softhca-run, which starts programs over the device and shows who uses it.
bin_PROGRAMS += softhca-run
softhca_run_SOURCES = \
	other/softhca/run/files.c other/softhca/run/library.c other/softhca/run/main.c other/softhca/run/run.h \
	other/softhca/run/status.c $(softhca_pure)
softhca_run_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE \
	-DSOFTHCA_BINDIR='"$(bindir)"' -DSOFTHCA_LIBDIR='"$(libdir)"'
