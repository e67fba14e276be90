# other/portals3/tests: libportals, in one process and in rings of several.
EXTRA_DIST += other/portals3/tests/run.sh
check_PROGRAMS += other/portals3/tests/rules other/portals3/tests/mirrored
portals3_ring = other/portals3/tests/ring.c other/portals3/tests/ring.h
portals3_rules = other/portals3/tests/rules.c other/portals3/tests/rules.h other/portals3/tests/lists.c \
	other/portals3/tests/offsets.c other/portals3/tests/unlinking.c other/portals3/tests/events.c \
	other/portals3/tests/queues.c other/portals3/tests/updates.c other/portals3/tests/transfers.c \
	other/portals3/tests/codes.c other/portals3/tests/pending.c other/portals3/tests/order.c \
	other/portals3/tests/published.c other/portals3/tests/noted.c $(portals3_ring)
other_portals3_tests_rules_SOURCES = other/portals3/tests/rules_main.c $(portals3_rules)
other_portals3_tests_rules_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_rules_LDADD = libportals.la libsofthca.la $(VERBS_LIBS) -lpthread
# Over another transport, whose ptli_verbs_open stands in place of the one in verbs_open.c.
other_portals3_tests_mirrored_SOURCES = other/portals3/tests/mirrored.c other/portals3/tests/scripted_peer.c \
	other/portals3/tests/scripted_peer.h tests/unit/script_record.h $(portals3_rules)
other_portals3_tests_mirrored_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_mirrored_LDADD = other/portals3/libinner.la -lpthread

# Over the network.
check_PROGRAMS += other/portals3/tests/traffic other/portals3/tests/failures
portals3_family = other/portals3/tests/family.c other/portals3/tests/family.h
portals3_network = other/portals3/libinner.la libsofthca.la $(VERBS_LIBS)
other_portals3_tests_traffic_SOURCES = other/portals3/tests/traffic.c $(portals3_family)
other_portals3_tests_traffic_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_traffic_LDADD = $(portals3_network)
portals3_scene = other/portals3/tests/scene.c other/portals3/tests/scene.h $(portals3_family)
other_portals3_tests_failures_SOURCES = other/portals3/tests/failures.c $(portals3_scene)
other_portals3_tests_failures_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_failures_LDADD = $(portals3_network)
check_PROGRAMS += other/portals3/tests/load
other_portals3_tests_load_SOURCES = other/portals3/tests/load.c $(portals3_scene)
other_portals3_tests_load_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_load_LDADD = $(portals3_network)

check_PROGRAMS += other/portals3/tests/unsignalled
other_portals3_tests_unsignalled_SOURCES = other/portals3/tests/unsignalled.c $(portals3_scene)
other_portals3_tests_unsignalled_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_unsignalled_LDADD = $(portals3_network)
check_PROGRAMS += other/portals3/tests/wraps
other_portals3_tests_wraps_SOURCES = other/portals3/tests/wraps.c $(portals3_scene)
other_portals3_tests_wraps_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_wraps_LDADD = $(portals3_network)

# What others send to its sockets; sendto records what the library sends.
check_PROGRAMS += other/portals3/tests/strangers
other_portals3_tests_strangers_SOURCES = other/portals3/tests/strangers.c $(portals3_scene)
other_portals3_tests_strangers_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_strangers_LDFLAGS = -Wl,--wrap=sendto
other_portals3_tests_strangers_LDADD = $(portals3_network)

# Threads that are kept in critical sections.
check_PROGRAMS += other/portals3/tests/locks
other_portals3_tests_locks_SOURCES = other/portals3/tests/locks.c tests/gate.c tests/gate.h $(portals3_scene)
other_portals3_tests_locks_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_locks_LDFLAGS = -Wl,--wrap=ptli_verbs_release -Wl,--wrap=ptli_pool_give \
	-Wl,--wrap=ptli_verbs_handshakes
other_portals3_tests_locks_LDADD = $(portals3_network)

check_PROGRAMS += other/portals3/tests/bench
other_portals3_tests_bench_SOURCES = other/portals3/tests/bench.c $(portals3_family)
other_portals3_tests_bench_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_bench_LDADD = $(portals3_network)
EXTRA_DIST += other/portals3/tests/bench.sh

# The pure parts.
check_PROGRAMS += other/portals3/tests/model
other_portals3_tests_model_SOURCES = other/portals3/tests/model.c \
	other/portals3/src/base/pieces.c other/portals3/src/base/portals_wire.c other/portals3/src/base/published_list.c
other_portals3_tests_model_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_model_LDADD = tests/unit/libcheck.a

# Every code of every call; memory runs out when the program says so.
check_PROGRAMS += other/portals3/tests/refusals
other_portals3_tests_refusals_SOURCES = other/portals3/tests/refusals.c
other_portals3_tests_refusals_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_refusals_LDFLAGS = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=aligned_alloc
other_portals3_tests_refusals_LDADD = $(portals3_network) tests/unit/libcheck.a

# What no honest peer says.
check_PROGRAMS += other/portals3/tests/hostile
other_portals3_tests_hostile_SOURCES = other/portals3/tests/hostile.c other/portals3/tests/scripted_peer.c \
	other/portals3/tests/scripted_peer.h tests/unit/script_record.h
other_portals3_tests_hostile_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_hostile_LDADD = other/portals3/libinner.la tests/unit/libcheck.a -lpthread

# Programs as their users wrote them.
check_PROGRAMS += other/portals3/tests/messages other/portals3/tests/stencil
other_portals3_tests_messages_SOURCES = other/portals3/tests/messages.c $(portals3_ring)
other_portals3_tests_messages_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_messages_LDADD = libportals.la libsofthca.la $(VERBS_LIBS) -lpthread
other_portals3_tests_stencil_SOURCES = other/portals3/tests/stencil.c $(portals3_ring)
other_portals3_tests_stencil_CPPFLAGS = $(portals3_cppflags)
other_portals3_tests_stencil_LDADD = libportals.la libsofthca.la $(VERBS_LIBS) -lpthread
check_PROGRAMS += other/portals3/tests/unit/key_file
other_portals3_tests_unit_key_file_SOURCES = other/portals3/tests/unit/key_file.c other/portals3/src/transport/key_file.c other/portals3/src/transport/key_file.h
other_portals3_tests_unit_key_file_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
other_portals3_tests_unit_key_file_LDADD = tests/unit/libcheck.a
