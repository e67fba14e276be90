#!/bin/bash
# words.sh - messages of the library for programs that break its rules, and for requests that it cannot meet; TAP.
#
# A rule that is broken shows as some failure far from it; the message must name the rule, in one line.
# family: words
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
log=$TEST_LOG/words.log
export SOFTHCA=on GASNET_QUIET=0
unset GASNET_STATSFILE GASNET_SSH_SERVERS GASNET_SSH_NODEFILE GASNET_NODEFILE

launched() { # CONDUIT N PROGRAM WORD...: sets `status`
    local conduit=$1 n=$2 program=$3
    shift 3
    timeout -k 2 60 "$TEST_BUILD/gasnetrun_$conduit" -n "$n" "$TEST_BUILD/tests/$program" "$@" >"$log" 2>&1 </dev/null
    status=$?
}

# holds NAME WRONG: a TAP line, with the log where WRONG is not empty.
holds() {
    [ -z "$2" ]
    tap_ok $? "$1${2:+ (${2#; })}"
    [ -z "$2" ] || tap_tail "$log"
}

errors() { grep -c '^\*\*\*\|^gasnetrun\|^softhca\|^libportals' "$log"; }

for conduit in ibv vapi portals; do
    [ -x "$TEST_BUILD/gasnetrun_$conduit" ] || continue
    for mode in seq par; do
        for what in short medium put get poll; do
            launched "$conduit" 2 "testwords-$conduit-$mode" child "$what"
            wrong=
            [ $status -eq 0 ] || wrong="; status $status"
            grep -qx 'child ended with 1' "$log" || wrong+='; the child did not end with status 1'
            grep -qE '^\*\*\* FATAL ERROR \(a forked child of rank 0 of 2 on [^)]*\): a child made by fork calls the library' "$log" &&
                [ "$(errors)" -eq 1 ] || wrong+='; not one line that says what it is'
            holds "$conduit $mode: a child made by fork that communicates ($what)" "$wrong"
        done
        launched "$conduit" 2 "testwords-$conduit-$mode" thread
        wrong=
        [ $status -ne 0 ] || wrong="; status 0"
        if [ $mode = seq ]; then
            grep -qE '^\*\*\* FATAL ERROR \(rank 0 .*\): a second thread calls the library.*\(SEQ\).* parsync or par \(what failed: ' "$log" ||
                wrong+='; the thread is not named'
        else
            grep -q '^\*\*\* FATAL ERROR (rank 0 ' "$log" && ! grep -q 'second thread' "$log" || wrong+='; it mentions a thread'
        fi
        [ "$(errors)" -eq 2 ] && grep -A 1 '^\*\*\* FATAL' "$log" | grep -q '^\*\*\* counters of rank 0: ' ||
            wrong+='; not that line and one of counters'
        holds "$conduit $mode: a second thread meets a failure" "$wrong"
        # Output that README promises for a crash, and text that an exit flushes.
        launched "$conduit" 2 "testwords-$conduit-$mode" crash
        wrong=
        [ $status -eq 139 ] || wrong="; status $status"
        [ "$(grep -E '^(\*\*\*|gasnetrun)' "$log" | sed 's/^gasnetrun.*signal/launcher: signal/; s/[:(].*//')" = \
            $'*** Caught a fatal signal\n*** NOTICE\nlauncher' ] || wrong+='; not the three lines'
        holds "$conduit $mode: a crash says its signal, and the launcher which rank died" "$wrong"
        launched "$conduit" 3 "testwords-$conduit-$mode" flush
        wrong=
        [ $status -eq 0 ] || wrong="; status $status"
        [ "$(grep -o '<word of [0-2]>' "$log" | sort -u | wc -l)" -eq 3 ] || wrong+='; words are missing'
        holds "$conduit $mode: a rank that is notified of the end flushes its output" "$wrong"
    done
done
# Programs with an MPI in them; a library that is loaded first plays it.
cat >"$tap_scratch/mpi.c" <<'END'
#include <stdlib.h>
#include <string.h>
int MPI_Initialized(int *flag)
{
    *flag = getenv("FAKE_MPI_UP") != NULL;
    return 0;
}
int MPI_Get_library_version(char *text, int *length)
{
    *length = (int)strlen(strcpy(text, "Fake"));
    return 0;
}
END
mode=seq
if cc -shared -fPIC -o "$tap_scratch/mpi.so" "$tap_scratch/mpi.c"; then
    export LD_PRELOAD=$tap_scratch/mpi.so
    launched ibv 2 testenv-ibv-$mode
    wrong=
    [ $status -eq 0 ] || wrong="; status $status"
    grep -qE '^\*\*\* WARNING \(rank 0 .*MPI_Init makes each process rank 0 of 1; .*-spawner=mpi' "$log" && [ "$(errors)" -eq 1 ] ||
        wrong+='; not one warning'
    holds "a program with MPI, started without it, is warned" "$wrong"
    FAKE_MPI_UP=1 launched ibv 2 testenv-ibv-$mode
    wrong=
    [ $status -eq 1 ] || wrong="; status $status"
    grep -qE '^\*\*\* FATAL ERROR \(ranks 0-1 of 2 .*MPI_Init makes each process rank 0 of 1; .*-spawner=mpi' "$log" && [ "$(errors)" -eq 1 ] ||
        wrong+='; not one line that says so'
    holds "and where MPI is up, with each process alone, the job ends" "$wrong"
    launched ibv 1 testenv-ibv-$mode
    [ $status -eq 0 ] && [ "$(errors)" -eq 0 ]
    tap_ok $? "a job of one process is no matter"
    OMPI_COMM_WORLD_SIZE=2 "$TEST_BUILD/tests/testenv-ibv-$mode" >"$log" 2>&1 </dev/null
    status=$?
    wrong=
    [ $status -ne 0 ] || wrong='; status 0'
    grep -qE '  mpi: the library was built without it \(no gasnet-spawner-mpi-other.so .*--with-mpi-cc=.*build the library again$' "$log" ||
        wrong+='; no line says what to install and to configure'
    holds "a program with MPI, started by an mpirun that no module is for" "$wrong"
    unset LD_PRELOAD
fi

# All further cases run the same code in every conduit: one conduit is enough.
conduit=$TEST_CONDUIT
program=testwords-$conduit-seq

launched "$conduit" 2 "$program" child crash
wrong=
[ $status -eq 0 ] || wrong="; status $status"
grep -qx '\*\*\* Caught a fatal signal: SIGSEGV(11) in a forked child of node 0/2' "$log" || wrong+='; the child is not named'
holds "a child made by fork crashes" "$wrong"

launched "$conduit" 2 "$program" closes
wrong=
[ $status -eq 1 ] || wrong="; status $status"
grep -q '^bootstrap: rank 0: this process closed its connection to the launcher' "$log" || wrong+='; the rank does not say what it did'
! grep -q 'is gone' "$log" || wrong+='; the launcher is said to be gone'
holds "a process closes descriptors that are not its own" "$wrong"

GASNET_BACKTRACE=perhaps launched "$conduit" 2 "$program" prints
wrong=
[ $status -eq 1 ] || wrong="; status $status"
[ "$(grep -c . "$log")" -eq 1 ] || wrong+='; not one line'
grep -qE '^\*\*\* FATAL ERROR \(rank 0 of 2 on [^ ]+\): GASNET_BACKTRACE=perhaps: not yes or no$' "$log" || wrong+='; the rank and its host are not named'
holds "a bad GASNET_BACKTRACE" "$wrong"
GASNET_DISABLE_ARGDECODE=perhaps launched "$conduit" 2 "$program" prints
wrong=
[ $status -ne 0 ] || wrong="; status 0"
grep -qE '^\*\*\* FATAL ERROR: rank [01] of 2 on [^ ]+: GASNET_DISABLE_ARGDECODE=perhaps: ' "$log" || wrong+='; the rank and its host are not named'
holds "a value that the tools refuse" "$wrong"

timeout -k 2 60 "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/$program" prints 2>"$log" >/dev/full </dev/null
status=$?
wrong=
[ $status -eq 1 ] || wrong="; status $status"
for rank in 0 1; do
    grep -q "^\*\*\* WARNING (rank $rank of 2 on .*): .*standard output is lost: No space left on device" "$log" || wrong+="; rank $rank does not say it"
done
holds "what a program prints is lost" "$wrong"
# As a launcher that asks the system alone sees it.
# shellcheck disable=SC2016 # for the inner shell
timeout -k 2 60 "$TEST_LAUNCH" -n 2 sh -c '"$@" >/dev/full; echo "status $?"' wrapper "$TEST_BUILD/tests/$program" returns >"$log" 2>&1 </dev/null
wrong=
[ "$(grep -c '^status 1$' "$log")" -eq 2 ] || wrong="; $(grep '^status' "$log" | paste -sd' ')"
holds "what a program prints is lost, and it returns 0 from main" "$wrong"

# More than a pipe holds.
timeout -k 2 60 "$TEST_LAUNCH" -n 1 "$TEST_BUILD/tests/$program" prints 50000 2>"$log" </dev/null | head -1 >/dev/null
status=${PIPESTATUS[0]}
wrong=
[ "$status" -eq 1 ] || wrong="; status $status"
[ "$(grep -c '^\*\*\* Caught a signal: SIGPIPE(13) on node 0/1$' "$log")" -eq 1 ] || wrong+='; not one line'
holds "the reader of what a program prints is gone" "$wrong"

# without_null COMMAND...: where there is no /dev/null.
without_null() { unshare -m sh -c 'mount -t tmpfs tmpfs /dev && exec "$@"' sh "$@"; }
if without_null true 2>/dev/null </dev/null; then
    without_null "$TEST_LAUNCH" -n 2 "$TEST_BUILD/tests/$program" prints >"$log" 2>&1 </dev/null
    status=$?
    wrong=
    [ $status -ne 0 ] || wrong="; status 0"
    grep -q '^gasnetrun.*: cannot open /dev/null, .*: No such file or directory' "$log" || wrong+='; the file is not named'
    holds "a machine without /dev/null" "$wrong"
else
    tap_skip "a machine without /dev/null" "no file system may be mounted here"
fi

# The second program of a rank is refused, and the reason depends on how far the end of the first has come.
timeout -k 2 60 "$TEST_LAUNCH" -n 1 sh -c "'$TEST_BUILD/tests/$program' prints; sleep 0.2; '$TEST_BUILD/tests/$program' prints" >"$log" 2>&1 </dev/null
status=$?
wrong=
[ $status -ne 0 ] || wrong="; status 0"
grep -q 'start each by a launcher of its own' "$log" || wrong+='; the remedy is not named'
holds "a second program in the place of a rank" "$wrong"
tap_end
