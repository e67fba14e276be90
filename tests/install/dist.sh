#!/bin/bash
# dist.sh - the release tarball: made, unpacked, built out of its tree without autotools, installed to
# a prefix of its own, and used from there through the make fragment as it is.  What another configuration of the unpacked tree
# makes is the same, byte by byte.
# family: dist
. "$(dirname "$0")/../tap.sh" || exit 1
unset LD_LIBRARY_PATH MAKEFLAGS MFLAGS MAKELEVEL

stage() { # NAME COMMAND...: one step; the rest makes no sense without it
    local name=$1 log
    shift
    log=$TEST_LOG/dist-$((tap_count + 1)).log
    "$@" >"$log" 2>&1 </dev/null
    local status=$?
    tap_ok $status "$name"
    [ $status -eq 0 ] || { tap_tail "$log" && tap_end; }
}

make_dist() {
    rm -f "$TEST_BUILD"/gasnet-*.tar.xz
    (umask 077 && make -C "$TEST_BUILD" dist XZ_OPT=-1) && mv "$TEST_BUILD"/gasnet-*.tar.xz "$tap_scratch/first.tar.xz"
}
unpack() {
    mkdir "$tap_scratch/build" && cd "$tap_scratch" && tar xf first.tar.xz &&
        mv gasnet-* source && chmod -R a-w source
}
# Every file of the source tree that an object of the whole build was made of.
used() {
    find "$TEST_BUILD" \( -name '*.Po' -o -name '*.Plo' \) -exec cat {} + | tr ' ' '\n' | grep -E '\.(h|c|cc|def)$' | sort -u |
        (cd "$TEST_BUILD" && xargs realpath -q) | grep -v "^$(realpath "$TEST_BUILD")/" | sed -n "s|^$(realpath "$TEST_SOURCE/..")/||p" | sort -u
}
complete() {
    used >"$tap_scratch/used" && [ "$(wc -l <"$tap_scratch/used")" -gt 500 ] &&
        (cd "$tap_scratch/source" && xargs ls >/dev/null) <"$tap_scratch/used"
}
# Optimised builds, static libraries and the other conduits are those of the other families.
configure() {
    cd "$tap_scratch/build" && ../source/configure --prefix="$tap_scratch/there" --disable-static --disable-vapi --disable-portals --disable-smp \
        CFLAGS=-O0 "$@"
}
client() {
    cd "$tap_scratch" && cp source/examples/hello.c . && cat >Makefile <<END && make
include $tap_scratch/there/include/ibv-conduit/ibv-seq.mak
hello: hello.c
	\$(GASNET_CC) \$(GASNET_CPPFLAGS) \$(GASNET_CFLAGS) \$(GASNET_LDFLAGS) -o hello hello.c \$(GASNET_LIBS)
END
}
trap 'chmod -R u+w "$tap_scratch"; rm -rf "$tap_scratch"' EXIT

stage "make dist" make_dist
one_owner_and_time() { [ "$(tar --full-time -tvf "$tap_scratch/first.tar.xz" | awk '{ print $2, $4, $5 }' | sort -u | tee /dev/stderr | wc -l)" = 1 ]; }
stage "all files have one owner and one time" one_owner_and_time
stage "the tarball unpacks" unpack
stage "it has every source and header that the build has used" complete
helps() {
    local conduit option
    for conduit in ibv vapi portals; do
        for option in "--disable-$conduit" "--with-$conduit-spawner" "--disable-$conduit-rcv-thread"; do
            echo "$option" && "$tap_scratch/source/configure" --help | grep -qE -- "^ *$option([ =]|\$)" || return
        done
    done
}
stage "configure --help names the options of every conduit" helps
same_files() {
    mkdir "$tap_scratch/bare" && cd "$tap_scratch/bare" &&
        ../source/configure -q --disable-static --disable-vapi --disable-portals ac_cv_header_dat2_udat_h=no && make dist XZ_OPT=-1 &&
        diff <(tar tf gasnet-*.tar.xz | grep -v '/$' | cut -d/ -f2- | sort) <(cd ../source && find . -type f | cut -c3- | sort)
}
same_bytes() { # else, what differs
    cmp gasnet-*.tar.xz ../first.tar.xz || { diff <(tar tvf gasnet-*.tar.xz) <(tar tvf ../first.tar.xz) && return 1; }
}
stage "a tree that builds one conduit, without the headers of DAT, makes a tarball of the same files" same_files
cd "$tap_scratch/bare" || exit 1
stage "... which has the same bytes" same_bytes
rm "$tap_scratch/first.tar.xz"
stage "configure, from a read-only source tree" configure
stage "make" make -C "$tap_scratch/build" -j "$(nproc)" AUTOCONF=false AUTOMAKE=false ACLOCAL=false
silent_again() { [ -z "$(configure -q 2>&1 | tee /dev/stderr)" ]; }
stage "configure again, which says nothing" silent_again
stage "make install" make -C "$tap_scratch/build" install
stage "a client compiles with the make fragment as it is" client
stage "and runs" timeout -k 5 60 "$tap_scratch/there/bin/gasnetrun_ibv" -n 2 "$tap_scratch/hello"
stage "make uninstall" make -C "$tap_scratch/build" uninstall
left_over() { ! find "$tap_scratch/there" ! -type d | grep .; }
stage "which leaves no file" left_over
stage "make distclean" make -C "$tap_scratch/build" distclean
tap_end
