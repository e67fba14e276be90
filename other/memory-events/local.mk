# other/memory-events: reports that the program gives memory back.
noinst_LTLIBRARIES += other/memory-events/libmemory_events.la
other_memory_events_libmemory_events_la_SOURCES = other/memory-events/memory_events.h other/memory-events/memory_events.c \
	other/memory-events/effects.h other/memory-events/effects.c other/memory-events/hook.h other/memory-events/hook.c \
	other/memory-events/interpose.h other/memory-events/interpose.c other/memory-events/known.h other/memory-events/known.c other/memory-events/lengths.h other/memory-events/lengths.c other/memory-events/changes.c other/memory-events/mappings.h other/memory-events/mappings.c other/memory-events/patch.h other/memory-events/patch.c \
	other/memory-events/proof.h other/memory-events/proof.c other/memory-events/sites.h other/memory-events/sites.c
nobase_dist_doc_DATA += other/memory-events/README.md
