#!/bin/bash
# run.sh - the debug library says so wherever a call is made where it is not legal, or with wrong arguments, and lets
# all calls pass where they are legal (section 2.13 of the client interface); TAP.
#
# testlegal has the table: every call in every place.  What must end a program is a process of its own, a few at a
# time; before gasnet_init without a launcher.  TEST_MODES (par seq).
# family: legal
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1

modes=${TEST_MODES:-par seq}
conduit=$TEST_CONDUIT
targets=("gasnetrun_$conduit")
for mode in $modes; do targets+=("tests/testlegal-$conduit-$mode"); done
debug_build "${targets[@]}" || tap_end
export SOFTHCA=on
ulimit -c 0
out=$tap_scratch/out
mkdir "$out"

# run MODE PLACE [CALL]: status and output into files.
run() {
    local mode=$1 place=$2 log=$out/$1.$2.$3
    local program=$TEST_DEBUG_BUILD/tests/testlegal-$conduit-$mode launch=()
    [ "$place" = P0 ] || launch=("$TEST_DEBUG_BUILD/gasnetrun_$conduit" -spawner=ssh -n 1)
    shift 2
    timeout -k 5 60 "${launch[@]}" "$program" "$place" "$@" >"$log" 2>&1 </dev/null
    echo $? >"$log.status"
}

# refused MODE PLACE CALL TEXT: that run ended with status 1 and one line that says so.
refused() {
    local log=$out/$1.$2.$3
    if [ "$(cat "$log.status")" = 1 ] && [ "$(grep -c '^\*\*\* FATAL ERROR' "$log")" = 1 ] &&
        grep -qE "^\*\*\* FATAL ERROR.*$4" "$log" && ! grep -q '^LEGAL' "$log"; then
        return
    fi
    wrong+=" $3"
    tap_note "$2 $3: status $(cat "$log.status"), want: $4"
    tap_tail "$log"
}

for mode in $modes; do
    program=$TEST_DEBUG_BUILD/tests/testlegal-$conduit-$mode
    "$program" list >"$tap_scratch/list"
    places="P0 P1 P2 REQUEST REPLY LOCKED HELD"
    if [ "$mode" = par ]; then places+=" THREAD"; fi
    for place in $places WRONG; do run "$mode" "$place" & done
    wait
    running=0
    while read -r place call _; do
        # Without threads the locks differ, and nothing else does.
        if [ "$mode:$place" != "seq:WRONG" ] && [ "$mode" = seq ] && [[ $call != gasnet_hsl* ]]; then continue; fi
        if [ $running -ge 4 ]; then wait -n; else running=$((running + 1)); fi
        run "$mode" "$place" "$call" &
    done <"$tap_scratch/list"
    wait
    for place in $places WRONG; do
        wrong='' count=0
        while read -r at call text; do
            if [ "$at" != "$place" ] || [ ! -e "$out/$mode.$place.$call.status" ]; then continue; fi
            count=$((count + 1))
            refused "$mode" "$place" "$call" "$text"
        done <"$tap_scratch/list"
        [ $count = 0 ] || tap_ok "$([ -z "$wrong" ]; echo $?)" "2.13 $place: $count calls are refused ($mode)${wrong:+: not so$wrong}"
        [ "$place" != WRONG ] || continue
        log=$out/$mode.$place.
        [ "$(cat "$log.status")" = 0 ] && ! grep -qE 'FATAL|^#' "$log" && grep -q '^LEGAL' "$log"
        result=$?
        tap_ok $result "2.13 $place: $(grep -c '^LEGAL' "$log") calls are legal ($mode)"
        [ $result = 0 ] || tap_tail "$log"
    done

    log=$out/$mode.WRONG.
    tap_ok "$([ "$(cat "$log.status")" = 0 ]; echo $?)" "2.8 what is only warned of ends nothing ($mode)"
    for text in 'a handler-safe lock was held for 1\.[0-9] s' 'interrupts were held for 1\.[0-9] s' \
        'gasnet_hsl_init of .* that is initialised already'; do
        tap_ok "$(grep -qE "^\*\*\* WARNING.*$text" "$log"; echo $?)" "2.8 a warning: $text ($mode)"
    done
    for place in REQUEST REPLY LOCKED HELD; do
        [ "$(grep -c '^\*\*\* WARNING.* is called .* where the interface does not allow it' "$out/$mode.$place.")" = 6 ]
        tap_ok $? "2.13 $place: a warning of each question about the job ($mode)"
    done
done
tap_end
