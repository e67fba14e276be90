# other/handshake: connects queue pairs by datagrams; compiled into each library that uses it, with libenv_table.la.
handshake_sources = other/handshake/handshake.c other/handshake/handshake.h \
	other/handshake/handshake_wire.c other/handshake/handshake_wire.h \
	other/handshake/seal.c other/handshake/seal.h
EXTRA_DIST += other/handshake/README.md
