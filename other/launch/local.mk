# other/launch: libspawner is in every program that a launcher starts, libforked in programs that need none, liblauncher
# in gasnetrun only
noinst_LTLIBRARIES += other/launch/libspawner.la other/launch/libforked.la other/launch/liblauncher.la
SPAWNER_DEFINES = -DMPIRUN_BUILT=$(SPAWNER_MPI) -DPMIX_BUILT=$(SPAWNER_PMIX)

bootstrap_sources = \
	other/launch/bootstrap.c other/launch/bootstrap.h other/launch/spawner_ops.h \
	other/launch/spawner_thread.c other/launch/module_load.c \
	other/launch/why.c other/launch/why_answers.c other/launch/why_answers.h other/launch/why.h \
	other/launch/ssh/ssh_rank.c other/launch/ssh/ssh_wire.c other/launch/ssh/ssh_wire.h
other_launch_libspawner_la_SOURCES = $(bootstrap_sources) other/launch/launched.c
other_launch_libspawner_la_CPPFLAGS = $(AM_CPPFLAGS) $(SPAWNER_DEFINES) \
	-DSPAWNER_MPIS='"$(SPAWNER_MPIS)"' -DSPAWNER_MODULE_DIR='"$(pkglibdir)"'
prefix_objects += other/launch/libspawner_la-module_load.lo
other_launch_libspawner_la_LIBADD = -lpthread -ldl

# The launcher as far as it serves the ranks of its own machine.
master_sources = \
	other/launch/ask_socket.h other/launch/launcher_log.c other/launch/launcher_log.h \
	other/launch/hosts.c other/launch/hosts.h other/launch/hostfile.c other/launch/hostfile.h other/launch/lines.h other/launch/output.c other/launch/output.h \
	other/launch/shell_quote.c other/launch/shell_quote.h \
	other/launch/ssh/ssh_ask.c other/launch/ssh/ssh_ask.h \
	other/launch/ssh/ssh_children.c other/launch/ssh/ssh_children.h \
	other/launch/ssh/ssh_input.c other/launch/ssh/ssh_launch.h \
	other/launch/ssh/ssh_job.c other/launch/ssh/ssh_job.h \
	other/launch/ssh/ssh_stream.c other/launch/ssh/ssh_stream.h \
	other/launch/ssh/ssh_master.c other/launch/ssh/ssh_master.h \
	other/launch/ssh/ssh_placement.c other/launch/ssh/ssh_placement.h \
	other/launch/ssh/ssh_seal.h other/launch/ssh/ssh_shell.h \
	other/launch/ssh/ssh_watch.c other/launch/ssh/ssh_watch.h
# Absorbed together with other/base/libtools.la.
other_launch_libforked_la_SOURCES = $(bootstrap_sources) other/launch/ssh/ssh_forked.c $(master_sources) other/launch/ssh/ssh_no_remote.c
other_launch_libforked_la_CPPFLAGS = $(other_launch_libspawner_la_CPPFLAGS)
prefix_objects += other/launch/libforked_la-module_load.lo
other_launch_libforked_la_LIBADD = -lpthread -ldl

other_launch_liblauncher_la_SOURCES = $(master_sources) \
	other/launch/environment.c other/launch/environment.h other/launch/lines.c \
	other/launch/ssh/ssh_asker.c other/launch/ssh/ssh_asker.h other/launch/ssh/ssh_top.c other/launch/top.c other/launch/top.h \
	other/launch/ssh/ssh_control.c \
	other/launch/ssh/ssh_meeting.c other/launch/ssh/ssh_meeting.h other/launch/ssh/ssh_seal.c \
	other/launch/ssh/ssh_remote.c other/launch/ssh/ssh_unauthenticated.c \
	other/launch/ssh/ssh_shell.c \
	other/base/descriptors.c other/base/descriptors.h \
	other/base/patience.c other/base/patience.h other/base/ranges.c other/base/ranges.h \
	other/launch/report/line.c other/launch/report/line.h other/launch/report/memory.c other/launch/report/page.c \
	other/launch/report/report.c other/launch/report/report.h other/launch/report/sample.c other/launch/report/trace.c \
	other/launch/report/trace.h
nodist_other_launch_liblauncher_la_SOURCES = other/launch/report/page_text.c
other_launch_liblauncher_la_LIBADD = other/launch/libspawner.la other/base/libenv_table.la -lcrypto -lpthread

# The page of --trace-report, as arrays.
report_page = other/launch/report/page.html other/launch/report/page.css other/launch/report/model.js \
	other/launch/report/timeline.js other/launch/report/views.js other/launch/report/main.js
other/launch/report/page_text.c: other/launch/report/embed.sh $(report_page)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(srcdir)/other/launch/report/embed.sh >$@.new && mv $@.new $@
CLEANFILES += other/launch/report/page_text.c
EXTRA_DIST += other/launch/report/embed.sh $(report_page)

# The modules are plain shared objects: one for each MPI, made by its own compiler driver, and one
# for PMIx; nothing else of the build, and no program, ever sees MPI or PMIx.
spawnermoddir = $(pkglibdir)
nodist_spawnermod_DATA = $(SPAWNER_MODULES)
CLEANFILES += $(SPAWNER_MODULES)
SPAWNER_MODULE_SHARED = other/launch/modules/module_watch.c other/launch/modules/module_answer.c other/launch/spawner_thread.c
SPAWNER_MODULE_DEPENDS = $(SPAWNER_MODULE_SHARED) other/launch/modules/module.h \
	other/launch/ask_socket.h other/launch/spawner_ops.h other/launch/bootstrap.h
SPAWNER_MODULE_FLAGS = -I$(top_srcdir) $(HARD_CPPFLAGS) $(CPPFLAGS) $(HOUSE_CFLAGS) $(HARD_CFLAGS) $(CFLAGS) $(LDFLAGS) -fPIC -shared
SPAWNER_MODULE_FILES = $(SPAWNER_MODULE_SHARED:%=$(srcdir)/%) -lpthread
other/launch/gasnet-spawner-mpi-%.so: other/launch/modules/mpi.c $(SPAWNER_MODULE_DEPENDS)
	@$(MKDIR_P) other/launch
	$(AM_V_CCLD)$(MPI_CC_$*) $(SPAWNER_MODULE_FLAGS) -o $@ $(srcdir)/other/launch/modules/mpi.c $(SPAWNER_MODULE_FILES)
other/launch/gasnet-spawner-pmix.so: other/launch/modules/pmix.c $(SPAWNER_MODULE_DEPENDS)
	@$(MKDIR_P) other/launch
	$(AM_V_CCLD)$(CC) $(SPAWNER_MODULE_FLAGS) -o $@ $(srcdir)/other/launch/modules/pmix.c \
		$(PMIX_CFLAGS) $(SPAWNER_MODULE_FILES) $(PMIX_LIBS)
# Beside the library, or a statically linked program, as in an installed tree: in the build tree these look nowhere else.
spawner_links = .libs/gasnet tests/gasnet tests/spawner/gasnet
$(spawner_links): | $(SPAWNER_MODULES)
	@$(MKDIR_P) $(@D) other/launch
	$(AM_V_at)ln -sfn $(abs_top_builddir)/other/launch $@
all-local: $(spawner_links)
CLEANFILES += $(spawner_links)
EXTRA_DIST += other/launch/modules/mpi.c other/launch/modules/pmix.c other/launch/modules/module_watch.c \
	other/launch/modules/module_answer.c other/launch/modules/module.h
