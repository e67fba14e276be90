# other/firehose: a cache of memory registrations; the state machines are compiled into their tests alone as well.
firehose_machines = other/firehose/table.c other/firehose/table.h other/firehose/local.c other/firehose/local.h \
	other/firehose/remote.c other/firehose/remote.h other/firehose/target.c other/firehose/target.h
firehose_sources = $(firehose_machines) other/firehose/include/firehose.h other/firehose/pools.c \
	other/firehose/wire.c other/firehose/wire.h other/firehose/engine.h other/firehose/firehose.c \
	other/firehose/remote_calls.c other/firehose/work.c
noinst_LTLIBRARIES += other/firehose/libfirehose.la
other_firehose_libfirehose_la_SOURCES = $(firehose_sources)
EXTRA_DIST += other/firehose/README.md
