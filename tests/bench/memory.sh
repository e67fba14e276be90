#!/bin/bash
# memory.sh - receive memory per peer: bytes that a process registers for each peer it has communicated with, and
# for each that it never has.  Bytes counted at the registration calls, segment aside; the send
# buffers that all peers share are as many in every job.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

export GASNET_BBUF_COUNT=64
program=$TEST_BUILD/tests/bench/memory-${TEST_CONDUIT:-ibv}-seq

registered() { # PROCESSES SPOKEN-TO: bytes, of rank 0
    "$TEST_LAUNCH" -n "$1" "$program" "$2" </dev/null 2>>"$TEST_LOG/memory.log" | sed -n 's/^registered //p'
}

# row NAME TARGET-KIB OTHERS BYTES...: the difference of two jobs of 2 and of 6, over 4 peers.
row() {
    local name=$1 target=$2 others=$3 few=$4 many=$5 each
    each=$(((many - few) / 4))
    tap_note "$(printf '%-46s %6d KiB %5d KiB   %s' "$name" $((each / 1024)) "$target" "$others")"
    # Send buffers alone are more than nothing.
    tap_ok "$([ "${few:-0}" -gt 0 ] && [ "${many:-0}" -gt 0 ] && [ "$each" -le $((target * 1024)) ]; echo $?)" \
        "$name: $each bytes, at most $target KiB"
}

tap_note "$(printf '%-46s %10s %9s   %s' "receive memory, SEQ, at defaults" measured target others)"
row "per peer spoken to" 300 "GASNet-EX 2025.8: 768 KiB" "$(registered 2 1)" "$(registered 6 5)"
row "per peer never spoken to" 0 "" "$(registered 2 0)" "$(registered 6 0)"
export GASNET_USE_SRQ=1
row "IB-W4 per peer spoken to, sharing" 0 "" "$(registered 2 1)" "$(registered 6 5)"
row "IB-W4 per peer never spoken to, sharing" 0 "" "$(registered 2 0)" "$(registered 6 0)"
tap_note "$(printf '%-46s %6d KiB %9s' "all peers together, sharing, with send buffers" $(($(registered 6 5) / 1024)) 4608)"
tap_ok "$([ "$(registered 6 5)" -le $((4608 * 1024)) ]; echo $?)" "IB-W4 GASNET_RBUF_COUNT buffers and some spares serve all"
tap_note "tests/bench/memory.sh; one job: GASNET_BBUF_COUNT=64 gasnetrun_ibv -n 6 tests/bench/memory-ibv-seq 5"
tap_end
