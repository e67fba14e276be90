#!/bin/bash
# configure.sh - the options of configure that older documents of the conduits name (IB-B7): each is taken for its
# successor or refused in words, and so is a name of ours that is mistyped; then the defaults of the build.
# family: configure
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
configure=$(cd "$TEST_SOURCE/.." && pwd)/configure
cd "$tap_scratch" || exit 1
unset CC CFLAGS CPPFLAGS LDFLAGS

refused() { # OPTION PATTERN
    local wrong=''
    timeout 120 "$configure" -q "$1" >log 2>&1 </dev/null && wrong='; configure goes on'
    [ "$(grep -c '^configure: error: ' log)" = 1 ] && grep -qE "^configure: error: $2" log || wrong+='; not in one line that says why'
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$1 is refused${wrong:+ (${wrong#; })}"
    [ -z "$wrong" ] || tap_tail log
}
refused --disable-vapi-inline-puts '--disable-vapi-inline-puts .* GASNET_INLINESEND_LIMIT=0 '
refused --disable-ibv-inline-puts '--disable-ibv-inline-puts .* GASNET_INLINESEND_LIMIT=0 '
refused --with-pthreads-include=/usr/include/nptl '.* CPPFLAGS=-I/usr/include/nptl$'
refused --with-pthreads-lib=/usr/lib64/nptl '.* LDFLAGS=-L/usr/lib64/nptl$'
refused --with-pthreads-patch=some.patch '--with-pthreads-patch: .*leave it out$'
refused --with-vapi-spwaner=mpi 'unknown options: --with-vapi-spwaner '
refused --with-vapi-bootstrap=rsh '--with-vapi-spawner=rsh: must be ssh, mpi or pmix$'
refused --with-portals-chunk-size=4096 '--with-portals-chunk-size=4096: must be 1024 or 2048$'

# All that are taken, in one run.
"$configure" -q --disable-dependency-tracking --with-vapi-bootstrap=ssh --enable-vapi-force-poll-lock --with-ibv-spawner=ssh \
    --with-ibv-bootstrap=mpi --with-segment-mmap-max=3GB --with-portals-chunk-size=1024 >log 2>&1 </dev/null
status=$?
tap_ok $status "the names that are taken, and none that is not known"
[ $status -eq 0 ] || { tap_tail log && tap_end; }
warned() { grep -qx "configure: WARNING: --$1 is the old name of --$2" log; }
made() { grep -qx "$1" Makefile; }
warned with-vapi-bootstrap with-vapi-spawner && made 'VAPI_SPAWNER = ssh'
tap_ok $? "--with-vapi-bootstrap is --with-vapi-spawner (IB-B7)"
warned with-ibv-bootstrap with-ibv-spawner && made 'IBV_SPAWNER = ssh'
tap_ok $? "where both are given the new name decides (IB-B7)"
warned enable-vapi-force-poll-lock enable-vapi-poll-lock && made 'VAPI_POLL_LOCK = 1' && made 'IBV_POLL_LOCK = 0'
tap_ok $? "--enable-vapi-force-poll-lock is --enable-vapi-poll-lock (IB-B7)"
warned with-segment-mmap-max with-max-segsize && grep -qx '#define GASNETI_MAX_SEGSIZE_TEXT "3GB"' include/gasnet_config.h
tap_ok $? "--with-segment-mmap-max is --with-max-segsize (IB-B7, PO-21)"
grep -qx '#define GASNETI_PORTALS_CHUNK 1024' include/gasnet_config.h
tap_ok $? "--with-portals-chunk-size=1024 makes the chunks that size (PO-19)"
! grep -q 'unrecognized' log
tap_ok $? "no name is unknown to configure"
made 'PORTALS_SPAWNER = ssh'
tap_ok $? "the default spawner is ssh, with or without an MPI (IB-B2)"
tap_end
