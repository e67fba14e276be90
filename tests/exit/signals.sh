#!/bin/bash
# signals.sh - the line that a crash or a signal prints, in every conduit, and the job's status; TAP.
#
# testsignals crashes with and without a stack left, before and after attach, in the main thread, in a client's and in
# the receive thread, with handlers and alternate signal stacks of its own.  exit/exit.py has the other ways of ending.
# family: signals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on TEST_HANG=60
ulimit -c 0
ulimit -s 8192 # a stack that ends

# job CONDUIT-MODE CASE [NAME=VALUE...]: two ranks, of which rank 1 acts; sets `status` and `log`.
job() {
    local program=$1 case=$2
    shift 2
    case $program in smp-*) set -- GASNET_SUPERNODE_MAXSIZE=0 "$@" ;; esac
    log=$TEST_LOG/signals_${program}_$case.log
    env "$@" timeout -k 5 60 "$TEST_BUILD/gasnetrun_${program%-*}" -spawner=ssh -n 2 \
        "$TEST_BUILD/tests/testsignals-$program" "$case" >"$log" 2>&1 </dev/null
    status=$?
}

# judge STATUS COUNT PATTERN NAME: the last job's status, and how many lines match.  To grep without -a a zero byte ends a
# line.
judge() {
    local lines
    lines=$(grep -acE -- "$3" "$log")
    [ "$status" = "$1" ] && [ "$lines" = "$2" ]
    local result=$?
    tap_ok $result "$4"
    [ $result = 0 ] || { tap_note "status $status instead of $1; $lines lines instead of $2 match: $3" && tap_tail "$log"; }
}

caught() { echo "^\*\*\* Caught a fatal signal: $1\([0-9]+\) on node 1/2\$"; }

conduits=
for conduit in ibv vapi portals smp; do
    if [ -x "$TEST_BUILD/gasnetrun_$conduit" ]; then conduits+=" $conduit"; fi
done

for conduit in $conduits; do
    job "$conduit-seq" overflow
    judge 139 1 "$(caught SIGSEGV)" "2.12 a stack overflow ($conduit)"
    job "$conduit-par" thread_overflow
    judge 139 1 "$(caught SIGSEGV)" "2.12 that of a second thread ($conduit)"
    job "$conduit-par" early_fault
    judge 139 1 "$(caught SIGSEGV)" "2.12 a crash between init and attach ($conduit)"
    job "$conduit-seq" early_term
    judge 1 1 '^\*\*\* Caught a signal: SIGTERM\(15\) on node 1/2$' "2.12 SIGTERM between init and attach ($conduit)"
done

# All further cases run the same code in every conduit: one conduit is enough.
conduit=${conduits# } conduit=${conduit%% *}
job "$conduit-par" overflow
judge 139 1 "$(caught SIGSEGV)" "2.12 a stack overflow of the main thread, with threads"
job "$conduit-par" thread_overflow_put
judge 139 1 "$(caught SIGSEGV)" "2.12 a thread that puts"
job "$conduit-seq" early_overflow
judge 139 1 "$(caught SIGSEGV)" "2.12 a stack overflow between init and attach"
job "$conduit-seq" early_abort
judge 134 1 "$(caught SIGABRT)" "2.12 abort between init and attach"
job "$conduit-seq" overflow GASNET_BACKTRACE=1 GASNET_BACKTRACE_TYPE=EXECINFO
judge 139 1 '^\*\*\* Backtrace by EXECINFO' "2.12 a backtrace of an overflow"
judge 139 1 "$(caught SIGSEGV)" "2.12 after its line"
tap_ok "$([ "$(grep -c '\[0x[0-9a-f]*\]$' "$log")" -ge 100 ]; echo $?)" "2.12 with a hundred of its levels"

# A signal stack of the program's that has no room for a report, for a crash elsewhere or on that stack itself: the backtrace
# is whole.
for case in tiny_stack_fault tiny_stack_abort small_stack_fault small_stack_abort heap_stack_fault heap_stack_abort small_stack_overflow small_stack_handler_fault; do
    signal=SIGSEGV expected=139
    if [[ $case = *abort ]]; then signal=SIGABRT expected=134; fi
    job "$conduit-seq" $case GASNET_BACKTRACE=1 GASNET_BACKTRACE_TYPE=EXECINFO
    judge $expected 1 "$(caught $signal)" "2.12 $case"
    if [ $case = small_stack_overflow ]; then continue; fi # main is too far away
    judge $expected 1 '\(__libc_start_main\+' "2.12 $case, with a backtrace as far as main"
done
# Whatever ends a rank while the job ends decides the status, though all other ranks, or all, have announced another.
for case in late_abort:134:SIGABRT late_fault:139:SIGSEGV flush_aborts:134:SIGABRT close_aborts:134:SIGABRT late_kill:137:; do
    IFS=: read -r case expected signal <<<"$case"
    job "$conduit-seq" "$case"
    judge "$expected" $((${#signal} > 0)) "$(caught "${signal:-none}")" "IB-X2 a crash while the job ends: $case"
done
job "$conduit-par" late_abort
judge 134 1 "$(caught SIGABRT)" "IB-X2 a crash while the job ends, with threads"

job "$conduit-seq" damage GASNET_BACKTRACE=1
judge 134 1 "$(caught SIGABRT)" "2.12 abort() by malloc(), with its lock held"
job "$conduit-seq" smash
judge 134 1 "$(caught SIGABRT)" "2.12 the stack protector"
job "$conduit-par" thread_blocked_abort
judge 134 1 "$(caught SIGABRT)" "2.12 abort() in a thread that blocks all signals"
job "$conduit-par" thread_blocked_fault
judge 139 1 'rank 1 .*killed by signal 11' "2.12 a fault in a thread that blocks all signals"

if [ "$(sed -n "s/^${conduit^^}_RCV_THREAD = //p" "$TEST_BUILD/Makefile")" = 1 ]; then
    job "$conduit-par" receive_fault GASNET_RCV_THREAD=1
    judge 139 1 "$(caught SIGSEGV)" "2.12 a crash of a handler in the receive thread"
    job "$conduit-par" receive_overflow GASNET_RCV_THREAD=1
    judge 139 1 "$(caught SIGSEGV)" "2.12 its stack overflow"
else
    tap_skip "2.12 a crash in the receive thread" "this build has none"
fi

# Handlers that the program has set stay, and signals that GASNET_NO_CATCH_SIGNAL names are not caught.
job "$conduit-seq" own_handler
judge 33 1 '^OWN HANDLER' "2.12 a handler from before init runs"
judge 33 0 'Caught' "2.12 alone"
job "$conduit-seq" own_handler_between
judge 33 1 '^OWN HANDLER' "2.12 one from between init and attach"
judge 33 0 'Caught' "2.12 alone as well"
job "$conduit-seq" own_stack
judge 139 1 '^KEPT' "2.12 an alternate stack of the program's is kept"
judge 139 1 "$(caught SIGSEGV)" "2.12 and used"
job "$conduit-par" own_stack_thread
judge 0 2 '^KEPT' "2.12 one of a thread's"
job "$conduit-seq" overflow GASNET_NO_CATCH_SIGNAL=SIGSEGV
judge 139 0 'Caught' "2.12 a signal that is exempt"
job "$conduit-seq" early_fault GASNET_NO_CATCH_SIGNAL=segv
judge 139 0 'Caught' "2.12 also before attach"
job "$conduit-seq" no_stack 'GASNET_NO_CATCH_SIGNAL=*'
judge 0 2 '^NO STACK' "2.12 where none is caught there is no alternate stack"
job "$conduit-par" stacks_freed
judge 0 2 '^FREED' "2.12 threads that end leave no stack behind"
judge 0 0 '^A THREAD WITHOUT' "2.12 and each had one"

# An error that the library finds.
for case in error early_error; do
    job "$conduit-seq" $case GASNET_BACKTRACE=1 GASNET_BACKTRACE_TYPE=EXECINFO
    judge 1 1 'FATAL ERROR' "2.12 $case: ends with its message"
    judge 1 1 '^\*\*\* Backtrace by EXECINFO' "2.12 and the backtrace that GASNET_BACKTRACE asks for"
done

# A process that is frozen waits for a debugger, also on the alternate stack.
freeze() { # CASE: `alive` is 0 if it waits until it is told to end
    log=$TEST_LOG/signals_freeze_$1.log
    : >"$log"
    GASNET_FREEZE_ON_ERROR=1 timeout -k 5 60 "$TEST_BUILD/gasnetrun_$conduit" -spawner=ssh -n 2 \
        "$TEST_BUILD/tests/testsignals-$conduit-seq" "$1" >"$log" 2>&1 </dev/null &
    local frozen=$!
    until grep -q gasnet_frozen "$log" || ! kill -0 $frozen 2>/dev/null; do sleep 0.05; done # between two looks
    kill -0 $frozen 2>/dev/null && kill -TERM $frozen
    alive=$?
    wait $frozen
    status=$?
}
freeze overflow
tap_ok $alive "2.12 GASNET_FREEZE_ON_ERROR keeps a process whose stack overflowed"
judge 139 1 "$(caught SIGSEGV)" "2.12 after its line, and then ends by its signal"
for case in error early_error; do
    freeze $case
    tap_ok $alive "2.12 GASNET_FREEZE_ON_ERROR keeps a process after an error: $case"
    tap_ok "$(grep -q '^\*\*\* FATAL ERROR' "$log"; echo $?)" "2.12 and its message is there"
done
tap_end
