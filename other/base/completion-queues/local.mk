# other/base/completion-queues: completion queues that a thread sleeps on; dapl_cq.h is the interface to the device.
# In libgasnet-ibv too, which exports no name of it.
noinst_LTLIBRARIES += other/base/completion-queues/libcompletion_queues.la
completion_queues = other/base/completion-queues/dapl_cq.h other/base/completion-queues/channel.h \
	other/base/completion-queues/channel_set.c other/base/completion-queues/channel_set.h \
	other/base/completion-queues/cq_verbs.c other/base/completion-queues/os.c other/base/completion-queues/os.h
other_base_completion_queues_libcompletion_queues_la_SOURCES = $(completion_queues)
other_base_completion_queues_libcompletion_queues_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -DDAPL_CQ_INSIDE
