# vapi-conduit: core and core/ib compiled against the VAPI shim.  What it has in common with other
# conduits is written by core/conduits.sh.
vapi_network_sources = vapi-conduit/conduit_network.h vapi-conduit/vapi_shim.h $(core_ib_sources)
vapi_receive_thread_sources = $(ib_receive_thread_sources)
vapi_network_cppflags = -I$(top_srcdir)/other/vapi/include -DNET_IB_HCAS=$(VAPI_HCAS) \
	-DNET_IB_POLL_LOCK=$(VAPI_POLL_LOCK)
vapi_network_libs = libvapi.la libsofthca.la $(VERBS_LIBS)
vapi_spawner = other/launch/libspawner.la
vapi_extended = $(extended_by_rdma)
# Linked by clients: the libraries of this package, and those of the system.
vapi_own_libs = vapi softhca
vapi_client_libs = $(VERBS_LIBS)
