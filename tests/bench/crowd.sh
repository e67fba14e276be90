#!/bin/bash
# crowd.sh - more processes than processors: the time of a barrier and of Requests, alone and beside another job, and the
# processor time of processes that wait.
#
# The targets are for two processors with nothing else to do; a machine that does something else shows in the figures,
# so a target missed is shown and fails nothing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export SOFTHCA=on GASNET_SUPERNODE_MAXSIZE=0
program=$TEST_BUILD/tests/bench/crowd-$TEST_CONDUIT-seq

# row NAME TARGET FIELD N ARGUMENT...
row() {
    local line value verdict
    line=$(timeout -k 2 120 "$TEST_LAUNCH" -n "$4" "$program" "${@:5}" 2>&1 </dev/null | grep '^crowd:')
    value=$(awk -v field="$3" '{print $field}' <<<"$line")
    verdict=$(awk -v value="${value:-0}" -v target="$2" 'BEGIN { print value <= target ? "ok" : "MISSED" }')
    printf '# %-44s %10s %8s  %-6s  %s\n' "$1" "$value" "$2" "$verdict" "${line#crowd: }"
    tap_ok "$([ -n "$line" ]; echo $?)" "$1: measured"
}

printf '# %-44s %10s %8s\n' "$(nproc) processors, gasnetrun_$TEST_CONDUIT" best target
row "barrier of 8, us" 9 5 8 barrier 500
row "barrier of 32, us" 40 5 32 barrier 100
row "barrier of 128, us" 270 5 128 barrier 20
row "barrier of 250, us" 500 5 250 barrier 10
row "Request and Reply, each of 32 to each, us" 60 5 32 exchange 20
row "8 wait 10 s for a ninth, ms of processor time" 1000 2 9 wait 10

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
beside barrier 2000
beside exchange 500
tap_end
