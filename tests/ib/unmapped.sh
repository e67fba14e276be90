#!/bin/bash
# unmapped.sh - memory that the program gives back, and has again at the same address (testgivenback), over the
# software device with SOFTHCA_MEMORY=strict, which does not let a registration of the old memory be used.
#
# TEST_CONDUITS and TEST_MODES narrow it.
# family: unmapped
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on SOFTHCA_MEMORY=strict TEST_HANG=100
unset TEST_LAUNCH

run() { # CONDUIT MODE ARGUMENTS...
    local marker=given.$$.$tap_count
    log=$TEST_LOG/unmapped_$1_$2${3:+_$3}.log
    TEST_MARKER=$marker timeout -k 2 120 "$TEST_BUILD/gasnetrun_$1" -spawner=ssh -n 2 \
        "$TEST_BUILD/tests/testgivenback-$1-$2" "${@:3}" >"$log" 2>&1 </dev/null
    status=$?
    no_orphans "$marker" 2 || status="$status, processes left"
}

# valgrind gives back memory unseen: the rank that it runs keeps nothing registered, and the others do.
one_by_valgrind() { # CONDUIT
    command -v valgrind >/dev/null || { tap_skip "one rank of a job is run by valgrind, $1" "no valgrind" && return; }
    log=$TEST_LOG/unmapped_$1_valgrind.log
    # shellcheck disable=SC2016 # for the ranks' shell
    timeout -k 2 120 "$TEST_BUILD/gasnetrun_$1" -n 3 sh -c 'mkdir "$0" 2>/dev/null && exec valgrind -q --tool=none "$@"; exec "$@"' \
        "$tap_scratch/by-valgrind-$1" "$TEST_BUILD/tests/testputget-$1-seq" >"$log" 2>&1 </dev/null
    status=$?
    tap_ok $status "one rank of a job is run by valgrind, $1"
    [ $status -eq 0 ] || tap_tail "$log"
}

for conduit in ${TEST_CONDUITS:-ibv vapi portals}; do
    [ -x "$TEST_BUILD/gasnetrun_$conduit" ] || { tap_skip "$conduit" "not built" && continue; }
    one_by_valgrind "$conduit"
    for mode in ${TEST_MODES:-seq par}; do
        run "$conduit" "$mode"
        [ "$status" = 0 ] && ! grep -q '^not ok' "$log"
        tap_ok $? "IB-R13 PO-16 memory given back in each way, $conduit, $mode"
        [ "$status" = 0 ] || { tap_note "status $status"; tap_tail "$log"; }
    done
    run "$conduit" seq passed-by
    [ "$status" = 0 ] && ! grep -q '^not ok' "$log"
    tap_ok $? "IB-R13 PO-16 a hook that is passed by is noticed at the next use, $conduit"
    [ "$status" = 0 ] || { tap_note "status $status"; tap_tail "$log"; }
    # Where nothing tells the library, the old registration is used: this proves that the runs above can fail.
    # The put that the device refuses breaks its connection.  Portals counts that before it gives the put's event.
    refused='(put to|get from) rank [01] .*failed'
    [ "$conduit" = portals ] && refused="$refused|connection broke"
    export GASNET_FIREHOSE_VERBOSE=1
    run "$conduit" seq unseen
    unset GASNET_FIREHOSE_VERBOSE
    if grep -q 'SOFTHCA_MEMORY=strict has no effect' "$log"; then
        tap_skip "memory given back unseen, $conduit" "no userfaultfd here"
    elif grep -q 'registered for each transfer' "$log"; then
        [ "$status" = 0 ]
        tap_ok $? "memory given back unseen, $conduit: nothing is kept registered"
    else
        [ "$status" = 1 ] && grep -qE "FATAL ERROR.*: a ($refused)" "$log"
        tap_ok $? "memory given back by code that the library cannot see is missed, $conduit"
        [ "$status" = 1 ] || { tap_note "status $status"; tap_tail "$log"; }
    fi
done
tap_end
