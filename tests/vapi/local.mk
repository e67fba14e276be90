# tests/vapi: libvapi's own tests, run by run.sh.
EXTRA_DIST += tests/vapi/run.sh tests/vapi/headers.sh tests/vapi/names.c tests/bench/vapi.sh
vapi_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/other/vapi/include
vapi_ldadd = libvapi.la libsofthca.la $(VERBS_LIBS) -lpthread
check_PROGRAMS += tests/vapi/rules
tests_vapi_rules_SOURCES = tests/vapi/rules.c tests/vapi/qp_pair.c tests/vapi/qp_pair.h tests/vapi/hca.c tests/vapi/memory.c tests/vapi/other.c tests/vapi/poll.c tests/vapi/qp.c \
	tests/vapi/post.c tests/vapi/tables.c tests/vapi/destroy_races.c other/vapi/errors.c other/vapi/event_record.c other/vapi/qp_rules.c
tests_vapi_rules_CPPFLAGS = $(vapi_cppflags)
tests_vapi_rules_LDADD = $(vapi_ldadd)
# headers.sh links with these
EXTRA_tests_vapi_rules_DEPENDENCIES = libmosal.la libmpga.la libmtl_common.la
check_PROGRAMS += tests/vapi/hcas
tests_vapi_hcas_SOURCES = tests/vapi/hcas.c tests/vapi/qp_pair.c tests/vapi/qp_pair.h
tests_vapi_hcas_CPPFLAGS = $(vapi_cppflags)
tests_vapi_hcas_LDADD = $(vapi_ldadd)
check_PROGRAMS += tests/vapi/overlap
tests_vapi_overlap_SOURCES = tests/vapi/overlap.c tests/gate.c tests/gate.h tests/vapi/qp_pair.c tests/vapi/qp_pair.h
tests_vapi_overlap_CPPFLAGS = $(vapi_cppflags)
tests_vapi_overlap_LDADD = $(vapi_ldadd)
check_PROGRAMS += tests/vapi/pingpong tests/vapi/eager
tests_vapi_pingpong_SOURCES = tests/vapi/pingpong.c tests/vapi/qp_pair.c tests/vapi/qp_pair.h
tests_vapi_pingpong_CPPFLAGS = $(vapi_cppflags)
tests_vapi_pingpong_LDADD = $(vapi_ldadd)
tests_vapi_eager_SOURCES = tests/vapi/eager.c tests/vapi/qp_pair.c tests/vapi/qp_pair.h
tests_vapi_eager_CPPFLAGS = $(vapi_cppflags)
tests_vapi_eager_LDADD = $(vapi_ldadd)
check_PROGRAMS += tests/vapi/cost tests/vapi/cost_called
tests_vapi_cost_SOURCES = tests/vapi/cost.c tests/vapi/qp_pair.c tests/vapi/qp_pair.h
tests_vapi_cost_CPPFLAGS = $(vapi_cppflags)
tests_vapi_cost_LDADD = $(vapi_ldadd)
tests_vapi_cost_called_SOURCES = $(tests_vapi_cost_SOURCES)
tests_vapi_cost_called_CPPFLAGS = $(vapi_cppflags) -DVAPI_NO_INLINE
tests_vapi_cost_called_LDADD = $(vapi_ldadd)
