# ibv-conduit: core and core/ib compiled against the IB Verbs shim.  What it has in common with other
# conduits is written by core/conduits.sh.
ibv_network_sources = ibv-conduit/conduit_network.h ibv-conduit/ibv_shim.h $(core_ib_sources) $(roce_table_sources)
ibv_receive_thread_sources = $(ib_receive_thread_sources)
ibv_network_cppflags = -DNET_IB_HCAS=$(IBV_HCAS) \
	-DNET_IB_POLL_LOCK=$(IBV_POLL_LOCK) -DNET_IB_RDMACM=$(HAVE_RDMACM) -DDAPL_CQ_INSIDE
if RDMACM
ibv_network_sources += ibv-conduit/rdmacm.c $(rdmacm_sources)
endif
ibv_network_libs = other/base/completion-queues/libcompletion_queues.la libsofthca.la $(VERBS_LIBS)
ibv_spawner = other/launch/libspawner.la
ibv_extended = $(extended_by_rdma)
# Linked by clients: the libraries of this package, and those of the system.
ibv_own_libs = softhca
ibv_client_libs = $(VERBS_LIBS)
