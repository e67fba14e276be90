# other/firehose: a cache of memory registrations.
noinst_LTLIBRARIES += other/firehose/libfirehose.la
other_firehose_libfirehose_la_SOURCES = other/firehose/include/firehose.h other/firehose/pools.c \
	other/firehose/table.c other/firehose/table.h other/firehose/local.c other/firehose/local.h \
	other/firehose/remote.c other/firehose/remote.h other/firehose/target.c other/firehose/target.h \
	other/firehose/wire.c other/firehose/wire.h other/firehose/engine.h other/firehose/firehose.c \
	other/firehose/remote_calls.c other/firehose/hit.h other/firehose/work.c
nobase_dist_doc_DATA += other/firehose/README.md
