#!/bin/bash
# run.sh - the event core of other/dapl: its state machines, its rules and races on a device under the test's control,
# a wake over libibverbs with its system calls, the instructions of a dequeue.
# family: dapl
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../../tests/tap.sh" || exit 1
cd "$TEST_BUILD/other/dapl/tests" 2>/dev/null || cd "$TEST_BUILD" || exit 1

tap_program dapl "channels" ./channels
if [ ! -e "$TEST_BUILD/libdapl_events.la" ]; then
    tap_skip "the event core" "dat2/udat.h was not found by configure (Debian: apt-get install libdapl-dev)"
    tap_end
fi

tap_program dapl "state machines" ./machine
tap_program dapl "calls" ./calls
tap_program dapl "rules of events" ./rules_events
tap_program dapl "rules of waits" ./rules_waits
tap_program dapl "rules of notification objects" ./rules_cno
tap_program dapl "order" ./order
tap_program dapl "races" ./races
tap_program dapl "races of objects" ./races_life
tap_program dapl "once" ./once
export SOFTHCA=${SOFTHCA:-on}
tap_program dapl "verbs" ./verbs
tap_program dapl "rails" ./rails

log=$TEST_LOG/dapl-example.log
LD_PRELOAD=$TEST_BUILD/.libs/libsofthca.so "$TEST_BUILD/libtool" --mode=execute "$TEST_BUILD/other/dapl/example" >"$log" 2>&1
tap_ok "$([ "$(cat "$log")" = $'a batch: one event, and 7 more\nan event of EVD 1' ]; echo $?)" "R17 R42 the example waits for a batch, and for any"

core=$TEST_BUILD/other/dapl/.libs/libcore.a
strange=$(nm -A "$core" 2>/dev/null | grep ' U ibv_' | grep -vE '(cq|async)_verbs')
tap_ok "$([ -e "$core" ] && [ -z "$strange" ]; echo $?)" "R2 only cq_verbs.c and async_verbs.c call libibverbs"
[ -z "$strange" ] || tap_note "$strange"
found=$(grep -lE '[^>_.a-z](epoll_[a-z]+|eventfd|ppoll|poll|nanosleep|clock_gettime|sched_yield|syscall|read|write)\(' \
    "$TEST_SOURCE"/../other/{dapl/src/engine,base/completion-queues}/*.c "$TEST_SOURCE"/../other/dapl/src/machine/* | grep -v '/os\.c$')
tap_ok "$([ -z "$found" ]; echo $?)" "R2 only os.c calls the operating system, but for mutexes and threads${found:+ ($found)}"

# System calls of the waiter for each wake: those of 300 waits less those of 100, so that set-up and end cancel out.
calls_of() { # PROGRAM FORM COUNT
    libtool_run strace -f -qq -o "$tap_scratch/trace" "./$1" "$2" "$3" >"$tap_scratch/out" 2>&1 || return 1
    # The waiter is the first thread; the sender's yields and the device's worker are others.
    awk 'NR == 1 { waiter = $1 } $1 == waiter && !/resumed>/ && !/sched_yield/ { n++ } END { print n }' "$tap_scratch/trace"
}
libtool_run() { "$TEST_BUILD/libtool" --mode=execute "$@"; }
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    for kind in evd cno; do
        few=$(calls_of verbs $kind 100) many=$(calls_of verbs $kind 300)
        tap_ok "$([ -n "$few" ] && [ -n "$many" ] && [ $((many - few)) -le 420 ]; echo $?)" \
            "R30 R40 a wake on ${kind^^} of a device costs two system calls (${few:-?} for 100, ${many:-?} for 300)"
    done
    # The first form is the code of a program itself, with epoll over the channels.
    for form in direct set cno; do
        few=$(calls_of rails $form 100) many=$(calls_of rails $form 300)
        [ $form != direct ] || least=$((many - few))
        tap_ok "$([ -n "$few" ] && [ -n "$many" ] && [ $((many - few)) -le $((least + least / 20)) ]; echo $?)" \
            "R49 a wake for four devices, $form: $((many - few)) system calls for 200, no more than the direct form's $least"
    done
else
    tap_skip "R40 system calls of a wake" "strace is not installed, or may not trace here"
fi

# Instructions of one dequeue without the device's poll, and locked instructions in it. The bounds are within 5% of what
# gcc 12 makes of it (R3): 40, 63, 63, 63, 79, 62, 75, 50, 60. The provider's own function adds one.
cost_of() { # FUNCTION KIND [BATCH]
    libtool_run valgrind -q --tool=callgrind --callgrind-out-file="$tap_scratch/cg" --toggle-collect="$1" ./cost "$2" "$3" \
        >"$tap_scratch/out" 2>&1 || return 1
    callgrind_annotate --auto=no --threshold=100 "$tap_scratch/cg" 2>/dev/null | tr -d ',' |
        awk '/cost_poll|dapl_work_take|mempcpy|memcpy/ { out += $1 } /PROGRAM TOTALS/ { total = $1 } END { print int((total - out) / 10000) }'
}
if [ "$(sed -n 's/^HOUSE_CFLAGS = .*-fsanitize.*/yes/p' "$TEST_BUILD/Makefile")" = yes ]; then
    tap_skip "R44 instructions of a dequeue" "this build has a sanitizer"
elif command -v valgrind >/dev/null; then
    while read -r kind batch limit function name; do
        cost=$(cost_of "$function" "$kind" "$batch")
        tap_ok "$([ -n "$cost" ] && [ "$cost" -le "$limit" ]; echo $?)" "$name: ${cost:-?} instructions, $limit allowed"
    done <<'END'
empty 0 40 dapl_evd_dequeue R32 R44 dequeue of an empty EVD
send 1 65 dapl_evd_dequeue R32 R44 dequeue of a send
write 1 65 dapl_evd_dequeue R32 R44 dequeue of an RDMA write
read 1 65 dapl_evd_dequeue R32 R44 dequeue of an RDMA read
receive 1 79 dapl_evd_dequeue R32 R44 dequeue of a receive
send 16 66 dapl_evd_dequeue R32 R44 dequeue of a send, 16 at hand
receive 16 79 dapl_evd_dequeue R32 R44 dequeue of a receive, 16 at hand
software 0 52 dapl_evd_dequeue R33 R44 dequeue of a software event
software-post 0 60 dapl_evd_post_se R33 R45 post of a software event
END
else
    tap_skip "R44 instructions of a dequeue" "valgrind is not installed"
fi
locked=$(objdump -d --no-show-raw-insn "$core" 2>/dev/null |
    awk '/>:$/ { inside = /<(dapl_evd_dequeue|dequeue_long|dequeue_polled|dequeue_admitted|dequeue_slowly|admit|make_transfer_event|evd_take|evd_poll|admit_special|take_staged|take_from_ring)>/ } inside && (/\tlock/ || /\txchg .*\(/ || /\tmfence/)')
tap_ok "$([ -z "$locked" ]; echo $?)" "R32 R44 the dequeue has no locked instruction"
tap_end
