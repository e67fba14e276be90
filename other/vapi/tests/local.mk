# other/vapi/tests: libvapi's own tests, run by run.sh.
EXTRA_DIST += other/vapi/tests/run.sh other/vapi/tests/headers.sh other/vapi/tests/names.c other/vapi/tests/bench.sh
vapi_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/other/vapi/include
vapi_ldadd = tests/unit/libcheck.a libvapi.la libsofthca.la $(VERBS_LIBS) -lpthread
check_PROGRAMS += other/vapi/tests/rules
other_vapi_tests_rules_SOURCES = other/vapi/tests/rules.c other/vapi/tests/qp_pair.c other/vapi/tests/qp_pair.h other/vapi/tests/hca.c other/vapi/tests/memory.c other/vapi/tests/other.c other/vapi/tests/poll.c other/vapi/tests/qp.c \
	other/vapi/tests/post.c other/vapi/tests/tables.c other/vapi/tests/destroy_races.c other/vapi/src/errors.c other/vapi/src/event_record.c other/vapi/src/qp_rules.c
other_vapi_tests_rules_CPPFLAGS = $(vapi_cppflags)
other_vapi_tests_rules_LDADD = $(vapi_ldadd)
# headers.sh links with these
EXTRA_other_vapi_tests_rules_DEPENDENCIES = libmosal.la libmpga.la libmtl_common.la
check_PROGRAMS += other/vapi/tests/hcas
other_vapi_tests_hcas_SOURCES = other/vapi/tests/hcas.c other/vapi/tests/qp_pair.c other/vapi/tests/qp_pair.h
other_vapi_tests_hcas_CPPFLAGS = $(vapi_cppflags)
other_vapi_tests_hcas_LDADD = $(vapi_ldadd)
check_PROGRAMS += other/vapi/tests/overlap
other_vapi_tests_overlap_SOURCES = other/vapi/tests/overlap.c tests/gate.c tests/gate.h other/vapi/tests/qp_pair.c other/vapi/tests/qp_pair.h
other_vapi_tests_overlap_CPPFLAGS = $(vapi_cppflags)
other_vapi_tests_overlap_LDADD = $(vapi_ldadd)
check_PROGRAMS += other/vapi/tests/pingpong other/vapi/tests/eager
other_vapi_tests_pingpong_SOURCES = other/vapi/tests/pingpong.c other/vapi/tests/qp_pair.c other/vapi/tests/qp_pair.h
other_vapi_tests_pingpong_CPPFLAGS = $(vapi_cppflags)
other_vapi_tests_pingpong_LDADD = $(vapi_ldadd)
other_vapi_tests_eager_SOURCES = other/vapi/tests/eager.c other/vapi/tests/qp_pair.c other/vapi/tests/qp_pair.h
other_vapi_tests_eager_CPPFLAGS = $(vapi_cppflags)
other_vapi_tests_eager_LDADD = $(vapi_ldadd)
check_PROGRAMS += other/vapi/tests/cost other/vapi/tests/cost_called
other_vapi_tests_cost_SOURCES = other/vapi/tests/cost.c other/vapi/tests/qp_pair.c other/vapi/tests/qp_pair.h
other_vapi_tests_cost_CPPFLAGS = $(vapi_cppflags)
other_vapi_tests_cost_LDADD = $(vapi_ldadd)
other_vapi_tests_cost_called_SOURCES = $(other_vapi_tests_cost_SOURCES)
other_vapi_tests_cost_called_CPPFLAGS = $(vapi_cppflags) -DVAPI_NO_INLINE
other_vapi_tests_cost_called_LDADD = $(vapi_ldadd)
