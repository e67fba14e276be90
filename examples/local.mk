# examples: short programs a newcomer reads first; installed as text, beside the README.
examples_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/$(FIRST_CONDUIT)-conduit \
  $(DEBUG_DEFINE) -DGASNET_SEQ
# Real executables rather than libtool's wrapper scripts: debuggers and launchers look into them.
examples_ldflags = -no-install

noinst_PROGRAMS += examples/hello examples/ring examples/heat examples/halo examples/latency examples/samplesort examples/cg examples/ex

examples_hello_SOURCES = examples/hello.c
examples_hello_CPPFLAGS = $(examples_cppflags)
examples_hello_LDFLAGS = $(examples_ldflags)
examples_hello_LDADD = libgasnet-$(FIRST_CONDUIT)-seq.la

examples_ring_SOURCES = examples/ring.c
examples_ring_CPPFLAGS = $(examples_cppflags)
examples_ring_LDFLAGS = $(examples_ldflags)
examples_ring_LDADD = libgasnet-$(FIRST_CONDUIT)-seq.la

examples_heat_SOURCES = examples/heat.c
examples_heat_CPPFLAGS = $(examples_cppflags)
examples_heat_LDFLAGS = $(examples_ldflags)
examples_heat_LDADD = libgasnet-$(FIRST_CONDUIT)-seq.la -lm

examples_halo_SOURCES = examples/halo.c
examples_halo_CPPFLAGS = $(examples_cppflags)
examples_halo_LDFLAGS = $(examples_ldflags)
examples_halo_LDADD = libgasnet-$(FIRST_CONDUIT)-seq.la

examples_latency_SOURCES = examples/latency.c
examples_latency_CPPFLAGS = $(examples_cppflags)
examples_latency_LDFLAGS = $(examples_ldflags)
examples_latency_LDADD = libgasnet-$(FIRST_CONDUIT)-seq.la

examples_samplesort_SOURCES = examples/samplesort.c
examples_samplesort_CPPFLAGS = $(examples_cppflags)
examples_samplesort_LDFLAGS = $(examples_ldflags)
examples_samplesort_LDADD = libgasnet-$(FIRST_CONDUIT)-seq.la

examples_cg_SOURCES = examples/cg.c
examples_cg_CPPFLAGS = $(examples_cppflags)
examples_cg_LDFLAGS = $(examples_ldflags)
examples_cg_LDADD = libgasnet-$(FIRST_CONDUIT)-seq.la -lm

examples_ex_SOURCES = examples/ex.c
examples_ex_CPPFLAGS = $(examples_cppflags)
examples_ex_LDFLAGS = $(examples_ldflags)
examples_ex_LDADD = libgasnet-$(FIRST_CONDUIT)-seq.la
