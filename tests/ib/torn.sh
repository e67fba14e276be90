#!/bin/bash
# torn.sh - client programs over a software device that writes messages byte by byte, in each order and with
# pauses (SOFTHCA_FAULTS=tear): barriers, puts followed by a flag, and Active Messages, by rings too where the
# order allows them.
#
# FAULT_SEED repeats a run.  TEST_CONDUITS, TEST_ORDERS narrow it.
# family: torn
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

seed=${FAULT_SEED:-$RANDOM}
tap_note "FAULT_SEED=$seed"
export SOFTHCA=on GASNET_AMRDMA_CYCLE=1 TEST_HANG=100
unset TEST_LAUNCH

torn() { # NAME CONDUIT ORDER N MODE PROGRAM ARGUMENTS...
    local name=$1 conduit=$2 order=$3 n=$4 mode=$5 program=$6 status marker=torn.$$.$tap_count
    local log=$TEST_LOG/torn_${conduit}_${order}_${n}_${program}.log
    shift 6
    TEST_MARKER=$marker SOFTHCA_FAULTS="seed=$seed;tear:order=$order" timeout -k 2 120 \
        "$TEST_BUILD/gasnetrun_$conduit" -spawner=ssh -n "$n" "$TEST_BUILD/tests/$program-$conduit-$mode" "$@" \
        >"$log" 2>&1 </dev/null
    status=$?
    no_orphans "$marker" 2 || status="$status, processes left"
    [ "$status" = 0 ] && ! grep -q '^not ok' "$log"
    tap_ok $? "$order bytes, $conduit, $n ranks, $mode: $name"
    [ "$status" = 0 ] || { tap_note "status $status"; tap_tail "$log"; }
}

for conduit in ${TEST_CONDUITS:-ibv vapi portals}; do
    [ -x "$TEST_BUILD/gasnetrun_$conduit" ] || { tap_skip "$conduit" "not built" && continue; }
    for order in ${TEST_ORDERS:-ascending descending random}; do
        # vapi and ibv share most.
        [ "$conduit" = vapi ] || torn "IB-W2 barriers" "$conduit" "$order" 2 seq testbarrier
        torn "IB-W2 barriers" "$conduit" "$order" 3 par testbarrier
        torn "IB-R9 Active Messages" "$conduit" "$order" 3 par testam
        [ "$conduit" = vapi ] || torn "B54 puts, and flags behind them" "$conduit" "$order" 2 seq testputget
    done
done
tap_end
