#!/bin/bash
# round_runner.sh - runs rounds for exit.sh, one after the other: a round is one job that ends in one way.
#
# exit.sh starts several of these, each with a network and a /dev/shm of its own where that can be had
# (TEST_PRIVATE=1).  A line of the queue (descriptor 8, under the lock 9) tells all about a round; one
# line to standard output tells what became of it.  Never waits for a time: only for what must happen.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
slack=${TEST_SLACK:-30000} # ms that a busy machine may take on top of what the library promises
lost=60                    # seconds after which a launcher that did not return is killed
patience=8                 # seconds of an exit in which several must have their turn, however busy the machine
fifo=$tap_scratch/fifo     # nothing comes out of it: a clock without a process
mkfifo "$fifo" && exec 7<>"$fifo" || exit 1
shopt -s nullglob

ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
a_moment() { ! read -rt 0.005 -u 7; } # true: loops end with it

# --- what is left behind ---------------------------------------------------------------------------

# An MPI's own files are its own affair.
left_files() { # SPAWNER
    local path
    for path in "$tmp"/* "$tmp"/.[!.]*; do
        case $1:${path##*/} in [mp]*:ompi.* | [mp]*:prte.* | [mp]*:pmix* | [mp]*:hydra* | [mp]*:*.btr) continue ;; esac
        echo "$path"
    done
    [ "$TEST_PRIVATE" = 1 ] || return
    for path in /dev/shm/*; do
        case $1:${path##*/} in [mp]*:vader_* | [mp]*:sm_* | [mp]*:mpich* | [mp]*:osc_* | [mp]*:ucx*) continue ;; esac
        echo "$path"
    done
}

# In a network of our own every socket is the round's; connections that only wait for late packets are none.
left_sockets() {
    [ "$TEST_PRIVATE" = 1 ] || return
    { awk 'FNR > 1 && $4 != "06"' /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6
        awk 'FNR > 1' /proc/net/unix; } 2>/dev/null
}
no_sockets() { # SECONDS
    local end=$((SECONDS + $1))
    while [ -n "$(left_sockets)" ]; do
        [ $SECONDS -lt $end ] || return 1
        a_moment
    done
}

# --- judging ---------------------------------------------------------------------------------------

status_right() { # EXPECTED STATUS N SPAWNER
    local want=$1
    case $4 in ssh | hosts) want=${want%/*} ;; *) want=${want#*/} ;; esac
    case $want in
    any) [ "$2" -ne 124 ] ;;
    nonzero) [ "$2" -ne 0 ] && [ "$2" -ne 124 ] ;;
    max) [ "$2" -eq $((100 + $3 - 1)) ] ;;
    cut) [ "$2" -eq $(($3 > 1)) ] ;;
    0_or_cut) [ "$2" -le $(($3 > 1)) ] ;;
    *) [ "$2" -eq "$want" ] ;;
    esac
}

words_right() { # PRINTED LOG N
    local ranks told
    ranks=$(grep -o 'LAST [0-9]*' "$2" | sort -u | wc -l)
    told=$(grep -c 'TOLD' "$2")
    case $1 in
    all) [ "$ranks" -eq "$3" ] ;;
    one) [ "$ranks" -ge 1 ] ;;
    told) [ "$ranks" -ge 1 ] && [ "$told" -eq $(($3 - 1)) ] ;;
    none) true ;;
    esac
}

# Who is killed is told in one line, with a number and names; an MPI's launcher has words of its own.
told_once() { # EXPECTED LOG N SPAWNER
    case $1:$4 in cut:ssh | cut:hosts) ;; *) return 0 ;; esac
    [ "$3" = 1 ] || { [ "$(grep -c 'are killed' "$2")" = 1 ] &&
        grep -qE "and $(($3 - 1)) of $3 processes, .* are killed .*: ranks? [0-9, and-]* of $3 on " "$2"; }
}

# In ms, by the library's own time-outs (IB-X8 at its defaults, or as set), where each process can run for 1/16 s in that
# time: the exit's time, which runs from a signal to a process too, a quarter of a second more when it is wedged, half a second for the launcher to kill; 1.4 s
# that it gives a job upon a signal.  An MPI's launcher takes its own time.
promised() { # OUTSIDE N SPAWNER
    local most=$((1000 + 10 * $2 + 250 + 500))
    case $1 in
    together) most=500 ;;
    patient) most=$((patience * 1000 + 250 + 500)) ;;
    TERM | INT | QUIT | HUP) most=$((1400 + 500)) ;;
    KILL) most=500 ;;
    esac
    case $3 in ssh | hosts) ;; *) most=$((most + 5000)) ;; esac
    echo $most
}

# --- running ---------------------------------------------------------------------------------------

# The launcher by one of the ways to start a job; bash ignores signals in what it starts in the background.
by() { # SPAWNER N PROGRAM...
    local spawner=$1 n=$2
    shift 2
    case $spawner in
    hosts) export GASNET_SSH_SERVERS="nodeA,nodeB localhost" GASNET_SSH_CMD=$TEST_SOURCE/spawner/fake-ssh SOFTHCA_HOSTS='' ;;
    mpich) export MPIRUN_CMD="mpirun.mpich -np %N %C" ;;
    esac
    case $spawner in hosts) spawner=ssh ;; mpich) spawner=mpi ;; esac
    exec env --default-signal=INT,QUIT,HUP,PIPE "$TEST_LAUNCH" -spawner="$spawner" -n "$n" "$@"
}

launch() { # OUTSIDE LOG ...
    local outside=$1 log=$2
    shift 2
    case $outside in
    closed) by "$@" 2>"$log" >&- ;;
    full) by "$@" 2>"$log" >/dev/full ;;
    broken) # its reader is gone
        local pipe=$tap_scratch/broken
        mkfifo "$pipe" && exec 5<>"$pipe" && exec 6>"$pipe" 5<&- && rm "$pipe"
        by "$@" 2>"$log" >&6 6>&-
        ;;
    *) by "$@" >"$log" 2>&1 ;;
    esac
}

running() { [ -d "/proc/$pid" ] && [[ $(<"/proc/$pid/stat") != *') Z '* ]]; } 2>/dev/null

# Waits for what the log or the launcher's state will show; not in vain.
until_true() { # COMMAND...
    until "$@"; do
        running || return 1
        a_moment
    done
}
is_ready() { grep -q READY "$log"; }
is_launcher() { [[ $(<"/proc/$pid/comm") == gasnetrun* ]]; } 2>/dev/null
is_stopped() { [[ $(<"/proc/$pid/stat") == *') T '* ]]; } 2>/dev/null
no_rank_lives() {
    local p
    for p in $(marked_processes "$marker"); do
        [[ $(cat "/proc/$p/comm" 2>/dev/null) != testexit* ]] || return 1
    done
}

# What the driver does to the launcher.  With a delay (microseconds) any moment will do, also before the ranks are up.
act() { # OUTSIDE SPAWNER DELAY
    case $1 in
    TERM | INT | QUIT | HUP | KILL)
        if [ "$3" != 0 ] && [[ $2 != [mp]* ]]; then
            until_true is_launcher
            read -rt "$(printf '0.%06d' "$3")" -u 7
        else
            until_true is_ready || wrong+="; never came up"
        fi
        start=$(ms)
        kill -"$1" "$pid" 2>/dev/null
        ;;
    STOP)
        until_true is_stopped || wrong+="; was not stopped"
        until_true no_rank_lives
        kill -CONT "$pid" 2>/dev/null
        ;;
    esac
}

one_round() { # CASE WHO N MODE SPAWNER DELAY SEED EXPECT PRINTED OUTSIDE
    local case=$1 who=$2 n=$3 mode=$4 spawner=$5 delay=$6 seed=$7 expect=$8 printed=$9 outside=${10}
    local pid dog status start took left wrong='' most
    local log=$TEST_LOG/exit_${case}_${who}_${n}_${mode}_${spawner}_$seed.log marker="exit.$$.$rounds"
    # MPICH's launcher may make 0 of a signal to it, and of a rank that leaves with 0 and without a word, and may
    # itself die of a broken pipe; it fails, in its own way, of an output that takes nothing.  MPICH's MPI_Abort waits
    # for who holds the lock of stdout, until the rank leaves by _exit; of a job that ends by an _exit it returns the
    # code, or the 9 by which it has killed the others.
    case $spawner:$case in
    mpich:stdout_full* | mpich:stdout_held*) expect=${expect%/*}/nonzero ;;
    mpich:one_calls_underscore_exit_0* | mpich:launcher_* | mpich:stdout_broken*) expect=${expect%/*}/any ;;
    esac
    mkdir -p "$tmp"
    : >"$log"
    start=$(ms)
    (
        export TEST_MARKER=$marker TMPDIR=$tmp TEST_SEED=$seed TEST_EXIT_DELAY=$delay TEST_HANG=$((lost - 5))
        case $outside in
        together) export GASNET_EXITTIMEOUT=$((2 * lost)) ;;
        patient) export GASNET_EXITTIMEOUT=$patience ;;
        esac
        launch "$outside" "$log" "$spawner" "$n" "$TEST_BUILD/tests/testexit-$conduit-$mode" "$case" "$who"
    ) </dev/null 8<&- 9<&- 7<&- &
    pid=$!
    (
        read -rt $lost -u 7
        if [[ $spawner = mpi || $spawner = pmix ]] && ! is_launcher && no_rank_lives; then : >"$stuck"; fi
        kill -KILL $pid
    ) 2>/dev/null 8<&- 9<&- &
    dog=$!
    act "$outside" "$spawner" "$delay"
    wait $pid 2>/dev/null
    status=$?
    took=$(($(ms) - start))
    kill $dog 2>/dev/null
    wait $dog 2>/dev/null
    no_orphans "$marker" 20 >>"$log" || wrong+="; processes left behind"
    if [ "$outside" = KILL ]; then took=$(($(ms) - start)); fi
    status_right "$expect" $status "$n" "$spawner" || wrong+="; status $status instead of $expect"
    case $case in segv* | abort* | fpe* | sigbus* | fatal_error* | thread_segv* | crash_in* | sigquit_in_transfer*) ;; *)
        ! grep -q 'fatal signal' "$log" || wrong+="; a rank crashed" ;;
    esac
    told_once "$expect" "$log" "$n" "$spawner" || wrong+="; not told who is killed"
    words_right "$printed" "$log" "$n" || wrong+="; last output lost"
    left=$(left_files "$spawner")
    [ -z "$left" ] || wrong+="; files left: ${left//$'\n'/ }"
    no_sockets 20 || { wrong+="; sockets left" && left_sockets >>"$log"; }
    most=$(($(promised "$outside" "$n" "$spawner") + slack))
    [ $took -le $most ] || wrong+="; took longer than $most ms"
    rm -rf "$tmp"
    if [ "$TEST_PRIVATE" = 1 ]; then rm -rf /dev/shm/*; fi
    [ -n "$wrong" ] || [ -n "$TEST_KEEP" ] || rm -f "$log"
    # Debian 12's mpirun (Open MPI 4.1.4, libpmix 4.2.2), told by a signal or by a rank to end the job, races with a
    # thread of its own in PMIx_server_finalize when all is over: it crashes there, or waits for that thread, which
    # waits for a mutex, for ever, while all ranks are zombies.  Of 8 jobs of 16 ranks that got SIGINT 2 did the one and
    # 1 the other, of 342 jobs of two (before_attach_one under pmix) 5 and 4; not ours to mend.
    if [ -e "$stuck" ]; then
        rm "$stuck"
        echo "skip|$took|$status|$log|its mpirun went on when no rank was left"
        return
    fi
    if [ "$spawner:$status" = mpi:139 ] || [ "$spawner:$status" = pmix:139 ]; then
        grep -q 'PMIx_server_finalize' "$log" && { echo "skip|$took|$status|$log|its mpirun crashed"; return; }
    fi
    echo "${wrong:+not }ok|$took|$status|$log|${wrong#; }"
}

tmp=$tap_scratch/tmp stuck=$tap_scratch/stuck rounds=0
while { flock 9; IFS='|' read -r -u 8 number case who n mode spawner delay seed expect printed outside rest; got=$?; flock -u 9; [ $got = 0 ]; }; do
    rounds=$((rounds + 1))
    echo "$number|$(one_round "$case" "$who" "$n" "$mode" "$spawner" "$delay" "$seed" "$expect" "$printed" "$outside" 2>&1 | tail -n 1)"
done
