#!/bin/bash
# cases.sh - for scripts that source tap.sh and variant.sh before: runs a program of wrong calls, case by case, in the
# build at hand and in a debug build.  Each case must end the job with a fatal error in its words.
# shellcheck disable=SC2154 # modes and cases are the script's that sources this one

wrong() { # PROGRAM TREE MODE CASE WORDS
    local program=$1 tree=$2 mode=$3 name=$4 words=$5 status failed bad='' log=$TEST_LOG/wrong_$1_${2##*/}_$3_$4.log
    (cd "$tap_scratch" && timeout -k 2 60 "$tree/gasnetrun_$TEST_CONDUIT" -n 2 "$tree/tests/wrong/$program-$TEST_CONDUIT-$mode" "$name") \
        >"$log" 2>&1 </dev/null
    status=$?
    [ $status -ne 0 ] || bad+=", status 0"
    [ $status -ne 124 ] || bad+=", hangs"
    # On a busy machine the launcher ends another rank than the one that failed by SIGTERM, before it has heard of the end.
    failed=$(sed -n 's/.*FATAL ERROR (rank \([0-9]*\) .*/\1/p' "$log" | head -n 1)
    ! grep -E 'Caught|dumped|fault' "$log" | grep -qvE "SIGTERM\(15\) on node [^${failed:-0-9}]/" || bad+=", a signal"
    grep -qE "FATAL ERROR.*($words)" "$log" || bad+=", without the words /$words/"
    tap_ok "$([ -z "$bad" ]; echo $?)" "${tree##*/} $mode: $name${bad:+ ($bad)}"
    [ -z "$bad" ] || tap_tail "$log"
}

all_cases() { # PROGRAM TREE debug|release
    local mode name builds words
    for mode in $modes; do
        while IFS='|' read -r name builds words; do
            [ "$builds $mode" != "serial par" ] || continue
            case $builds in all | serial | "$mode" | "$3") wrong "$1" "$2" "$mode" "$name" "$words" ;; esac
        done <<<"$cases"
    done
}

# wrong_cases PROGRAM: a line of $cases is NAME|BUILDS|WORDS; builds: all, debug, a mode, or serial: all modes but par.
wrong_cases() {
    local mode targets=()
    all_cases "$1" "$TEST_BUILD" "$(grep -q -- '-DGASNET_DEBUG' "$TEST_BUILD/packaging/$TEST_CONDUIT-seq.mak" && echo debug || echo release)"
    for mode in $modes; do targets+=("tests/wrong/$1-$TEST_CONDUIT-$mode"); done
    if debug_build "gasnetrun_$TEST_CONDUIT" "${targets[@]}"; then all_cases "$1" "$TEST_DEBUG_BUILD" debug; fi
}
