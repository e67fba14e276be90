# extended-ref: the Extended API over the core.  Each conduit library lists these sources, once per
# threading mode.
extended_sources = \
	extended-ref/attach.c \
	extended-ref/barrier.c extended-ref/barrier_am.c extended-ref/barrier_rdma.c \
	extended-ref/barrier_carrier.h \
	extended-ref/barrier_state.c extended-ref/barrier_state.h \
	extended-ref/diagnostics.c \
	extended-ref/handles.c extended-ref/handles.h \
	extended-ref/internal_am.h \
	extended-ref/memset.c \
	extended-ref/putget.c \
	extended-ref/regions.c \
	extended-ref/value.c

check_PROGRAMS += tests/unit/extended_barrier
tests_unit_extended_barrier_SOURCES = tests/unit/extended_barrier.c \
	extended-ref/barrier_state.c extended-ref/barrier_state.h
