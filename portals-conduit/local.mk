# portals-conduit: core compiled against Portals 3.3.  What it has in common with other conduits is
# written by core/conduits.sh.
portals_network_sources = portals-conduit/lending.h portals-conduit/lending.c \
	portals-conduit/conduit_network.h portals-conduit/network_portals.h portals-conduit/portals.h portals-conduit/params.def \
	portals-conduit/bits.h portals-conduit/stock.h portals-conduit/reqrb.h \
	portals-conduit/long_id.h portals-conduit/long_id.c portals-conduit/receive_space.h portals-conduit/receive_space.c \
	portals-conduit/open.c portals-conduit/memory.c portals-conduit/credits.c portals-conduit/send.c \
	portals-conduit/arrive.c portals-conduit/status.c \
	portals-conduit/environment.c other/portals3/src/base/settings.def
portals_network_cppflags = -I$(top_srcdir)/other/portals3/include
portals_launcher_cppflags = -DGASNETC_SETTINGS_DEF='"other/portals3/src/base/settings.def"'
portals_network_libs = libportals.la libsofthca.la $(VERBS_LIBS)
portals_spawner = other/launch/libspawner.la
portals_extended = $(extended_by_rdma)
# Linked by clients: the libraries of this package, and those of the system.
portals_own_libs = portals softhca
portals_client_libs = $(VERBS_LIBS)
