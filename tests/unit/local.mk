# tests/unit: state machines, parsers and engines of the core, in one process each; TAP on stdout.
check_LIBRARIES = tests/unit/libcheck.a
tests_unit_libcheck_a_SOURCES = tests/unit/check.c tests/unit/check.h
EXTRA_DIST += tests/unit/run.sh

check_PROGRAMS += tests/unit/credits tests/unit/exit_protocol tests/unit/ports
tests_unit_credits_SOURCES = tests/unit/credits.c core/credits.h
tests_unit_credits_LDADD = tests/unit/libcheck.a
tests_unit_exit_protocol_SOURCES = tests/unit/exit_protocol.c core/exit_protocol.c
tests_unit_exit_protocol_LDADD = tests/unit/libcheck.a
tests_unit_ports_SOURCES = tests/unit/ports.c core/ib/ports.c
tests_unit_ports_LDADD = tests/unit/libcheck.a
