# other/connect/roce: which GIDs of a port are used; compiled into each library that uses it.  libvapi reads tables and does
# not choose, vapi-conduit chooses and reads by libvapi, so that no function is in both.
roce_sources = other/connect/roce/roce.c other/connect/roce/roce.h
roce_table_sources = other/connect/roce/table.c other/connect/roce/table.h other/connect/roce/roce.h
EXTRA_DIST += other/connect/roce/README.md
