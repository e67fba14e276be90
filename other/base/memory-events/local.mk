# other/base/memory-events: reports that the program gives memory back.
noinst_LTLIBRARIES += other/base/memory-events/libmemory_events.la
other_base_memory_events_libmemory_events_la_SOURCES = other/base/memory-events/memory_events.h other/base/memory-events/memory_events.c \
	other/base/memory-events/effects.h other/base/memory-events/effects.c other/base/memory-events/hook.h other/base/memory-events/hook.c \
	other/base/memory-events/interpose.h other/base/memory-events/interpose.c other/base/memory-events/known.c other/base/memory-events/lengths.h other/base/memory-events/lengths.c other/base/memory-events/changes.c other/base/memory-events/mappings.h other/base/memory-events/mappings.c other/base/memory-events/patch.h other/base/memory-events/patch.c \
	other/base/memory-events/proof.h other/base/memory-events/proof.c other/base/memory-events/sites.h other/base/memory-events/sites.c
nobase_dist_doc_DATA += other/base/memory-events/README.md
