# The GASNet libraries and what needs them; Makefile.am includes it by parts.mk, unless there is no core/ in the tree.
if GASNET
nobase_dist_doc_DATA += README.md HACKING.md SECURITY.md doc/building.md doc/running.md doc/ending.md doc/troubles.md \
	doc/hangs.md doc/tracing.md doc/pictures/trace-report.png doc/pictures/why.png doc/pictures/top.png doc/pictures/log.png doc/pictures/start.png doc/gasnet-ex.md doc/clients.md doc/names.md doc/porting.md ibv-conduit/README.md vapi-conduit/README.md portals-conduit/README.md smp-conduit/README.md \
	other/launch/README.md examples/hello.c examples/ring.c examples/heat.c examples/halo.c examples/latency.c \
	examples/samplesort.c examples/cg.c examples/ex.c
EXTRA_DIST += tests/format.sh tests/cppcheck.sh tests/install/run.sh tests/install/binaries.sh tests/install/upcxx.sh tests/install/manual.sh tests/install/cmake.sh tests/install/cmake/CMakeLists.txt \
	tests/install/cmake/ticks.c tests/install/cmake/wanted/CMakeLists.txt tests/install/recipe.py tests/install/dist.sh tests/install/projects.sh
CLEANFILES += sim-report.html

include include/local.mk
include other/base/tools.mk
include other/base/memory-events/local.mk
include other/connect/rdmacm/local.mk
include other/firehose/local.mk
include other/launch/local.mk
include other/launch/programs.mk
include doc/local.mk
include core/local.mk
include extended-ref/local.mk
include ibv-conduit/local.mk
include vapi-conduit/local.mk
include portals-conduit/local.mk
include smp-conduit/local.mk
include tests/local.mk
include conduits.mk
include examples/local.mk
include tests/unit/local.mk
include tests/tools/local.mk
include tests/spawner/local.mk
include tests/sim/local.mk

# What is the same for every conduit.
$(srcdir)/conduits.mk: core/conduits.sh tests/programs/programs.table
	$(srcdir)/core/conduits.sh >$@.new && mv $@.new $@
endif
