#!/bin/bash
# exit.sh - every way a job can end: right status, bounded time, output complete, nothing left.
#
# Runs each case of testexit under the launcher at several job sizes, with the first and the last
# rank as the odd one out; prints TAP lines and a table of measured times against the targets.
# Narrow it with TEST_NPROCS, TEST_MODES, TEST_SPAWNERS, TEST_CASES.  Each job has its own TMPDIR
# and, where mount namespaces can be had, its own /dev/shm, so that other jobs cannot confuse us.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
nprocs=${TEST_NPROCS:-1 2 4}
modes=${TEST_MODES:-seq par}
spawners=${TEST_SPAWNERS:-ssh}
bound=10 # a generous limit of wall time, in seconds
export TEST_HANG=60

tap_private_shm "$0" "$@"

left_files() { # DIRECTORY
    find "$1" -mindepth 1 2>/dev/null
    if [ "$TEST_PRIVATE_SHM" = 1 ]; then find /dev/shm -mindepth 1; fi
}

status_right() { # EXPECTED STATUS N
    case $1 in
    nonzero) [ "$2" -ne 0 ] && [ "$2" -ne 124 ] ;;
    max) [ "$2" -eq $((100 + $3 - 1)) ] ;;
    *) [ "$2" -eq "$1" ] ;;
    esac
}

words_right() { # PRINTED LOG N
    local count
    count=$(grep -c '^LAST [0-9]' "$2")
    case $1 in
    all) [ "$count" -eq "$3" ] ;;
    one) [ "$count" -ge 1 ] ;;
    none) true ;;
    esac
}

table=$tap_scratch/table
: >"$table"

# Judges one ended job and prints its line; all that is wrong is listed.
verdict() { # NAME LOG TMP MARKER MS WRONG
    local name=$1 log=$2 tmp=$3 marker=$4 ms=$5 wrong=$6 left
    no_orphans "$marker" 2 || wrong="$wrong; processes left behind"
    left=$(left_files "$tmp")
    [ -n "$left" ] && wrong="$wrong; files left: ${left//$'\n'/ }" && rm -f /dev/shm/* 2>/dev/null
    [ "$ms" -le $((bound * 1000)) ] || wrong="$wrong; took $ms ms"
    tap_note "$ms ms"
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$name${wrong:+ (${wrong#; })}"
    if [ -n "$wrong" ]; then tap_tail "$log"; fi
    rm -rf "$tmp"
}

run_case() { # SPAWNER MODE N WHO CASE EXPECT PRINTED TAG
    local spawner=$1 mode=$2 n=$3 who=$4 case=$5 expect=$6 printed=$7 tag=$8 wrong='' status start ms
    local name="$tag $case $who mode=$mode n=$n $spawner" tmp=$tap_scratch/tmp
    local log=$TEST_LOG/exit_${case}_${who}_${mode}_${n}_$spawner.log
    local marker="exit.$$.$tap_count"
    mkdir -p "$tmp"
    start=$(now_ms)
    TEST_MARKER=$marker TMPDIR=$tmp timeout -k 2 30 "$TEST_LAUNCH" -spawner="$spawner" -n "$n" \
        "$TEST_BUILD/tests/testexit-$conduit-$mode" "$case" "$who" >"$log" 2>&1 </dev/null
    status=$?
    ms=$(($(now_ms) - start))
    status_right "$expect" $status "$n" || wrong="$wrong; status $status instead of $expect"
    words_right "$printed" "$log" "$n" || wrong="$wrong; last output lost"
    verdict "$name" "$log" "$tmp" "$marker" "$ms" "$wrong"
    echo "$case $n $mode $spawner $who $ms $status" >>"$table"
}

# A signal to the launcher: TERM and INT end the job as they end any program; KILL must end it too.
signal_launcher() { # SPAWNER MODE N SIGNAL
    local spawner=$1 mode=$2 n=$3 signal=$4 wrong='' status want start ms pid
    local name="8.5 SIG$signal to the launcher mode=$mode n=$n $spawner" tmp=$tap_scratch/tmp
    local log=$TEST_LOG/exit_SIG${signal}_${mode}_${n}_$spawner.log marker="exit.$$.$tap_count"
    mkdir -p "$tmp"
    : >"$log"
    # bash starts what runs in the background with SIGINT ignored
    TEST_MARKER=$marker TMPDIR=$tmp env --default-signal=INT,QUIT "$TEST_LAUNCH" -spawner="$spawner" -n "$n" \
        "$TEST_BUILD/tests/testexit-$conduit-$mode" launcher_signal first >"$log" 2>&1 </dev/null &
    pid=$!
    for ((i = 0; i < 1500; i++)); do # until it is up
        grep -q READY "$log" && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.02
    done
    grep -q READY "$log" || wrong="; never came up"
    start=$(now_ms)
    kill -"$signal" $pid 2>/dev/null
    (sleep 30 & wait $!; kill -KILL $pid) 2>/dev/null &
    local dog=$!
    wait $pid 2>/dev/null
    status=$?
    kill $dog 2>/dev/null
    wait $dog 2>/dev/null
    no_orphans "$marker" $bound || wrong="$wrong; processes left behind"
    ms=$(($(now_ms) - start))
    if [ "$spawner" = ssh ]; then
        want=$((128 + $(kill -l "$signal")))
        [ $status -eq $want ] || wrong="$wrong; status $status instead of $want"
    elif [ $status -eq 0 ]; then
        wrong="$wrong; status 0"
    fi
    verdict "$name" "$log" "$tmp" "$marker" "$ms" "$wrong"
    echo "SIG$signal-to-launcher $n $mode $spawner first $ms $status" >>"$table"
}

for spawner in $spawners; do
    for mode in $modes; do
        binary=$TEST_BUILD/tests/testexit-$conduit-$mode
        [ -x "$binary" ] || { tap_ok 1 "$binary is not built" && continue; }
        while read -r case expect printed tag; do
            [ -n "$TEST_CASES" ] && [[ " $TEST_CASES " != *" $case "* ]] && continue
            # the modes differ only where threads come in
            [ "$mode" = par ] && [ -z "$TEST_FULL$TEST_CASES" ] && [[ $case != threads* && $case != one_exits* ]] && continue
            for n in $nprocs; do
                if [ "$expect" = signal ]; then
                    for signal in TERM INT KILL; do signal_launcher "$spawner" "$mode" "$n" $signal; done
                    continue
                fi
                run_case "$spawner" "$mode" "$n" first "$case" "$expect" "$printed" "$tag"
                case $case in all_* | codes_* | handler_everywhere | threads_all*) continue ;; esac
                [ "$n" -eq 2 ] && run_case "$spawner" "$mode" "$n" last "$case" "$expect" "$printed" "$tag"
            done
        done < <("$binary" list)
    done
done

# Targets of the house, in ms: 300 where everybody leaves in order, 2000 where somebody does not.
target() {
    case $1 in all_return_0 | all_return_7 | all_exit_0 | all_exit_9) echo 300 ;; *) echo 2000 ;; esac
}
tap_note "case                          n mode spawner odd       ms  status  target"
while read -r case n mode spawner who ms status; do
    late=''
    [ "$ms" -gt "$(target "$case")" ] && late=' <- over'
    printf '# %-29s %s %-4s %-7s %-5s %6s  %6s  %6s%s\n' "$case" "$n" "$mode" "$spawner" "$who" "$ms" \
        "$status" "$(target "$case")" "$late"
done <"$table"
tap_end
