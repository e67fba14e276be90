#!/bin/bash
# run-conduit.sh - runs the client programs as matrix.table says: program, mode, job size and spawner.
#
# Narrow it with TEST_NPROCS="1 2", TEST_MODES="seq par", TEST_SPAWNERS="ssh mpi" and
# TEST_PROGRAMS="testam testputget"; TEST_LIST=1 lists the runs and makes none.  TEST_CONDUIT (ibv) selects
# programs and launcher.  Each run has a bound (TEST_TIMEOUT seconds); output goes to $TEST_LOG, the end of it to
# the console on failure.
# family: conduit first
# family: conduit-vapi last TEST_CONDUIT=vapi
# family: conduit-portals first TEST_CONDUIT=portals
# family: conduit-smp TEST_CONDUIT=smp
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
case $conduit in
ibv) all='1 2 3' possible='1 2 3 5 8' ;;
vapi) all=2 possible='2 3 5' ;; # a shim of its own, and all else as ibv
portals) all='2 3' possible='1 2 3 5 8' ;;
smp) all='1 3' possible='1 2 3' ;;
esac
all=${TEST_NPROCS:-$all} possible=${TEST_NPROCS:-$possible}
bound=${TEST_TIMEOUT:-90}
spawners=${TEST_SPAWNERS:-ssh}
if [ -z "$TEST_SPAWNERS" ] && [ "$conduit" != smp ]; then
    if command -v mpirun >/dev/null; then spawners="ssh mpi"; else no_mpi=1; fi
    if [ -f "$TEST_BUILD/other/launch/gasnet-spawner-pmix.so" ]; then spawners+=" pmix"; fi
fi
has_thread=$(sed -n "s/^${conduit^^}_RCV_THREAD = //p" "$TEST_BUILD/Makefile") # IB-B3
export TEST_HANG=${TEST_HANG:-$((bound - 20))}
export TEST_SEED=${TEST_SEED:-$((RANDOM << 15 | RANDOM))}
tap_note "TEST_SEED=$TEST_SEED repeats this run"

# Rules that one log proves, by its own TAP lines and plan; each becomes a line of ours.
judge() { # LOG STATUS NAME
    local log=$1 status=$2 name=$3 line planned seen=0 bad=0
    planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$log" | tail -n 1)
    while IFS= read -r line; do
        seen=$((seen + 1))
        case $line in
        'not ok'*)
            tap_ok 1 "$name: ${line#* - }"
            bad=1
            ;;
        *' # SKIP '*)
            line=${line#* - }
            tap_skip "$name: ${line% # SKIP *}" "${line##* # SKIP }"
            ;;
        *) tap_ok 0 "$name: ${line#* - }" ;;
        esac
    done < <(grep -E '^(not )?ok [0-9]+ - ' "$log")
    if [ "$status" -ne 0 ] && [ $bad -eq 0 ] || [ "$seen" != "${planned:-none}" ]; then
        tap_ok 1 "$name: ends with status $status, $seen of ${planned:-unknown} rules"
        bad=1
    fi
    if [ $bad -ne 0 ]; then tap_tail "$log"; fi
}

run_one() { # SPAWNER MODE N PROGRAM "NAME=VALUE..." [ARGUMENT...]
    local spawner=$1 mode=$2 n=$3 program=$4 environment=$5
    shift 5
    local binary=$TEST_BUILD/tests/$program-$conduit-$mode
    local name="$program${*:+ $*} $mode n=$n $spawner"
    local log=$TEST_LOG/$conduit-${name//[ \/]/_}.log
    [ -z "$TEST_LIST" ] || { echo "$name${environment:+ $environment}" && return; }
    [ -x "$binary" ] || { tap_ok 1 "$name: $binary is not built" && return; }
    if [ "$spawner" = mpi ]; then export TEST_MPI_TRAP=1; else unset TEST_MPI_TRAP; fi
    # Jobs of three processes share memory within the host, the others do not.  With smp all do, and those of one and three
    # have no launcher.
    local start=("$TEST_LAUNCH" -spawner="$spawner" -n "$n")
    if [ "$conduit" = smp ] && [ "$n" != 2 ]; then start=(env GASNET_PSHM_NODES="$n"); fi
    # shellcheck disable=SC2086 # the environment is words
    env TEST_EXPECT_RANKS="$n" GASNET_SUPERNODE_MAXSIZE=$((n == 3 ? 0 : GASNET_SUPERNODE_MAXSIZE)) $environment timeout -k 5 "$bound" \
        "${start[@]}" "$binary" "$@" >"$log" 2>&1 </dev/null
    judge "$log" $? "$name"
    if [ "$spawner" = mpi ] && [ "$(grep -c '^# MPI is trapped: 1$' "$log")" != "$n" ]; then
        tap_ok 1 "$name: no call of MPI between attach and exit was possible"
        tap_tail "$log"
    fi
}

has() { [[ " ${1//$'\n'/ } " == *" $2 "* ]]; } # a list of words, perhaps over several lines

# wanted SIZES N: the row has that size.
wanted() {
    case $1 in
    all) has "$all" "$2" ;;
    *+) has "$all" "$2" && [ "$2" -ge "${1%+}" ] ;;
    *) has "$1" "$2" ;;
    esac
}

# Whether there are jobs of each of these sizes: a row must not be left out for a size of its own.
sizes_exist() {
    local n
    for n in ${1//all/}; do [[ $n == *+ ]] || has "1 2 3 5 8" "$n" || return; done
}

run_row() { # PROGRAMS PLACES MODES SIZES ENVIRONMENT ARGUMENTS
    local spawner mode n program arguments list
    IFS=, read -ra list <<<"${6:-,}"
    for spawner in $spawners; do
        has "$2" "*/$spawner" || has "$2" "$conduit/$spawner" || continue
        for mode in ${3//:$conduit/}; do
            [[ $mode != *:* ]] && has "${TEST_MODES:-$mode}" "$mode" || continue
            for n in $possible; do
                wanted "$4" "$n" || continue
                for program in $1; do
                    has "${TEST_PROGRAMS:-$1}" "$program" || continue
                    # shellcheck disable=SC2086 # arguments are words
                    for arguments in "${list[@]}"; do run_one "$spawner" "$mode" "$n" "$program" "$5" $arguments; done
                done
            done
        done
    done
}

set -f # a row's * is no file
while IFS='|' read -r programs places modes sizes environment arguments _; do
    read -r sizes <<<"$sizes"
    read -r environment <<<"$environment"
    sizes_exist "$sizes" || tap_ok 1 "matrix.table: one of the sizes $sizes of $programs is in no job"
    # Of a network, or of several supernodes.
    if [ "$conduit" = smp ] && [[ $environment =~ MAXSIZE=[12]|SOFTHCA|FIREHOSE|INLINESEND ]]; then continue; fi
    if [ "$has_thread" = 0 ] && [[ $environment == *GASNET_RCV_THREAD=1* ]]; then continue; fi
    run_row "$programs" "$places" "$modes" "$sizes" "$environment" "$arguments"
done < <(grep -v '^#' "$TEST_SOURCE/programs/matrix.table")
[ -z "$TEST_LIST" ] || exit 0
if [ -n "$no_mpi" ]; then tap_skip "mpi spawner" "no mpirun here"; fi
tap_end
