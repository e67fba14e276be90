# other/rdmacm: connects queue pairs by the RDMA connection manager.
rdmacm_machine = other/rdmacm/link.c other/rdmacm/link.h other/rdmacm/greeting.c other/rdmacm/greeting.h
rdmacm_sources = $(rdmacm_machine) other/rdmacm/engine.c other/rdmacm/engine.h other/rdmacm/failure.c other/rdmacm/failure.h
EXTRA_DIST += other/rdmacm/README.md
