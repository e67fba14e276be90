#!/bin/bash
# firmware.sh - an InfiniHost of old firmware, played by the software device: vapi-conduit refuses it, naming the
# configure flag, unless the library was built with that flag, when no two threads poll at once (IB-B4, VC-6).
#
# Builds such libraries, of both conduits, in $TEST_BUILD/poll-lock; the programs are the same.
# family: firmware TEST_CONDUIT=vapi
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1

export SOFTHCA=on TEST_HANG=60
log=$TEST_LOG/firmware.log

# job CONDUIT MODE PROGRAM SETTINGS...: two processes; sets `status`.
job() {
    local conduit=$1 mode=$2 program=$3
    shift 3
    env "$@" timeout -k 5 100 "$TEST_BUILD/gasnetrun_$conduit" -spawner=ssh -n 2 "$TEST_BUILD/tests/$program-$conduit-$mode" \
        >"$log" 2>&1 </dev/null
    status=$?
}
verdict() { # RESULT TEXT
    tap_ok "$1" "$2"
    [ "$1" = 0 ] || { tap_note "status $status" && tap_tail "$log"; }
}
infinihost() { echo "SOFTHCA_DEVICES=1x1;vendor_id=713,vendor_part_id=23108,fw_ver=$1"; }
# Nothing but the one line that says why.
refused() {
    [ "$status" = 1 ] && [ "$(grep -c 'FATAL ERROR' "$log")" = 1 ] &&
        grep -qE "FATAL ERROR .*softhca0: .*firmware $1, .*--enable-vapi-poll-lock" "$log"
}

locked() { sed -n "s/^${1^^}_POLL_LOCK = //p" "$TEST_BUILD/Makefile"; }
have=$(locked vapi)
if [ "$have" = 0 ]; then
    for version in 1.18.0 2.9.9; do
        job vapi seq testhello "$(infinihost $version)"
        refused "${version//./\\.}"
        verdict $? "IB-B4 vapi-conduit refuses an InfiniHost of firmware $version, and names the flag"
    done
fi
for version in 3.0.0 4.7.600; do
    job vapi seq testhello "$(infinihost $version)"
    [ "$status" = 0 ] && ! grep -q "firmware.*below" "$log"
    verdict $? "IB-B4 it takes one of firmware $version"
done
job vapi seq testhello "SOFTHCA_DEVICES=1x1;vendor_id=713,vendor_part_id=4099,fw_ver=2.42.5000"
verdict "$status" "IB-B4 and younger devices, whose firmware has such numbers too"
job ibv seq testhello "$(infinihost 1.18.0)"
verdict "$status" "IB-B4 ibv-conduit has no such rule"

# The two conduits differ in a shim, and in three lines that name the network. The connection manager has no counterpart in
# VAPI, and so nothing to share with it: it implements a record of functions of core/ib (meeting.h), where the conduit is
# built with it.
files=$(cd "$TEST_SOURCE/.." && find vapi-conduit ibv-conduit -name '*.[ch]' | LC_ALL=C sort | paste -sd' ')
own='ibv-conduit/conduit_network.h ibv-conduit/ibv_shim.h ibv-conduit/rdmacm.c'
own+=' vapi-conduit/conduit_network.h vapi-conduit/vapi_shim.h'
[ "$files" = "$own" ]
tap_ok $? "IB-B1 VC-1 beside the connection manager, each conduit of the pair has a shim of its own"
[ "$files" = "$own" ] || tap_note "files: $files"

# Polls of several threads, watched.
watched() { # CONDUIT SETTINGS...: what both ranks say
    job "$1" par testpollalone "${@:2}"
    [ "$status" = 0 ] || return
    sed -n 's/^# rank [01]: \(together\|alone\)$/\1/p' "$log" | sort -u | paste -sd' '
}
for conduit in ibv vapi; do
    if [ "$(locked $conduit)" = 0 ]; then
        says=$(watched $conduit)
        [[ $says == *together* ]]
        verdict $? "IB-B4 $conduit: without the flag threads do poll at once${says:+ ($says)}"
    fi
done

without=$TEST_BUILD/.libs own=$TEST_BUILD/poll-lock
if [ ! -e "$without/libgasnet-vapi-par.so" ]; then
    tap_skip "IB-B4 libraries with the lock" "no shared libraries in this build"
    tap_end
fi
variant poll-lock IB-B4 "--enable-ibv-poll-lock --enable-vapi-poll-lock CFLAGS=-O0" libgasnet-ibv-par.la libgasnet-vapi-par.la || tap_end
export LD_LIBRARY_PATH=$own/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for conduit in ibv vapi; do
    for settings in GASNET_RCV_THREAD=0 GASNET_RCV_THREAD=1; do
        says=$(watched $conduit $settings)
        [ "$says" = alone ]
        verdict $? "IB-B4 $conduit: with the flag no two threads poll at once, $settings${says:+ ($says)}"
    done
done
job vapi par testam "$(infinihost 2.9.9)"
[ "$status" = 0 ] && ! grep -q '^not ok' "$log"
verdict $? "IB-B4 an InfiniHost of firmware 2.9.9 runs with that library"
job vapi par testthreads "$(infinihost 2.9.9)" GASNET_RCV_THREAD=1
[ "$status" = 0 ] && ! grep -q '^not ok' "$log"
verdict $? "IB-B4 so do threads, and the receive thread"
tap_end
