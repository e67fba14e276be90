#!/bin/bash
# rings.sh - rules shared by the families of rings for Active Messages; sourced, with `conduit` set.
# shellcheck disable=SC2154 # conduit
export TEST_HANG=50 TEST_SEED=${TEST_SEED:-$((RANDOM << 15 | RANDOM))}
tap_note "TEST_SEED=$TEST_SEED repeats this run"

# with "SETTINGS" N PROGRAM...: runs it in both modes; each of its rules becomes a line here.
with() {
    local settings=$1 n=$2 mode log status line
    shift 2
    for mode in ${TEST_MODES:-seq par}; do
        log=$TEST_LOG/amrdma_${settings//[^A-Za-z0-9]/_}_${*// /_}_$mode.log
        # shellcheck disable=SC2086 # settings are words
        env $settings timeout -k 2 60 "$TEST_LAUNCH" -spawner=ssh -n "$n" \
            "$TEST_BUILD/tests/$1-$conduit-$mode" "${@:2}" >"$log" 2>&1 </dev/null
        status=$?
        while IFS= read -r line; do
            [[ $line != not* ]]
            tap_ok $? "$settings $1 $mode: ${line#* - }"
        done < <(grep -E '^(not )?ok [0-9]' "$log")
        [ $status -eq 0 ] && grep -q '^1\.\.[1-9]' "$log" && ! grep -q '^not ok' "$log"
        status=$?
        tap_ok $status "$settings $1 $mode: ends well"
        [ $status -eq 0 ] || tap_tail "$log"
    done
}

# A peer that writes wrong data: one message, and the end of the job.
nonsense() { # LENGTH FIELD
    local log=$TEST_LOG/amrdma_nonsense_$1.log
    env GASNET_AMRDMA_CYCLE=1 timeout -k 2 60 "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/testamrdma-$conduit-seq" \
        nonsense "$1" >"$log" 2>&1 </dev/null
    [ $? -eq 1 ] && grep -q "a malformed Active Message of $1 bytes from rank 1 on .*: bad $2" "$log"
    tap_ok $? "a slot that says $1 bytes is a malformed message"
}
# A peer that is killed while it writes ends the job as any other, and its unfinished message is not taken.
RANDOM=$((TEST_SEED & 32767))
killed() { # CONDUIT-MODE N TIMES
    local i after status wrong='' log=$TEST_LOG/amrdma_killed_$1.log
    for ((i = 0; i < $3; i++)); do
        after=$((RANDOM % 4000))
        GASNET_SUPERNODE_MAXSIZE=0 timeout -k 2 60 "$TEST_BUILD/gasnetrun_${1%-*}" -spawner=ssh -n "$2" \
            "$TEST_BUILD/tests/testamrdma-$1" killed $after >"$log" 2>&1 </dev/null
        status=$?
        [ $status -ne 0 ] && [ $status -ne 3 ] && [ $status -ne 124 ] && grep -q '^# the first has arrived' "$log" &&
            ! grep -qE '^not ok|malformed' "$log" && continue
        wrong="after $after us: status $status"
        tap_tail "$log"
        break
    done
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$1, $2 ranks: $3 neighbours killed while they write: all that is taken is whole${wrong:+ ($wrong)}"
}

# A single rank has a receive thread, which its shared-memory peers wake.
one_sleeper() { # CONDUIT
    local log=$TEST_LOG/rings_one_sleeper_$1.log
    # shellcheck disable=SC2016 # for the wrapper's shell
    GASNET_SUPERNODE_MAXSIZE=0 timeout -k 2 60 "$TEST_BUILD/gasnetrun_$1" -spawner=ssh -n 2 bash -c \
        'case $GASNET_SPAWN_CONTROL in *" 1") export GASNET_RCV_THREAD=1 ;; esac; exec "$@"' wrapper \
        "$TEST_BUILD/tests/testamrdma-$1-par" one_sleeper 20 >"$log" 2>&1 </dev/null &&
        grep -q '^ok 1 - a message wakes' "$log"
    tap_ok $? "$1: neighbours wake the receive thread of a rank that computes, which alone has one"
}
