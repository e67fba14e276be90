# other/connect/rdmacm: connects queue pairs by the RDMA connection manager.
rdmacm_machine = other/connect/rdmacm/connection.c other/connect/rdmacm/connection.h other/connect/rdmacm/greeting.c other/connect/rdmacm/greeting.h
rdmacm_sources = $(rdmacm_machine) other/connect/rdmacm/engine.c other/connect/rdmacm/engine.h other/connect/rdmacm/failure.c other/connect/rdmacm/failure.h
EXTRA_DIST += other/connect/rdmacm/README.md
