# other/softhca/tests: softhca.sh, hosts/run.sh, run/run.sh and stock/stock.sh run these.
check_PROGRAMS += softhca_rules softhca_soak softhca_speed softhca_rules_static
softhca_pair = other/softhca/tests/pair.c other/softhca/tests/pair.h other/softhca/tests/rules.h
softhca_rules_SOURCES = other/softhca/tests/rules.c other/softhca/tests/transfer.c other/softhca/tests/fault.c \
	other/softhca/tests/queue.c other/softhca/tests/short.c other/softhca/tests/life.c other/softhca/tests/shared.c other/softhca/tests/unreliable.c other/softhca/tests/datagram.c other/softhca/tests/extended.c other/softhca/tests/crowd.c other/softhca/tests/crowd.h \
	other/softhca/tests/forks.c other/softhca/tests/peers.c other/softhca/tests/setting.c other/softhca/tests/devices.c other/softhca/tests/roce.c other/softhca/tests/between_hosts.c other/softhca/tests/inject.c other/softhca/tests/tear.c $(softhca_pair)
softhca_rules_SOURCES += other/softhca/tests/resize.c other/softhca/tests/region.c other/softhca/tests/window.c other/softhca/tests/states.c other/softhca/tests/memlock.c
if RDMACM
softhca_rules_SOURCES += other/softhca/tests/manager.c tests/gate.c tests/gate.h
else
softhca_rules_SOURCES += other/softhca/tests/manager_absent.c
endif
EXTRA_DIST += other/softhca/tests/manager.c other/softhca/tests/manager_absent.c
softhca_rules_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
softhca_rules_LDADD = tests/unit/libcheck.a libsofthca.la $(VERBS_LIBS)
softhca_rules_static_SOURCES = $(softhca_rules_SOURCES)
softhca_rules_static_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_rules_static_LDFLAGS = -static -pthread
softhca_rules_static_LDADD = $(softhca_rules_LDADD) -ldl
softhca_soak_SOURCES = other/softhca/tests/soak.c $(softhca_pair)
softhca_soak_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_soak_LDADD = $(softhca_rules_LDADD)
softhca_speed_SOURCES = other/softhca/tests/speed.c $(softhca_pair)
softhca_speed_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_speed_LDADD = $(softhca_rules_LDADD)
check_PROGRAMS += softhca_mesh
softhca_mesh_SOURCES = other/softhca/tests/mesh.c $(softhca_pair)
softhca_mesh_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_mesh_LDADD = $(softhca_rules_LDADD)
# Device selection: a fake libibverbs in the place of the real one. One program links libsofthca ahead
# of it, the other behind it, and preloads it.
fake_verbs = other/softhca/tests/fake/libibverbs.so.1
fake_verbs_libs = -L$(abs_top_builddir)/other/softhca/tests/fake -libverbs
fake_verbs_sources = other/softhca/tests/fake_verbs.c other/softhca/tests/fake_verbs.h other/softhca/tests/fake_verbs.map \
	other/softhca/tests/names.def
$(fake_verbs): $(fake_verbs_sources)
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) -D_GNU_SOURCE $(AM_CFLAGS) $(CFLAGS) -fvisibility=default -fPIC -shared -pthread \
		-Wl,-soname,libibverbs.so.1 -Wl,--version-script,$(srcdir)/other/softhca/tests/fake_verbs.map \
		-o $@ $(srcdir)/other/softhca/tests/fake_verbs.c
	@ln -sf libibverbs.so.1 $(@D)/libibverbs.so
CLEANFILES += $(fake_verbs) other/softhca/tests/fake/libibverbs.so
EXTRA_DIST += $(fake_verbs_sources)
check_PROGRAMS += softhca_device_select softhca_device_select_preload
softhca_device_select_SOURCES = other/softhca/tests/device_select.c $(softhca_pair)
softhca_device_select_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_device_select_LDFLAGS = -pthread -Wl,-rpath,$(abs_top_builddir)/other/softhca/tests/fake
softhca_device_select_LDADD = tests/unit/libcheck.a libsofthca.la $(fake_verbs_libs)
EXTRA_softhca_device_select_DEPENDENCIES = $(fake_verbs)
softhca_device_select_preload_SOURCES = $(softhca_device_select_SOURCES)
softhca_device_select_preload_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_device_select_preload_LDFLAGS = $(softhca_device_select_LDFLAGS)
softhca_device_select_preload_LDADD = tests/unit/libcheck.a $(fake_verbs_libs) libsofthca.la
EXTRA_softhca_device_select_preload_DEPENDENCIES = $(fake_verbs)
EXTRA_DIST += other/softhca/tests/softhca.sh other/softhca/tests/stock
EXTRA_DIST += other/softhca/tests/hosts/run.sh other/softhca/tests/run/run.sh

# Programs that step other processes through the device, instruction by instruction.
softhca_step = other/softhca/tests/step.c other/softhca/tests/step.h $(softhca_pair)
check_PROGRAMS += softhca_cost softhca_death
softhca_cost_SOURCES = other/softhca/tests/cost.c $(softhca_step)
softhca_cost_CPPFLAGS = $(softhca_rules_CPPFLAGS)
# Its own instructions are counted too.
softhca_cost_CFLAGS = $(HOUSE_CFLAGS)
softhca_cost_LDADD = $(softhca_rules_LDADD)
softhca_death_SOURCES = other/softhca/tests/death.c $(softhca_step)
softhca_death_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_death_LDADD = $(softhca_rules_LDADD)
check_PROGRAMS += softhca_stress
softhca_stress_SOURCES = other/softhca/tests/stress.c $(softhca_pair)
softhca_stress_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_stress_LDADD = $(softhca_rules_LDADD)
check_PROGRAMS += softhca_cycles
softhca_cycles_SOURCES = other/softhca/tests/cycles.c $(softhca_pair)
softhca_cycles_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_cycles_LDADD = $(softhca_rules_LDADD)
check_PROGRAMS += softhca_wakes
softhca_wakes_SOURCES = other/softhca/tests/wakes.c tests/gate.c tests/gate.h $(softhca_pair)
softhca_wakes_CPPFLAGS = $(softhca_rules_CPPFLAGS)
softhca_wakes_LDADD = $(softhca_rules_LDADD) -lpthread

# Pure parts of the software device.
check_PROGRAMS += other/softhca/tests/unit/faults other/softhca/tests/unit/inventory other/softhca/tests/unit/settings
other_softhca_tests_unit_faults_SOURCES = other/softhca/tests/unit/faults.c $(softhca_pure)
other_softhca_tests_unit_faults_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_softhca_tests_unit_faults_LDADD = tests/unit/libcheck.a other/base/libenv_table.la
other_softhca_tests_unit_inventory_SOURCES = other/softhca/tests/unit/inventory.c $(softhca_pure)
other_softhca_tests_unit_inventory_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_softhca_tests_unit_inventory_LDADD = tests/unit/libcheck.a other/base/libenv_table.la
other_softhca_tests_unit_settings_SOURCES = other/softhca/tests/unit/settings.c $(softhca_pure)
other_softhca_tests_unit_settings_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_softhca_tests_unit_settings_LDADD = tests/unit/libcheck.a other/base/libenv_table.la
check_PROGRAMS += other/softhca/tests/unit/greet other/softhca/tests/unit/hosts other/softhca/tests/unit/remote
softhca_remote = other/softhca/src/tcp/requester.c other/softhca/src/tcp/responder.c other/softhca/src/tcp/wire.c
softhca_greet = other/softhca/src/tcp/greet.c
other_softhca_tests_unit_greet_SOURCES = other/softhca/tests/unit/greet.c $(softhca_greet) other/softhca/src/tcp/wire.c
other_softhca_tests_unit_greet_LDADD = tests/unit/libcheck.a other/base/libenv_table.la
other_softhca_tests_unit_hosts_SOURCES = other/softhca/tests/unit/hosts.c other/softhca/src/settings/hosts.c
other_softhca_tests_unit_hosts_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_softhca_tests_unit_hosts_LDADD = tests/unit/libcheck.a
other_softhca_tests_unit_remote_SOURCES = other/softhca/tests/unit/remote.c $(softhca_remote)
other_softhca_tests_unit_remote_LDADD = tests/unit/libcheck.a
