#!/bin/bash
# why.sh - gasnetrun --why of jobs that hang: the report must name the rank that the others wait for, and the cause.
#
# A rank needs a moment to get where it hangs, so each report is asked for until it is as expected; that it is not is found
# after many.
# family: why
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

here=$tap_scratch/job report=$tap_scratch/report log=$TEST_LOG/why.log
export SOFTHCA=on GASNET_QUIET=0
unset GASNET_STATSFILE GASNET_SSH_SERVERS GASNET_SSH_NODEFILE

# shellcheck source=tests/stats/running.sh
. "$TEST_SOURCE/stats/running.sh"

begin() { # CONDUIT MODE WHAT [SPAWNER]: starts a job in the background, and waits until its ranks are ready
    launcher=$TEST_BUILD/gasnetrun_$1
    begin_job 3 "$launcher" -v "-spawner=${4:-ssh}" -n 3 "$TEST_BUILD/tests/testwhy-$1-$2" "$3" "$here"
}

# The report has a line that matches each PATTERN.
has() {
    local pattern
    for pattern; do grep -qE -- "$pattern" "$report" || return 1; done
}

# says NAME PATTERN...: a TAP line.
says() {
    local name=$1 i
    shift
    for ((i = 0; i < 40; i++)); do
        "$launcher" --why "$number" >"$report" 2>&1 && has "$@" && break
        kill -0 "$job" 2>/dev/null || break
    done
    has "$@"
    tap_ok $? "$name"
    has "$@" || tap_tail "$report"
}

for_long='; nothing has arrived for [0-9]+\.[0-9] s'
barrier="^ranks 0 and 2 wait in the barrier of all ranks for rank 1($for_long)?\$"
# Where the first of the ranks that wait, and rank 1, are: their functions.
waits="^    rank 0, thread [0-9]+: in .* < gasnete_barrier_close < .*main\$"
sleeps='^      rank 1, thread [0-9]+: in system call clock_nanosleep$'
rank1='^  rank 1 \(process [0-9]+ on [^)]*\) '

# hangs CONDUIT MODE WHAT PATTERN...: the report, and the end of the job.
hangs() {
    local conduit=$1 mode=$2 what=$3
    shift 3
    begin "$conduit" "$mode" "$what"
    says "$conduit $mode: $what" "$@"
    finish
    tap_ok $status "  and the job goes on"
    [ $status = 0 ] || tap_tail "$log"
}

for conduit in ${TEST_CONDUITS:-ibv smp}; do
    [ -x "$TEST_BUILD/gasnetrun_$conduit" ] || continue
    GASNET_SUPERNODE_MAXSIZE=1
    [ "$conduit" = smp ] && GASNET_SUPERNODE_MAXSIZE=0
    for mode in ${TEST_MODES:-seq par}; do
        hangs "$conduit" "$mode" missing '^3 ranks: 2 wait for others, 1 do not poll, 0 do not answer$' "$barrier" "$for_long\$" \
            "$waits" "${rank1}has not polled for 1 s: it computes, sleeps or is stuck$" "$sleeps"
        hangs "$conduit" "$mode" handler "$barrier" "${rank1}has not polled for 1 s: a handler has not returned$" \
            "$sleeps"
        hangs "$conduit" "$mode" unsent "$barrier" "${rank1}polls, and waits for a message or a condition of the program" \
            '^      rank 1, thread [0-9]+: in .*main$'
        hangs "$conduit" "$mode" credits '^rank 2 .* waits in the barrier of all ranks for ranks 0-1(; nothing has arrived for .*)?$' \
            '^  rank 0 .* waits [0-9]+\.[0-9] s for a credit for Requests to rank 1$' \
            '^    rank 1 .* has not polled for 1 s: it computes, sleeps or is stuck$' \
            '^      rank 0, thread [0-9]+: in .* < gasnetc_AMRequestShort < main$'
        for call in team:'the barrier of' team-collective:'collective operation 1 of'; do
            hangs "$conduit" "$mode" "${call%%:*}" "^rank 1 .* waits in the barrier of all ranks for ranks 0 and 2" \
                "^  rank 2 .* waits in ${call#*:} team [0-9]+ \(ranks 0,2\) for rank 0(, where fewer have begun)?($for_long)?\$" \
                '^    rank 0 .* has not polled for 1 s: it computes'
        done
    done
    case " ${TEST_MODES:-seq par} " in
    *" par "*)
        begin "$conduit" par lock
        says "$conduit par: lock" "$barrier" \
            "${rank1}has not polled for 1 s: (a handler has not returned: )?its thread [0-9]+ waits for a lock that its thread $(cat "$here/ready.1") holds$" \
            '^      rank 1, thread [0-9]+: in system call futex$' "^      rank 1, thread $(cat "$here/ready.1"): in system call clock_nanosleep\$"
        finish
        tap_ok $status "  and the job goes on"
        ;;
    esac

    begin "$conduit" seq missing
    kill -STOP "$(cat "$here/ready.1")"
    says "$conduit: a stopped rank" '1 do not answer$' "$barrier" '^  rank 1 \(on [^)]*\) does not answer: is it stopped'
    kill -CONT "$(cat "$here/ready.1")"
    finish
    tap_ok $status "  and the job goes on"

    # Nothing ends this one.
    begin "$conduit" seq collective
    says "$conduit: a collective call too few" '^a cycle of waits:$' \
        'rank 1 \(process [0-9]+ on [^)]*\) waits in the barrier of all ranks for ranks 0 and 2(; nothing has arrived for .*)?$' \
        'ranks 0 and 2 wait in collective operation 3 of GASNET_TEAM_ALL for rank 1, where fewer have begun(; nothing has arrived for .*)?$' ', named above: a cycle$'
    kill -TERM "$number"
    wait "$job"
done
# The network loses all messages of rank 0 to rank 1 but those of the start.  The retransmissions take longer than this test.
if [[ " ${TEST_CONDUITS:-ibv} " == *" ibv "* ]]; then
    export GASNET_SUPERNODE_MAXSIZE=1 GASNET_AMRDMA_MAX_PEERS=0 GASNET_QP_TIMEOUT=22
    SOFTHCA_FAULTS="lose:process=0,peer=1,op=send,after=15" begin ibv seq lost
    says "ibv: lost messages" "$barrier" '^    rank 0: puts, gets or messages to rank 1 are not complete$' \
        "${rank1}polls, and waits for a message or a condition of the program"
    kill -TERM "$number"
    wait "$job"
    unset GASNET_AMRDMA_MAX_PEERS GASNET_QP_TIMEOUT
fi
"$launcher" --why "$number" >"$report" 2>&1
[ $? = 1 ] && has "--why $number: there is no such job"
tap_ok $? "a job that is over is said to be"
"$launcher" --why $$ >"$report" 2>&1
[ $? = 1 ] && has "--why $$: process $$ \(.*\) is no launcher"
tap_ok $? "what is no launcher is named"

# Under launchers that are not ours the ranks of this machine answer, one by one.
for way in mpi:mpi-openmpi pmix:pmix; do
    if ! [ -f "$TEST_BUILD/other/launch/gasnet-spawner-${way#*:}.so" ] || ! command -v mpirun.openmpi >/dev/null; then
        tap_skip "--why of a job of ${way%:*}" "no module ${way#*:}, or no mpirun.openmpi"
        continue
    fi
    export MPIRUN_CMD="mpirun.openmpi --allow-run-as-root --oversubscribe -np %N %C"
    export PMIRUN_CMD=$MPIRUN_CMD GASNET_SUPERNODE_MAXSIZE=1
    begin ibv seq missing "${way%:*}"
    says "a job of ${way%:*}" "$barrier" "${rank1}has not polled for 1 s: it computes, sleeps or is stuck$"
    finish
    tap_ok $status "  and it goes on"
    unset MPIRUN_CMD PMIRUN_CMD
done

# --- GASNET_WATCHDOG ---

# prints NAME COUNT PATTERN...: within 20 s the job's own output has the report COUNT times, and a line that matches each
# PATTERN.
still='(: no rank|: it) has( not)? got on for 1 s \(GASNET_WATCHDOG\)'
prints() {
    local name=$1 count=$2 i
    shift 2
    for ((i = 0; i < 200; i++)); do
        cp "$log" "$report"
        [ "$(grep -cE "$still" "$report")" -ge "$count" ] && has "$@" && break
        sleep 0.1 # between two looks
    done
    [ "$(grep -cE "$still" "$report")" = "$count" ] && has "$@"
    tap_ok $? "$name"
    [ "$(grep -cE "$still" "$report")" = "$count" ] && has "$@" || tap_tail "$report"
}

for conduit in ${TEST_CONDUITS:-ibv smp}; do
    [ -x "$TEST_BUILD/gasnetrun_$conduit" ] || continue
    GASNET_SUPERNODE_MAXSIZE=0
    export GASNET_WATCHDOG=1
    begin "$conduit" seq again
    prints "$conduit: the watchdog prints the report" 1 'gasnetrun_[a-z]*: no rank has got on' "$barrier" "$waits" "$sleeps"
    sleep 3 # in which it could print again
    prints "$conduit: and only once" 1
    : >"$here/go"
    prints "$conduit: and again when the job got on and stands still once more" 2
    mkdir "$here/again" && : >"$here/again/go"
    finish
    tap_ok $status "  and the job goes on"
    begin "$conduit" seq missing
    kill -STOP "$(cat "$here/ready.2")"
    prints "$conduit: a stopped rank does not keep the watchdog from printing" 1 '^  rank 2 .* does not answer: is it stopped'
    kill -CONT "$(cat "$here/ready.2")"
    finish
    tap_ok $status "  and the job goes on"
    begin "$conduit" seq moves
    sleep 4 # several times as long as the watchdog waits
    finish
    [ $status = 0 ] && ! grep -qE "$still" "$log"
    tap_ok $? "$conduit: of a job that moves it prints nothing"
done

if [ -x "$TEST_BUILD/gasnetrun_smp" ]; then
    rm -rf "$here" && mkdir "$here"
    GASNET_SUPERNODE_MAXSIZE=0 GASNET_PSHM_NODES=3 "$TEST_BUILD/tests/testwhy-smp-seq" missing "$here" >"$log" 2>&1 </dev/null &
    job=$!
    prints "a program that forks its ranks prints it too" 1 'testwhy-smp-seq: no rank has got on' "$barrier"
    finish
    tap_ok $status "  and it goes on"
fi
for way in mpi:mpi-openmpi pmix:pmix; do
    [ -f "$TEST_BUILD/other/launch/gasnet-spawner-${way#*:}.so" ] && command -v mpirun.openmpi >/dev/null || continue
    export MPIRUN_CMD="mpirun.openmpi --allow-run-as-root --oversubscribe -np %N %C"
    export PMIRUN_CMD=$MPIRUN_CMD GASNET_SUPERNODE_MAXSIZE=1
    begin ibv seq missing "${way%:*}"
    launcher=$TEST_BUILD/gasnetrun_ibv
    prints "${way%:*}: each rank prints its own part" 3 '^\*\*\* WATCHDOG \(rank 0 of 3 on .*\): it has not got on' \
        '^rank 0 \(process [0-9]+ on .*\) waits in the barrier of all ranks' '^rank 1 \(process [0-9]+ on .*\) has not polled for 1 s'
    finish
    tap_ok $status "  and it goes on"
    unset MPIRUN_CMD PMIRUN_CMD
done
unset GASNET_WATCHDOG

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    begin ibv seq missing
    cp "$launcher" "$tap_scratch/asker" && chmod 755 "$tap_scratch" "$tap_scratch/asker"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$tap_scratch/asker" --why "$number" >"$report" 2>&1
    [ $? = 1 ] && has 'this job is of user 0|that job is of user 0' && ! has 'barrier'
    tap_ok $? "another user is refused"
    finish
else
    tap_skip "another user is refused" "needs root, to be another user"
fi
tap_end
