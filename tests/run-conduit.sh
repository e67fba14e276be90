#!/bin/bash
# run-conduit.sh - runs every client-level test program at every job size, mode and spawner.
#
# Narrow it with TEST_NPROCS="1 2", TEST_MODES="seq par", TEST_SPAWNERS="ssh mpi" and
# TEST_PROGRAMS="testam testputget".  TEST_CONDUIT (ibv) says whose programs and launcher; what does
# not depend on the network is run in full with ibv alone (portals: PO-1, PO-2; vapi: VC-2, VC-5).  Each run has a bound (TEST_TIMEOUT seconds);
# output goes to $TEST_LOG, its tail to the console on failure.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
if [ "$conduit" = ibv ]; then nprocs=${TEST_NPROCS:-1 2 3 4 8}; else nprocs=${TEST_NPROCS:-1 3 8}; fi
modes=${TEST_MODES:-seq par}
bound=${TEST_TIMEOUT:-90}
programs=${TEST_PROGRAMS:-"testhello testenv testam testamsize testamflood testputget testhandles
testvalue testsync testpoll testbarrier testlock testthreads"}
spawners=${TEST_SPAWNERS:-ssh}
if [ -z "$TEST_SPAWNERS" ]; then
    if command -v mpirun >/dev/null; then spawners="ssh mpi"; else no_mpi=1; fi
    if [ -f "$TEST_BUILD/other/spawner/gasnet-spawner-pmix.so" ]; then spawners+=" pmix"; fi
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

run_one() { # SPAWNER MODE N PROGRAM ARGS...
    local spawner=$1 mode=$2 n=$3 program=$4
    shift 4
    local binary=$TEST_BUILD/tests/$program-$conduit-$mode
    local name="$program${*:+ $*} $mode n=$n $spawner"
    local log=$TEST_LOG/$conduit-${name// /_}.log
    [ -x "$binary" ] || { tap_ok 1 "$name: $binary is not built" && return; }
    if [ "$spawner" = mpi ]; then export TEST_MPI_TRAP=1; else unset TEST_MPI_TRAP; fi
    TEST_EXPECT_RANKS=$n timeout -k 5 "$bound" \
        "$TEST_LAUNCH" -spawner="$spawner" -n "$n" "$binary" "$@" >"$log" 2>&1 </dev/null
    judge "$log" $? "$name"
    if [ "$spawner" = mpi ] && [ "$(grep -c '^# MPI is trapped: 1$' "$log")" != "$n" ]; then
        tap_ok 1 "$name: no call of MPI between attach and exit was possible"
        tap_tail "$log"
    fi
}

for spawner in $spawners; do
    for mode in $modes; do
        for n in $nprocs; do
            for program in $programs; do
                case $program:$mode:$n in testthreads:seq:* | testsync:*:1 | testpoll:*:1) continue ;; esac
                case $spawner-$conduit:$program:$n in # once the job is up, nothing depends on the spawner
                ssh-* | mpi-ibv:*) ;;
                *:testhello:[13] | *:testenv:3 | *:testam:3 | *:testputget:3 | *:testhello:8) ;;
                *) continue ;;
                esac
                run_one "$spawner" "$mode" "$n" "$program"
                if [ "$program" = testbarrier ] && [ "$spawner" = ssh ]; then # IB-W2: both carriers
                    GASNET_BARRIER=AMDISSEM run_one "$spawner" "$mode" "$n" "$program" AMDISSEM
                fi
                if [ "$program" = testthreads ] && [ "$spawner" = ssh ] && [ "$has_thread" != 0 ]; then # IB-C8
                    for with in testrcvthread testthreads; do
                        GASNET_RCV_THREAD=1 run_one "$spawner" "$mode" "$n" "$with" with-receive-thread
                    done
                fi
                if [ "$program" = testhello ]; then
                    for variant in 1 2 3 4 5; do
                        case $n in 1 | 2 | 3) run_one "$spawner" "$mode" "$n" "$program" table $variant ;; esac
                    done
                fi
            done
        done
    done
done
if [ -n "$no_mpi" ]; then tap_skip "mpi spawner" "no mpirun here"; fi
tap_end
