#!/bin/bash
# stats.sh - the counters of a job as its users see them: in GASNET_STATSFILE at the end, and of a
# running job by gasnetrun --stats.
#
# The counts of a job with known traffic must be reported to each user who may ask, also of processes that never
# poll; counters that cannot be read must be named.  Nothing here waits for a time.
# family: stats
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
log=$TEST_LOG/stats.log
here=$tap_scratch/job
export SOFTHCA=on GASNET_QUIET=0
unset GASNET_STATSFILE GASNET_SSH_SERVERS GASNET_SSH_NODEFILE

# counter FILE RANK PEER NAME: its value.
counter() { awk -v r="$2" -v p="$3" -v n="$4" '$1 == r && $2 == p && $3 == n { print $4 }' "$1"; }

# counts FILE RANK PEER "NAME=VALUE"...: all of them.
counts() {
    local file=$1 rank=$2 peer=$3 one got wrong=0
    shift 3
    for one; do
        got=$(counter "$file" "$rank" "$peer" "${one%%=*}")
        [ "$got" = "${one#*=}" ] || { tap_note "rank $rank peer $peer: $one, and it is ${got:-absent}"; wrong=1; }
    done
    return $wrong
}

fresh() { rm -rf "$here" && mkdir "$here"; }

run() { # MODE WHAT [NAME=VALUE...]
    local mode=$1 what=$2
    shift 2
    fresh
    env "$@" timeout -k 2 60 "$TEST_LAUNCH" -spawner=ssh -n 2 "$TEST_BUILD/tests/teststats-$conduit-$mode" "$what" "$here" \
        >"$log" 2>&1 </dev/null
}

# ---- at the end ----

for mode in ${TEST_MODES:-seq par}; do
    file=$tap_scratch/all.$mode
    echo "left over" >"$file"
    run "$mode" end GASNET_STATSFILE="$file"
    tap_ok $? "$mode: a job with GASNET_STATSFILE"
    [ "$(grep -c '^# rank . of 2 on .*, at exit$' "$file")" = 2 ] && ! grep -q 'left over' "$file"
    tap_ok $? "$mode: one file, made empty, has a section of each rank"
    # A Long of 10000 bytes is put ahead in three pieces; the barriers put as well.
    counts "$file" 0 1 requests_short=7 requests_medium=2 requests_long=2 am_bytes=11200 gets=1 get_bytes=50 &&
        counts "$file" 0 - longs_packed=1 longs_unpacked=1 connections=1 gets_bounced=1 puts_bounced=3 &&
        counts "$file" 1 0 got_requests=11 banked=11 &&
        counts "$file" 1 - got_requests_short=7 got_requests_medium=2 got_requests_long=2 got_am_bytes=11200 &&
        counts "$file" 1 all requests_short=0 stalls_credits=0 credits=32
    tap_ok $? "$mode: the counters of known traffic"
    [ "$(counter "$file" 0 1 puts)" -ge 8 ] && [ "$(counter "$file" 0 1 put_bytes)" -ge 10040 ] &&
        [ "$(counter "$file" 0 1 put_bytes)" -lt 10400 ]
    tap_ok $? "$mode: puts, with the payload of Longs"
    awk '!/^#/ { rows++; if (NF != 5) wrong = 1 } END { exit wrong || rows < 90 }' "$file"
    tap_ok $? "$mode: every line has five words"
done

run seq end GASNET_STATSFILE="$tap_scratch/each.%"
grep -q '^# rank 0 ' "$tap_scratch/each.0" && grep -q '^# rank 1 ' "$tap_scratch/each.1" && ! grep -q '^# rank 1 ' "$tap_scratch/each.0"
tap_ok $? "% in the name is the rank"
[ "$(grep -c '^# client: ' "$tap_scratch/each.1")" = 2 ] && grep -qx '# client: 11 messages have arrived' "$tap_scratch/each.1" &&
    [ "$(grep -c '^statistics of the client: 1$' "$log")" = 2 ]
tap_ok $? "GASNETT_STATS_INIT: the program's own lines"
run seq end GASNET_STATSFILE="$tap_scratch/some.%" GASNET_STATSMASK=GH
names=$(awk '!/^#/ { print $3 }' "$tap_scratch/some.0" | sort -u | tr '\n' ' ')
[ "$names" = 'get_bytes gets gets_bounced ' ] && grep -q '^# client: ' "$tap_scratch/some.0"
tap_ok $? "GASNET_STATSMASK=GH: gets and the program's own lines alone"
run seq end GASNET_STATSFILE="$tap_scratch/some.%" GASNET_STATSMASK=A
! grep -q '^# client: ' "$tap_scratch/some.0" && grep -q requests_short "$tap_scratch/some.0" && grep -q '^statistics of the client: 0$' "$log"
tap_ok $? "GASNET_STATSMASK=A: not the program's"
rm -f "$tap_scratch"/some.*
run seq end GASNET_STATSFILE="$tap_scratch/some.%" GASNET_STATSNODES=1
[ ! -e "$tap_scratch/some.0" ] && [ -s "$tap_scratch/some.1" ]
tap_ok $? "GASNET_STATSNODES=1: one file"
(cd "$tap_scratch" && run seq end GASNET_STATSFILE=relative) && [ -s "$tap_scratch/relative" ]
tap_ok $? "a relative name is taken from where the job was started"
run seq end GASNET_STATSFILE=-
[ "$(grep -c '^# rank . of 2 ' "$log")" = 2 ]
tap_ok $? "- is standard error"
run seq end GASNET_STATSFILE=/nowhere/at/all
status=$?
[ $status = 0 ] && grep -q 'WARNING.*GASNET_STATSFILE=/nowhere/at/all.*No such file' "$log"
tap_ok $? "a file that cannot be written is a warning"
if [ -w /dev/full ]; then
    run seq end GASNET_STATSFILE=/dev/full
    [ $? -eq 0 ] && [ "$(grep -c '^\*\*\* WARNING (rank [01] of 2 .*): GASNET_STATSFILE=/dev/full: cannot write /dev/full: No space left on device; ' "$log")" = 2 ]
    tap_ok $? "a full file system: each rank whose counters are lost says so"
fi
run seq fail GASNET_STATSFILE="$tap_scratch/fatal"
status=$?
[ $status = 1 ] && grep -q '^# rank 1 .*, at a fatal error$' "$tap_scratch/fatal"
tap_ok $? "a process that ends by a fatal error writes too"
grep -A 1 '^\*\*\* FATAL ERROR (rank 1' "$log" | grep -q '^\*\*\* counters of rank 1: [0-9]* puts, 0 gets, 0 Requests sent, 11 handled; waits'
tap_ok $? "and the line after its message has the counters"

# ---- a running job ----

# shellcheck source=tests/stats/running.sh
. "$TEST_SOURCE/stats/running.sh"

begin() { # WHAT [SPAWNER]: starts a job in the background, and waits until both ranks are ready
    begin_job 2 "$TEST_LAUNCH" -v "-spawner=${2:-ssh}" -n 2 "$TEST_BUILD/tests/teststats-$conduit-seq" "$1" "$here"
}
ask() { "$TEST_LAUNCH" --stats "$1" >"$tap_scratch/answer" 2>"$tap_scratch/problem"; }

export GASNET_STATSFILE=$tap_scratch/closed
begin poll
unset GASNET_STATSFILE
[ -e "$tap_scratch/closed" ] && [ -z "$(find "/proc/$(cat "$here/ready.0")/fd" -lname "$tap_scratch/closed")" ]
tap_ok $? "between start and end the file of GASNET_STATSFILE is closed"
rm -f "$tap_scratch/closed"
ask "$number"
[ $? = 0 ] && grep -q '^# rank 0 .*, on request$' "$tap_scratch/answer" && grep -q '^# rank 1 .*, on request$' "$tap_scratch/answer" &&
    counts "$tap_scratch/answer" 0 1 requests_short=7 requests_long=2 && counts "$tap_scratch/answer" 1 0 got_requests=11
tap_ok $? "gasnetrun --stats: a running job reports its counters"
[ $? = 0 ] || tap_tail "$tap_scratch/answer"
for i in 1 2 3; do "$TEST_LAUNCH" --stats "$number" >"$tap_scratch/answer.$i" 2>&1 & askers[i]=$!; done
wait "${askers[@]}"
grep -qc '^# rank 1 ' "$tap_scratch/answer.1" && grep -q '^# rank 1 ' "$tap_scratch/answer.2" && grep -q '^# rank 1 ' "$tap_scratch/answer.3"
tap_ok $? "several clients at once all get an answer"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    # The launcher judges; a copy that anybody may execute asks.
    cp "$TEST_LAUNCH" "$tap_scratch/asker" && chmod 755 "$tap_scratch" "$tap_scratch/asker"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$tap_scratch/asker" --stats "$number" >"$tap_scratch/answer" 2>&1
    grep -q 'refused: this job is of user 0' "$tap_scratch/answer" && ! grep -q requests "$tap_scratch/answer"
    tap_ok $? "another user is refused"
else
    tap_skip "another user is refused" "needs root, to be another user"
fi
kill -STOP "$(cat "$here/ready.1")"
ask "$number"
grep -q '^# rank 1 of 2 on .*: no answer within 3 s' "$tap_scratch/answer" && grep -q '^# rank 0 .*, on request$' "$tap_scratch/answer"
tap_ok $? "a stopped process is named, the others answer"
kill -CONT "$(cat "$here/ready.1")"
finish
tap_ok $status "the job ends well after all that"
[ "$(grep -c '^# rank . of 2 on .*, at exit$' "$tap_scratch/closed")" = 2 ] &&
    [ "$(stat -c %a "$tap_scratch/closed")" = "$(stat -c %a "$tap_scratch/answer")" ]
tap_ok $? "a file that was removed while the job ran is made again, with the user's usual rights"
ask "$number"
[ $? = 1 ] && grep -q 'there is no such job\|no launcher' "$tap_scratch/problem"
tap_ok $? "a job that is over is said to be"

begin sleep
ask "$number"
grep -q '^# rank 1 .*, on request; it has not polled' "$tap_scratch/answer" && counts "$tap_scratch/answer" 1 0 got_requests=11
tap_ok $? "a process that does not poll reports its counters too, and that it does not"
finish
tap_ok $status "and the job ends well"

# Which are this one, and the software device is to know it.
export GASNET_SSH_SERVERS=far1,far2 GASNET_SSH_CMD=$TEST_SOURCE/spawner/fake-ssh SOFTHCA_HOSTS=
begin poll
ask "$number"
[ "$(grep -c '^# rank . .*, on request$' "$tap_scratch/answer")" = 2 ] && counts "$tap_scratch/answer" 0 1 requests_short=7
tap_ok $? "processes on other hosts answer as well"
finish
tap_ok $status "and that job ends well"
unset GASNET_SSH_SERVERS GASNET_SSH_CMD SOFTHCA_HOSTS

# Under launchers that are not ours the ranks of this machine answer, one by one.
for way in mpi:mpi-openmpi pmix:pmix; do
    if ! [ -f "$TEST_BUILD/other/launch/gasnet-spawner-${way#*:}.so" ] || ! command -v mpirun.openmpi >/dev/null; then
        tap_skip "--stats of a job of ${way%:*}" "no module ${way#*:}, or no mpirun.openmpi"
        continue
    fi
    MPIRUN_CMD="mpirun.openmpi --allow-run-as-root --oversubscribe -np %N %C"
    PMIRUN_CMD=$MPIRUN_CMD
    export MPIRUN_CMD PMIRUN_CMD
    begin sleep "${way%:*}"
    ask "$number"
    [ $? = 0 ] && [ "$(grep -c '^# rank . .*, on request' "$tap_scratch/answer")" = 2 ] &&
        counts "$tap_scratch/answer" 0 1 requests_short=7 && counts "$tap_scratch/answer" 1 0 got_requests=11
    tap_ok $? "a job of ${way%:*} reports its counters"
    [ -s "$tap_scratch/answer" ] || tap_tail "$tap_scratch/problem"
    kill -STOP "$(cat "$here/ready.0")"
    ask "$number"
    grep -q '^# rank 0 of 2: no answer within 3 s' "$tap_scratch/answer" && grep -q '^# rank 1 .*, on request' "$tap_scratch/answer"
    tap_ok $? "its stopped process is named, the other answers"
    kill -CONT "$(cat "$here/ready.0")"
    if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$tap_scratch/asker" --stats "$number" >"$tap_scratch/answer" 2>&1
        grep -q 'refused: this job is of user 0' "$tap_scratch/answer" && ! grep -q requests "$tap_scratch/answer"
        tap_ok $? "another user is refused there too"
    fi
    finish
    tap_ok $status "and the job of ${way%:*} ends well"
    unset MPIRUN_CMD PMIRUN_CMD
done

ask $$
[ $? = 1 ] && grep -q "process $$ (.*) is no launcher" "$tap_scratch/problem"
tap_ok $? "what is no launcher is named"

# Anyone may listen under the name of a job or of one of its ranks; only its user is believed.
squat() { # NAME...: as another user; to everyone who asks, a command for the terminal
    rm -f "$tap_scratch/squatter"
    python3 -c '
import os, select, socket, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
doors = [socket.socket(socket.AF_UNIX) for name in sys.argv[1:]]
for door, name in zip(doors, sys.argv[1:]):
    door.bind("\0" + name)
    door.listen()
print("ready", flush=True)
while True:
    for door in select.select(doors, [], [])[0]:
        client = door.accept()[0]
        try:
            client.sendall(b"\x1b]0;squatter\n")
        except OSError:
            pass
        client.close()
' "$@" >"$tap_scratch/squatter" 2>&1 &
    squatter=$!
    until [ -s "$tap_scratch/squatter" ]; do sleep 0.02; done # between two looks
    timeout 20 "$TEST_LAUNCH" --stats $$ >"$tap_scratch/answer" 2>"$tap_scratch/problem"
    status=$?
    kill $squatter
    wait $squatter 2>/dev/null
    ! grep -q squatter "$tap_scratch/answer" && [ $status = 1 ] &&
        grep -q "user 65534, whose job that is not, listens under its name" "$tap_scratch/problem"
}
if [ "$(id -u)" = 0 ]; then
    squat "gasnetrun/$$"
    tap_ok $? "another user who listens under the name of a job is not believed"
    squat "gasnetrun/$$/0/4294967295" "gasnetrun/$$/1/2"
    tap_ok $? "nor under those of its ranks, and their number is not either"
else
    tap_skip "another user listens under the name of a job" "needs root, to be another user"
fi
tap_end
