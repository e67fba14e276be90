#!/bin/bash
# output.sh - the launcher's output: readers that do not read, file systems that are full, and what the ranks of
# other hosts print meanwhile; then host files that are no files.
# family: output
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
cd "$TEST_BUILD" || exit 1
unset GASNET_SSH_NODEFILE GASNET_SSH_SERVERS GASNET_NODEFILE GASNET_SSH_OPTIONS GASNET_IBV_SPAWNER GASNET_SSH_OUT_DEGREE
unset PBS_NODEFILE OAR_NODEFILE PE_HOSTFILE SSS_HOSTLIST LSB_HOSTS LSB_DJOB_HOSTFILE LSB_MCPU_HOSTS SLURM_JOB_NODELIST SLURM_NODELIST
unset PBS_JOBID OAR_JOB_ID LSB_JOBID SLURM_JOB_ID
run=$TEST_BUILD/gasnetrun_ibv job=$TEST_BUILD/tests/spawner/job limit=60
export GASNET_SSH_CMD=$TEST_SOURCE/spawner/fake-ssh
err=$tap_scratch/err out=$tap_scratch/out

# verdict NAME WRONG: WRONG is empty if all is as it should be.
verdict() {
    tap_ok "$([ -z "$2" ]; echo $?)" "$1"
    [ -z "$2" ] || { tap_note "wrong: $2" && tap_tail "$err"; }
}
says() { grep -qE -- "$1" "$err" || wrong+="; stderr does not say: $1"; }

# with WAY: where the ranks are.
with() {
    unset GASNET_SSH_SERVERS GASNET_SSH_OUT_DEGREE
    case $1 in
    hosts) export GASNET_SSH_SERVERS="nodeA nodeB" ;;
    tree) export GASNET_SSH_SERVERS="nodeA nodeB" GASNET_SSH_OUT_DEGREE=1 ;;
    esac
}

# begin COMMAND...: starts it with stdout a pipe that nobody reads, unless `to` or `err_to` says otherwise; sets
# `launcher`, its process.  `door` is the test's own end of the pipe.
mkfifo "$tap_scratch/pipe"
exec {door}<>"$tap_scratch/pipe"
begin() {
    marker=output.$$.$tap_count.$RANDOM wrong=
    : >"$err"
    TEST_MARKER=$marker timeout -s KILL $limit "$@" >"${to:-$tap_scratch/pipe}" 2>"${err_to:-$err}" </dev/null &
    timer=$!
    until launcher=$(pgrep -P $timer); do
        kill -0 $timer 2>/dev/null || break
        sleep 0.01
    done
}
ranks() { # the processes of the program
    local pid
    for pid in $(marked_processes "$marker"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "${program:-job}" ] && echo "$pid"
    done
}
# shellcheck disable=SC2317 # until_ calls these
stuck() { # N: as many ranks wait in a write to their standard output
    local pid fd count=0
    for pid in $(ranks); do
        read -r _ fd _ 2>/dev/null <"/proc/$pid/syscall" && [ "$fd" = 0x1 ] && count=$((count + 1))
    done
    [ "$count" -eq "$1" ]
}
until_() { # CONDITION...: holds, or the launcher is gone
    until "$@"; do
        kill -0 $timer 2>/dev/null || { wrong+="; it ended before: $*" && return; }
        sleep 0.02 # between two looks
    done
}
ended() { # STATUS: waits; nothing may be left
    local got
    wait $timer 2>/dev/null
    got=$?
    [ $got = "$1" ] || wrong+="; status $got, expected $1"
    no_orphans "$marker" 5 || wrong+="; processes are left"
}
take() { timeout $limit cat <&$door >"$out" & taker=$!; } # starts to read the pipe
let_go() { # stops reading, and empties the pipe
    kill $taker 2>/dev/null
    wait $taker 2>/dev/null
}
empty() { timeout 0.1 cat <&$door >/dev/null; }
lines() { [ "$(grep -c '^<rank     [01] line  *[0-9]*  *>$' "$out")" = "$1" ]; }

# --- nobody reads ---
for way in local hosts tree; do
    with $way
    for how in TERM:143 INT:130 KILL:137 "TERM, stderr is not read either:143"; do
        name=${how%:*} signal=${how%%[,:]*}
        err_to=
        [ "$name" = "$signal" ] || err_to=$tap_scratch/pipe
        begin "$run" -n 2 "$job" chatter 100000
        until_ stuck 2
        if [ "$signal" = KILL ]; then kill -KILL "$(ranks | head -1)"; else kill -"$signal" "$launcher"; fi
        ended "${how#*:}"
        case $name in
        KILL) says '^gasnetrun_ibv: rank [01] on host .* was killed by signal 9' ;;
        TERM | INT) says "^gasnetrun_ibv: signal [0-9]+ .*: ending the job" ;;
        esac
        [ $way = local ] || [ -n "$err_to" ] ||
            says '^gasnetrun_ibv: at least [1-9][0-9]* bytes of output of other hosts are lost: their reader does not take them$'
        case $name in KILL) name="the death of a rank ends the job" ;; *) name="SIG$name: ends the job" ;; esac
        verdict "$way: nobody reads: $name" "$wrong"
        empty
    done
    err_to=

    begin "$run" -n 2 "$job" chatter 400000
    until_ stuck 2
    most=$(awk '/^VmHWM/ { print $2 }' "/proc/$launcher/status")
    [ "${most:-99999}" -lt 16000 ] || wrong+="; the launcher takes $most KiB"
    take
    ended 0
    until_lines() { until lines 800000; do kill -0 $taker 2>/dev/null || { wrong+="; lines are missing" && break; }; sleep 0.05; done; }
    until_lines
    let_go
    [ ! -s "$err" ] || wrong+="; stderr is not empty"
    verdict "$way: a reader that comes late: the ranks are held up, and then nothing is lost" "$wrong"
done

# --- the job is over, and its output is not read yet ---
# shellcheck disable=SC2317
readable() { read -r -t 0 -u "$door"; }
# shellcheck disable=SC2317
over() { readable && [ -z "$(ranks)" ]; }
for way in hosts tree; do
    with $way
    begin "$run" -n 2 "$job" chatter 6000
    until_ over
    take
    ended 0
    until lines 12000 || ! kill -0 $taker 2>/dev/null; do sleep 0.02; done
    lines 12000 || wrong+="; lines are missing"
    let_go
    verdict "$way: the output of a job that is over waits for its reader" "$wrong"
    begin "$run" -n 2 "$job" chatter 6000
    until_ over
    kill -TERM "$launcher"
    ended 143
    says '^gasnetrun_ibv: at least [1-9][0-9]* bytes of output of other hosts are lost'
    verdict "$way: but SIGTERM ends the launcher" "$wrong"
    empty
done
with hosts
begin "$run" -n 2 "$job" chatter 17500 # more than the launcher keeps
until_ over
sleep 4 # longer than a guard waits for a control process that does not end
take
ended 0
until lines 35000 || ! kill -0 $taker 2>/dev/null; do sleep 0.02; done
lines 35000 || wrong+="; lines are missing"
let_go
verdict "hosts: so does what other hosts still keep, for any time" "$wrong"
begin "$run" -n 2 sh -c '"$@"; exec sleep 1000' wrapper "$job" chatter 20
until_ readable
flags=$(awk '/^flags/ { print $2 }' "/proc/$launcher/fdinfo/1")
[ $((flags & 04000)) = 0 ] || wrong+="; O_NONBLOCK is set on the standard output, which others share"
kill -TERM "$launcher"
ended 143
verdict "the standard output stays as it was" "$wrong"

# --- a full file system, and a reader that is gone ---
if [ -w /dev/full ]; then
    with hosts
    to=/dev/full
    begin "$run" -n 2 "$job" chatter 100
    ended 1
    [ "$(cat "$err")" = "gasnetrun_ibv: 12800 bytes of output are lost: cannot write to standard output: No space left on device" ] ||
        wrong+="; not that one line"
    verdict "hosts: stdout is a full file system" "$wrong"
    to=
    for way in hosts tree; do # of the control processes
        with $way
        export GASNET_SSH_SERVERS="nodeA full1"
        begin "$run" -n 2 "$job" chatter 100
        ended 1
        [ "$(cat "$err")" = "gasnetrun_ibv: host full1: 6400 bytes of output are lost: its control process cannot write to standard output: No space left on device" ] ||
            wrong+="; not that one line"
        verdict "$way: what a control process writes to finds no room" "$wrong"
        empty
    done
    with hosts
    err_to=/dev/full begin "$run" -n 2 sh -c 'echo lost >&2; exec "$@"' wrapper "$job" chatter 1
    ended 1
    verdict "hosts: stderr is a full file system" "$wrong"
    empty
    with local
    for words in "$run --help" "$run --version" "$run --help-env" "$TEST_BUILD/softhca-run --help" \
        "$TEST_BUILD/softhca-run --help-env" "$TEST_BUILD/softhca-run --status" "$TEST_BUILD/gasnet-doctor-ibv --host"; do
        read -ra command <<<"$words"
        wrong=
        "${command[@]}" >/dev/full 2>"$err" </dev/null && wrong="; status 0"
        says 'cannot write to standard output: No space left on device$'
        [ "$(wc -l <"$err")" = 1 ] || wrong+="; not one line"
        verdict "${words##*/}: stdout is a full file system" "$wrong"
    done
    wrong=
    "$run" -t -n 2 "$job" </dev/null >"$out" 2>/dev/full && wrong="; status 0"
    verdict "gasnetrun_ibv -t: stderr is a full file system" "$wrong"
else
    tap_skip "a full file system" "no /dev/full here"
fi
with hosts
wrong='' marker=output.$$.reader
TEST_MARKER=$marker timeout -s KILL $limit "$run" -n 2 "$job" chatter 2000000000 2>"$err" </dev/null | head -1 >"$out"
got=${PIPESTATUS[0]}
[ "$got" = 141 ] || wrong+="; status $got, expected 141"
no_orphans "$marker" 5 || wrong+="; processes are left"
says '^gasnetrun_ibv: standard output, to which the output of other hosts goes, has no reader any more; ending the job$'
verdict "hosts: the reader of the output is gone" "$wrong"

# --- host files ---
hostfile() { # STATUS NAME PATTERN: of a job with $file
    local got
    wrong=
    GASNET_SSH_NODEFILE=$file timeout -s KILL $limit "$run" -n 2 "$job" hosts >"$out" 2>"$err" </dev/null
    got=$?
    [ $got = "$1" ] || wrong+="; status $got, expected $1"
    if [ "$1" = 0 ]; then
        grep -q "$3" "$out" || wrong+="; stdout does not say: $3"
    else
        says "$3"
        [ "$(wc -l <"$err")" = 1 ] || wrong+="; not one line"
    fi
    verdict "host file: $2" "$wrong"
}
with local
two='^hosts 0 1$' cannot='^gasnetrun_ibv: cannot read the host file GASNET_SSH_NODEFILE=.*: '
file=$tap_scratch/hosts
mkfifo "$file"
hostfile 1 "a pipe to which nobody writes" "${cannot}it is a pipe, and no process has written to it for 5 s"
(printf 'nodeA\nnodeB\n' >"$file") &
hostfile 0 "a named pipe" "$two"
wait $!
wrong='' marker=output.$$.file
GASNET_SSH_NODEFILE=$file begin "$run" -n 2 "$job" hosts
# shellcheck disable=SC2317
polls() { find "/proc/$launcher/fd" -lname "$file" 2>/dev/null | grep -q .; }
until_ polls
kill -TERM "$launcher"
ended 143
verdict "host file: SIGTERM while a pipe is waited for" "$wrong"
file=/dev/fd/7
hostfile 0 "of a process substitution" "$two" 7< <(echo nodeA; echo nodeB)
file=/dev/zero
hostfile 1 "a device without end" "${cannot}it is a device or a socket"
file=$tap_scratch
hostfile 1 "a folder" "${cannot}Is a directory"
file=$tap_scratch/none
hostfile 1 "none" "${cannot}No such file or directory"
file=$tap_scratch/text
printf 'nodeA\nnode\0B\nnodeC\n' >"$file"
hostfile 1 "a null byte" "${cannot}line 2 has a null byte"
printf 'nodeA\n# comment\n-oProxyCommand=x\n' >"$file"
hostfile 1 "the line of a wrong name" 'GASNET_SSH_NODEFILE=.*: line 3: host name "-oProxyCommand=x" begins with a dash'
printf 'nodeA\r\nnodeB slots=4\r\n' >"$file"
hostfile 0 "ends of lines of another system" "$two"
{ echo nodeA; head -c 300000 /dev/zero | tr '\0' x; } >"$file"
hostfile 1 "a line without end" 'GASNET_SSH_NODEFILE=.*: line 2: host name "x{40}" is too long'
{ printf 'nodeA # '; head -c 300000 /dev/zero | tr '\0' x; printf '\nnodeB'; } >"$file"
hostfile 0 "a long comment, and no end of the last line" "$two"
head -c 17000000 /dev/zero | tr '\0' '\n' >"$file"
hostfile 1 "a huge file" "${cannot}it has more than 16 MiB"
tap_end
