#!/bin/bash
# bench.sh - libportals on its fast path: instructions per operation above the verbs calls.
#
# Counted as in count.sh; TEST_N=1600, TEST_OPERATIONS="put get" for some rows.  A row over its limit
# fails.  portals.sh shows the figures of ibv-conduit for the same operations.  An event is a struct of
# 144 bytes that is written once and copied once.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../../tests/tap.sh"
. "$(dirname "$0")/../../../tests/bench/callgrind.sh"

n=${TEST_N:-1600}
program=$TEST_BUILD/other/portals3/tests/bench
command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && tap_end; }
export SOFTHCA=${SOFTHCA:-on}
callgrind_launch=(env)

count_once() { # OPERATION N
    local dir=$tap_scratch/$1.$2
    callgrind_run "$dir" "$program" count "$1" "$2" && callgrind_instructions "$dir"
}

per_operation() { # OPERATION
    local once twice
    once=$(count_once "$1" "$n") && twice=$(count_once "$1" $((2 * n))) || return 1
    echo $(((twice - once + n / 2) / n))
}

rows='put|put, call|180
put_reap|put: SEND_END and ACK logged and taken|350
put_whole|put, from the call until its ACK is taken|745
ack_whole|put, from the call until its ACK alone is taken|605
quiet_whole|put without events, call and completion|155
send_reap|put without ACK: SEND_END logged and taken|217
ack_reap|put without SEND_END: ACK logged and taken|210
get|get, call|162
get_reap|get: REPLY_END logged and taken|215
get_whole|get, from the call until its REPLY_END is taken|590
poll|PtlEQGet that finds nothing|162'

printf '# %-46s %12s %8s\n' "libportals, fast path" instructions limit
empty=$(per_operation nothing) || { tap_ok 1 "counting works" && tap_end; }
while IFS='|' read -r operation name limit; do
    [ -n "$TEST_OPERATIONS" ] && [[ " $TEST_OPERATIONS " != *" $operation "* ]] && continue
    count=$(per_operation "$operation") || { tap_ok 1 "$name: counted" && continue; }
    [[ $operation == *_reap ]] || count=$((count - empty))
    printf '# %-46s %12d %8d\n' "$name" "$count" "$limit"
    tap_ok "$([ "$count" -le "$limit" ] && [ "$count" -gt 0 ]; echo $?)" "$name: $count, limit $limit"
done <<<"$rows"
tap_end
