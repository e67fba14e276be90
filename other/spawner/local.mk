# other/spawner: libspawner is in every program, liblauncher in gasnetrun only
noinst_LTLIBRARIES += other/spawner/libspawner.la other/spawner/liblauncher.la
SPAWNER_DEFINES = -DMPIRUN_BUILT=$(SPAWNER_MPI) -DPMIX_BUILT=$(SPAWNER_PMIX)

other_spawner_libspawner_la_SOURCES = \
	other/spawner/bootstrap.c other/spawner/bootstrap.h other/spawner/spawner_ops.h \
	other/spawner/spawner_thread.c other/spawner/module_load.c \
	other/spawner/ssh/ssh_rank.c other/spawner/ssh/ssh_wire.c other/spawner/ssh/ssh_wire.h
other_spawner_libspawner_la_CPPFLAGS = $(AM_CPPFLAGS) $(SPAWNER_DEFINES) \
	-DSPAWNER_MPIS='"$(SPAWNER_MPIS)"' -DSPAWNER_MODULE_DIR='"$(pkglibdir)"'
prefix_objects += other/spawner/libspawner_la-module_load.lo
other_spawner_libspawner_la_LIBADD = -lpthread -ldl

other_spawner_liblauncher_la_SOURCES = \
	other/spawner/ask_socket.h other/spawner/launcher_log.c other/spawner/launcher_log.h \
	other/spawner/hosts.c other/spawner/hosts.h other/spawner/hostfile.c other/spawner/hostfile.h other/spawner/environment.c other/spawner/environment.h other/spawner/lines.c other/spawner/lines.h other/spawner/output.c other/spawner/output.h \
	other/spawner/shell_quote.c other/spawner/shell_quote.h \
	other/spawner/ssh/ssh_ask.c other/spawner/ssh/ssh_ask.h \
	other/spawner/ssh/ssh_children.c other/spawner/ssh/ssh_children.h \
	other/spawner/ssh/ssh_control.c other/spawner/ssh/ssh_launch.h \
	other/spawner/ssh/ssh_input.c \
	other/spawner/ssh/ssh_job.c other/spawner/ssh/ssh_job.h \
	other/spawner/ssh/ssh_link.c other/spawner/ssh/ssh_link.h \
	other/spawner/ssh/ssh_master.c other/spawner/ssh/ssh_master.h \
	other/spawner/ssh/ssh_meeting.c other/spawner/ssh/ssh_meeting.h \
	other/spawner/ssh/ssh_seal.c other/spawner/ssh/ssh_seal.h \
	other/spawner/ssh/ssh_place.c other/spawner/ssh/ssh_place.h \
	other/spawner/ssh/ssh_remote.c other/spawner/ssh/ssh_unauthenticated.c \
	other/spawner/ssh/ssh_shell.c other/spawner/ssh/ssh_shell.h \
	other/tools/descriptors.c other/tools/descriptors.h \
	other/tools/patience.c other/tools/patience.h other/tools/ranges.c other/tools/ranges.h
other_spawner_liblauncher_la_LIBADD = other/spawner/libspawner.la other/tools/libenv_table.la -lcrypto -lpthread

# The modules are plain shared objects: one for each MPI, made by its own compiler driver, and one
# for PMIx; nothing else of the build, and no program, ever sees MPI or PMIx.
spawnermoddir = $(pkglibdir)
nodist_spawnermod_DATA = $(SPAWNER_MODULES)
CLEANFILES += $(SPAWNER_MODULES)
SPAWNER_MODULE_SHARED = other/spawner/modules/module_watch.c other/spawner/modules/module_answer.c other/spawner/spawner_thread.c
SPAWNER_MODULE_DEPENDS = $(SPAWNER_MODULE_SHARED) other/spawner/modules/module_watch.h other/spawner/modules/module_answer.h \
	other/spawner/ask_socket.h other/spawner/spawner_ops.h other/spawner/bootstrap.h
SPAWNER_MODULE_FLAGS = -I$(top_srcdir) $(HARD_CPPFLAGS) $(CPPFLAGS) $(HOUSE_CFLAGS) $(HARD_CFLAGS) $(CFLAGS) $(LDFLAGS) -fPIC -shared
SPAWNER_MODULE_FILES = $(SPAWNER_MODULE_SHARED:%=$(srcdir)/%) -lpthread
other/spawner/gasnet-spawner-mpi-%.so: other/spawner/modules/mpi.c $(SPAWNER_MODULE_DEPENDS)
	@$(MKDIR_P) other/spawner
	$(AM_V_CCLD)$(MPI_CC_$*) $(SPAWNER_MODULE_FLAGS) -o $@ $(srcdir)/other/spawner/modules/mpi.c $(SPAWNER_MODULE_FILES)
other/spawner/gasnet-spawner-pmix.so: other/spawner/modules/pmix.c $(SPAWNER_MODULE_DEPENDS)
	@$(MKDIR_P) other/spawner
	$(AM_V_CCLD)$(CC) $(SPAWNER_MODULE_FLAGS) -o $@ $(srcdir)/other/spawner/modules/pmix.c \
		$(PMIX_CFLAGS) $(SPAWNER_MODULE_FILES) $(PMIX_LIBS)
# Beside the library, or a statically linked program, as in an installed tree: in the build tree these look nowhere else.
spawner_links = .libs/gasnet tests/gasnet tests/spawner/gasnet
$(spawner_links): | $(SPAWNER_MODULES)
	@$(MKDIR_P) $(@D) other/spawner
	$(AM_V_at)ln -sfn $(abs_top_builddir)/other/spawner $@
all-local: $(spawner_links)
CLEANFILES += $(spawner_links)
EXTRA_DIST += other/spawner/modules/mpi.c other/spawner/modules/pmix.c other/spawner/modules/module_watch.c \
	other/spawner/modules/module_watch.h other/spawner/modules/module_answer.c other/spawner/modules/module_answer.h
include tests/spawner/local.mk
