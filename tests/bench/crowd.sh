#!/bin/bash
# crowd.sh - more processes than processors: the time of a barrier and of Requests, alone and beside another job, the
# processor time of processes that wait, and the start of a job with and without memory shared within the host.
#
# The targets are for two processors with nothing else to do; a machine that does something else shows in the figures,
# so a target missed is shown and fails nothing.  TEST_ROWS="times", "beside" or "start" narrows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on GASNET_SUPERNODE_MAXSIZE=0
program=$TEST_BUILD/tests/bench/crowd-$TEST_CONDUIT-seq

chosen() { [ -z "$TEST_ROWS" ] || [[ " $TEST_ROWS " == *" $1 "* ]]; }

# row NAME TARGET FIELD N ARGUMENT...
row() {
    local line value verdict
    line=$(timeout -k 2 120 "$TEST_LAUNCH" -n "$4" "$program" "${@:5}" 2>&1 </dev/null | grep '^crowd:')
    value=$(awk -v field="$3" '{print $field}' <<<"$line")
    verdict=$(awk -v value="${value:-0}" -v target="$2" 'BEGIN { print value <= target ? "ok" : "MISSED" }')
    printf '# %-44s %10s %8s  %-6s  %s\n' "$1" "$value" "$2" "$verdict" "${line#crowd: }"
    tap_ok "$([ -n "$line" ]; echo $?)" "$1: measured"
}

# floor N ROUNDS: the present time of a counter with sched_yield() on this machine, instead of a barrier of N.
floor() {
    timeout -k 2 120 "$TEST_LAUNCH" -n "$1" "$program" counter "$2" 2>&1 </dev/null |
        sed -n "s/^crowd: /#   a counter of $1 with sched_yield: /p"
}

printf '# %-44s %10s %8s\n' "$(nproc) processors, gasnetrun_$TEST_CONDUIT" best target
if chosen times; then
    row "barrier of 8, us" 9 5 8 barrier 2000
    floor 8 2000
    row "barrier of 32, us" 40 5 32 barrier 100
    floor 32 100
    row "barrier of 128, us" 270 5 128 barrier 20
    floor 128 20
    row "barrier of 250, us" 500 5 250 barrier 10
    floor 250 10
    row "Request and Reply, each of 32 to each, us" 60 5 32 exchange 20
    row "8 wait 10 s for a ninth, ms of processor time" 1000 2 9 wait 10
fi

# mean ARGUMENT...: of a job of 8, us.
mean() {
    timeout -k 2 120 "$TEST_LAUNCH" -n 8 "$program" "$@" 2>&1 </dev/null | awk '/^crowd:/ { print $2 }'
}

# beside ARGUMENT...: the mean of a job beside another one that begins with it, over its mean alone.
beside() {
    local alone both
    alone=$(mean "$@")
    both=$(mean "$@" & mean "$@"; wait)
    awk -v alone="${alone:-0}" -v name="$1, 8 beside 8 / 8 alone" -v target=2.2 '
        { sum += $1 }
        END {
            ratio = alone > 0 && NR == 2 ? sum / 2 / alone : 0
            printf "# %-44s %10.2f %8s  %-6s\n", name, ratio, target, ratio <= target ? "ok" : "MISSED"
            exit !ratio
        }' <<<"$both"
    tap_ok $? "$1 of 8 beside another 8: measured"
}
if chosen beside; then
    beside barrier 20000
    beside exchange 5000
fi

# launch MAXSIZE N: a job of N that only starts and ends; ms.
launch() {
    local start
    start=$(now_ms)
    GASNET_SUPERNODE_MAXSIZE=$1 timeout -k 2 120 "$TEST_LAUNCH" -n "$2" "$program" start >"$TEST_LOG/crowd_start" 2>&1 \
        </dev/null || return 1
    echo $(($(now_ms) - start))
}

# The best of some launches of each kind, which take turns.
startup() { # N
    local shared='' alone='' i one result=0
    for ((i = 0; i < 5; i++)); do
        one=$(launch 0 "$1") || result=1
        if [ -z "$shared" ] || [ "${one:-0}" -lt "$shared" ]; then shared=${one:-0}; fi
        one=$(launch 1 "$1") || result=1
        if [ -z "$alone" ] || [ "${one:-0}" -lt "$alone" ]; then alone=${one:-0}; fi
    done
    awk -v n="$1" -v shared="$shared" -v alone="$alone" -v target=1.1 'BEGIN {
        ratio = alone > 0 ? shared / alone : 0
        verdict = ratio > 0 && ratio <= target ? "ok" : "MISSED"
        printf "# %-44s %10.2f %8s  %-6s  %d ms, without %d ms\n", "start of " n ", shared memory / without", ratio, target,
            verdict, shared, alone }'
    tap_ok $result "start of $1: measured"
    [ $result -eq 0 ] || tap_tail "$TEST_LOG/crowd_start"
}
if chosen start && ! grep -q '^#define GASNETI_PSHM 0' "$TEST_BUILD/include/gasnet_config.h"; then
    for n in 16 64 128; do startup $n; done
fi
tap_end
