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

barrier='^ranks 0 and 2 wait in the barrier of all ranks for rank 1$'
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
        hangs "$conduit" "$mode" missing '^3 ranks: 2 wait for others, 1 do not poll, 0 do not answer$' "$barrier" \
            "${rank1}has not polled for 1 s: it computes, sleeps or is stuck$"
        hangs "$conduit" "$mode" handler "$barrier" "${rank1}has not polled for 1 s: a handler has not returned$"
        hangs "$conduit" "$mode" lost "$barrier" "${rank1}polls, and waits for a message or a condition of the program"
        hangs "$conduit" "$mode" credits '^rank 2 .* waits in the barrier of all ranks for ranks 0-1$' \
            '^  rank 0 .* waits [0-9]+\.[0-9] s for a credit for Requests to rank 1$' \
            '^    rank 1 .* has not polled for 1 s: it computes, sleeps or is stuck$'
    done
    case " ${TEST_MODES:-seq par} " in
    *" par "*)
        begin "$conduit" par lock
        says "$conduit par: lock" "$barrier" \
            "${rank1}has not polled for 1 s: (a handler has not returned: )?its thread [0-9]+ waits for a lock that its thread $(cat "$here/ready.1") holds$"
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
        'rank 1 \(process [0-9]+ on [^)]*\) waits in the barrier of all ranks for ranks 0 and 2$' \
        'ranks 0 and 2 wait in collective operation 3 of GASNET_TEAM_ALL for rank 1, where fewer have begun$' ', named above: a cycle$'
    kill -TERM "$number"
    wait "$job"
done
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
