#!/bin/bash
# portals_limits.sh - instructions of portals-conduit's operations, with those of libportals, against limits; TAP.
#
# Counted by count.sh in SEQ.  A thread of libportals may take a message or hold a lock at a bad moment, which changes a
# count; so one above its limit is taken again, twice.  What receiving costs is not here: that thread takes a part of the
# messages, which depends on the load of the machine (575 to 1600 instructions).  Who makes an operation shorter lowers its limit.
# family: limits-portals alone TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/callgrind.sh"

command -v valgrind >/dev/null || { tap_skip "limits of instructions" "no valgrind" && tap_end; }

counted() { # OPERATION NAME: of so many that one turn of another thread adds less than an instruction to each
    env -u TEST_LAUNCH TEST_MODES=seq TEST_N=1600 TEST_RUNS=1 TEST_OPERATIONS="$1" "$TEST_SOURCE/bench/count.sh" |
        sed 's/ - seq: / - /' >"$tap_scratch/$1"
    callgrind_figure "$tap_scratch/$1" "$2"
}

rows='poll|poll that finds nothing|120
am_short|AM Short request, injection|300
put_nb|put_nb + wait|500
get_nb|get_nb + wait|620'
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
