#!/bin/bash
# files.sh - what a program wrote to files of its own and did not flush is in them after each way of
# exiting; and a file that cannot be written (its lock is held, its pipe is full) delays the end, but
# does not prevent it.  Also std::cout with a buffer of its own, units of Fortran, coverage data; TAP.
# family: exit-files
. "$(dirname "$0")/../tap.sh" || exit 1
unset "${!GASNET_@}"
export GASNET_SUPERNODE_MAXSIZE=1
cd "$TEST_BUILD" || exit 1
# shellcheck source=tests/clients/fragments.sh
. "$TEST_SOURCE/clients/fragments.sh"
source=$TEST_SOURCE/exit/files

# judge STATUS FILES NAME: the last job's status, and the number of files that have the last line.
judge() {
    local lines
    lines=$(cat "$tap_scratch"/file.* 2>/dev/null | grep -c '^the last line$')
    [ "$status" = "$1" ] && [ "$lines" = "$2" ]
    tap_verdict $? "$3 (status $status, last lines $lines of $2)"
}
# ends PROGRAM HOW: a job of two
ends() {
    rm -f "$tap_scratch"/file.*
    tap_job 2 "$1" "$2" "$tap_scratch/file"
}

for TEST_CONDUIT in $conduits; do
    TEST_LAUNCH=$TEST_BUILD/gasnetrun_$TEST_CONDUIT
    GASNET_SUPERNODE_MAXSIZE=$([ "$TEST_CONDUIT" = smp ] && echo 0 || echo 1)
    for mode in seq par; do
        program=$TEST_BUILD/tests/testfiles-$TEST_CONDUIT-$mode
        for how in main exit gasnet_exit; do
            ends "$program" $how
            judge 0 2 "$TEST_CONDUIT-$mode, $how"
        done
        for how in told handler by_quit by_term; do
            case $how in by_quit | by_term) want=1 ;; *) want=3 ;; esac
            ends "$program" $how
            judge $want 2 "$TEST_CONDUIT-$mode, $how"
        done
        # Another file, opened later, cannot be written.
        ends "$program" full_pipe
        judge 1 2 "$TEST_CONDUIT-$mode, a pipe that is full does not keep the job from ending"
        grep -q 'what this process wrote to a file is lost' "$log"
        tap_verdict $? "... and the loss is said"
        ends "$program" full_pipe_main
        judge 1 2 "$TEST_CONDUIT-$mode, nor from ending by return from main"
    done
    GASNET_EXITTIMEOUT=4 ends "$program" late # rank 1 does not answer before rank 0 has written
    judge 0 1 "$TEST_CONDUIT-par, what a thread writes while its process exits"
    grep -q '^printed late$' "$log"
    tap_verdict $? "... and prints"
    ends "$program" held
    judge 1 2 "$TEST_CONDUIT-par, a file whose lock another thread holds"
    ends "$program" read
    judge 0 2 "$TEST_CONDUIT-par, a thread that waits for input is not waited for"
    ! grep -q 'is lost' "$log"
    tap_verdict $? "... and nothing is lost"
done
TEST_CONDUIT=$first TEST_LAUNCH=$TEST_BUILD/gasnetrun_$first key=$first-seq
GASNET_SUPERNODE_MAXSIZE=1

# client NAME COMPILER FLAG...: files/NAME as a client of the shared and of the static library
client() {
    local compiler=$2 extra=("${@:3}")
    # shellcheck disable=SC2086
    "$compiler" ${cppflags[$key]} -c -o "$tap_scratch/client.o" "$source/$1" "${extra[@]}" &&
        "$compiler" ${ldflags[$key]} -o "$tap_scratch/shared" "$tap_scratch/client.o" ${shared[$key]} "${extra[@]}" &&
        "$compiler" ${ldflags[$key]} -o "$tap_scratch/static" "$tap_scratch/client.o" ${static[$key]} "${extra[@]}"
}
log=$TEST_LOG/exit-files-build.log
if client cout.cc g++ >"$log" 2>&1; then
    for program in shared static; do
        ends "$tap_scratch/$program" gasnet_exit
        [ "$status" = 0 ] && [ "$(grep -c 'the last line' "$log")" = 4 ]
        tap_verdict $? "std::cout and std::wclog with buffers of their own, $program library"
    done
else tap_verdict 1 "a client in C++ builds"; fi
# The streams of a libstdc++ whose <iostream> nothing includes were never constructed.
LD_PRELOAD=$(g++ -print-file-name=libstdc++.so.6) ends "$TEST_BUILD/tests/testfiles-$TEST_CONDUIT-seq" gasnet_exit
judge 0 2 "libstdc++ is loaded, and not used"

if command -v gfortran >/dev/null; then
    log=$TEST_LOG/exit-files-fortran.log
    if gfortran -c -o "$tap_scratch/unit.o" "$source/unit.f90" >"$log" 2>&1 &&
        client unit.c gcc "$tap_scratch/unit.o" -lgfortran >"$log" 2>&1; then
        for program in shared static; do
            ends "$tap_scratch/$program" gasnet_exit
            judge 0 2 "a unit of Fortran, $program library"
        done
    else tap_verdict 1 "a client in Fortran builds"; fi
else tap_skip "a unit of Fortran" "no gfortran"; fi

counts() { # OPTION FILE: the profile that a program with that option writes at the end is there
    local log=$TEST_LOG/exit-files-profile.log
    if ! client profile.c gcc "${@:2}" >"$log" 2>&1; then
        tap_verdict 1 "a client with ${*:2} builds"
        return
    fi
    for program in shared static; do
        rm -f "$tap_scratch"/client.gcda "$tap_scratch"/gmon.out*
        (cd "$tap_scratch" && GMON_OUT_PREFIX=gmon.out exec "$TEST_LAUNCH" -n 2 "./$program") >"$log" 2>&1
        status=$?
        [ $status = 0 ] && [ -n "$(find "$tap_scratch" -name "$1" -size +0)" ]
        tap_verdict $? "the profile of ${*:2} is written, $program library (status $status)"
    done
}
counts client.gcda --coverage -Wl,-u,__gcov_dump
counts 'gmon.out*' -pg
tap_end
