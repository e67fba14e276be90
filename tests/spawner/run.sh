#!/bin/bash
# Tests of the spawners, as TAP: tests/spawner/run.sh  (top_builddir: where the build is; default .)
# Needs check_PROGRAMS spawner-job and spawner-unit, and gasnetrun_ibv.  Exits with 0 if all tests pass.
# family: spawner
build=$(cd "${top_builddir:-.}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
run=$build/gasnetrun_ibv
job=$build/tests/spawner/job
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset GASNET_SSH_NODEFILE GASNET_SSH_SERVERS GASNET_NODEFILE GASNET_SSH_OPTIONS GASNET_IBV_SPAWNER
unset MPIRUN_CMD PBS_NODEFILE OAR_NODEFILE PE_HOSTFILE SSS_HOSTLIST LSB_HOSTS LSB_DJOB_HOSTFILE LSB_MCPU_HOSTS SLURM_JOB_NODELIST SLURM_NODELIST
unset PBS_JOBID OAR_JOB_ID LSB_JOBID SLURM_JOB_ID
export GASNET_SSH_CMD=$here/fake-ssh
export ASAN_OPTIONS=${ASAN_OPTIONS-detect_leaks=0}
count=0 bad=0
limit=60 # seconds, many times what a case takes

say() { # say <0 or not> <name>
    count=$((count + 1))
    # shellcheck disable=SC2181
    if [ "$1" = 0 ]; then echo "ok $count - $2"; return; fi
    echo "not ok $count - $2"
    bad=$((bad + 1))
    sed 's/^/#   out: /' "$tmp/out" | head -20
    sed 's/^/#   err: /' "$tmp/err" | head -20
}

# Processes with the mark of this test's job in their environment; zombies have none.
left() { grep -lsz "^SPAWN_TEST_MARK=$mark\$" /proc/[0-9]*/environ 2>/dev/null; }
none_left() { # within five seconds
    for _ in $(seq 500); do [ -z "$(left)" ] && return 0; sleep 0.01; done
    echo "left behind: $(left | tr '\n' ' ')" >>"$tmp/err"
    return 1
}

start() { # start <command...>: status, out, err
    mark=$$-$count-$RANDOM
    SPAWN_TEST_MARK=$mark timeout -s KILL $limit "$@" >"$tmp/out" 2>"$tmp/err" <"${input:-/dev/null}"
    status=$?
}

# expect <status> <name> <command...>: that status, and no process left: at once, or within five seconds with
# mpirun and the like ($foreign_way) and with a tree of hosts ($GASNET_SSH_OUT_DEGREE)
expect() {
    local want=$1 name=$2
    shift 2
    start "$@"
    if [ $status != "$want" ]; then echo "status $status, expected $want" >>"$tmp/err"; fi
    [ $status = "$want" ] && { [ -z "$(left)" ] || { [ -n "$foreign_way$GASNET_SSH_OUT_DEGREE" ] && none_left; }; }
    say $? "$name"
}

says() { grep -q -- "$1" "$tmp/$2"; say $? "  $2 holds: $1"; } # says <pattern> <out|err>
silent() { [ ! -s "$tmp/err" ]; say $? "  stderr is empty"; }

# --- pure parts ---
"$build/tests/spawner/unit" >"$tmp/out" 2>"$tmp/err"
say $? "unit tests ($(head -1 "$tmp/out" | tr -d '#'))"

# --- every way to start ---
ways=(local hosts)
# by mpirun and the like; under mpirun the library chooses pmix where that is built, else mpi
foreign=()
offers() { # offers <module> <launcher>: both are installed
    [ -f "$build/other/launch/gasnet-spawner-$1.so" ] && command -v "$2" >/dev/null
}
offers mpi-openmpi mpirun.openmpi && foreign+=(mpi mpirun)
offers mpi-mpich mpirun.mpich && foreign+=(mpich)
offers pmix mpirun.openmpi && foreign+=(pmix)
ways+=("${foreign[@]}")
with() { # with <way> <processes> [program...]: the command, in array `command`
    local n=$2
    unset GASNET_SSH_SERVERS MPIRUN_CMD
    case $1 in local | hosts) foreign_way='' ;; *) foreign_way=1 ;; esac
    case $1 in
    local) command=("$run" -n "$n") ;;
    hosts) command=("$run" -n "$n"); export GASNET_SSH_SERVERS="nodeA,nodeB localhost" ;;
    mpi) command=("$run" -n "$n" -spawner=mpi) ;;
    mpich) command=("$run" -n "$n" -spawner=mpi); export MPIRUN_CMD="mpirun.mpich -np %N %C" ;;
    pmix) command=("$run" -n "$n" -spawner=pmix) ;;
    mpirun) command=(mpirun.openmpi --allow-run-as-root --oversubscribe -np "$n") ;;
    esac
    command+=("${@:3}")
}

words=(args '' 'a b' "it's" '"q"' '$HOME' '`x`' '*' '?' 'a\b' '\' ' lead' 'trail ' '%041' ';' '&' '|'
    $'tab\there' $'new\nline' 'grüße' $'\xff\xfe' -n --help -- '')
printf '[%s]\n' "${words[@]}" >"$tmp/words"
export SPAWN_TEST_ODD=$' lead $HOME "q" \'s\' \\ * \n% trail ' SPAWN_TEST_EMPTY=
printf '[%s]\n[]\n[(unset)]\n' "$SPAWN_TEST_ODD" >"$tmp/env"

for way in "${ways[@]}"; do
    for n in 1 2 3 8; do
        with "$way" $n "$job" collectives
        expect 0 "$way: collective calls, $n processes" "${command[@]}"
        silent
    done
    with "$way" 3 "$job" "${words[@]}"
    expect 0 "$way: arguments" "${command[@]}"
    cmp "$tmp/words" "$tmp/out" >>"$tmp/err" 2>&1
    say $? "  exactly as given"
    with "$way" 3 "$job" env SPAWN_TEST_ODD SPAWN_TEST_EMPTY SPAWN_TEST_UNSET
    expect 0 "$way: environment" "${command[@]}"
    cmp "$tmp/env" "$tmp/out" >>"$tmp/err" 2>&1
    say $? "  exactly as given"
    [ "$way" = mpich ] || { # with hydra the other ranks' input never ends
    # mpirun of Open MPI 4.1 sometimes crashes on more input, with any program
    case $way in mpi* | pmix) seq 800 ;; *) seq 20000 ;; esac >"$tmp/input"
    with "$way" 3 "$job" stdin
    input=$tmp/input expect 0 "$way: standard input" "${command[@]}"
    cmp "$tmp/input" "$tmp/out" >>"$tmp/err" 2>&1
    say $? "  reaches rank 0, whole, and no other rank"
    }
    with "$way" 3 "$job" hosts
    expect 0 "$way: host numbers" "${command[@]}"
    if [ "$way" = hosts ]; then says '^hosts 0 1 2$' out; else says '^hosts 0 0 0$' out; fi
    [[ $way = [mp]* ]] && continue # an MPI splits lines and leaves descriptors open
    with "$way" 3 "$job" lines
    expect 0 "$way: output" "${command[@]}"
    [ "$(grep -c '^<rank [0-2] line [0-9]* of the test>$' "$tmp/out")" = 600 ]
    say $? "  lines are whole and complete"
    # Or sched_yield gives way to no other rank, where the kernel has autogroups.
    # shellcheck disable=SC2016 # for the wrapper's shell
    with "$way" 3 sh -c 'read -r _ _ _ _ group session _ <"/proc/$$/stat"; echo "$(($$ == group)) $session"; exec "$@"' \
        wrapper "$job" collectives
    expect 0 "$way: sessions" "${command[@]}"
    case $way in local) sessions=1 ;; *) sessions=3 ;; esac
    [ "$(grep -c '^1 ' "$tmp/out")" = 3 ] && [ "$(sort -u "$tmp/out" | grep -c '^1 ')" = $sessions ]
    say $? "  each rank leads a process group, in one session for each host"
    with "$way" 3 "$job" signals
    expect 0 "$way: the spawner's threads take no signal of the program's" "${command[@]}"
    with "$way" 2 "$job" inherited
    expect 0 "$way: no descriptor of ours is inherited by programs" "${command[@]}"
done

# --- every way to end ---
for way in local hosts; do
    with $way 3 "$job" codes 3 200 7
    expect 200 "$way: orderly end, largest code" "${command[@]}"
    silent
    with $way 3 "$job" early
    expect 0 "$way: one leaves early in good order" "${command[@]}"
    silent
    with $way 3 "$job" fail-early
    expect 5 "$way: all fail before they join" "${command[@]}"
    with $way 3 "$job" help
    expect 0 "$way: all end well before they join" "${command[@]}"
    with $way 3 "$job" mismatch
    expect 1 "$way: collective calls that do not match" "${command[@]}"
    says 'collective calls do not match' err
    for others in barrier pause stopped deaf watch stuck; do
        for who in 0 1; do
            with $way 3 "$job" die $who abort 42 $others
            expect 42 "$way: rank $who aborts, others $others" "${command[@]}"
            if [ $others = watch ]; then
                [ "$(grep -c '^told 042$' "$tmp/out")" = 2 ]
                say $? "  the others get the code"
            fi
        done
        with $way 3 "$job" die 1 kill 9 $others
        expect 137 "$way: one is killed, others $others" "${command[@]}"
        says '^gasnetrun_ibv: rank 1 on host .* was killed by signal 9 (Killed); ending the job' err
    done
    with $way 3 "$job" die 1 slowly 9 pause
    expect 137 "$way: one is killed, and the kernel takes seconds to end it" "${command[@]}"
    with $way 3 "$job" die 2 abort 0 pause
    expect 1 "$way: abort with 0 while others have not asked to end" "${command[@]}"
    says '^gasnetrun_ibv: .* killed (and so the exit status is 1 instead of 0): ranks 0-1 of 3 on ' err
    with $way 3 "$job" die 2 segv 0 barrier
    expect 139 "$way: segmentation fault" "${command[@]}"
    with $way 3 "$job" die 0 _exit 3 barrier
    expect 3 "$way: _exit(3) without notice" "${command[@]}"
    says 'exited with status 3 without announcing' err
    with $way 3 "$job" die 0 exit 0 pause
    expect 1 "$way: exit(0) without notice" "${command[@]}"
    with $way 2 env A=b sh -c "'$job' die 1 kill 11 pause; sleep 1000"
    expect 1 "$way: a program ends badly under a wrapper that goes on" "${command[@]}"
    with $way 2 sh -c "sleep 1000 & exec '$job' die 1 abort 6 pause"
    # Processes that a rank left are killed, but are no children of the launcher, which does not wait for them.
    foreign_way=1 expect 6 "$way: processes started by a wrapper end too" "${command[@]}"
    with $way 2 "$tmp/bad-interpreter"
    printf '#!/no/such/interpreter\n' >"$tmp/bad-interpreter"
    chmod +x "$tmp/bad-interpreter"
    expect 127 "$way: the program cannot be executed" "${command[@]}"
    says 'cannot be executed: No such file' err
done

# --- input that is not this job's ---
printf '%s\n' one two three four >"$tmp/list"
for way in local hosts; do
    with $way 2
    : >"$tmp/out"
    mark=$$-$count-$RANDOM
    while read -r line; do
        SPAWN_TEST_MARK=$mark timeout -s KILL $limit "${command[@]}" true && echo "$line"
    done <"$tmp/list" >"$tmp/out" 2>"$tmp/err"
    [ "$(tr '\n' ' ' <"$tmp/out")" = "one two three four " ] && none_left
    say $? "$way: a loop that reads lines keeps those that the jobs in it do not read"
    # shellcheck disable=SC2016 # for the shell of each rank
    while read -r line; do
        SPAWN_TEST_MARK=$mark timeout -s KILL $limit "${command[@]}" sh -c 'read -r line && echo "job $line"; true'
        echo "loop $line"
    done <"$tmp/list" >"$tmp/out" 2>"$tmp/err"
    [ "$(tr '\n' ' ' <"$tmp/out")" = "job two loop one job four loop three " ] && none_left
    say $? "  and those behind what they read"
    # shellcheck disable=SC2016 # for the shell of rank 0
    with $way 1 sh -c 'echo ready >>"$TERMINAL_OUT"; exec cat >>"$TERMINAL_OUT"'
    rm -f "$tmp/typed"
    TERMINAL_OUT=$tmp/typed TERMINAL_ERR=$tmp/err expect 0 "$way: what is typed to the shell, while the job is in its background" \
        "$here/terminal" "${command[@]}"
done
unset GASNET_SSH_SERVERS

# --- signals to the launcher ---
# struck <status> <name> <action> <job words...>: `action`, given the launcher's process, once the job is
# "ready"
struck() {
    local want=$1 name=$2 action=$3 pid
    shift 3
    mark=$$-$count-$RANDOM
    : >"$tmp/out"
    SPAWN_TEST_MARK=$mark env --default-signal=INT,QUIT "${command[@]}" "$job" "$@" \
        >"$tmp/out" 2>"$tmp/err" </dev/null &
    pid=$!
    for _ in $(seq 3000); do grep -q ready "$tmp/out" && break; sleep 0.01; done
    $action $pid
    wait $pid 2>/dev/null
    status=$?
    [ $status = "$want" ] || echo "status $status, expected $want" >>"$tmp/err"
    [ $status = "$want" ] && none_left
    say $? "$name"
}
signalled() { # signalled <signal> <status> <name> <job words...>
    struck "$2" "$3" "kill -$1" "${@:4}"
}
term_twice() { # as timeout(1) sends it: the second comes right after the launcher has heard the first
    kill -TERM "$1"
    until grep -q 'signal 15' "$tmp/err"; do :; done
    kill -TERM "$1"
}
for way in local hosts; do
    with $way 3
    struck 143 "$way: launcher gets SIGTERM twice at once, ranks are deaf" term_twice hang deaf
    ! grep -q 'second signal' "$tmp/err"
    say $? "  and the second does not cut the first short"
    signalled TERM 143 "$way: launcher gets SIGTERM" hang
    signalled INT 130 "$way: launcher gets SIGINT" hang
    signalled HUP 129 "$way: launcher gets SIGHUP" hang barrier
    signalled TERM 143 "$way: launcher gets SIGTERM, ranks are deaf" hang deaf
    signalled TERM 45 "$way: launcher gets SIGTERM, ranks end in order with a code" handle
    signalled KILL 137 "$way: launcher is killed" hang
    signalled KILL 137 "$way: launcher is killed, ranks wait in a barrier" hang barrier
    signalled KILL 137 "$way: launcher is killed, ranks are stopped" hang stopped
    signalled KILL 137 "$way: launcher is killed, ranks are stuck" hang stuck
    command+=(sh -c "sleep 1000 & \"\$@\"; true" wrapper)
    signalled KILL 137 "$way: launcher is killed, ranks are wrapped" hang deaf
done

# --- hosts ---
unset GASNET_SSH_SERVERS
printf '# two\nnodeA slots=4\n\nnodeB # x\n' >"$tmp/hosts"
export FAKE_SSH_LOG=$tmp/log
hosts_used() { sort "$tmp/log" 2>/dev/null | tr '\n' ' '; }
GASNET_SSH_NODEFILE=$tmp/hosts GASNET_SSH_SERVERS=nodeC expect 0 "host file before host list" \
    "$run" -n 4 "$job" hosts
[ "$(hosts_used)" = "nodeA nodeB " ] && grep -q '^hosts 0 0 1 1$' "$tmp/out"
say $? "  one remote shell for each host, even blocks"
# The lists of batch systems; tests/unit/host_lists.c has all forms.
from() { # from <hosts used> <host of each rank> <VARIABLE=value...>
    rm -f "$tmp/log"
    expect 0 "hosts of ${*:3}" env "${@:3}" "$run" -n 4 "$job" hosts
    [ "$(hosts_used)" = "$1" ] && grep -q "^hosts $2\$" "$tmp/out"
    say $? "  are used: $1"
}
printf 'nodeA\nnodeA\nnodeB\nnodeB\n' >"$tmp/each"
printf 'nodeA 2 all.q@nodeA UNDEFINED\nnodeB 2 all.q@nodeB <NULL>\n' >"$tmp/pe"
from "nodeA nodeB " "0 0 1 1" "PBS_NODEFILE=$tmp/each" PBS_JOBID=7
from "nodeA nodeB " "0 0 1 1" "OAR_NODEFILE=$tmp/each" OAR_JOB_ID=7
from "nodeA nodeB " "0 0 1 1" "PE_HOSTFILE=$tmp/pe"
from "nodeA nodeB " "0 0 1 1" "GASNET_NODEFILE=$tmp/each" 'LSB_HOSTS=x x'
from "nodeA nodeB " "0 0 1 1" 'SSS_HOSTLIST=nodeA,nodeB'
from "nodeA nodeB " "0 0 1 1" 'LSB_HOSTS=nodeA nodeA nodeB nodeB ' LSB_JOBID=7
from "nodeA nodeB " "0 0 1 1" "LSB_DJOB_HOSTFILE=$tmp/each" LSB_JOBID=7
from "nodeA nodeB " "0 0 1 1" 'LSB_MCPU_HOSTS=nodeA 2 nodeB 2 ' LSB_JOBID=7
from "r0b0 r0b1 r1b0 r1b1 " "0 1 2 3" 'SLURM_JOB_NODELIST=r[0-1]b[0-1]' SLURM_NODELIST=nodeX SLURM_JOB_ID=7
from "n1-ib n2-ib " "0 0 1 1" 'SLURM_NODELIST=n[1-2]-ib' SLURM_JOB_ID=7
unknown() { # unknown <line> <VARIABLE=value...>: is the only line, and nothing runs
    rm -f "$tmp/log"
    expect 1 "hosts of ${*:2}" env "${@:2}" "$run" -n 4 "$job" hosts
    [ "$(cat "$tmp/err")" = "gasnetrun_ibv: $1" ] && [ ! -e "$tmp/log" ] && [ ! -s "$tmp/out" ]
    say $? "  are not understood, and nothing is started"
}
not_known='this is a job of a batch system, but its hosts are not known: '
name_them=' is not set; name them in GASNET_SSH_SERVERS (localhost is this machine)'
unknown "LSB_JOBID=7: ${not_known}LSB_HOSTS, LSB_DJOB_HOSTFILE, LSB_MCPU_HOSTS$name_them" LSB_JOBID=7 LSB_HOSTS=
unknown "SLURM_JOB_ID=7: ${not_known}SLURM_JOB_NODELIST, SLURM_NODELIST$name_them" SLURM_JOB_ID=7
unknown "PBS_JOBID=7: ${not_known}PBS_NODEFILE$name_them" PBS_JOBID=7
unknown "OAR_JOB_ID=7: ${not_known}OAR_NODEFILE$name_them" OAR_JOB_ID=7
unknown 'SLURM_JOB_NODELIST=bgl[000x133]: host name "bgl[000x133]" has brackets with what is no range of numbers' \
    'SLURM_JOB_NODELIST=bgl[000x133]'
unknown 'LSB_MCPU_HOSTS=nodeA nodeB: host name "nodeA" is not followed by the number of its slots' 'LSB_MCPU_HOSTS=nodeA nodeB'
unknown "cannot read the host file PBS_NODEFILE=/no/such/file: No such file or directory" PBS_NODEFILE=/no/such/file
LSB_JOBID=7 GASNET_SSH_SERVERS=localhost expect 0 "this machine alone, in a job of a batch system" "$run" -n 2 "$job" hosts
rm -f "$tmp/log"
GASNET_SSH_SERVERS="nodeA nodeB nodeC nodeD" expect 0 "more hosts than processes" "$run" -n 2 "$job" hosts
[ "$(hosts_used)" = "nodeA nodeB " ]
say $? "  the first ones are used"
rm -f "$tmp/log"
GASNET_SSH_SERVERS="nodeA nodeB nodeC" expect 0 "-N 2 of three hosts" "$run" -n 5 -N 2 "$job" hosts
says '^hosts 0 0 0 1 1$' out
GASNET_SSH_SERVERS="nodeA nodeB" expect 0 "-N 3 of two hosts" "$run" -n 4 -N 3 "$job" hosts
says 'warning: -N 3, but only 2 hosts are available' err
GASNET_SSH_SERVERS="nodeA bad1 nodeB" expect 1 "IB-S7 a host that cannot be reached" "$run" -n 6 "$job" collectives
says 'host bad1 cannot be reached' err
GASNET_SSH_OPTIONS="-p 22" GASNET_SSH_SERVERS="bad1" expect 1 "the same, with options" "$run" -n 1 "$job" collectives
says 'check that  .*/fake-ssh -p 22 bad1 true  works' err
GASNET_SSH_TIMEOUT=1 GASNET_SSH_SERVERS="nodeA mute1 nodeB" expect 1 "a host that never answers" "$run" -n 6 "$job" collectives
[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q 'host mute1: no word .* within 1 s (GASNET_SSH_TIMEOUT)' "$tmp/err"
say $? "  in one line that names it"
# A signal while the launcher waits for a host, before and after it has named the host.
awaiting() { # awaiting <hosts> <pattern or "">: the launcher runs, and has printed that
    mark=$$-$count-$RANDOM
    GASNET_SSH_SERVERS=$1 SPAWN_TEST_MARK=$mark timeout -s KILL $limit "$run" -n 4 "$job" collectives \
        >"$tmp/out" 2>"$tmp/err" </dev/null &
    launcher=$!
    until pgrep -P $launcher >/dev/null; do sleep 0.02; done # timeout's child
    victim=$(pgrep -P $launcher)
    until left | sed 's/environ/comm/' | xargs cat 2>/dev/null | grep -q '^sleep$'; do sleep 0.02; done # a mute shell
    [ -z "$2" ] || until grep -q -- "$2" "$tmp/err"; do
        kill -0 "$victim" 2>/dev/null || break
        sleep 0.02
    done
}
for hosts in "mute1" "mute1 nodeB"; do
    awaiting "$hosts" ''
    kill -TERM "$victim"
    wait $launcher
    [ $? = 143 ] && none_left && [ "$(cat "$tmp/err")" = "gasnetrun_ibv: signal 15 (Terminated): ending the job" ]
    say $? "SIGTERM while $hosts is waited for: one line, and the job is over"
done
GASNET_SSH_TIMEOUT=7 awaiting "mute1 nodeB mute2" '^gasnetrun_ibv: waiting for host mute1 and 1 more: .*giving up in 3 s (GASNET_SSH_TIMEOUT=7)$'
wait $launcher
[ $? = 1 ] && none_left && [ "$(wc -l <"$tmp/err")" = 2 ] && grep -q 'waiting for host mute1 and 1 more: no word .* giving up in 3 s' "$tmp/err" &&
    grep -q 'host mute1: no word .* within 7 s' "$tmp/err"
say $? "a host that does not answer is named, with the time that is left"
for word in 0 -1 x 1s; do
    GASNET_SSH_TIMEOUT=$word expect 1 "GASNET_SSH_TIMEOUT=$word is refused" "$run" -n 2 "$job" hosts
done

# Ranks of another host, which share its remote shell.
GASNET_SSH_SERVERS="nodeA" expect 0 "long lines, by three on another host at once" "$run" -n 3 "$job" long-lines
[ "$(grep -cE '^<(0{6000}|1{6001}|2{6002})>$' "$tmp/out")" = 300 ] && [ "$(wc -l <"$tmp/out")" = 300 ]
say $? "  are whole and complete"
GASNET_SSH_SERVERS="nodeA" expect 0 "an unfinished line" "$run" -n 1 printf 'no end'
[ "$(cat "$tmp/out")" = "no end" ]
say $? "  is complete too"
GASNET_SSH_SERVERS="nodeA" expect 0 "a program leaves another behind, which holds its output" \
    timeout 25 "$run" -n 2 env -u SPAWN_TEST_MARK sh -c 'sleep 30 & echo here'
[ "$(grep -c '^here$' "$tmp/out")" = 2 ]
say $? "  and is not waited for"

# Cyclic layout, and a tree of remote shells.
export FAKE_SSH_TREE=$tmp/tree
seven="n0 n1 n2 n3 n4 n5 n6"
tree_used() { sort "$FAKE_SSH_TREE" | tr '\n' ' '; }
GASNET_SSH_LAYOUT=cyclic GASNET_SSH_SERVERS="nodeA localhost nodeB" expect 0 "cyclic layout" "$run" -v -n 7 "$job" hosts
says '^hosts 0 1 2 0 1 2 0$' out
says '^gasnetrun_ibv: ranks 0-6 by 3 on host nodeA' err
GASNET_SSH_LAYOUT=cyclic GASNET_SSH_SERVERS="nodeA localhost nodeB" expect 0 "  collective calls" "$run" -n 7 "$job" collectives
silent
GASNET_SSH_LAYOUT=cyclic GASNET_SSH_SERVERS="nodeA nodeB" expect 137 "  one is killed" "$run" -n 5 "$job" die 3 kill 9 pause
says 'rank 3 on host nodeB was killed by signal 9' err
GASNET_SSH_LAYOUT=diagonal expect 1 "no such layout" "$run" -n 2 "$job" hosts
says 'GASNET_SSH_LAYOUT=diagonal: not one of block|cyclic' err
for degree in 0 1 2 7; do
    rm -f "$FAKE_SSH_TREE"
    GASNET_SSH_OUT_DEGREE=$degree GASNET_SSH_SERVERS=$seven expect 0 "seven hosts, $degree from each" "$run" -n 14 "$job" collectives
    case $degree in
    1) [ "$(tree_used)" = "launcher>n0 n0>n1 n1>n2 n2>n3 n3>n4 n4>n5 n5>n6 " ] ;;
    2) [ "$(tree_used)" = "launcher>n0 launcher>n1 n0>n2 n0>n3 n1>n4 n1>n5 n2>n6 " ] ;;
    *) [ "$(tree_used | grep -o 'launcher>' | wc -l)" = 7 ] ;;
    esac
    say $? "  each starts its own"
done
export GASNET_SSH_OUT_DEGREE=1
GASNET_SSH_SERVERS="n0 n1 n2" expect 0 "a tree: output" "$run" -n 6 "$job" lines
[ "$(grep -c '^<rank [0-5] line [0-9]* of the test>$' "$tmp/out")" = 1200 ]
say $? "  lines are whole and complete"
GASNET_SSH_SERVERS="n0 n1 n2" input=$tmp/input expect 0 "a tree: standard input" "$run" -n 3 "$job" stdin
cmp "$tmp/input" "$tmp/out" >>"$tmp/err" 2>&1
say $? "  reaches rank 0, whole, and no other rank"
GASNET_SSH_SERVERS="localhost n1 n2" expect 0 "a tree: the launcher's machine is one of the hosts" "$run" -n 3 "$job" hosts
says '^hosts 0 1 2$' out
GASNET_SSH_SERVERS="n0 n1 bad2 n3" expect 1 "a tree: a host that cannot be reached" "$run" -n 4 "$job" hosts
says 'host bad2 cannot be reached: .* on n1$' err
GASNET_SSH_TIMEOUT=1 GASNET_SSH_SERVERS="n0 mute1 n2" expect 1 "a tree: a host that never answers" "$run" -n 4 "$job" hosts
[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q 'host mute1: no word .* from n0 ' "$tmp/err"
say $? "  in one line that names it"
for who in 0 1 2; do
    GASNET_SSH_SERVERS="n0 n1 n2" expect 42 "a tree: rank $who aborts" "$run" -n 3 "$job" die $who abort 42 pause
done
command=(env GASNET_SSH_SERVERS="n0 n1 n2" "$run" -n 3)
signalled KILL 137 "a tree: launcher is killed" hang
signalled INT 130 "a tree: launcher gets SIGINT" hang

# Control processes and their remote shells: killed, stopped.
parent_of() { sed 's/.*) . \([0-9]*\) .*/\1/' "/proc/$1/stat" 2>/dev/null; }
is_control() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -q '^[^ ]*gasnetrun_ibv --spawn-control '; }
control_of() { # control_of <host>: its control process, not the guard, which is a child of it
    local pid
    # shellcheck disable=SC2013,SC2046 # no blanks in them
    for pid in $(grep -lsz "^FAKE_SSH_HOST=$1\$" $(left) | grep -o '[0-9]*'); do
        if is_control "$pid" && ! is_control "$(parent_of "$pid")"; then echo "$pid"; fi
    done
}
ranks() {
    local file
    for file in $(left); do
        file=${file%environ}
        if [ "$({ tr "\\0" "\\n" <"$file/cmdline"; } 2>/dev/null | head -n 1)" = "$job" ]; then echo "$file" | grep -o '[0-9]*'; fi
    done
}
shell_of() { parent_of "$(control_of "$1")"; }
kill_control() { kill -KILL "$(control_of "$victim")"; }
stop_control() { kill -STOP "$(control_of "$victim")"; }
kill_shell() { kill -KILL "$(shell_of "$victim")"; }
stop_then_term() { stop_control && kill -TERM "$1"; }
# shellcheck disable=SC2046 # a list of numbers
stop_and_leave() { stop_control && kill -TERM $(ranks); }
one_line() { # one_line <pattern>: the only line on stderr, of the launcher
    [ "$(wc -l <"$tmp/err")" = 1 ] && grep -qE "^gasnetrun_ibv: $1\$" "$tmp/err"
    say $? "  in one line: $1"
}
export FAKE_SSH_STAY=1
for degree in 0 1; do
    command=(env "GASNET_SSH_OUT_DEGREE=$degree" GASNET_SSH_SERVERS="n0 n1 n2" "$run" -n 3)
    for victim in n0 n1 n2; do
        struck 1 "the control process on $victim of three hosts is killed, $degree from each" kill_control hang
        one_line "host $victim: (lost its control process \(connection closed: .*\)|its remote shell .* exited with status 137); ending the job"
        struck 1 "the remote shell for $victim is killed" kill_shell hang deaf
        starter='this host'
        [ $degree = 0 ] || [ $victim = n0 ] || starter=n$((${victim#n} - 1))
        one_line "host $victim: its remote shell \(.*fake-ssh on $starter\) was killed by signal 9; ending the job"
    done
    victim=n1
    struck 143 "the control process on n1 is stopped, then the job is ended" stop_then_term hang deaf
    says 'host n1: its control process does not answer (is it stopped?); leaving it to its guard' err
done
struck 1 "the control process on n1 is stopped, and all others leave in order" stop_and_leave handle
says 'host n1: its control process has not answered for 5 s while the job was ending' err
unset FAKE_SSH_STAY

# Other clients at the launcher's port, while it waits for a host: none is accepted, none keeps the host out.
wire=$(sed -n 's/.*SSH_WIRE_VERSION = \([0-9]*\),.*/\1/p' "$here/../../other/launch/ssh/ssh_wire.h")
knock() { { exec {door}<>"/dev/tcp/127.0.0.1/$port"; } 2>>"$tmp/err"; }
sent_away() { # sent_away <what> <kind>: the connection is closed, and none but a challenge was answered
    timeout $limit "$here/knock" "$port" 1 "$wire" "$2" 2>>"$tmp/err"
    say $? "  $1 is sent away"
}
mark=$$-$count-$RANDOM
SPAWN_TEST_MARK=$mark FAKE_SSH_GO=$tmp/go GASNET_SSH_SERVERS="n0 late1" \
    timeout -s KILL $limit "$run" -n 4 "$job" collectives >"$tmp/out" 2>"$tmp/err" </dev/null &
launcher=$!
until grep -qs ' 1 late1$' "$tmp/go.command"; do sleep 0.02; done # between two looks
port=$(awk '{ print $(NF - 2) }' "$tmp/go.command")
until [ -n "$(ranks)" ]; do sleep 0.02; done # n0 has joined
sent_away "a peer that does not know the secret" wrong-proof
sent_away "a peer that sends the launcher's own proof back" own-proof-back
sent_away "a peer that speaks without a proof" no-proof
sent_away "a peer that asks twice" joins-twice
sent_away "a peer that is not asked for a proof" proof-first
sent_away "a peer that claims a connected host" claims-another
sent_away "a peer that claims no host of the job" claims-nothing
sent_away "another version" old-version
sent_away "a peer that claims to be a rank" rank
sent_away "a frame without end" endless
sent_away "a browser" browser
for _ in $(seq 20); do
    knock && { head -c $RANDOM /dev/urandom >&"$door"; } 2>/dev/null
    exec {door}>&-
done
: >"$tmp/go"
wait $launcher
status=$?
[ $status = 0 ] && none_left
say $? "  and then the job runs (status $status)"

# Hundreds of connections by strangers, who make each anew when it is closed, do not keep a host out.
flooded() { # flooded <hosts> <first that waits> <kind...>: a process for each kind
    local kind flood=()
    rm -f "$tmp/go" "$tmp/go.command"
    mark=$$-$count-$RANDOM
    SPAWN_TEST_MARK=$mark FAKE_SSH_GO=$tmp/go GASNET_SSH_SERVERS=$1 GASNET_SSH_TIMEOUT=50 \
        timeout -s KILL $limit "$run" -n 6 "$job" collectives >"$tmp/out" 2>"$tmp/err" </dev/null &
    launcher=$!
    until grep -qs ' late[0-9]*$' "$tmp/go.command"; do sleep 0.02; done # between two looks
    port=$(awk '{ print $(NF - 2) }' "$tmp/go.command")
    for kind in "${@:3}"; do
        timeout $limit "$here/flood" "$port" 300 "$kind" "$2" "$wire" >"$tmp/flood.${#flood[@]}" 2>&1 &
        flood+=($!)
    done
    for kind in "${!flood[@]}"; do
        until [ -s "$tmp/flood.$kind" ]; do kill -0 "${flood[$kind]}" 2>/dev/null || break; sleep 0.02; done
    done
    [ "$(cat "$tmp"/flood.[0-9]* | sort -u)" = flooding ]
    say $? "${#flood[@]} processes flood the port with connections: ${*:3}"
    : >"$tmp/go"
    wait $launcher
    status=$?
    for kind in "${flood[@]}"; do wait "$kind" || status+=", a flood ended with $?"; done
    [ "$status" = 0 ] && none_left
    say $? "  the job of $1 runs (status $status)"
    rm -f "$tmp"/flood.[0-9]*
}
flooded "n0 late1 n2" 1 silent silent silent silent
flooded "late0 n1 late2" 0 claims silent claims silent
is_closed() { # the port is closed when all hosts have connected
    port=$(tr '\0' ' ' <"/proc/$(control_of n0)/cmdline" | awk '{ print $(NF - 2) }')
    knock
    shut=$?
    kill -TERM "$1"
}
command=(env FAKE_SSH_STAY=1 GASNET_SSH_SERVERS="n0 n1" "$run" -n 3)
struck 143 "a job that is complete" is_closed hang
[ "$shut" = 1 ]
say $? "  listens no more"

# Somebody between the launcher and its control processes, or at one of its addresses.
tapped() { # tapped <mode> <status> <name> <launcher's words...>
    export TAP_MODE=$1 TAP_FOLDER=$tmp/tap.$1 TAP_VERSION=$wire
    mkdir "$TAP_FOLDER"
    GASNET_SSH_CMD=$here/tapped-ssh GASNET_SSH_SERVERS="n0 n1" expect "$2" "$3" "$run" "${@:4}"
    sort -u "$TAP_FOLDER/secret" >"$TAP_FOLDER/secrets"
}
unread() { # unread <file of TAP_FOLDER...>: they hold neither the secret nor what only ranks should know
    local file
    [ "$(wc -c <"$TAP_FOLDER/secrets")" = 33 ] && for file; do
        [ -s "$TAP_FOLDER/$file" ] && ! grep -qaF -f "$TAP_FOLDER/secrets" "$TAP_FOLDER/$file" &&
            ! grep -qa 'known to ranks alone\|SPAWN_TEST_KNOWN' "$TAP_FOLDER/$file" || return
    done
}
SPAWN_TEST_KNOWN="known to ranks alone" tapped record 0 "hosts, recorded on the way" -n 4 "$job" env SPAWN_TEST_KNOWN
says '^\[known to ranks alone\]$' out
unread up down && [ "$(wc -c <"$TAP_FOLDER/down")" -gt 1000 ]
say $? "  neither the secret nor the environment can be read there"
tapped flip-down 1 "what the launcher sends is changed on the way" -n 2 sh -c 'touch "$TAP_FOLDER/obeyed"'
[ ! -e "$TAP_FOLDER/obeyed" ] && grep -qE '^gasnetrun_ibv: host n[01]: (lost its control process|its remote shell)' "$tmp/err" &&
    grep -q 'control process on host n[01]: connection to the launcher: something between changed what it sent$' "$tmp/err"
say $? "  is not obeyed, and both say so"
tapped flip-up 1 "what a control process sends is changed on the way" -n 2 "$job" collectives
says 'host n[01]: lost its control process (something between changed what it sent); ending the job$' err
for mode in repeat-down drop-down; do
    tapped $mode 1 "what the launcher sends: ${mode%-down} a part of it" -n 2 sh -c 'touch "$TAP_FOLDER/obeyed"'
    [ ! -e "$TAP_FOLDER/obeyed" ]
    say $? "  and nothing is obeyed"
done
for mode in silent close garbage echo order challenge stale; do
    export SPAWN_TEST_KNOWN="known to ranks alone"
    tapped $mode 0 "an impostor ($mode) at the launcher's first address" -n 4 "$job" collectives
    silent
    [ ! -e "$TAP_FOLDER/obeyed" ] && { [ $mode = close ] || unread heard; }
    say $? "  is told nothing and not obeyed"
done
unset SPAWN_TEST_KNOWN
tapped alone 1 "an impostor at all addresses" -n 2 "$job" collectives
says 'n[01]: cannot connect to the launcher: 127.0.0.2: what answers there does not know the job.s secret' err
unset TAP_MODE TAP_FOLDER TAP_VERSION

# The output of a login shell is not taken for messages between launcher and control process.
printf '#!/bin/sh\nprintf "Welcome to %%s\\n" "$1"\nprintf "\\001S\\010\\031unfinished"\nexec "%s" "$@"\n' "$here/fake-ssh" >"$tmp/chatty"
chmod +x "$tmp/chatty"
GASNET_SSH_CMD=$tmp/chatty GASNET_SSH_SERVERS="n0 n1" expect 0 "a login shell prints on its own" "$run" -n 2 "$job" collectives
[ "$(grep -ac 'Welcome to n[01]$' "$tmp/out")" = 2 ]
say $? "  which is passed on"

many=$(seq -f 'm%.0f' 40)
GASNET_SSH_OUT_DEGREE=2 GASNET_SSH_SERVERS=$many expect 0 "forty hosts, two from each" "$run" -n 40 "$job" hosts
silent
says "^hosts $(seq -s ' ' 0 39)\$" out
GASNET_SSH_OUT_DEGREE=x GASNET_SSH_SERVERS=$seven expect 1 "a degree that is no number" "$run" -n 2 "$job" hosts
says 'GASNET_SSH_OUT_DEGREE=x: a whole number from 0 to 65535' err
unset GASNET_SSH_OUT_DEGREE FAKE_SSH_TREE
GASNET_SSH_CMD=/no/such/shell GASNET_SSH_SERVERS="nodeA" expect 1 "no remote shell" "$run" -n 2 "$job" hosts
[ "$(wc -l <"$tmp/err")" = 1 ]
say $? "  in one line"
GASNET_SSH_NODEFILE=/no/such/file expect 1 "no host file" "$run" -n 2 "$job" hosts
says 'GASNET_SSH_NODEFILE=/no/such/file' err
GASNET_SSH_NODEFILE=/tmp expect 1 "a folder as host file" "$run" -n 2 "$job" hosts
says '^gasnetrun_ibv: cannot read the host file GASNET_SSH_NODEFILE=/tmp: Is a directory$' err
GASNET_SSH_OPTIONS="-o 'A b" GASNET_SSH_SERVERS="nodeA" expect 1 "ssh options with an open quote" "$run" -n 2 "$job" hosts
[ "$(cat "$tmp/err")" = "gasnetrun_ibv: GASNET_SSH_OPTIONS=-o 'A b: a quote has no end" ]
say $? "  in one line"
GASNET_SSH_OPTIONS="-o 'A b' -p 22" GASNET_SSH_SERVERS="nodeA" expect 0 "IB-S5 ssh options" "$run" -n 2 "$job" hosts
ln -s "$here/fake-ssh" "$tmp/ssh"
GASNET_SSH_CMD=$tmp/ssh GASNET_SSH_OPTIONS="-oBatchMode=no -p 22" GASNET_SSH_SERVERS="nodeA" \
    expect 0 "IB-S10 the user's ssh options" "$run" -t -n 2 "$job" hosts
grep -q '/ssh -oBatchMode=no -p 22 -oBatchMode=yes nodeA ' "$tmp/err" && ! grep -q StrictHostKeyChecking "$tmp/err"
say $? "  come before the launcher's own, of which none is about host keys"
cd "$tmp" || exit 1
mkdir "dir with blank" && cd "dir with blank" || exit 1
GASNET_SSH_SERVERS=nodeA expect 0 "working directory" "$run" -n 1 sh -c 'pwd'
says 'dir with blank$' out
cd "$build" || exit 1

# --- not started by a launcher ---
expect 77 "a bare program says how to start it" env -u PMIX_RANK "$job" hosts
says "gasnetrun_ibv -n <processes> $job " err
[ "$(wc -l <"$tmp/err")" = 1 ]
say $? "  in one line"
expect 77 "one without arguments too" env -u PMIX_RANK "$job"
says "gasnetrun_ibv -n <processes> $job" err
direct_start() { # WORDS ANSWER
    # shellcheck disable=SC2086 # words
    expect 77 "IB-S9 the direct start: $1" env -u PMIX_RANK "$job" $1
    [ "$(wc -l <"$tmp/err")" = 1 ] && grep -qF "; the start  $job ${1/ hosts/ ...}  of older versions is now  $2" "$tmp/err"
    say $? "  is answered with the command that replaces it"
}
direct_start 4 "gasnetrun_ibv -n 4 $job"
direct_start "4:2 hosts" "gasnetrun_ibv -n 4 -N 2 $job ..."
direct_start "-v 16:8 hosts" "gasnetrun_ibv -n 16 -N 8 -v $job ..."
for words in 4: :2 4:2x 4x hosts; do
    expect 77 "not so: $words" env -u PMIX_RANK "$job" "$words"
    ! grep -q 'older versions' "$tmp/err"
    say $? "  is not taken for one"
done
GASNET_SPAWN_CONTROL="ssh 9 1 0" expect 78 "a hand-over that is none" "$job" hosts

# --- open files ---
# shellcheck disable=SC2016 # expanded by the shell that runs it
under=(bash -c 'eval "$0" && exec "$@"') # "${under[@]}" "ulimit ..." <command...>
hard=$(ulimit -Hn)
[ "$hard" != unlimited ] || hard=5000
hard=$((hard - 1))
for way in local hosts; do
    with $way 48 "$job" hosts
    expect 0 "$way: 48 processes under a soft limit of 20 open files" "${under[@]}" "ulimit -Sn 20" "${command[@]}"
    silent
    with $way 16 sh -c 'ulimit -Sn; ulimit -Hn'
    expect 0 "$way: the ranks are given the user's own limits" "${under[@]}" "ulimit -Sn 40; ulimit -Hn $hard" "${command[@]}"
    [ "$(sort -n "$tmp/out" | uniq -c | tr -s ' \n' ' ')" = " 16 40 16 $hard " ]
    say $? "  unchanged"
    with $way 16 sh -c 'set -- $GASNET_SPAWN_CONTROL; echo "$2"'
    expect 0 "$way: the socket of a rank" "${under[@]}" "ulimit -Sn 20" "${command[@]}"
    [ "$(sort -n "$tmp/out" | tail -n 1)" -lt 20 ]
    say $? "  has a number within its limit"
done
with local 100 "$job" hosts
expect 1 "100 processes under a hard limit of 50 open files are refused" "${under[@]}" "ulimit -n 50" "${command[@]}"
[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q 'up to 2[0-9][0-9] open files.* hard limit is 50 (ulimit -Hn)' "$tmp/err"
say $? "  in one line with the number needed"
if command -v prlimit >/dev/null; then
    with local 8 sh -c 'case $GASNET_SPAWN_CONTROL in *" 7") prlimit --pid $PPID --nofile=3 && kill -CONT $PPID ;; esac; sleep 1000'
    expect 1 "the launcher cannot poll any more: it ends the job" "${command[@]}"
    [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q 'poll: Invalid argument' "$tmp/err"
    say $? "  in one line"
fi

# --- the launcher's command line ---
printf 'x' >"$tmp/plain"
refused() { # refused <pattern> <words...>
    local pattern=$1
    shift
    expect 1 "refused: gasnetrun $*" "$run" "$@"
    [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q -- "^gasnetrun_ibv: .*$pattern.*(try gasnetrun_ibv --help)$" "$tmp/err"
    say $? "  in one line: $pattern"
}
refused '-n 0' -n 0 true
refused 'banana' -n banana true
refused 'processes is missing' true
refused '4x' -n 4x true
refused 'program to run is missing' -n 2
refused 'unknown option -z' -z -n 2 true
refused 'unknown spawner "pmi2"' -n 2 -spawner=pmi2 true
refused 'no-such-program' -n 2 no-such-program
refused './no/such' -n 2 ./no/such
refused 'plain' -n 2 "$tmp/plain"
refused 'directory' -n 2 "$tmp"
expect 0 "help" "$run" --help
expect 0 "version" "$run" --version
expect 0 "environment help" "$run" --help-env
expect 0 "IB-S1 dry run" "$run" -t -n 3 "$job" 'a b'
says "ranks 0-2 on host .*'a b'" err
[ ! -s "$tmp/out" ]
say $? "  runs nothing"
expect 0 "-c without mpi" "$run" -n 2 -c 3 "$job" hosts
says '^gasnetrun_ibv: warning: -c 3 has no effect with the ssh spawner$' err
expect 0 "glued options" "$run" -np2 -N1 -E A,B -v -- "$job" env GASNET_VERBOSEENV
says '^\[1\]$' out
cd "$(dirname "$job")" || exit 1
expect 0 "a program in the current directory" "$run" -n2 job hosts
cd "$build" || exit 1

# --- mpirun and srun ---
# The job of ranks that mpirun started has the number of the parent process, mpirun.
ask_and_kill() {
    "$run" --stats "$1" >"$tmp/asked" 2>&1
    kill -KILL "$1"
}
for way in "${foreign[@]}"; do
    with "$way" 3 "$job" codes 5 5 5
    expect 5 "$way: IB-S8 exit code" "${command[@]}"
    with "$way" 3 "$job" die 1 abort 42 pause
    expect 42 "$way: abort" "${command[@]}"
    with "$way" 3 "$job" die 1 kill 9 pause
    case $way in mpich) expect 9 "$way: one is killed" "${command[@]}" ;; *) expect 137 "$way: one is killed" "${command[@]}" ;; esac
    with "$way" 3
    struck 137 "$way: launcher is killed" ask_and_kill hang
    [ "$(grep -c '^# rank [0-2] of 3: has no counters yet$' "$tmp/asked")" = 3 ] && [ "$(wc -l <"$tmp/asked")" = 3 ]
    say $? "  and its ranks answered --stats until then"
    with "$way" 3
    signalled KILL 137 "$way: launcher is killed, ranks are deaf" hang deaf
done
unset MPIRUN_CMD

if offers mpi-mpich mpirun.mpich; then
    MPIRUN_CMD="mpirun.mpich -genvall -np %N %C" expect 0 "mpich: a template that says -genvall" "$run" -spawner=mpi -n 2 "$job" spawner
    says '^spawner mpi$' out
fi

# When no spawner can start a process, each is listed with its reason.
expect 78 "a spawner by name, without its launcher" env GASNET_SPAWN_CONTROL=pmix "$job" hosts
says '^no spawner can start this process:$' err
says '^  ssh: another spawner is asked for' err
says '^  pmix: no sign of its launcher' err
says '^  mpi: another spawner is asked for' err
expect 77 "half a sign of PMIx" env PMIX_NAMESPACE=x PMIX_RANK=0 "$job" hosts
if offers mpi-openmpi mpirun.openmpi; then
    start env OMPI_COMM_WORLD_SIZE=3 "$job" hosts
    [ $status = 78 ] && none_left # its daemon takes a moment
    say $? "the MPI of another launcher"
    says 'launcher started 3 processes (OMPI_COMM_WORLD_SIZE), but the MPI of this module knows of 1' err
fi
if offers pmix mpirun.openmpi; then
    with mpirun 1 env
    expect 0 "a PMIx server" "${command[@]}"
    mapfile -t stale < <(grep '^PMIX_' "$tmp/out")
    expect 78 "  that is gone" env "${stale[@]}" "$job" hosts
    says 'spawner pmix: the PMIx server .* does not answer' err
    with pmix 3 "$job" signals
    expect 0 "pmix: its threads take no signal of the program's" "${command[@]}"
    with pmix 2 sh -c "'$job' die 1 abort 42 pause; sleep 1000"
    expect 42 "pmix: a rank aborts under a wrapper that goes on" "${command[@]}"
    with mpirun 2 "$job" spawner
    expect 0 "mpirun with a program that has no MPI" "${command[@]}"
    says '^spawner pmix$' out
    with mpirun 2 env GASNET_SPAWN_CONTROL=mpi "$job" spawner
    expect 0 "mpirun with the spawner mpi by name" "${command[@]}"
    says '^spawner mpi$' out
    PMIRUN_CMD="echo %N %C" expect 0 "pmix: template" "$run" -spawner=pmix -n 3 "$job" 'a b'
    says "^3 $job a b$" out
    PMIRUN_CMD="/no/such/mpirun %C" expect 1 "pmix: no such launcher" "$run" -spawner=pmix -n 3 "$job"
    says 'PMIx launcher /no/such/mpirun: .* set PMIRUN_CMD' err
    SLURM_JOB_ID=1 expect 0 "pmix: inside Slurm" "$run" -t -spawner=pmix -n 3 -N 2 -c 4 "$job" 'a b'
    says "srun -N2 -c4 --input=0 --kill-on-bad-exit=1 --mpi=pmix -n 3 $job 'a b'" err
fi
if offers mpi-openmpi mpirun.openmpi; then
    expect 0 "mpi: dry run" "$run" -t -spawner=mpi -n 3 -E SPAWN_TEST_EMPTY,SPAWN_TEST_UNSET,SPAWN_TEST_ODD "$job" 'a b'
    says '-x SPAWN_TEST_EMPTY -x SPAWN_TEST_ODD -np 3 .*' err
    [ "$(grep -c 'warning: -E' "$tmp/err")" = 1 ] && grep -q 'warning: -E SPAWN_TEST_UNSET: not set here' "$tmp/err"
    say $? "  of -E, the one name that is not set is told"
    MPIRUN_CMD="echo %N %M %D %% %C '<%P|%A|%Q>'" expect 0 "mpi: template" "$run" -spawner=mpi -n 3 -N 2 "$job" 'a b'
    says "^3 2 $build % $job a b <$job|'a b'|.*a b.*>" out
    for flags in '' ' -v'; do
        # shellcheck disable=SC2086 # no word, or one
        MPIRUN_CMD="echo run %V -n %N <%V>" expect 0 "mpi: a template with %V, and${flags:- no -v}" "$run" -spawner=mpi$flags -n 3 "$job"
        says "^run ${flags:+-v }-n 3 <${flags# }>\$" out
    done
    GASNET_IBV_SPAWNER=mpi MPIRUN_CMD="/no/such/mpirun %C" expect 1 "mpi: no such launcher" "$run" -n 3 "$job"
    says 'MPI launcher /no/such/mpirun' err
    MPIRUN_CMD="mpirun -np %N %H %C" expect 1 "mpi: %H without a host file" "$run" -spawner=mpi -n 3 "$job"
    says 'GASNET_NODEFILE' err
    GASNET_MPI_THREAD=MANY expect 0 "mpi: a thread level that is none" "$run" -spawner=mpi -n 2 "$job" spawner
    says 'GASNET_MPI_THREAD=MANY is no thread level: SINGLE, FUNNELED, SERIALIZED or MULTIPLE' err
    GASNET_MPI_THREAD=funneled expect 0 "mpi: a thread level in small letters" "$run" -spawner=mpi -n 2 "$job" spawner
    silent
else
    echo "# no Open MPI here: its tests are left out"
fi

echo "1..$count"
[ $bad = 0 ] || echo "# $bad of $count failed"
[ $bad = 0 ]
