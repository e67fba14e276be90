# other/spawner: libspawner is in every program, liblauncher in gasnetrun only
noinst_LTLIBRARIES += other/spawner/libspawner.la other/spawner/liblauncher.la
if HAVE_MPI
SPAWNER_DEFINES = -DMPIRUN_BUILT=1
else
SPAWNER_DEFINES = -DMPIRUN_BUILT=0
endif

other_spawner_libspawner_la_SOURCES = \
	other/spawner/bootstrap.c other/spawner/bootstrap.h other/spawner/spawner_ops.h \
	other/spawner/spawner_thread.c other/spawner/mpi_load.c \
	other/spawner/ssh_rank.c other/spawner/ssh_wire.c other/spawner/ssh_wire.h
other_spawner_libspawner_la_CPPFLAGS = $(AM_CPPFLAGS) $(SPAWNER_DEFINES) \
	-DSPAWNER_MODULE_DIR='"$(pkglibdir)"' \
	-DSPAWNER_BUILD_DIR='"$(abs_top_builddir)/other/spawner"'
prefix_objects += other/spawner/libspawner_la-mpi_load.lo
other_spawner_libspawner_la_LIBADD = -lpthread -ldl

other_spawner_liblauncher_la_SOURCES = \
	other/spawner/hosts.c other/spawner/hosts.h other/spawner/lines.c other/spawner/lines.h \
	other/spawner/words.c other/spawner/words.h \
	other/spawner/ssh_launch.h other/spawner/ssh_ask.c other/spawner/ssh_ask.h other/spawner/ssh_master.c other/spawner/ssh_master.h \
	other/spawner/ssh_remote.c other/spawner/ssh_control.c \
	other/spawner/ssh_children.c other/spawner/ssh_children.h \
	other/spawner/ssh_job.c other/spawner/ssh_job.h \
	other/spawner/ssh_link.c other/spawner/ssh_link.h \
	other/spawner/ssh_place.c other/spawner/ssh_place.h other/spawner/say.c other/spawner/say.h \
	other/tools/descriptors.c other/tools/descriptors.h
other_spawner_liblauncher_la_LIBADD = other/spawner/libspawner.la

# The module is a plain shared object, made by the MPI's own compiler driver: nothing else of the
# build, and no program, ever sees MPI.
if HAVE_MPI
spawnermoddir = $(pkglibdir)
nodist_spawnermod_DATA = other/spawner/gasnet-spawner-mpi.so
CLEANFILES += other/spawner/gasnet-spawner-mpi.so
other/spawner/gasnet-spawner-mpi.so: $(srcdir)/other/spawner/mpi.c \
		$(srcdir)/other/spawner/spawner_ops.h $(srcdir)/other/spawner/bootstrap.h
	@$(MKDIR_P) other/spawner
	$(AM_V_CCLD)$(MPI_CC) -I$(top_srcdir) $(CPPFLAGS) $(HOUSE_CFLAGS) $(CFLAGS) $(LDFLAGS) \
		-fPIC -shared -o $@ $(srcdir)/other/spawner/mpi.c -lpthread
endif
EXTRA_DIST += other/spawner/mpi.c other/spawner/README.md
include tests/spawner/local.mk
