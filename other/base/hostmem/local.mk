# other/base/hostmem: memory that processes of one host share; absorbed by the conduits' libraries and by libsofthca.
noinst_LTLIBRARIES += other/base/hostmem/libhostmem.la
other_base_hostmem_libhostmem_la_SOURCES = other/base/hostmem/hostmem.h other/base/hostmem/hostmem.c other/base/hostmem/sleepers.h other/base/hostmem/sleepers.c
other_base_hostmem_libhostmem_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
nobase_dist_doc_DATA += other/base/hostmem/README.md
