#!/bin/bash
# rcvthread.sh - the receive thread (IB-C8): how often messages wake it (IB-W3), and a library built without it,
# which has neither the thread, nor its sleep, nor a lock of its own (IB-B3); and SEQ and PARSYNC with it (IB-C10).
#
# Builds that library in $TEST_BUILD/without-thread, with the programs of the ordinary one, and the libraries of IB-C10
# in $TEST_BUILD/seq-thread, with programs of their own: the locks of clients differ.
# What the thread does is tests/programs/testrcvthread.c and, in a time of its own, tests/unit/receive_thread.c.
# family: rcvthread first
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1

conduit=ibv
export SOFTHCA=on TEST_HANG=60
stats=$tap_scratch/stats

# job SETTINGS PROGRAM [ARGUMENT]: two processes; sets `status` and `log`, counters in $stats.
programs=$TEST_BUILD/tests
job() {
    log=$TEST_LOG/rcvthread_$2.log
    rm -f "$stats"
    # shellcheck disable=SC2086 # settings are words
    env GASNET_STATSFILE="$stats" $1 timeout -k 5 100 "$TEST_LAUNCH" -spawner=ssh -n 2 "$programs/$2" ${3:+"$3"} \
        >"$log" 2>&1 </dev/null
    status=$?
}
sum() { awk -v name="$1" '($2 == "all" || $2 == "-") && $3 == name { n += $4 } END { print n + 0 }' "$stats"; }
# says TEXT PATTERN [STATUS]
says() {
    [ "$status" = "${3:-0}" ] && grep -qE -- "$2" "$log"
    local result=$?
    tap_ok $result "$1"
    [ $result -eq 0 ] || { tap_note "status $status" && tap_tail "$log"; }
}

have=$(sed -n 's/^IBV_RCV_THREAD = //p' "$TEST_BUILD/Makefile")
if [ "$have" = 0 ]; then
    job GASNET_RCV_THREAD=1 testthreads-$conduit-par
    says "IB-B3 this build has no receive thread, and says so" 'GASNET_RCV_THREAD has no effect: .*configured without'
    tap_end
fi

# ---- IB-W3: how often it wakes

job GASNET_RCV_THREAD=1 testrcvthread-$conduit-par
messages=$(($(sum got_requests) + $(sum got_replies_short))) wakes=$(sum wakes)
[ "$status" = 0 ] && [ "$wakes" -gt 0 ] && [ "$messages" -gt 10000 ] && [ $((2 * wakes)) -lt "$messages" ]
tap_ok $? "IB-W3 $messages messages have woken it $wakes times"
[ "$status" = 0 ] || tap_tail "$log"
job GASNET_RCV_THREAD=0 testam-$conduit-par
says "IB-C8 a job without it" '^ok '
tap_ok "$([ "$(sum wakes)" = 0 ]; echo $?)" "IB-C8 where no thread is woken"

# Without the thread that program would wait for ever.
job GASNET_RCV_THREAD=0 testrcvthread-$conduit-par
says "its test says what it needs, and ends" 'GASNET_RCV_THREAD=1' 1

# ---- IB-C8: one thread of each rank sleeps for all devices

# Of each thread a file; with connections made at start-up only receive threads sleep in this call.
traced=$tap_scratch/calls
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    SOFTHCA_DEVICES=4x1 GASNET_RCV_THREAD=1 GASNET_CONNECT_DYNAMIC=0 timeout -k 5 100 "$TEST_LAUNCH" -spawner=ssh -n 2 \
        strace -ff -qq -e trace=epoll_pwait2,read -o "$traced" "$programs/testrcvthread-$conduit-par" \
        >"$TEST_LOG/rcvthread_devices.log" 2>&1 </dev/null
    status=$?
    # Events of channels have 8 bytes.
    awk 'FNR == 1 { file++ }
        /^epoll_pwait2/ { sleeps[file]++ }
        /^read.* = 8$/ { notifications[file]++ }
        END { for (i = 1; i <= file; i++) if (sleeps[i]) print sleeps[i], notifications[i] + 0 }' "$traced".* >"$tap_scratch/threads"
    tap_ok "$([ $status = 0 ] && [ "$(wc -l <"$tap_scratch/threads")" = 2 ]; echo $?)" "IB-C8 R49 four devices: each rank has one receive thread"
    # The last sleep does not end.
    tap_ok "$([ -s "$tap_scratch/threads" ] && awk '$1 > $2 + 1 || $1 < 10 { exit 1 }' "$tap_scratch/threads"; echo $?)" \
        "IB-C8 IB-W3 two system calls for a notification, or less: slept $(awk '{ printf "%d times for %d, ", $1, $2 }' "$tap_scratch/threads")of each rank"
else
    tap_skip "IB-C8 system calls of the receive thread" "strace is not installed, or may not trace here"
fi

# ---- IB-C8: jobs end while it sleeps, and while messages arrive

job "GASNET_RCV_THREAD=1 SOFTHCA_DEVICES=4x1" testexit-$conduit-par quit_told
says "IB-C8 R49 a job of four devices ends while it sleeps" '' 11
for ((round = 0; round < 3; round++)); do
    job "GASNET_RCV_THREAD=1 SOFTHCA_DEVICES=4x1 GASNET_EXITTIMEOUT=16" testexit-$conduit-par thread_exits_in_storm_others_transfer
    [ "$status" = 19 ] || break
done
says "IB-C8 R49 and while messages arrive at all of them, 3 times" '' 19

# ---- libraries with locks

# locks FILE: functions and how many locks each acquires (core/lock.h); parts of one function count as it.
locks() {
    objdump -d --no-show-raw-insn "$1" | awk '/^[0-9a-f]+ <.*>:$/ { f = $2; gsub(/[<>:]/, "", f); sub(/\..*/, "", f) }
        /lock bts|xchg +.*\(/ { n[f]++ } END { for (f in n) print f, n[f] }' | sort
}
# Of those, where messages and transfers go.
paths='gasnetc_(poll|AMPoll|deliver.*|AMRequest.*|AMReply.*|rdma_.*)|take|poll_once|gasnete_(put|get)_.*'
locks_on_paths() { locks "$1" | grep -E "^($paths) " | paste -sd' '; }

# ---- IB-C10: one client thread and the receive thread

always=$(sed -n 's/^SEQ_RCV_THREAD = //p' "$TEST_BUILD/Makefile")
[ "$always" = 1 ] || job GASNET_RCV_THREAD=1 testam-$conduit-seq
[ "$always" = 1 ] || says "IB-C10 a SEQ library without locks refuses in words, and runs" 'GASNET_RCV_THREAD has no effect: .*--enable-seq-rcv-thread'
# Also without the headers of DAT, which the thread's sleep does not need.
if variant seq-thread IB-C10 "--enable-seq-rcv-thread ac_cv_header_dat2_udat_h=no" \
    tests/test{rcvthread,putget,handles,barrier}-$conduit-seq other/dapl/tests/channels; then
    for script in run provider; do
        log=$TEST_LOG/rcvthread_without_dat_$script.log
        TEST_BUILD=$TEST_BUILD/seq-thread "$TEST_SOURCE/../other/dapl/tests/$script.sh" >"$log" 2>&1
        status=$?
        says "without the headers of DAT other/dapl/tests/$script.sh says what it leaves out" '^ok .* # SKIP .*udat.h was not found'
    done
    programs=$TEST_BUILD/seq-thread/tests
    for program in testrcvthread testputget testhandles testbarrier; do
        job GASNET_RCV_THREAD=1 $program-$conduit-seq
        [ "$status" = 0 ] && ! grep -qE '^not ok|no effect' "$log" && grep -q '^ok' "$log" && [ "$(sum wakes)" -gt 0 ]
        tap_ok $? "IB-C10 $program seq with the thread, woken $(sum wakes) times"
        [ "$status" = 0 ] || tap_tail "$log"
    done
    job GASNET_RCV_THREAD=0 testputget-$conduit-seq
    says "IB-C10 seq without it" '^ok '
    if [ "$(uname -m)" = x86_64 ]; then
        found=$(locks_on_paths "$TEST_BUILD/seq-thread/.libs/libgasnet-$conduit-seq.so")
        tap_ok "$([ -n "$found" ] && [ "$found" = "$(locks_on_paths "$TEST_BUILD/.libs/libgasnet-$conduit-par.so")" ]; echo $?)" \
            "IB-C10 seq has the locks of PAR where messages and transfers go: ${found:-none}"
    else
        tap_skip "IB-C10 seq has the locks of PAR where messages and transfers go" "written for x86-64"
    fi
    nm -D "$TEST_BUILD/seq-thread/.libs/libgasnet-$conduit-seq.so" | grep -q ' gasneti_init_SEQ_rcvthread_'
    tap_ok $? "IB-C10 SEQ programs compiled for locks that are empty do not link with that library"
    programs=$TEST_BUILD/tests
fi

# ---- IB-B3: a library without it

ordinary=$TEST_BUILD/.libs without=$TEST_BUILD/without-thread
if [ ! -e "$ordinary/libgasnet-$conduit-par.so" ]; then
    tap_skip "IB-B3 a library without the thread" "no shared libraries in this build"
    tap_end
fi
variant without-thread IB-B3 --disable-ibv-rcv-thread libgasnet-$conduit-par.la || tap_end

# Names in a library that belong to the thread.
own='gasnetc_receive_thread_start|net_arm|net_block|net_spare_own'
parts() { nm "$1/libgasnet-$conduit-par.so" | grep -cE " ($own)\$"; }
tap_ok "$([ "$(parts "$ordinary")" = 4 ]; echo $?)" "IB-C8 the ordinary library has the thread, how it arms and sleeps, and its spare buffer"
tap_ok "$(parts "$without/.libs")" "IB-B3 the other has none of the four"

case $(uname -m) in
x86_64)
    locks "$ordinary/libgasnet-$conduit-par.so" >"$tap_scratch/with"
    locks "$without/.libs/libgasnet-$conduit-par.so" >"$tap_scratch/without"
    more=$(join -a 1 "$tap_scratch/without" "$tap_scratch/with" | awk '$2 > $3 + 0 { print $1 }' | paste -sd' ')
    [ -s "$tap_scratch/without" ] && [ -z "$more" ]
    tap_ok $? "IB-B3 no function there has more locks than with the thread${more:+: $more}"
    # Only PAR has locks, for threads of the client; the other libraries serve one thread at a time.
    [ "$(grep -cE "^($paths) " "$tap_scratch/without")" -gt 3 ]
    tap_ok $? "IB-B3 PAR has locks where messages and transfers go, for its client's threads"
    for mode in seq parsync; do
        [ "$always" = 1 ] && break
        found=$(locks_on_paths "$ordinary/libgasnet-$conduit-$mode.so")
        tap_ok "$([ -z "$found" ]; echo $?)" "IB-B3 $mode has none there, thread or no thread${found:+: $found}"
    done
    ;;
*) tap_skip "IB-B3 locks, counted" "written for x86-64" ;;
esac

export LD_LIBRARY_PATH=$without/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ldd "$TEST_BUILD/tests/testam-$conduit-par" | grep -q "=> $without/.libs/libgasnet"
tap_ok $? "programs run with that library"
job GASNET_RCV_THREAD=1 testthreads-$conduit-par
says "IB-B3 a job that asks for the thread gets a message, and runs" 'GASNET_RCV_THREAD has no effect: .*configured without'
tap_ok "$([ "$(sum wakes)" = 0 ]; echo $?)" "IB-B3 and no thread is woken"
tap_end
