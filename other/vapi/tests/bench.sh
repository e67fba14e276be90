#!/bin/bash
# bench.sh - instructions that libvapi adds to raw verbs, per post and per poll, against targets.
#
# Counted by callgrind, with N and with 2N operations, less what lies below verbs' calls.  Inlined is what
# a program that is compiled with optimisation gets; called, one that calls the library's functions.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../../tests/tap.sh"
. "$(dirname "$0")/../../../tests/bench/callgrind.sh"

n=${TEST_N:-800}
command -v valgrind >/dev/null || { tap_skip "instruction counts" "no valgrind" && tap_end; }

count_once() { # PROGRAM KIND OPERATION N
    local dir=$tap_scratch/$1.$2.$3.$4
    mkdir -p "$dir"
    SOFTHCA=on LD_LIBRARY_PATH=$TEST_BUILD/.libs valgrind -q --tool=callgrind --collect-atstart=no --toggle-collect=counted --compress-strings=no \
        --compress-pos=no --callgrind-out-file="$dir/%p" "$TEST_BUILD/other/vapi/tests/.libs/$1" "${@:2}" \
        >"$dir/log" 2>&1 </dev/null || { tap_tail "$dir/log" >&2 && return 1; }
    callgrind_instructions "$dir"
}

per_operation() { # PROGRAM KIND OPERATION
    local once twice
    once=$(count_once "$@" "$n") && twice=$(count_once "$@" $((2 * n))) || return 1
    echo $(((twice - once + n / 2) / n))
}

rows='post_write|post an RDMA write|15
post_inline|post an inline RDMA write|15
post_send_imm|post a send with immediate data|15
post_recv|post a receive|15
poll_empty|poll that finds nothing|15
poll_sent|poll, a completion of the send queue|15
poll_received|poll, a received message with immediate data|15'

printf '# %-46s %6s %8s %8s %8s\n' "libvapi, instructions per operation" verbs inlined called "target"
nothing=$(per_operation cost verbs nothing) || { tap_ok 1 "counting works" && tap_end; }
while IFS='|' read -r operation name target; do
    if ! verbs=$(per_operation cost verbs "$operation") || ! inlined=$(per_operation cost vapi "$operation") ||
        ! called=$(per_operation cost_called vapi "$operation"); then
        tap_ok 1 "$name: counted"
        continue
    fi
    printf '# %-46s %6d %+8d %+8d %+8d\n' "$name" $((verbs - nothing)) $((inlined - verbs)) $((called - verbs)) "$target"
    tap_ok "$([ $((inlined - verbs)) -le "$target" ] && [ "$verbs" -gt "$nothing" ]; echo $?)" \
        "$name: $((inlined - verbs)) instructions above verbs, target $target"
done <<<"$rows"
tap_end
