# tests/portals3: libportals, in one process and in rings of several.
EXTRA_DIST += tests/portals3/run.sh
check_PROGRAMS += tests/portals3/rules tests/portals3/mirrored
portals3_ring = tests/portals3/ring.c tests/portals3/ring.h
portals3_rules = tests/portals3/rules.c tests/portals3/rules.h tests/portals3/lists.c \
	tests/portals3/offsets.c tests/portals3/unlinking.c tests/portals3/events.c \
	tests/portals3/queues.c tests/portals3/updates.c tests/portals3/transfers.c \
	tests/portals3/codes.c tests/portals3/pending.c tests/portals3/order.c \
	tests/portals3/published.c tests/portals3/noted.c $(portals3_ring)
tests_portals3_rules_SOURCES = tests/portals3/rules_main.c $(portals3_rules)
tests_portals3_rules_CPPFLAGS = $(portals3_cppflags)
tests_portals3_rules_LDADD = libportals.la libsofthca.la $(VERBS_LIBS) -lpthread
# Over another transport, whose ptli_verbs_open stands in place of the one in verbs_open.c.
tests_portals3_mirrored_SOURCES = tests/portals3/mirrored.c tests/portals3/scripted_peer.c \
	tests/portals3/scripted_peer.h $(portals3_rules)
tests_portals3_mirrored_CPPFLAGS = $(portals3_cppflags)
tests_portals3_mirrored_LDADD = other/portals3/libinner.la -lpthread

# Over the network.
check_PROGRAMS += tests/portals3/traffic tests/portals3/failures
portals3_family = tests/portals3/family.c tests/portals3/family.h
portals3_network = other/portals3/libinner.la libsofthca.la $(VERBS_LIBS)
tests_portals3_traffic_SOURCES = tests/portals3/traffic.c $(portals3_family)
tests_portals3_traffic_CPPFLAGS = $(portals3_cppflags)
tests_portals3_traffic_LDADD = $(portals3_network)
portals3_scene = tests/portals3/scene.c tests/portals3/scene.h $(portals3_family)
tests_portals3_failures_SOURCES = tests/portals3/failures.c $(portals3_scene)
tests_portals3_failures_CPPFLAGS = $(portals3_cppflags)
tests_portals3_failures_LDADD = $(portals3_network)
check_PROGRAMS += tests/portals3/load
tests_portals3_load_SOURCES = tests/portals3/load.c $(portals3_scene)
tests_portals3_load_CPPFLAGS = $(portals3_cppflags)
tests_portals3_load_LDADD = $(portals3_network)

check_PROGRAMS += tests/portals3/unsignalled
tests_portals3_unsignalled_SOURCES = tests/portals3/unsignalled.c $(portals3_scene)
tests_portals3_unsignalled_CPPFLAGS = $(portals3_cppflags)
tests_portals3_unsignalled_LDADD = $(portals3_network)
check_PROGRAMS += tests/portals3/wraps
tests_portals3_wraps_SOURCES = tests/portals3/wraps.c $(portals3_scene)
tests_portals3_wraps_CPPFLAGS = $(portals3_cppflags)
tests_portals3_wraps_LDADD = $(portals3_network)

# What others send to its sockets; sendto records what the library sends.
check_PROGRAMS += tests/portals3/strangers
tests_portals3_strangers_SOURCES = tests/portals3/strangers.c $(portals3_scene)
tests_portals3_strangers_CPPFLAGS = $(portals3_cppflags)
tests_portals3_strangers_LDFLAGS = -Wl,--wrap=sendto
tests_portals3_strangers_LDADD = $(portals3_network)

# Threads that are kept in critical sections.
check_PROGRAMS += tests/portals3/locks
tests_portals3_locks_SOURCES = tests/portals3/locks.c tests/gate.c tests/gate.h $(portals3_scene)
tests_portals3_locks_CPPFLAGS = $(portals3_cppflags)
tests_portals3_locks_LDFLAGS = -Wl,--wrap=ptli_verbs_release -Wl,--wrap=ptli_pool_give \
	-Wl,--wrap=ptli_verbs_handshakes
tests_portals3_locks_LDADD = $(portals3_network)

check_PROGRAMS += tests/bench/portals3
tests_bench_portals3_SOURCES = tests/bench/portals3.c $(portals3_family)
tests_bench_portals3_CPPFLAGS = $(portals3_cppflags)
tests_bench_portals3_LDADD = $(portals3_network)
EXTRA_DIST += tests/bench/portals3.sh

# The pure parts.
check_PROGRAMS += tests/portals3/model
tests_portals3_model_SOURCES = tests/portals3/model.c \
	other/portals3/engine/pieces.c other/portals3/transport/portals_wire.c other/portals3/fastpath/published_list.c
tests_portals3_model_CPPFLAGS = $(portals3_cppflags)
tests_portals3_model_LDADD = tests/unit/libcheck.a

# Every code of every call; memory runs out when the program says so.
check_PROGRAMS += tests/portals3/refusals
tests_portals3_refusals_SOURCES = tests/portals3/refusals.c
tests_portals3_refusals_CPPFLAGS = $(portals3_cppflags)
tests_portals3_refusals_LDFLAGS = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=aligned_alloc
tests_portals3_refusals_LDADD = $(portals3_network) tests/unit/libcheck.a

# What no honest peer says.
check_PROGRAMS += tests/portals3/hostile
tests_portals3_hostile_SOURCES = tests/portals3/hostile.c tests/portals3/scripted_peer.c \
	tests/portals3/scripted_peer.h
tests_portals3_hostile_CPPFLAGS = $(portals3_cppflags)
tests_portals3_hostile_LDADD = other/portals3/libinner.la tests/unit/libcheck.a -lpthread

# Programs as their users wrote them.
check_PROGRAMS += tests/portals3/messages tests/portals3/stencil
tests_portals3_messages_SOURCES = tests/portals3/messages.c $(portals3_ring)
tests_portals3_messages_CPPFLAGS = $(portals3_cppflags)
tests_portals3_messages_LDADD = libportals.la libsofthca.la $(VERBS_LIBS) -lpthread
tests_portals3_stencil_SOURCES = tests/portals3/stencil.c $(portals3_ring)
tests_portals3_stencil_CPPFLAGS = $(portals3_cppflags)
tests_portals3_stencil_LDADD = libportals.la libsofthca.la $(VERBS_LIBS) -lpthread
