#!/bin/bash
# times.sh - wall times that users wait for: a job from launch to exit, in order and out of it, and
# configure + make (TEST_ROWS="build" or "ends" narrows).
#
# Every job ends with the right status and leaves no process, or its row has failed.  Times are the
# median of TEST_RUNS (5) and the best; a machine that does something else shows in them, so a
# target missed is shown and fails nothing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv} runs=${TEST_RUNS:-5}
marker=times.$$
log=$TEST_LOG/times.log
export TEST_HANG=60

chosen() { [ -z "$TEST_ROWS" ] || [[ " $TEST_ROWS " == *" $1 "* ]]; }

show() { # NAME MEDIAN BEST TARGET OTHERS COMMAND: milliseconds
    local verdict=ok
    [ "$2" -le "$4" ] || verdict=MISSED
    printf '# %-46s %7d ms %7d ms %7d ms  %-6s  %-20s %s\n' "$1" "$2" "$3" "$4" $verdict "$5" "$6"
}

# row NAME STATUS TARGET OTHERS COMMAND...: a job of two; STATUS is a number or `nonzero`.
row() {
    local name=$1 want=$2 target=$3 others=$4 wrong='' status start i
    local -a took=()
    shift 4
    for ((i = 0; i < runs; i++)); do
        start=$(now_ms)
        TEST_MARKER=$marker timeout -k 2 60 "$TEST_LAUNCH" -spawner=ssh -n 2 "$@" >"$log" 2>&1 </dev/null
        status=$?
        took+=($(($(now_ms) - start)))
        if [ "$want" = nonzero ]; then
            [ $status -ne 0 ] && [ $status -ne 124 ] || wrong="; status $status"
        else
            [ $status -eq "$want" ] || wrong="; status $status instead of $want"
        fi
        no_orphans "$marker" 2 || wrong="$wrong; processes left behind"
    done
    mapfile -t took < <(printf '%s\n' "${took[@]}" | sort -n)
    show "$name" "${took[runs / 2]}" "${took[0]}" "$target" "$others" "-n 2 ${*/#"$TEST_BUILD"\//}"
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$name: ends as it should${wrong:+ (${wrong#; })}"
    [ -z "$wrong" ] || tap_tail "$log"
}

ends() {
    local exits=$TEST_BUILD/tests/testexit-$conduit-seq
    row "a job of two, launch to exit" 0 300 "0.43 s" "$TEST_BUILD/tests/testhello-$conduit-seq"
    row "collective gasnet_exit" 0 300 "0.33 / 0.68 s" "$exits" all_exit_0
    row "all return from main" 0 300 "0.26 / 0.46 s" "$exits" all_return_0
    row "one calls gasnet_exit, the peer polls" 11 2000 "32.9 / 3.2 s" "$exits" one_exits_others_poll
    row "one calls gasnet_exit, the peer never polls" 11 2000 "42.8 / 36.3 s" "$exits" one_exits_others_sleep
    row "one calls _exit" nonzero 2000 "29.2 / 5.5 s" "$exits" one_calls_underscore_exit
    row "SIGKILL of one, the peer polls" nonzero 2000 "29.3 / 29.8 s" "$exits" killed_others_poll
    row "SIGKILL of one, the peer sleeps" nonzero 2000 "6.2 / 29.5 s" "$exits" killed_others_sleep
    row "SEGV of one" nonzero 2000 "29.4 / 29.5 s" "$exits" segv
    SOFTHCA=on row "both fail at start-up" nonzero 2000 "- / 29.3 s" \
        env "GASNET_${conduit^^}_PORTS=softhca7" "$TEST_BUILD/tests/testhello-$conduit-seq"
}

# All libraries and tools, from nothing, on two processors.
build() {
    local folder=$tap_scratch/build start=0 status
    mkdir "$folder"
    start=$(now_ms)
    (cd "$folder" && "$(dirname "$TEST_SOURCE")/configure" -q && make -j2 all) >"$TEST_LOG/times_build.log" 2>&1
    status=$?
    start=$(($(now_ms) - start))
    show "configure + make -j2" $start $start 120000 "configure alone: 5 min" ""
    tap_ok $status "configure + make"
    [ $status -eq 0 ] || tap_tail "$TEST_LOG/times_build.log"
}

printf '# %-46s %10s %10s %10s  %-6s  %-20s %s\n' "wall time" median best target "" \
    "GASNet-1 / -EX" "gasnetrun_$conduit"
if chosen ends; then ends; fi
if chosen build; then build; fi
tap_end
