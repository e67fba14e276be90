#!/bin/bash
# portals_limits.sh - instructions of portals-conduit's operations, with those of libportals, against limits; TAP.
#
# Counted by count.sh in SEQ, with PTL_PROGRESS=none: libportals has no thread, which would take a part of the messages, so
# the rank that is counted receives all of them itself.  It looks at the handshake socket once in 256 empty polls, so counts are
# of a multiple of that.  A poll between two messages may find nothing, which is counted: so a count above its limit is taken again, twice.
# Receiving is counted as for ibv-conduit; the Reply by which each Request without one is answered has a row of its own.  A
# change that makes an operation shorter lowers its limit.
# family: limits-portals alone TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/callgrind.sh"

command -v valgrind >/dev/null || { tap_skip "limits of instructions" "no valgrind" && tap_end; }

counted() { # OPERATION NAME
    env -u TEST_LAUNCH PTL_PROGRESS=none TEST_MODES=seq TEST_N=512 TEST_RUNS=1 TEST_OPERATIONS="$1" "$TEST_SOURCE/bench/count.sh" |
        sed 's/ - seq: / - /' >"$tap_scratch/$1"
    callgrind_figure "$tap_scratch/$1" "$2"
}

rows='poll|poll that finds nothing|116
am_short|AM Short request, injection|272
am_receive|AM Short receive + handler|398
am_answer|AM Short, automatic Reply|206
put_nbi|non-blocking implicit put, injection|175
reap|implicit ops: reap, per op (16 outstanding)|63
put_nb|put_nb + wait|355
get_nb|get_nb + wait|399'
while IFS='|' read -r operation name limit; do
    for tries in 1 2 3; do
        figure=$(counted "$operation" "$name")
        [ -n "$figure" ] && [ "$figure" -gt 0 ] && [ "$figure" -le "$limit" ] && break
    done
    [ -n "$figure" ] && [ "$figure" -gt 0 ] && [ "$figure" -le "$limit" ]
    tap_ok $? "$name: ${figure:-not counted} instructions, limit $limit"
    tap_note "tries: $tries"
done <<<"$rows"
tap_end
