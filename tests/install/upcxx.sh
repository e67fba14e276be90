# upcxx.sh - part of run.sh: the steps that UPC++ takes to build its runtime on GASNet-EX, on what is installed for it.
# shellcheck shell=bash
# shellcheck disable=SC2154 # moved and conduits are of run.sh
upcxx=$tap_scratch/upcxx
mkdir -p "$upcxx/opt" && cd "$upcxx" || exit 1
takes_for_sources() { # what its own configure looks for
    local tree=$moved/share/gasnet/upcxx part
    [ -e "$tree/gasnet_config.h.in" ] && [ -e "$tree/gasnetex.h" ] && [ -e "$tree/gasnet.h" ] && [ -x "$tree/configure" ] || return
    for part in MAJOR MINOR; do grep -m1 "EX_SPEC_VERSION_$part" "$tree"/docs/GASNet-EX.* | grep -qE "EX_SPEC_VERSION_$part [0-9]+" || return; done
}
try "UPC++: the tree is taken for a source tree of GASNet-EX" takes_for_sources
configured() { # ARGUMENT...
    (cd opt && "$moved/share/gasnet/upcxx/configure" --disable-parsync --enable-seq --enable-par --enable-pthreads \
        --disable-segment-everything --disable-ibv-rcv-thread --with-cc=cc --with-cxx=c++ --with-cflags=-O2 "$@")
}
says_configuration() { configured --disable-debug | grep 'GASNet configuration:' && [ -e opt/gasnet_config.h ]; }
try "UPC++: configured" says_configuration
lists_conduits() { [ "$(make -s -C opt echovar VARNAME=CONDUITS | tr ' ' '\n' | sort)" = "$(printf '%s\n' $conduits | sort)" ]; }
try "UPC++: make tells the conduits" lists_conduits
fills_template() {
    echo '@PERL@ @AR@ @CONDUITS@ @EXESUFFIX@ @CC_FAMILY@ @CXX_FAMILY@ @CC_SUBFAMILY@ @CXX_SUBFAMILY@ @GASNET_THREAD_DEFINES@ @GASNET_THREAD_LIBS@' >opt/t.in
    (cd opt && CONFIG_FILES='' ./config.status --file=a:t.in && CONFIG_FILES=t ./config.status && ./config.status --file=-:t.in | cmp - a) &&
        cmp opt/a opt/t && ! grep @ opt/t && grep lpthread opt/t
}
try "UPC++: a template is filled in" fills_template
no_debug_library() { configured --enable-debug 2>&1 | grep -q "needs a second one, made by configure --enable-debug --prefix=$moved/debug"; }
try "UPC++: the debug mode asks for a debug library" no_debug_library
no_conduit() { configured --enable-ibv --disable-auto-conduit-detect && [ "$(make -s -C opt echovar VARNAME=CONDUITS)" = ibv ]; }
try "UPC++: only the conduits that are asked for" no_conduit

cp "$source_top/examples/hello.c" hello.cc
cat >client.mk <<'END'
include $(FRAGMENT)
prog: hello.cc
	$(GASNET_CXX) $(GASNET_CXXCPPFLAGS) $(GASNET_CXXFLAGS) -c -o hello.o hello.cc
	$(GASNET_LD) $(GASNET_LDFLAGS) -o prog hello.o $(GASNET_LIBS)
END
runs_by() { # FOLDER LAUNCHER MODE
    rm -f prog hello.o
    make -s -f client.mk prog FRAGMENT="$1/$conduit-$3.mak" ${4+"GASNET_PREFIX=$4"} && grep -qa 'GASNetConduitName: ' prog && says_hello "$2" -n 2 ./prog
}
configured --disable-debug >>"$log" 2>&1
for conduit in $conduits; do
    for mode in seq par; do
        made() { make -C "opt/$conduit-conduit" "$conduit-$mode.mak" && make -C "opt/$conduit-conduit" $mode && [ -s "opt/$conduit-conduit/libgasnet-$conduit-$mode.a" ]; }
        try "UPC++: $conduit $mode is made" made
        try "UPC++: a program of that tree runs" runs_by "opt/$conduit-conduit" "opt/$conduit-conduit/contrib/gasnetrun_$conduit" $mode
    done
done
try "UPC++: make all, install and clean" make -C opt all install clean prefix="$upcxx/there/gasnet.opt"
conduit=${conduits%% *}
# The installed fragments name the place where the tree was before it was moved.
try "UPC++: a program of what it installs runs" runs_by "there/gasnet.opt/include/$conduit-conduit" "there/gasnet.opt/bin/gasnetrun_$conduit" seq "$moved"
cd "$tap_scratch" || exit 1
