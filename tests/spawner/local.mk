# tests/spawner: included by core/gasnet.mk
check_PROGRAMS += tests/spawner/job tests/spawner/unit
tests_spawner_job_SOURCES = tests/spawner/job.c
tests_spawner_job_LDADD = other/launch/libspawner.la other/base/libtools.la
tests_spawner_unit_SOURCES = tests/spawner/unit.c
tests_spawner_unit_LDADD = tests/unit/libcheck.a other/launch/liblauncher.la
EXTRA_DIST += tests/spawner/run.sh tests/spawner/output.sh tests/spawner/fake-ssh tests/spawner/tapped-ssh tests/spawner/knock tests/spawner/flood tests/spawner/terminal
