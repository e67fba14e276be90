# other/connect/handshake: connects queue pairs by datagrams; compiled into each library that uses it, with libenv_table.la.
handshake_sources = other/connect/handshake/handshake.c other/connect/handshake/handshake.h \
	other/connect/handshake/handshake_wire.c other/connect/handshake/handshake_wire.h \
	other/connect/handshake/seal.c other/connect/handshake/seal.h
EXTRA_DIST += other/connect/handshake/README.md
