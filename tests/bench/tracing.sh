#!/bin/bash
# tracing.sh - what an event of a trace costs the thread that is traced, in nanoseconds of processor time; count.sh shows that
# a trace that is not written costs no instruction.  A row over its target is shown and fails nothing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
conduit=smp
unset GASNET_TRACEFILE GASNET_TRACEMASK

put() { # MODE ENVIRONMENT...
    env "${@:2}" timeout 60 "$TEST_BUILD/gasnetrun_$conduit" -n 1 "$TEST_BUILD/tests/bench/tracing-$conduit-$1"
}

echo "# mode        put   traced   an event   target"
for mode in seq par; do
    off=$(put "$mode") && on=$(put "$mode" "GASNET_TRACEFILE=$tap_scratch/trace.%")
    event=$(awk -v on="$on" -v off="$off" 'BEGIN { print on - off }')
    printf '# %-8s %6s %8s %10s %8s\n' "$mode" "$off" "$on" "$event" 60
    awk -v event="$event" 'BEGIN { exit !(event > 0 && event <= 60) }'
    tap_ok $? "$mode: an event of a trace costs $event ns"
done
tap_end
