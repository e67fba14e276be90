# smp-conduit: core without a network.  What it has in common with other conduits is written by
# core/conduits.sh.
smp_network_sources = smp-conduit/conduit_network.h smp-conduit/network.c smp-conduit/params.def
smp_launcher_cppflags = -DGASNETRUN_HERE_ALONE=1
smp_spawner = other/launch/libforked.la
# Memory that ranks have not mapped is reached by messages.
smp_extended = $(extended_by_am)
smp_extended_cppflags = -DGASNETE_BY_AM
