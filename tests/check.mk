# What the tests of all parts share, and the targets that run them.
EXTRA_DIST += tests/unit/run.sh tests/bench/callgrind.sh tests/tap.sh tests/netns.sh tests/check.sh tests/descriptors.h
check_LIBRARIES += tests/unit/libcheck.a
# Without the u that today's ar ignores with a warning.
ARFLAGS = cr

tests_unit_libcheck_a_SOURCES = tests/unit/check.c tests/unit/check.h

phony += check-programs
# `all` runs a make of its own: beside it this one would make the same files at the same time.
check-programs: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES)
check-local:
	TEST_BUILD=$(abs_top_builddir) TEST_NO_BUILD=1 $(srcdir)/tests/check.sh

# The projects in other/, each alone: `make softhca` builds one, `make check-softhca` runs its tests.
projects = softhca vapi portals3 dapl
phony += $(projects) $(projects:%=check-%)
softhca: $(softhca_made)
vapi: $(vapi_made)
portals3: $(portals3_made)
dapl: $(dapl_made)
check-softhca: softhca $(filter softhca_% other/softhca/%,$(check_PROGRAMS))
check-vapi: vapi $(filter other/vapi/%,$(check_PROGRAMS))
check-portals3: portals3 $(filter other/portals3/%,$(check_PROGRAMS))
check-dapl: dapl $(filter other/dapl/%,$(check_PROGRAMS))
$(projects:%=check-%):
	TEST_BUILD=$(abs_top_builddir) TEST_NO_BUILD=1 TEST_FOLDERS=$(@:check-%=other/%/tests) $(srcdir)/tests/check.sh
