# other/roce: which GIDs of a port are used; compiled into each library that uses it.  libvapi reads tables and does
# not choose, vapi-conduit chooses and reads by libvapi, so that no function is in both.
roce_sources = other/roce/roce.c other/roce/roce.h
roce_table_sources = other/roce/table.c other/roce/table.h other/roce/roce.h
EXTRA_DIST += other/roce/README.md
