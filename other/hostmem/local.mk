# other/hostmem: memory that processes of one host share; absorbed by the conduits' libraries and by libsofthca.
noinst_LTLIBRARIES += other/hostmem/libhostmem.la
other_hostmem_libhostmem_la_SOURCES = other/hostmem/hostmem.h other/hostmem/hostmem.c other/hostmem/bell.h other/hostmem/bell.c
other_hostmem_libhostmem_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
nobase_dist_doc_DATA += other/hostmem/README.md
