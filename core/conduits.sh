#!/bin/sh
# conduits.sh - writes conduits.mk, the part of the build that is the same for every conduit: its
# libraries, launcher and client files, and the test programs, each once per thread mode.
#
# Called by Bootstrap, and by make when this file or tests/programs/programs.table has changed.  The parts that only
# one conduit has are in its folder's local.mk; core/conduits.m4 decides which conduits are built.
set -eu
root=$(dirname "$0")/..
conduits="ibv vapi portals smp"
upper() { echo "$1" | tr '[:lower:]' '[:upper:]'; }

# The parts of a conduit that do not depend on the thread mode: include folder, launcher, client files.
conduit() {
    sed -e "s/@c@/$1/g" -e "s/@C@/$(upper "$1")/g" <<'END'

if CONDUIT_@C@
@c@_core_sources = $(core_sources) $(@c@_network_sources)
if @C@_RCV_THREAD
@c@_core_sources += $(receive_thread_sources) $(@c@_receive_thread_sources)
endif
@c@_conduit_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/@c@-conduit \
	-I$(top_srcdir)/@c@-conduit $(@c@_network_cppflags) -DGASNETC_PARAMS_DEF='"@c@-conduit/params.def"' $(DEBUG_DEFINE) -DGASNETI_NO_LINKCHECK -DGASNETC_RCV_THREAD=$(@C@_RCV_THREAD)
@c@_conduit_libadd = other/base/libtools.la $(@c@_spawner) other/firehose/libfirehose.la other/base/hostmem/libhostmem.la other/base/memory-events/libmemory_events.la $(@c@_network_libs) -lpthread -ldl -lm

@c@includedir = $(includedir)/@c@-conduit
@c@include_HEADERS = include/@c@-conduit/gasnet_conduit.h include/@c@-conduit/gasnet_core.h
@c@fragmentdir = $(includedir)/@c@-conduit
@c@fragment_DATA = $(packaging)/@c@-seq.mak $(packaging)/@c@-parsync.mak $(packaging)/@c@-par.mak
conduit_fragments += $(@c@fragment_DATA)
conduit_facts += @c@_spawner='$(@C@_SPAWNER)' @c@_libs='$(@c@_client_libs)' @c@_own='$(@c@_own_libs)'

bin_PROGRAMS += gasnetrun_@c@
gasnetrun_@c@_SOURCES = $(GASNETRUN_SOURCES) core/params/params_help.c core/params/params.def @c@-conduit/params.def
gasnetrun_@c@_CPPFLAGS = $(AM_CPPFLAGS) $(SPAWNER_DEFINES) -DGASNETC_PARAMS_DEF='"@c@-conduit/params.def"' \
	$(@c@_launcher_cppflags) -DGASNETRUN_CONDUIT='"@C@"' -DGASNETRUN_NAME='"@c@"' -DGASNETRUN_SPAWNER='"$(@C@_SPAWNER)"' \
	-DGASNETRUN_DOCTOR='"gasnet-doctor-@c@"' -DGASNETRUN_LIBDIR='"$(pkglibdir)"'
gasnetrun_@c@_LDADD = other/launch/liblauncher.la other/base/libenv_table.la
endif
END
}

# The program behind gasnetrun --doctor, of conduits that have devices.
doctor() {
    sed -e "s/@c@/$1/g" -e "s/@C@/$(upper "$1")/g" <<'END'

if CONDUIT_@C@
doctor_PROGRAMS += gasnet-doctor-@c@
gasnet_doctor_@c@_SOURCES = $(DOCTOR_SOURCES)
gasnet_doctor_@c@_CPPFLAGS = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/@c@-conduit $(DEBUG_DEFINE) -DGASNET_SEQ
gasnet_doctor_@c@_LDFLAGS = -static
gasnet_doctor_@c@_LDADD = libgasnet-@c@-seq.la other/base/libenv_table.la $(VERBS_LIBS)
endif
END
}

# One library per thread mode, shared and static, of the Extended API, the core and the network.  libwhole has the same,
# with the names of the inside, for tests.
# -shared is for libtool's compile step: the static library gets the objects of the shared one, so that
# each source is compiled once instead of twice.
# Sources are named for make dist once: of all modes together they are more than the length of an argument.
library() {
    sed -e "s/@c@/$1/g" -e "s/@C@/$(upper "$1")/g" -e "s/@m@/$2/g" -e "s/@M@/$(upper "$2")/g" \
        -e "s/@once@/$([ "$2" = seq ] || echo nodist_)/" <<'END'

if CONDUIT_@C@
noinst_LTLIBRARIES += @c@-conduit/libcore-@m@.la
@once@@c@_conduit_libcore_@m@_la_SOURCES = $(@c@_core_sources)
@c@_conduit_libcore_@m@_la_CPPFLAGS = $(@c@_conduit_cppflags) -DGASNET_@M@ -shared
@c@_conduit_libcore_@m@_la_CFLAGS = $(hot_cflags)
noinst_LTLIBRARIES += @c@-conduit/libwhole-@m@.la
@once@@c@_conduit_libwhole_@m@_la_SOURCES = $(extended_sources) $(extended_start) $(@c@_extended)
@c@_conduit_libwhole_@m@_la_CPPFLAGS = $(@c@_conduit_cppflags) $(@c@_extended_cppflags) -DGASNET_@M@ -shared
@c@_conduit_libwhole_@m@_la_CFLAGS = $(hot_cflags)
@c@_conduit_libwhole_@m@_la_LIBADD = @c@-conduit/libcore-@m@.la $(@c@_conduit_libadd)
lib_LTLIBRARIES += libgasnet-@c@-@m@.la
libgasnet_@c@_@m@_la_SOURCES =
libgasnet_@c@_@m@_la_LIBADD = @c@-conduit/libwhole-@m@.la
libgasnet_@c@_@m@_la_LDFLAGS = $(conduit_ldflags)
pkgconfig_DATA += $(packaging)/gasnet-@c@-@m@.pc
cmake_DATA += $(packaging)/GASNet-@c@-@m@.cmake
endif
END
}

# The library that every test program of one conduit and mode is linked with.
support() { # CONDUIT MODE
    sed -e "s/@c@/$1/g" -e "s/@C@/$(upper "$1")/g" -e "s/@m@/$2/g" -e "s/@M@/$(upper "$2")/g" <<'END'

if CONDUIT_@C@
test_@c@_@m@_cppflags = $(AM_CPPFLAGS) $(GASNET_INCLUDES) -I$(top_srcdir)/include/@c@-conduit \
	$(DEBUG_DEFINE) $(test_@m@_defines) -DGASNET_@M@
check_LIBRARIES += tests/libtest-@c@-@m@.a
tests_libtest_@c@_@m@_a_SOURCES = $(test_support)
tests_libtest_@c@_@m@_a_CPPFLAGS = $(test_@c@_@m@_cppflags)
tests_libtest_@c@_@m@_a_CFLAGS = $(test_@m@_cflags)
endif
END
}

# Where NAME.c is: in any folder of tests/, or where the name says.
source_of() { (cd "$root" && ls "tests/$1.c" tests/*/"$1.c" 2>/dev/null); }

# Executables rather than libtool's wrapper scripts, since the launcher looks for idents in them.
program() { # CONDUIT MODE NAME MORE-SOURCES CPPFLAGS LDFLAGS LIBS ONCE; LDFLAGS inside: linked with libwhole
    linked=${6:--no-install} library=libgasnet-$1-$2.la
    [ "$linked" != inside ] || linked=-no-install library=$1-conduit/libwhole-$2.la
    sed -e "s|@sources@|$4|" -e "s|@cppflags@|$5|" -e "s|@ldflags@|$linked|" -e "s|@library@|$library|" -e "s|@libs@|$7|" -e "s|@once@|${8-}|" \
        -e "s|@p@|$3|g" -e "s|@source@|$(source_of "$3")|" -e "s/@id@/tests_$(echo "$3" | tr / _)_$1_$2/g" \
        -e "s/@c@/$1/g" -e "s/@C@/$(upper "$1")/g" -e "s/@m@/$2/g" <<'END'

if CONDUIT_@C@
check_PROGRAMS += tests/@p@-@c@-@m@
@once@@id@_SOURCES = @source@ @sources@
@id@_CPPFLAGS = $(test_@c@_@m@_cppflags) @cppflags@
@id@_CFLAGS = $(test_@m@_cflags)
@id@_LDFLAGS = @ldflags@
@id@_LDADD = tests/libtest-@c@-@m@.a @library@ $(test_@m@_libs) @libs@
endif
END
}

# Fields of tests/programs/programs.table: name | modes | conduits | more sources | cppflags | ldflags | libraries
programs() {
    sed -e 's/#.*//' -e '/^ *$/d' -e 's/ *| */|/g' "$root/tests/programs/programs.table" |
        while IFS='|' read -r name modes only sources cppflags ldflags libs; do
            once=
            for c in $conduits; do
                case " ${only:-$c} " in *" $c "*) ;; *) continue ;; esac
                for m in $modes; do
                    case $m in *:*) [ "${m#*:}" = "$c" ] || continue && m=${m%:*} ;; esac
                    program "$c" "$m" "$name" "$sources" "$cppflags" "$ldflags" "$libs" $once
                    once=nodist_
                done
            done
        done
}

echo "# Written by core/conduits.sh."
for c in $conduits; do
    conduit "$c"
    [ "$c" = smp ] || doctor "$c"
    for m in seq parsync par; do library "$c" $m && support "$c" $m; done
done
programs
