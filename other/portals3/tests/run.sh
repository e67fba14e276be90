#!/bin/bash
# run.sh - libportals: its rules in one process and in rings of several, its pure parts, its programs.
# family: portals3
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../../tests/tap.sh" || exit 1
cd "$TEST_BUILD/other/portals3/tests" || exit 1

# Their TAP lines are passed on, numbered anew.
tap_program portals3 "pure parts" ./model
top_builddir=$TEST_BUILD tap_program portals3 "units" "$TEST_SOURCE/unit/run.sh" "$TEST_SOURCE/../other/portals3/tests/unit"
tap_program portals3 "self" ./rules -s
for ways in calls thread "calls, published" "thread, published"; do
    letters=$([[ $ways == thread* ]] && echo t; [[ $ways == *published ]] && echo p)
    MIRROR_WAYS=${letters//$'\n'/} tap_program portals3 "scripted peer, $ways" ./mirrored
done
tap_program portals3 "hostile peers" ./hostile
export SOFTHCA=${SOFTHCA:-on}
tap_program portals3 "codes" ./refusals
for processes in 1 2 8; do tap_program portals3 "network" ./rules -n $processes; done
# Settings that change the path but not the outcome, and the one that changes which events gets log.
PTL_FASTPATH=0 tap_program portals3 "network, PTL_FASTPATH=0" ./rules -n 2 published offsets transfers order noted
PTL_CRAY_GETS=1 tap_program portals3 "network, PTL_CRAY_GETS=1" ./rules -n 2 published
SOFTHCA_DEVICES="1x1;max_sge_rd=1" tap_program portals3 "network, one piece in a read" ./rules -n 2 offsets transfers
PTL_EAGER=1024 PTL_WINDOW=1 PTL_PROGRESS=hybrid PTL_SPIN=0 tap_program portals3 "random traffic, narrow" ./traffic 3 1000
for processes in 1 2 8; do
    tap_program portals3 "messages" ./messages -n $processes
    ! grep -q '^libportals: ' "$TEST_LOG/portals3-messages.log"
    tap_ok $? "without PTL_DEBUG nothing is written (messages)"
    tap_program portals3 "stencil" ./stencil -n $processes
done
tap_program portals3 "random traffic" ./traffic 8 3000
tap_program portals3 "failures" ./failures
tap_program portals3 "load" ./load
tap_program portals3 "strangers" ./strangers
tap_program portals3 "unsignalled" ./unsignalled
tap_program portals3 "wraps" ./wraps
tap_program portals3 "locks" ./locks
# Without a key no network is opened.
! PTL_KEYFILE=$tap_scratch ./messages -n 1 >"$TEST_LOG/portals3-keyfile.log" 2>&1 &&
    [ "$(grep -c "^libportals: process .*: the key file $tap_scratch is not a file" "$TEST_LOG/portals3-keyfile.log")" = 1 ]
tap_ok $? "a PTL_KEYFILE that is no file is named, once, and no interface is opened"
PTL_KEYFILE=$tap_scratch/own.key ./messages -n 2 >"$TEST_LOG/portals3-keyfile.log" 2>&1 && [ "$(stat -c %a "$tap_scratch/own.key")" = 600 ]
tap_ok $? "PTL_KEYFILE that is missing is created, for the user alone"
SOFTHCA_DEVICES='1x1;max_mr=40' tap_program portals3 "failures, few regions" ./failures refused
SOFTHCA_DEVICES='1x1;max_mr=1' tap_program portals3 "failures, no regions" ./failures none
# As many receive buffers as one region holds, and at least 16.
SOFTHCA_DEVICES='1x1;max_mr_size=300000' tap_program portals3 "messages, small regions" ./messages -n 2
SOFTHCA_DEVICES='1x1;max_mr_size=32768' tap_program portals3 "failures, too small regions" ./failures none
grep -qE 'softhca0 has room for 1 receive buffers of [0-9]+ bytes, and 16 are needed: its queues or regions are too small; use another device \(PTL_DEVICE\)$' \
    "$TEST_LOG/portals3-failures,-too-small-regions.log"
tap_ok $? "a device of too small regions is named, with the remedy"
tap_end
